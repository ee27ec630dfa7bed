"""Twin of a tube furnace with a Eurotherm 2416, 3216 or EPC3016 controller, on Modbus TCP or RTU.

Its sample is fired when the programme has ended or was stopped, by the temperatures that were
followed; atmosphere, crucible and cooling come from `settings`, written as in a `Heat`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from labenv_instruments.faults import FaultKind
from labenv_instruments.twins._eurotherm_maps import MODELS, Controller
from labenv_instruments.twins._furnace_model import Conditions, Furnace, Phase
from labenv_instruments.twins._furnace_path import KELVIN, fired
from labenv_instruments.twins._modbus_frames import (
    BUSY,
    carry_out,
    close_frame,
    open_frame,
    receive_rtu,
    receive_tcp,
    refusal,
)
from labenv_instruments.wire_twin import WireTwin
from labenv_schemas.errors import ConfigError, LabEnvError

if TYPE_CHECKING:
    import asyncio
    from collections import Counter

    from labenv_instruments.twins._furnace_model import Run

NOISE_K = 0.1
OVERRANGE_C = 9999.0
BROKEN_C = 1820.0  # a broken thermocouple is driven to the top of its range


class EurothermTwin(WireTwin):
    """A furnace on a socket.

    Args:
        options: ``model`` (2416, 3216 or EPC3016), ``framer`` (tcp or rtu), ``unit``; ``segments``
            of a 3216, 4 or 8.

    Attributes:
        furnace: What it consists of.
        controller: Its parameters.
        thermocouple_k: Highest reading of the last firing, as its sample had it, K.
        failure: Why a sample could not be fired, if so.
    """

    driver = "eurotherm"
    known_faults: ClassVar[frozenset[FaultKind]] = frozenset({
        FaultKind.SENSOR_BREAK,
        FaultKind.STUCK_HEATER,
        FaultKind.DOOR_OPEN,
        FaultKind.WRONG_UNIT,
        FaultKind.BUSY,
        FaultKind.OVERRANGE,
        FaultKind.STALE_READING,
    })

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as the base
        super().__init__(*args, **options)
        model = self.options.setdefault("model", "2416")
        if model not in MODELS:
            raise ConfigError(
                f"there is no twin of a Eurotherm {model}; there are {', '.join(MODELS)}"
            )
        self._rtu = self.options.get("framer", "tcp") == "rtu"
        self._unit = int(self.options.get("unit", "1"))
        self.furnace = Furnace(self.clock.now_s)
        capacity = int(self.options.pop("segments", "8"))
        self.controller: Controller = MODELS[model](self.furnace, self._shown_c, capacity)
        self.thermocouple_k: float | None = None
        self.failure: LabEnvError | None = None
        self._noise_k = 0.0
        self._stale_c: float | None = None
        self._heard_s = self.clock.now_s

    # ------------------------------------------------------------------------- the wire

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Return one whole request."""
        return await (receive_rtu(reader) if self._rtu else receive_tcp(reader))

    async def answer(self, request: bytes) -> bytes | None:
        """Return the answer; a frame for another unit or with a wrong check sum gets none."""
        frame = open_frame(request, rtu=self._rtu)
        if not frame.intact or frame.unit != self._unit:
            return None
        self.controller.last_cools = isinstance(self.settings.get("cooling"), Mapping)
        body = carry_out(frame.body, self.controller.bank)
        self._heard_s = self.clock.now_s
        self._fire_if_ended()
        return close_frame(frame, body, rtu=self._rtu)

    def busy_reply(self, request: bytes) -> bytes | None:
        """Return error code 6."""
        frame = open_frame(request, rtu=self._rtu)
        return close_frame(frame, refusal(frame.body, BUSY), rtu=self._rtu)

    # ------------------------------------------------------------------------- the furnace

    def advance(self, now_s: float) -> None:
        """Let the furnace live on until a moment."""
        if now_s > self.furnace.now_s:
            self._noise_k = NOISE_K * float(self.rng.standard_normal())
        self.furnace.conditions = Conditions(
            stuck=self.faults.active(FaultKind.STUCK_HEATER) is not None,
            door_open=self.faults.active(FaultKind.DOOR_OPEN) is not None,
            sensor_broken=self.faults.active(FaultKind.SENSOR_BREAK) is not None,
        )
        self.controller.sensor_broken = self.furnace.conditions.sensor_broken
        self.controller.out_of_range = self.faults.active(FaultKind.OVERRANGE) is not None
        self.controller.fahrenheit = self.faults.active(FaultKind.WRONG_UNIT) is not None
        if self.faults.active(FaultKind.STALE_READING) is None:
            self._stale_c = None
        elif self._stale_c is None:
            self._stale_c = self.furnace.temperature_c + self._noise_k
        silent_s = self.controller.watchdog_s
        if silent_s > 0.0 and now_s > self._heard_s + silent_s:
            self.furnace.advance(self._heard_s + silent_s)
            self.controller.lose_contact()
        self.furnace.advance(now_s)
        self._fire_if_ended()

    def _shown_c(self) -> float:
        if self.controller.sensor_broken:
            return BROKEN_C
        if self.controller.out_of_range:
            return OVERRANGE_C
        if self._stale_c is not None:
            return self._stale_c
        return self.furnace.temperature_c + self._noise_k

    def _fire_if_ended(self) -> None:
        run = self.furnace.take_ended()
        if run is not None and self.sample is not None:
            self._fire(run)

    def _fire(self, run: Run) -> None:
        heat = fired(run, self.settings, complete=self.furnace.complete)
        if heat is None or self.sample is None:
            return
        try:
            self.thermocouple_k = self.sample.fire(heat)
        except (
            LabEnvError
        ) as cause:  # a peer's request must not raise; who watches the twin sees it
            self.failure = cause

    @property
    def safe(self) -> bool:
        """Whether the controller heats nothing and no programme runs."""
        self.advance(self.clock.now_s)
        return self.furnace.output <= 0.0 and self.furnace.phase in {Phase.RESET, Phase.COMPLETE}

    @property
    def writes(self) -> Counter[int]:
        """How often each parameter in memory that wears out was written."""
        return self.controller.bank.writes

    def state(self) -> dict[str, Any]:
        """Return what is true of the furnace."""
        self.advance(self.clock.now_s)
        furnace = self.furnace
        return {
            "safe": self.safe,
            "model": self.options["model"],
            "pv_c": round(furnace.temperature_c, 2),
            "temperature_k": round(furnace.temperature_c + KELVIN, 2),
            "setpoint_c": round(furnace.setpoint_c, 2),
            "output_percent": round(100.0 * furnace.output, 2),
            "program": furnace.phase.name.lower(),
            "program_left_s": round(furnace.program_left_s, 1),
            "heater_stuck": furnace.conditions.stuck,
            "failure": None if self.failure is None else str(self.failure),
        }


__all__ = ["EurothermTwin"]
