"""What a potential said before, by the content of the structure and the version of the model."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.potential.results import Relaxation, SinglePoint
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pymatgen.core.structure import Structure

_STEP_A = 1e-7  # structures closer than this are one
_Result = SinglePoint | Relaxation
_KINDS: dict[str, type[SinglePoint] | type[Relaxation]] = {
    "point": SinglePoint,
    "relaxation": Relaxation,
}


def structure_key(structure: Structure, model_id: str, extra: str = "") -> str:
    """Return a key of a structure as it stands: cell, elements and coordinates, in their order.

    Args:
        structure: Any ordered structure.
        model_id: Potential and its version.
        extra: Further settings that the answer depends on.

    Returns:
        64 hexadecimal digits.
    """
    digest = hashlib.sha256(f"{model_id}|{extra}|{structure.species}".encode())
    for values in (structure.lattice.matrix, structure.frac_coords):
        digest.update(np.round(np.asarray(values) / _STEP_A).astype(np.int64).tobytes())
    return digest.hexdigest()


class ResultCache:
    """Answers in memory and, if a path is given, in a JSON file.

    The file is read once at the start and written whole by `save`, into place in one move, so that
    a reader never finds half of it.

    Args:
        path: JSON file; None keeps answers in memory only.
        limit: Answers kept in memory at most; the oldest goes first.

    Raises:
        ConfigError: If the file is no cache; the message names it.
    """

    def __init__(self, path: str | Path | None = None, limit: int = 100_000) -> None:
        self._path = None if path is None else Path(path)
        self._limit = limit
        self._results: dict[str, _Result] = {}
        self.hits = 0
        self.misses = 0
        if self._path is not None and self._path.exists():
            self._results = _read(self._path)

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: str) -> _Result | None:
        """Return the answer kept under a key, None if there is none."""
        found = self._results.get(key)
        self.hits += found is not None
        self.misses += found is None
        return found

    def put(self, key: str, result: _Result) -> None:
        """Keep an answer."""
        while len(self._results) >= self._limit:
            del self._results[next(iter(self._results))]
        self._results[key] = result

    def save(self) -> None:
        """Write the file; does nothing without a path."""
        if self._path is None:
            return
        names = {kind: name for name, kind in _KINDS.items()}
        data = {
            key: {"kind": names[type(result)], **dataclasses.asdict(result)}
            for key, result in self._results.items()
        }
        write_json(self._path, data)


def write_json(path: Path, data: Mapping[str, Any], indent: int | None = None) -> None:
    """Write a JSON file in one move.

    Args:
        path: Where to; its folder must exist.
        data: Finite numbers only.
        indent: Spaces of indentation.
    """
    text = json.dumps(data, allow_nan=False, indent=indent, ensure_ascii=False)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    Path(name).replace(path)


def _read(path: Path) -> dict[str, _Result]:
    try:
        data: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
        return {key: _KINDS[entry.pop("kind")](**entry) for key, entry in data.items()}
    except (ValueError, TypeError, KeyError, AttributeError, OSError) as cause:
        raise ConfigError(
            f"{path} is no cache of potential energies ({cause!r}); delete it or name another file"
        ) from cause
