"""A cryostat behind MultiPyVu's protocol: nothing is believed that is not so, and it ends safe."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from labenv_instruments.clock import VirtualClock
from labenv_instruments.drivers.cryostat import Cryostat
from labenv_instruments.drivers.multipyvu import MultiPyVuCryostat
from labenv_instruments.faults import FOR_EVER, WIRE_FAULTS, Fault, FaultKind, FaultPlan
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_instruments.limits import DeviceLimits
from labenv_instruments.sample_view import ResistanceSeen, Unknown
from labenv_instruments.still_sample import StillSample
from labenv_instruments.twins.multipyvu import MultiPyVuTwin
from labenv_instruments.wire.address import parse_address
from labenv_schemas.characterisation import MeasureResistance
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError
from labenv_schemas.measurement import ResistanceCurve, Unmeasured

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SHORT = MeasureResistance(temperature_min_k=280.0, temperature_max_k=300.0, step_k=2.0)
TIMEOUT_S = 0.15


class Superconductor(StillSample):
    """A bar with a transition at 92 K, and noise."""

    def resistance(self, run: MeasureResistance) -> ResistanceSeen:
        t = run.temperatures_k()
        noise = np.random.default_rng(3).standard_normal((2, t.size))
        ohm = 1e-5 * t / (1.0 + np.exp((92.0 - t) / 0.3)) * (1.0 + 2e-4 * noise[0])
        return ResistanceSeen(t + 0.02 * noise[1], ohm, 4e-3, 4e-6)


class Mystery(StillSample):
    """A bar of which nobody knows anything."""

    def resistance(self, run: MeasureResistance) -> Any:
        return Unknown("nobody knows its Tc, at all")


class Bench:
    """A driver and its twin, in virtual time."""

    def __init__(self, twin: MultiPyVuTwin, driver: MultiPyVuCryostat) -> None:
        self.twin, self.driver = twin, driver

    async def measure(self, run: MeasureResistance = SHORT, sample: Any = None) -> Any:
        sample = sample or StillSample("bar")
        self.twin.unload()
        self.twin.load(sample, {"operation": run})
        await self.driver.connect()
        await self.driver.prepare(InstrumentRequest(run, sample.sample_id))
        await self.driver.run()
        (measured,) = await self.driver.result()
        return measured


def course(
    work: Callable[[Bench], Awaitable[Any]],
    *faults: Fault,
    options: dict[str, str] | None = None,
    **settings: Any,
) -> Any:
    async def whole() -> Any:
        clock = VirtualClock()
        twin = MultiPyVuTwin(clock=clock, faults=FaultPlan(list(faults)), options=options)
        address = await twin.start()

        async def pace(lab_s: float) -> None:
            clock.set_s(clock.now_s + lab_s)
            await asyncio.sleep(0)

        settings.setdefault("pace", pace)
        driver = MultiPyVuCryostat(address, timeout_s=TIMEOUT_S, **settings)
        try:
            async with asyncio.timeout(20.0):
                return await work(Bench(twin, driver))
        finally:
            await driver.close()
            await twin.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(whole())


def test_the_server_is_known_by_its_flavor_and_says_that_it_simulates() -> None:
    async def work(bench: Bench) -> None:
        identity = await bench.driver.connect()
        assert (identity.model, identity.serial) == ("Quantum Design DYNACOOL", "MultiVu sim")
        assert identity.simulated
        assert await bench.driver.connect() == identity
        shown = await bench.driver.readings()
        assert shown["temperature"] == "300.000 K (Stable)"
        assert shown["field"] == "0.0000 T (Stable)"
        assert shown["chamber"] == "Purged and Sealed"

    course(work, options={"flavor": "DYNACOOL"})


def test_another_flavor_than_the_address_says_is_no_device_of_ours() -> None:
    async def work(bench: Bench) -> None:
        bench.twin.options["flavor"] = "MPMS3"
        with pytest.raises(InstrumentError, match="is a MPMS3, not a PPMS"):
            await bench.driver.connect()

    course(work, options={"flavor": "PPMS"})


def test_a_curve_is_that_of_the_cryostat_in_process() -> None:
    run = MeasureResistance(temperature_min_k=80.0, temperature_max_k=110.0)

    async def work(bench: Bench) -> ResistanceCurve:
        return await bench.measure(run, Superconductor("bar"))

    curve = course(work)
    (expected,) = Cryostat().perform(Superconductor("bar"), run)
    assert isinstance(curve, ResistanceCurve)
    assert isinstance(expected, ResistanceCurve)
    assert curve.sample_id == "bar"
    np.testing.assert_allclose(curve.temperature_k, expected.temperature_k, atol=5e-3)
    np.testing.assert_allclose(curve.resistance_ohm, expected.resistance_ohm, atol=3e-6)
    assert curve.contact_distance_m == pytest.approx(expected.contact_distance_m)
    assert curve.cross_section_m2 == pytest.approx(expected.cross_section_m2)
    assert curve.current_a == run.current_a
    assert curve.flags == ()


def test_what_nobody_knows_of_a_simulated_sample_is_unmeasured() -> None:
    async def work(bench: Bench) -> None:
        measured = await bench.measure(SHORT, Mystery("bar"))
        assert isinstance(measured, Unmeasured)
        assert measured.reason == "nobody knows its Tc, at all"
        assert bench.twin.safe

    course(work)


def test_a_field_is_set_read_back_and_taken_away() -> None:
    async def work(bench: Bench) -> None:
        fields = list[float]()
        show = bench.twin._show_object

        def watched(query: str) -> str:
            fields.append(bench.twin.magnet.value_oe(bench.twin.clock.now_s))
            return show(query)

        bench.twin._show_object = watched  # type: ignore[method-assign]
        run = SHORT.model_copy(update={"field_t": 2.0})
        curve = await bench.measure(run)
        assert curve.field_t == 2.0
        assert set(fields) == {2e4}
        assert bench.twin.magnet.value_oe(bench.twin.clock.now_s) == 0.0

    course(work)


def test_a_field_left_by_others_is_taken_away_before_a_run_without_one() -> None:
    async def work(bench: Bench) -> None:
        bench.twin.magnet.go_to(500.0, 100.0, True, 0.0)
        bench.twin.clock.set_s(100.0)
        await bench.measure()
        assert bench.twin.magnet.value_oe(bench.twin.clock.now_s) == 0.0

    course(work)


def test_an_old_stable_after_a_new_set_point_is_not_believed() -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        there = await bench.driver.go_to_temperature(50.0)
        assert there.value == pytest.approx(50.0, abs=0.01)
        assert bench.twin.clock.now_s > 25 * 60.0

    course(work)


def test_readings_that_stay_where_they_were_end_in_an_error_in_bounded_time() -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        with pytest.raises(InstrumentError, match=r"is at 300 K and says 'Stable' \d+ s after"):
            await bench.driver.go_to_temperature(250.0)
        assert bench.twin.clock.now_s < 2 * 5 * 60.0 + 1900.0

    course(work, Fault(FaultKind.STALE_READING, 3, FOR_EVER))


def test_a_pot_being_filled_is_no_end_and_no_fault() -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        states = iter(["Pot Operation", "Chasing", "Near"])
        show = bench.twin.temperature.state
        twin = bench.twin.temperature
        real = type(twin).state

        def filling(control: Any, now_s: float) -> str:
            return next(states, show(now_s)) if now_s > 200.0 else real(control, now_s)

        type(twin).state = filling  # type: ignore[method-assign]
        try:
            there = await bench.driver.go_to_temperature(290.0)
        finally:
            type(twin).state = real  # type: ignore[method-assign]
        assert there.state == "Stable"

    course(work)


@pytest.mark.parametrize("state", ["Standby", "Diagnostic", "General Failure", "Purple"])
def test_states_that_are_no_rest_are_errors(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        monkeypatch.setattr(type(bench.twin.temperature), "state", lambda *_: state)
        with pytest.raises(InstrumentError, match=f"reports '{state}'"):
            await bench.driver.go_to_temperature(290.0)

    course(work)


@pytest.mark.parametrize("state", ["Quenching", "PSU Error", "Current Error"])
def test_faults_of_the_magnet_are_errors(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        monkeypatch.setattr(type(bench.twin.magnet), "state", lambda *_: state)
        with pytest.raises(InstrumentError, match=f"reports '{state}'"):
            await bench.driver.go_to_field(1.0)

    course(work)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"temperature_min": "1 K"}, "1.8 K to 400 K"),
        ({"temperature_max": "500 K"}, "1.8 K to 400 K"),
        ({"field": "12 T"}, "9 T"),
        ({"current": "20 mA"}, "8 mA"),
        ({"current": "1 nA"}, "0.01 uA"),
    ],
)
def test_what_no_cryostat_does_is_refused_before_anything_is_sent(
    run: dict[str, Any], said: str
) -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        before = bench.twin.faults.requests
        request = InstrumentRequest(MeasureResistance.model_validate(run), "bar")
        with pytest.raises(ProposalError, match=said):
            await bench.driver.prepare(request)
        assert bench.twin.faults.requests == before

    course(work)


def test_a_model_s_own_range_and_the_lab_s_hold_too() -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        before = bench.twin.faults.requests
        for run, said in (({"temperature_min": "4 K"}, "50 K"), ({"field": "4 T"}, "1 T")):
            warm = {"temperature_min": "60 K", **run}
            request = InstrumentRequest(MeasureResistance.model_validate(warm), "bar")
            with pytest.raises(ProposalError, match=said):
                await bench.driver.prepare(request)
        for target_k in (4.0, 2000.0, -1.0, float("nan")):
            with pytest.raises(ProposalError, match="not to"):
                await bench.driver.go_to_temperature(target_k)
        for target_t in (2.0, 1e6, float("nan")):
            with pytest.raises(ProposalError, match="not to"):
                await bench.driver.go_to_field(target_t)
        assert bench.twin.faults.requests == before

    limits = DeviceLimits.model_validate({"max_field": "1 T"})
    course(work, options={"flavor": "VERSALAB"}, limits=limits)


def test_a_ramp_that_the_lab_forbids_is_a_wrong_address() -> None:
    async def work(bench: Bench) -> None:
        with pytest.raises(ConfigError, match="rate=2"):
            await bench.measure()

    course(work, limits=DeviceLimits.model_validate({"max_ramp": "2 K/min"}))


@pytest.mark.parametrize(
    "options",
    ["rate=30", "rate=0.001", "rate=fast", "bridge=4", "bridge=1.5", "flavor=OPTICOOL", "unit=1"],
)
def test_wrong_options_are_refused(options: str) -> None:
    with pytest.raises(ConfigError):
        MultiPyVuCryostat(f"multipyvu+tcp://127.0.0.1?{options}")


def test_the_usual_port_is_multipyvu_s() -> None:
    assert MultiPyVuCryostat("multipyvu+tcp://127.0.0.1").port == 27183


# ------------------------------------------------------------------------------- faults


@pytest.mark.parametrize("kind", sorted(WIRE_FAULTS | {FaultKind.BUSY}))
@pytest.mark.parametrize("at", [1, 7, 12])
def test_a_reply_disturbed_once_is_got_over(kind: FaultKind, at: int) -> None:
    async def work(bench: Bench) -> None:
        curve = await bench.measure()
        assert bench.twin.faults.fired
        np.testing.assert_allclose(curve.temperature_k, SHORT.temperatures_k(), atol=5e-3)
        np.testing.assert_allclose(curve.resistance_ohm, 1e-5 * curve.temperature_k, rtol=1e-4)

    course(work, Fault(kind, at, delay_s=0.25))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (FaultKind.SILENT, "did not answer"),
        (FaultKind.BUSY, "confirmed but did not complete"),
        (FaultKind.DROPPED, "closed the connection"),
        (FaultKind.GARBLED, "what is no reply"),
        (FaultKind.SENSOR_BREAK, "reports '(Diagnostic|Impedance Control Error|General Failure)'"),
        (FaultKind.WRONG_UNIT, "in 'C', not in K"),
        (FaultKind.DOOR_OPEN, "chamber is 'Flooding Continuously'"),
        (FaultKind.LOST_SAMPLE, "drives 0 uA, not 1000 uA; is the sample there"),
        (FaultKind.OVERRANGE, "overloaded"),
        (FaultKind.STALE_READING, "300 K and says 'Stable'"),
    ],
)
def test_faults_that_last_are_said_and_the_next_run_is_right(kind: FaultKind, said: str) -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        begin = 9 if kind is not FaultKind.DOOR_OPEN else 3
        bench.twin.faults.add(Fault(kind, begin, FOR_EVER))
        with pytest.raises(InstrumentError, match=said):
            await bench.measure()
        bench.twin.faults.clear()
        await bench.driver.abort()
        assert bench.twin.safe
        assert bench.driver.safe
        curve = await bench.measure(SHORT, StillSample("next"))
        assert curve.sample_id == "next"
        np.testing.assert_allclose(curve.temperature_k, SHORT.temperatures_k(), atol=5e-3)

    course(work)


def test_an_empty_cryostat_drives_no_current() -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        await bench.driver.prepare(InstrumentRequest(SHORT, "bar"))
        with pytest.raises(InstrumentError, match="drives 0 uA"):
            await bench.driver.run()
        assert bench.twin.safe

    course(work)


def test_late_replies_are_counted_and_taken_for_no_other() -> None:
    async def work(bench: Bench) -> None:
        curve = await bench.measure()
        np.testing.assert_allclose(curve.temperature_k, SHORT.temperatures_k(), atol=5e-3)
        assert bench.driver._client.strays + bench.driver._client._connection.late > 0
        assert bench.driver._client._connection.opened == 1  # the session was not given up

    course(work, Fault(FaultKind.LATE_REPLY, 1, delay_s=0.25))


def test_cancelling_stops_the_current_sends_the_field_home_and_holds_the_temperature() -> None:
    async def work(bench: Bench) -> None:
        run = SHORT.model_copy(update={"field_t": 1.0})
        bench.twin.load(StillSample("bar"), {"operation": run})
        await bench.driver.connect()
        await bench.driver.prepare(InstrumentRequest(run, "bar"))
        reading = asyncio.Event()
        show = bench.twin._show_object

        def watched(query: str) -> str:
            reading.set()
            return show(query)

        bench.twin._show_object = watched  # type: ignore[method-assign]
        task = asyncio.ensure_future(bench.driver.run())
        await reading.wait()
        assert not bench.twin.safe
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert bench.twin.safe
        now_s = bench.twin.clock.now_s
        assert bench.twin.magnet.target_oe == 0.0
        assert bench.twin.magnet.value_oe(now_s) > 0.0  # at its rate, not at once
        assert bench.twin.temperature.target_k == pytest.approx(
            bench.twin.temperature.value_k(now_s), abs=0.1
        )
        assert bench.driver.state is InstrumentState.IDLE
        assert bench.driver._client._connection.opened == 1

    course(work)


def test_a_bridge_that_does_not_switch_off_is_not_safe() -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        bench.twin.bridges.write("node: 21  index: 0x6001  sub_index: 0x3  type: ushort_t,1")
        bench.twin.bridges.write = lambda _: True  # type: ignore[method-assign]
        with pytest.raises(InstrumentError, match="bridge 1 does not switch off; look after"):
            await bench.driver.abort()
        assert bench.twin.temperature.target_k == 300.0
        assert not bench.twin.safe

    course(work)


# ------------------------------------------------------------------------------- one client


def test_a_second_client_is_turned_away_and_the_first_goes_on() -> None:
    async def work(bench: Bench) -> None:
        await bench.driver.connect()
        second = MultiPyVuCryostat(parse_address(bench.twin.address), timeout_s=TIMEOUT_S)
        with pytest.raises(InstrumentError, match="another client is connected"):
            await second.connect()
        await second.close()
        assert (await bench.driver.readings())["chamber"] == "Purged and Sealed"
        await bench.driver.close()
        await second.connect()
        await second.close()

    course(work)


def test_a_device_that_is_not_there_is_an_error_in_bounded_time() -> None:
    async def work(bench: Bench) -> None:
        await bench.twin.close()
        with pytest.raises(InstrumentError, match="cannot be reached"):
            await bench.driver.connect()

    course(work)
