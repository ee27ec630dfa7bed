"""The balance weighs, doses, notices every wrong dose, and ends still whatever goes wrong."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pytest

from labenv_instruments.clock import VirtualClock, WallClock
from labenv_instruments.drivers.mt_sics import MettlerBalance
from labenv_instruments.faults import FOR_EVER, HARMLESS, WIRE_FAULTS, Fault, FaultKind
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_instruments.still_sample import StillSample
from labenv_instruments.twins import load_twin
from labenv_instruments.twins.mt_sics import MettlerBalanceTwin
from labenv_schemas.characterisation import Weigh
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError
from labenv_schemas.proposal import Dose, PrecursorDose

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from labenv_schemas.measurement import MassReading

    Work = Callable[[MettlerBalance, MettlerBalanceTwin], Awaitable[Any]]


class Vial(StillSample):
    """A sample that keeps what fell into it; the balance reads what fell."""

    def __init__(self, sample_id: str = "sample-1", **rest: Any) -> None:
        super().__init__(sample_id, **rest)
        self.fallen: list[tuple[str, float]] = []

    def dispense(self, dose: Dose) -> dict[str, float]:
        assert len(dose.precursors) == 1
        shown = super().dispense(dose)
        self.fallen += shown.items()
        return shown

    def total_kg(self, substance: str) -> float:
        return sum(kg for name, kg in self.fallen if name == substance)


class HeavierVial(Vial):
    """One that weighs twice as much."""

    def weigh(self, weigh: Weigh) -> tuple[float, float]:
        mass_kg, spread_kg = super().weigh(weigh)
        return mass_kg + 1e-3, spread_kg


DOSE = Dose(
    precursors=(
        PrecursorDose(substance="BaCO3", mass="250 mg"),
        PrecursorDose(substance="TiO2 (anatase)", mass="101.237 mg"),
    )
)
EMPTY = {"empty": True, "container_kg": 0.0125}


def course(work: Work, *, options: str = "", timeout_s: float = 0.2, seed: int = 0) -> Any:
    async def whole() -> Any:
        given = dict(parse_qsl(options))
        twin = MettlerBalanceTwin(clock=VirtualClock(), seed=seed, options=given)
        address = await twin.start()

        async def pace(lab_s: float) -> None:
            twin.clock.set_s(twin.clock.now_s + lab_s)
            await asyncio.sleep(0)

        driver = MettlerBalance(address, pace=pace, timeout_s=timeout_s, stamps=False)
        try:
            async with asyncio.timeout(20.0):
                await driver.connect()
                return await work(driver, twin)
        finally:
            await driver.close()
            await twin.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(whole())


async def measure(driver: MettlerBalance, operation: Dose | Weigh) -> tuple[MassReading, ...]:
    await driver.prepare(InstrumentRequest(operation, "sample-1", finishes_s=42.0))
    await driver.run()
    return await driver.result()  # type: ignore[return-value]


# ---------------------------------------------------------------------------- identity and weighing


def test_it_says_what_it_is() -> None:
    async def work(driver: MettlerBalance, _: MettlerBalanceTwin) -> None:
        identity = driver.identity
        assert identity is not None
        assert identity.serial == "B000000001"
        assert "XPE206" in identity.model
        assert identity.simulated
        assert (await driver.connect()) == identity

    assert load_twin("mt_sics") is MettlerBalanceTwin
    course(work)


def test_a_sample_is_weighed_without_its_crucible() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        sample = Vial()
        twin.load(sample)
        (reading,) = await measure(driver, Weigh(repeats=4))
        assert reading.mass_kg == pytest.approx(1e-3, abs=2e-8)
        assert reading.standard_uncertainty_kg == pytest.approx(0.05e-6)
        assert reading.sample_id == "sample-1"
        assert reading.lab_time_s == 42.0
        assert sample.done == ["weigh"]
        assert "g, stable" in (await driver.readings())["net weight"]

    course(work, options="container_g=15.25")
    course(work)


def test_repeats_are_told_to_the_sample_where_the_robot_knows_them() -> None:
    seen: list[int] = []

    class Listening(Vial):
        def weigh(self, weigh: Weigh) -> tuple[float, float]:
            seen.append(weigh.repeats)
            return super().weigh(weigh)

    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.load(Listening(), {"weigh": Weigh(repeats=7)})
        await measure(driver, Weigh(repeats=7))

    course(work)
    assert seen == [7]


def test_a_load_takes_a_second_or_so_to_settle() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.clock.set_s(100.0)
        twin.load(Vial(), EMPTY)
        client = driver._client
        first = await client.weight("SI")
        assert first is not None
        assert not first.stable
        assert 1.0 < twin.cell.settles_at_s() - 100.0 < 3.0
        second = await client.weight("S")  # waits for it
        assert second is not None
        assert second.stable
        assert second.kg == pytest.approx(0.0125, abs=2e-8)

    course(work)


def test_drift_is_felt_within_hours_not_seconds() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.load(Vial(), EMPTY)
        before = twin.cell.gross_kg(10.0)
        assert abs(twin.cell.gross_kg(70.0) - before) < 2e-8
        assert abs(twin.cell.gross_kg(1e6) - before) > 1e-8

    course(work, seed=3)


@pytest.mark.parametrize(
    ("reply", "kg"),
    [("S S      0.01 g", 1e-5), ("S S 12.5 mg", 1.25e-5), ("S D -1 kg", -1.0)],
)
def test_units_are_converted(reply: str, kg: float) -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        say(twin, reply)
        weight = await driver._client.weight("SI")
        assert weight is not None
        assert weight.kg == pytest.approx(kg)

    course(work)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("S S 1.0 lb", "set its host unit to g"),
        ("S +", "overloaded"),
        ("S -", "underloaded"),
        ("S L", "no answer to it"),
        ("S S nan g", "no answer to it"),
        ("S S 1e5 g", "no answer to it"),
        ("T S 1.0 g", "no answer to it"),
        ("S S Error 10b", "no answer to it"),
        ("ES", "does not know"),
        ("ET", "damaged"),
        ("EL", "cannot carry out"),
    ],
)
def test_what_is_no_weight_is_an_error(reply: str, says: str) -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        say(twin, reply)
        with pytest.raises(InstrumentError, match=says):
            await driver._client.weight("SI")

    course(work)


def say(twin: MettlerBalanceTwin, reply: str) -> None:
    """Let the twin answer one thing to everything."""

    async def answer(_: bytes) -> bytes:
        return reply.encode() + b"\r\n"

    twin.answer = answer  # type: ignore[method-assign]


# ---------------------------------------------------------------------------- the twin's own words


def ask(twin: MettlerBalanceTwin, line: str) -> str:
    twin.advance(twin.clock.now_s)
    return asyncio.run(twin.answer(line.encode())).decode().removesuffix("\r\n")


def test_zero_tare_and_ranges() -> None:
    twin = MettlerBalanceTwin(clock=VirtualClock())
    assert ask(twin, "@") == 'I4 A "B000000001"'
    assert ask(twin, "Z") == "Z A"
    twin.load(Vial(), {"empty": True, "container_kg": 0.1})
    assert ask(twin, "SI").startswith("S D")
    assert ask(twin, "TI").startswith("TI D")
    assert ask(twin, "Z") == "Z +"  # too much to be zeroed
    assert ask(twin, "T").split()[:2] == ["T", "S"]
    assert float(ask(twin, "SI").split()[2]) == pytest.approx(0.0, abs=2e-5)
    assert float(ask(twin, "TA").split()[2]) == pytest.approx(100.0, abs=2e-5)
    assert ask(twin, "TA 20 g") == "TA A   20.00000 g"
    assert float(ask(twin, "SI").split()[2]) == pytest.approx(80.0, abs=2e-5)
    assert ask(twin, "TA -1 g") == ask(twin, "TA 1 lb") == ask(twin, "TA x g") == "TA L"
    assert ask(twin, "TAC") == "TAC A"
    twin.unload()
    twin.clock.set_s(10.0)
    assert ask(twin, "ZI") == "ZI S"
    twin.load(Vial(), {"empty": True, "container_kg": 0.3})
    twin.clock.set_s(20.0)
    assert ask(twin, "SI") == "S +"
    assert ask(twin, "T") == "T +"
    assert ask(twin, "Z") == "Z +"
    twin.unload()
    twin.load(Vial(), {"empty": True, "container_kg": 0.003})
    twin.clock.set_s(30.0)
    assert ask(twin, "Z") == "Z A"
    twin.unload()
    twin.clock.set_s(40.0)
    assert ask(twin, "SI") == "S -"


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("s", "ES"), ("XYZ", "ES"), ("", "ES"), ("SIR", "ES"), ("QRD 9 9 9", "QRD 9 9 9 L"),
        ("QRA 61 1", "QRA 61 1 I 1"), ("QRA 60 2 4", "QRA 60 2 I 1"), ("QRA 61 4", "QRA 61 4 I 5"),
        ("QRD 2 4 11", "QRD 2 4 11 I 1"), ("QRD 2 4 12", "QRD 2 4 12 I 4"),
        ("QRD 2 3 7", "QRD 2 3 7 2 A"), ("\x80", "ET"),
    ],
)  # fmt: skip
def test_the_twin_answers_everything(line: str, reply: str) -> None:
    twin = MettlerBalanceTwin(clock=VirtualClock())
    assert asyncio.run(twin.answer(line.encode("latin-1"))) == reply.encode() + b"\r\n"


# ---------------------------------------------------------------------------- dosing


def test_substances_are_dosed_one_by_one_from_their_own_heads() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, EMPTY)
        readings = await measure(driver, DOSE)
        assert [r.substance for r in readings] == ["BaCO3", "TiO2 (anatase)"]
        assert [r.mass_kg for r in readings] == pytest.approx([250e-6, 101.237e-6], abs=3e-8)
        assert readings[0].standard_uncertainty_kg == pytest.approx(0.02e-6)
        assert [name for name, _ in vial.fallen] == ["BaCO3", "TiO2 (anatase)"]
        assert vial.total_kg("BaCO3") == pytest.approx(250e-6, rel=1e-6)
        assert vial.done == ["dose", "dose"]
        assert twin.state()["head"] == "TiO2 (anatase)"
        assert twin.state()["display"] == "HEAD TiO2 (anatase)"
        assert twin.state()["load_kg"] == pytest.approx(0.0125 + 351.237e-6, rel=1e-6)
        assert driver.safe
        assert twin.safe

    course(work)


def test_a_whole_dose_takes_few_exchanges() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> int:
        twin.load(Vial(), EMPTY)
        before = twin.faults.requests
        await measure(driver, DOSE)
        return twin.faults.requests - before

    assert course(work) < 120


def test_it_doses_while_the_wall_clock_runs() -> None:
    async def whole() -> None:
        clock = WallClock(speed=500.0)
        twin = MettlerBalanceTwin(clock=clock)

        async def pace(lab_s: float) -> None:
            await asyncio.sleep(lab_s / 500.0)

        driver = MettlerBalance(await twin.start(), pace=pace, timeout_s=2.0)
        try:
            await driver.connect()
            twin.load(Vial(), EMPTY)
            readings = await measure(driver, DOSE)
            assert [r.mass_kg for r in readings] == pytest.approx([250e-6, 101.237e-6], abs=3e-8)
            assert clock.now_s > 70.0
        finally:
            await driver.close()
            await twin.close()

    asyncio.run(whole())


def test_a_head_that_is_not_in_the_rack_is_named() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, {**EMPTY, "heads": ["SrCO3", "BaCO3"]})
        with pytest.raises(InstrumentError, match=r"has BaCO3 mounted, not the head of TiO2"):
            await measure(driver, DOSE)
        assert {name for name, _ in vial.fallen} == {"BaCO3"}
        assert twin.safe

    course(work)


def test_too_small_a_dose_is_topped_up() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, EMPTY)
        twin.unit.misdose_factor = 0.8
        twin.faults.add(Fault(FaultKind.MISDOSE, 0, FOR_EVER))
        (reading, _) = await measure(driver, DOSE)
        assert len([name for name, _ in vial.fallen if name == "BaCO3"]) == 3
        assert reading.mass_kg == pytest.approx(vial.total_kg("BaCO3"), abs=3e-8)
        assert reading.mass_kg == pytest.approx(250e-6 * (1 - 0.2**3), rel=1e-3)

    course(work, options="tolerance_percent=1")


@pytest.mark.parametrize(("factor", "says"), [(1.3, "too much"), (0.2, "too little")])
def test_a_wrong_dose_is_an_error_that_says_what_is_in_the_vial(factor: float, says: str) -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, EMPTY)
        twin.unit.misdose_factor = factor
        twin.faults.add(Fault(FaultKind.MISDOSE, 0, FOR_EVER))
        with pytest.raises(InstrumentError, match=rf"mis-dosed BaCO3.*{says}") as caught:
            await measure(driver, DOSE)
        told_mg = float(str(caught.value).rpartition("in the vial: ")[2].split()[0])
        assert told_mg == pytest.approx(vial.total_kg("BaCO3") * 1e6, abs=0.03)
        assert not caught.value.retryable
        assert driver.state is InstrumentState.FAULT
        assert twin.safe
        # Truth is what fell, and nobody has put it right.
        assert vial.total_kg("TiO2 (anatase)") == 0.0
        assert vial.total_kg("BaCO3") != pytest.approx(250e-6, rel=0.01)

    course(work)


def test_cancelled_in_the_middle_the_powder_stops() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, EMPTY)
        await driver.prepare(InstrumentRequest(DOSE, "sample-1"))
        task = asyncio.create_task(driver.run())
        while twin.safe or twin.clock.now_s < twin.unit.portion.begun_s + 16.0:  # type: ignore[union-attr]  # noqa: ASYNC110 - it rings no bell
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert twin.safe
        assert driver.state is InstrumentState.IDLE
        assert 0.0 < vial.total_kg("BaCO3") < 250e-6
        assert twin.cell.load_kg == pytest.approx(0.0125 + vial.total_kg("BaCO3"))

    course(work)


def test_closed_in_the_middle_the_powder_stops() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.load(Vial(), EMPTY)
        twin.unit.head, twin.unit.pin_locked = "BaCO3", True
        await driver._client.change("QRD 1 1 5", "100")
        await driver._client.begin("QRA 61 1")
        assert not twin.safe
        await driver.abort()
        assert twin.safe

    course(work)


@pytest.mark.parametrize(
    "dose",
    [
        Dose(precursors=(PrecursorDose(substance="BaCO3", amount="1 mmol"),)),
        Dose(precursors=(PrecursorDose(substance="Ba\u00b7CO3", mass="1 g"),)),
        Dose(precursors=(PrecursorDose(substance="BaCO3", mass="1 mg"),)),
        Dose(precursors=(PrecursorDose(substance="BaCO3", mass="13 g"),)),
    ],
)
def test_what_cannot_be_dosed_is_refused_before_anything_moves(dose: Dose) -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, EMPTY)
        with pytest.raises(ProposalError):
            await driver.prepare(InstrumentRequest(dose, "sample-1"))
        assert driver.state is InstrumentState.IDLE
        assert not vial.fallen

    course(work)


def test_too_many_weighings_and_bad_options_are_refused() -> None:
    with pytest.raises(ProposalError):
        MettlerBalance.check(Weigh(repeats=500))
    for option in ("tolerance_mg=x", "settle_s=-1", "settle_s=nan", "head_timeout_s=inf"):
        with pytest.raises(ConfigError, match="is no number"):
            MettlerBalance(f"mt_sics+tcp://127.0.0.1?{option}")
    with pytest.raises(ConfigError, match="no option"):
        MettlerBalance("mt_sics+tcp://127.0.0.1?speed=3")


def test_another_balance_at_the_address_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.load(Vial(), EMPTY)
        monkeypatch.setattr("labenv_instruments.twins.mt_sics.SERIAL", "B2")
        with pytest.raises(InstrumentError, match="B2 answers where B000000001 was"):
            await driver.prepare(InstrumentRequest(DOSE, "sample-1"))

    course(work)


# ---------------------------------------------------------------------------- faults


DEVICE_FAULTS = {
    FaultKind.BUSY: "another job is running|did not, within",
    FaultKind.WRONG_UNIT: "'oz'",
    FaultKind.OVERRANGE: "overloaded",
    FaultKind.STALE_READING: "one of them is wrong|after taring|within",
    FaultKind.DOOR_OPEN: "close its front door",
    FaultKind.MISDOSE: "mis-dosed",
}


def test_every_known_fault_is_tried() -> None:
    assert set(DEVICE_FAULTS) == MettlerBalanceTwin.known_faults


@pytest.mark.parametrize("kind", sorted(DEVICE_FAULTS))
def test_a_lasting_fault_of_the_device_is_an_error_that_says_so(kind: FaultKind) -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.load(Vial(), EMPTY)
        twin.unit.misdose_factor = 1.4
        await driver.prepare(InstrumentRequest(DOSE, "sample-1"))
        twin.faults.add(Fault(kind, 0, FOR_EVER))
        with pytest.raises(InstrumentError, match=DEVICE_FAULTS[kind]):
            await driver.run()
        twin.faults.clear()
        await driver.abort()
        assert twin.safe
        assert driver.state is InstrumentState.IDLE

    course(work)


@pytest.mark.parametrize("kind", ["busy", "door_open", "overrange", "wrong_unit", "stale_reading"])
def test_a_lasting_fault_while_weighing_is_an_error(kind: str) -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.load(Vial())
        await driver.prepare(InstrumentRequest(Weigh(repeats=2), "sample-1"))
        twin.faults.add(Fault(FaultKind(kind), 0, FOR_EVER))
        with pytest.raises(InstrumentError, match=r"within 60 s|overloaded|'oz'|stands still"):
            await driver.run()

    course(work)


@pytest.mark.parametrize("repeats", [1, 2, 3])
@pytest.mark.parametrize("lasts", [1, 2, 3, 5, FOR_EVER])
@pytest.mark.parametrize("after", range(9))
def test_the_last_sample_s_mass_is_never_taken_for_this_one_s(
    after: int, lasts: int, repeats: int
) -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.load(HeavierVial("before"))
        await measure(driver, Weigh(repeats=2))
        twin.unload()
        twin.load(Vial())
        await driver.prepare(InstrumentRequest(Weigh(repeats=repeats), "sample-1"))
        twin.faults.add(Fault(FaultKind.STALE_READING, after, lasts))
        try:
            await driver.run()
        except InstrumentError as cause:
            assert "stands still" in str(cause) or "did not, within" in str(cause)  # noqa: PT017
        else:
            (reading,) = await driver.result()
            assert reading.mass_kg == pytest.approx(1e-3, abs=5e-8)  # type: ignore[attr-defined]

    course(work)


def test_weighing_leaves_the_crucible_s_tare_on_the_balance() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.load(Vial())
        for repeats in (1, 2, 3):
            await measure(driver, Weigh(repeats=repeats))
            assert twin.cell.tare_kg == pytest.approx(15.25e-3)

    course(work, options="container_g=15.25")


def test_a_reading_that_freezes_for_a_moment_is_not_believed() -> None:
    """The stale value is what was shown before the powder fell."""

    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, EMPTY)
        fall = twin.unit._fall

        def fall_and_freeze(*args: Any) -> None:
            fall(*args)
            twin.faults.add(Fault(FaultKind.STALE_READING, 1, 2))  # the two readings after it

        twin.unit._fall = fall_and_freeze  # type: ignore[method-assign]
        try:
            readings = await measure(driver, DOSE)
        except InstrumentError as cause:
            assert "one of them is wrong" in str(cause)  # noqa: PT017 - either is right
            assert not cause.retryable  # noqa: PT017
        else:
            assert readings[0].mass_kg == pytest.approx(vial.total_kg("BaCO3"), abs=3e-8)

    course(work)


@pytest.mark.parametrize("at", [0, 4, 9, 17, 24, 40])
@pytest.mark.parametrize("kind", sorted(WIRE_FAULTS | MettlerBalanceTwin.known_faults))
def test_a_passing_fault_is_got_over_or_told_and_nothing_is_dosed_twice(
    kind: FaultKind, at: int
) -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, EMPTY)
        await driver.prepare(InstrumentRequest(DOSE, "sample-1"))
        twin.faults.add(Fault(kind, at, 1, delay_s=0.3))
        try:
            await driver.run()
        except InstrumentError as cause:
            assert kind not in HARMLESS
            assert not (cause.retryable and vial.fallen)  # noqa: PT017 - either is right
            assert driver.state is InstrumentState.FAULT
            await driver.abort()
        else:
            readings = await driver.result()
            shown = {r.substance: r.mass_kg for r in readings}  # type: ignore[attr-defined]
            for dose in DOSE.precursors:
                assert shown[dose.substance] == pytest.approx(
                    vial.total_kg(dose.substance), abs=3e-8
                )
                assert shown[dose.substance] == pytest.approx(dose.mass_kg, rel=0.01)
        assert twin.safe
        assert driver.state is InstrumentState.IDLE
        for dose in DOSE.precursors:
            assert vial.total_kg(dose.substance) <= (dose.mass_kg or 0.0) * 1.51

    course(work, timeout_s=0.1)


def test_a_lost_answer_ends_no_dose() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, EMPTY)
        start = twin.unit._start

        def lose_some() -> str:
            for at in (0, 3, 6):  # of the questions whether it is done
                twin.faults.add(Fault(FaultKind.DROPPED, at))
            return start()

        twin.unit._start = lose_some  # type: ignore[method-assign]
        readings = await measure(driver, DOSE)
        assert len(twin.faults.fired) == 6
        assert [r.mass_kg for r in readings] == pytest.approx([250e-6, 101.237e-6], abs=3e-8)

    course(work)


def test_a_start_whose_answer_is_lost_is_not_given_twice() -> None:
    starts = []

    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        vial = Vial()
        twin.load(vial, EMPTY)
        start = twin.unit._start

        def lose() -> str:
            starts.append(twin.clock.now_s)
            twin.faults.faults.append(Fault(FaultKind.SILENT, twin.faults.requests - 1))
            return start()

        twin.unit._start = lose  # type: ignore[method-assign]
        with pytest.raises(
            InstrumentError, match=r"in the vial: an unweighed part of 250\.000 mg"
        ) as caught:
            await measure(driver, DOSE)
        assert not caught.value.retryable
        assert len(starts) == 1
        assert twin.safe

    course(work, timeout_s=0.05)


def test_a_sample_that_shows_no_number_is_no_measurement() -> None:
    async def work(driver: MettlerBalance, twin: MettlerBalanceTwin) -> None:
        twin.load(Vial(broken=True))
        with pytest.raises(InstrumentError, match="did not, within 60 s, show a stable"):
            await measure(driver, Weigh())

    course(work)
