"""Whatever a policy proposes, the lab answers with an outcome of finite numbers, and soon."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from labenv.lab import Lab
from labenv.lab.audit import true_mass_fractions
from labenv_schemas import LabConfig, Outcome, parse_proposal
from labenv_schemas.errors import ProposalError

GASES = ["air", "oxygen", "nitrogen", "argon", "carbon_dioxide", "vacuum"]


def quantity(low, high, unit):
    return st.floats(low, high).map(lambda number: f"{number!r} {unit}")


def operation(**fields):
    return st.fixed_dictionaries({
        k: v if hasattr(v, "map") else st.just(v) for k, v in fields.items()
    })


def plans(substances, mass_kg, target_k, rate_k_per_s, mix_s, press_pa):
    """Return a strategy of plans, as plain data, within ranges."""
    dose = operation(substance=st.sampled_from(substances), mass=quantity(*mass_kg, "kg"))
    segment = operation(
        target=quantity(*target_k, "K"),
        rate=quantity(*rate_k_per_s, "K/s"),
        hold=quantity(0.0, 2e5, "s"),
    )
    rest = st.one_of(
        operation(
            op="mix",
            method=st.sampled_from(["mortar", "ball_mill"]),
            duration=quantity(*mix_s, "s"),
        ),
        operation(op="press", pressure=quantity(*press_pa, "Pa")),
        operation(
            op="heat",
            segments=st.lists(segment, min_size=1, max_size=3),
            atmosphere=st.one_of(st.sampled_from(GASES), st.just({"o2": "0 Pa", "co2": "0.9 atm"})),
            crucible=st.sampled_from(["alumina", "zirconia", "platinum", "magnesia"]),
            cooling=st.one_of(
                st.sampled_from(["furnace", "quench"]),
                st.builds(lambda rate: {"rate": rate}, quantity(*rate_k_per_s, "K/s")),
            ),
        ),
        operation(op="regrind"),
        operation(op="measure", two_theta_min_deg=20, two_theta_max_deg=40),
    )
    return st.tuples(
        st.lists(dose, min_size=1, max_size=3), st.lists(rest, min_size=1, max_size=6)
    ).map(lambda parts: [{"op": "dose", "precursors": parts[0]}, *parts[1]])


SHELF = ["BaCO3", "BaO", "TiO2 (rutile)", "TiO2 (anatase)", "TiO2 (P25)"]
WILD = plans([*SHELF, "TiO2", "MgO"], (1e-7, 2e-2), (280, 1800), (1e-3, 0.4), (1e-3, 1e5), (1, 1e9))
TAME = plans(SHELF, (2e-4, 3e-3), (300, 1750), (2e-3, 0.16), (1, 1e4), (6e6, 4e8))


def check(operations, seed):
    """Run a plan; return the status of its outcome, or None if it is no proposal."""
    try:
        proposal = parse_proposal({"operations": operations})
    except ProposalError:
        return None
    lab = Lab(LabConfig(), seed=seed)
    outcome = lab.run(proposal)
    assert outcome.status in {"ok", "invalid", "failed_chemistry"}
    assert Outcome.from_json(outcome.to_json()) == outcome
    assert math.isfinite(outcome.cost)
    assert math.isfinite(outcome.finished_s)
    assert all(r.finished_s > r.started_s >= r.queued_s for r in outcome.operations)
    truth = true_mass_fractions(lab, outcome.experiment_id)
    if truth:
        fractions = np.array(list(truth.values()))
        assert (fractions >= 0.0).all()
        np.testing.assert_allclose(fractions.sum(), 1.0)
    if outcome.status == "invalid":
        assert outcome.message.startswith("operations[")
        assert len(outcome.message) > 40
    return outcome.status


@settings(max_examples=60, deadline=None, derandomize=True)
@given(WILD, st.integers(0, 2**62))
def test_a_wild_plan_has_an_outcome(operations, seed):
    check(operations, seed)


def test_ordinary_plans_have_outcomes_and_most_are_carried_out():
    statuses = Counter()

    @settings(max_examples=200, deadline=None, derandomize=True, database=None)
    @given(TAME, st.integers(0, 2**62))
    def every(operations, seed):
        statuses[check(operations, seed)] += 1

    every()
    assert statuses["ok"] > 60
    assert statuses["failed_chemistry"] > 0 or statuses["invalid"] > 0
