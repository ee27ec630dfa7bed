"""A Quantos dosing unit that is not there: heads, a door, and powder that falls for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from labenv_instruments.drivers import _mt_sics_client as sics
from labenv_instruments.faults import FaultKind
from labenv_instruments.twins._weighing_cell import CAPACITY_KG
from labenv_schemas.errors import LabEnvError
from labenv_schemas.proposal import Dose, PrecursorDose

if TYPE_CHECKING:
    from labenv_instruments.wire_twin import WireTwin

DOSING_STARTS_S: Final = 15.0
DOSING_KG_PER_S: Final = 50e-6
HEAD_CHANGE_S: Final = 20.0


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


class DosingUnit:
    """What the QRA and QRD commands move.

    Args:
        twin: The balance it is mounted on, for its clock, faults, sample and rack of heads.

    Attributes:
        misdose_factor: How much of what was asked for falls in a mis-dose; None for any.
        head: Substance in the mounted head.
        pin_locked: Whether the head is locked.
        door_is_open: Whether the front door is.
        unsent: Lines that are to go out before the next reply.
    """

    def __init__(self, twin: WireTwin) -> None:
        self._twin = twin
        self.misdose_factor: float | None = None
        self.head: str | None = None
        self.pin_locked = self.door_is_open = False
        self.unsent: list[str] = []
        self.portion: _Portion | None = None
        self.felt_kg = 0.0  # fallen since it was last asked for
        self._settings: dict[str, str] = {}
        self._record: tuple[str, float, float] | None = None
        self._asked_head, self._head_comes_s = "", 0.0

    @property
    def draughty(self) -> bool:
        """Whether the front door lets air in."""
        return self.door_is_open or self._twin.faults.active(FaultKind.DOOR_OPEN) is not None

    def ask_for_head(self, substance: str) -> None:
        """Have a robot fetch a head, as the display asks for it."""
        self._asked_head, self._head_comes_s = substance, self._twin.clock.now_s + HEAD_CHANGE_S

    def advance(self, now_s: float) -> None:
        """Let powder fall and robots work until a moment."""
        portion = self.portion
        if portion is not None and self._twin.faults.active(FaultKind.MISDOSE):
            portion.factor = self._misdose()
        if portion is not None and now_s >= portion.ends_s:
            self._fall(portion, 1.0, "A")
        if self._asked_head and not self.pin_locked and now_s >= self._head_comes_s:
            rack = self._twin.settings.get("heads")
            if rack is None or self._asked_head in rack:
                self.head = self._asked_head
            self._asked_head = ""

    def reply(self, words: list[str]) -> str:
        """Answer a QRA or QRD command.

        Args:
            words: The command, taken apart.

        Returns:
            The reply, without its line end.
        """
        line, path = " ".join(words), " ".join(words[:4] if words[0] == "QRD" else words[:3])
        if path in {sics.TARGET_MG, sics.TOLERANCE_PERCENT, sics.SAMPLE_NAME} and len(words) > 4:
            self._settings[path] = " ".join(words[4:])
            return f"{path} A"
        if path == sics.DOOR_POSITION:
            return f"{path} {sics.DOOR_OPEN if self.draughty else sics.DOOR_CLOSED} A"
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
            was_dosing = self.portion is not None
            self.stop("8")
            return f"{line} A" if was_dosing else f"{line} I 5"
        return f"{path} L"

    def _move_door(self, where: str) -> str:
        if self._twin.faults.active(FaultKind.DOOR_OPEN):
            self.unsent.append(f"{sics.DOOR} B")
            return f"{sics.DOOR} I 3"
        self.door_is_open = where == sics.DOOR_OPEN
        self.unsent.append(f"{sics.DOOR} B")
        return f"{sics.DOOR} A"

    def _move_pin(self, where: str) -> str:
        if self.portion is not None:
            return f"{sics.HEAD_PIN} I {sics.ANOTHER_JOB}"
        if where == sics.PIN_LOCKED and self.head is None:
            return f"{sics.HEAD_PIN} I {sics.NOT_MOUNTED}"
        self.pin_locked = where == sics.PIN_LOCKED
        self.unsent.append(f"{sics.HEAD_PIN} B")
        return f"{sics.HEAD_PIN} A"

    def _head_record(self, path: str) -> str:
        if self.head is None:
            return f"{path} I {sics.NOT_MOUNTED}"
        return "\r\n".join([
            f"{path} B",
            "<Info_head>",
            f"<Substance>{escape(self.head)}</Substance>",
            "<Lot_ID>1</Lot_ID>",
            "</Info_head>",
            f"{path} A",
        ])

    def _dose_record(self, path: str) -> str:
        if self.portion is not None:
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
            target_kg = float(self._settings.get(sics.TARGET_MG, "0")) * 1e-6
        except ValueError:
            target_kg = 0.0
        if self.head is None:
            return f"{sics.START_DOSING} I {sics.NOT_MOUNTED}"
        if self.portion is not None:
            return f"{sics.START_DOSING} I {sics.ANOTHER_JOB}"
        can_dose = (
            self.pin_locked and self._twin.sample is not None and 0.0 < target_kg <= CAPACITY_KG
        )
        if self.draughty or not can_dose:
            return f"{sics.START_DOSING} I 5"
        self.portion = _Portion(self.head, target_kg, self._twin.clock.now_s)
        if self._twin.faults.active(FaultKind.MISDOSE):
            self.portion.factor = self._misdose()
        return f"{sics.START_DOSING} B"

    def _misdose(self) -> float:
        if self.misdose_factor is not None:
            return self.misdose_factor
        off = 0.1 + 0.4 * float(self._twin.rng.random())
        return 1.0 + off if self._twin.rng.random() < 0.5 else 1.0 - off

    def stop(self, code: str) -> None:
        """Stop dosing; what has fallen has fallen."""
        portion = self.portion
        if portion is not None:
            now_s = self._twin.clock.now_s
            falling_s = max(now_s - portion.begun_s - DOSING_STARTS_S, 0.0)
            share = min(falling_s * DOSING_KG_PER_S / portion.target_kg, 1.0)
            self._fall(portion, share, f"I {code}")

    def _fall(self, portion: _Portion, share: float, ended: str) -> None:
        """Let what has fallen of a portion be in the vial, and say how the action ended."""
        self.portion = None
        mass_kg, shown_kg = portion.target_kg * portion.factor * share, 0.0
        if self._twin.sample is not None and mass_kg > 0.0:
            fallen = PrecursorDose(substance=portion.substance, mass_kg=mass_kg)
            try:
                shown_kg = sum(self._twin.sample.dispense(Dose(precursors=(fallen,))).values())
            except LabEnvError:
                ended = "I 7"
        self.felt_kg += shown_kg
        self._record = (portion.substance, portion.target_kg, shown_kg)
        self.unsent.append(f"{sics.START_DOSING} {ended}")


__all__ = ["DosingUnit"]
