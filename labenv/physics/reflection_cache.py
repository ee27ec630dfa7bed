"""Reflections computed once per phase and wavelength, then read back without pymatgen.

Two layers: a dictionary in the process, and one ``.npz`` a phase in the user's cache folder
(``LABENV_CACHE_DIR``, else ``XDG_CACHE_HOME``/labenv, else ``~/.cache/labenv``). Files are written
beside their place and renamed into it, so that parallel processes never see half a file. A cache
that cannot be read or written costs time, never a result.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.reflections import ReflectionList, compute_reflections

if TYPE_CHECKING:
    from labenv.physics.structures.phase import CrystalPhase

_FORMAT = 4
"""Raised whenever the computation or the stored fields change; older files are then ignored."""

_SCALARS = ("volume_a3", "density_kg_m3", "attenuation_m2_kg", "wavelength_a")
_in_process: dict[str, ReflectionList] = {}


def reflections_of(
    phase: CrystalPhase, wavelength_a: float = 1.5405929, two_theta_max_deg: float = 120.0
) -> ReflectionList:
    """Return the reflections of a phase, from the cache where possible.

    Args:
        phase: The phase; its `structure()` is built on a miss only.
        wavelength_a: Wavelength, Å.
        two_theta_max_deg: Highest angle, degrees; rounded up to the next 10°, so that similar
            requests share an entry.

    Returns:
        The reflections; treat the arrays as read-only, they are shared.

    Raises:
        ConfigError: As `compute_reflections`.
    """
    limit_deg = min(170.0, 10.0 * np.ceil(two_theta_max_deg / 10.0))
    text = f"{_FORMAT}|{content_key(phase)}|{wavelength_a:.6f}|{limit_deg:.0f}"
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    if key not in _in_process:
        path = cache_folder() / "reflections" / f"{key}.npz"
        found = _read(path)
        if found is None:
            found = compute_reflections(phase.structure(), wavelength_a, limit_deg)
            _write(path, found)
        _in_process[key] = found
    return _in_process[key]


def content_key(phase: CrystalPhase) -> str:
    """Return a digest of the crystal data of a phase: cell, space group, sites; not of its name."""
    refined = [site.b_iso_a2 for site in phase.sites if site.b_iso_a2 is not None]
    text = repr((phase.lattice, phase.space_group, phase.expanded, phase.sites, *refined))
    return hashlib.sha256(text.encode()).hexdigest()


def cache_folder() -> Path:
    """Return the folder for computed files; it need not exist."""
    own = os.environ.get("LABENV_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "labenv"


def _read(path: Path) -> ReflectionList | None:
    try:
        with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            values: dict[str, Any] = {
                field.name: float(stored[field.name])
                if field.name in _SCALARS
                else np.asarray(stored[field.name])
                for field in fields(ReflectionList)
            }
        return ReflectionList(**values)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _write(path: Path, reflections: ReflectionList) -> None:
    values = {field.name: getattr(reflections, field.name) for field in fields(reflections)}
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as stream:
                np.savez_compressed(stream, **values)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
