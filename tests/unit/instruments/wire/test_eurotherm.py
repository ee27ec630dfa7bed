"""The Eurotherm driver fires samples on its twin as in process, or says why it could not.

One file, since all of it happens on one bench.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from labenv_instruments.clock import VirtualClock, WallClock
from labenv_instruments.drivers._eurotherm_link import ModbusLink
from labenv_instruments.drivers.eurotherm import EurothermFurnace
from labenv_instruments.faults import FOR_EVER, WIRE_FAULTS, Fault, FaultKind, FaultPlan
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_instruments.limits import DeviceLimits
from labenv_instruments.testing import StillSample
from labenv_instruments.twins._furnace_model import Phase
from labenv_instruments.twins._modbus_frames import check_sum
from labenv_instruments.twins.eurotherm import EurothermTwin
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError
from labenv_schemas.proposal import Heat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MODELS = ("2416", "3216", "EPC3016")
FRAMERS = ("tcp", "rtu")
SHORT = {"segments": [{"target": "600 degC", "rate": "10 K/min", "hold": "30 min"}]}


class Recorder(StillSample):
    """Keeps the firings it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.heats: list[Heat] = []

    def fire(self, heat: Heat) -> float:
        self.heats.append(heat)
        return super().fire(heat)


class Bench:
    """A twin in virtual time with a sample in it, and drivers to it."""

    def __init__(self, model: str, framer: str, faults: tuple[Fault, ...], **options: str) -> None:
        chosen = {"model": model, "framer": framer, "unit": "3"}
        self.twin = EurothermTwin(
            clock=VirtualClock(), faults=FaultPlan(list(faults)), options=chosen | options
        )
        self.sample = Recorder()
        self.drivers: list[EurothermFurnace] = []
        self.on_pace: Callable[[float], Awaitable[None]] | None = None

    async def pace(self, lab_s: float) -> None:
        self.twin.clock.set_s(self.twin.clock.now_s + lab_s)
        if self.on_pace is not None:
            await self.on_pace(self.twin.clock.now_s)

    def driver(self, more: str = "", **options: Any) -> EurothermFurnace:
        driver = EurothermFurnace(
            self.twin.address + more,
            pace=self.pace,
            timeout_s=options.pop("timeout_s", 0.15),
            **options,
        )
        self.drivers.append(driver)
        return driver

    def request(self, heat: dict[str, Any]) -> InstrumentRequest:
        found = Heat.model_validate(heat)
        self.twin.unload()
        self.twin.load(
            self.sample,
            found.model_dump(mode="json", include={"atmosphere", "crucible", "cooling"}),
        )
        return InstrumentRequest(found, self.sample.sample_id)

    async def fire(self, driver: EurothermFurnace, heat: dict[str, Any]) -> float:
        await driver.connect()
        await driver.prepare(self.request(heat))
        await driver.run()
        return (await driver.result())[0].temperature_k


def course(
    work: Callable[[Bench], Awaitable[Any]],
    model: str = "2416",
    framer: str = "tcp",
    *faults: Fault,
    **options: str,
) -> Any:
    async def whole() -> Any:
        bench = Bench(model, framer, faults, **options)
        await bench.twin.start()
        try:
            async with asyncio.timeout(20.0):
                return await work(bench)
        finally:
            for driver in bench.drivers:
                await driver.close()
            await bench.twin.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(whole())


PROGRAMS = {
    "one ramp": {"segments": [{"target": "500 degC", "rate": "5 K/min"}]},
    "two dwells, controlled": {
        "segments": [
            {"target": "300 degC", "rate": "3.3 K/min", "hold": "30 min"},
            {"target": "900.1 degC", "rate": "10 K/min", "hold": "5 h"},
        ],
        "cooling": {"rate": "2 K/min"},
        "atmosphere": "oxygen",
        "crucible": "platinum",
    },
    "down and up, quench, mixture": {
        "segments": [
            {"target": "800 degC", "rate": "20 K/min", "hold": "1 h"},
            {"target": "650 degC", "rate": "1 K/min", "hold": "2 h"},
            {"target": "650 degC", "rate": "5 K/min", "hold": "10 min"},
            {"target": "1000 degC", "rate": "5 K/min"},
        ],
        "cooling": "quench",
        "atmosphere": {"o2": "0.1 atm", "co2": "0.2 atm"},
    },
}


def same(found: Heat, wanted: Heat) -> None:
    assert found.model_copy(update={"segments": wanted.segments}) == wanted
    assert len(found.segments) == len(wanted.segments)
    for mine, theirs in zip(found.segments, wanted.segments, strict=True):
        assert mine.target_k == pytest.approx(theirs.target_k, rel=1e-12)
        assert mine.rate_k_per_s == pytest.approx(theirs.rate_k_per_s, rel=1e-12)
        assert mine.hold_s == pytest.approx(theirs.hold_s, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "framer", "name"),
    [(model, framer, "one ramp") for model in MODELS for framer in FRAMERS]
    + [
        (model, framer, name)
        for model, framer in zip(MODELS, ("rtu", "rtu", "tcp"), strict=True)
        for name in list(PROGRAMS)[1:]
    ],
)
def test_a_sample_is_fired_as_proposed(model: str, framer: str, name: str) -> None:
    heat = PROGRAMS[name]

    async def work(bench: Bench) -> None:
        driver = bench.driver()
        reading_k = await bench.fire(driver, heat)
        wanted = Heat.model_validate(heat)
        assert reading_k == pytest.approx(wanted.peak_k, abs=3.0)
        assert reading_k != wanted.peak_k  # it was measured
        assert len(bench.sample.heats) == 1
        same(bench.sample.heats[0], wanted)
        assert driver.safe
        assert bench.twin.safe
        hot = wanted.cooling == "quench"
        assert (bench.twin.state()["pv_c"] > 100.0) == hot

    course(work, model, framer)


def test_thirty_hours_take_little_wall_time() -> None:
    from time import perf_counter

    from labenv_instruments.twins._furnace_model import Furnace, Step

    furnace = Furnace(0.0)
    furnace.start((Step(1200.0, 5 / 60, 70_000.0), Step(300.0, 5 / 60, 3600.0)), 2)
    began = perf_counter()
    furnace.advance(30 * 3600.0)
    assert perf_counter() - began < 0.1
    assert furnace.complete
    assert furnace.run is not None
    assert furnace.run.followed


@pytest.mark.parametrize("model", MODELS)
def test_only_what_differs_is_written_and_nothing_streams(model: str) -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await bench.fire(driver, SHORT)
        first = bench.twin.writes.total()
        assert max(bench.twin.writes.values()) == 1
        assert first <= 36
        await bench.fire(driver, SHORT)
        again = bench.twin.writes.total() - first
        assert again <= 2  # automatic and manual
        changed = {"segments": [{"target": "600 degC", "rate": "10 K/min", "hold": "31 min"}]}
        await bench.fire(driver, changed)
        assert bench.twin.writes.total() - first - again <= 3

    course(work, model)


def test_register_23_holding_2_runs_a_2416_and_holds_a_3216() -> None:
    async def work(bench: Bench) -> tuple[Phase, Phase]:
        driver = bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver._start()
        await bench.pace(600.0)
        before = bench.twin.furnace.phase
        await driver._link.write_word(23, 2)
        return before, bench.twin.furnace.phase

    assert course(work, "2416") == (Phase.RUN, Phase.RUN)
    assert course(work, "3216") == (Phase.RUN, Phase.HOLD)


@pytest.mark.parametrize("said", MODELS)
@pytest.mark.parametrize("is_", MODELS)
def test_a_controller_of_another_model_is_refused(said: str, is_: str) -> None:
    async def work(bench: Bench) -> None:
        address = bench.twin.address.replace(f"model={is_}", f"model={said}")
        driver = EurothermFurnace(address, pace=bench.pace, timeout_s=0.15)
        bench.drivers.append(driver)
        if said == is_:
            assert said in (await driver.connect()).model
            return
        with pytest.raises(InstrumentError, match=rf"registers of {is_}.*model={said}"):
            await driver.connect()
        assert not bench.twin.writes

    course(work, is_)


def test_a_2408_is_no_2416() -> None:
    async def work(bench: Bench) -> None:
        from labenv_instruments.twins._eurotherm_registers import fixed

        bench.twin.controller.bank._parameters[122] = fixed(0x2480)
        with pytest.raises(InstrumentError, match=r"no 2416.*2480h"):
            await bench.driver().connect()

    course(work)


@pytest.mark.parametrize(
    ("model", "options", "most"),
    [("2416", {}, 15), ("3216", {"segments": "4"}, 4), ("3216", {}, 8), ("EPC3016", {}, 24)],
)
def test_more_segments_than_the_controller_has_are_refused_before_anything_moves(
    model: str, options: dict[str, str], most: int
) -> None:
    def heat(count: int) -> dict[str, Any]:
        targets = [400 + 10 * n for n in range(count)]
        return {"segments": [{"target": f"{t} degC", "rate": "10 K/min"} for t in targets]}

    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await driver.connect()
        with pytest.raises(ProposalError, match=rf"has {most if model == '3216' else most + 1}"):
            await driver.prepare(bench.request(heat(most + 1)))
        assert not bench.twin.writes
        assert bench.twin.safe
        await bench.fire(driver, heat(most))
        same(bench.sample.heats[0], Heat.model_validate(heat(most)))

    course(work, model, "tcp", **options)


def test_limits_of_the_lab_of_the_tube_and_of_the_controller_hold() -> None:
    async def work(bench: Bench) -> None:
        cold = bench.driver(limits=DeviceLimits.model_validate({"max_temperature": "500 degC"}))
        await cold.connect()
        with pytest.raises(ProposalError, match=r"limited to a temperature of.*500 degC"):
            await cold.prepare(bench.request(SHORT))
        driver = bench.driver()
        await driver.connect()
        with pytest.raises(ProposalError, match="the furnace goes to"):
            await driver.prepare(bench.request({"segments": [{"target": "1600 degC"}]}))
        from labenv_instruments.twins._eurotherm_registers import fixed

        bench.twin.controller.bank._parameters[111] = fixed(550.0, "float")
        with pytest.raises(ProposalError, match="550 degC at most"):
            await driver.prepare(bench.request(SHORT))
        assert not bench.twin.writes

    course(work)


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("", "write model=2416 or 3216 or EPC3016"),
        ("?model=2408", "model=2408"),
        ("?model=3216&framer=ascii", "write tcp or rtu"),
        ("?model=3216&unit=0", "unit=0"),
        ("?model=3216&holdback_k=x", "holdback_k=x"),
        ("?model=3216&dead_man_s=60", "has no watchdog"),
        ("?model=EPC3016&dead_man_s=2", "10 or more"),
        ("?model=3216&port=1", "no option port"),
    ],
)
def test_wrong_options_are_refused(tail: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EurothermFurnace(f"eurotherm+tcp://127.0.0.1{tail}")


@pytest.mark.parametrize("framer", FRAMERS)
@pytest.mark.parametrize("model", MODELS)
def test_a_cancelled_firing_leaves_the_furnace_off_and_the_sample_as_far_as_it_came(
    model: str, framer: str
) -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        running = asyncio.ensure_future(driver.run())

        async def stop(now_s: float) -> None:
            if now_s > 4000.0:
                running.cancel()
                await asyncio.sleep(0)

        bench.on_pace = stop
        with pytest.raises(asyncio.CancelledError):
            await running
        assert driver.state is InstrumentState.IDLE
        assert driver.safe
        assert bench.twin.safe
        assert bench.twin.state()["output_percent"] == 0.0
        (seen,) = bench.sample.heats
        assert seen.cooling == "furnace"
        assert seen.segments[0].target_k == pytest.approx(873.15)
        assert 0.0 < seen.segments[0].hold_s < 1800.0

    course(work, model, framer)


@pytest.mark.parametrize("model", MODELS)
def test_another_process_can_stop_what_it_did_not_start(model: str) -> None:
    async def work(bench: Bench) -> None:
        driver, other = bench.driver(), bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))

        async def stop(now_s: float) -> None:
            if now_s > 2000.0 and other.state is InstrumentState.DISCONNECTED:
                await other.connect()
                assert not bench.twin.safe
                await other.abort()
                assert bench.twin.safe

        bench.on_pace = stop
        with pytest.raises(InstrumentError, match=r"ended after .* somebody reset it"):
            await driver.run()
        assert bench.twin.safe
        assert len(bench.sample.heats) == 1

    course(work, model)


def test_a_program_that_somebody_else_runs_is_not_overwritten() -> None:
    async def work(bench: Bench) -> None:
        driver, other = bench.driver(), bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver._start()
        await other.connect()
        written = bench.twin.writes.copy()
        with pytest.raises(InstrumentError, match="in run already; abort it first"):
            await other.prepare(bench.request(SHORT))
        assert bench.twin.writes == written
        await other.abort()
        await other.prepare(bench.request(SHORT))

    course(work)


def test_the_display_shows_units() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver._start()
        await bench.pace(1200.0)
        shown = await driver.readings()
        assert shown["program"] == "run"
        assert shown["segment"] == "1"
        assert 200.0 < float(shown["temperature"].removesuffix(" degC")) < 240.0
        assert float(shown["output"].removesuffix(" %")) > 1.0
        left_s = 57.5 * 60 + 1800.0 - 1200.0
        assert float(shown["time left"].removesuffix(" min")) == pytest.approx(left_s / 60, abs=1)

    course(work)


def test_a_held_program_is_given_up_in_the_end() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()

        async def hold(now_s: float) -> None:
            if now_s > 2000.0:
                bench.twin.furnace.hold()

        bench.on_pace = hold
        with pytest.raises(InstrumentError, match=r"has not ended after .* in hold"):
            await bench.fire(driver, SHORT)
        assert bench.twin.safe
        assert bench.twin.clock.now_s < 5250.0 * 1.1 + 1800.0 + 300.0

    course(work)


def test_holdback_waits_for_a_weak_furnace_and_is_given_up_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("labenv_instruments.twins._furnace_model.FULL_POWER_RISE_K", 400.0)

    async def work(bench: Bench) -> None:
        driver = bench.driver()
        seen: set[str] = set()

        async def see(_: float) -> None:
            seen.add((await driver.readings())["program"] if bench.twin.writes else "")

        bench.on_pace = see
        with pytest.raises(InstrumentError, match=r"has not ended after .* in holdback"):
            await bench.fire(driver, SHORT)
        assert "holdback" in seen
        assert bench.twin.safe
        (taken,) = bench.sample.heats
        assert taken.peak_k < 700.0  # what it saw is what it got

    course(work)


def test_an_epc3016_without_its_computer_stops_by_itself() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver("&dead_man_s=60")
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver._arm(60.0)
        await driver._start()
        await bench.pace(50.0)
        await driver.readings()
        assert not bench.twin.safe
        await bench.pace(61.0)  # killed
        assert bench.twin.safe
        assert bench.twin.furnace.temperature_c < 60.0
        assert bench.twin.controller.store[1172] == 1.0
        bench.sample.heats.clear()
        await bench.fire(driver, SHORT)  # and can be started again
        same(bench.sample.heats[0], Heat.model_validate(SHORT))
        assert bench.twin.controller.store[1172] == 0.0

    course(work, "EPC3016")


def test_a_watchdog_does_not_bite_while_all_is_well_nor_afterwards() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver("&dead_man_s=60")
        await bench.fire(driver, SHORT)
        same(bench.sample.heats[0], Heat.model_validate(SHORT))
        assert bench.twin.controller.watchdog_s == 0.0

    course(work, "EPC3016", "rtu")


def test_a_dead_driver_leaves_a_furnace_that_cools_at_the_end_of_its_program() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver._start()
        driver._link.drop()
        await bench.pace(3600.0)
        assert not bench.twin.safe
        await bench.pace(3600.0)
        assert bench.twin.safe
        assert len(bench.sample.heats) == 1

    course(work)


def test_the_next_firing_waits_for_a_hot_furnace_to_cool() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await bench.fire(driver, SHORT | {"cooling": "quench"})
        assert bench.twin.furnace.temperature_c > 500.0
        await bench.fire(driver, SHORT)
        run = bench.twin.furnace.run
        assert run is not None
        assert run.start_c < 101.0

    course(work)


def fault_for_ever(kind: FaultKind, after: int) -> Fault:
    return Fault(kind, after, FOR_EVER)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (FaultKind.SENSOR_BREAK, "thermocouple is broken"),
        (FaultKind.OVERRANGE, "out of range"),
        (FaultKind.WRONG_UNIT, "another unit than degC|which no furnace does"),
        (FaultKind.STALE_READING, "has stood at"),
        (FaultKind.STUCK_HEATER, "stuck on; cut its power"),
        (FaultKind.DOOR_OPEN, "check door, heater"),
    ],
)
def test_a_fault_of_the_furnace_ends_the_firing_safely(
    model: str, kind: FaultKind, message: str
) -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        bench.twin.faults.add(fault_for_ever(kind, 60))
        with pytest.raises(InstrumentError, match=message):
            await driver.run()
        assert bench.twin.faults.fired
        assert driver.state is InstrumentState.FAULT
        assert bench.twin.safe
        await driver.abort()
        assert driver.safe
        assert len(bench.sample.heats) == 1

    course(work, model)


def test_a_heater_stuck_on_after_an_abort_is_found_before_the_next_firing() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver.abort()
        bench.twin.faults.add(fault_for_ever(FaultKind.STUCK_HEATER, 0))
        bench.twin.faults.begin_request()
        await bench.pace(60.0)
        with pytest.raises(InstrumentError, match="stuck on; cut its power"):
            await driver.prepare(bench.request(SHORT))

    course(work)


def test_a_furnace_that_never_got_hot_is_no_success_though_the_program_is_complete() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver("&holdback_k=0")
        heat = {"segments": [{"target": "150 degC", "rate": "20 K/min", "hold": "1 min"}]}
        await driver.connect()
        await driver.prepare(bench.request(heat))
        bench.twin.faults.add(fault_for_ever(FaultKind.DOOR_OPEN, 0))
        with pytest.raises(InstrumentError, match="complete, but the furnace reached only"):
            await driver.run()
        assert bench.twin.safe

    course(work)


@pytest.mark.parametrize(("model", "framer"), [("2416", "rtu"), ("EPC3016", "tcp")])
@pytest.mark.parametrize(
    "kind", [*sorted(WIRE_FAULTS), FaultKind.BUSY, FaultKind.WRONG_UNIT, FaultKind.OVERRANGE]
)
def test_a_fault_of_one_reply_is_got_over_or_named(
    model: str, framer: str, kind: FaultKind
) -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver(timeout_s=0.05)
        heat = SHORT | {"cooling": "quench"}
        try:
            await bench.fire(driver, heat)
        except InstrumentError:
            if kind in {FaultKind.SPLIT_REPLY, FaultKind.BUSY}:
                raise
            await driver.abort()
        else:
            same(bench.sample.heats[-1], Heat.model_validate(heat))
        assert bench.twin.faults.fired
        assert bench.twin.safe
        assert len(bench.sample.heats) <= 1

    faults = [Fault(kind, after, delay_s=0.08) for after in (1, 30, 61)]
    course(work, model, framer, *faults)


@pytest.mark.parametrize("after", range(6))
def test_a_late_reply_on_rtu_is_never_taken_for_the_next(after: int) -> None:
    """Replies to equal requests look alike there; what comes back must be the present reading."""

    async def work(bench: Bench) -> None:
        driver = bench.driver(timeout_s=0.06)
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver._start()
        bench.twin.faults.add(Fault(FaultKind.STALE_REPLY, after))
        for _ in range(4):
            await bench.pace(600.0)
            assert (await driver._link.floats(1, 1))[0] == pytest.approx(
                bench.twin.furnace.temperature_c, abs=2.0
            )
        assert bench.twin.faults.fired

    course(work, "2416", "rtu")


def test_a_cancelled_call_leaves_no_reply_behind() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver(timeout_s=5.0)
        await driver.connect()
        bench.twin.faults.add(Fault(FaultKind.LATE_REPLY, 0, delay_s=0.1))
        first = asyncio.ensure_future(driver._link.word(23))
        await asyncio.sleep(0.03)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.sleep(0.12)
        assert await driver._link.word(75) == 0

    course(work, "2416", "rtu")


def test_nobody_there_is_an_error_with_the_remedy() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await bench.twin.close()
        with pytest.raises(InstrumentError, match="cannot be reached; is it switched on"):
            await driver.connect()
        await driver.close()

    course(work)


def test_a_controller_that_cannot_be_told_to_stop_is_reported() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver(timeout_s=0.05)
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        bench.twin.faults.add(fault_for_ever(FaultKind.SILENT, 0))
        with pytest.raises(InstrumentError, match=r"could not be made safe.*look after the device"):
            await driver.abort()
        assert driver.state is InstrumentState.FAULT

    course(work)


def test_a_firing_on_a_sped_up_clock_is_followed_too() -> None:
    """Lab time then passes also while the driver talks to the furnace."""
    speed = 5000.0

    async def whole() -> None:
        bench = Bench("EPC3016", "tcp", ())
        bench.twin = EurothermTwin(clock=WallClock(speed), options={"model": "EPC3016"})
        await bench.twin.start()

        async def pace(lab_s: float) -> None:
            await asyncio.sleep(lab_s / speed)

        driver = EurothermFurnace(bench.twin.address, pace=pace)
        try:
            segment = {"target": "500 degC", "rate": "20 K/min", "hold": "20 min"}
            heat = {"segments": [segment], "cooling": "quench"}
            assert await bench.fire(driver, heat) == pytest.approx(773.15, abs=5.0)
            same(bench.sample.heats[0], Heat.model_validate(heat))
        finally:
            await driver.close()
            await bench.twin.close()

    asyncio.run(whole())


def test_a_button_that_did_not_spring_back_is_let_go() -> None:
    async def work(bench: Bench) -> None:
        store, bank = bench.twin.controller.store, bench.twin.controller.bank
        bank._parameters[10575] = store.parameter(10575, "word", 1.0)
        driver = bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver._start()
        assert store[10575] == 0.0

    course(work, "EPC3016")


def test_a_reply_that_a_gateway_kept_from_an_old_connection_is_not_taken() -> None:
    """A serial gateway does not know that the connection for which a reply came is gone."""
    kept: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if kept:
            writer.write(kept.pop())
        with contextlib.suppress(OSError):
            while request := await reader.read(8):
                body = bytes([1, 3, 2, 0]) + request[3:4]  # a register holds its own address
                reply = request if request[1] == 8 else body + check_sum(body)
                if request[1] == 3 and request[3] == 23 and not served:
                    served.append(23)
                    kept.append(reply)  # too late
                else:
                    writer.write(reply)
        writer.transport.abort()

    served: list[int] = []

    async def whole() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        link = ModbusLink(
            "127.0.0.1", server.sockets[0].getsockname()[1], 1, rtu=True, timeout_s=0.05
        )
        with pytest.raises(InstrumentError, match="did not answer for register 23"):
            await link._read(23, 1)
        assert kept
        assert await link.word(75) == 75
        assert not kept
        await link.close()
        await asyncio.sleep(0.01)
        server.close()
        await server.wait_closed()

    asyncio.run(whole())


def test_a_heater_that_sticks_while_the_furnace_should_cool_is_found() -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()

        async def stick(_: float) -> None:
            if bench.twin.furnace.complete and not bench.twin.faults.faults:
                bench.twin.faults.add(fault_for_ever(FaultKind.STUCK_HEATER, 12))

        bench.on_pace = stick
        with pytest.raises(InstrumentError, match="with no output: the heater is stuck on"):
            await bench.fire(driver, SHORT)
        assert bench.twin.furnace.phase is Phase.RESET
        assert len(bench.sample.heats) == 1

    course(work)


@pytest.mark.parametrize(
    "kind", [FaultKind.WRONG_UNIT, FaultKind.SENSOR_BREAK, FaultKind.OVERRANGE]
)
def test_a_furnace_whose_reading_is_wrong_is_made_safe_all_the_same(kind: FaultKind) -> None:
    async def work(bench: Bench) -> None:
        driver = bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver._start()
        await bench.pace(1000.0)
        bench.twin.faults.add(fault_for_ever(kind, 0))
        for _ in range(11):  # whenever the unit is looked at
            await driver.abort()
            assert bench.twin.safe
        with pytest.raises(InstrumentError, match=r"unit|broken|range"):
            await driver.prepare(bench.request(SHORT))

    course(work)


def test_a_setpoint_that_is_refused_does_not_keep_the_heater_on() -> None:
    async def work(bench: Bench) -> None:
        from labenv_instruments.twins._eurotherm_registers import fixed

        driver = bench.driver()
        await driver.connect()
        await driver.prepare(bench.request(SHORT))
        await driver._start()
        await bench.pace(1000.0)
        bench.twin.controller.bank._parameters[24] = fixed(300.0, "float")
        with pytest.raises(
            InstrumentError, match=r"could not be made safe.*register 32816, error 2"
        ):
            await driver.abort()
        assert bench.twin.safe

    course(work)


def test_a_last_segment_that_falls_is_no_cooling_and_counts_as_it_was() -> None:
    """At 10 K/min a furnace cannot follow down to 100 degC; the sample sees how it fell."""
    fall = {"target": "100 degC", "rate": "10 K/min"}
    heat = {"segments": [*SHORT["segments"], fall]}

    async def work(bench: Bench) -> Heat:
        await bench.fire(bench.driver(), heat)
        return bench.sample.heats[0]

    seen = course(work)
    assert len(seen.segments) > 4
    assert seen.segments[-1].target_k > 400.0
    assert seen.cooling == "furnace"
