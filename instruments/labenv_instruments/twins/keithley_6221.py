"""A Keithley 6221 current source with a 2182A nanovoltmeter on its serial port, as in delta mode.

The current alternates in sign; each reading is taken from three conversions of the voltmeter, which
cancels a thermal voltage and its drift (Model 622x reference manual, 622x-901-01, section 5). What
a plain reading shows instead can be seen through the serial port: ``:SYST:COMM:SER:SEND "READ?"``
and ``:SYST:COMM:SER:ENT?``.

What the robot puts in: the sample, and ``settings["operation"]``, the `MeasureResistance` for which
the sample is asked once. Where the sample is to be cold, set `thermometer`: to the `lakeshore_336`
twin that leads the stage, or to any function that returns the stage's temperature in kelvin.

Not taken from a document: the time that a conversion takes beside its integration, and how a device
reports that it stopped for compliance; here it disarms and turns its output off.
"""

from __future__ import annotations

import math
from typing import Any, Final

from labenv_instruments.faults import FaultKind
from labenv_instruments.twins._scpi_language import OVERFLOW, ScpiError, as_number, elements, shown
from labenv_instruments.twins._transport_circuit import SourceTwin

LARGEST_A: Final = 0.105
RANGES_V: Final = (0.01, 0.1, 1.0, 10.0, 100.0)  # of the 2182A's first channel
_OVER_RANGE: Final = 1.2
_MAINS_HZ, _OVERHEAD_S = 50.0, 0.004
_NOISE_V: Final = 1e-8  # one conversion over one period of the mains in the lowest range
_ELEMENTS: Final = {
    "READing": "reading",
    "TSTamp": "time",
    "UNITs": "unit",
    "RNUMber": "number",
    "SOURce": "source",
    "COMPliance": "compliance",
    "AVOLtage": "average",
}
_LONGEST_BUFFER: Final = 65536


class Keithley6221Twin(SourceTwin):
    """Source, nanovoltmeter, leads and bar.

    Attributes:
        voltmeter_present: Whether the 2182A is plugged in and switched on.
        circuit: Leads, thermal voltages and bar.
    """

    driver = "keithley_6221"
    maker_and_model = "KEITHLEY INSTRUMENTS INC.,MODEL 6221"

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - those of WireTwin
        self.voltmeter_present = True
        self._range_v, self._nplc = 100.0, 5.0
        self._serial_reply = ""
        self._armed = self._running = False
        self._started_s, self._taken = 0.0, 0
        self._buffer: list[tuple[float, float]] = []  # voltage, V, and time since the start, s
        self._latest: tuple[float, float] | None = None
        self._last_dump = ""
        super().__init__(*args, **kwargs)

    @property
    def safe(self) -> bool:
        """Whether no current flows."""
        return not (self._armed or self._running or self.values["output"])

    def state(self) -> dict[str, Any]:
        """Return what the source does."""
        return {
            "safe": self.safe,
            "output": bool(self.values["output"]),
            "delta": "running" if self._running else "armed" if self._armed else "off",
            "current_a": self.values["delta_high"] if self._running else self.values["current"],
            "readings": len(self._buffer),
        }

    def advance(self, now_s: float) -> None:
        """Take the readings that are due.

        Args:
            now_s: Lab time, s.
        """
        super().advance(now_s)
        if not self._running:
            return
        limit = int(self.values["buffer_points"])
        count = self.values["delta_count"]
        wanted = limit if math.isinf(count) else min(int(count), _LONGEST_BUFFER)
        due = int((now_s - self._started_s) / self._conversion_s) - 2
        while self._running and self._taken < min(due, wanted):
            self._take_reading(limit)
        if self._running and not math.isinf(count) and self._taken >= count:
            self._running = False

    # ------------------------------------------------------------------------- headers

    def headers(self) -> None:
        """Understand the source, delta mode, the buffer and the serial port."""
        source, output = "[SOURce:]CURRent", "OUTPut[:STATe]"
        self.number(
            f"{source}[:LEVel][:IMMediate][:AMPLitude]", "current", 0.0, -LARGEST_A, LARGEST_A
        )
        self.number(f"{source}:COMPliance", "compliance", 10.0, 0.1, 105.0)
        self.number(f"{source}:RANGe", "range", LARGEST_A, -LARGEST_A, LARGEST_A)
        self.switch(f"{source}:RANGe:AUTO", "range_auto", False)
        self.number("[SOURce:]DELay", "delay", 1e-3, 1e-3, 999999.999)
        self.switch(output, "output", False)
        self.switch("OUTPut:LTEarth", "low_to_earth", False)
        self.choice("OUTPut:ISHield", "shield", "OLOW", "GUARd OLOW")
        self.switch("DISPlay:ENABle", "display", True)
        self.choice("UNIT[:VOLTage][:DC]", "unit", "V", "V OHMS W SIEMens")
        self._delta_headers()
        self._buffer_headers()
        self.header("SYSTem:COMMunicate:SERial:SEND", do=self._send_serial)
        self.header("SYSTem:COMMunicate:SERial:ENTer", ask=lambda _: self._serial_reply)

    def _delta_headers(self) -> None:
        delta = "[SOURce:]DELTa"
        self._defaults |= {"delta_high": 1e-6}
        self.header(
            f"{delta}:HIGH", do=self._set_high, ask=lambda _: shown(self.setting("delta_high"))
        )
        self.number(f"{delta}:LOW", "delta_low", -1e-6, -LARGEST_A, 0.0)
        self._or_infinite(f"{delta}:DELay", "delta_delay", 2e-3, 0.0, 9999.999)
        self._or_infinite(f"{delta}:COUNt", "delta_count", math.inf, 1, 65536)
        self._or_infinite("[SOURce:]SWEep:COUNt", "sets", 1.0, 1, 65536)
        self.switch(f"{delta}:CABort", "abort_in_compliance", False)
        self.switch(f"{delta}:CSWitch", "cold_switch", False)
        self.header(f"{delta}:NVPResent", ask=lambda _: str(int(self.voltmeter_present)))
        self.header(f"{delta}[:ARM]", do=lambda _: self._arm(), ask=lambda _: str(int(self._armed)))
        self.header("INITiate[:IMMediate]", do=lambda _: self._start())
        self.header("[SOURce:]SWEep:ABORt", do=lambda _: self._abort())

    def _buffer_headers(self) -> None:
        self.values["elements"] = ("reading", "time")
        self.number("TRACe:POINts", "buffer_points", 100.0, 1.0, 1e6)
        self.header("TRACe:POINts:ACTual", ask=lambda _: str(len(self._buffer)))
        self.header("TRACe:CLEar", do=lambda _: self._buffer.clear())
        self.header("TRACe:DATA", ask=lambda _: self._dump())
        for name in ("SENSe[:DATA]", "SENSe:DATA:LATest", "SENSe:DATA:FRESh"):
            self.header(name, ask=lambda _: self._last())
        self.header("FORMat:ELEMents", do=self._choose_elements)

    def _or_infinite(
        self, pattern: str, name: str, default: float, low: float, high: float
    ) -> None:
        """Understand a number that may also be INF, which instruments show as 9.9E37."""

        def do(text: str) -> None:
            value = math.inf if text.upper() in {"INF", "INFINITY"} else as_number(text)
            if not (low <= value <= high or math.isinf(value)):
                raise ScpiError(-222)
            self.values[name] = value

        self._defaults[name] = default
        self.header(pattern, do=do, ask=lambda _: shown(min(self.values[name], OVERFLOW)))

    def _set_high(self, text: str) -> None:
        """Take the higher current, which the lower follows.

        Raises:
            ScpiError: If it is out of range.
        """
        value = as_number(text)
        if not 0.0 <= value <= LARGEST_A:
            raise ScpiError(-222)
        self.values |= {"delta_high": value, "delta_low": -value}

    def _choose_elements(self, text: str) -> None:
        named = {"DEFAULT": "READ,TST", "DEF": "READ,TST", "ALL": ",".join(_ELEMENTS)}
        self.values["elements"] = elements(named.get(text.upper(), text), _ELEMENTS)

    # ------------------------------------------------------------------------- delta mode

    def reset(self) -> None:
        """Stop, and forget."""
        self._abort()
        self._buffer.clear()
        self._latest = None
        self.values["elements"] = ("reading", "time")

    def setting(self, name: str) -> Any:  # noqa: ANN401 - as there
        """Return what the source says a setting is; someone may have changed the unit.

        Args:
            name: In `values`.

        Returns:
            Its value.
        """
        wrong = name == "unit" and self.faults.active(FaultKind.WRONG_UNIT) is not None
        return "OHMS" if wrong else super().setting(name)

    @property
    def _conversion_s(self) -> float:
        delay_s = min(self.values["delta_delay"], 9999.999)
        return float(delay_s + self._nplc / _MAINS_HZ + _OVERHEAD_S)

    def _arm(self) -> None:
        if not self.voltmeter_present:
            raise ScpiError(-241)
        self._armed, self._running = True, False
        self.values["output"] = True
        self._buffer.clear()
        self._latest = None

    def _start(self) -> None:
        if not self._armed:
            raise ScpiError(-221)
        self._buffer.clear()
        self._started_s, self._taken, self._running = self.clock.now_s, 0, True

    def _abort(self) -> None:
        self._armed = self._running = False
        self.values["output"] = False

    def _take_reading(self, limit: int) -> None:
        """Take one reading of three conversions: (V1 - 2 V2 + V3) / 4, with the current's sign."""
        high_a, compliance_v = self.values["delta_high"], self.values["compliance"]
        actual_a, in_compliance = self.circuit.current_a(high_a, compliance_v)
        if in_compliance and self.values["abort_in_compliance"]:
            self._abort()
            return
        sign = 1.0 if self._taken % 2 == 0 else -1.0
        start_s = self._started_s + self._taken * self._conversion_s
        total = 0.0
        for place, weight in enumerate((1.0, -2.0, 1.0)):
            current_a = sign * (actual_a if place != 1 else -actual_a)
            seen_v = self._conversion_v(current_a, start_s + place * self._conversion_s)
            total += weight * seen_v if abs(seen_v) < OVERFLOW else math.inf
        reading_v = sign * total / 4.0 if math.isfinite(total) else OVERFLOW
        self._latest = (reading_v, self._taken * self._conversion_s)
        self._taken += 1
        if len(self._buffer) < limit:
            self._buffer.append(self._latest)

    def _conversion_v(self, current_a: float, at_s: float) -> float:
        """Return what the voltmeter shows of a current, V; the sign of an overflow beyond it."""
        sample_ohm = self.circuit.sample_ohm()
        if math.isinf(sample_ohm):
            return OVERFLOW
        noise_v = _NOISE_V * math.sqrt(self._range_v / RANGES_V[0] / self._nplc)
        seen_v = current_a * sample_ohm + self.circuit.thermal_voltage_v(at_s)
        seen_v += noise_v * float(self.rng.normal())
        return OVERFLOW if abs(seen_v) > _OVER_RANGE * self._range_v else seen_v

    # ------------------------------------------------------------------------- what is read

    def _last(self) -> str:
        if self._latest is None:
            raise ScpiError(-230)
        return self._shown([self._latest])

    def _dump(self) -> str:
        if self.faults.active(FaultKind.STALE_READING) and self._last_dump:
            return self._last_dump
        if not self._buffer:
            raise ScpiError(-230)
        self._last_dump = self._shown(self._buffer)
        return self._last_dump

    def _shown(self, readings: list[tuple[float, float]]) -> str:
        over = self.faults.active(FaultKind.OVERRANGE) is not None
        in_unit = {"V": 1.0, "OHMS": 1.0 / self._high_a, "SIEM": -1.0, "W": self._high_a}[
            self._unit
        ]
        fields: list[str] = []
        for number, (voltage_v, time_s) in enumerate(readings):
            lost = over or abs(voltage_v) >= OVERFLOW
            reading = OVERFLOW if lost else self._converted(voltage_v, in_unit)
            known = {
                "reading": shown(reading),
                "time": shown(time_s),
                "unit": self._unit,
                "number": f"+{number:010d}",
                "source": shown(self._high_a),
                "compliance": "F",
                "average": shown(OVERFLOW),
            }
            fields += [known[name] for name in self.values["elements"]]
        return ",".join(fields)

    def _converted(self, voltage_v: float, factor: float) -> float:
        if factor < 0.0:  # siemens
            return self._high_a / voltage_v if voltage_v else OVERFLOW
        return voltage_v * factor

    @property
    def _high_a(self) -> float:
        return max(float(self.values["delta_high"]), 1e-15)

    @property
    def _unit(self) -> str:
        return str(self.setting("unit"))

    # ------------------------------------------------------------------------- the 2182A

    def _send_serial(self, text: str) -> None:
        """Hand a line to the voltmeter, which understands its range, its integration and reads."""
        self._serial_reply = ""
        if not self.voltmeter_present:
            return
        header, _, parameter = text.strip("\"'").strip().upper().lstrip(":").partition(" ")
        header = header.removeprefix("SENSE:").removeprefix("SENS:")
        if header in {"VOLT:RANG", "VOLTAGE:RANGE"}:
            wanted = as_number(parameter)
            self._range_v = next((r for r in RANGES_V if wanted <= _OVER_RANGE * r), RANGES_V[-1])
        elif header in {"VOLT:NPLC", "VOLTAGE:NPLCYCLES"}:
            self._nplc = min(max(as_number(parameter), 0.01), 60.0)
        elif header in {"READ?", "FETCH?", "FETC?", "DATA?"}:
            asked_a = self.values["current"] if self.values["output"] else 0.0
            actual_a, _ = self.circuit.current_a(asked_a, self.values["compliance"])
            self._serial_reply = shown(self._conversion_v(actual_a, self.clock.now_s))
        elif header == "VOLT:RANG?":
            self._serial_reply = shown(self._range_v)
        elif header == "*IDN?":
            self._serial_reply = (
                f"KEITHLEY INSTRUMENTS INC.,MODEL 2182A,twin-{self.station},C06/A02"
            )
