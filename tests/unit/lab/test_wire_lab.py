"""A laboratory whose stations are on wires gives what one in process gives, and fails well."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from labenv.lab import Lab, MemoryJournal
from labenv.lab.stations import carry_out
from labenv_instruments.instrument import InstrumentState
from labenv_schemas import parse_proposal
from labenv_schemas.campaign import LabConfig
from labenv_schemas.errors import ConfigError, InstrumentError
from tests.unit.lab.wires import STATIONS, running_bench

HOT = {"target": "1100 degC", "rate": "5 K/min", "hold": "4 h"}


def plan(*segments, measure=True, press=True, **heat):
    operations = [
        {
            "op": "dose",
            "precursors": [
                {"substance": "BaCO3", "amount": "5 mmol"},
                {"substance": "TiO2 (rutile)", "amount": "5 mmol"},
            ],
        },
        {"op": "mix", "duration": "20 min"},
        *([{"op": "press", "pressure": "100 MPa"}] if press else []),
        {"op": "heat", "segments": list(segments) or [HOT], **heat},
        *([{"op": "regrind"}, {"op": "measure"}] if measure else []),
    ]
    return parse_proposal({"operations": operations})


def collect(config, plans, seed=7):
    lab = Lab(config, seed=seed)
    try:
        for item in plans:
            lab.submit(item)
        return lab.collect("all")
    finally:
        lab.close()


def scan_of(outcome):
    return next(m for m in outcome.measurements if m.kind == "diffractogram")


def assert_same(here, there):
    assert [o.experiment_id for o in here] == [o.experiment_id for o in there]
    for one, other in zip(here, there, strict=True):
        assert one.status == other.status == "ok", other.message
        np.testing.assert_array_equal(scan_of(one).counts, scan_of(other).counts)
        np.testing.assert_array_equal(scan_of(one).two_theta_deg, scan_of(other).two_theta_deg)
        for near, far in zip(one.measurements, other.measurements, strict=True):
            assert near.kind == far.kind
            if near.kind == "mass":
                assert near.substance == far.substance
                assert far.mass_kg == pytest.approx(near.mass_kg, abs=2e-8)
            if near.kind == "temperature":
                assert far.temperature_k == pytest.approx(near.temperature_k, abs=4.0)


PLANS = [
    plan(),
    plan({"target": "800 degC", "hold": "2 h"}, HOT, atmosphere="oxygen"),
    plan({"target": "950 degC", "rate": "10 K/min", "hold": "1 h"}, cooling={"rate": "3 K/min"}),
    plan({"target": "1000 degC"}, cooling="quench", press=False),
]


def test_the_same_campaign_as_in_process() -> None:
    here = collect(LabConfig(), PLANS)
    with running_bench() as bench:
        there = collect(bench.config, PLANS)
        assert bench.all_safe()
    assert_same(here, there)
    assert [o.finished_s for o in here] == [o.finished_s for o in there]
    assert [o.cost for o in here] == [o.cost for o in there]


def test_a_second_campaign_on_the_same_bench_is_the_same_again() -> None:
    """The twins' time goes on from the first one's end."""
    with running_bench() as bench:
        first = collect(bench.config, PLANS[:2])
        assert_same(first, collect(bench.config, PLANS[:2]))


@pytest.mark.parametrize("how", ["gone", "started anew"])
def test_a_bench_that_is_gone_begins_no_further_experiment(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labenv.lab.wire_bench._HAND_PAUSE_S", 0.01)
    with running_bench(timeout_s=0.5) as bench:
        lab = Lab(bench.config, seed=7)
        try:
            lab.submit(PLANS[0])
            if how == "gone":
                bench.portal.run(bench.twins.hand.close())
            else:
                bench.twins.hand._begun = None
            with pytest.raises(InstrumentError, match="no further experiment begins"):
                lab.submit(PLANS[1])
        finally:
            lab.close()


def test_why_a_device_failed_is_told_also_where_it_cannot_be_made_safe() -> None:
    class Stuck:
        state = InstrumentState.RUNNING

        async def prepare(self, _: object) -> None:
            raise InstrumentError("the door is open")

        async def abort(self) -> None:
            raise InstrumentError("it could not be made safe")

    with pytest.raises(InstrumentError, match="the door is open; and then it could not be made"):
        asyncio.run(carry_out(Stuck(), None))


def test_devices_that_take_the_walls_time_work_at_once() -> None:
    # Exchanges take lab time too, so much faster the furnace would be done before it is looked at.
    plans = [plan({"target": "300 degC", "rate": "20 K/min", "hold": "20 min"}, press=False)] * 2
    here = collect(LabConfig(), plans)
    with running_bench(timeout_s=2.0, clock="wall", speed=4000.0) as bench:
        there = collect(bench.config, plans)
        assert bench.all_safe()
    there.sort(key=lambda outcome: outcome.experiment_id)
    here.sort(key=lambda outcome: outcome.experiment_id)
    assert_same(here, there)
    heats = [next(r for r in o.operations if r.op == "heat") for o in there]
    assert {r.station for r in heats} == {"furnace-1", "furnace-2"}
    assert max(r.started_s for r in heats) < min(r.finished_s for r in heats)


def test_limits_of_the_lab_file_hold_and_are_journalled() -> None:
    limits = {"furnace-1": {"max_temperature": "900 degC"}, "furnace-2": {"atmospheres": ["air"]}}
    journal = MemoryJournal()
    with running_bench(limits=limits) as bench:
        lab = Lab(bench.config, seed=7, journal=journal)
        lab.submit(plan(measure=False))  # furnace-2 only, in air
        lab.submit(plan(HOT, measure=False, atmosphere="oxygen"))  # none
        outcomes = {o.experiment_id: o for o in lab.collect("all")}
        lab.close()
    good, refused = outcomes["experiment-0000"], outcomes["experiment-0001"]
    assert good.status == "ok"
    assert [r.station for r in good.operations if r.op == "heat"] == ["furnace-2"]
    assert refused.status == "invalid"
    assert "limited to a temperature of 1173.15 K" in str(refused.message)
    kinds = [event.kind for event in journal.events() if event.experiment_id == "experiment-0001"]
    assert kinds == ["submitted", "interlock_refused", "outcome"]


def test_what_no_station_does_is_refused() -> None:
    with running_bench(without=("press",)) as bench:
        (outcome,) = collect(bench.config, [plan()])
    assert outcome.status == "invalid"
    assert "no station of this lab does 'press'" in str(outcome.message)


FAULTS = [
    ("balance", "misdose", 20, 2**40),
    ("balance", "silent", 12, 2**40),
    ("balance", "dropped", 8, 2**40),
    ("furnace-1", "sensor_break", 60, 2**40),
    ("furnace-1", "dropped", 70, 2**40),
    ("diffractometer", "not_exported", 0, 2**40),
    ("diffractometer", "half_written", 0, 2**40),
    ("diffractometer", "lost_sample", 0, 2**40),
    ("diffractometer", "garbled", 2, 2**40),
]


@pytest.mark.parametrize(("station", "kind", "after", "lasts"), FAULTS)
def test_a_fault_is_a_failed_machine_and_the_others_go_on(station, kind, after, lasts) -> None:
    without = ("furnace-2",)
    with running_bench(without=without, timeout_s=1.0) as bench:
        lab = Lab(bench.config, seed=7)
        try:
            bench.fault(station, kind, after, lasts)
            lab.submit(plan())
            (failed,) = lab.collect("all")
            bench.ask(do="fault", station=station, kind="none")
            lab.submit(plan())
            (after_it,) = lab.collect("all")
        finally:
            lab.close()
        assert bench.all_safe()
    assert failed.status == "failed_machine", failed.message
    assert len(str(failed.message)) > 20
    assert not [m for m in failed.measurements if m.kind == "diffractogram"]
    assert after_it.status == "ok", after_it.message
    assert {m.sample_id for m in after_it.measurements} == {"experiment-0001-sample"}


def test_a_split_reply_is_nobodys_business() -> None:
    here = collect(LabConfig(), PLANS[:1])
    with running_bench() as bench:
        for station in ("balance", "furnace-1", "furnace-2", "diffractometer"):
            for after in range(0, 200, 20):
                bench.fault(station, "split_reply", after, 2)
        assert_same(here, collect(bench.config, PLANS[:1]))


def test_a_cancelled_firing_leaves_a_cold_furnace() -> None:
    with running_bench(timeout_s=2.0, clock="wall", speed=2000.0) as bench:
        lab = Lab(bench.config, seed=7)
        try:
            ticket = lab.submit(plan(measure=False, press=False))
            while not any("experiment" in str(s.experiment_id) and s.kind == "tube_furnace"
                          for s in lab.stations):  # fmt: skip
                lab.collect("none")
            lab.cancel(ticket)
            (outcome,) = lab.collect("none")
            assert outcome.status == "cancelled"
            assert bench.all_safe()
        finally:
            lab.close()


def test_an_operators_stop_keeps_everything_where_it_is() -> None:
    with running_bench() as bench:
        lab = Lab(bench.config, seed=7)
        try:
            lab.submit(plan(measure=False))
            lab.collect("all")
            bench.ask(do="stop")
            lab.submit(plan(measure=False))
            (outcome,) = lab.collect("all")
        finally:
            lab.close()
    assert outcome.status == "failed_machine"
    assert "operator has stopped" in str(outcome.message)


def test_two_processes_cannot_drive_one_bench() -> None:
    with running_bench() as bench:
        lab = Lab(bench.config, seed=7)
        try:
            with pytest.raises(InstrumentError, match="drives these devices already"):
                Lab(bench.config, seed=8)
        finally:
            lab.close()
        Lab(bench.config, seed=8).close()


def test_a_device_that_does_not_answer_is_named_at_once() -> None:
    with running_bench() as bench:
        gone = bench.config.model_copy(deep=True)
        stations = dict(gone.stations)
        stations["furnace-1"] = stations["furnace-1"].model_copy(
            update={"address": "eurotherm+tcp://127.0.0.1:1?model=3216"}
        )
        with pytest.raises(InstrumentError, match=r"furnace-1: .*cannot be reached"):
            Lab(gone.model_copy(update={"stations": stations}), seed=7)
        Lab(bench.config, seed=7).close()  # and nothing is held


def test_a_resumed_lab_gives_up_what_was_under_way() -> None:
    journal = MemoryJournal()
    with running_bench() as bench:
        lab = Lab(bench.config, seed=7, journal=journal)
        lab.submit(plan())
        lab.submit(plan())
        outcomes = lab.collect("all")
        lab.close()
        events = list(journal.events())
        cut = next(
            n for n, e in enumerate(events)
            if e.kind == "operation_finished" and e.data["op"] == "heat"
        )  # fmt: skip
        again = Lab(bench.config, seed=7, journal=MemoryJournal(events[:cut]))
        again.resume(events[:cut])
        resumed = again.collect("all")
        again.close()
    assert [o.status for o in outcomes] == ["ok", "ok"]
    assert {o.status for o in resumed} == {"failed_machine"}
    assert all("ended during 'heat'" in str(o.message) for o in resumed)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stations": {"x": {"address": "tcp://127.0.0.1:1"}}}, "names no driver"),
        ({"stations": {"x": {"address": "tube_furnace+tcp://h:1"}}}, "no twin"),
    ],
)
def test_a_wrong_lab_file_is_refused(settings, message) -> None:
    with pytest.raises((ConfigError, LookupError), match=message), running_bench(**settings):
        pass


@pytest.mark.parametrize("source", ["keithley_2400", "keithley_6221"])
def test_a_source_has_its_thermometer(source) -> None:
    where = "tcp://127.0.0.1:{}?thermometer=127.0.0.1:7777"
    stations = {
        **{name: STATIONS[name] for name in ("balance", "press")},
        "thermometer": {"address": "lakeshore_336+tcp://127.0.0.1:7777", "role": "thermometer"},
        "transport": {"address": f"{source}+{where.format(1394)}"},
    }
    operations = plan(measure=False).operations
    tail = {"op": "measure_resistance", "temperature_min": "100 K", "temperature_max": "110 K",
            "step": "2 K"}  # fmt: skip
    proposal = parse_proposal({"operations": [*(operations[n] for n in (0, 2)), tail]})
    with running_bench(stations=stations, without=tuple(STATIONS)) as bench:
        (outcome,) = collect(bench.config, [proposal])
        assert bench.all_safe()
    assert outcome.status == "ok", outcome.message
    assert outcome.measurements[-1].kind in {"resistance_curve", "unmeasured"}


def test_a_source_without_its_thermometer_is_refused() -> None:
    stations = {"transport": {"address": "keithley_2400+tcp://127.0.0.1:1?thermometer=h:7777"}}
    with (
        pytest.raises(ConfigError, match="no thermometer of this bench is at h:7777"),
        running_bench(stations=stations),
    ):
        pass


def test_a_weighing_over_the_wire() -> None:
    stations = {
        "balance": STATIONS["balance"],
        "scale": {"address": "mt_sics+tcp://127.0.0.1", "role": "analytical_balance"},
    }
    operations = [plan(measure=False).operations[0], {"op": "weigh", "repeats": 3}]
    proposal = parse_proposal({"operations": operations})
    (here,) = collect(LabConfig(), [proposal])
    with running_bench(stations=stations) as bench:
        (there,) = collect(bench.config, [proposal])
    assert there.status == "ok", there.message
    assert there.measurements[-1].mass_kg == pytest.approx(here.measurements[-1].mass_kg, abs=2e-8)
