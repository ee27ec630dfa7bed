"""Modbus frames, on TCP and as RTU through a serial-to-Ethernet gateway, and what a device answers.

Written from the protocol's own pages (Modbus application protocol 1.1b3 and Messaging on TCP/IP
1.0b, modbus.org); what differs in a Eurotherm is from its handbook HA026230: a frame for another
unit or with a wrong check sum is not answered, and there are error codes 2 and 3 only. Code 6
(busy) is in the protocol and is sent on demand.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    import asyncio

ILLEGAL_ADDRESS: Final = 2
ILLEGAL_VALUE: Final = 3
BUSY: Final = 6

READS: Final = frozenset({3, 4})
_MOST_WORDS = 125
_PREFIX_BYTES = 7  # of a TCP frame: transaction, protocol, length, unit
_FIXED_BYTES = {3: 8, 4: 8, 6: 8, 7: 4, 8: 8}  # of an RTU request, with its check sum
_LONGEST_BODY = 254


class RefusedError(Exception):
    """A request that a device answers with an error code.

    Attributes:
        code: The code.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"Modbus error {code}")
        self.code = code


class Registers(Protocol):
    """What holds a device's parameters."""

    def read(self, address: int, count: int) -> list[int]:
        """Return words; raises `RefusedError` where there is nothing."""
        ...

    def write(self, address: int, words: list[int], *, single: bool) -> None:
        """Take words; raises `RefusedError` where that cannot be."""
        ...

    def fast_status(self) -> int:
        """Return the byte that function 7 reads."""
        ...


class Frame(NamedTuple):
    """A request taken apart.

    Attributes:
        unit: For whom it is.
        body: Function and data.
        transaction: Number that the reply repeats; 0 on RTU.
        intact: Whether its check sum is right.
    """

    unit: int
    body: bytes
    transaction: int = 0
    intact: bool = True


def check_sum(data: bytes) -> bytes:
    """Return the CRC-16 of an RTU frame, low byte first."""
    value = 0xFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ 0xA001 if value & 1 else value >> 1
    return struct.pack("<H", value)


async def receive_tcp(reader: asyncio.StreamReader) -> bytes:
    """Read one request on TCP.

    Args:
        reader: What comes in.

    Returns:
        The whole frame.

    Raises:
        ValueError: If it is no Modbus; nothing after it could be read.
    """
    prefix = await reader.readexactly(_PREFIX_BYTES)
    _, protocol, length, _ = struct.unpack(">HHHB", prefix)
    if protocol or not 2 <= length <= _LONGEST_BODY:
        raise ValueError("not a Modbus frame")
    return prefix + await reader.readexactly(length - 1)


async def receive_rtu(reader: asyncio.StreamReader) -> bytes:
    """Read one request as RTU; its length follows from its function.

    Args:
        reader: What comes in.

    Returns:
        The whole frame.

    Raises:
        ValueError: If the function is unknown, so that its end cannot be found.
    """
    head = await reader.readexactly(2)
    if head[1] == 16:
        head += await reader.readexactly(5)
        return head + await reader.readexactly(head[6] + 2)
    length = _FIXED_BYTES.get(head[1])
    if length is None:
        raise ValueError("a function whose length is not known")
    return head + await reader.readexactly(length - 2)


def open_frame(raw: bytes, *, rtu: bool) -> Frame:
    """Return a whole request taken apart."""
    if rtu:
        return Frame(raw[0], raw[1:-2], intact=check_sum(raw[:-2]) == raw[-2:])
    transaction, _, _, unit = struct.unpack(">HHHB", raw[:_PREFIX_BYTES])
    return Frame(unit, raw[_PREFIX_BYTES:], transaction)


def close_frame(frame: Frame, body: bytes, *, rtu: bool) -> bytes:
    """Return the reply to a request."""
    if rtu:
        bare = bytes([frame.unit]) + body
        return bare + check_sum(bare)
    return struct.pack(">HHHB", frame.transaction, 0, len(body) + 1, frame.unit) + body


def refusal(body: bytes, code: int) -> bytes:
    """Return the body that refuses a request."""
    return bytes([body[0] | 0x80, code])


def carry_out(body: bytes, registers: Registers) -> bytes:
    """Do what a request asks.

    Args:
        body: Function and data.
        registers: The device's parameters.

    Returns:
        The body of the reply.
    """
    try:
        return _done(body, registers)
    except RefusedError as refused:
        return refusal(body, refused.code)
    except struct.error:  # shorter than its function needs
        return refusal(body, ILLEGAL_VALUE)


def _done(body: bytes, registers: Registers) -> bytes:
    function = body[0]
    if function in READS:
        address, count = struct.unpack(">HH", body[1:5])
        if not 1 <= count <= _MOST_WORDS:
            raise RefusedError(ILLEGAL_VALUE)
        words = registers.read(address, count)
        return struct.pack(f">BB{count}H", function, 2 * count, *words)
    if function == 6:
        address, word = struct.unpack(">HH", body[1:5])
        registers.write(address, [word], single=True)
        return body[:5]
    if function == 7:
        return bytes([7, registers.fast_status()])
    if function == 8:
        if body[1:3] != b"\0\0":
            raise RefusedError(ILLEGAL_VALUE)
        return body
    if function == 16:
        address, count, length = struct.unpack(">HHB", body[1:6])
        if length != 2 * count or len(body) != 6 + length or not count:
            raise RefusedError(ILLEGAL_VALUE)
        registers.write(address, list(struct.unpack(f">{count}H", body[6:])), single=False)
        return body[:5]
    raise RefusedError(ILLEGAL_ADDRESS)  # the handbook knows no "illegal function"


__all__ = [
    "BUSY",
    "ILLEGAL_ADDRESS",
    "ILLEGAL_VALUE",
    "READS",
    "Frame",
    "RefusedError",
    "Registers",
    "carry_out",
    "check_sum",
    "close_frame",
    "open_frame",
    "receive_rtu",
    "receive_tcp",
    "refusal",
]
