"""The laboratory: results, times, queues, refusals, failures, pickles, life cycle."""

from __future__ import annotations

import asyncio
import pickle
from itertools import pairwise

import numpy as np
import pytest

from labenv.lab import Lab, MemoryJournal, VirtualClock, WallClock
from labenv.lab.audit import true_mass_fractions
from labenv.lab.timing import operation_cost, operation_time
from labenv_schemas import Diffractogram, LabConfig, Outcome, parse_proposal
from labenv_schemas.errors import ConfigError, ProposalError


def run_all(lab, plans, parallelism):
    """Run plans through a lab with so many in flight; return outcomes by id."""
    found, left = {}, list(plans)
    for _ in range(min(parallelism, len(left))):
        lab.submit(left.pop(0))
    while lab.pending:
        for outcome in lab.collect("next"):
            found[outcome.experiment_id] = outcome
            if left:
                lab.submit(left.pop(0))
    return found


def matter(outcome):
    """Return what of an outcome must not depend on the queues: not when, nor in which furnace."""
    queued = {"lab_time_s", "instrument"}
    return [
        (m.kind, m.counts.tolist() if m.kind == "diffractogram" else m.model_dump(exclude=queued))
        for m in outcome.measurements
    ]


def test_a_plan_gives_measurements_records_and_costs(plan):
    lab = Lab(LabConfig(), seed=1)
    proposal = plan()
    outcome = lab.run(proposal)
    assert outcome.status == "ok"
    assert [m.kind for m in outcome.measurements] == [
        "mass",
        "mass",
        "temperature",
        "diffractogram",
    ]
    assert [r.op for r in outcome.operations] == ["dose", "mix", "heat", "measure"]
    assert [r.station for r in outcome.operations] == [
        "balance", "mixer", "furnace-1", "diffractometer",
    ]  # fmt: skip
    times = [operation_time(op).duration_s for op in proposal.operations]
    np.testing.assert_allclose(outcome.finished_s, sum(times), rtol=1e-12)
    assert outcome.finished_s == lab.now_s
    shelf = lab._world.bench.shelf
    np.testing.assert_allclose(
        outcome.cost, sum(operation_cost(op, shelf) for op in proposal.operations), rtol=1e-12
    )
    scan = outcome.measurements[-1]
    assert isinstance(scan, Diffractogram)
    assert scan.lab_time_s == outcome.finished_s
    assert scan.sample_id == outcome.sample.sample_id
    assert scan.instrument.simulated
    assert scan.instrument.station == "diffractometer"
    assert outcome.analyses == ()


def test_an_outcome_is_a_valid_model_and_survives_its_json(plan):
    outcome = Lab(LabConfig(), seed=1).run(plan())
    again = Outcome.from_json(outcome.to_json())
    assert again == outcome
    assert again.to_json() == outcome.to_json()


def test_readings_are_near_what_was_asked_for(plan):
    outcome = Lab(LabConfig(), seed=1).run(plan())
    barium, titania, firing, scan = outcome.measurements
    assert (barium.substance, titania.substance) == ("BaCO3", "TiO2 (rutile)")
    assert barium.mass_kg == pytest.approx(1.97e-3, rel=5e-3)
    assert titania.mass_kg == pytest.approx(0.8e-3, rel=5e-3)
    assert firing.temperature_k == pytest.approx(1373.15, abs=2.0)
    assert scan.counts.min() >= 0.0
    assert (scan.counts == np.rint(scan.counts)).all()
    assert scan.two_theta_deg[0] == 20.0
    assert scan.two_theta_deg[-1] <= 60.0 + 1e-9


def test_equal_seeds_give_equal_outcomes(plan):
    plans = [plan(target=f"{t} degC") for t in (900, 1000, 1100)]
    one = run_all(Lab(LabConfig(), seed=4), plans, 2)
    assert one == run_all(Lab(LabConfig(), seed=4), plans, 2)
    other = run_all(Lab(LabConfig(), seed=5), plans, 2)
    assert all(matter(one[name]) != matter(other[name]) for name in one)


def test_results_do_not_depend_on_the_queues(plan):
    plans = [plan(target=f"{t} degC", hold=f"{h} h") for t, h in
             [(900, 8), (1000, 1), (1100, 3), (1050, 0), (800, 2)]]  # fmt: skip
    serial = run_all(Lab(LabConfig(furnaces=1), seed=4), plans, 1)
    crowded = run_all(Lab(LabConfig(furnaces=3), seed=4), plans, 5)
    assert {k: matter(o) for k, o in serial.items()} == {k: matter(o) for k, o in crowded.items()}
    assert max(o.finished_s for o in crowded.values()) < max(o.finished_s for o in serial.values())


def test_a_result_depends_on_the_index_of_its_experiment_only(plan):
    first = Lab(LabConfig(), seed=4)
    first.run(plan(target="900 degC"))
    second = Lab(LabConfig(), seed=4)
    second.run(plan(target="1200 degC"))
    assert matter(first.run(plan())) == matter(second.run(plan()))


def test_two_furnaces_work_at_once(plan):
    lab = Lab(LabConfig(furnaces=2), seed=0)
    for _ in range(2):
        lab.submit(plan())
    one, other = lab.collect("all")
    heats = [next(r for r in o.operations if r.op == "heat") for o in (one, other)]
    assert {h.station for h in heats} == {"furnace-1", "furnace-2"}
    assert heats[1].started_s < heats[0].finished_s


def test_one_furnace_is_shared_first_come_first_served(plan):
    lab = Lab(LabConfig(furnaces=1), seed=0)
    for _ in range(3):
        lab.submit(plan())
    heats = [next(r for r in o.operations if r.op == "heat") for o in lab.collect("all")]
    for earlier, later in pairwise(heats):
        assert later.started_s == earlier.finished_s
        assert later.queued_s < later.started_s


def test_a_quenched_sample_leaves_a_furnace_that_must_cool(plan):
    lab = Lab(LabConfig(furnaces=1), seed=0)
    quenched = plan(cooling="quench")
    for _ in range(2):
        lab.submit(quenched)
    heats = [next(r for r in o.operations if r.op == "heat") for o in lab.collect("all")]
    time = operation_time(quenched.operations[2])
    assert heats[0].finished_s - heats[0].started_s == pytest.approx(time.duration_s)
    assert heats[1].started_s - heats[0].started_s == pytest.approx(time.occupied_s)
    assert time.occupied_s > time.duration_s + 3600


def test_collect_waits_as_it_is_told(plan):
    lab = Lab(LabConfig(), seed=0)
    assert lab.collect("next") == []
    assert lab.collect("all") == []
    tickets = [lab.submit(plan(hold=f"{h} h")) for h in (4, 1, 2)]
    assert lab.now_s == 0.0
    assert lab.collect("none") == []
    assert lab.pending == tuple(tickets)
    first = lab.collect("next")
    assert len(first) == 1
    assert lab.now_s == first[0].finished_s
    rest = lab.collect("all")
    assert len(rest) == 2
    assert [o.finished_s for o in rest] == sorted(o.finished_s for o in rest)
    assert lab.pending == ()


def test_run_leaves_others_to_be_collected(plan):
    lab = Lab(LabConfig(), seed=0)
    ticket = lab.submit(plan(hold="0 h"))
    long = lab.run(plan(hold="20 h"))
    assert lab.pending == (ticket,)
    (other,) = lab.collect("none")
    assert other.experiment_id == ticket.experiment_id
    assert other.finished_s < long.finished_s


def test_stations_show_what_they_do(plan):
    lab = Lab(LabConfig(furnaces=1), seed=0)
    assert [s.name for s in lab.stations] == [
        "balance",
        "mixer",
        "press",
        "furnace-1",
        "diffractometer",
    ]
    assert all(s.busy_until_s is None and s.queue_length == 0 for s in lab.stations)
    tickets = [lab.submit(plan()) for _ in range(3)]
    balance = lab.stations[0]
    assert (balance.experiment_id, balance.operation) == (tickets[0].experiment_id, 0)
    assert balance.queue_length == 2
    assert balance.busy_until_s == operation_time(plan().operations[0]).duration_s
    lab.collect("all")
    assert all(s.experiment_id is None for s in lab.stations)


def test_a_refused_plan_is_an_outcome_and_costs_nothing(plan):
    lab = Lab(LabConfig(), seed=0)
    ticket = lab.submit(plan(target="1700 degC"))
    (outcome,) = lab.collect("next")
    assert outcome.experiment_id == ticket.experiment_id
    assert outcome.status == "invalid"
    assert "operations[2] (heat)" in outcome.message
    assert "1500 degC" in outcome.message
    assert (outcome.cost, outcome.finished_s, outcome.sample) == (0.0, 0.0, None)
    assert true_mass_fractions(lab, ticket.experiment_id) == {}
    Outcome.from_json(outcome.to_json())


def test_a_charge_that_melts_on_the_way_is_lost():
    lab = Lab(LabConfig(randomise=False), seed=0)
    melting = parse_proposal({
        "operations": [
            {
                "op": "dose",
                "precursors": [
                    {"substance": "BaCO3", "mass": "1.97 g"},
                    {"substance": "TiO2 (rutile)", "mass": "0.8 g"},
                ],
            },
            {
                "op": "heat",
                "segments": [{"target": "1400 degC", "rate": "20 K/min", "hold": "1 h"}],
            },
            {"op": "measure"},
        ]
    })
    outcome = lab.run(melting)
    assert outcome.status == "failed_chemistry"
    assert "melted" in outcome.message
    assert [r.op for r in outcome.operations] == ["dose", "heat"]
    assert outcome.operations[-1].status == "failed"
    assert not any(m.kind == "diffractogram" for m in outcome.measurements)
    assert lab.run(melting).status == "failed_chemistry"


def test_machines_fail_at_their_rate_and_results_stay_the_same(plan):
    plans = [plan(hold="0 h", target="500 degC") for _ in range(60)]
    broken = run_all(Lab(LabConfig(machine_failure_rate=0.1), seed=4), plans, 2)
    sound = run_all(Lab(LabConfig(), seed=4), plans, 2)
    failed = {k for k, o in broken.items() if o.status == "failed_machine"}
    assert 0.15 < len(failed) / 60 < 0.55  # of four operations each: 34 % expected
    for name, outcome in broken.items():
        if name in failed:
            assert "may be proposed again" in outcome.message
            Outcome.from_json(outcome.to_json())
        else:
            assert matter(outcome) == matter(sound[name])


def test_a_plan_without_a_scan_says_so(plan):
    short = plan().model_copy(update={"operations": plan().operations[:2]})
    outcome = Lab(LabConfig(), seed=0).run(short)
    assert outcome.status == "ok"
    assert "measure" in outcome.warnings[0]


def test_ids_are_the_callers_and_unique(plan):
    lab = Lab(LabConfig(), seed=0)
    assert lab.submit(plan(), experiment_id="mine").experiment_id == "mine"
    with pytest.raises(ConfigError, match="mine"):
        lab.submit(plan(), experiment_id="mine")
    assert [t.index for t in lab.pending] == [0]


def test_cancelling_while_waiting_and_while_running(plan):
    lab = Lab(LabConfig(furnaces=1), seed=0)
    tickets = [lab.submit(plan(hold=f"{h} h")) for h in (10, 1, 0)]
    lab.submit(parse_proposal({"operations": [plan().operations[0].model_dump()]}))
    lab.collect("next")  # the short plan is through; the clock stands in the others' course
    lab.cancel(tickets[1])
    (waiting,) = lab.collect("none")
    assert (waiting.status, waiting.experiment_id) == ("cancelled", tickets[1].experiment_id)
    while not any(
        s.experiment_id == tickets[0].experiment_id and "furnace" in s.name for s in lab.stations
    ):
        lab._executor.advance_instant()
    lab._clock.set_s(lab._executor.statuses(0.0)[3].busy_until_s - 5 * 3600)
    lab.cancel(tickets[0])
    (running,) = lab.collect("none")
    assert running.operations[-1].status == "cancelled"
    assert running.finished_s == lab.now_s
    furnace = lab.stations[3]
    assert furnace.experiment_id is None
    assert furnace.busy_until_s is not None, "a furnace that was broken off must cool"
    (last,) = lab.collect("all")
    assert last.status == "ok"
    assert last.operations[2].started_s >= furnace.busy_until_s
    lab.cancel(tickets[0])
    with pytest.raises(ConfigError, match="no experiment"):
        lab.cancel(type(tickets[0])("other", 0, 0.0))


def test_closing_is_final_safe_and_silent(plan):
    journal = MemoryJournal()
    lab = Lab(LabConfig(), seed=0, journal=journal)
    lab.submit(plan())
    before = journal.events()
    lab.close()
    lab.close()
    assert journal.events() == before
    assert lab.collect("all") == []
    assert all(s.experiment_id is None for s in lab.stations)
    with pytest.raises(ConfigError, match="closed"):
        lab.submit(plan())


def test_a_lab_pickles_before_and_in_the_middle(plan):
    lab = pickle.loads(pickle.dumps(Lab(LabConfig(), seed=3)))
    for t in (900, 1000, 1100):
        lab.submit(plan(target=f"{t} degC"))
    assert lab.collect("next") != []
    copy = pickle.loads(pickle.dumps(lab))
    assert copy.collect("all") == lab.collect("all")


def test_no_task_and_no_event_loop_is_needed_or_left(plan):
    async def inside_a_loop():
        before = asyncio.all_tasks()
        outcome = Lab(LabConfig(), seed=0).run(plan())
        assert asyncio.all_tasks() == before
        return outcome

    assert asyncio.run(inside_a_loop()) == Lab(LabConfig(), seed=0).run(plan())


def test_a_wall_clock_paces_the_lab(plan):
    short = parse_proposal({"operations": [plan().operations[0].model_dump()]})
    lab = Lab(LabConfig(), seed=0, clock=WallClock(speed=1e4))
    outcome = lab.run(short)
    assert lab.now_s >= outcome.finished_s
    assert outcome.status == "ok"

    async def in_a_notebook():
        return Lab(LabConfig(), seed=0, clock=WallClock(speed=1e4)).run(short)

    assert asyncio.run(in_a_notebook()).status == "ok"


def test_a_wall_clock_keeps_its_time_in_a_pickle_and_goes_forward_only():
    clock = WallClock(speed=100.0)
    clock.set_s(1e6)
    clock.set_s(5.0)
    assert clock.now_s >= 1e6
    copy = pickle.loads(pickle.dumps(clock))
    assert 1e6 <= copy.now_s < 1.1e6
    with pytest.raises(ConfigError, match="above 0"):
        WallClock(0.0)


def test_a_lab_on_the_wall_clock_is_resumed_at_its_lab_time(plan):
    short = parse_proposal({"operations": [plan().operations[0].model_dump()]})
    journal = MemoryJournal()
    first = Lab(LabConfig(), seed=0, clock=WallClock(speed=1e4), journal=journal)
    outcome = first.run(short)
    second = Lab(LabConfig(), seed=0, clock=WallClock(speed=1e4), journal=journal)
    second.resume(journal.events())
    assert second.now_s >= outcome.finished_s
    assert second.collect("none") == [outcome]


def test_a_virtual_clock_never_runs_backwards():
    clock = VirtualClock()
    clock.set_s(5.0)
    clock.set_s(3.0)
    assert clock.now_s == 5.0


def test_truth_is_told_by_the_audit_alone(plan):
    journal = MemoryJournal()
    lab = Lab(LabConfig(), seed=0, journal=journal)
    outcome = lab.run(plan())
    truth = true_mass_fractions(lab, outcome.experiment_id)
    assert sum(truth.values()) == pytest.approx(1.0)
    assert truth["BaTiO3-tetragonal"] > 0.1
    told = outcome.to_json() + "".join(event.to_json() for event in journal.events())
    for name in ("witherite", "BaTiO3-tetragonal", "Ba2TiO4", "amorphous", "kinetic", "purity"):
        assert name not in told
    with pytest.raises(ConfigError, match="no experiment"):
        true_mass_fractions(lab, "other")


def test_wall_clock_stamps_stand_where_a_record_is_kept(plan):
    recorded = Lab(LabConfig(), seed=0, journal=MemoryJournal()).run(plan())
    assert recorded.recorded_at is not None
    assert all(m.measured_at is not None for m in recorded.measurements)
    bare = Lab(LabConfig(), seed=0).run(plan())
    assert bare.recorded_at is None
    assert matter(bare) == [
        (kind, {**content, "measured_at": None} if isinstance(content, dict) else content)
        for kind, content in matter(recorded)
    ]


def test_plain_data_are_refused_before_anything_is_pending() -> None:
    lab = Lab(LabConfig(), seed=0)
    with pytest.raises(ProposalError, match="takes a Proposal, not a dict; read plain data with"):
        lab.submit({"operations": []})  # type: ignore[arg-type]
    assert lab.pending == ()
