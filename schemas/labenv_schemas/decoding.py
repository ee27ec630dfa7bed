"""Bytes to text without guessing wrong: BOM, XML declaration, UTF-8, UTF-16, then ISO-8859-15."""

from __future__ import annotations

import re

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_DECLARED = re.compile(rb"<\?xml[^>]*encoding=[\"']([A-Za-z0-9._-]+)[\"']")


def decode(data: bytes) -> tuple[str, str]:
    """Return the text of a file and the encoding it was read with.

    Args:
        data: The whole file.

    Returns:
        Text without byte-order mark, and the name of the encoding.

    Raises:
        ValueError: If the bytes are no text.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data.decode(name).lstrip("\ufeff"), name
    wide = _unmarked_utf16(data)
    if wide:
        return data.decode(wide), wide
    declared = _DECLARED.search(data[:200])
    candidates = [declared[1].decode("ascii")] if declared else []
    for name in [*candidates, "utf-8"]:
        try:
            return data.decode(name), name.lower()
        except (UnicodeDecodeError, LookupError):
            continue
    if b"\x00" in data[:4096]:
        raise ValueError("it holds binary data, not text")
    # every byte has a meaning here; western instrument software writes this or its superset
    return data.decode("iso-8859-15"), "iso-8859-15"


def is_text(data: bytes) -> bool:
    """Return whether the beginning of a file looks like text in any known encoding.

    Args:
        data: The file, or its first 4096 bytes at least.

    Returns:
        Whether it does.
    """
    if any(data.startswith(mark) for mark, _ in _BOMS) or _unmarked_utf16(data):
        return True
    head = data[:4096]
    control = sum(byte < 9 or 13 < byte < 32 for byte in head)
    return control == 0


def _unmarked_utf16(data: bytes) -> str | None:
    head = data[:400]
    if len(head) < 8:
        return None
    if all(byte == 0 for byte in head[1:40:2]) and 0 not in head[0:40:2]:
        return "utf-16-le"
    if all(byte == 0 for byte in head[0:40:2]) and 0 not in head[1:40:2]:
        return "utf-16-be"
    return None
