"""Both current sources measure a bar's resistance against temperature, or say why not, safely."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from labenv_instruments.clock import VirtualClock, WallClock
from labenv_instruments.drivers import load_driver
from labenv_instruments.faults import FOR_EVER, WIRE_FAULTS, Fault, FaultKind, FaultPlan
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_instruments.limits import DeviceLimits
from labenv_instruments.sample_view import ResistanceSeen, Unknown
from labenv_instruments.testing import StillSample
from labenv_instruments.twins import load_twin
from labenv_instruments.twins.lakeshore_336 import Lakeshore336Twin
from labenv_schemas.characterisation import MeasureResistance
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError
from labenv_schemas.measurement import ResistanceCurve, Unmeasured

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from labenv_instruments.drivers._resistance_run import ResistanceRun

NAMES = ("keithley_6221", "keithley_2400")
SHORT = {
    "temperature_min": "280 K",
    "temperature_max": "284 K",
    "step": "1 K",
    "fine_below": "300 K",
}


@pytest.fixture(autouse=True)
def _no_time_for_a_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """In virtual time a reading takes none of the wall's."""
    monkeypatch.setattr("labenv_instruments.drivers.keithley_2400._READING_S", 0.0)


class Bar(StillSample):
    """A bar of a given resistance; remembers what it was asked."""

    def __init__(self, ohm_per_k: float = 1e-2, unknown: bool = False) -> None:
        super().__init__()
        self.ohm_per_k, self.unknown = ohm_per_k, unknown
        self.plans: list[MeasureResistance] = []

    def resistance(self, run: MeasureResistance) -> ResistanceSeen | Unknown:
        self.plans.append(run)
        if self.unknown:
            return Unknown("nobody knows")
        t = run.temperatures_k()
        return ResistanceSeen(t, self.ohm_per_k * t, 4e-3, 4e-6)


class Bench:
    """Source and controller in one virtual time, with a bar between them."""

    def __init__(
        self, name: str, faults: tuple[Fault, ...] = (), speed: float | None = None
    ) -> None:
        self.name = name
        self.clock = VirtualClock() if speed is None else WallClock(speed)
        self.cold = Lakeshore336Twin(clock=self.clock)
        self.source: Any = load_twin(name)(clock=self.clock, faults=FaultPlan(list(faults)), seed=3)
        self.source.thermometer = self.cold
        self.bar = Bar()
        self.on_pace: Callable[[], Awaitable[None]] | None = None
        self.unsafe_while_pacing = 0

    async def pace(self, lab_s: float) -> None:
        self.clock.set_s(self.clock.now_s + lab_s)
        self.unsafe_while_pacing += not self.source.safe
        if self.on_pace is not None:
            await self.on_pace()

    async def start(self) -> None:
        place = (await self.cold.start()).split("//")[1]
        self.source.options = {"thermometer": place}
        await self.source.start()

    def driver(self, more: str = "", **options: Any) -> ResistanceRun:
        kind: Any = load_driver(self.name)
        return kind(self.source.address + more, pace=self.pace, timeout_s=0.05, **options)

    def request(self, plan: dict[str, Any] | None = None) -> InstrumentRequest:
        operation = MeasureResistance.model_validate(plan or SHORT)
        self.source.unload()
        self.source.load(self.bar, {"operation": operation})
        return InstrumentRequest(operation, self.bar.sample_id)

    async def measure(self, driver: ResistanceRun, plan: dict[str, Any] | None = None) -> Any:
        await driver.connect()
        await driver.prepare(self.request(plan))
        await driver.run()
        return (await driver.result())[0]


def course(
    name: str,
    work: Callable[[Bench, ResistanceRun], Awaitable[Any]],
    *faults: Fault,
    more: str = "",
    **options: Any,
) -> Any:
    async def whole() -> Any:
        bench = Bench(name, faults)
        await bench.start()
        driver = bench.driver(more, **options)
        try:
            async with asyncio.timeout(30.0):
                return await work(bench, driver)
        finally:
            await driver.close()
            await driver.close()
            await bench.source.close()
            await bench.cold.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(whole())


# ------------------------------------------------------------------------------- what is measured


@pytest.mark.parametrize("name", NAMES)
def test_a_bar_is_measured_at_each_temperature(name: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        curve = await bench.measure(driver)
        assert isinstance(curve, ResistanceCurve)
        plan = bench.bar.plans[0]
        assert np.abs(curve.temperature_k - plan.temperatures_k()).max() < 0.15
        # Ten readings would have to be off by 5 times the meter's own noise.
        expected = 1e-2 * curve.temperature_k
        allowed = {"keithley_6221": 2e-3, "keithley_2400": 6e-3}[name]
        np.testing.assert_allclose(curve.resistance_ohm, expected, atol=allowed)
        assert curve.current_a == 1e-3
        assert curve.field_t == 0.0
        assert curve.sample_id == "sample-1"
        assert curve.contact_distance_m is None
        assert bench.source.safe
        assert bench.cold.safe
        assert driver.safe
        assert driver.state is InstrumentState.IDLE
        assert len(bench.bar.plans) == 1
        assert set(driver.channel_units) >= {"temperature_k", "resistance_ohm"}

    course(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_the_bars_size_comes_from_the_address(name: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        curve = await bench.measure(driver)
        assert curve.contact_distance_m == pytest.approx(4e-3)
        assert curve.cross_section_m2 == pytest.approx(5e-6)

    course(name, work, more="&contact_distance_mm=4&cross_section_mm2=5")


def test_delta_mode_sees_microohms_where_a_plain_reading_sees_thermal_voltages() -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        bench.bar = Bar(ohm_per_k=1e-7)  # 28 µΩ: 28 nV at 1 mA
        curve = await bench.measure(driver)
        np.testing.assert_allclose(curve.resistance_ohm, 28e-6, atol=25e-6)
        twin = bench.source
        twin.execute('SYST:COMM:SER:SEND "VOLT:RANG 0.01";:SOUR:CURR 1e-3;:OUTP ON')
        twin.execute('SYST:COMM:SER:SEND "READ?"')
        plain_ohm = float(twin.execute("SYST:COMM:SER:ENT?")) / 1e-3
        assert abs(plain_ohm - 28e-6) > 20.0 * np.abs(curve.resistance_ohm - 28e-6).mean()
        twin.execute(":OUTP OFF")

    course("keithley_6221", work)


def test_four_wires_take_the_leads_away_and_reversal_the_thermal_voltages() -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        curve = await bench.measure(driver)
        twin, clock = bench.source, bench.clock
        twin.thermometer = lambda: 282.0

        async def plain(current_a: float, four_wire: int) -> float:
            twin.execute(f":SOUR:CURR {current_a};:OUTP ON;:SYST:RSEN {four_wire}")
            volt, ampere, ohm, _, status = (
                float(x) for x in (await twin.answer(b":READ?\n")).split(b",")
            )
            assert ohm == pytest.approx(volt / ampere, rel=1e-4)
            assert bool(int(status) & 4194304) == bool(four_wire)
            return ohm

        assert clock.now_s > 0.0
        true_ohm = twin.circuit.sample_ohm()
        leads = await plain(1e-2, 0) - await plain(1e-2, 1)
        assert leads == pytest.approx(2.0 * twin.circuit.lead_ohm, abs=1e-3)
        up, down = await plain(1e-3, 1), await plain(-1e-3, 1)
        emf_v = 0.5 * (up - down) * 1e-3
        assert abs(emf_v - twin.circuit.thermal_voltage_v(clock.now_s)) < 3e-6
        assert abs(0.5 * (up + down) - true_ohm) < 3e-3
        assert np.abs(curve.resistance_ohm - 1e-2 * curve.temperature_k).max() < 6e-3
        twin.execute(":OUTP OFF")

    course("keithley_2400", work)


@pytest.mark.parametrize("name", NAMES)
def test_a_large_thermal_voltage_does_not_matter(name: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        bench.source.circuit._emf_v = 5e-5
        curve = await bench.measure(driver)
        error_ohm = curve.resistance_ohm - 1e-2 * curve.temperature_k
        assert np.abs(error_ohm).max() < 0.2 * 5e-5 / 1e-3

    course(name, work)


def test_noise_falls_with_the_integration_time() -> None:
    async def spread(nplc: float) -> float:
        twin: Any = load_twin("keithley_2400")(clock=VirtualClock(), seed=1)
        twin.load(Bar(), {})
        twin.execute(
            f":SOUR:FUNC CURR;:SOUR:CURR 1e-3;:SENS:VOLT:NPLC {nplc};:SYST:RSEN 1;:OUTP ON"
        )
        read = [float((await twin.answer(b"READ?\n")).split(b",")[0]) for _ in range(60)]
        return float(np.std(np.diff(read)))

    assert asyncio.run(spread(0.01)) > 5.0 * asyncio.run(spread(10.0))


def test_the_voltmeters_range_follows_the_bar() -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        for ohm_per_k in (1.0, 20.0, 1e-3):
            bench.bar = Bar(ohm_per_k)
            curve = await bench.measure(driver)
            expected = ohm_per_k * curve.temperature_k
            np.testing.assert_allclose(curve.resistance_ohm, expected, rtol=1e-2)

    course("keithley_6221", work)


@pytest.mark.parametrize("name", NAMES)
def test_readings_in_compliance_are_left_out_and_said_to_be(name: str) -> None:
    class Insulator(Bar):
        def resistance(self, run: MeasureResistance) -> ResistanceSeen:
            t = run.temperatures_k()
            return ResistanceSeen(t, np.where(t < 281.5, 1e6, 100.0), 4e-3, 4e-6)

    async def work(bench: Bench, driver: ResistanceRun) -> None:
        bench.bar = Insulator()
        curve = await bench.measure(driver)
        assert curve.temperature_k.size == 2
        assert curve.resistance_ohm[1] == pytest.approx(100.0, rel=1e-2)
        (flag,) = curve.flags
        assert flag.code == "compliance"
        assert "2 of 4 readings were left out" in flag.message
        assert "1e+04 ohm" in flag.message

    course(name, work)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["unknown", "lost"])
def test_open_contacts_are_no_number(name: str, how: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        bench.bar = Bar(unknown=how == "unknown")
        found = await bench.measure(driver)
        assert isinstance(found, Unmeasured)
        assert "the contacts are open, or the bar has more than 1e+04 ohm" in found.reason
        assert bench.source.safe
        assert bench.cold.safe

    faults = [Fault(FaultKind.LOST_SAMPLE, lasts_requests=FOR_EVER)] if how == "lost" else []
    course(name, work, *faults)


@pytest.mark.parametrize("name", NAMES)
def test_no_current_flows_on_the_way_to_the_next_temperature(name: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await bench.measure(driver)
        assert bench.unsafe_while_pacing <= {"keithley_6221": 2 * 4, "keithley_2400": 0}[name]

    course(name, work)


# ------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"current": "2 A"}, "the source gives 1e-09 A to .* A, not 2 A"),
        ({"current": "0.1 nA"}, "the source gives 1e-09 A"),
        ({"field": "1 T"}, "there is no magnet"),
        ({"temperature_min": "600 K", "temperature_max": "700 K"}, "goes from 0.3 K to 500 K"),
        ({"current": "50 mA"}, "limited to a current of 0.01 A in this lab"),
        ({"temperature_min": "2 K"}, "limited to temperatures of 4 K and more"),
    ],
)
def test_what_lies_out_of_range_is_refused_before_anything_moves(
    name: str, plan: dict[str, Any], message: str
) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await driver.connect()
        before = bench.source.faults.requests, bench.cold.faults.requests
        with pytest.raises(ProposalError, match=message):
            await driver.prepare(bench.request(SHORT | plan))
        assert (bench.source.faults.requests, bench.cold.faults.requests) == before
        assert driver.state is InstrumentState.IDLE

    limits = DeviceLimits.model_validate({"max_current": "10 mA", "min_temperature": "4 K"})
    course(name, work, limits=limits)


@pytest.mark.parametrize("name", NAMES)
def test_a_source_that_shows_another_current_than_it_was_told_is_refused(name: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        key = {"keithley_6221": "delta_high", "keithley_2400": "voltage_protection"}[name]
        await driver.connect()
        bench.source.setting = lambda asked: 1.0 if asked == key else bench.source.values[asked]
        with pytest.raises(InstrumentError, match="after being told"):
            await driver.prepare(bench.request())
        assert bench.source.safe

    course(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_the_labs_lower_voltage_is_the_compliance(name: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await driver.connect()
        await driver.prepare(bench.request())
        key = {"keithley_6221": "compliance", "keithley_2400": "voltage_protection"}[name]
        assert bench.source.values[key] == 2.0

    course(name, work, limits=DeviceLimits.model_validate({"max_voltage": "2 V"}))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("options", "message"),
    [("", "names no Lake Shore 336"), ("?thermometer=host", "names no Lake Shore 336"),
     ("?thermometer=host:0", "names no Lake Shore 336"),
     ("?thermometer=h:1&compliance_v=300", "beyond the source's"),
     ("?thermometer=h:1&contact_distance_mm=0", "no number above 0"),
     ("?thermometer=h:1&thermometer_input=Z", "no input"), ("?volt=1", "no option volt")],
)  # fmt: skip
def test_wrong_options_are_refused(name: str, options: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_driver(name)(f"{name}+tcp://127.0.0.1:9{options}")  # type: ignore[call-arg]


def test_a_source_without_its_voltmeter_is_refused() -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        bench.source.voltmeter_present = False
        with pytest.raises(InstrumentError, match="finds no 2182A at its serial port"):
            await driver.connect()

    course("keithley_6221", work)


@pytest.mark.parametrize("name", NAMES)
def test_another_device_is_not_taken_for_it(name: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        bench.source.maker_and_model = "KEITHLEY INSTRUMENTS INC.,MODEL 7510"
        with pytest.raises(InstrumentError, match=r"not a Keithley .*check the address"):
            await driver.connect()

    course(name, work)


# ------------------------------------------------------------------------------- what goes wrong

LASTING = {
    FaultKind.OVERRANGE: "overflows",
    FaultKind.WRONG_UNIT: "in volts|that belong together",
    FaultKind.STALE_READING: "did not measure",
    FaultKind.BUSY: "did not answer",
    FaultKind.SILENT: "did not answer",
    FaultKind.GARBLED: "not with text",
    FaultKind.DROPPED: "(closed|lost) the connection",
    FaultKind.STALE_REPLY: "belongs to another question",
    FaultKind.LATE_REPLY: "did not answer",
}


@pytest.mark.parametrize("name", NAMES)
def test_every_fault_is_tried(name: str) -> None:
    known = load_twin(name).known_faults | WIRE_FAULTS
    assert set(LASTING) == known - {FaultKind.SPLIT_REPLY, FaultKind.LOST_SAMPLE}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", sorted(LASTING))
def test_a_lasting_fault_ends_in_words_and_with_everything_off(name: str, kind: FaultKind) -> None:
    on_the_wire = kind in WIRE_FAULTS | {FaultKind.BUSY}

    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await driver.connect()
        await driver.prepare(bench.request())
        bench.source.faults.add(Fault(kind, 41, lasts_requests=FOR_EVER, delay_s=0.1))
        began = time.monotonic()
        with pytest.raises(InstrumentError, match=LASTING[kind]):
            await driver.run()
        assert time.monotonic() - began < 8.0
        assert bench.source.faults.fired
        assert driver.state is InstrumentState.FAULT
        assert bench.cold.safe
        assert driver.safe is not on_the_wire  # a device that cannot be asked is not known to be
        bench.source.faults.clear()
        await driver.abort()
        assert bench.source.safe
        assert driver.safe
        assert isinstance(await bench.measure(driver), ResistanceCurve)

    course(name, work)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", sorted(WIRE_FAULTS | {FaultKind.BUSY}))
@pytest.mark.parametrize("after", [4, 33, 58])
def test_a_passing_fault_of_the_wire_leaves_everything_off(
    name: str, kind: FaultKind, after: int
) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await driver.connect()
        await driver.prepare(bench.request())
        bench.source.faults.add(Fault(kind, after, lasts_requests=2, delay_s=0.07))
        try:
            await driver.run()
        except InstrumentError:
            assert driver.state is InstrumentState.FAULT
        else:
            (curve,) = await driver.result()
            np.testing.assert_allclose(curve.resistance_ohm, 1e-2 * curve.temperature_k, atol=6e-3)
        assert bench.source.faults.fired
        assert bench.source.safe
        assert bench.cold.safe
        assert driver.safe

    course(name, work)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [FaultKind.SENSOR_BREAK, FaultKind.STUCK_HEATER])
def test_a_fault_of_the_stage_turns_the_current_off_too(name: str, kind: FaultKind) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await driver.connect()
        await driver.prepare(bench.request())
        bench.cold.faults.add(Fault(kind, 60, lasts_requests=FOR_EVER))
        with pytest.raises(InstrumentError, match=r"lakeshore_336 at .*(sensor|heater)"):
            await driver.run()
        assert bench.source.safe
        assert bench.cold.safe

    course(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_seeded_faults_of_the_wire_lose_nothing_and_attribute_nothing_wrongly(name: str) -> None:
    kinds = WIRE_FAULTS | load_twin(name).known_faults
    outcomes: list[str] = []

    async def work(bench: Bench, driver: ResistanceRun, seed: int) -> None:
        await driver.connect()
        await driver.prepare(bench.request())
        drawn = FaultPlan.random(seed, kinds, 2, 120).faults
        bench.source.faults.faults += [
            Fault(f.kind, bench.source.faults.requests + f.after_requests, delay_s=0.08)
            for f in drawn
        ]
        try:
            await driver.run()
        except InstrumentError:
            outcomes.append("failed")
            assert driver.state is InstrumentState.FAULT
        else:
            (found,) = await driver.result()
            if isinstance(found, ResistanceCurve):
                outcomes.append("measured")
                np.testing.assert_allclose(
                    found.resistance_ohm, 1e-2 * found.temperature_k, atol=1e-2
                )
        assert bench.source.safe
        assert bench.cold.safe

    for seed in range(8):
        course(name, lambda bench, driver, seed=seed: work(bench, driver, seed))
    assert set(outcomes) == {"failed", "measured"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pauses", [1, 12, 25])
def test_cancelling_turns_everything_off(name: str, pauses: int) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await driver.connect()
        await driver.prepare(bench.request())
        running = asyncio.ensure_future(driver.run())
        left = pauses

        async def cancel() -> None:
            nonlocal left
            left -= 1
            if left == 0:
                running.cancel()
                await asyncio.sleep(10.0)

        bench.on_pace = cancel
        with pytest.raises(asyncio.CancelledError):
            await running
        assert driver.state is InstrumentState.IDLE
        assert bench.source.safe
        assert bench.cold.safe
        bench.on_pace = None
        assert isinstance(await bench.measure(driver), ResistanceCurve)

    course(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_making_safe_does_not_give_up_at_the_first_silence(name: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await driver.connect()
        await driver.prepare(bench.request())
        bench.source.faults.add(Fault(FaultKind.SILENT, 0, lasts_requests=4))
        await driver.abort()
        assert driver.safe
        assert bench.source.safe

    course(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_one_device_that_cannot_be_told_does_not_keep_the_other_on(name: str) -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await driver.connect()
        await driver.prepare(bench.request())
        bench.source.faults.add(Fault(FaultKind.SILENT, 0, lasts_requests=FOR_EVER))
        with pytest.raises(InstrumentError):
            await driver.run()
        assert not driver.safe
        assert bench.cold.safe
        with pytest.raises(InstrumentError, match="could not be made safe"):
            await driver.abort()
        bench.source.faults.clear()
        await driver.abort()
        assert driver.safe

    course(name, work)


def test_a_source_that_dies_between_arming_and_reading_is_aborted() -> None:
    async def work(bench: Bench, driver: ResistanceRun) -> None:
        await driver.connect()
        await driver.prepare(bench.request())

        async def die() -> None:
            if bench.source._running:
                bench.source._abort()
                bench.source.report(-241)

        bench.on_pace = die
        with pytest.raises(InstrumentError, match="stopped: -241 Hardware missing"):
            await driver.run()
        assert bench.source.safe

    course("keithley_6221", work)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_driver_measures_on_the_wall_clock(name: str) -> None:
    async def whole() -> None:
        bench = Bench(name, speed=3000.0)
        await bench.start()
        driver = load_driver(name)(  # type: ignore[call-arg]
            bench.source.address, timeout_s=1.0, pace=lambda s: asyncio.sleep(s / 3000.0)
        )
        await driver.connect()
        await driver.prepare(bench.request())
        await driver.run()
        (curve,) = await driver.result()
        assert curve.resistance_ohm[0] == pytest.approx(2.8, rel=1e-2)  # type: ignore[union-attr]
        await driver.close()
        await bench.source.close()
        await bench.cold.close()

    asyncio.run(whole())
