"""The parameters of a Eurotherm 2416, 3216 and EPC3016, tied to a simulated furnace.

The three share the addresses of the loop and differ in the programmer: register 23 = 2 runs the
programme of a 2416 and holds that of a 3216. Sources are named in `_eurotherm_registers`.
Not checked against a document: what register 122 of a 3216 holds, and what the network watchdog of
an EPC3016 does (here its flag is wired to forced manual with no output, and resets the programme).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final

from labenv_instruments.twins._eurotherm_registers import Parameter, RegisterBank, Store, fixed
from labenv_instruments.twins._furnace_model import Phase, Step
from labenv_instruments.twins._modbus_frames import ILLEGAL_VALUE, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from labenv_instruments.twins._eurotherm_registers import Kind
    from labenv_instruments.twins._furnace_model import Furnace

SIMULATED_ID: Final = 0x5457  # customer identification by which a twin is known
HIGHEST_SETPOINT_C = 1600.0
_TABLE, _SPAN = 8328, 8  # program 1 of a 2416 and an EPC3016; registers a segment
_END, _RAMP_RATE, _RAMP_TIME, _DWELL, _STEP = range(5)
_UNIT_S = {0: 1.0, 1: 60.0, 2: 3600.0}  # of a rate on a 2416 and an EPC3016
_BROKEN, _LOOP_BREAK, _COMPLETE, _OUT_OF_RANGE, _MANUAL = 1 << 5, 1 << 6, 1 << 9, 1 << 10, 1 << 4


class Controller(ABC):
    """What the three have in common.

    Args:
        furnace: What is controlled.
        shown_c: Returns what the thermocouple shows, degC.
        capacity: Segments that the programmer of a 3216 has.

    Attributes:
        bank: Its parameters, as words.
        watchdog_s: For how long it may hear nothing, s; 0 for ever.
        last_cools: Whether the programme's last ramp is a cooling that it may fall behind of.
    """

    phases: ClassVar[dict[Phase, int]]
    time_unit_s: ClassVar[float] = 6.0
    absent: ClassVar[tuple[int, ...]] = ()

    def __init__(self, furnace: Furnace, shown_c: Callable[[], float], capacity: int) -> None:
        self.furnace, self._shown_c, self.capacity = furnace, shown_c, capacity
        self.sensor_broken = self.out_of_range = self.fahrenheit = self.last_cools = False
        self.store = Store()
        parameters = {**self._common(), **self.programmer()}
        for address in self.absent:
            del parameters[address]
        self.bank = RegisterBank(parameters, self.time_unit_s, lambda: self.status & 0xFF)

    @abstractmethod
    def programmer(self) -> dict[int, Parameter]:
        """Return the parameters in which the models differ."""

    @abstractmethod
    def steps(self) -> tuple[Step, ...]:
        """Return the programme in the table."""

    @property
    def watchdog_s(self) -> float:
        """For how long it may hear nothing, s; 0 for ever."""
        return 0.0

    def lose_contact(self) -> None:  # noqa: B027 - most have no watchdog
        """Do what is set for when nothing was heard for too long."""

    @property
    def status(self) -> int:
        """The status word, register 75."""
        furnace = self.furnace
        astray = furnace.run is not None and furnace.run.stray_k > 150.0
        loop_broken = furnace.output >= 0.999 and astray
        return (
            (_MANUAL if furnace.manual else 0)
            | (_BROKEN if self.sensor_broken else 0)
            | (_LOOP_BREAK if loop_broken else 0)
            | (_COMPLETE if furnace.complete else 0)
            | (_OUT_OF_RANGE if self.out_of_range else 0)
        )

    def run_program(self) -> None:
        """Start the programme in the table."""
        steps = self.steps()
        last = len(steps) - 1
        self.furnace.manual = False
        self.furnace.start(steps, last if self.last_cools and last > 0 else len(steps))

    def set_phase(self, wanted: float) -> None:
        """Do what is written to register 23.

        Raises:
            RefusedError: If it is no state that can be asked for.
        """
        if wanted == self.phases[Phase.RUN]:
            self.run_program()
        elif wanted == self.phases[Phase.HOLD]:
            self.furnace.hold()
        elif wanted == self.phases[Phase.RESET]:
            self.furnace.reset()
        else:
            raise RefusedError(ILLEGAL_VALUE)

    def _common(self) -> dict[int, Parameter]:
        furnace = self.furnace
        base = Parameter(
            "float", lambda: self._degrees(furnace.base_setpoint_c), self._set_base, stored=True
        )
        return {
            1: Parameter("float", lambda: self._degrees(self._shown_c())),
            2: base,
            3: Parameter("float", lambda: 100.0 * self._output(), self._set_output, True),
            4: Parameter("float", lambda: 100.0 * furnace.output),
            5: Parameter("float", lambda: self._degrees(furnace.setpoint_c)),
            23: Parameter("word", lambda: self.phases[furnace.phase], self.set_phase),
            24: base,
            25: self.store.parameter(25, "float", 20.0),
            75: Parameter("word", lambda: self.status),
            107: fixed(0x0405),
            111: Parameter("float", lambda: self._degrees(HIGHEST_SETPOINT_C)),
            112: Parameter("float", lambda: self._degrees(0.0)),
            199: fixed(0),
            263: Parameter("word", lambda: float(bool(self.status & _LOOP_BREAK))),
            273: Parameter("word", lambda: float(furnace.manual), self._set_manual, True),
            516: Parameter("word", lambda: float(self.fahrenheit)),
            629: fixed(SIMULATED_ID),
        }

    def _degrees(self, celsius: float) -> float:
        return celsius * 1.8 + 32.0 if self.fahrenheit else celsius

    def _output(self) -> float:
        return self.furnace.manual_share if self.furnace.manual else self.furnace.output

    def _set_base(self, value: float) -> None:
        if not 0.0 <= value <= HIGHEST_SETPOINT_C:
            raise RefusedError(ILLEGAL_VALUE)
        self.furnace.base_setpoint_c = value
        if self.furnace.phase is Phase.RESET:
            self.furnace.setpoint_c = value

    def _set_manual(self, value: float) -> None:
        if value not in {0.0, 1.0}:
            raise RefusedError(ILLEGAL_VALUE)
        if value and not self.furnace.manual:
            self.furnace.manual_share = self.furnace.output  # no jump
        self.furnace.manual = bool(value)

    def _set_output(self, value: float) -> None:
        if not self.furnace.manual or not 0.0 <= value <= 100.0:
            raise RefusedError(ILLEGAL_VALUE)
        self.furnace.manual_share = self.furnace.output = value / 100.0

    def _segment(self) -> float:
        run = self.furnace.run
        if run is None or self.furnace.phase is Phase.RESET:
            return 0.0
        return float(run.steps[min(self.furnace.index, len(run.steps) - 1)].segment)


class TableProgrammer(Controller):
    """A programmer whose segments have types, as those of a 2416 and an EPC3016."""

    segments: ClassVar[int]
    phases: ClassVar[dict[Phase, int]] = {
        Phase.RESET: 1,
        Phase.RUN: 2,
        Phase.HOLD: 4,
        Phase.HOLDBACK: 8,
        Phase.COMPLETE: 16,
    }

    @classmethod
    def place(cls, number: int) -> int:
        """Return the address of a segment's type."""
        return _TABLE + _SPAN * number

    def programmer(self) -> dict[int, Parameter]:
        """Return the parameters of the programmer."""
        furnace, store = self.furnace, self.store
        found = {
            22: store.parameter(22, "word", 1.0),
            56: Parameter("word", self._segment),
            58: Parameter("time", lambda: furnace.program_left_s),
            _TABLE: store.parameter(_TABLE, "word"),
            _TABLE + 1: store.parameter(_TABLE + 1, "float", 10.0),
            _TABLE + 2: store.parameter(_TABLE + 2, "word", 1.0),
            _TABLE + 3: store.parameter(_TABLE + 3, "word", 1.0),
            _TABLE + 4: store.parameter(_TABLE + 4, "word", 1.0),
        }
        for number in range(1, self.segments + 1):
            at = self.place(number)
            found[at] = store.parameter(at, "word")
            found[at + 1] = store.parameter(at + 1, "float")
            found[at + 2] = self._rate_or_time(at)
            found[at + 3] = store.parameter(at + 3, "word")
            found[at + 4] = store.parameter(at + 4, "word")
        return found

    def _rate_or_time(self, at: int) -> Parameter:
        """Return the parameter that is a rate or a time, by the segment's type."""
        kept = self.store.parameter(at + 2, "float")

        def kind() -> Kind:
            return "time" if int(self.store[at]) in {_RAMP_TIME, _DWELL} else "float"

        return Parameter("float", kept.read, kept.write, stored=True, kind_now=kind)

    def steps(self) -> tuple[Step, ...]:
        """Return the programme in the table."""
        store, found = self.store, list[Step]()
        rate_unit_s = _UNIT_S[int(store[_TABLE + 2])]
        self.furnace.holdback_k = store[_TABLE + 1] if store[_TABLE] in {1.0, 3.0} else 0.0
        self.furnace.resets_at_end = False
        at_c = self.furnace.temperature_c
        for number in range(1, self.segments + 1):
            at = self.place(number)
            kind, target_c, value = int(store[at]), store[at + 1], store[at + 2]
            if kind == _END:
                self.furnace.resets_at_end = self.resets(at)
                break
            if kind == _DWELL:
                _add_dwell(found, at_c, value, number)
                continue
            if kind == _STEP or not value > 0.0:
                rate = math.inf
            else:
                rate = value / rate_unit_s if kind == _RAMP_RATE else abs(target_c - at_c) / value
            found.append(Step(target_c, rate, 0.0, number))
            at_c = target_c
        return tuple(found)

    def resets(self, end: int) -> bool:
        """Return whether the programmer resets itself at an End segment."""
        return self.store[end + 3] == 1.0


def _add_dwell(found: list[Step], at_c: float, dwell_s: float, number: int) -> None:
    if found and not found[-1].dwell_s:
        last = found.pop()
        found.append(Step(last.target_c, last.rate_k_per_s, dwell_s, last.segment))
    else:
        found.append(Step(at_c, math.inf, dwell_s, number))


class Controller2416(TableProgrammer):
    """Eurotherm 2416 with one programme of 16 segments, HA026230."""

    segments = 16

    def programmer(self) -> dict[int, Parameter]:
        """Return the parameters of the programmer."""
        furnace = self.furnace
        return super().programmer() | {
            36: Parameter("time", lambda: furnace.step_left_s),
            121: fixed(1280),
            122: fixed(0x2460),
            211: fixed(self.segments),
            258: Parameter("word", lambda: float(self.sensor_broken)),
        }


class Controller3216(Controller):
    """Eurotherm 3216 with a programmer of 4 or 8 segments (P version), HA028651."""

    phases: ClassVar[dict[Phase, int]] = {
        Phase.RESET: 0,
        Phase.RUN: 1,
        Phase.HOLD: 2,
        Phase.HOLDBACK: 2,
        Phase.COMPLETE: 3,
    }
    _PLACE, _TRIPLE = 1280, 3
    _DWELL_AT_END, _RESET_AT_END = 1.0, 3.0
    _RATE_S: ClassVar[dict[int, float]] = {0: 60.0, 1: 3600.0, 2: 1.0}

    def programmer(self) -> dict[int, Parameter]:
        """Return the parameters of the programmer."""
        furnace, store = self.furnace, self.store
        found = {
            122: fixed(3216),
            258: Parameter("word", lambda: float(self.sensor_broken)),
            276: store.parameter(276, "word"),
            321: store.parameter(321, "word"),
            325: Parameter("time", lambda: sum(map(sum, furnace.run.done_s)) if furnace.run else 0),
            327: store.parameter(327, "float"),
            328: store.parameter(328, "word"),
            330: Parameter("word", self._segment),
            531: store.parameter(531, "word"),
        }
        for number in range(self.capacity):
            at = self._PLACE + self._TRIPLE * number
            found[at] = store.parameter(at, "time")
            found[at + 1] = store.parameter(at + 1, "float")
            found[at + 2] = store.parameter(at + 2, "float")
        return found

    def set_phase(self, wanted: float) -> None:
        """Do what is written to register 23, where hold and holdback look alike.

        Raises:
            RefusedError: If it is no state that can be asked for.
        """
        if wanted == self.phases[Phase.COMPLETE]:
            raise RefusedError(ILLEGAL_VALUE)
        super().set_phase(wanted)

    def steps(self) -> tuple[Step, ...]:
        """Return the programme in the table; a segment without ramp jumps, one of zeros is over."""
        store, found = self.store, list[Step]()
        rate_unit_s = self._RATE_S[int(store[531])]
        self.furnace.holdback_k = store[327]
        self.furnace.resets_at_end = store[328] == self._RESET_AT_END
        for number in range(self.capacity):
            at = self._PLACE + self._TRIPLE * number
            dwell_s, target_c, ramp = store[at], store[at + 1], store[at + 2]
            if not ramp and not dwell_s:
                break
            found.append(
                Step(target_c, ramp / rate_unit_s if ramp else math.inf, dwell_s, number + 1)
            )
        return tuple(found)


class ControllerEPC3016(TableProgrammer):
    """Eurotherm EPC3016 with one programme of 25 segments, addresses as in alab_control."""

    segments = 25
    time_unit_s = 1.0
    absent = (107,)
    _FAR, _FAR_FROM = 9768, 17  # where segments 17 to 25 of programme 1 stand

    @classmethod
    def place(cls, number: int) -> int:
        """Return the address of a segment's type."""
        if number < cls._FAR_FROM:
            return super().place(number)
        return cls._FAR + _SPAN * (number - cls._FAR_FROM)

    def programmer(self) -> dict[int, Parameter]:
        """Return the parameters of the programmer and of the network watchdog."""
        store = self.store
        return super().programmer() | {
            121: fixed(1280),
            1026: fixed(301_600_042, "long"),
            1027: fixed(0),
            1169: store.parameter(1169, "time"),
            1170: store.parameter(1170, "word"),
            1171: store.parameter(1171, "time"),
            1172: store.parameter(1172, "word"),
            1931: Parameter("word", lambda: float(self.sensor_broken)),
            1932: Parameter("word", lambda: float(self.sensor_broken or self.out_of_range)),
            _TABLE + 6: store.parameter(_TABLE + 6, "word"),
            10573: self._button(self.run_program),
            10574: self._button(self.furnace.hold),
            10575: self._button(self.furnace.reset),
            10588: fixed(1),
            10589: fixed(self.segments),
        }

    def _button(self, press: Callable[[], None]) -> Parameter:
        """Return a parameter that does something when 1 is written, and shows 0 again."""

        def pressed(value: float) -> None:
            if value:
                press()

        return Parameter("word", lambda: 0.0, pressed)

    def resets(self, end: int) -> bool:
        """Return whether the programmer resets itself at its end."""
        return self.store[_TABLE + 6] == 1.0

    @property
    def watchdog_s(self) -> float:
        """For how long it may hear nothing, s; 0 for ever."""
        return self.store[1169]

    def lose_contact(self) -> None:
        """Raise the watchdog's flag, which stops the programme and the heater."""
        self.store[1172] = 1.0
        self.furnace.reset()
        self.furnace.manual, self.furnace.manual_share, self.furnace.output = True, 0.0, 0.0


MODELS: Final[dict[str, type[Controller]]] = {
    "2416": Controller2416,
    "3216": Controller3216,
    "EPC3016": ControllerEPC3016,
}

__all__ = ["MODELS", "SIMULATED_ID", "Controller"]
