"""MT-SICS, the command set of Mettler-Toledo balances, and the Quantos dosing commands on it.

A command is one upper-case line ended by CR LF; so is a reply, which begins with the command's
name. Weights come as ``S S     100.00 g``: name, state, number, unit. What a dosing unit does takes
long: it answers ``B`` (begun) at once and sends a second line when it is done, at a time of its
own, so such lines are told from replies by their names, never by their place.

Source:
    Mettler-Toledo, "MT-SICS Interface Commands for XPR and XSR Balances" (30324923) and "MT-SICS
    Interface Command Set" (11781363): @, D, I2 to I4, S, SI, T, TA, TAC, TI, Z, ZI, ES, ET, EL.
    The maker's manual of the Quantos commands is not public. Names, arguments, codes and the XML
    of QRA and QRD are as three independent public drivers have them; whether a dosing unit at work
    answers ``QRD 2 4 12`` with code 2 was inferred from its meaning and not tried on a device.
    All of them stand below in one place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from xml.etree import ElementTree

from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    import asyncio

    from labenv_instruments.wire.connection import Connection, Framing

KG_PER_UNIT: Final = {"g": 1e-3, "mg": 1e-6, "kg": 1.0}
DOOR, DOOR_CLOSED, DOOR_OPEN, DOOR_MOVES = "QRA 60 7", "2", "3", "9"
HEAD_PIN, PIN_RELEASED, PIN_LOCKED = "QRA 60 2", "3", "4"
START_DOSING, STOP_DOSING = "QRA 61 1", "QRA 61 4"
TARGET_MG, TOLERANCE_PERCENT, SAMPLE_NAME = "QRD 1 1 5", "QRD 1 1 6", "QRD 1 1 8"
DOOR_POSITION, HEAD_DATA, DOSE_DATA = "QRD 2 3 7", "QRD 2 4 11", "QRD 2 4 12"
NOT_MOUNTED, ANOTHER_JOB = "1", "2"
DOSING_CODES: Final = {
    NOT_MOUNTED: "no dosing head is mounted",
    ANOTHER_JOB: "another job is running",
    "3": "it took too long",
    "4": "nothing is selected",
    "5": "that is not allowed now",
    "6": "the weight is not stable",
    "7": "the powder does not flow",
    "8": "it was stopped from outside",
    "9": "the safe position is not reached",
    "10": "this dosing head is not allowed",
    "11": "this dosing head has done its number of doses",
    "12": "this dosing head has expired",
    "13": "the sampler is blocked",
}
_GENERAL: Final = {
    "ES": "does not know the command",
    "ET": "received the command damaged",
    "EL": "cannot carry out the command",
}
_WEIGHT = re.compile(r"([A-Z]+) ([SDMN]) +(-?[0-9]+(?:\.[0-9]+)?) (\S+)")
_QUOTED = re.compile(r'"([^"]*)"')
_MOST_LINES = 200


class BalanceBusyError(InstrumentError):
    """The balance refused a command because it is at something else; asking again is safe."""


class Weight(NamedTuple):
    """A net weight as shown.

    Attributes:
        kg: kg.
        stable: Whether the balance calls it stable.
    """

    kg: float
    stable: bool


class MtSicsClient:
    """A balance that is told one command at a time.

    Args:
        connection: To the balance.
        name: What to call it in messages.

    Attributes:
        ended: How a dosing unit's actions ended, by their names: ``"A"`` or a code.
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = name
        self.ended: dict[str, str] = {}

    # ------------------------------------------------------------------------- the balance

    async def cancel(self) -> str:
        """Cancel whatever the balance is at (``@``).

        Returns:
            Its serial number, which it answers.
        """
        return _quoted(self, "@", await self._line("@", expected="I4"))[0]

    async def text(self, command: str) -> str:
        """Return what an inquiry such as ``I2`` answers, without its quotes."""
        return " ".join(_quoted(self, command, await self._line(command)))

    async def weight(self, command: str) -> Weight | None:
        """Ask for a weight.

        Args:
            command: ``S`` (waits for a stable one), ``SI`` (at once), ``T`` or ``TI`` (tare).

        Returns:
            The weight; None where the balance cannot tell yet (``I``).

        Raises:
            InstrumentError: At over- and underload, in an unknown unit, or if the reply is none.
        """
        names = {"SI": {"S", "SI"}}.get(command, {command})  # some answer SI by its own name
        line = await self._line(command, expected=None)
        words = line.split()
        if not words or words[0] not in names:
            raise self.refused(command, line)
        found = _WEIGHT.fullmatch(line.strip())
        if found is not None:
            unit = found[4]
            if unit not in KG_PER_UNIT:
                self.connection.drop()
                raise InstrumentError(
                    f"{self.name} shows its weight in {unit!r}; set its host unit to g"
                )
            return Weight(float(found[3]) * KG_PER_UNIT[unit], found[2] in "SM")
        state = " ".join(words[1:])
        if state == "I":
            return None
        if state in {"+", "-"}:
            what = "overloaded: take weight off the pan" if state == "+" else "underloaded"
            where = "" if state == "+" else ": is the pan in its place, and was it zeroed empty?"
            raise InstrumentError(f"{self.name} is {what}{where}")
        raise self.refused(command, line)

    async def do(self, command: str) -> bool:
        """Tell the balance something that it answers with ``A`` or ``I``, such as ``Z``.

        Returns:
            Whether it did it; False where it could not yet.

        Raises:
            InstrumentError: If it never will.
        """
        line = await self._line(command)
        state = line.split()[1:2]
        if state in (["A"], ["S"], ["D"]):
            return True
        if state == ["I"]:
            return False
        raise self.refused(command, line)

    # ------------------------------------------------------------------------- dosing

    async def change(self, setting: str, value: str) -> None:
        """Set one of the dosing unit's settings."""
        await self._answered(f"{setting} {value}", setting, {"A"})

    async def ask(self, query: str) -> str:
        """Return the value that one of the dosing unit's queries gives."""
        return (await self._answered(query, query, {"A"})).partition(" ")[0]

    async def begin(self, action: str, argument: str = "") -> None:
        """Begin one of the dosing unit's actions; `ended` tells later how it ended."""
        self.ended.pop(action, None)
        state = await self._answered(f"{action} {argument}".strip(), action, {"A", "B"})
        if state == "A":
            self.ended[action] = "A"

    async def record(self, query: str, *, field: str) -> str | None:
        """Return a field of one of the dosing unit's XML records.

        Args:
            query: `HEAD_DATA` or `DOSE_DATA`.
            field: Name of the element.

        Returns:
            Its text; None if no head is mounted.

        Raises:
            InstrumentError: If the record cannot be read.
        """
        lines = (await self._exchange(query, query)).split("\r\n")
        state = self._state(query, query, lines[0])
        if state == f"I {NOT_MOUNTED}":
            return None
        if state != "B":
            raise self._failed(query, state)
        last = self._state(query, query, lines[-1])
        if last != "A":
            raise self._failed(query, last)
        try:
            found = ElementTree.fromstring("".join(lines[1:-1])).find(f".//{field}")
        except ElementTree.ParseError as cause:
            self.connection.drop()
            raise InstrumentError(
                f"{self.name} answered {query!r} with what is no XML ({cause})", retryable=True
            ) from None
        if found is None:
            self.connection.drop()
            raise InstrumentError(f"{self.name} answered {query!r} without <{field}>")
        unit = found.get("Unit", "mg")
        if unit != "mg":
            raise InstrumentError(f"{self.name} answered {query!r} in {unit!r}, not in mg")
        return (found.text or "").strip()

    async def stop_dosing(self) -> bool:
        """Stop dosing, if it goes on.

        Returns:
            Whether there is a dosing unit.

        Raises:
            InstrumentError: If it does not take the command.
        """
        line = await self._line(STOP_DOSING, expected=None)
        if line in {"ES", "EL"}:
            return False
        self._state(STOP_DOSING, STOP_DOSING, line)  # an error code says that nothing goes on
        return True

    # ------------------------------------------------------------------------- lines

    async def _line(self, command: str, *, expected: str | None = "") -> str:
        """Return the one line of a reply, which begins with `expected` ("" for the command)."""
        line = await self._exchange(command, command)
        name = command.split()[0] if expected == "" else expected
        if name is not None and line.split(maxsplit=1)[:1] != [name]:
            raise self.refused(command, line)
        return line

    async def _answered(self, command: str, path: str, good: set[str]) -> str:
        state = self._state(command, path, await self._exchange(command, path))
        if state.split(" ")[-1] not in good:
            raise self._failed(command, state)
        return state

    def _state(self, command: str, path: str, line: str) -> str:
        if not line.startswith(path + " "):
            raise self.refused(command, line)
        return line[len(path) :].strip()

    def _failed(self, command: str, state: str) -> InstrumentError:
        code = state.rpartition(" ")[2]
        why = DOSING_CODES.get(code, f"it answered {state!r}")
        kind = BalanceBusyError if code == ANOTHER_JOB else InstrumentError
        return kind(f"{self.name} did not carry out {command!r}: {why}", retryable=True)

    def refused(self, command: str, line: str) -> InstrumentError:
        """Return the error for a reply that is none, and give the connection up.

        Args:
            command: What was asked.
            line: What came.
        """
        if line in _GENERAL:
            return InstrumentError(f"{self.name} {_GENERAL[line]} {command!r} ({line})")
        self.connection.drop()
        return InstrumentError(
            f"{self.name} answered {command!r} with {line!r}, which is no answer to it",
            retryable=True,
        )

    async def _exchange(self, command: str, path: str) -> str:
        request = command.encode("ascii") + b"\r\n"
        try:
            data = await self.connection.exchange(request, self._framed(path))
        except InstrumentError:
            if command == START_DOSING:  # it may have begun: never twice
                raise
            # Any other command does the same when it is given again, and a lost line is no reason
            # to throw a half-filled vial away.
            data = await self.connection.exchange(request, self._framed(path))
        return data.decode("ascii")

    def _framed(self, path: str) -> Framing:
        """Return a framing for the reply to a command; news of actions that ended is kept apart."""
        own = path.encode("ascii") + b" "

        async def read(reader: asyncio.StreamReader) -> bytes:
            lines: list[bytes] = []
            for _ in range(_MOST_LINES):
                line = (await reader.readuntil(b"\r\n"))[:-2]
                line.decode("ascii")  # a damaged line is found here, where the connection drops it
                if line.startswith(b"QRA ") and not line.startswith(own):
                    self._take_note(line.decode("ascii"))
                    continue
                lines.append(line)
                several = path.startswith("QRD 2 4") and lines[0] == own + b"B"
                if not several or (len(lines) > 1 and line.startswith(own)):
                    return b"\r\n".join(lines)
            raise ValueError("the reply has no end")

        return read

    def _take_note(self, line: str) -> None:
        action, _, code = line.partition(" I ")
        if code:
            self.ended[action] = code
        elif line.endswith(" A"):
            self.ended[line[:-2]] = "A"


def _quoted(client: MtSicsClient, command: str, line: str) -> list[str]:
    found = _QUOTED.findall(line)
    if not found or line.split()[1:2] != ["A"]:
        raise client.refused(command, line)
    return found


__all__ = ["BalanceBusyError", "MtSicsClient", "Weight"]
