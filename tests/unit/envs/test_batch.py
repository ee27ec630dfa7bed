"""The batch path piece by piece against the lab that runs one plan at a time."""

import numpy as np
import pytest

from labenv.envs.batch_bench import BatchBench
from labenv.envs.batch_interlocks import BatchInterlocks
from labenv.envs.batch_timing import furnace_programs, step_times
from labenv.lab import Lab, audit
from labenv.lab.bench import firing_programs, load_bench
from labenv.lab.conditions import draw_conditions
from labenv.lab.interlocks import check_proposal
from labenv.lab.timing import operation_cost, operation_time
from labenv.tasks import make_task
from labenv.tasks.batch_plan import (
    DoseStep,
    HeatStep,
    MixStep,
    PressStep,
    RegrindStep,
    ScanStep,
)
from labenv_schemas import LabConfig
from labenv_schemas.errors import ProposalError
from labenv_schemas.proposal import Heat

KIND = {
    DoseStep: "dose",
    MixStep: "mix",
    PressStep: "press",
    HeatStep: "heat",
    RegrindStep: "regrind",
    ScanStep: "measure",
}
SPACE = make_task("batio3-synthesis").space
BENCH = load_bench("Ba-Ti-C-O")
VALUES = SPACE.values_from_unit(np.random.default_rng(0).random((40, SPACE.n)))
PROPOSALS = [SPACE.decode(row) for row in VALUES]
PLAN = SPACE.batch_blueprint().plan_batch(VALUES, BENCH.shelf)


def test_batch_plan_has_the_operations_of_each_proposal_in_order():
    found = [{} for _ in PROPOSALS]
    for step in PLAN.steps:
        for row, place in zip(step.rows.tolist(), step.operation.tolist(), strict=True):
            assert place not in found[row]
            found[row][place] = KIND[type(step)]
    for operations, proposal in zip(found, PROPOSALS, strict=True):
        listed = [operations[k] for k in range(len(operations))]
        assert listed == [operation.op for operation in proposal.operations]
        assert len(listed) <= SPACE.batch_blueprint().longest_plan


def test_times_and_costs_are_those_of_the_lab():
    for step in PLAN.steps:
        takes = step_times(step, BENCH.shelf)
        for k, (row, place) in enumerate(zip(step.rows, step.operation, strict=True)):
            operation = PROPOSALS[row].operations[place]
            assert takes.duration_s[k] == operation_time(operation).duration_s
            assert takes.duration_s[k] == operation_time(operation).occupied_s
            assert takes.cost[k] == operation_cost(operation, BENCH.shelf)


def test_furnace_programmes_are_those_of_the_lab():
    heats = [next(o for o in p.operations if isinstance(o, Heat)) for p in PROPOSALS]
    expected = firing_programs(heats)
    segments = [heat.segments[0] for heat in heats]
    given = furnace_programs(
        np.array([s.target_k for s in segments]),
        np.array([s.rate_k_per_s for s in segments]),
        np.array([s.hold_s for s in segments]),
    )
    assert np.array_equal(given.time_s, expected.time_s)
    assert np.array_equal(given.temperature_k, expected.temperature_k)


def test_counts_are_those_of_the_lab_to_the_bit():
    seeds = list(range(100, 140))
    conditions = draw_conditions(BENCH.system, BENCH.shelf, seeds)
    index = np.zeros(len(seeds), dtype=np.int64)
    run = BatchBench(BENCH, SPACE.batch_blueprint().longest_plan).run(
        PLAN, seeds, index, conditions
    )
    scanned = {int(row): counts for row, counts in zip(run.scanned, run.counts, strict=True)}
    accepted = 0
    for row, proposal in enumerate(PROPOSALS):
        outcome = Lab(LabConfig(), seed=seeds[row]).run(proposal)
        if outcome.status == "invalid":
            continue
        accepted += 1
        assert (outcome.status == "failed_chemistry") == run.melted[row]
        assert outcome.cost == run.cost[row]
        if outcome.status == "ok":
            assert np.array_equal(outcome.measurements[-1].counts, scanned[row])
    assert accepted > 30


def test_interlocks_agree_on_every_plan():
    values = SPACE.values_from_unit(np.random.default_rng(1).random((300, SPACE.n)))
    hot = SPACE.names.index("firing_k"), SPACE.names.index("barium_per_titanium")
    values[:150, hot[0]] = 1600.15 + np.arange(150) % 100
    values[:150, hot[1]] = np.round(0.9 + (np.arange(150) % 60) * 1e-3, 3)
    interlocks = BatchInterlocks(SPACE, BENCH)
    refused = interlocks.refused(values)
    for row, value in enumerate(values):
        try:
            check_proposal(SPACE.decode(value), BENCH)
            message = ""
        except ProposalError as error:
            message = str(error)
        assert bool(message) == refused[row]
        assert interlocks.message(value) == message
    assert 20 < refused.sum() < 280


def test_true_purity_is_measured_honestly():
    """The measured fractions follow the true ones; see the benchmark of policies for the spread."""
    errors = []
    for row in range(12):
        lab = Lab(LabConfig(), seed=row)
        outcome = lab.run(PROPOSALS[row])
        if outcome.status != "ok":
            continue
        truth = audit.true_mass_fractions(lab, outcome.experiment_id)
        crystalline = 1.0 - truth["amorphous"]
        reading = make_task("batio3-synthesis").quantifier().quantify(outcome.measurements[-1])
        errors += [
            reading.weight_fraction(name) - truth[name] / crystalline
            for name in ("BaTiO3-tetragonal", "witherite")
        ]
    assert np.mean(np.abs(errors)) < 0.02


def test_reading_refuses_unequal_steps():
    from labenv_schemas import Diffractogram
    from labenv_schemas.errors import ConfigError

    angles = np.linspace(10.0, 70.0, 2001) ** 1.01
    scan = Diffractogram(two_theta_deg=angles, counts=np.ones(2001))
    with pytest.raises(ConfigError, match="equal steps"):
        make_task("batio3-synthesis").quantifier().quantify(scan)
