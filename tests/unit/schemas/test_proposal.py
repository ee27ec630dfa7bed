"""What a plan may be, and what it says when it may not."""

import json
import math

import pytest

from labenv_schemas import Heat, HeatSegment, Proposal, parse_proposal
from labenv_schemas.characterisation import MeasureComposition
from labenv_schemas.errors import ProposalError
from labenv_schemas.proposal import (
    ControlledCooling,
    Dose,
    GasMixture,
    Measure,
    Mix,
    PrecursorDose,
    Press,
    Regrind,
)

DOSE = {
    "op": "dose",
    "precursors": [
        {"substance": "BaCO3", "amount": "10 mmol"},
        {"substance": "TiO2 (anatase)", "mass": "0.8 g"},
    ],
}
FULL = {
    "operations": [
        DOSE,
        {"op": "mix", "duration": "6 h"},
        {"op": "press", "pressure": "100 MPa"},
        {
            "op": "heat",
            "segments": [
                {"target": "900 degC", "rate": "5 K/min", "hold": "2 h"},
                {"target": "1200 degC", "rate": "3 °C/min", "hold": "6 h"},
            ],
            "atmosphere": {"o2": "0.2 bar", "co2": "40 Pa"},
            "crucible": "platinum",
            "cooling": {"rate": "2 K/min"},
        },
        {"op": "regrind"},
        {"op": "heat", "segments": [{"target": "1250 degC"}], "cooling": "quench"},
        {"op": "heat", "segments": [{"target": "1250 degC"}], "atmosphere": "vacuum"},
        {"op": "measure", "scan_time": "8 min"},
    ],
    "rationale": "as in the literature",
}


def fault(data):
    with pytest.raises(ProposalError) as caught:
        parse_proposal(data)
    return str(caught.value)


def test_a_full_plan_is_read_into_si():
    plan = parse_proposal(FULL)
    dose, mix, press, heat, regrind, quenched, evacuated, measure = plan.operations
    assert isinstance(dose, Dose)
    assert dose.precursors[0].amount_mol == pytest.approx(0.01)
    assert dose.precursors[1].mass_kg == pytest.approx(8e-4)
    assert isinstance(mix, Mix)
    assert mix.duration_s == 21_600
    assert isinstance(press, Press)
    assert press.pressure_pa == 1e8
    assert isinstance(heat, Heat)
    assert [segment.target_k for segment in heat.segments] == [1173.15, 1473.15]
    assert heat.segments[1].rate_k_per_s == pytest.approx(0.05)
    assert heat.partial_pressures_pa() == {"O2": pytest.approx(2e4), "CO2": pytest.approx(40)}
    assert heat.cooling_rate_k_per_s == pytest.approx(2 / 60)
    assert heat.peak_k == 1473.15
    assert isinstance(regrind, Regrind)
    assert isinstance(quenched, Heat)
    assert quenched.cooling == "quench"
    assert quenched.cooling_rate_k_per_s is None
    assert isinstance(evacuated, Heat)
    assert evacuated.partial_pressures_pa()["O2"] < 1
    assert isinstance(measure, Measure)
    assert measure.scan_time_s == 480


def test_python_names_and_wire_names_give_the_same_plan():
    from_python = Heat(
        segments=(HeatSegment(target_k=1373.15, rate_k_per_s=5 / 60, hold_s=3600.0),),
        atmosphere=GasMixture(o2_pa=2e4, co2_pa=40.0),
        cooling=ControlledCooling(rate_k_per_s=2 / 60),
    )
    from_wire = Heat.model_validate({
        "op": "heat",
        "segments": [{"target": "1100 degC", "rate": "5 K/min", "hold": "1 h"}],
        "atmosphere": {"o2": "20 kPa", "co2": "40 Pa"},
        "cooling": {"rate": "2 K/min"},
    })
    assert from_python == from_wire


def test_the_wire_form_reads_back_equal():
    plan = parse_proposal(FULL)
    assert Proposal.from_json(plan.to_json()) == plan
    assert parse_proposal(json.loads(plan.to_json())) == plan
    assert parse_proposal(plan) is plan
    assert "null" not in plan.to_json()


def test_programmed_furnace_time():
    heat = Heat(segments=(HeatSegment(target_k=398.15, rate_k_per_s=0.5, hold_s=100.0),))
    dose = Dose(precursors=(PrecursorDose(substance="BaCO3", mass_kg=1e-3),))
    assert Proposal(operations=(dose, heat, heat)).furnace_time_s == pytest.approx(600.0)


@pytest.mark.parametrize(
    "written",
    [
        {"measure": "eds"},
        {"op": "measure", "measure": "eds"},
        {"op": "measure", "technique": "eds"},
        {"op": "measure_composition"},
    ],
)
def test_a_measurement_is_understood_however_it_is_asked_for(written):
    assert parse_proposal({"operations": [DOSE, written]}).operations[1] == MeasureComposition()


@pytest.mark.parametrize("key", ["measure", "technique"])
@pytest.mark.parametrize(
    ("technique", "hint"),
    [("xps", ""), ("resistence", "; did you mean {measure: resistance}?"),
     ("tga", "; did you mean {measure: mass}?"), ("EDX", "; did you mean {measure: eds}?")],
)  # fmt: skip
def test_an_unknown_measurement_lists_those_there_are(technique, hint, key):
    assert fault({"operations": [DOSE, {"op": "measure", key: technique}]}) == (
        f"operations[1].technique: the laboratory has no {technique!r}; it has {{measure: xrd}}, "
        "{measure: resistance}, {measure: magnetisation}, {measure: mass}, {measure: density}, "
        f"{{measure: eds}}{hint}"
    )


def test_two_measurements_in_one_operation_are_refused():
    both = {"op": "measure", "measure": "eds", "technique": "xrd"}
    assert "unknown field 'measure'" in fault({"operations": [DOSE, both]})
    assert "did you mean 'measure_composition'?" in fault({"operations": [DOSE, {"op": "eds"}]})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": 1100}, "segments[0].target: 1100 has no unit; write '900 degC' or '1173 K'"),
        ({"target_k": 25.0}, "cannot go to 25 K; if Celsius was meant, write '25 degC'"),
        ({"target": "25 K"}, "cannot go to 25 K; if Celsius was meant, write '25 degC'"),
        ({"target": "-300 degC"}, "must be above 0 K"),
        ({"target": "9000 K"}, "target: '9000 K' must be at most 4000 K"),
        ({"target_k": 9000}, "target_k: 9000 K must be at most 4000 K"),
        ({"target_k": math.nan}, "target_k: nan is not a finite number"),
        ({"target_k": 10**400}, "is not a finite number"),
        ({"target_k": "1100"}, "'1100' has no unit"),
        ({"target_k": True}, "True is not a quantity"),
        ({"target": "1100 degC", "hold": "-5 h"}, "hold: '-5 h' must be at least 0 s"),
        ({"target": "1100 degC", "hold": "1,5 h"}, "hold: '1,5 h' has a comma"),
        ({"target": "1100 degC", "hold": "61 d"}, "hold: '61 d' must be at most 60 d"),
        ({"target": "1100 degC", "rate": "0 K/min"}, "rate: '0 K/min' must be at least 1e-05 K/s"),
        ({"target": "1100 degC", "rate": "1e-320 K/s"}, "must be at least 1e-05 K/s"),
        ({"target": "1100 degC", "rate": "-5 K/min"}, "rate: '-5 K/min' must be at least"),
        ({}, "segments[0].target: is missing; write it as in '1100 degC'"),
    ],
)
def test_an_implausible_segment_is_refused(given, message):
    assert message in fault({"operations": [DOSE, {"op": "heat", "segments": [given]}]})


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ([], "operations: must have at least 1 item; there are 0"),
        ([{"op": "mix", "duration": "1 h"}], "a plan starts with 'dose'"),
        ([DOSE, DOSE], "a plan has one 'dose'"),
        ([DOSE] + [{"op": "regrind"}] * 40, "must have at most 40 items"),
        ([DOSE, {"op": "mix", "duration": "0 s"}], "'0 s' must be above 0 s"),
        ([DOSE, {"op": "press", "pressure": "5 GPa"}], "must be at most 2000 MPa"),
        (
            [DOSE, {"op": "heat", "segments": [{"target": "1 kK"}], "atmosphere": {"o2": "3 bar"}}],
            "the furnaces hold 2 atm",
        ),
        (
            [DOSE, {"op": "measure", "two_theta_min_deg": 60, "two_theta_max_deg": 50}],
            "the scan must end above 60 degrees",
        ),
        ([DOSE, {"op": "measure", "two_theta_max_deg": 10.5}], "fewer than 100 points"),
        ([DOSE, {"op": "measure", "step_deg": math.nan}], "finite number"),
        ([DOSE, {"op": "measure", "step_deg": 10**400}], "is not a number, or too large a one"),
        ([DOSE, {"op": "measure", "step_deg": True}], "operations[1].step_deg"),
    ],
)
def test_an_impossible_plan_is_refused(operations, message):
    assert message in fault({"operations": operations})


@pytest.mark.parametrize(
    ("precursor", "message"),
    [
        ({"substance": "BaCO3"}, "how much BaCO3? give its mass or its amount"),
        ({"substance": "BaCO3", "mass": "1 g", "amount": "1 mol"}, "not both"),
        ({"substance": "BaCO3", "mass": "0 g"}, "mass: '0 g' must be above 0 kg"),
        ({"substance": "BaCO3", "mass": "99 kg"}, "mass: '99 kg' must be at most 10 kg"),
        ({"substance": "BaCO3", "mass": "1 ml"}, "not a unit of mass"),
        ({"substance": "", "mass": "1 g"}, "substance"),
        ({"substance": "B\0", "mass": "1 g"}, "NUL character"),
        ({"substance": "\ud800", "mass": "1 g"}, "substance"),
        ({"substance": "x" * 100, "mass": "1 g"}, "at most 80 characters"),
    ],
)
def test_a_dose_states_one_quantity(precursor, message):
    assert message in fault({"operations": [{"op": "dose", "precursors": [precursor]}]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Invalid JSON"),
        ("{", "Invalid JSON"),
        ("[1]", "[1] is not an object with named fields"),
        ("null", "None is not an object"),
        ("[" * 10_000, "Invalid JSON: recursion limit"),
        (b"\xff\xfe{}", "Invalid JSON"),
        ("x" * 600_000, "the plan is 600000 characters long"),
        (
            '{"operations": [{"op": "dose", "precursors": [{"substance": "a", "mass": NaN}]}]}',
            "nan",
        ),
    ],
)
def test_text_that_is_no_plan_is_refused(text, message):
    given = fault(text)
    assert message in given
    assert len(given) < 400


def test_a_reason_must_be_text_that_can_be_written_down():
    told = fault({"operations": [DOSE], "rationale": "because \ud83d"})
    assert "rationale: the text holds half a surrogate pair" in told
