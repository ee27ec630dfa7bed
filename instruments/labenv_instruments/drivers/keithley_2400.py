"""A Keithley 2400 in four-wire connection, and a Lake Shore 336 that leads the stage.

The source meter reverses no current by itself; here it reads at +I, -I and +I, and half the
difference is free of thermal voltages and their steady drift. The output is on only while it reads.

The 2400 has no Ethernet of its own: reach it over GPIB (``+visa://GPIB0::24::INSTR``) or through a
serial server (``+tcp``, with its port). Commands: Series 2400 user's manual, 2400S-900-01, section
18; status bits as there under FORMat:ELEMents: 0 overflow, 3 and 16 compliance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from labenv_instruments.drivers._resistance_run import ResistanceRun
from labenv_instruments.wire.scpi import overloaded
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

_NPLC: Final = 5.0
_READING_S: Final = 3.0 * _NPLC / 50.0 + 0.5  # with auto zero, at mains of 50 Hz
_OVERFLOWED, _IN_COMPLIANCE = 1, 8 | 65536
_SAME: Final = 1e-2


@dataclass(frozen=True, slots=True)
class _Reading:
    voltage_v: float
    current_a: float
    resistance_ohm: float
    time_s: float
    status: int


class Keithley2400(ResistanceRun):
    """Source meter."""

    kind = "keithley_2400"
    largest_a = 1.05
    largest_compliance_v = 210.0
    units: ClassVar[Mapping[str, str]] = ResistanceRun.units

    _last_time_s: float | None = None

    async def open_source(self) -> tuple[str, str, bool]:
        """Connect and see what answers.

        Returns:
            Model, serial number, and whether it says that it is simulated.

        Raises:
            InstrumentError: If it is another device.
        """
        await self.session.open()
        text = await self.session.query("*IDN?")
        fields = [field.strip() for field in text.split(",")]
        if len(fields) != 4 or "MODEL 24" not in fields[1].upper():
            raise InstrumentError(
                f"{self.session.name} says it is {text!r}, not a Keithley 2400; check the address"
            )
        await self.session.errors()  # of whoever was there before
        return f"Keithley {fields[1].split()[-1]}", fields[2], fields[2].startswith("twin-")

    async def set_source_up(self, current_a: float) -> None:
        """Set a current source with four wires up, and see that it shows what it was told.

        Args:
            current_a: The current, A.

        Raises:
            InstrumentError: If it refuses or shows otherwise.
        """
        tell = self.session.command
        await tell("*RST")
        await tell(":SOUR:FUNC CURR;:SOUR:CURR:MODE FIX;:SOUR:CURR 0;:SOUR:CURR:RANG:AUTO ON")
        await tell(":SYST:RSEN ON;:SENS:RES:MODE MAN;:SENS:FUNC:CONC ON")
        await tell(':SENS:FUNC "VOLT","CURR","RES"')
        await tell(f":SENS:VOLT:PROT {self.compliance_v:.6g};:SENS:VOLT:RANG:AUTO ON")
        await tell(f":SENS:VOLT:NPLC {_NPLC:g};:FORM:ELEM VOLT,CURR,RES,TIME,STAT")
        query = ":SYST:RSEN?;:SENS:VOLT:PROT?;:SOUR:CURR?;:OUTP?"
        shown = await self.session.numbers(query, 4)
        wanted = [1.0, self.compliance_v, 0.0, 0.0]
        if any(not math.isclose(a, b, rel_tol=1e-4) for a, b in zip(shown, wanted, strict=True)):
            raise InstrumentError(
                f"{self.session.name} shows {shown} after being told {wanted} (four wires, "
                "compliance, current, output)"
            )
        self._last_time_s = None

    async def resistance_ohm(self, current_a: float) -> float | None:
        """Read with the current in both directions.

        Args:
            current_a: The current, A.

        Returns:
            The resistance, ohm; None if the source reached its compliance.
        """
        await self.session.command(":SOUR:CURR 0;:OUTP ON")
        readings: list[_Reading] = []
        for sign in (1.0, -1.0, 1.0):
            asked_a = sign * current_a
            await self.session.command(f":SOUR:CURR {asked_a:.6e}")
            reading = await self._read(asked_a)
            if reading is None:
                await self.source_off()
                return None
            readings.append(reading)
        await self.source_off()
        first, second, third = readings
        voltage_v = first.voltage_v - 2.0 * second.voltage_v + third.voltage_v
        return voltage_v / (first.current_a - 2.0 * second.current_a + third.current_a)

    async def source_off(self) -> None:
        """Turn the output off and the current to 0, and see that it is so.

        Raises:
            InstrumentError: If the source does not show it.
        """
        await self.session.attempt(":ABOR")
        await self.session.attempt(":OUTP OFF;:SOUR:CURR 0")
        shown = await self.session.numbers(":OUTP?;:SOUR:CURR?", 2)
        if any(shown):
            raise InstrumentError(f"{self.session.name} is not off: output and current are {shown}")

    async def _read(self, asked_a: float) -> _Reading | None:
        """Return one reading that can be right; None if the source is in compliance.

        Raises:
            InstrumentError: If it overflows, repeats itself, or its numbers do not fit together.
        """
        query = ":READ?"
        volt, ampere, ohm, time_s, status = await self.session.numbers(
            query, 5, timeout_s=self.timeout_s + _READING_S
        )
        reading = _Reading(volt, ampere, ohm, time_s, int(status))
        if reading.status & _IN_COMPLIANCE:
            return None
        name = self.session.name
        if reading.status & _OVERFLOWED or overloaded(reading.voltage_v):
            raise InstrumentError(
                f"{name}: the voltage overflows though the source is within its compliance; check "
                "the sense leads"
            )
        if reading.time_s == self._last_time_s:
            raise InstrumentError(f"{name} shows the reading before again; it did not measure")
        self._last_time_s = reading.time_s
        if overloaded(reading.current_a) or not math.isclose(
            reading.current_a, asked_a, rel_tol=_SAME
        ):
            raise self.session.wrong(query, f"{reading.current_a:g} A", f"about {asked_a:g} A")
        ratio_ohm = reading.voltage_v / reading.current_a
        if not overloaded(reading.resistance_ohm) and not math.isclose(
            ratio_ohm, reading.resistance_ohm, rel_tol=_SAME
        ):
            raise self.session.wrong(
                query,
                f"{reading.voltage_v:g} V, {reading.current_a:g} A, {reading.resistance_ohm:g} ohm",
                "voltage, current and resistance that belong together",
            )
        return reading
