"""A Keithley 2400 source meter that drives a current through a bar and reads the voltage.

With ``:SYST:RSEN ON`` the voltage is that of the bar's own contacts, else that of the source's
terminals with both leads in it; thermal voltages are in either. (Series 2400 user's manual,
2400S-900-01, sections 2, 6 and 18.)

What the robot puts in, and `thermometer`: as for the twin of the 6221.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from labenv_instruments.faults import FaultKind
from labenv_instruments.twins._scpi_language import OVERFLOW, ScpiError, elements, shown
from labenv_instruments.twins._transport_circuit import SourceTwin

if TYPE_CHECKING:
    from collections.abc import Callable


NOT_A_NUMBER: Final = 9.91e37
LARGEST_A, LARGEST_V = 1.05, 210.0
_EVERY_FUNCTION: Final = '"VOLT","CURR","RES"'
_MAINS_HZ: Final = 50.0
_NOISE_V: Final = 1.5e-6  # one reading over one period of the mains in the 0.2 V range
_OVERFLOWED, _COMPLIANCE, _MEASURES, _SOURCES_A, _REMOTE = 1, 8, 2048 | 4096, 32768, 4194304
_ELEMENTS: Final = {"VOLTage": "voltage", "CURRent": "current", "RESistance": "resistance",
                    "TIME": "time", "STATus": "status"}  # fmt: skip


class Keithley2400Twin(SourceTwin):
    """Source meter, leads and bar.

    Attributes:
        circuit: Leads, thermal voltages and bar.
    """

    driver = "keithley_2400"
    maker_and_model = "KEITHLEY INSTRUMENTS INC.,MODEL 2400"
    firmware = "C32   Oct  4 2010 14:20:11/A02  /K/J"

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - those of WireTwin
        super().__init__(*args, **kwargs)
        self.reset()
        self._last_reading: tuple[float, float, float, float, int] | None = None

    @property
    def safe(self) -> bool:
        """Whether no current flows."""
        return not self.values["output"]

    def state(self) -> dict[str, Any]:
        """Return what the source does."""
        return {
            "safe": self.safe,
            "output": bool(self.values["output"]),
            "source": "current" if self.values["function"] == "CURR" else "voltage",
            "current_a": self.values["current"],
            "four_wire": bool(self.values["remote_sense"]),
        }

    def reset(self) -> None:
        """Put all elements out again, and measure current alone."""
        self.values["elements"] = tuple(_ELEMENTS.values())
        self.values["functions"] = ("CURR",)

    # ------------------------------------------------------------------------- headers

    def headers(self) -> None:
        """Understand source, sense, format and reading."""
        self.choice("[SOURce:]FUNCtion[:MODE]", "function", "VOLT", "VOLTage CURRent")
        for word, name, most in (
            ("CURRent", "current", LARGEST_A),
            ("VOLTage", "voltage", LARGEST_V),
        ):
            level = f"[SOURce:]{word}[:LEVel][:IMMediate][:AMPLitude]"
            self.number(level, name, 0.0, -most, most)
            self.number(f"[SOURce:]{word}:RANGe", f"{name}_range", most, -most, most)
            self.switch(f"[SOURce:]{word}:RANGe:AUTO", f"{name}_range_auto", True)
            self.choice(f"[SOURce:]{word}:MODE", f"{name}_mode", "FIX", "FIXed LIST SWEep")
            sense = f"SENSe:{word}[:DC]"
            protection = 1.05e-4 if name == "current" else 21.0
            self.number(
                f"{sense}:PROTection[:LEVel]", f"{name}_protection", protection, -most, most
            )
            self.number(f"{sense}:RANGe[:UPPer]", f"{name}_sense_range", most, -most, most)
            self.switch(f"{sense}:RANGe:AUTO", f"{name}_sense_auto", True)
        for word in ("CURRent[:DC]", "VOLTage[:DC]", "RESistance"):
            self.number(f"SENSe:{word}:NPLCycles", "nplc", 1.0, 0.01, 10.0)
        self.choice("SENSe:RESistance:MODE", "ohms_mode", "AUTO", "AUTO MANual")
        self.number("SENSe:RESistance:RANGe", "ohms_range", 2.1e5, 0.0, 2.1e8)
        self.switch("SENSe:RESistance:RANGe:AUTO", "ohms_auto", True)
        self.switch("SYSTem:RSENse", "remote_sense", False)
        self.switch("SYSTem:AZERo[:STATe]", "auto_zero", True)
        self.switch("SYSTem:BEEPer[:STATe]", "beeper", True)
        self.switch("OUTPut[:STATe]", "output", False)
        self.choice("OUTPut:SMODe", "off_state", "NORM", "HIMPedance NORMal ZERO GUARd")
        self.number("[SOURce:]DELay", "delay", 0.0, 0.0, 999.9999)
        self.switch("[SOURce:]DELay:AUTO", "delay_auto", True)
        self.switch("[SOURce:]CLEar:AUTO", "auto_off", False)
        self.switch("SENSe:FUNCtion:CONCurrent", "concurrent", True)
        self.header(
            "SENSe:FUNCtion[:ON]", do=self._choose_functions, ask=lambda _: self._functions()
        )
        self.header("SENSe:FUNCtion[:ON]:ALL", do=lambda _: self._choose_functions(_EVERY_FUNCTION))
        self.number("TRIGger:COUNt", "trigger_count", 1.0, 1.0, 2500.0)
        self.header("FORMat:ELEMents[:SENSe]", do=self._choose_elements)
        self.choice("FORMat[:DATA]", "format", "ASC", "ASCii")
        self.header("READ", ask=lambda _: self._read())
        self.header("SYSTem:TIME", ask=lambda _: shown(self.clock.now_s))
        for word in ("CURRent[:DC]", "VOLTage[:DC]", "RESistance"):
            self.header(f"MEASure:{word}", ask=self._measurement(word[:3].upper()))
        self.header("ABORt", do=lambda _: None)

    def _choose_elements(self, text: str) -> None:
        self.values["elements"] = elements(text, _ELEMENTS)

    def _choose_functions(self, text: str) -> None:
        names = [word.strip().strip("\"'").upper().split(":")[0] for word in text.split(",")]
        short = [{"V": "VOLT", "C": "CURR", "R": "RES"}.get(name[:1]) for name in names]
        if None in short:
            raise ScpiError(-224)
        if not self.values["concurrent"]:
            short = short[-1:]
        self.values["functions"] = tuple(short)

    def _functions(self) -> str:
        return ",".join(f'"{name}"' for name in self.values["functions"])

    # ------------------------------------------------------------------------- reading

    def _measurement(self, function: str) -> Callable[[str], str]:
        """Return what ``:MEASure`` does: choose a function, turn the output on, and read."""

        def ask(_: str) -> str:
            self.values["functions"] = ("CURR", "VOLT", "RES") if function == "RES" else (function,)
            self.values["output"] = True
            return self._read()

        return ask

    def _read(self) -> str:
        if self.faults.active(FaultKind.STALE_READING) and self._last_reading is not None:
            return self._shown(self._last_reading)
        self.takes_s += 3.0 * self.values["nplc"] / _MAINS_HZ + self.values["delay"] + 2e-3
        at_s = self.clock.now_s + self.takes_s
        if not self.values["output"]:
            fields = (NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER, at_s, 0)
        elif self.values["function"] == "VOLT":
            fields = self._with_voltage(at_s)
        else:
            fields = self._with_current(at_s)
        if self.values["auto_off"]:
            self.values["output"] = False
        self._last_reading = fields
        return self._shown(fields)

    def _with_current(self, at_s: float) -> tuple[float, float, float, float, int]:
        limit_v = abs(self.values["voltage_protection"])
        current_a, limited = self.circuit.current_a(self.values["current"], limit_v)
        sample_ohm = self.circuit.sample_ohm()
        four_wire = self.values["remote_sense"]
        between_ohm = sample_ohm + (0.0 if four_wire else 2.0 * self.circuit.lead_ohm)
        voltage_v = limit_v if math.isinf(between_ohm) else current_a * between_ohm
        voltage_v += self.circuit.thermal_voltage_v(at_s)
        voltage_v += float(self.rng.normal()) * _NOISE_V / math.sqrt(self.values["nplc"])
        status = _MEASURES | _SOURCES_A | (_COMPLIANCE if limited else 0)
        status |= _REMOTE if four_wire else 0
        return self._with_faults(voltage_v, current_a, at_s, status)

    def _with_voltage(self, at_s: float) -> tuple[float, float, float, float, int]:
        asked_v, limit_a = self.values["voltage"], abs(self.values["current_protection"])
        current_a = asked_v / (self.circuit.sample_ohm() + 2.0 * self.circuit.lead_ohm)
        limited = abs(current_a) > limit_a
        if limited:
            current_a = math.copysign(limit_a, current_a)
            asked_v = current_a * (self.circuit.sample_ohm() + 2.0 * self.circuit.lead_ohm)
        status = _MEASURES | 16384 | (_COMPLIANCE if limited else 0)
        return self._with_faults(asked_v, current_a, at_s, status)

    def _with_faults(
        self, voltage_v: float, current_a: float, at_s: float, status: int
    ) -> tuple[float, float, float, float, int]:
        if self.faults.active(FaultKind.OVERRANGE):
            return OVERFLOW, current_a, OVERFLOW, at_s, status | _OVERFLOWED
        with_ohms = "RES" in self.values["functions"] and current_a != 0.0
        resistance_ohm = voltage_v / current_a if with_ohms else NOT_A_NUMBER
        if self.faults.active(FaultKind.WRONG_UNIT):
            voltage_v *= 1e3  # millivolts
        return voltage_v, current_a, resistance_ohm, at_s, status

    def _shown(self, fields: tuple[float, float, float, float, int]) -> str:
        named = dict(zip(_ELEMENTS.values(), fields, strict=True))
        return ",".join(shown(named[name]) for name in self.values["elements"])
