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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from xml.sax.saxutils import escape

from labenv_instruments.drivers import _mt_sics_client as sics
from labenv_instruments.faults import FaultKind
from labenv_instruments.twins._weighing_cell import (
    CAPACITY_KG,
    UNDERLOAD_KG,
    ZERO_RANGE_KG,
    WeighingCell,
)
from labenv_instruments.wire_twin import WireTwin
from labenv_schemas.characterisation import Weigh
from labenv_schemas.errors import LabEnvError
from labenv_schemas.proposal import Dose, PrecursorDose

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable, Mapping

    from labenv_instruments.sample_view import SampleView

VIAL_KG = 0.0125
STABLE_WITHIN_S = 10.0  # then S and T give up
DOSING_STARTS_S, DOSING_KG_PER_S = 15.0, 50e-6
HEAD_CHANGE_S = 20.0
OUNCE_KG = 0.028349523
SERIAL, MODEL, SOFTWARE = "B000000001", "labenv XPE206 220.00000 g", "labenv twin 1"
_HEAD_ASKED = re.compile(r'D "HEAD (.+)"')


@dataclass(slots=True)
class _Portion:
    """A portion under way."""

    substance: str
    target_kg: float
    begun_s: float
    factor: float = 1.0

    @property
    def ends_s(self) -> float:
        return self.begun_s + DOSING_STARTS_S + self.target_kg / DOSING_KG_PER_S


class MettlerBalanceTwin(WireTwin):
    """Shows the sample's mass and lets powder fall into it.

    Attributes:
        misdose_factor: How much of what was asked for falls in a mis-dose; None for anything from
            half to one and a half, but not what would pass.
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
        self.misdose_factor: float | None = None
        self.cell = WeighingCell(self.rng)
        self._dosing_settings: dict[str, str] = {}
        self._portion: _Portion | None = None
        self._record: tuple[str, float, float] | None = None
        self._head: str | None = None
        self._asked_head, self._head_comes_s = "", 0.0
        self._pin_locked = self._door_is_open = False
        self._display = ""
        self._unsent: list[str] = []
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
        self._stop(self.clock.now_s, "5")
        super().unload()
        self.cell.put(0.0, self.clock.now_s)

    def _container_kg(self) -> float:
        option_kg = float(self.options.get("container_g", "0")) * 1e-3
        return float(self.settings.get("container_kg", option_kg))

    def _look_at_sample(self) -> None:
        """Find out once what the sample weighs."""
        if self.sample is None or self._looked_at or self._portion is not None:
            return
        self._looked_at = True
        try:
            mass_kg, _ = self.sample.weigh(self.settings.get("weigh") or Weigh())
        except LabEnvError:
            return  # an empty vial
        # It was there from the start: it has settled as the container has.
        self.cell.put(self.cell.load_kg + mass_kg, self.clock.now_s)

    # ------------------------------------------------------------------------- the wire

    @property
    def safe(self) -> bool:
        """Whether no powder falls."""
        return self._portion is None

    def state(self) -> dict[str, Any]:
        """Return what is on the pan, on the display and in the dosing unit."""
        return {
            "safe": self.safe,
            "load_kg": self.cell.load_kg,
            "display": self._display,
            "head": self._head,
            "dosing": None if self._portion is None else self._portion.substance,
        }

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Read a line."""
        return (await reader.readuntil(b"\n")).rstrip(b"\r\n")

    def advance(self, now_s: float) -> None:
        """Let powder fall and robots work until a moment."""
        portion = self._portion
        if portion is not None and self.faults.active(FaultKind.MISDOSE):
            portion.factor = self._misdose()
        if portion is not None and now_s >= portion.ends_s:
            self._fall(portion, 1.0, portion.ends_s, "A")
        if self._asked_head and not self._pin_locked and now_s >= self._head_comes_s:
            rack = self.settings.get("heads")
            if rack is None or self._asked_head in rack:
                self._head = self._asked_head
            self._asked_head = ""

    async def answer(self, request: bytes) -> bytes:
        """Answer a line."""
        reply = await self._reply_to(request)
        unsent, self._unsent = self._unsent, []
        return b"".join(line.encode("ascii", "replace") + b"\r\n" for line in [*unsent, reply])

    def busy_reply(self, request: bytes) -> bytes:
        """Say that something else is going on; only ``@`` gets through."""
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
            return self._dosing_reply(words)
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
        self._stop(self.clock.now_s, "8")
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
        draught = self._door_is_open or self.faults.active(FaultKind.DOOR_OPEN) is not None
        return not draught and self.safe and self.clock.now_s >= self.cell.settles_at_s()

    async def _wait_stable(self) -> bool:
        """Wait as long as the balance does for a stable weight."""
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
            self._asked_head = asked[1]
            self._head_comes_s = self.clock.now_s + HEAD_CHANGE_S
        return "D A"

    # ------------------------------------------------------------------------- the dosing unit

    def _dosing_reply(self, words: list[str]) -> str:
        line, path = " ".join(words), " ".join(words[:4] if words[0] == "QRD" else words[:3])
        if path in {sics.TARGET_MG, sics.TOLERANCE_PERCENT, sics.SAMPLE_NAME} and len(words) > 4:
            self._dosing_settings[path] = " ".join(words[4:])
            return f"{path} A"
        if path == sics.DOOR_POSITION:
            is_open = self._door_is_open or self.faults.active(FaultKind.DOOR_OPEN)
            return f"{path} {sics.DOOR_OPEN if is_open else sics.DOOR_CLOSED} A"
        if path == sics.HEAD_DATA:
            return self._head_record(path)
        if path == sics.DOSE_DATA:
            return self._dose_record(path)
        if path == sics.DOOR and words[3:] in ([sics.DOOR_CLOSED], [sics.DOOR_OPEN]):
            return self._move_door(words[3])
        if path == sics.HEAD_PIN and words[3:] in ([sics.PIN_LOCKED], [sics.PIN_RELEASED]):
            return self._move_pin(words[3])
        if line == sics.START_DOSING:
            return self._start()
        if line == sics.STOP_DOSING:
            was_dosing = not self.safe
            self._stop(self.clock.now_s, "8")
            return f"{line} A" if was_dosing else f"{line} I 5"
        return f"{path} L"

    def _move_door(self, where: str) -> str:
        if self.faults.active(FaultKind.DOOR_OPEN):
            self._unsent.append(f"{sics.DOOR} B")
            return f"{sics.DOOR} I 3"
        self._door_is_open = where == sics.DOOR_OPEN
        self._unsent.append(f"{sics.DOOR} B")
        return f"{sics.DOOR} A"

    def _move_pin(self, where: str) -> str:
        if not self.safe:
            return f"{sics.HEAD_PIN} I {sics.ANOTHER_JOB}"
        if where == sics.PIN_LOCKED and self._head is None:
            return f"{sics.HEAD_PIN} I {sics.NOT_MOUNTED}"
        self._pin_locked = where == sics.PIN_LOCKED
        self._unsent.append(f"{sics.HEAD_PIN} B")
        return f"{sics.HEAD_PIN} A"

    def _head_record(self, path: str) -> str:
        if self._head is None:
            return f"{path} I {sics.NOT_MOUNTED}"
        return "\r\n".join([
            f"{path} B",
            "<Info_head>",
            f"<Substance>{escape(self._head)}</Substance>",
            "<Lot_ID>1</Lot_ID>",
            "</Info_head>",
            f"{path} A",
        ])

    def _dose_record(self, path: str) -> str:
        if not self.safe:
            return f"{path} I {sics.ANOTHER_JOB}"
        if self._record is None:
            return f"{path} I 4"
        substance, target_kg, fallen_kg = self._record
        return "\r\n".join([
            f"{path} B",
            "<Dosing>",
            f"<Substance>{escape(substance)}</Substance>",
            f'<Target_quantity Unit="mg">{target_kg * 1e6:.4f}</Target_quantity>',
            f'<Content Unit="mg">{fallen_kg * 1e6:.4f}</Content>',
            "</Dosing>",
            f"{path} A",
        ])

    def _start(self) -> str:
        try:
            target_kg = float(self._dosing_settings.get(sics.TARGET_MG, "0")) * 1e-6
        except ValueError:
            target_kg = 0.0
        if self._head is None:
            return f"{sics.START_DOSING} I {sics.NOT_MOUNTED}"
        if not self.safe:
            return f"{sics.START_DOSING} I {sics.ANOTHER_JOB}"
        door_is_open = self._door_is_open or self.faults.active(FaultKind.DOOR_OPEN)
        can_dose = self._pin_locked and self.sample is not None and 0.0 < target_kg <= CAPACITY_KG
        if door_is_open or not can_dose:
            return f"{sics.START_DOSING} I 5"
        self._portion = _Portion(self._head, target_kg, self.clock.now_s)
        if self.faults.active(FaultKind.MISDOSE):
            self._portion.factor = self._misdose()
        return f"{sics.START_DOSING} B"

    def _misdose(self) -> float:
        if self.misdose_factor is not None:
            return self.misdose_factor
        off = 0.1 + 0.4 * float(self.rng.random())
        return 1.0 + off if self.rng.random() < 0.5 else 1.0 - off

    def _stop(self, now_s: float, code: str) -> None:
        portion = self._portion
        if portion is not None:
            falling_s = max(now_s - portion.begun_s - DOSING_STARTS_S, 0.0)
            share = min(falling_s * DOSING_KG_PER_S / portion.target_kg, 1.0)
            self._fall(portion, share, now_s, f"I {code}")

    def _fall(self, portion: _Portion, share: float, now_s: float, ended: str) -> None:
        """Let what has fallen of a portion be in the vial, and say how the action ended."""
        self._portion = None
        self._looked_at = True  # what was in it is unknown then, and tared away
        mass_kg, shown_kg = portion.target_kg * portion.factor * share, 0.0
        if self.sample is not None and mass_kg > 0.0:
            fallen = PrecursorDose(substance=portion.substance, mass_kg=mass_kg)
            try:
                shown_kg = sum(self.sample.dispense(Dose(precursors=(fallen,))).values())
            except LabEnvError:
                ended = "I 7"
        self.cell.put(self.cell.load_kg + shown_kg, now_s)
        self._record = (portion.substance, portion.target_kg, shown_kg)
        self._unsent.append(f"{sics.START_DOSING} {ended}")


def _shown(mass_kg: float, *, stable: bool, unit: str = "g") -> str:
    number = f"{mass_kg * 1e3:10.5f}" if unit == "g" else f"{mass_kg / OUNCE_KG:10.7f}"
    return f"{'S' if stable else 'D'} {number} {unit}"
