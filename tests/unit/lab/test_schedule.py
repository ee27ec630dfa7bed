"""The compiled schedule gives the laboratory's times."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.lab.interlocks import DRIVER_OF
from labenv.lab.laboratory import Lab
from labenv.lab.schedule import BatchSchedule, PlanTimes
from labenv.lab.timing import operation_time
from labenv_instruments.clock import VirtualClock
from labenv_schemas import LabConfig, parse_proposal
from labenv_schemas.errors import ConfigError

KINDS = ("dosing_balance", "ball_mill", "pellet_press", "tube_furnace", "powder_diffractometer")
WIDTH = 12


def random_plan(rng):
    operations = [
        {
            "op": "dose",
            "precursors": [
                {"substance": "BaCO3", "mass": "1.97 g"},
                {"substance": "anatase", "mass": "0.8 g"},
            ][: int(rng.integers(1, 3))],
        }
    ]
    choices = [
        {"op": "mix", "duration": "600 s"},
        {"op": "mix", "duration": "1800 s"},
        {"op": "press", "pressure": "100 MPa"},
        {"op": "heat", "segments": [{"target": "500 K"}]},
        {"op": "heat", "segments": [{"target": "500 K", "hold": "1 h"}], "cooling": "quench"},
        {"op": "regrind", "duration": "600 s"},
        {"op": "measure", "two_theta_min_deg": 20, "two_theta_max_deg": 30},
    ]
    number = int(rng.integers(0, 6))
    operations += [choices[k] for k in rng.integers(0, len(choices), number)]
    return parse_proposal({"operations": operations})


def plan_times(proposals):
    count = len(proposals)
    kind = np.zeros((count, WIDTH), dtype=np.int64)
    time = np.ones((2, count, WIDTH))
    for row, proposal in enumerate(proposals):
        for k, operation in enumerate(proposal.operations):
            kind[row, k] = KINDS.index(DRIVER_OF[type(operation)])
            time[:, row, k] = operation_time(operation)
    length = np.array([len(p.operations) for p in proposals])
    return PlanTimes(kind, time[0], time[1], length)


@pytest.mark.parametrize(("parallelism", "furnaces"), [(1, 1), (2, 2), (5, 1), (5, 3)])
def test_times_are_those_of_the_lab(parallelism, furnaces):
    rng = np.random.default_rng(parallelism * 10 + furnaces)
    labs, experiments = 3, 12
    plans = [[random_plan(rng) for _ in range(experiments)] for _ in range(labs)]
    schedule = BatchSchedule(labs, parallelism, WIDTH, (1, 1, 1, furnaces, 1))
    clocks = [VirtualClock() for _ in range(labs)]
    worlds = [
        Lab(LabConfig(furnaces=furnaces, randomise=False), seed=row, clock=clocks[row])
        for row in range(labs)
    ]
    slot_of = [{} for _ in range(labs)]
    given = [0] * labs

    def submit(row):
        slot = next(s for s in range(parallelism) if s not in slot_of[row].values())
        plan = plans[row][given[row]]
        given[row] += 1
        slot_of[row][worlds[row].submit(plan).experiment_id] = slot
        schedule.submit(np.array([row]), np.array([slot]), plan_times([plan]))

    for row in range(labs):
        for _ in range(parallelism):
            submit(row)
    rows = np.arange(labs)
    while any(slot_of):
        ended = schedule.advance(rows)
        for row in range(labs):
            outcomes = worlds[row].collect("next")
            assert worlds[row].now_s == schedule.now_s[row]
            assert {slot_of[row][o.experiment_id] for o in outcomes} == set(
                np.flatnonzero(ended[row])
            )
            for outcome in outcomes:
                slot = slot_of[row].pop(outcome.experiment_id)
                count = len(outcome.operations)
                started = [record.started_s for record in outcome.operations]
                finished = [record.finished_s for record in outcome.operations]
                np.testing.assert_array_equal(schedule.start_s[row, slot, :count], started)
                np.testing.assert_array_equal(schedule.end_s[row, slot, :count], finished)
            for _ in outcomes:
                if given[row] < experiments:
                    submit(row)
    assert given == [experiments] * labs


def test_an_experiment_without_operations_ends_at_once():
    schedule = BatchSchedule(2, 2, 3)
    plan = PlanTimes(
        np.zeros((2, 3), dtype=np.int64), np.ones((2, 3)), np.ones((2, 3)), np.array([0, 1])
    )
    schedule.submit(np.array([0, 1]), np.array([0, 0]), plan)
    np.testing.assert_array_equal(schedule.advance(np.array([0, 1]))[:, 0], [True, True])
    np.testing.assert_array_equal(schedule.now_s, [0.0, 1.0])
    assert not schedule.advance(np.array([0, 1])).any()


def test_a_taken_place_and_a_bad_duration_are_refused():
    schedule = BatchSchedule(1, 1, 1)
    here = np.array([0])
    good = PlanTimes(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1)), np.ones((1, 1)), here + 1)
    with pytest.raises(ConfigError, match="durations"):
        schedule.submit(here, here, good._replace(duration_s=np.full((1, 1), np.nan)))
    schedule.submit(here, here, good)
    with pytest.raises(ConfigError, match="taken"):
        schedule.submit(here, here, good)
    schedule.clear(here)
    schedule.submit(here, here, good)
