"""The exported JSON Schemas: valid, small, fit to be tool schemas, and in step with the models."""

import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from labenv_schemas import CampaignConfig, Proposal, parse_proposal, parse_quantity
from labenv_schemas.characterisation import TECHNIQUES
from labenv_schemas.errors import ProposalError
from labenv_schemas.export import json_schemas, write_json_schemas
from labenv_schemas.proposal import Heat, HeatSegment, Measure, Regrind

SCHEMAS = json_schemas()
EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def objects(schema):
    """Return every object schema within one, with the place where it stands."""
    return {"root": schema, **schema.get("$defs", {})}


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_is_a_valid_schema_of_2020_12(name):
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == name
    json.loads(json.dumps(schema), parse_constant=pytest.fail)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_object_is_closed_and_everything_is_described(name):
    for place, schema in objects(SCHEMAS[name]).items():
        assert schema.get("description"), place
        if schema.get("type") == "object":
            assert schema["additionalProperties"] is False, place
        for field, given in schema.get("properties", {}).items():
            assert given.get("description"), f"{place}.{field}"
            assert "title" not in given, f"{place}.{field}"
            assert "x-unit" not in given, f"{place}.{field}"


def test_defaults_of_quantities_are_text_that_the_reader_takes():
    found = 0
    for schema in SCHEMAS.values():
        for place, kind in objects(schema).items():
            for field, given in kind.get("properties", {}).items():
                if given.get("type") == "string" and "default" in given and "pattern" in given:
                    found += 1
                    assert isinstance(given["default"], str), f"{place}.{field}"
                    Draft202012Validator(given).validate(given["default"])
    assert found > 5
    heat = SCHEMAS["proposal"]["$defs"]["HeatSegment"]["properties"]
    assert heat["rate"]["default"] == "5 K/min"
    expected = HeatSegment.model_fields["rate_k_per_s"].default
    assert parse_quantity("5 K/min", "K/s") == expected
    measure = SCHEMAS["proposal"]["$defs"]["Measure"]["properties"]
    assert measure["scan_time"]["default"] == "8 min"
    assert parse_quantity("8 min", "s") == Measure().scan_time_s
    regrind = SCHEMAS["proposal"]["$defs"]["Regrind"]["properties"]["duration"]["default"]
    assert parse_quantity(regrind, "s") == Regrind().duration_s


def test_limits_of_quantities_are_told():
    mix = SCHEMAS["proposal"]["$defs"]["Mix"]["properties"]["duration"]
    assert mix["description"] == "How long to mix; at most 7 d."
    target = SCHEMAS["proposal"]["$defs"]["HeatSegment"]["properties"]["target"]
    assert target["description"] == "Temperature to reach, 0 degC or above; at most 4000 K."


def test_operations_are_told_apart_by_a_required_tag():
    items = SCHEMAS["proposal"]["properties"]["operations"]["items"]
    mapping = items["discriminator"]["mapping"]
    basic = {"dose", "mix", "press", "heat", "regrind", "measure"}
    assert set(mapping) == basic | set(TECHNIQUES.values())
    assert {choice["$ref"] for choice in items["oneOf"]} == set(mapping.values())
    for op, reference in mapping.items():
        kind = SCHEMAS["proposal"]["$defs"][reference.rpartition("/")[2]]
        assert kind["properties"]["op"]["const"] == op
        assert "op" in kind["required"]


def test_one_schema_costs_few_tokens():
    # Four characters make about one token of English JSON.
    assert len(json.dumps(SCHEMAS["proposal"], separators=(",", ":"))) < 4 * 2800


DOSE = {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]}
HEAT = {"op": "heat", "segments": [{"target": "1100 degC"}]}


@pytest.mark.parametrize(
    "operations",
    [
        [DOSE],
        [DOSE, HEAT],
        [DOSE, {**HEAT, "atmosphere": "argon", "cooling": "quench"}],
        [DOSE, {**HEAT, "atmosphere": {"o2": "1 mbar"}, "cooling": {"rate": "2 K/min"}}],
        [DOSE, {"op": "mix", "duration": "6 h"}, {"op": "press", "pressure": "1e8 Pa"}, HEAT],
        [{"op": "dose", "precursors": [{"substance": "BaCO3", "amount": ".5 mmol"}]}],
        [DOSE, {"op": "measure", "technique": "xrd", "step_deg": 0.02, "scan_time": "-0 s"}][:1],
    ],
)
def test_what_the_schema_takes_the_model_takes(operations):
    plan = {"operations": operations}
    Draft202012Validator(SCHEMAS["proposal"]).validate(plan)
    made = parse_proposal(plan)
    Draft202012Validator(SCHEMAS["proposal"]).validate(json.loads(made.to_json()))
    for operation in operations:
        Draft202012Validator(SCHEMAS["operation"]).validate(operation)


@pytest.mark.parametrize(
    "operation",
    [
        {"segments": [{"target": "1100 degC"}]},
        {"op": "calcine", "segments": [{"target": "1100 degC"}]},
        {"op": "heat", "segments": []},
        {"op": "heat", "segments": [{}]},
        {"op": "heat", "segments": [{"target": 1100}]},
        {"op": "heat", "segments": [{"target": "1100"}]},
        {"op": "heat", "segments": [{"target": "1100 "}]},
        {"op": "heat", "segments": [{"target": "1,1 kK"}]},
        {"op": "heat", "segments": [{"target": "hot"}]},
        {"op": "heat", "segments": [{"target": "1e3"}]},
        {"op": "heat", "segments": [{"target": "1 kK", "temprature": "1 kK"}]},
        {**HEAT, "atmosphere": "helium"},
        {**HEAT, "cooling": {"speed": "1 K/min"}},
        {"op": "measure", "step_deg": 5},
        {"op": "dose", "precursors": [{"substance": "BaCO3"}]},
        {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g", "amount": "1 mol"}]},
    ],
)
def test_what_the_schema_refuses_the_model_refuses(operation):
    plan = {"operations": [DOSE, operation] if operation.get("op") != "dose" else [operation]}
    assert not Draft202012Validator(SCHEMAS["proposal"]).is_valid(plan)
    with pytest.raises(ProposalError):
        parse_proposal(plan)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.name)
def test_examples_fit_schema_and_model(file):
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    if "name" not in data:
        pytest.skip("not a campaign file")
    Draft202012Validator(SCHEMAS["campaign"]).validate(data)
    config = CampaignConfig.model_validate(data)
    for recipe in config.recipes:
        wire = json.loads(recipe.proposal.to_json())
        Draft202012Validator(SCHEMAS["proposal"]).validate(wire)


def test_a_models_own_schema_is_the_exported_one():
    own = Proposal.model_json_schema()
    exported = {key: part for key, part in SCHEMAS["proposal"].items() if key not in {"$schema"}}
    assert {**exported, "title": None} == {**own, "title": None}
    assert Heat.model_json_schema()["properties"]["op"]["const"] == "heat"


def test_files_are_written_sorted(tmp_path):
    written = write_json_schemas(tmp_path / "new" / "folder")
    assert [path.name for path in written] == sorted(f"{name}.schema.json" for name in SCHEMAS)
    for path in written:
        schema = json.loads(path.read_text(encoding="utf-8"))
        assert schema == SCHEMAS[schema["title"]]
    assert write_json_schemas(tmp_path / "new" / "folder") == written
