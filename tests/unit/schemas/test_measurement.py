"""Measurements, analyses, outcomes: finite, in UTC, equal after a round trip, never changed."""

import copy
import pickle
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from pydantic import TypeAdapter, ValidationError

from labenv_schemas import Diffractogram, Outcome, PhaseAnalysis, PhaseFraction
from labenv_schemas.arrays import to_finite_vector
from labenv_schemas.measurement import (
    MagnetisationCurve,
    MassReading,
    Measurement,
    Radiation,
    ResistanceCurve,
    Spectrum,
)

NOON = datetime(2025, 1, 31, 12, tzinfo=UTC)
ANGLES = [10.0, 10.1, 10.2]


def scan(**fields):
    return Diffractogram(**{"two_theta_deg": ANGLES, "counts": [1, 2, 3], **fields})


@pytest.mark.parametrize(
    "value",
    [
        [1, 2.5],
        (1, 2.5),
        np.array([1.0, 2.5], dtype=np.float32),
        np.array([1, 2], dtype=np.uint16),
        pd.Series([1.0, 2.5]),
        [2**70, 1],
        [np.float64(1), np.int8(2)],
        np.ma.masked_array([1.0, 2.0], mask=[False, False]),
        [],
    ],
)
def test_numbers_of_any_library_become_a_vector(value):
    vector = to_finite_vector(value)
    assert vector.dtype == np.float64
    assert vector.tolist() == [float(item) for item in value]
    assert not vector.flags.writeable


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, np.nan], "value nan at index 1 is not finite"),
        ([1, 2, np.inf], "value inf at index 2 is not finite"),
        ([1, None], "value nan at index 1 is not finite"),
        ([1, 10**400], "not a list of numbers"),
        ([[1, 2]], "expected one dimension"),
        (5.0, "expected one dimension"),
        ([1, [2]], "not a list of numbers"),
        (["1", "2"], "not a list of numbers"),
        ([1, "2"], "not a list of numbers"),
        ("12", "not a list of numbers"),
        ([True, False], "not a list of numbers"),
        ([1j, 2], "not a list of numbers"),
        (np.array([1 + 1j]), "not a list of numbers"),
        (np.array(["2025-01-01"], dtype="datetime64[D]"), "not a list of numbers"),
        (np.ma.masked_array([1.0, 2.0], mask=[False, True]), "masked"),
        ({"a": 1}, "not a list of numbers"),
        ({1, 2}, "not a list of numbers"),
        (None, "not a list of numbers"),
    ],
)
def test_what_is_no_finite_vector_is_refused(value, message):
    with pytest.raises(ValueError, match=message):
        to_finite_vector(value)


def test_a_measurement_cannot_be_changed_through_the_array_it_was_made_from():
    counts = np.array([1.0, 2.0, 3.0])
    made = scan(counts=counts)
    counts[0] = 99.0
    assert made.counts[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        made.counts[0] = 5.0
    with pytest.raises(ValidationError, match="frozen"):
        made.counts = counts


def test_copies_and_pickles_are_equal_and_read_only():
    made = scan(measured_at=NOON)
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert other == made
        assert not other.counts.flags.writeable


def test_equality_looks_into_arrays():
    assert scan() == scan()
    assert scan() != scan(counts=[1, 2, 4])
    assert scan() != scan(sample_id="other")
    assert scan() != "a scan"
    with pytest.raises(TypeError, match="unhashable"):
        hash(scan())
    assert Outcome(experiment_id="x", status="ok", measurements=(scan(),)) == Outcome(
        experiment_id="x", status="ok", measurements=(scan(),)
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"counts": [1, 2]}, "3 angles but 2 intensities"),
        ({"two_theta_deg": [1], "counts": [1]}, "at least two points"),
        ({"two_theta_deg": [3, 2, 1]}, "must increase"),
        ({"two_theta_deg": [1, 2, 300]}, "between 0 and 180"),
        ({"counts": [1, 2, np.nan]}, "at index 2 is not finite"),
        ({"counting_time_s": np.inf}, "finite"),
        ({"lab_time_s": np.nan}, "finite"),
        ({"measured_at": datetime(2025, 1, 31)}, "has no time zone"),
        ({"measured_at": "2025-01-31T12:00:00"}, "has no time zone"),
        ({"measured_at": "2025-01-31"}, "not a date with time"),
        ({"measured_at": date(2025, 1, 31)}, "not a date with time"),
        ({"measured_at": 1_738_324_800}, "not a date with time"),
        ({"measured_at": "1738324800"}, "not a date with time"),
        ({"measured_at": "9999-12-31T23:59:59-05:00"}, "out of range"),
        ({"radiation": {"k_alpha1_a": "nan"}}, "finite"),
        ({"noise": 1}, "noise"),
    ],
)
def test_a_faulty_diffractogram_is_refused(fields, message):
    with pytest.raises(ValidationError, match=message):
        scan(**fields)


@pytest.mark.parametrize(
    "moment",
    [
        NOON,
        NOON.astimezone(timezone(timedelta(hours=9))),
        "2025-01-31T12:00:00Z",
        "2025-01-31T21:00:00+09:00",
        "2025-01-31 06:30:00-05:30",
    ],
)
def test_times_become_utc(moment):
    made = scan(measured_at=moment)
    assert made.measured_at == NOON
    assert made.measured_at.tzinfo is UTC
    assert '"2025-01-31T12:00:00Z"' in made.to_json()
    assert Diffractogram.from_json(made.to_json()) == made


def test_monochromatic_light_stays_monochromatic():
    made = scan(radiation=Radiation(k_alpha1_a=0.7, k_alpha2_a=None, anode=None))
    assert Diffractogram.from_json(made.to_json()).radiation == made.radiation


def test_every_kind_of_measurement_reads_back():
    adapter = TypeAdapter(Measurement)
    temperatures = [2.0, 300.0]
    for made in (
        scan(),
        ResistanceCurve(temperature_k=temperatures, resistance_ohm=[0.0, 1e-3], field_t=0.5),
        MagnetisationCurve(temperature_k=temperatures, field_t=[0, 9], moment_a_m2=[-1e-9, 0]),
        MassReading(mass_kg=-1e-8, standard_uncertainty_kg=1e-8, substance="BaCO3"),
        Spectrum(
            technique="eds", axis=[1, 2], axis_unit="keV", intensity=[3, 4], intensity_unit="1"
        ),
    ):
        assert adapter.validate_json(made.to_json()) == made


def test_a_field_in_oersted_becomes_tesla():
    curve = {"temperature_k": [2.0], "resistance_ohm": [1.0], "field": "90 kOe"}
    assert ResistanceCurve.model_validate(curve).field_t == pytest.approx(9.0)
    with pytest.raises(ValidationError, match=r"has no unit; write '0\.5 T' or '200 Oe'"):
        ResistanceCurve.model_validate({**curve, "field": 90_000})


def test_curves_are_consistent():
    with pytest.raises(ValidationError, match="differ in length"):
        ResistanceCurve(temperature_k=[1, 2], resistance_ohm=[1])
    with pytest.raises(ValidationError, match="were they in degC"):
        ResistanceCurve(temperature_k=[-20, 2], resistance_ohm=[1, 2])
    with pytest.raises(ValidationError, match="2 axis values but 1"):
        Spectrum(technique="eds", axis=[1, 2], axis_unit="keV", intensity=[3], intensity_unit="1")
    with pytest.raises(ValidationError, match="every channel has a unit"):
        Spectrum(technique="eds", axis=[1], axis_unit=" ", intensity=[3], intensity_unit="1")


def test_an_unknown_state_of_an_instrument_is_carried():
    flagged = scan(flags=[{"code": "status_0x8000", "message": "not in the manual"}])
    assert Diffractogram.from_json(flagged.to_json()).flags[0].code == "status_0x8000"


def analysis(*fractions):
    phases = tuple(
        PhaseFraction(name=f"p{i}", formula="TiO2", weight_fraction=x, uncertainty=0.01)
        for i, x in enumerate(fractions)
    )
    return PhaseAnalysis(status="ok", phases=phases, goodness_of_fit=1.1, r_wp=0.1)


def test_weight_fractions_add_up_to_one_at_most():
    assert analysis(0.3, 0.7).weight_fraction("p1") == 0.7
    assert analysis().weight_fraction("p1") == 0.0
    with pytest.raises(ValidationError, match=r"add up to 1\.2"):
        analysis(0.5, 0.7)
    with pytest.raises(ValidationError, match="finite"):
        analysis(float("nan"))


def test_an_outcome_that_is_not_ok_says_why():
    with pytest.raises(ValidationError, match="needs a message that says why"):
        Outcome(experiment_id="x", status="invalid")
    made = Outcome(experiment_id="x", status="ok", analyses=(analysis(0.2), analysis(0.9)))
    assert made.phase_analysis == analysis(0.9)
    assert Outcome.from_json(made.to_json()) == made
    assert Outcome(experiment_id="x", status="ok").phase_analysis is None
