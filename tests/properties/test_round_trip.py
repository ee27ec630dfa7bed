"""What goes out as JSON comes back equal, to the last bit, and fits the exported schema."""

import json
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jsonschema import Draft202012Validator

from labenv_schemas import (
    Budget,
    CampaignConfig,
    Diffractogram,
    Outcome,
    PhaseAnalysis,
    PhaseFraction,
    Proposal,
    Recipe,
    Score,
    parse_proposal,
)
from labenv_schemas.arrays import to_finite_vector
from labenv_schemas.campaign import LabConfig, PolicyConfig, PublishedOutcome
from labenv_schemas.export import json_schemas
from labenv_schemas.measurement import Radiation
from labenv_schemas.proposal import (
    ControlledCooling,
    Dose,
    GasMixture,
    Heat,
    HeatSegment,
    Measure,
    Mix,
    PrecursorDose,
    Press,
    Regrind,
)

SCHEMAS = {name: Draft202012Validator(schema) for name, schema in json_schemas().items()}
text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
number = st.floats(-1e300, 1e300)
seconds = st.floats(0, 1e9)


def build(kind, **fields):
    """Make models by their Python names; `st.builds` would fill the wire names in as well."""
    return st.fixed_dictionaries(fields).map(lambda given: kind(**given))


def positive(most):
    return st.floats(1e-12, most)


precursors = build(PrecursorDose, substance=text.filter(bool), mass_kg=positive(10.0)) | build(
    PrecursorDose, substance=text.filter(bool), amount_mol=positive(1000.0)
)
segments = build(
    HeatSegment,
    target_k=st.floats(273.15, 4000.0),
    rate_k_per_s=st.floats(1e-5, 1000.0),
    hold_s=st.floats(0, 60 * 86_400.0),
)
heats = build(
    Heat,
    segments=st.lists(segments, min_size=1, max_size=4),
    atmosphere=st.sampled_from(["air", "oxygen", "vacuum"])
    | build(GasMixture, o2_pa=st.floats(0, 1e5), co2_pa=st.floats(0, 1e5)),
    crucible=st.sampled_from(["alumina", "platinum"]),
    cooling=st.sampled_from(["furnace", "quench"])
    | build(ControlledCooling, rate_k_per_s=st.floats(1e-5, 1000.0)),
)
measures = build(
    Measure,
    two_theta_min_deg=st.floats(5, 50),
    two_theta_max_deg=st.floats(80, 150),
    step_deg=st.floats(0.005, 0.2),
    scan_time_s=positive(604_800.0),
)
operations = (
    build(Mix, method=st.sampled_from(["mortar", "ball_mill"]), duration_s=positive(604_800.0))
    | build(Press, pressure_pa=positive(2e9))
    | build(Regrind, duration_s=positive(604_800.0))
    | heats
    | measures
)
proposals = st.builds(
    lambda dose, rest, rationale: Proposal(operations=(dose, *rest), rationale=rationale),
    build(Dose, precursors=st.lists(precursors, min_size=1, max_size=3)),
    st.lists(operations, max_size=5),
    st.none() | text,
)
moments = st.datetimes(
    min_value=datetime(1900, 1, 1),
    max_value=datetime(2200, 1, 1),
    timezones=st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m))),
)
vectors = hnp.arrays(np.float64, 5, elements=st.floats(allow_nan=False, allow_infinity=False))
scans = build(
    Diffractogram,
    two_theta_deg=st.lists(st.floats(0, 180), min_size=5, max_size=5, unique=True).map(sorted),
    counts=vectors,
    measured_at=st.none() | moments,
    radiation=build(Radiation, k_alpha2_a=st.none() | st.floats(0.5, 5), anode=st.none() | text),
    provenance=st.dictionaries(text, text, max_size=2),
)
analyses = build(
    PhaseAnalysis,
    status=st.sampled_from(["ok", "poor_fit", "unidentified"]),
    phases=st.lists(
        build(
            PhaseFraction,
            name=text,
            formula=text,
            weight_fraction=st.floats(0, 0.5),
            uncertainty=seconds,
        ),
        max_size=2,
    ),
    goodness_of_fit=seconds,
    r_wp=seconds,
)
outcomes = build(
    Outcome,
    experiment_id=text,
    status=st.sampled_from(["ok", "invalid", "failed_machine"]),
    message=text.filter(bool),
    measurements=st.lists(scans, max_size=2),
    analyses=st.lists(analyses, max_size=2),
    cost=seconds,
    recorded_at=st.none() | moments,
)
budgets = build(
    Budget,
    experiments=st.none() | st.integers(1, 1_000_000),
    lab_time_s=st.none() | positive(1e9),
    cost=positive(1e9),
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | number | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
campaigns = build(
    CampaignConfig,
    name=text.filter(bool),
    lab=build(LabConfig, furnaces=st.integers(1, 64), randomise=st.booleans()),
    policy=build(PolicyConfig, options=st.dictionaries(text, plain, max_size=3)),
    budget=st.none() | budgets,
    seed=st.integers(0, 2**63 - 1),
    recipes=st.lists(
        build(
            Recipe,
            name=text,
            citation=st.just("Someone, 1999"),
            proposal=proposals,
            published=build(
                PublishedOutcome,
                phases=st.dictionaries(text, st.none() | st.floats(0, 0.3), max_size=3),
                statement=text,
            ),
        ),
        max_size=1,
    ),
)
slow = settings(max_examples=40, deadline=None)


def check(model, schema=None):
    wire = model.to_json()
    data = json.loads(wire, parse_constant=pytest.fail)
    assert type(model).from_json(wire) == model
    assert type(model).model_validate(data) == model
    assert type(model).from_json(wire).to_json() == wire
    if schema is not None:
        SCHEMAS[schema].validate(data)


@slow
@given(proposals)
def test_proposals(proposal):
    check(proposal, "proposal")
    assert parse_proposal(proposal.to_json()) == proposal
    for operation in proposal.operations:
        check(operation, "operation")


@slow
@given(scans)
def test_diffractograms_bit_for_bit(scan):
    check(scan, "measurement")
    back = Diffractogram.from_json(scan.to_json())
    assert back.counts.tobytes() == scan.counts.tobytes()
    assert back.two_theta_deg.tobytes() == scan.two_theta_deg.tobytes()


@slow
@given(outcomes)
def test_outcomes(outcome):
    check(outcome, "outcome")


@slow
@given(campaigns)
def test_campaigns(campaign):
    check(campaign, "campaign")


@given(budgets)
def test_budgets(budget):
    check(budget, "budget")


@given(build(Score, value=st.none() | st.floats(0, 1), reward=number, success=st.booleans()))
def test_scores(score):
    check(score)


@slow
@given(moments)
def test_times_keep_their_moment(moment):
    scan = Diffractogram(two_theta_deg=[1, 2], counts=[3, 4], measured_at=moment)
    assert scan.measured_at == moment
    assert scan.measured_at.utcoffset() == timedelta(0)
    check(scan)


@given(hnp.arrays(st.sampled_from([np.float64, np.float32, np.int32, np.uint8]), st.integers(0, 9)))
def test_arrays_are_finite_or_refused(array):
    if np.isfinite(array).all():
        assert to_finite_vector(array).tolist() == array.astype(np.float64).tolist()
    else:
        with pytest.raises(ValueError, match="is not finite"):
            to_finite_vector(array)
