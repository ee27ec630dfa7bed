"""A session with an instrument that speaks IEEE 488.2, SCPI or not: every reply is proved its own.

A reply carries no number that tells which question it answers, so that one that comes late looks
like the next one's. So each query is preceded by ``*ESE n;*ESE?`` with an ever different n: the
event enable register is written, read back in the same message, and its number must come first in
the reply. Only bits that every such device keeps are used (IEEE 488.2-1992, 11.5.1), which leaves
32 numbers; the register merely masks a summary bit that nobody here looks at.

Addresses ``+tcp`` go through labenv's own `Connection`, addresses ``+visa`` through PyVISA (see
`labenv_instruments.wire.visa`).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, Protocol

from labenv_instruments.wire.connection import Connection, line_ending
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from labenv_instruments.wire.address import Address

OVERLOAD: Final = 9.0e37
"""Readings of at least this magnitude are no numbers: +9.9E37 overflow or not a number (622x
reference manual, FORMat:ELEMents), +9.91E37 not a number (IEEE 488.2/SCPI-1999, 7.2.1.5)."""

LONGEST_ERROR_QUEUE: Final = 64
_NUMBERS: Final = tuple(
    sum(1 << bit for place, bit in enumerate((0, 2, 4, 5, 7)) if n >> place & 1) for n in range(32)
)
_ERROR: Final = re.compile(r'\s*([+-]?\d+)\s*,\s*"?(.*?)"?\s*')


class Line(Protocol):
    """Something that carries lines to a device and back, one at a time, in bounded time."""

    async def open(self) -> None:
        """Connect, if that is not so."""
        ...

    async def exchange(self, message: bytes, timeout_s: float) -> bytes:
        """Send a line and return the line that answers it, without its end."""
        ...

    async def send(self, message: bytes) -> None:
        """Send a line that is not answered."""
        ...

    def drop(self) -> None:
        """Give the connection up; whatever still comes is never read."""
        ...

    async def close(self) -> None:
        """Let go; never raises, twice is fine."""
        ...


class TcpLine:
    """Lines over a TCP socket.

    Args:
        connection: To the device.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def open(self) -> None:
        """Connect, if that is not so."""
        await self._connection.open()

    async def exchange(self, message: bytes, timeout_s: float) -> bytes:
        """Send a line and return the line that answers it, without its end.

        Args:
            message: The line, with its end.
            timeout_s: Longest wait, s.

        Returns:
            The reply; devices end lines with LF or CR LF.
        """
        reply = await self._connection.exchange(message, line_ending(b"\n"), timeout_s=timeout_s)
        return reply.rstrip(b"\r")

    async def send(self, message: bytes) -> None:
        """Send a line that is not answered.

        Args:
            message: The line, with its end.
        """
        await self._connection.send(message)

    def drop(self) -> None:
        """Give the connection up."""
        self._connection.drop()

    async def close(self) -> None:
        """Let go."""
        await self._connection.close()


class ScpiSession:
    """Questions and commands to one device.

    Args:
        line: What carries them.
        name: What to call the device in messages.
        timeout_s: Longest wait for a reply unless a call says otherwise, s.
    """

    def __init__(self, line: Line, name: str, timeout_s: float = 2.0) -> None:
        self.name = name
        self.timeout_s = timeout_s
        self._line = line
        self._asked = 0

    async def open(self) -> None:
        """Connect, if that is not so.

        Raises:
            InstrumentError: If nobody answers there in time.
        """
        await self._line.open()

    async def query(self, query: str, *, timeout_s: float | None = None, once: bool = False) -> str:
        """Ask, and make sure that the answer belongs to the question.

        Args:
            query: One or more queries, joined by ``;``; each names its whole path.
            timeout_s: Longest wait for the answer, s; None for the session's own.
            once: Whether to give up at the first failure. Else a lost or unreadable answer is
                asked for once more on a new connection, which suits whatever may be done twice.

        Returns:
            The answer; several are joined by ``;``.

        Raises:
            InstrumentError: If no answer comes in time, or one that is not to this question.
        """
        try:
            return await self._query(query, timeout_s)
        except InstrumentError as cause:
            if once or not cause.retryable:
                raise
        return await self._query(query, timeout_s)

    async def numbers(
        self, query: str, count: int, *, timeout_s: float | None = None
    ) -> list[float]:
        """Ask for numbers that are joined by commas or semicolons.

        Args:
            query: As for `query`.
            count: How many must come.
            timeout_s: As for `query`.

        Returns:
            The numbers, of which overloads are not taken out; see `overloaded`.

        Raises:
            InstrumentError: If other than so many finite numbers come.
        """
        text = await self.query(query, timeout_s=timeout_s)
        fields = re.split("[,;]", text)
        if len(fields) != count:
            raise self.wrong(query, text, f"{count} numbers")
        return [self.number(query, field) for field in fields]

    def number(self, query: str, text: str) -> float:
        """Read a number.

        Args:
            query: What was asked, for the message.
            text: The answer.

        Returns:
            The number; finite.

        Raises:
            InstrumentError: If it is none.
        """
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.wrong(query, text, "a number")
        return value

    async def command(self, command: str, *, once: bool = False) -> None:
        """Give a command and see that the device has no complaint.

        Args:
            command: One or more, joined by ``;``.
            once: Whether it must not be given again where its fate is unknown, as with a trigger.

        Raises:
            InstrumentError: If the device reports an error, or cannot be reached.
        """
        errors = await self.attempt(command, once=once)
        if errors:
            raise InstrumentError(f"{self.name} refused {command!r}: {'; '.join(errors)}")

    async def attempt(self, command: str, *, once: bool = False) -> list[str]:
        """Give a command and take what the device has to say against it.

        Args:
            command: As for `command`.
            once: As for `command`.

        Returns:
            The errors in its queue; empty if it has none.

        Raises:
            InstrumentError: If it cannot be reached.
        """
        try:
            await self._line.send(f"{command}\n".encode("ascii"))
            return await self.errors()
        except InstrumentError as cause:
            if once or not cause.retryable:
                raise
        await self._line.send(f"{command}\n".encode("ascii"))
        return await self.errors()

    async def errors(self) -> list[str]:
        """Take everything out of the device's error queue.

        Returns:
            The errors, oldest first, with their numbers.

        Raises:
            InstrumentError: If the queue does not end, or an answer is no error. An error may be
                lost with a lost answer, so it is not asked for twice.
        """
        found: list[str] = []
        for _ in range(LONGEST_ERROR_QUEUE):
            text = await self.query(":SYST:ERR?", once=True)
            match = _ERROR.fullmatch(text)
            if match is None:
                raise self.wrong(":SYST:ERR?", text, "an error's number and text")
            if int(match[1]) == 0:
                return found
            found.append(f"{match[1]} {match[2]}")
        self.drop()
        raise InstrumentError(
            f"{self.name} reports errors without end, the last {found[-1]!r}; switch it off and on"
        )

    def wrong(self, query: str, text: str, wanted: str) -> InstrumentError:
        """Give the connection up and return the error that says why.

        Args:
            query: What was asked.
            text: What was answered.
            wanted: What should have been.

        Returns:
            The error, to be raised; `retryable`.
        """
        self.drop()
        return InstrumentError(
            f"{self.name} answered {query!r} with {text[:80]!r}, not with {wanted}", retryable=True
        )

    def drop(self) -> None:
        """Give the connection up; the next question opens a new one."""
        self._line.drop()

    async def close(self) -> None:
        """Let go; never raises, twice is fine."""
        await self._line.close()

    async def _query(self, query: str, timeout_s: float | None) -> str:
        self._asked += 1
        number = _NUMBERS[self._asked % len(_NUMBERS)]
        message = f"*ESE {number};*ESE?;{query}\n".encode("ascii")
        wait_s = self.timeout_s if timeout_s is None else timeout_s
        reply = await self._line.exchange(message, wait_s)
        try:
            text = reply.decode("ascii")
        except UnicodeDecodeError:
            raise self.wrong(query, reply.decode("ascii", "backslashreplace"), "text") from None
        first, _, answer = text.partition(";")
        if not first.strip().isdigit() or int(first) != number:
            raise self.wrong(query, text, "an answer to it; it belongs to another question")
        if not answer.strip():
            raise self.wrong(query, answer, "an answer")
        return answer.strip()


def overloaded(reading: float) -> bool:
    """Return whether a reading is the sign of an overload or of no number."""
    return not abs(reading) < OVERLOAD


def open_session(address: Address, port: int, name: str, timeout_s: float) -> ScpiSession:
    """Return a session for an address, which connects when it is first used.

    Args:
        address: Of transport ``tcp`` or ``visa``.
        port: TCP port, for ``tcp``.
        name: What to call the device in messages.
        timeout_s: Longest wait for a reply, s.

    Returns:
        The session.
    """
    if address.transport == "visa":
        from labenv_instruments.wire.visa import VisaLine

        return ScpiSession(VisaLine(address.host, name, timeout_s), name, timeout_s)
    connection = Connection(address.host, port, timeout_s=timeout_s, name=name)
    return ScpiSession(TcpLine(connection), name, timeout_s)


__all__ = ["OVERLOAD", "Line", "ScpiSession", "TcpLine", "open_session", "overloaded"]
