"""A new device in one file: driver and twin of a hot plate with a thermometer, and their check.

docs/new-instrument.md walks through it. To register both, a distribution writes in its
pyproject.toml ``[project.entry-points."labenv.instruments"]`` and ``"labenv.twins"``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from labenv_instruments.clock import VirtualClock
from labenv_instruments.conformance import Bench, run_checks
from labenv_instruments.instrument import InstrumentRequest
from labenv_instruments.wire.connection import Connection, line_ending
from labenv_instruments.wire.driver import WireDriver
from labenv_instruments.wire_twin import WireTwin
from labenv_schemas.errors import InstrumentError, ProposalError
from labenv_schemas.measurement import TemperatureReading
from labenv_schemas.proposal import Heat, Operation

HOTTEST_K = 573.15


class HotPlate(WireDriver):
    """Drives the plate: one line a request, one line a reply that repeats the request's word."""

    kind = "hot_plate"
    role = "tube_furnace"
    operations = frozenset({"heat"})
    default_port = 7001
    units: ClassVar[Mapping[str, str]] = {"temperature_k": "K", "standard_uncertainty_k": "K"}
    _wire: Connection | None = None

    @property
    def channel_units(self) -> Mapping[str, str]:
        """Unit of every channel."""
        return self.units

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse what the plate cannot do."""
        if isinstance(operation, Heat) and operation.peak_k > HOTTEST_K:
            raise ProposalError(
                f"the plate goes to {HOTTEST_K:g} K, not {operation.peak_k:g} K; lower the target"
            )

    async def ask(self, request: str) -> str:
        """Return what the device answers, without the word that it repeats."""
        if self._wire is None:
            host = self.address.host
            self._wire = Connection(host, self.port, timeout_s=self.timeout_s, name=self.kind)
        line = request.encode() + b"\n"
        reply = (await self._wire.exchange(line, line_ending(b"\n"))).decode("ascii", "replace")
        word, _, rest = reply.partition(" ")
        if word != request.split()[0] or not rest.isascii():
            self._wire.drop()  # what else is under way belongs to another request
            raise InstrumentError(f"{self.kind} answered {request!r} with {reply!r}")
        return rest

    async def ask_number(self, request: str) -> float:
        """Return a number that the device shows, within what it can show."""
        reply = await self.ask(request)
        try:
            number = float(reply)
        except ValueError:
            raise InstrumentError(f"{self.kind} answered {request!r} with {reply!r}") from None
        if not 0.0 <= number < 1000.0:
            raise InstrumentError(f"{self.kind} shows {number:g} for {request!r}, out of range")
        return number

    async def open_device(self) -> tuple[str, str, bool]:
        """Ask for model and serial number."""
        model, _, serial = (await self.ask("ID")).partition(";")
        return model, serial, serial.startswith("SIM")

    async def readings(self) -> dict[str, str]:
        """Show temperature, heater and the device's clock."""
        return {
            "temperature": f"{await self.ask_number('T'):.3f} K",
            "heater": f"{await self.ask_number('HEATER'):.1f} percent",
            "clock": await self.ask("CLOCK"),
        }

    async def carry_out(self, request: InstrumentRequest) -> tuple[TemperatureReading, ...]:
        """Go through the segments, watch the thermometer, switch off."""
        if not isinstance(request.operation, Heat):
            raise InstrumentError(f"{self.kind} was prepared for {request.operation.op}")
        hottest_k = 0.0
        for segment in request.operation.segments:
            now_k = await self.ask_number("T")
            await self.ask(f"GO {segment.target_k:.3f} {segment.rate_k_per_s:.5f}")
            left_s = abs(segment.target_k - now_k) / segment.rate_k_per_s + segment.hold_s + 1.0
            while left_s > 0.0:
                step_s = min(left_s, self.poll_s(segment.hold_s))
                await self.wait(step_s)
                left_s -= step_s
                hottest_k = max(hottest_k, await self.ask_number("T"))
            if abs(await self.ask_number("T") - segment.target_k) > 2.0:
                raise InstrumentError(f"{self.kind} did not reach {segment.target_k:g} K in time")
        await self.make_safe()
        return (
            TemperatureReading(
                **self.stamp(request), temperature=f"{hottest_k} K", standard_uncertainty_k=0.1
            ),
        )

    async def make_safe(self) -> None:
        """Switch the heater off and see that it is off."""
        await self.ask("OFF")
        if not await self.ask_safe():
            raise InstrumentError(f"{self.kind}: the heater stays on; pull the plug")

    async def ask_safe(self) -> bool:
        """Ask the device whether it drives nothing; the conformance suite looks here."""
        return await self.ask_number("HEATER") == 0.0

    async def release(self) -> None:
        """Close the connection."""
        if self._wire is not None:
            await self._wire.close()


class HotPlateTwin(WireTwin):
    """The plate, simulated: it follows its set point at the rate it is given."""

    driver = "hot_plate"
    temperature_k, target_k, rate_k_per_s, on, _then_s = 295.0, 295.0, 0.0, False, 0.0

    @property
    def safe(self) -> bool:
        """Whether the heater is off."""
        return not self.on

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Read a line."""
        return await reader.readuntil(b"\n")

    def advance(self, now_s: float) -> None:
        """Go towards the set point, or cool."""
        reach_k = (now_s - self._then_s) * (self.rate_k_per_s if self.on else 0.1)
        change_k = (self.target_k if self.on else 295.0) - self.temperature_k
        self.temperature_k += max(-reach_k, min(reach_k, change_k))
        self._then_s = now_s

    async def answer(self, request: bytes) -> bytes | None:
        """Answer, and do what is asked."""
        word, *numbers = request.decode("ascii", "replace").split() or ["?"]
        return f"{word} {self.reply(word, numbers)}\n".encode("ascii", "replace")

    def reply(self, word: str, numbers: list[str]) -> str:
        """Return what follows the word."""
        if word == "GO":
            self.target_k, self.rate_k_per_s = (float(number) for number in numbers)
            self.on = True
        elif word == "OFF":
            self.on = False
        shown: dict[str, Any] = {
            "ID": "Example HP-1;SIM0042",
            "T": f"{self.temperature_k + self.rng.normal(0.0, 0.02):.3f}",
            "HEATER": "20.0" if self.on else "0.0",
            "CLOCK": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return str(shown.get(word, "done" if word in {"GO", "OFF"} else "what?"))


def check_it() -> None:
    """Start the twin, run every check over its socket, print what was found."""
    twin, loop = HotPlateTwin(clock=VirtualClock()), asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    address = asyncio.run_coroutine_threadsafe(twin.start(), loop).result()

    async def pace(lab_s: float) -> None:
        twin.clock.set_s(twin.clock.now_s + lab_s)  # lab time, which need not take that long

    bench = Bench(address, HotPlate, timeout_s=0.2, actuate=True, pace=pace)
    for result in run_checks(bench):
        print(f"{result.name:<14} {result.verdict:<8} {result.found}")
    asyncio.run_coroutine_threadsafe(twin.close(), loop).result()
    loop.call_soon_threadsafe(loop.stop)


if __name__ == "__main__":
    check_it()
