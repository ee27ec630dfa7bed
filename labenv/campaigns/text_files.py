"""Reading the text files that people write, with the faults of editors in mind."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from labenv_schemas.errors import ConfigError
from labenv_schemas.suggestions import meant

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST_BYTES = 5_000_000
# The longer mark comes first: a UTF-32 mark begins with the UTF-16 one.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def read_text_file(path: Path, what: str) -> str:
    """Read a text file in UTF-8, or in UTF-16 or UTF-32 with a byte order mark.

    Args:
        path: The file.
        what: What the file is for, for messages, such as ``"campaign file"``.

    Returns:
        Its text, without byte order mark.

    Raises:
        ConfigError: If there is no such file, it is a folder, may not be read, is larger than 5 MB,
            or is not text.
    """
    raw = _read_bytes(path, what)
    mark, encoding = next((pair for pair in _MARKS if raw.startswith(pair[0])), (b"", "utf-8"))
    try:
        text = raw[len(mark) :].decode(encoding)
    except UnicodeDecodeError as fault:
        line = raw[: fault.start].count(b"\n") + 1
        raise ConfigError(
            f"{path}:{line}: the {what} is not {encoding.upper()} text; save it as UTF-8"
        ) from None
    if "\x00" in text:
        hint = "it looks like UTF-16 without a byte order mark" if _spaced(text) else "it is binary"
        raise ConfigError(f"{path}: the {what} is not UTF-8 text ({hint}); save it as UTF-8")
    return text


def _read_bytes(path: Path, what: str) -> bytes:
    try:
        if path.is_dir():
            raise ConfigError(f"{path} is a folder; name the {what} inside it")
        with path.open("rb") as file:
            raw = file.read(_LARGEST_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"there is no {what} at {path}{_neighbours(path)}") from None
    except PermissionError:
        raise ConfigError(f"{path} may not be read; change its permissions") from None
    except OSError as fault:
        raise ConfigError(f"{path} cannot be read: {fault.strerror or fault}") from None
    if len(raw) > _LARGEST_BYTES:
        raise ConfigError(f"{path} is larger than 5 MB, which no {what} is")
    return raw


def _neighbours(path: Path) -> str:
    """Return a hint with the YAML files that lie where the missing one was looked for."""
    if not path.parent.is_dir():
        return f" (there is no folder {path.parent})"
    names = sorted(file.name for file in path.parent.glob("[!.]*.y*ml"))
    guess = meant(path.name, names, cutoff=0.6)
    near = names[:3] if guess is None else [guess]
    return f"; the folder has {', '.join(near)}" if near else ""


def _spaced(text: str) -> bool:
    return text.count("\x00") > len(text) // 3
