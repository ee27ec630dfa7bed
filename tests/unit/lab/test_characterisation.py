"""Resistance, moment, mass, density and EDS in the lab: from the plan to the measurement."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.analysis.characterisation import characterise
from labenv.lab import Lab
from labenv.lab.specimen import Specimen, see_moment, see_resistance
from labenv.physics.transport_properties import (
    closed_shells,
    phase_electrons,
    ybco_electrons,
)
from labenv_instruments.sample_view import MomentSeen, ResistanceSeen, Unknown
from labenv_schemas.campaign import LabConfig
from labenv_schemas.characterisation import MeasureMagnetisation, MeasureResistance
from labenv_schemas.proposal import parse_proposal

DOSE = {
    "op": "dose",
    "precursors": [
        {"substance": "BaCO3", "amount": "5 mmol"},
        {"substance": "TiO2 (anatase)", "amount": "5 mmol"},
    ],
}
FIRE = {"op": "heat", "segments": [{"target": "1100 degC", "hold": "10 h"}]}
PRESS = {"op": "press", "pressure": "100 MPa"}
EVERY = [
    {"op": "weigh"},
    {"measure": "density"},
    {"measure": "eds"},
    {"measure": "magnetisation"},
    {"op": "measure", "technique": "resistance"},
]


def run(*operations, seed=3, config=None):
    lab = Lab(config or LabConfig(), seed=seed)
    lab.submit(parse_proposal({"operations": [DOSE, *operations]}))
    (outcome,) = lab.collect()
    lab.close()
    return outcome


def numbers_of(outcome):
    numbers, _ = characterise(outcome.measurements)
    return {number.quantity: number for number in numbers}


@pytest.fixture(scope="module")
def fired():
    return run({"op": "mix", "duration": "2 h"}, PRESS, FIRE, *EVERY)


def test_each_measurement_has_a_station_a_time_and_a_price(fired):
    assert fired.status == "ok"
    done = {record.op: record for record in fired.operations}
    assert done["measure_resistance"].station == "cryostat"
    assert done["measure_magnetisation"].station == "magnetometer"
    assert done["weigh"].station == "analytical-balance"
    assert done["measure_density"].station == "pycnometer"
    assert done["measure_composition"].station == "microscope"
    took = {op: record.finished_s - record.started_s for op, record in done.items()}
    assert took["measure_resistance"] == pytest.approx(16_200.0)  # four hours and mounting
    assert took["measure_magnetisation"] == pytest.approx(9_000.0)
    assert all(done[op].cost > 0.0 for op in ("weigh", "measure_density", "measure_composition"))


def test_a_lab_that_is_not_asked_has_no_such_station():
    lab = Lab(LabConfig(), seed=0)
    assert "cryostat" not in {station.name for station in lab.stations}


def test_carbonate_loses_its_gas(fired):
    change = numbers_of(fired)["mass_change"]
    # 5 mmol of CO2 out of 986.7 mg of BaCO3 and 399.3 mg of TiO2
    assert change.value == pytest.approx(-220.0 / 1386.0, abs=5e-3)
    assert 0.0 < change.uncertainty < 1e-3
    unfired = run({"op": "weigh"}, {"op": "weigh"})
    change = numbers_of(unfired)["mass_change"]
    assert abs(change.value) < 5 * change.uncertainty


def test_density_and_composition_are_those_of_barium_titanate(fired):
    found = numbers_of(fired)
    # of BaTiO3 6,020 kg/m^3 (PDF 05-0626); what has not reacted yet is lighter
    assert 5400.0 < found["density"].value < 6100.0
    barium = found["eds_mass_fraction_Ba"]
    assert abs(barium.value - 0.589) < 4 * barium.uncertainty + 0.02
    assert any("Li" in warning for warning in barium.warnings)


def test_an_insulator_has_no_transition_and_its_resistivity_is_not_told(fired):
    numbers, warnings = characterise(fired.measurements)
    assert not [n for n in numbers if n.quantity.startswith(("tc_", "resist", "residual"))]
    assert any("no superconducting transition" in said for said in warnings)
    assert any("guess" in said for said in warnings)


def test_equal_seeds_measure_equally_and_measuring_changes_nothing():
    one, other = run(PRESS, *EVERY, seed=5), run(PRESS, *EVERY, seed=5)
    assert one.measurements == other.measurements
    first, again = run({"op": "weigh"}, {"measure": "eds"}, {"op": "weigh"}).measurements[-3::2]
    assert first.mass_kg != again.mass_kg  # noise of its own
    assert first.mass_kg == pytest.approx(again.mass_kg, abs=4e-7)


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        ([{"measure": "resistance"}], "press"),
        ([PRESS, {"op": "regrind"}, {"measure": "resistance"}], "press"),
        ([PRESS, {"measure": "resistance", "current": "2 A"}], "source"),
        ([PRESS, {"measure": "resistance", "field": "12 T"}], "magnet"),
        ([PRESS, {"measure": "resistance", "temperature_min": "50 mK"}], "1.9 K"),
        ([{"measure": "magnetisation", "chip": "1 g"}], "chips"),
    ],
)
def test_interlocks_refuse_before_anything_moves(operations, said):
    outcome = run(*operations)
    assert outcome.status == "invalid"
    assert said in outcome.message
    assert outcome.cost == 0.0


def test_too_little_powder_makes_no_bar():
    small = {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "150 mg"}]}
    lab = Lab(LabConfig(), seed=0)
    lab.submit(parse_proposal({"operations": [small, PRESS, {"measure": "resistance"}]}))
    (outcome,) = lab.collect()
    assert outcome.status == "invalid"
    assert "400 mg" in outcome.message


def specimen(*parts, unknown=0.0):
    """Return a specimen of (electrons, share)."""
    return Specimen(
        rows=tuple(electrons.row for electrons, _ in parts),
        shares=tuple(share for _, share in parts),
        penetration_depth_m=tuple(electrons.penetration_depth_m for electrons, _ in parts),
        critical_field_t=tuple(electrons.critical_field_t for electrons, _ in parts),
        grain_radius_m=(5e-6,) * len(parts),
        susceptibility=(0.0,) * len(parts),
        unknown_tc_share=unknown,
    )


def seen(what, request, *more):
    function = see_resistance if isinstance(request, MeasureResistance) else see_moment
    return function(what, request, *more, np.random.default_rng(1))


def test_ybco_loses_its_resistance_near_92_k():
    ceramic = specimen((ybco_electrons(6.94), 0.9), (phase_electrons("BaTiO3"), 0.1))
    curve = seen(ceramic, MeasureResistance())
    assert isinstance(curve, ResistanceSeen)
    cold, warm = curve.resistance_ohm[curve.temperature_k < 88], curve.resistance_ohm[-1]
    assert abs(cold).max() < 3e-3 * warm  # noise
    assert curve.resistance_ohm[curve.temperature_k > 95].min() > 0.1 * warm
    moment = seen(ceramic, MeasureMagnetisation(), 1e-9)
    assert isinstance(moment, MomentSeen)
    assert moment.moment_a_m2[0] < 0.0


def test_what_nobody_knows_is_not_a_number():
    something = phase_electrons("Ba3CuTi2O9")
    assert not something.tc_known
    much = specimen((something, 1.0), unknown=1.0)
    assert isinstance(seen(much, MeasureResistance()), Unknown)
    assert isinstance(seen(much, MeasureMagnetisation(), 1e-9), Unknown)
    little = specimen((ybco_electrons(6.9), 0.97), (something, 0.03), unknown=0.03)
    curve = seen(little, MeasureResistance())
    assert "unknown_phases" in {flag.code for flag in curve.flags}


def test_vortices_are_not_simulated_and_that_is_said():
    ceramic = specimen((ybco_electrons(6.94), 1.0))
    answer = seen(ceramic, MeasureMagnetisation(field_t=1.0), 1e-9)
    assert isinstance(answer, Unknown)
    assert "vortices" in answer.reason


def test_a_field_lowers_a_transition():
    tin = specimen((phase_electrons("Nb3Sn"), 1.0))
    run = {"temperature_min_k": 4.0, "temperature_max_k": 30.0, "step_k": 0.25}
    without = seen(tin, MeasureResistance(**run))
    within = seen(tin, MeasureResistance(**run, field_t=9.0))
    gone = [c.temperature_k[abs(c.resistance_ohm) < 1e-7].max() for c in (without, within)]
    assert gone[1] < gone[0] - 1.0


@pytest.mark.parametrize(
    ("formula", "answer"),
    [("BaTiO3", True), ("BaCO3", True), ("Li2TiO3", True), ("LiTi2O4", False), ("CuO", False),
     ("Ti", False), ("MgB2", False)],
)  # fmt: skip
def test_insulators_are_known_by_their_charges(formula, answer):
    assert closed_shells(formula) is answer
