"""Numbers from measurements besides diffraction."""

from __future__ import annotations

import numpy as np

from labenv.analysis.characterisation import characterise
from labenv_schemas.measurement import (
    CompositionReading,
    DensityReading,
    MagnetisationCurve,
    MassReading,
    QualityFlag,
    ResistanceCurve,
    Unmeasured,
)


def mass(kg, substance=None):
    return MassReading(mass_kg=kg, standard_uncertainty_kg=1e-7, substance=substance)


def superconductor(flags=()):
    t = np.arange(4.0, 301.0)
    noise = 1e-9 * np.random.default_rng(0).standard_normal(t.size)
    r = np.where(t < 90.0, 0.0, np.minimum((t - 90.0) / 4.0, 1.0) * 1e-4 * t) + noise
    return ResistanceCurve(
        temperature_k=t,
        resistance_ohm=r,
        contact_distance_m=4e-3,
        cross_section_m2=4e-6,
        flags=flags,
    )


def named(*measurements):
    numbers, warnings = characterise(measurements)
    return {number.quantity: number for number in numbers}, warnings


def test_a_transition_has_temperatures_ratio_and_resistivity():
    found, warnings = named(superconductor())
    assert abs(found["tc_zero"].value - 90.0) < 1.5
    assert found["tc_onset"].value > found["tc_midpoint"].value > found["tc_zero"].value
    assert abs(found["residual_resistance_ratio"].value - 300.0 / 94.0) < 0.2
    assert abs(found["resistivity_300k"].value - 3e-2 * 1e-3) < 2e-6
    assert all(number.uncertainty > 0.0 for number in found.values())
    assert warnings == ()


def test_a_guessed_normal_state_gives_temperatures_only():
    flag = QualityFlag(code="normal_state_estimated", message="a guess")
    found, warnings = named(superconductor((flag,)))
    assert set(found) == {"tc_zero", "tc_onset", "tc_midpoint"}
    assert "guess" in warnings[0]


def test_unknown_phases_make_numbers_doubtful():
    flag = QualityFlag(code="unknown_phases", message="some")
    found, _ = named(superconductor((flag,)))
    assert found["tc_zero"].status == "poor_fit"


def test_shielding_is_told_of_a_chip_cooled_without_field_only():
    t = np.arange(5.0, 110.0, 1.5)
    full = -1.5 * 1e-9 * 1e-3 / 1.25663706212e-6
    moment = np.where(t < 90.0, full, 0.0) + 1e-12 * np.random.default_rng(1).standard_normal(
        t.size
    )
    curve = {"temperature_k": t, "field_t": np.full(t.size, 1e-3), "moment_a_m2": moment}
    found, _ = named(MagnetisationCurve(**curve, sample_volume_m3=1e-9))
    assert abs(found["shielding_fraction"].value - 1.0) < 0.02
    found, _ = named(MagnetisationCurve(**curve, sample_volume_m3=1e-9, cooled_in_field=True))
    assert "shielding_fraction" not in found
    found, warnings = named(MagnetisationCurve(**{**curve, "moment_a_m2": abs(moment)}))
    assert found == {}
    assert warnings


def test_mass_changes_against_a_weighing_or_against_the_doses():
    found, _ = named(mass(1e-3, "A"), mass(1e-3, "B"), mass(1.8e-3))
    assert abs(found["mass_change"].value + 0.1) < 1e-9
    found, _ = named(mass(1e-3, "A"), mass(2e-3), mass(1.5e-3))
    assert abs(found["mass_change"].value + 0.25) < 1e-9
    assert named(mass(1e-3, "A"))[0] == {}
    assert named(mass(0.0), mass(1e-3))[0] == {}


def test_density_composition_and_what_is_unknown():
    found, warnings = named(
        DensityReading(density_kg_m3=6e3, standard_uncertainty_kg_m3=5.0),
        CompositionReading(
            elements=("Ti", "O"),
            mass_fraction=np.array([0.6, 0.4]),
            standard_uncertainty=np.array([0.01, 0.06]),
            flags=(QualityFlag(code="light_elements_unseen", message="no Li"),),
        ),
        Unmeasured(technique="resistance", reason="nobody knows"),
    )
    assert found["density"].unit == "kg/m^3"
    assert found["eds_mass_fraction_Ti"].value == 0.6
    assert found["eds_mass_fraction_Ti"].warnings == ("no Li",)
    assert warnings == ("resistance: nobody knows",)
