"""A Keithley 6221 with a 2182A in delta mode, and a Lake Shore 336 that leads the stage.

The current alternates in sign, and each reading is made of three, so that thermal voltages and
their drift cancel. The source arms for each temperature and disarms after it: no current warms the
bar while it goes to the next. Compliance abort is on, so that an opened contact ends the reading.

Commands: Model 622x reference manual, 622x-901-01, sections 5 and 13; the voltmeter's range and
integration are set through the source's serial port. Not checked against a device: which entries,
if any, the error queue gets when compliance aborts a reading; an abort without an error is taken
for compliance here.
"""

from __future__ import annotations

import itertools
import math
import statistics
from typing import TYPE_CHECKING, ClassVar, Final

from labenv_instruments.drivers._resistance_run import ResistanceRun
from labenv_instruments.wire.scpi import overloaded
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

RANGES_V: Final = (0.01, 0.1, 1.0, 10.0, 100.0)  # of the 2182A, each to 120 %
_READINGS, _NPLC, _DELAY_S = 8, 1, 2e-3
_CONVERSION_S: Final = _DELAY_S + _NPLC / 50.0 + 4e-3  # mains of 50 Hz, the slower of the two
_POLL_S, _WITHIN_S, _ARMED_WITHIN_S = 0.1, 30.0, 20.0
_LOWER_BELOW: Final = 0.05  # of a range: the next lower one will do


class Keithley6221(ResistanceRun):
    """Current source and nanovoltmeter."""

    kind = "keithley_6221"
    default_port = 1394
    largest_a = 0.105
    largest_compliance_v = 105.0
    units: ClassVar[Mapping[str, str]] = ResistanceRun.units

    _range = 1  # number of the voltmeter's range, which follows the bar
    _last_data = ""

    async def open_source(self) -> tuple[str, str, bool]:
        """Connect and see that both devices are there.

        Returns:
            Model, serial number, and whether it says that it is simulated.

        Raises:
            InstrumentError: If another device answers, or the source does not find its voltmeter.
        """
        await self.session.open()
        text = await self.session.query("*IDN?")
        fields = [field.strip() for field in text.split(",")]
        if len(fields) != 4 or not fields[1].endswith("6221"):
            raise InstrumentError(
                f"{self.session.name} says it is {text!r}, not a Keithley 6221; check the address"
            )
        await self.session.errors()  # of whoever was there before
        if await self.session.numbers(":SOUR:DELT:NVPR?", 1) != [1.0]:
            raise InstrumentError(
                f"{self.session.name} finds no 2182A at its serial port; is it on, and set to "
                "RS-232 at the source's rate?"
            )
        return "Keithley 6221 with 2182A", fields[2], fields[2].startswith("twin-")

    async def set_source_up(self, current_a: float) -> None:
        """Set delta mode up, and see that the source shows what it was told.

        Args:
            current_a: The current, A.

        Raises:
            InstrumentError: If it refuses or shows another current, compliance or count.
        """
        tell = self.session.command
        await tell("*RST")
        await tell(f":SOUR:CURR:COMP {self.compliance_v:.6g}")
        await tell(f":SOUR:DELT:HIGH {current_a:.6e};:SOUR:DELT:DEL {_DELAY_S:g}")
        await tell(f":SOUR:DELT:COUN {_READINGS};:TRAC:POIN {_READINGS};:SOUR:DELT:CAB ON")
        await tell(":UNIT:VOLT:DC V;:FORM:ELEM READ,TST")
        await tell(f':SYST:COMM:SER:SEND "VOLT:NPLC {_NPLC}"')
        await self._set_range(1)
        query = ":SOUR:DELT:HIGH?;:SOUR:DELT:LOW?;:SOUR:CURR:COMP?;:SOUR:DELT:COUN?;:SOUR:DELT:CAB?"
        shown = await self.session.numbers(query, 5)
        wanted = [current_a, -current_a, self.compliance_v, float(_READINGS), 1.0]
        if any(not math.isclose(a, b, rel_tol=1e-4) for a, b in zip(shown, wanted, strict=True)):
            raise InstrumentError(
                f"{self.session.name} shows {shown} after being told {wanted} (current up and "
                "down, compliance, count, abort)"
            )

    async def resistance_ohm(self, current_a: float) -> float | None:
        """Measure in delta mode, in the range that suits.

        Args:
            current_a: The current, A.

        Returns:
            The mean resistance, ohm; None if the source reached its compliance.

        Raises:
            InstrumentError: If the voltmeter overflows in its highest range too.
        """
        highest = next(
            n for n, range_v in enumerate(RANGES_V) if range_v >= self.compliance_v * 0.84
        )
        while True:
            voltages_v = await self._delta()
            if voltages_v is None:
                return None
            if not any(overloaded(value) for value in voltages_v):
                break
            if self._range >= highest:
                raise InstrumentError(
                    f"{self.session.name}: the voltmeter overflows in its range of "
                    f"{RANGES_V[self._range]:g} V though the source is within its compliance; "
                    "check the voltmeter's leads"
                )
            await self._set_range(self._range + 1)
        if self._range > 0 and max(map(abs, voltages_v)) < _LOWER_BELOW * RANGES_V[self._range]:
            await self._set_range(self._range - 1)
        return statistics.fmean(voltages_v) / current_a

    async def source_off(self) -> None:
        """Abort delta mode, turn the output off and the current to 0, and see that it is so.

        Raises:
            InstrumentError: If the source does not show it.
        """
        # It may say that there was nothing to abort; what it shows afterwards is what counts.
        await self.session.attempt(":SOUR:SWE:ABOR")
        await self.session.attempt(":OUTP OFF;:SOUR:CURR 0")
        shown = await self.session.numbers(":OUTP?;:SOUR:CURR?;:SOUR:DELT:ARM?", 3)
        if any(shown):
            raise InstrumentError(
                f"{self.session.name} is not off: output, current and delta mode are {shown}"
            )

    async def _set_range(self, number: int) -> None:
        await self.session.command(f':SYST:COMM:SER:SEND "VOLT:RANG {RANGES_V[number]:g}"')
        self._range = number

    async def _delta(self) -> list[float] | None:
        """Return one set of readings, V; None if the source reached its compliance.

        Raises:
            InstrumentError: If the readings do not come in time, or the source reports an error.
        """
        await self.session.command(":TRAC:CLE")
        await self.session.command(":SOUR:DELT:ARM", once=True)
        await self._armed()
        await self.session.command(":INIT:IMM", once=True)
        expected_s = (_READINGS + 2) * _CONVERSION_S
        await self.wait(expected_s)
        waited_s = expected_s
        while True:
            count, armed = await self.session.numbers(":TRAC:POIN:ACT?;:SOUR:DELT:ARM?", 2)
            if count >= _READINGS:
                break
            if not armed:
                errors = await self.session.errors()
                if errors:
                    raise InstrumentError(f"{self.session.name} stopped: {'; '.join(errors)}")
                await self.source_off()
                return None
            if waited_s > expected_s + _WITHIN_S:
                raise InstrumentError(
                    f"{self.session.name} took {count:g} of {_READINGS} readings within "
                    f"{waited_s:.3g} s"
                )
            await self.wait(_POLL_S)
            waited_s += _POLL_S
        values = await self._data()
        await self.source_off()
        return values

    async def _armed(self) -> None:
        waited_s = 0.0
        while await self.session.numbers(":SOUR:DELT:ARM?", 1) != [1.0]:
            if waited_s >= _ARMED_WITHIN_S:
                raise InstrumentError(f"{self.session.name} does not arm; is its voltmeter on?")
            await self.wait(_POLL_S)
            waited_s += _POLL_S

    async def _data(self) -> list[float]:
        query = ":UNIT:VOLT:DC?;:TRAC:DATA?"
        text = await self.session.query(query)
        unit, _, data = text.partition(";")
        if unit.strip().upper() != "V":
            raise self.session.wrong(query, text, "readings in volts")
        fields = [self.session.number(query, field) for field in data.split(",")]
        if len(fields) != 2 * _READINGS:
            raise self.session.wrong(query, text, f"{_READINGS} readings with their times")
        values, times = fields[::2], fields[1::2]
        if any(later <= earlier for earlier, later in itertools.pairwise(times)):
            raise self.session.wrong(query, text, "times that go forward")
        if data == self._last_data and not any(overloaded(value) for value in values):
            raise InstrumentError(
                f"{self.session.name} shows the readings of the temperature before, to the last "
                "digit; it did not measure"
            )
        self._last_data = data
        return values
