"""The columns' form of every vocabulary model restores an equal model, without pint."""

from __future__ import annotations

import json

import pytest

from labenv.store.plain import arrays_in, plain
from labenv.store.types import to_json
from labenv.testing.samples import OTHER_PROPOSAL, PROPOSAL, every_measurement, outcome
from labenv_schemas import Budget, CampaignConfig, LabConfig, Recipe
from labenv_schemas.campaign import PolicyConfig, PublishedOutcome
from labenv_schemas.measurement import Radiation

RECIPE = Recipe(
    name="r",
    citation="doi:10.1000/182",
    proposal=PROPOSAL,
    published=PublishedOutcome(phases={"batio3": None, "ba2tio4": 0.1}, statement="Both."),
)
MODELS = [
    PROPOSAL,
    OTHER_PROPOSAL,
    Budget(experiments=None, lab_time="30 d", cost=0.1),
    Budget(experiments=3),
    Radiation(k_alpha2_a=None, anode=None),
    RECIPE,
    CampaignConfig(
        name="n",
        lab=LabConfig(furnaces=3, machine_failure_rate=0.1),
        policy=PolicyConfig(name="random", options={"deep": {"list": [1, 2.5, None, "x", True]}}),
        budget=Budget(experiments=None, lab_time="1 h"),
        recipes=(RECIPE,),
    ),
    outcome("e-0").model_copy(update={"measurements": ()}),
    *outcome("e-0").analyses,
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_comes_back_equal_from_its_columns(model):
    restored = type(model).model_validate(json.loads(to_json(plain(model))))
    assert restored == model
    assert plain(restored) == plain(model)


@pytest.mark.parametrize("measurement", every_measurement(), ids=lambda model: model.kind)
def test_a_measurement_comes_back_equal_from_columns_and_arrays(measurement):
    arrays = arrays_in(measurement)
    text = to_json(plain(measurement, without=arrays.keys()))
    assert type(measurement).model_validate({**json.loads(text), **arrays}) == measurement


@pytest.mark.parametrize("extra", [{1: "one"}, {"a": {1.5: "x"}}])
def test_keys_are_text(extra):
    with pytest.raises(ValueError, match="is not text"):
        plain(extra)


def test_numbers_are_si_under_names_with_units():
    heat = plain(PROPOSAL)["operations"][2]
    assert heat["segments"][0]["target_k"] == 1373.15
    assert heat["atmosphere"] == {"o2_pa": 20000.0, "co2_pa": 40.0}
