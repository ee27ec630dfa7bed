"""The suite passes on a good device and fails, with the right words, on each kind of bad one."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest

from labenv_instruments.conformance import (
    Bench,
    Verdict,
    as_data,
    as_junit,
    find_checks,
    run_checks,
)
from labenv_instruments.wire.connection import Connection, line_ending
from labenv_schemas.errors import ConfigError, InstrumentError

EXAMPLE = Path(__file__).parents[4] / "examples" / "instruments" / "thermometer_driver.py"
_SPEC = importlib.util.spec_from_file_location("thermometer_driver", EXAMPLE)
assert _SPEC is not None
assert _SPEC.loader is not None
plate = importlib.util.module_from_spec(_SPEC)
sys.modules["thermometer_driver"] = plate
_SPEC.loader.exec_module(plate)


class Served:
    """A twin that serves in a thread, with time that passes when the driver waits."""

    def __init__(self, twin: Any) -> None:
        self.twin = twin
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)

    def __enter__(self) -> Served:
        self.thread.start()
        self.address = self.call(self.twin.start())
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self.twin.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10.0)

    async def pace(self, lab_s: float) -> None:
        self.twin.clock.set_s(self.twin.clock.now_s + lab_s)
        await asyncio.sleep(0)


def checked(driver: type, twin: Any, *names: str, actuate: bool = False) -> dict[str, Any]:
    with Served(twin) as served:
        bench = Bench(
            served.address, driver, timeout_s=0.3, actuate=actuate, pace=served.pace,
            witness=lambda: twin.safe, patience_s=10.0,
        )  # fmt: skip
        results = list(run_checks(bench, find_checks(names)))
        data = as_data(bench, results)
        assert json.dumps(data)
        assert "<testsuite" in as_junit(bench, results)
        return {result.name: result for result in results}


def twin(kind: type | None = None) -> Any:
    from labenv_instruments.clock import VirtualClock

    return (kind or plate.HotPlateTwin)(clock=VirtualClock())


def test_the_example_passes_all_checks() -> None:
    results = checked(plate.HotPlate, twin(), actuate=True)
    bad = {n: r.found for n, r in results.items() if r.verdict is Verdict.FAILED}
    assert not bad
    assert sum(r.verdict is Verdict.PASSED for r in results.values()) >= 13


def test_nothing_is_moved_without_leave() -> None:
    results = checked(plate.HotPlate, twin())
    assert {n for n, r in results.items() if r.verdict is Verdict.SKIPPED} >= {
        "operation", "cancel", "safe_state",
    }  # fmt: skip


class NoUnits(plate.HotPlate):
    channel_units: ClassVar[dict[str, str]] = {}


class AnythingGoes(plate.HotPlate):
    @classmethod
    def check(cls, operation: Any) -> None:
        """Refuse nothing."""


class NeverSafe(plate.HotPlate):
    async def make_safe(self) -> None:
        """Say so and do nothing."""


class Other(plate.HotPlate):
    async def open_device(self) -> tuple[str, str, bool]:
        model, serial, simulated = await super().open_device()
        type(self).count = getattr(type(self), "count", 0) + 1
        return model, f"{serial}-{type(self).count}", simulated


class Patient(plate.HotPlate):
    """Waits a hundred times as long as it was told."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "timeout_s": 100.0 * options["timeout_s"]})


class Credulous(plate.HotPlate):
    """Takes whatever comes for a number, and whatever line is next for its answer."""

    _streams: Any = None

    async def ask(self, request: str) -> str:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self.address.host, self.port)
        reader, writer = self._streams
        writer.write(request.encode() + b"\n")
        try:
            async with asyncio.timeout(self.timeout_s):
                line = await reader.readline()
        except TimeoutError:
            raise InstrumentError("no reply") from None
        return bytes(byte & 0x7F for byte in line).decode("ascii").strip().partition(" ")[2]

    async def release(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


class Deafened(plate.HotPlate):
    """Leaves out what it cannot read, and takes the rest for the reply."""

    async def ask(self, request: str) -> str:
        if self._wire is None:
            self._wire = Connection(self.address.host, self.port, timeout_s=self.timeout_s)
        reply = await self._wire.exchange(request.encode() + b"\n", line_ending(b"\n"))
        return reply.decode("ascii", "ignore").lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ ")


class ReadsOnce(Credulous):
    """Believes that a reply comes in one piece."""

    async def ask(self, request: str) -> str:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self.address.host, self.port)
        reader, writer = self._streams
        writer.write(request.encode() + b"\n")
        async with asyncio.timeout(self.timeout_s):
            piece = await reader.read(4096)
        text = piece.decode("ascii", "replace").strip().partition(" ")[2]
        if not piece.endswith(b"\n"):
            raise InstrumentError(f"not a reply: {piece!r}")
        return text


class Hasty(plate.HotPlate):
    """Gives a reply hardly any time."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "timeout_s": 0.05})


class Untidy(plate.HotPlate):
    """Forgets in which state it is."""

    def _require(self, *states: Any) -> None:
        """Ask for nothing."""


class Useless(plate.HotPlate):
    async def carry_out(self, request: Any) -> tuple[Any, ...]:
        raise InstrumentError("the plate is out of order")


BROKEN = [
    (Credulous, "sequence", False, "late|answer"),
    (Credulous, "reconnect", False, "cut|reconnect|connection|lost|no reply|after"),
    (Deafened, "garbled_reply", False, "garbled|told|number|did not answer"),
    (ReadsOnce, "split_reply", False, "split|piece|reply"),
    (Hasty, "late_reply", False, "late"),
    (Untidy, "life_cycle", False, "order|prepar|run|typed|error"),
    (Useless, "operation", True, "out of order"),
    (Other, "identity", False, "serial|answers where|another"),
    (NoUnits, "units", True, "unit"),
    (AnythingGoes, "limits", False, "accept|refuse"),
    (NeverSafe, "safe_state", True, "safe"),
    (NeverSafe, "cancel", True, "still drives"),
    (Patient, "timeouts", False, "time-out|not|within"),
]


@pytest.mark.parametrize(("driver", "name", "actuate", "words"), BROKEN)
def test_a_broken_driver_fails_the_check_of_what_is_broken(driver, name, actuate, words) -> None:
    import re

    result = checked(driver, twin(), name, actuate=actuate)[name]
    assert result.verdict is Verdict.FAILED, result.found
    assert re.search(words, result.found), result.found


class Jittery(plate.HotPlateTwin):
    count = 0

    async def answer(self, request: bytes) -> bytes | None:
        reply = await super().answer(request)
        if reply and request == b"T\n":
            self.count += 1
            return reply.split()[0] + f" {295.0 + 5.0 * self.count:.2f}\n".encode()
        return reply


def test_a_device_whose_readings_jump_is_not_repeatable() -> None:
    result = checked(plate.HotPlate, twin(Jittery), "repeatability")["repeatability"]
    assert result.verdict is Verdict.FAILED, result.found


class Late(plate.HotPlateTwin):
    def reply(self, word: str, numbers: list[str]) -> str:
        if word == "CLOCK":
            return "2020-01-01T00:00:00+00:00"
        return super().reply(word, numbers)


class Glowing(plate.HotPlateTwin):
    def reply(self, word: str, numbers: list[str]) -> str:
        return "-4.0" if word == "T" else super().reply(word, numbers)


class Unbelieving(plate.HotPlate):
    async def ask_number(self, request: str) -> float:
        return float(await self.ask(request))


def test_a_clock_that_is_years_off_is_told() -> None:
    result = checked(plate.HotPlate, twin(Late), "clock")["clock"]
    assert result.verdict is Verdict.FAILED, result.found
    assert "clock" in result.found


def test_a_temperature_below_zero_kelvin_is_told() -> None:
    result = checked(Unbelieving, twin(Glowing), "ranges")["ranges"]
    assert result.verdict is Verdict.FAILED, result.found
    assert "-4" in result.found


def test_no_device_fails_at_once_and_the_rest_is_skipped() -> None:
    bench = Bench("hot_plate+tcp://127.0.0.1:1", plate.HotPlate, timeout_s=0.2)
    first, *rest = run_checks(bench)
    assert first.verdict is Verdict.FAILED
    assert "does not answer" in first.found
    assert {result.verdict for result in rest} == {Verdict.SKIPPED}


def test_wrong_use_is_said() -> None:
    with pytest.raises(ConfigError, match="names no driver"):
        Bench("tcp://127.0.0.1:1")
    with pytest.raises(ConfigError, match="there is no check x"):
        find_checks(["x"])
