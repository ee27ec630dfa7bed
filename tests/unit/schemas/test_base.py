"""What every model promises: closed, frozen, finite, and nothing lost on the wire."""

import json
import math
from typing import get_args

import numpy as np
import pytest
from pydantic import ValidationError

from labenv_schemas import (
    Budget,
    CampaignConfig,
    Diffractogram,
    HeatSegment,
    LabConfig,
    Model,
    Outcome,
    Proposal,
    Score,
    TaskSpec,
    parse,
)
from labenv_schemas.base import KeepsNone
from labenv_schemas.campaign import PolicyConfig, PublishedOutcome
from labenv_schemas.errors import ConfigError
from labenv_schemas.json_values import to_plain_json
from labenv_schemas.measurement import Radiation
from labenv_schemas.proposal import Mix
from labenv_schemas.units import InNamedUnit, MassKg


def models(kind=Model):
    for model in kind.__subclasses__():
        if model.__module__.startswith("labenv_schemas."):
            yield model
            yield from models(model)


def test_a_field_that_may_be_none_comes_back_as_none():
    for model in set(models()):
        for name, field in model.model_fields.items():
            if type(None) in get_args(field.annotation) and field.get_default() is not None:
                assert issubclass(model, KeepsNone), (
                    f"{model.__name__}.{name} turns None to default"
                )


def test_none_is_not_the_default():
    radiation = Radiation(k_alpha2_a=None)
    assert json.loads(radiation.to_json())["k_alpha2_a"] is None
    assert Radiation.from_json(radiation.to_json()) == radiation
    assert radiation.model_dump(by_alias=False)["k_alpha2_a"] is None
    score = Score(value=None, reward=0.0, reason="machine failed")
    assert Score.from_json(score.to_json()) == score
    published = PublishedOutcome(phases={"batio3": None}, statement="seen")
    assert PublishedOutcome.from_json(published.to_json()) == published


def test_a_number_under_a_name_with_a_unit_is_in_that_unit():
    for number in (1373, 1373.0, np.float64(1373), np.float32(1373), np.int32(1373)):
        made = HeatSegment(target_k=number)
        assert made.target_k == 1373.0
        assert type(made.target_k) is float


def test_a_name_with_a_unit_needs_no_alias():
    class Tray(Model):
        tare_kg: MassKg

    assert Tray(tare_kg=0.01).tare_kg == 0.01
    assert Tray(tare_kg="10 g").tare_kg == 0.01
    assert Tray.from_json(Tray(tare_kg=0.01).to_json()) == Tray(tare_kg=0.01)


def test_a_mark_does_not_outlive_reading():
    assert not isinstance(Mix(duration_s=InNamedUnit(5)).duration_s, InNamedUnit)


def test_models_are_closed_and_frozen():
    with pytest.raises(ValidationError, match="Extra inputs"):
        LabConfig(furnace=2)
    with pytest.raises(ValidationError, match="frozen"):
        LabConfig().furnaces = 3


def test_a_copy_is_checked():
    segment = HeatSegment(target_k=1373.15)
    assert segment.model_copy(update={"hold_s": 60.0}).hold_s == 60.0
    assert segment.model_copy() == segment
    for update in ({"hold_s": math.nan}, {"hold_s": -1.0}, {"holds": 1.0}, {"target_k": 25.0}):
        with pytest.raises(ValueError, match=r"."):
            segment.model_copy(update=update)


def test_a_copy_shares_what_did_not_change():
    scan = Diffractogram(two_theta_deg=[1, 2], counts=[3, 4])
    outcome = Outcome(experiment_id="x", status="ok", measurements=(scan,))
    copied = outcome.model_copy(update={"warnings": ("w",)})
    assert copied.measurements[0] is scan
    assert copied.warnings == ("w",)


def test_a_number_that_went_round_the_checks_cannot_be_read_as_absent():
    smuggled = Score.model_construct(value=math.nan, reward=0.0, reason="", success=False)
    json.loads(smuggled.to_json(), parse_constant=pytest.fail)
    with pytest.raises(ValueError, match="finite"):
        Score.from_json(smuggled.to_json())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": math.nan}, "options: x: nan is not a finite number"),
        ({"a": [{"b": math.inf}]}, "options: a[0].b: inf is not a finite number"),
        ({"x": np.float32("inf")}, "not a finite number"),
        ({"x": 2**63}, "does not fit 64 bits"),
        ({"x": 10**400}, "does not fit 64 bits"),
        ({"x": {1: 2}}, "key that is not text"),
        ({1: 2}, "key that is not text"),
        ({"x": object()}, "object has no form in JSON"),
        ({"x": b"raw"}, "bytes has no form in JSON"),
        ({"x": 5j}, "complex has no form in JSON"),
        ({"x": np.array([1, 2])}, "ndarray has no form in JSON"),
        ([1], "options: [1] is not an object"),
    ],
)
def test_options_are_plain_finite_json(options, message):
    with pytest.raises(ConfigError) as caught:
        parse(PolicyConfig, {"options": options}, ConfigError)
    assert message in str(caught.value)


def test_options_deeper_than_any_policy_needs():
    deep = {}
    for _ in range(5000):
        deep = {"x": deep}
    with pytest.raises(ValueError, match="deeper than 20"):
        PolicyConfig(options=deep)


def test_options_come_back_as_given():
    options = {"n": np.int64(3), "x": np.float64(0.1), "on": np.True_, "l": (1, None, "t")}
    made = PolicyConfig(options=options)
    assert made.options == {"n": 3, "x": 0.1, "on": True, "l": [1, None, "t"]}
    assert PolicyConfig.from_json(made.to_json()) == made
    assert to_plain_json(None) is None


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (Budget, {"experiments": None}, "needs at least one limit"),
        (Budget, {"lab_time": 5}, "lab_time: 5 has no unit"),
        (Budget, {"cost": math.inf}, "cost"),
        (Budget, {"experiments": 10**400}, "experiments"),
        (LabConfig, {"randomise": "a"}, "randomise: 'a' is neither true nor false"),
        (LabConfig, {"machine_failure_rate": math.nan}, "machine_failure_rate"),
        (CampaignConfig, {"name": "x", "seed": 2**63}, "seed"),
        (CampaignConfig, {"name": "x", "seed": 1.5}, "seed"),
        (PublishedOutcome, {"phases": {"a": 0.7, "b": 0.5}, "statement": ""}, "add up to 1.2"),
        (PublishedOutcome, {"phases": {"a": math.nan}, "statement": ""}, "phases.a"),
        (PublishedOutcome, {"phases": {"a": 1.5}, "statement": ""}, "phases.a"),
        (
            TaskSpec,
            {"name": "t", "system": "s", "target": "NaN", "target_phases": ["a"]},
            "target: the formula is missing",
        ),
        (
            TaskSpec,
            {
                "name": "t",
                "system": "s",
                "target": "BaTiO3",
                "target_phases": ["a"],
                "allowed_operations": ["dose", "sing"],
            },
            "no operation is called 'sing'",
        ),
    ],
)
def test_users_mistakes(model, data, message):
    with pytest.raises(ConfigError) as caught:
        parse(model, data, ConfigError)
    assert message in str(caught.value)


def test_recipes_have_different_names():
    dose = {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]}
    recipe = {
        "name": "a",
        "citation": "Someone 1999",
        "proposal": Proposal.model_validate({"operations": [dose]}),
        "published": {"phases": {}, "statement": ""},
    }
    assert len(CampaignConfig(name="x", recipes=[recipe]).recipes) == 1
    with pytest.raises(ValidationError, match="repeated: a"):
        CampaignConfig(name="x", recipes=[recipe, recipe])
