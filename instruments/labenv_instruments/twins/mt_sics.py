"""A Mettler-Toledo balance with a Quantos dosing unit that are not there.

The pan: `settings` may say ``container_kg`` (mass of the vial or crucible, otherwise the address's
``container_g``), ``empty`` (nothing is in it yet) and ``weigh`` (the `Weigh` that is to come, whose
repeats the sample then knows of). What is in the container is asked of the sample when a weight is
first asked for; a sample that has nothing to weigh counts as an empty vial.

The dosing heads: a robot mounts what the balance's display asks for (``D "HEAD BaCO3"``) once the
pin is released, if that head is in the rack: ``settings["heads"]``, or any head without it.

Not offered: ``SIR`` and other commands that send more than one reply. A dosing unit's second line,
which says that an action has ended, goes out just before the next reply.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from labenv_instruments.drivers import _mt_sics_client as sics
from labenv_instruments.faults import FaultKind
from labenv_instruments.twins._dosing_unit import DosingUnit
from labenv_instruments.twins._weighing_cell import (
    CAPACITY_KG,
    UNDERLOAD_KG,
    ZERO_RANGE_KG,
    WeighingCell,
)
from labenv_instruments.wire_twin import WireTwin
from labenv_schemas.characterisation import Weigh
from labenv_schemas.errors import LabEnvError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Mapping

    from labenv_instruments.sample_view import SampleView

STABLE_WITHIN_S = 10.0  # then S and T give up
OUNCE_KG = 0.028349523
SERIAL, MODEL, SOFTWARE = "B000000001", "labenv XPE206 220.00000 g", "labenv twin 1"
_HEAD_ASKED = re.compile(r'D "HEAD (.+)"')


class MettlerBalanceTwin(WireTwin):
    """Shows the sample's mass and lets powder fall into it.

    Attributes:
        cell: What is under the pan.
        unit: The dosing unit.
    """

    driver = "mt_sics"
    known_faults: ClassVar[frozenset[FaultKind]] = frozenset({
        FaultKind.BUSY,
        FaultKind.WRONG_UNIT,
        FaultKind.OVERRANGE,
        FaultKind.STALE_READING,
        FaultKind.DOOR_OPEN,
        FaultKind.MISDOSE,
    })

    def __init__(self, station: str = "", **rest: Any) -> None:  # noqa: ANN401 - as the base has them
        super().__init__(station, **rest)
        self.cell = WeighingCell(self.rng)
        self.unit = DosingUnit(self)
        self._display = ""
        self._shown = _shown(0.0, stable=True)
        self._looked_at = False

    # ------------------------------------------------------------------------- what a robot does

    def load(self, sample: SampleView, settings: Mapping[str, Any] | None = None) -> None:
        """Put a vial or crucible on the pan.

        Args:
            sample: What is in it.
            settings: See the module.
        """
        same = self.sample is not None
        super().load(sample, settings)
        if not same:
            self._looked_at = bool(self.settings.get("empty", False))
            self.cell.put(self._container_kg(), self.clock.now_s)

    def unload(self) -> None:
        """Clear the pan; dosing stops without a vial."""
        self.unit.stop("5")
        self._feel(self.clock.now_s)
        super().unload()
        self.cell.put(0.0, self.clock.now_s)

    def _container_kg(self) -> float:
        option_kg = float(self.options.get("container_g", "0")) * 1e-3
        return float(self.settings.get("container_kg", option_kg))

    def _look_at_sample(self) -> None:
        """Find out once what the sample weighs."""
        if self.sample is None or self._looked_at or self.unit.portion is not None:
            return
        self._looked_at = True
        try:
            mass_kg, _ = self.sample.weigh(Weigh.model_validate(self.settings.get("weigh") or {}))
        except LabEnvError:
            return  # an empty vial
        # It was there from the start: it has settled as the container has.
        self.cell.put(self.cell.load_kg + mass_kg, self.clock.now_s)

    # ------------------------------------------------------------------------- the wire

    @property
    def safe(self) -> bool:
        """Whether no powder falls."""
        return self.unit.portion is None

    def state(self) -> dict[str, Any]:
        """Return what is on the pan, on the display and in the dosing unit."""
        return {
            "safe": self.safe,
            "load_kg": self.cell.load_kg,
            "display": self._display,
            "head": self.unit.head,
            "dosing": None if self.unit.portion is None else self.unit.portion.substance,
        }

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Read a line.

        Args:
            reader: What comes in.

        Returns:
            The line, without its end.
        """
        return (await reader.readuntil(b"\n")).rstrip(b"\r\n")

    def advance(self, now_s: float) -> None:
        """Let powder fall and robots work until a moment."""
        self.unit.advance(now_s)
        self._feel(now_s)

    def _feel(self, now_s: float) -> None:
        """Let what has fallen lie on the pan."""
        fallen_kg, self.unit.felt_kg = self.unit.felt_kg, 0.0
        if fallen_kg:
            self._looked_at = True  # what else is in it was tared away
            self.cell.put(self.cell.load_kg + fallen_kg, now_s)

    async def answer(self, request: bytes) -> bytes:
        """Answer a line.

        Args:
            request: The line.

        Returns:
            The reply, after what there was to say before.
        """
        reply = await self._reply_to(request)
        self._feel(self.clock.now_s)
        unsent, self.unit.unsent = self.unit.unsent, []
        return b"".join(line.encode("ascii", "replace") + b"\r\n" for line in [*unsent, reply])

    def busy_reply(self, request: bytes) -> bytes:
        """Say that something else is going on; only ``@`` gets through.

        Args:
            request: The line.

        Returns:
            The reply.
        """
        words = request.decode("ascii", "replace").split()
        if words == ["@"]:
            return self._serial_line().encode() + b"\r\n"
        if words and words[0] in {"QRA", "QRD"}:
            path = words[: 3 if words[0] == "QRA" else 4]
            return f"{' '.join(path)} I {sics.ANOTHER_JOB}\r\n".encode()
        name = {"SI": "S"}.get(words[0], words[0]) if words else "S"
        return f"{name} I\r\n".encode()

    async def _reply_to(self, request: bytes) -> str:
        try:
            line = request.decode("ascii")
        except UnicodeDecodeError:
            return "ET"
        words = line.split()
        if not words:
            return "ES"
        plain = self._plain_replies().get(line)
        if plain is not None:
            return plain
        if words[0] in {"QRA", "QRD"}:
            return self.unit.reply(words)
        if words[0] == "TA" and len(words) > 1:
            return self._preset_tare(words)
        if words[0] == "D" and len(words) > 1:
            return self._show_text(line)
        command = self._commands().get(line)
        return "ES" if command is None else await command()

    def _plain_replies(self) -> dict[str, str]:
        return {
            "I0": 'I0 A 0 "@"',
            "I1": 'I1 A "01" "2.30" "2.22" "" ""',
            "I2": f'I2 A "{MODEL}"',
            "I3": f'I3 A "{SOFTWARE}"',
            "I4": self._serial_line(),
        }

    def _serial_line(self) -> str:
        return f'I4 A "{SERIAL}"'

    def _commands(self) -> dict[str, Callable[[], Awaitable[str]]]:
        return {
            "@": self._cancel,
            "S": lambda: self._weight(wait=True),
            "SI": lambda: self._weight(wait=False),
            "T": lambda: self._tare("T", wait=True),
            "TI": lambda: self._tare("TI", wait=False),
            "TA": self._tare_value,
            "TAC": self._clear_tare,
            "Z": lambda: self._zero("Z", wait=True),
            "ZI": lambda: self._zero("ZI", wait=False),
        }

    # ------------------------------------------------------------------------- the balance

    async def _cancel(self) -> str:
        self.unit.stop("8")
        self._feel(self.clock.now_s)
        self.cell.tare_kg = 0.0
        return self._serial_line()

    def _range_fault(self) -> str:
        """Return ``+`` or ``-`` where the load cannot be weighed."""
        self._look_at_sample()
        gross_kg = self.cell.gross_kg(self.clock.now_s)
        if self.faults.active(FaultKind.OVERRANGE) or gross_kg > CAPACITY_KG:
            return "+"
        return "-" if gross_kg < -UNDERLOAD_KG else ""

    def _stable(self) -> bool:
        return not self.unit.draughty and self.safe and self.clock.now_s >= self.cell.settles_at_s()

    async def _wait_stable(self) -> bool:
        # As long as the balance does.
        if not self._stable():
            now_s, ready_s = self.clock.now_s, self.cell.settles_at_s()
            until_s = ready_s if ready_s > now_s else now_s + STABLE_WITHIN_S
            await self.clock.sleep_until_s(min(until_s, now_s + STABLE_WITHIN_S))
        return self._stable()

    async def _weight(self, *, wait: bool) -> str:
        self._look_at_sample()
        if self.faults.active(FaultKind.STALE_READING):
            return f"S {self._shown}"
        beyond = self._range_fault()
        if beyond:
            return f"S {beyond}"
        if wait and not await self._wait_stable():
            return "S I"
        net_kg = self.cell.gross_kg(self.clock.now_s) - self.cell.tare_kg
        unit = "oz" if self.faults.active(FaultKind.WRONG_UNIT) else "g"
        shown = _shown(net_kg, stable=self._stable(), unit=unit)
        if unit == "g":
            self._shown = shown
        return f"S {shown}"

    async def _tare(self, name: str, *, wait: bool) -> str:
        beyond = self._range_fault()
        if beyond:
            return f"{name} {beyond}"
        if wait and not await self._wait_stable():
            return f"{name} I"
        gross_kg = self.cell.gross_kg(self.clock.now_s)
        if gross_kg < -ZERO_RANGE_KG:
            return f"{name} -"
        self.cell.tare_kg = gross_kg
        return f"{name} {_shown(gross_kg, stable=self._stable())}"

    async def _tare_value(self) -> str:
        return f"TA A {self.cell.tare_kg * 1e3:10.5f} g"

    def _preset_tare(self, words: list[str]) -> str:
        try:
            tare_kg = float(words[1]) * sics.KG_PER_UNIT[words[2]]
        except (ValueError, KeyError, IndexError):
            return "TA L"
        if not 0.0 <= tare_kg <= CAPACITY_KG:
            return "TA L"
        self.cell.tare_kg = tare_kg
        return f"TA A {tare_kg * 1e3:10.5f} g"

    async def _clear_tare(self) -> str:
        self.cell.tare_kg = 0.0
        return "TAC A"

    async def _zero(self, name: str, *, wait: bool) -> str:
        beyond = self._range_fault()
        if beyond:
            return f"{name} {beyond}"
        if wait and not await self._wait_stable():
            return f"{name} I"
        gross_kg = self.cell.gross_kg(self.clock.now_s)
        if abs(gross_kg + self.cell.zero_kg) > ZERO_RANGE_KG:
            return f"{name} {'+' if gross_kg > 0.0 else '-'}"
        self.cell.zero_kg += gross_kg
        self.cell.tare_kg = 0.0
        if name == "Z":
            return "Z A"
        return f"ZI {'S' if self._stable() else 'D'}"

    def _show_text(self, line: str) -> str:
        self._display = line.partition('"')[2].rpartition('"')[0]
        asked = _HEAD_ASKED.fullmatch(line)
        if asked is not None:
            self.unit.ask_for_head(asked[1])
        return "D A"


def _shown(mass_kg: float, *, stable: bool, unit: str = "g") -> str:
    number = f"{mass_kg * 1e3:10.5f}" if unit == "g" else f"{mass_kg / OUNCE_KG:10.7f}"
    return f"{'S' if stable else 'D'} {number} {unit}"
