"""Messages name the place as it was written, and what was probably meant."""

import pytest
from pydantic import BaseModel, ValidationError

from labenv_schemas import CampaignConfig, Heat, Proposal, parse, parse_proposal
from labenv_schemas.base import describe
from labenv_schemas.errors import ConfigError, MeasurementFileError, ProposalError
from labenv_schemas.measurement import Diffractogram, MassReading
from labenv_schemas.suggestions import meant

DOSE = {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]}


def faults(*operations, **fields):
    with pytest.raises(ProposalError) as caught:
        parse_proposal({"operations": [DOSE, *operations], **fields})
    return str(caught.value).splitlines()


def test_the_place_leaves_out_what_only_pydantic_knows():
    lines = faults({"op": "heat", "segments": [{"target": "1 K/min"}]})
    assert [line.split(": ")[0] for line in lines] == ["operations[1].segments[0].target"]


def test_the_place_uses_the_name_that_was_written():
    heat = {"op": "heat", "segments": [{"target_k": "hot", "hold": "long"}]}
    assert [line.split(": ")[0] for line in faults(heat)] == [
        "operations[1].segments[0].target_k",
        "operations[1].segments[0].hold",
    ]


def test_a_place_in_json_text_uses_the_name_that_was_written():
    text = '{"operations": [{"op": "heat", "segments": [{"target_k": "hot"}]}]}'
    with pytest.raises(ProposalError, match=r"^operations\[0\]\.segments\[0\]\.target_k: 'hot'"):
        Proposal.from_json(text)


@pytest.mark.parametrize(
    ("field", "suggestion"),
    [
        ("temprature", "target"),
        ("temperature", "target"),
        ("Target", "target"),
        ("targt", "target"),
        ("dwell", "hold"),
        ("time", "hold"),
        ("ramp_rate", "rate"),
        ("heating rate", "rate"),
    ],
)
def test_an_unknown_field_is_answered_with_a_guess(field, suggestion):
    lines = faults({"op": "heat", "segments": [{"target": "1 kK", field: "1"}]})
    assert lines == [
        f"operations[1].segments[0]: unknown field {field!r}; did you mean {suggestion!r}?"
    ]


def test_without_a_guess_the_fields_are_listed():
    lines = faults({"op": "heat", "segments": [{"target": "1 kK", "qqq": 1}]})
    assert lines == [
        "operations[1].segments[0]: unknown field 'qqq'; the fields are target, rate, hold"
    ]
    assert faults(qqq=1) == ["unknown field 'qqq'; the fields are operations, rationale"]


def test_a_missing_or_unknown_operation_names_those_there_are():
    known = "dose, mix, press, heat, regrind, measure, measure_resistance, "
    known += "measure_magnetisation, weigh, measure_density, measure_composition"
    assert faults({"segments": []}) == [f"operations[1]: 'op' is missing; it is one of {known}"]
    assert faults({"op": "calcine"}) == [
        f"operations[1]: op 'calcine' is not one of {known}; did you mean 'heat'?"
    ]
    assert faults({"op": "qqqq"}) == [f"operations[1]: op 'qqqq' is not one of {known}"]


@pytest.mark.parametrize("operation", ["heat", 5, None, ["heat"]])
def test_an_operation_that_is_no_object(operation):
    assert faults(operation) == [f"operations[1]: {operation!r} is not an object with named fields"]


def test_a_word_or_an_object_gives_one_fault():
    segments = [{"target": "1 kK"}]
    lines = faults(
        {"op": "heat", "segments": segments, "atmosphere": "O2", "cooling": "slow"},
        {"op": "heat", "segments": segments, "atmosphere": {"n2": "1 bar"}, "cooling": 5},
        {"op": "heat", "segments": segments, "cooling": {"rate": 5}, "crucible": "Pt"},
    )
    gases = "air, oxygen, nitrogen, argon, carbon_dioxide, vacuum, nor an object with o2, co2"
    assert lines == [
        f"operations[1].atmosphere: 'O2' is not one of {gases}; did you mean 'oxygen'?",
        "operations[1].cooling: 'slow' is not one of furnace, quench, nor an object with rate",
        "operations[2].atmosphere: unknown field 'n2'; the fields are o2, co2",
        "operations[2].cooling: 5 is not one of furnace, quench, nor an object with rate",
        "operations[3].crucible: 'Pt' is not one of alumina, zirconia, platinum, magnesia; "
        "did you mean 'platinum'?",
        "operations[3].cooling.rate: 5 has no unit; write '5 K/min' or '300 degC/h'",
    ]


def test_a_list_given_as_an_object():
    with pytest.raises(ProposalError, match=r"^operations: \{'op': 'heat'\} is not a list$"):
        parse_proposal({"operations": {"op": "heat"}})


def test_many_faults_are_cut_short():
    segments = [{"target": 1, "hold": 1}] * 60
    lines = faults({"op": "heat", "segments": segments})
    assert len(lines) == 21
    assert lines[-1] == "and 100 more faults"


def test_long_input_is_cut_short():
    assert all(len(line) < 250 for line in faults({"op": "x" * 10_000}, rationale="y" * 30_000))


def test_users_files_get_their_own_error():
    with pytest.raises(ConfigError, match=r"^lab\.furnaces: 0 must be at least 1$"):
        parse(CampaignConfig, {"name": "x", "lab": {"furnaces": 0}}, ConfigError)
    data = {"name": "x", "recipes": [{"proposal": {"operations": [{"op": "dos"}]}}]}
    with pytest.raises(ConfigError, match=r"\nrecipes\[0\]\.proposal\.operations\[0\]: op 'dos'"):
        parse(CampaignConfig, data, ConfigError)
    with pytest.raises(MeasurementFileError, match="two_theta_deg: is missing"):
        Diffractogram.from_json("{}", MeasurementFileError)


def test_a_kind_that_is_also_a_field():
    with pytest.raises(ValidationError) as caught:
        MassReading.model_validate({"kind": "mass", "mass": 5, "standard_uncertainty": "1 mg"})
    assert describe(caught.value).startswith("mass: 5 has no unit")


def test_an_error_is_described_by_the_name_of_its_model():
    with pytest.raises(ValidationError) as caught:
        Heat.model_validate({"segments": [{"target": 5}]})
    assert describe(caught.value).startswith("segments[0].target: 5 has no unit")


def test_an_error_of_a_foreign_model_is_described_all_the_same():
    class Foreign(BaseModel):
        number: int

    with pytest.raises(ValidationError) as caught:
        Foreign.model_validate({"number": "x"})
    assert describe(caught.value) == "number: 'x' is not a whole number"


@pytest.mark.parametrize(
    ("word", "expected"), [("Oxygen ", "oxygen"), ("flowing oxygen", "oxygen"), ("zzz", None)]
)
def test_guesses(word, expected):
    assert meant(word, ["air", "oxygen"]) == expected


def test_guesses_know_names_in_any_case_and_give_them_as_they_are():
    assert meant("licoo2", ["Co3O4", "LiCoO2"]) == "LiCoO2"
    assert meant("BaTiO3-cubik", ["BaTiO3-cubic", "BaTiO3-tetragonal"]) == "BaTiO3-cubic"
    assert meant("abcdef", ["abcxyz"]) is None
    assert meant("abcdef", ["abcxyz"], cutoff=0.5) == "abcxyz"
