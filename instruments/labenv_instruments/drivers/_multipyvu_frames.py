"""Frames of MultiPyVu's protocol, as both ends write and read them.

A frame is a number of two bytes, a header in JSON as long as that number, and content in JSON as
long as the header says. Read off MultiPyVu 3.8 (MIT, Quantum Design) on the wire: every request is
answered by two frames with its ``id``, one that confirms it and one that completes it, and the
client confirms the second.
"""

from __future__ import annotations

import json
import struct
import sys
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

DEFAULT_PORT: Final = 27183
CONFIRMED, COMPLETED = "confirmed", "completed"
LONGEST_CONTENT: Final = 2**20  # bytes


def encode_frame(content: Mapping[str, str]) -> bytes:
    """Return the frame of a message.

    Args:
        content: The message.

    Returns:
        What goes over the wire.
    """
    body = json.dumps(dict(content), ensure_ascii=False).encode()
    header = json.dumps({
        "byteorder": sys.byteorder,
        "message-type": "text/json",
        "message-encoding": "utf-8",
        "message-length": len(body),
    }).encode()
    return struct.pack(">H", len(header)) + header + body


class FrameReader:
    """Reads frames, and knows whether it was stopped in the middle of one.

    Attributes:
        midway: Whether part of a frame has been read; the rest could not be told from a new one.
    """

    def __init__(self) -> None:
        self.midway = False

    async def read(self, reader: asyncio.StreamReader) -> dict[str, str]:
        """Read one frame.

        Args:
            reader: What comes in.

        Returns:
            The message.

        Raises:
            ValueError: If it is no frame of this protocol.
            asyncio.IncompleteReadError: If the other side has closed.
        """
        length = await reader.readexactly(2)
        self.midway = True
        header = _fields(await reader.readexactly(struct.unpack(">H", length)[0]))
        size, encoding = header.get("message-length"), header.get("message-encoding")
        if not isinstance(size, int) or not 0 < size <= LONGEST_CONTENT or encoding != "utf-8":
            raise ValueError(f"no header of MultiPyVu: {header}")
        content = _fields(await reader.readexactly(size))
        self.midway = False
        return {name: str(value) for name, value in content.items()}


def _fields(text: bytes) -> dict[str, Any]:
    found: object = json.loads(text.decode())
    if not isinstance(found, dict):
        raise ValueError(f"{text[:60]!r} is no JSON object")
    return cast("dict[str, Any]", found)


__all__ = ["COMPLETED", "CONFIRMED", "DEFAULT_PORT", "FrameReader", "encode_frame"]
