"""A Lake Shore 336 temperature controller on the stage of a closed-cycle cryostat.

Input A reads the stage, input B a sensor next to it, C and D are open; output 1 heats the stage.
Commands as in the Model 336 user's manual, section 6.6. A line may hold several, joined by
semicolons; the answers come joined by semicolons and end with CR LF.

Others ask `stage_temperature_k` how cold the stage is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from labenv_instruments.faults import FaultKind
from labenv_instruments.twins._lakeshore_plant import FULL_POWER_W, Loop, Stage
from labenv_instruments.wire_twin import WireTwin

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

ZERO_CELSIUS_K: Final = 273.15
HIGHEST_K: Final = 500.0
FASTEST_K_PER_MIN: Final = 100.0
_NOISE_K: Final = 2e-3
_NO_SENSOR, _OVER_RANGE_T, _INVALID = 128, 32, 1
_POWER_ON, _COMMAND, _EXECUTION, _COMPLETE = 128, 32, 16, 1
_KEPT_BITS: Final = 0b1011_0101
_INPUTS: Final = "ABCD"
_OUTPUTS: tuple[int, ...] = (1, 2, 3, 4)


class _RefusedError(Exception):
    """A command that the controller does not carry out.

    Args:
        bit: Of the standard event register.
    """

    def __init__(self, bit: int) -> None:
        super().__init__(bit)
        self.bit = bit


class Lakeshore336Twin(WireTwin):
    """The controller and the stage.

    Attributes:
        stage: What the heater of output 1 warms.
    """

    driver = "lakeshore_336"
    known_faults = frozenset({
        FaultKind.BUSY,
        FaultKind.OVERRANGE,
        FaultKind.STALE_READING,
        FaultKind.WRONG_UNIT,
        FaultKind.SENSOR_BREAK,
        FaultKind.STUCK_HEATER,
    })

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - those of WireTwin
        super().__init__(*args, **kwargs)
        self.stage = Stage(now_s=self.clock.now_s)
        self._loops = {output: Loop() for output in _OUTPUTS}
        self._events, self._enabled, self._service = _POWER_ON, 0, 0
        self._mode = 0
        self._outmodes = {output: (1 if output == 1 else 0, 1 if output == 1 else 0, 0)
                          for output in _OUTPUTS}  # fmt: skip
        self._manual = dict.fromkeys(_OUTPUTS, 0.0)
        self._shown: dict[str, float] = {}
        self._sensed = self._heats = True
        self._commands: dict[str, Callable[[str], str | None]] = self._vocabulary()

    @property
    def safe(self) -> bool:
        """Whether every heater range is off."""
        return all(loop.range_number == 0 for loop in self._loops.values())

    def stage_temperature_k(self) -> float:
        """Return how warm the stage is now, by the twin's own clock, K."""
        self._follow(self.clock.now_s)
        return self.stage.temperature_k

    def state(self) -> dict[str, Any]:
        """Return what the controller does."""
        loop = self._loops[1]
        return {
            "safe": self.safe,
            "temperature_k": round(self.stage.temperature_k, 4),
            "setpoint_k": round(loop.setpoint_k, 4),
            "target_k": loop.target_k,
            "heater_percent": round(loop.output_percent, 2),
            "heater_range": loop.range_number,
        }

    def advance(self, now_s: float) -> None:
        """Let stage and loop live on, with the faults of this moment.

        Args:
            now_s: Lab time, s.
        """
        self._follow(now_s)
        self._sensed = self.faults.active(FaultKind.SENSOR_BREAK) is None
        self._heats = self.faults.active(FaultKind.STUCK_HEATER) is None

    def _follow(self, now_s: float) -> None:
        self.stage.follow(self._loops[1], now_s, heats=self._heats, sensed=self._sensed)

    # ------------------------------------------------------------------------- lines

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Read a line.

        Args:
            reader: What comes in.

        Returns:
            The line with its end.
        """
        return await reader.readuntil(b"\n")

    async def answer(self, request: bytes) -> bytes | None:
        """Do what a line says and answer its queries.

        Args:
            request: The line.

        Returns:
            The answers in one line; None if there are none.
        """
        answers: list[str] = []
        for unit in request.decode("ascii", "replace").strip().split(";"):
            header, _, parameters = unit.strip().lstrip(":").partition(" ")
            if not header:
                continue
            try:
                found = self._command(header.upper(), parameters.strip())
            except _RefusedError as refusal:
                self._events |= refusal.bit
            else:
                answers += [] if found is None else [found]
        return ";".join(answers).encode("ascii") + b"\r\n" if answers else None

    def busy_reply(self, request: bytes) -> bytes | None:
        """Return None: while it calibrates it keeps silent."""
        return None

    def _command(self, header: str, parameters: str) -> str | None:
        handler = self._commands.get(header)
        if handler is None:
            raise _RefusedError(_COMMAND)
        try:
            return handler(parameters)
        except (ValueError, KeyError, IndexError):
            raise _RefusedError(_EXECUTION) from None

    def _vocabulary(self) -> dict[str, Callable[[str], str | None]]:
        return {
            "*IDN?": lambda _: f"LSCI,MODEL336,twin-{self.station},2.9",
            "*RST": lambda _: self._reset(),
            "*CLS": lambda _: self._clear(),
            "*OPC": lambda _: self._complete(),
            "*OPC?": lambda _: "1",
            "*WAI": lambda _: None,
            "*TST?": lambda _: "0",
            "*ESE": self._enable,
            "*ESE?": lambda _: f"{self._enabled:03d}",
            "*ESR?": lambda _: self._take_events(),
            "*SRE": self._enable_service,
            "*SRE?": lambda _: f"{self._service:03d}",
            "*STB?": lambda _: "032" if self._events & self._enabled else "000",
            "KRDG?": lambda p: self._readings(p, 0.0),
            "CRDG?": lambda p: self._readings(p, ZERO_CELSIUS_K),
            "SRDG?": self._sensor_units,
            "RDGST?": lambda p: f"{self._status(_input(p)):03d}",
            "INTYPE?": lambda p: "1,0,0,1,1" if _input(p) in _INPUTS else None,
            "SETP": self._set_target,
            "SETP?": lambda p: _signed(self._loop(p).setpoint_k),
            "RAMP": self._set_ramp,
            "RAMP?": lambda p: (
                f"{int(self._loop(p).ramps)},{_signed(self._loop(p).rate_k_per_min)}"
            ),
            "RAMPST?": lambda p: str(int(self._loop(p).ramping)),
            "RANGE": self._set_range,
            "RANGE?": lambda p: str(self._loop(p).range_number),
            "PID": self._set_pid,
            "PID?": lambda p: ",".join(_signed(v) for v in self._gains(self._loop(p))),
            "HTR?": lambda p: _signed(self._loop(p).output_percent),
            "HTRST?": self._heater_status,
            "OUTMODE": self._set_outmode,
            "OUTMODE?": lambda p: ",".join(str(v) for v in self._outmodes[int(p)]),
            "MOUT": self._set_manual,
            "MOUT?": lambda p: _signed(self._manual[int(p)]),
            "MODE": self._set_mode,
            "MODE?": lambda _: str(self._mode),
        }

    # ------------------------------------------------------------------------- readings

    def _readings(self, parameters: str, zero_k: float) -> str:
        if parameters == "0":
            return ",".join(self._reading(name, zero_k) for name in _INPUTS)
        return self._reading(_input(parameters), zero_k)

    def _reading(self, name: str, zero_k: float) -> str:
        if self._status(name):
            return _signed(0.0)
        frozen = self.faults.active(FaultKind.STALE_READING) is not None
        if not frozen or name not in self._shown:
            lag_k = 0.0 if name == "A" else 0.05
            self._shown[name] = (
                self.stage.temperature_k + lag_k + _NOISE_K * float(self.rng.normal())
            )
        wrong = self.faults.active(FaultKind.WRONG_UNIT) is not None
        return _signed(self._shown[name] - (ZERO_CELSIUS_K if wrong else zero_k))

    def _status(self, name: str) -> int:
        if name in "CD" or self.faults.active(FaultKind.SENSOR_BREAK):
            return _NO_SENSOR | _INVALID
        return _OVER_RANGE_T if self.faults.active(FaultKind.OVERRANGE) else 0

    def _sensor_units(self, parameters: str) -> str:
        """Return a silicon diode's voltage, roughly."""
        names = _INPUTS if parameters == "0" else _input(parameters)
        volt = max(1.7 - 0.0024 * self.stage.temperature_k, 0.0)
        return ",".join(_signed(0.0 if self._status(name) else volt) for name in names)

    def _heater_status(self, parameters: str) -> str:
        loop = self._loop(parameters)
        opened = loop is self._loops[1] and loop.range_number > 0 and not self._heats
        return "1" if opened else "0"

    # ------------------------------------------------------------------------- settings

    def _loop(self, parameters: str) -> Loop:
        return self._loops[int(parameters.split(",")[0])]

    def _set_target(self, parameters: str) -> None:
        output, value = parameters.split(",")
        self._loops[int(output)].set_target(_within(float(value), 0.0, HIGHEST_K))

    def _set_ramp(self, parameters: str) -> None:
        output, on, rate = parameters.split(",")
        loop = self._loops[int(output)]
        loop.ramps, loop.rate_k_per_min = _flag(on), _within(float(rate), 0.0, FASTEST_K_PER_MIN)
        if not loop.ramps:
            loop.setpoint_k = loop.target_k

    def _set_range(self, parameters: str) -> None:
        output, number = (int(field) for field in parameters.split(","))
        highest = 3 if output in {1, 2} else 1
        if number not in FULL_POWER_W or number > highest:
            raise ValueError(parameters)
        self._loops[output].range_number = number

    def _set_pid(self, parameters: str) -> None:
        output, p, i, d = parameters.split(",")
        loop = self._loops[int(output)]
        loop.p, loop.i = _within(float(p), 0.1, 1000.0), _within(float(i), 0.1, 1000.0)
        loop.d = _within(float(d), 0.0, 200.0)

    @staticmethod
    def _gains(loop: Loop) -> tuple[float, float, float]:
        return loop.p, loop.i, loop.d

    def _set_outmode(self, parameters: str) -> None:
        output, mode, sensor, power_up = (int(field) for field in parameters.split(","))
        self._loops[output]  # a KeyError is an execution error
        self._outmodes[output] = mode, sensor, power_up

    def _set_manual(self, parameters: str) -> None:
        output, value = parameters.split(",")
        self._manual[int(output)] = _within(float(value), 0.0, 100.0)

    def _set_mode(self, parameters: str) -> None:
        self._mode = int(_within(float(parameters), 0.0, 2.0))

    # ------------------------------------------------------------------------- IEEE 488.2

    def _reset(self) -> None:
        for loop in self._loops.values():
            loop.range_number, loop.output_percent, loop.integral_k_s = 0, 0.0, 0.0

    def _clear(self) -> None:
        self._events = 0

    def _complete(self) -> None:
        self._events |= _COMPLETE

    def _enable(self, parameters: str) -> None:
        self._enabled = int(_within(float(parameters), 0.0, 255.0)) & _KEPT_BITS

    def _enable_service(self, parameters: str) -> None:
        self._service = int(_within(float(parameters), 0.0, 255.0))

    def _take_events(self) -> str:
        events, self._events = self._events, 0
        return f"{events:03d}"


def _input(parameters: str) -> str:
    name = parameters.strip().upper()
    if len(name) != 1 or name not in _INPUTS:
        raise ValueError(parameters)
    return name


def _flag(text: str) -> bool:
    if text.strip() not in {"0", "1"}:
        raise ValueError(text)
    return text.strip() == "1"


def _within(value: float, low: float, high: float) -> float:
    if not (math.isfinite(value) and low <= value <= high):
        raise ValueError(value)
    return value


def _signed(value: float) -> str:
    """Return a number as the controller writes it: a sign, and six digits in all."""
    whole = len(str(int(abs(value))))
    return f"{value:+0{8 if whole < 4 else 0}.{max(6 - whole, 0)}f}" if value else "+0.00000"


__all__ = ["Lakeshore336Twin"]
