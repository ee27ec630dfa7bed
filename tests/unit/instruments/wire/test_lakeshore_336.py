"""The controller is told what is safe, believed what can be right, and found cold at the end."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from labenv_instruments.clock import VirtualClock
from labenv_instruments.drivers._lakeshore_client import Look, Settling
from labenv_instruments.drivers.lakeshore_336 import LakeShore336
from labenv_instruments.faults import FOR_EVER, WIRE_FAULTS, Fault, FaultKind, FaultPlan
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_instruments.limits import DeviceLimits
from labenv_instruments.twins._lakeshore_plant import HEAD_K
from labenv_instruments.twins.lakeshore_336 import Lakeshore336Twin
from labenv_schemas.characterisation import MeasureResistance
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def course(
    work: Callable[[LakeShore336, Lakeshore336Twin], Awaitable[Any]],
    *faults: Fault,
    more: str = "",
    limits: DeviceLimits | None = None,
) -> Any:
    async def whole() -> Any:
        twin = Lakeshore336Twin(clock=VirtualClock(), faults=FaultPlan(list(faults)))

        async def pace(lab_s: float) -> None:
            twin.clock.set_s(twin.clock.now_s + lab_s)

        driver = LakeShore336(await twin.start() + more, pace=pace, timeout_s=0.1, limits=limits)
        try:
            async with asyncio.timeout(30.0):
                return await work(driver, twin)
        finally:
            await driver.close()
            await driver.close()
            await twin.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(whole())


def test_it_holds_a_temperature_and_lets_go_of_the_heater() -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        identity = await driver.connect()
        assert identity.model == "Lake Shore 336"
        assert identity.simulated
        for target_k in (290.0, 250.0, 255.0):
            reading_k = await driver.hold(target_k)
            assert abs(reading_k - target_k) <= 0.1
            assert abs(twin.stage_temperature_k() - target_k) < 0.2
        assert not twin.safe
        assert not driver.safe
        shown = await driver.readings()
        assert shown["set point"] == "255 K"
        assert shown["heater"].endswith("% of range 3")
        await driver.abort()
        assert twin.safe
        assert driver.safe

    course(work)


def test_closing_after_holding_switches_the_heater_off() -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        await driver.connect()
        await driver.hold(293.0)
        assert not twin.safe
        await driver.close()
        assert twin.safe

    course(work)


def test_the_ramp_begins_at_the_sensor_and_not_at_an_old_set_point() -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        twin.stage.temperature_k = 20.0  # while the set point was left at room temperature
        await driver.connect()
        highest_k = 0.0

        async def pace(lab_s: float) -> None:
            nonlocal highest_k
            twin.clock.set_s(twin.clock.now_s + lab_s)
            highest_k = max(highest_k, twin.stage_temperature_k())

        driver._pace = pace
        await driver.hold(22.0)
        assert highest_k < 23.0

    course(work)


def test_reached_means_the_sensor_and_not_the_set_point() -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        await driver.connect()
        await driver.client.go_to(200.0, 100.0, 3)
        twin.clock.set_s(twin.clock.now_s + 60.0)
        look = await driver.client.look()
        assert not look.ramping
        assert look.setpoint_k == 200.0
        assert look.temperature_k > 250.0
        before_s = twin.clock.now_s
        await driver.hold(200.0)
        assert twin.clock.now_s - before_s > 100.0

    course(work, more="?ramp_k_per_min=100")


def test_a_sensor_that_happens_to_be_there_while_the_set_point_is_not_counts_for_nothing() -> None:
    async def work(driver: LakeShore336, _: Lakeshore336Twin) -> None:
        looks = [Look(290.0, 285.0, True)] * 20 + [Look(290.0, 290.0, False)] * 20

        async def look() -> Look:
            return looks.pop(0)

        async def wait(_: float) -> None:
            pass

        driver.client.look = look  # type: ignore[method-assign]
        await driver.client.settle(290.0, Settling(hold_s=10.0, poll_s=2.0), wait)
        assert len(looks) == 20 - 6  # five waits of 2 s, and the look after them

    course(work)


def test_what_cannot_be_reached_is_given_up() -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        await driver.connect()
        with pytest.raises(
            InstrumentError, match=r"2 K was not reached within 14400 s; the sensor"
        ):
            await driver.hold(2.0)
        assert twin.safe
        assert twin.stage_temperature_k() < HEAD_K + 0.2

    course(work)


def test_limits_of_the_lab_hold() -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        await driver.connect()
        for beyond_k in (301.0, 9.0):
            with pytest.raises(ProposalError, match="goes from 10 K to 300 K here"):
                await driver.hold(beyond_k)
        assert twin.safe
        await driver.hold(294.0)
        assert twin._loops[1].rate_k_per_min == pytest.approx(2.0)

    limits = DeviceLimits.model_validate({
        "min_temperature": "10 K",
        "max_temperature": "300 K",
        "max_ramp": "2 K/min",
    })
    course(work, limits=limits)


LASTING = {
    FaultKind.SENSOR_BREAK: "invalid and sensor over range",
    FaultKind.OVERRANGE: "temperature above the curve",
    FaultKind.WRONG_UNIT: "cannot be one reading",
    FaultKind.STUCK_HEATER: "heater of output 1 is open",
    FaultKind.STALE_READING: "280 K was not reached",
    FaultKind.BUSY: "did not answer",
    FaultKind.SILENT: "did not answer",
    FaultKind.GARBLED: "not with text",
    FaultKind.DROPPED: "closed the connection",
    FaultKind.STALE_REPLY: "belongs to another question",
    FaultKind.LATE_REPLY: "did not answer",
}


def test_every_fault_is_tried() -> None:
    known = Lakeshore336Twin.known_faults | WIRE_FAULTS
    assert set(LASTING) == known - {FaultKind.SPLIT_REPLY}


@pytest.mark.parametrize("kind", sorted(LASTING))
def test_a_lasting_fault_ends_in_words_and_with_the_heater_off(kind: FaultKind) -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        await driver.connect()
        await driver.hold(290.0)
        for_how_long = FOR_EVER if kind in Lakeshore336Twin.known_faults - {FaultKind.BUSY} else 2
        twin.faults.add(Fault(kind, lasts_requests=for_how_long, delay_s=0.2))
        began = time.monotonic()
        with pytest.raises(InstrumentError, match=LASTING[kind]):
            await driver.hold(280.0)
        assert time.monotonic() - began < 8.0
        assert twin.safe
        assert driver.safe
        assert twin.faults.fired

    course(work)


@pytest.mark.parametrize("kind", sorted(WIRE_FAULTS | {FaultKind.BUSY}))
@pytest.mark.parametrize("after", [0, 3, 7, 12])
def test_a_passing_fault_of_the_wire_is_got_over(kind: FaultKind, after: int) -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        twin.faults.add(Fault(kind, after_requests=after, delay_s=0.15))
        await driver.connect()
        assert abs(await driver.hold(292.0) - 292.0) <= 0.1
        assert twin.faults.fired

    course(work)


def test_a_device_that_cannot_be_told_is_said_not_to_be_safe() -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        await driver.connect()
        await driver.hold(294.0)
        twin.faults.add(Fault(FaultKind.SILENT, lasts_requests=FOR_EVER))
        with pytest.raises(InstrumentError, match=r"could not be made safe.*look after the device"):
            await driver.abort()
        assert not driver.safe
        assert driver.state is InstrumentState.FAULT
        twin.faults.clear()
        await driver.abort()
        assert twin.safe

    course(work)


def test_cancelling_leaves_the_heater_off() -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        await driver.connect()
        holding = asyncio.ensure_future(driver.hold(250.0))

        async def pace(lab_s: float) -> None:
            twin.clock.set_s(twin.clock.now_s + lab_s)
            if twin.clock.now_s > 100.0:
                holding.cancel()
                await asyncio.sleep(10.0)

        driver._pace = pace
        with pytest.raises(asyncio.CancelledError):
            await holding
        assert twin.safe
        assert driver.safe

    course(work)


def test_a_set_point_that_someone_else_moved_is_noticed() -> None:
    async def work(driver: LakeShore336, twin: Lakeshore336Twin) -> None:
        await driver.connect()

        async def pace(lab_s: float) -> None:
            twin.clock.set_s(twin.clock.now_s + lab_s)
            twin._loops[1].ramps = False
            twin._loops[1].set_target(300.0)

        driver._pace = pace
        with pytest.raises(InstrumentError, match="the set point is 300 K, not the 290 K"):
            await driver.hold(290.0)
        assert twin.safe

    course(work)


def test_another_device_is_not_taken_for_it() -> None:
    class Other(Lakeshore336Twin):
        idn = "LSCI,MODEL325,LSA1,1.0"

        def _vocabulary(self) -> Any:
            return super()._vocabulary() | {"*IDN?": lambda _: self.idn}

    class Celsius(Lakeshore336Twin):
        def _vocabulary(self) -> Any:
            return super()._vocabulary() | {"INTYPE?": lambda _: "1,0,0,1,2"}

    async def whole(kind: type[Lakeshore336Twin], message: str) -> None:
        twin = kind(clock=VirtualClock())
        driver = LakeShore336(await twin.start(), timeout_s=0.2)
        with pytest.raises(InstrumentError, match=message):
            await driver.connect()
        await driver.close()
        await twin.close()

    asyncio.run(whole(Other, "not a Lake Shore 336; check the address"))
    asyncio.run(whole(Celsius, "input A is not shown in kelvin"))


def test_it_measures_nothing_that_is_planned() -> None:
    async def work(driver: LakeShore336, _: Lakeshore336Twin) -> None:
        await driver.connect()
        assert driver.channel_units == {}
        with pytest.raises(ProposalError, match="not 'measure_resistance'"):
            await driver.prepare(InstrumentRequest(MeasureResistance(), "sample-1"))

    course(work)


@pytest.mark.parametrize(
    ("options", "message"),
    [("input=E", "no input"), ("output=5", "no output"), ("heater_range=0", "no heater range"),
     ("ramp_k_per_min=-1", "no number above 0"), ("tolerance_k=nan", "no number above 0"),
     ("colour=red", "no option colour")],
)  # fmt: skip
def test_wrong_options_are_refused(options: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        LakeShore336(f"lakeshore_336+tcp://127.0.0.1?{options}")


# ------------------------------------------------------------------------------- the twin by itself


def said(twin: Lakeshore336Twin, line: str) -> str | None:
    reply = asyncio.run(twin.answer(line.encode() + b"\n"))
    return None if reply is None else reply.decode().removesuffix("\r\n")


def test_the_twin_speaks_as_the_manual_has_it() -> None:
    twin = Lakeshore336Twin(clock=VirtualClock())
    assert said(twin, "*IDN?").split(",")[:2] == ["LSCI", "MODEL336"]
    assert said(twin, "setp 1,77.35;SETP? 1") == "+77.3500"
    assert said(twin, "RAMP 1,1,2.5;RAMP? 1;RAMPST? 1") == "1,+2.50000;0"
    assert said(twin, "SETP 1,80;RAMPST? 1") == "1"
    assert said(twin, "RANGE 1,3;RANGE? 1") == "3"
    assert said(twin, "PID 1,60,25,0;PID? 1") == "+60.0000,+25.0000,+0.00000"
    assert said(twin, "KRDG? 0").count(",") == 3
    assert said(twin, "RDGST? A;RDGST? C") == "000;129"
    assert said(twin, "KRDG? C") == "+0.00000"
    assert said(twin, "") is None


@pytest.mark.parametrize(
    ("line", "event"),
    [("NONSENSE", 32), ("SETP 1,600", 16), ("SETP 9,10", 16), ("RANGE 3,3", 16), ("RANGE 1", 16),
     ("KRDG? E", 16), ("RAMP 1,2,5", 16), ("SETP 1,nan", 16), ("HTRST? x", 16)],
)  # fmt: skip
def test_the_twin_says_why_it_refuses(line: str, event: int) -> None:
    twin = Lakeshore336Twin(clock=VirtualClock())
    said(twin, "*ESR?")
    assert said(twin, f"{line};*ESR?") == f"{event:03d}"
    assert said(twin, "*ESR?") == "000"


def test_the_stage_cools_to_the_head_and_a_low_range_cannot_hold_it_warm() -> None:
    twin = Lakeshore336Twin(clock=VirtualClock())
    twin.clock.set_s(6.0 * 3600.0)
    assert twin.stage_temperature_k() == pytest.approx(HEAD_K, abs=0.1)
    said(twin, "SETP 1,100;RANGE 1,1")
    twin.clock.set_s(20.0 * 3600.0)
    assert twin.stage_temperature_k() < 10.0
    said(twin, "RANGE 1,3")
    twin.clock.set_s(21.0 * 3600.0)
    assert twin.stage_temperature_k() == pytest.approx(100.0, abs=0.01)
    assert twin.state()["heater_range"] == 3
