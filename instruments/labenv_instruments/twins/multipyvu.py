"""A cryostat behind MultiPyVu's server, byte for byte, with temperatures, field, chamber, bridges.

It answers as the server of MultiPyVu 3.8 with a ``-s`` (scaffolding) flag, so that its own client
talks to it. What it does otherwise than that server: it lives in the clock it is given; it is free
again when its client is gone without CLOSE (the real one then serves nobody); a set point that is
no number is an error rather than the end of the server; and the bridges read a sample.

The sample is asked once, for the plan in ``settings["operation"]`` (a default `MeasureResistance`
without one), and read at the temperature that the stage has. What nobody knows of a sample is said
in the status of the bridge's reading, which no real bridge does.
"""

from __future__ import annotations

import asyncio
import json
import math
from typing import TYPE_CHECKING, Any, ClassVar, cast

from labenv_instruments.drivers._multipyvu_frames import (
    COMPLETED,
    CONFIRMED,
    FrameReader,
    encode_frame,
)
from labenv_instruments.faults import FaultKind
from labenv_instruments.twins._multipyvu_bridge import Bridges, Specimen
from labenv_instruments.twins._multipyvu_model import (
    CHAMBER_ENDS,
    Chamber,
    Magnet,
    TemperatureControl,
)
from labenv_instruments.wire_twin import WireTwin
from labenv_schemas.characterisation import MeasureResistance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labenv_instruments.sample_view import SampleView

_FAILURES = ("Diagnostic", "Impedance Control Error", "General Failure")  # states 13 to 15
_WAIT_LIMIT_S = 86400.0
_STEADY, _TIMED_OUT = 0, 258


class MultiPyVuTwin(WireTwin):
    """A simulated cryostat; option ``flavor`` says which MultiVu it runs.

    Attributes:
        version: Version of MultiPyVu that it says; the client insists on its own.
    """

    driver = "multipyvu"
    known_faults: ClassVar[frozenset[FaultKind]] = frozenset({
        FaultKind.BUSY,
        FaultKind.DOOR_OPEN,
        FaultKind.LOST_SAMPLE,
        FaultKind.OVERRANGE,
        FaultKind.SENSOR_BREAK,
        FaultKind.STALE_READING,
        FaultKind.WRONG_UNIT,
    })

    def __init__(self, station: str = "", **settings: Any) -> None:  # noqa: ANN401 - the base's
        super().__init__(station, **settings)
        self.options.setdefault("contact_distance_mm", "4")
        self.options.setdefault("cross_section_mm2", "4")
        self.version = "3.8.0"
        self.temperature, self.magnet = TemperatureControl(), Magnet()
        self.chamber, self.bridges = Chamber(), Bridges()
        self._specimen: Specimen | None = None
        self._client: asyncio.Task[Any] | None = None
        self._leaving: asyncio.Task[Any] | None = None
        self._settled = {"TEMP?": "300.0,K,Stable", "FIELD?": "0.0,Oe,Stable"}

    @property
    def flavor(self) -> str:
        """Which MultiVu it runs."""
        return self.options.get("flavor", "PPMS").upper()

    @property
    def safe(self) -> bool:
        """Whether no bridge drives a current and the magnet is at zero or on its way there."""
        return not self.bridges.driving and self.magnet.target_oe == 0.0

    def state(self) -> dict[str, Any]:
        """Return what is true of the cryostat."""
        now_s = self.clock.now_s
        return {
            "safe": self.safe,
            "temperature_k": self.temperature.value_k(now_s),
            "temperature_state": self.temperature.state(now_s),
            "field_t": 1e-4 * self.magnet.value_oe(now_s),
            "field_state": self.magnet.state(now_s),
            "chamber": self.chamber.state(now_s),
        }

    def load(self, sample: SampleView, settings: Mapping[str, Any] | None = None) -> None:
        """Put a sample in.

        Args:
            sample: The sample.
            settings: ``operation`` is the plan at whose temperatures the sample is asked.
        """
        super().load(sample, settings)
        self._specimen = None

    def unload(self) -> None:
        """Take the sample out."""
        super().unload()
        self._specimen = None

    # ------------------------------------------------------------------------- the protocol

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Read one request; what only confirms a reply is none.

        Args:
            reader: What comes in.

        Returns:
            The message.

        Raises:
            asyncio.IncompleteReadError: If this client has said good-bye or is gone.
        """
        leaving = self._leaving is asyncio.current_task()
        while True:
            message = await FrameReader().read(reader)
            if leaving:  # it has confirmed our reply to CLOSE
                raise asyncio.IncompleteReadError(b"", None)
            if message.get("message_type") != CONFIRMED:
                return json.dumps(message).encode()

    async def answer(self, request: bytes) -> bytes | None:
        """Confirm a request, do it, and return both frames.

        Args:
            request: The message.

        Returns:
            The frame that confirms it and the one that completes it.
        """
        message = cast("dict[str, str]", json.loads(request))
        action, query = message.get("action", ""), message.get("query", "")
        completed = {**message, "message_type": COMPLETED}
        if action in {"START", "CLOSE", "ALIVE", "STATUS"}:
            completed["query"], completed["result"] = self._session(action)
        elif action == "WAITFOR":
            completed["result"] = await self._wait_for(query)
        else:
            completed["result"] = self._do(action, query)
        return self.busy_reply(request) + encode_frame(completed)

    def busy_reply(self, request: bytes) -> bytes:
        """Confirm a request without completing it, as a server does that waits for MultiVu.

        Args:
            request: The message.

        Returns:
            The frame that confirms it.
        """
        message = cast("dict[str, str]", json.loads(request))
        return encode_frame({**message, "message_type": CONFIRMED})

    def _session(self, action: str) -> tuple[str, str]:
        task = asyncio.current_task()
        if self._client is not None and self._client.done():
            self._client = None
        connected = f"Connected to {self.flavor} MultiVuServer at ('127.0.0.1', 0)"
        if action == "ALIVE":
            return action, connected
        if action == "STATUS":
            return action, "idle" if self._client is None else "connected"
        if action == "CLOSE":
            if self._client is task:
                self._leaving = task
            self._client = None
            return action, "Client ('127.0.0.1', 0) disconnected."
        if self._client is not None and self._client is not task:
            self._leaving = task
            refused = "Connection attempt rejected from ('127.0.0.1', 0): another client is "
            return "", refused + "connected."
        self._client = task
        return f"{self.version};mv=sim;s", connected

    def _do(self, action: str, query: str) -> str:
        known: dict[str, Callable[[str], str]] = {
            "TEMP?": self._show_temperature,
            "TEMP": self._set_temperature,
            "TEMP_SETPOINTS?": self._show_temperature_setpoints,
            "FIELD?": self._show_field,
            "FIELD": self._set_field,
            "FIELD_SETPOINTS?": self._show_field_setpoints,
            "CHAMBER?": self._show_chamber,
            "CHAMBER": self._set_chamber,
            "SDO?": self._show_object,
            "SDO": self._set_object,
            "WAITFOR?": self._is_steady,
        }
        if action not in known:
            return f'MultiPyVuError: Unknown command: "{action.rstrip("?")}".'
        return known[action](query)

    # ------------------------------------------------------------------------- temperature, field

    def _show_temperature(self, _: str) -> str:
        now_s = self.clock.now_s
        shown_k = self.temperature.value_k(now_s)
        if self._specimen is not None:
            shown_k = self._specimen.shown_k(shown_k)
        shown = f"{shown_k!r},K,{self.temperature.state(now_s)}"
        if self.faults.active(FaultKind.SENSOR_BREAK):
            return f"{shown_k!r},K,{_FAILURES[self.faults.requests % len(_FAILURES)]}"
        if self.faults.active(FaultKind.WRONG_UNIT):
            return f"{shown_k - 273.15!r},C,{self.temperature.state(now_s)}"
        return self._maybe_stale("TEMP?", shown)

    def _show_field(self, _: str) -> str:
        now_s = self.clock.now_s
        value_oe, state = self.magnet.value_oe(now_s), self.magnet.state(now_s)
        if self.faults.active(FaultKind.WRONG_UNIT):
            return f"{1e-4 * value_oe!r},T,{state}"
        return self._maybe_stale("FIELD?", f"{value_oe!r},Oe,{state}")

    def _maybe_stale(self, action: str, shown: str) -> str:
        """Return a reading, or the last settled one where readings have got stuck."""
        if self.faults.active(FaultKind.STALE_READING):
            return self._settled[action]
        if shown.endswith(("Stable", "Holding (driven)")):
            self._settled[action] = shown
        return shown

    def _show_temperature_setpoints(self, _: str) -> str:
        control = self.temperature
        return (
            f"({control.target_k!r}, {control.rate_k_per_min!r}, {control.approach}),K,"
            "Call was successful"
        )

    def _show_field_setpoints(self, _: str) -> str:
        magnet = self.magnet
        return (
            f"({magnet.target_oe!r}, {magnet.rate_oe_per_s!r}, 0, {int(magnet.driven)}),Oe,"
            "Call was successful"
        )

    def _set_temperature(self, query: str) -> str:
        numbers = _numbers(query)
        if len(numbers) != 3 or numbers[0] < 0.0 or numbers[1] <= 0.0 or numbers[2] not in {0, 1}:
            return f"MultiPyVuError: Error when setting the TEMP {query}"
        target_k, rate, approach = numbers
        self.temperature.go_to(target_k, rate, int(approach), self.clock.now_s)
        return "TEMP Command Received"

    def _set_field(self, query: str) -> str:
        numbers = _numbers(query)
        if len(numbers) != 4 or numbers[1] <= 0.0 or numbers[2] not in {0, 1, 2}:
            return f"MultiPyVuError: Error when setting the FIELD {query}"
        if numbers[3] != 1.0 and self.flavor != "PPMS":
            return f"MultiPyVuError: {self.flavor} can only drive the magnet in driven mode."
        self.magnet.go_to(numbers[0], numbers[1], numbers[3] == 1.0, self.clock.now_s)
        return "FIELD Command Received"

    # ------------------------------------------------------------------------- chamber, bridges

    def _show_chamber(self, _: str) -> str:
        if self.faults.active(FaultKind.DOOR_OPEN):
            return "0.0,,Flooding Continuously"
        return f"0.0,,{self.chamber.state(self.clock.now_s)}"

    def _set_chamber(self, query: str) -> str:
        if query not in {str(n) for n in range(len(CHAMBER_ENDS))}:
            return f"MultiPyVuError: The selected mode, {query}, is out of bounds."
        self.chamber.go_to(int(query), self.clock.now_s)
        return "CHAMBER Command Received"

    def _show_object(self, query: str) -> str:
        specimen = None
        if self.sample is not None and not self.faults.active(FaultKind.LOST_SAMPLE):
            specimen = self._in_cryostat(self.sample)
        overload = self.faults.active(FaultKind.OVERRANGE) is not None
        stage_k = self.temperature.value_k(self.clock.now_s)
        return self.bridges.read(query, specimen, stage_k, overload)

    def _set_object(self, query: str) -> str:
        if not self.bridges.write(query):
            return f"MultiPyVuError: Error when setting the SDO {query}"
        if self.bridges.driving and self.sample is not None:
            self._in_cryostat(self.sample)
        return "SDO Command Received"

    def _in_cryostat(self, sample: SampleView) -> Specimen:
        if self._specimen is None or self._specimen.sample is not sample:
            run = self.settings.get("operation")
            plan = run if isinstance(run, MeasureResistance) else MeasureResistance()
            self._specimen = Specimen(sample, plan)
        return self._specimen

    # ------------------------------------------------------------------------- waiting

    def _is_steady(self, query: str) -> str:
        mask = _numbers(query)
        steady = len(mask) == 1 and self.clock.now_s >= self._settled_s(int(mask[0]))
        return f"{int(steady)},,Call was successful"

    def _settled_s(self, mask: int) -> float:
        parts = ((1, self.temperature), (2, self.magnet), (8, self.chamber))
        return max((part.settled_s() for bit, part in parts if mask & bit), default=0.0)

    async def _wait_for(self, query: str) -> str:
        numbers = _numbers(query)
        if len(numbers) != 3:
            return f"MultiPyVuError: Error when setting the WAITFOR {query}"
        delay_s, timeout_s, mask = numbers
        limit_s = self.clock.now_s + (timeout_s if timeout_s > 0.0 else _WAIT_LIMIT_S)
        settled_s = max(self._settled_s(int(mask)), self.clock.now_s)
        await self.clock.sleep_until_s(min(settled_s, limit_s))
        if settled_s > limit_s:
            return f"WAITFOR Command Received,{_TIMED_OUT}"
        await self.clock.sleep_until_s(settled_s + delay_s)
        return f"WAITFOR Command Received,{_STEADY}"


def _numbers(query: str) -> list[float]:
    """Return the numbers of a query; none if it holds anything else."""
    try:
        found = [float(part) for part in query.split(",")]
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []


__all__ = ["MultiPyVuTwin"]
