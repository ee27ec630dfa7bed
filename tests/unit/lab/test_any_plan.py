"""Whatever a policy proposes, the lab answers with an outcome of finite numbers, and soon."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from labenv.lab import Lab
from labenv.lab.audit import true_mass_fractions
from labenv_schemas import LabConfig, Outcome, parse_proposal
from labenv_schemas.errors import ProposalError

SUBSTANCES = ["BaCO3", "BaO", "TiO2 (rutile)", "TiO2 (anatase)", "TiO2 (P25)", "TiO2", "MgO"]
GASES = ["air", "oxygen", "nitrogen", "argon", "carbon_dioxide", "vacuum"]

doses = st.lists(
    st.fixed_dictionaries({
        "substance": st.sampled_from(SUBSTANCES),
        "mass": st.floats(1e-7, 2e-2).map(lambda m: f"{m!r} kg"),
    }),
    min_size=1,
    max_size=4,
)
segments = st.lists(
    st.fixed_dictionaries({
        "target": st.floats(280.0, 1800.0).map(lambda t: f"{t!r} K"),
        "rate": st.floats(1e-3, 0.4).map(lambda r: f"{r!r} K/s"),
        "hold": st.floats(0.0, 3e5).map(lambda h: f"{h!r} s"),
    }),
    min_size=1,
    max_size=4,
)
operations = st.one_of(
    st.fixed_dictionaries({
        "op": st.just("mix"),
        "method": st.sampled_from(["mortar", "ball_mill"]),
        "duration": st.floats(1e-3, 1e5).map(lambda t: f"{t!r} s"),
    }),
    st.fixed_dictionaries({
        "op": st.just("press"),
        "pressure": st.floats(1.0, 1e9).map(lambda p: f"{p!r} Pa"),
    }),
    st.fixed_dictionaries({
        "op": st.just("heat"),
        "segments": segments,
        "atmosphere": st.one_of(
            st.sampled_from(GASES),
            st.fixed_dictionaries({"o2": st.just("0 Pa"), "co2": st.just("0.9 atm")}),
        ),
        "crucible": st.sampled_from(["alumina", "zirconia", "platinum", "magnesia"]),
        "cooling": st.sampled_from(["furnace", "quench"]),
    }),
    st.fixed_dictionaries({"op": st.just("regrind")}),
    st.fixed_dictionaries({
        "op": st.just("measure"),
        "two_theta_min_deg": st.just(20),
        "two_theta_max_deg": st.just(40),
    }),
)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(doses, st.lists(operations, max_size=6), st.integers(0, 2**62))
def test_any_plan_has_an_outcome_of_finite_numbers(precursors, rest, seed):
    try:
        proposal = parse_proposal({"operations": [{"op": "dose", "precursors": precursors}, *rest]})
    except ProposalError:
        return
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
