"""Transitions: found where they are, not where they are not, and refused on poor data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from labenv.analysis.transitions import (
    magnetic_transition,
    resistive_transition,
    scalar_analyses,
)
from labenv.physics.magnetometry import MagneticPhases, MagnetometerSetup, moment_curve
from labenv.physics.resistivity import ResistanceSetup, TransportPhases, resistance_curve
from labenv_instruments.formats import read_measurement
from labenv_schemas.errors import ConfigError
from labenv_schemas.measurement import MagnetisationCurve, ResistanceCurve

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def simulated(
    tc_k: float,
    spread_k: float,
    temperature_k: NDArray[np.float64],
    seed: int = 0,
    **changes: float,
) -> ResistanceCurve:
    values = {"residual_ohm_m": 1e-6, "electron_phonon_ohm_m": 1.2e-5, "debye_k": 400.0}
    values |= {"saturation_ohm_m": np.inf, "activation_k": 0.0, **changes}
    phases = TransportPhases(
        **{name: np.array([[value]]) for name, value in values.items()},
        tc_k=np.array([[tc_k]]),
        tc_spread_k=np.array([[spread_k]]),
    )
    run = resistance_curve(
        phases,
        np.ones((1, 1)),
        temperature_k[None, :],
        ResistanceSetup(),
        [np.random.default_rng(seed)],
    )
    return ResistanceCurve(temperature_k=run.temperature_k[0], resistance_ohm=run.reading_ohm[0])


GRID = np.concatenate([np.linspace(4, 120, 233), np.linspace(122, 300, 60)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("tc", "spread"), [(92.0, 0.5), (60.0, 2.0), (39.0, 0.2), (9.25, 0.05)])
def test_a_simulated_transition_is_found_where_it_is(tc: float, spread: float, seed: int) -> None:
    found = resistive_transition(simulated(tc, spread, GRID, seed))
    assert found.status == "ok"
    assert found.zero_k is not None
    assert found.midpoint_k is not None
    assert found.onset_k is not None
    # zero comes when a third of the volume superconducts: 0.43 spreads above the mean
    assert found.zero_k.value == pytest.approx(tc + 0.43 * spread, abs=0.5 + 0.3 * spread)
    assert found.zero_k.value <= found.midpoint_k.value <= found.onset_k.value
    assert found.onset_k.value < tc + 3 * spread + 0.6
    assert 0.0 < found.midpoint_k.uncertainty < 0.6


def test_the_residual_ratio_is_that_of_the_curve() -> None:
    curve = simulated(20.0, 0.2, GRID)
    found = resistive_transition(curve)
    assert found.residual_ratio is not None
    true = float(
        np.interp(300, GRID, curve.resistance_ohm) / np.interp(22, GRID, curve.resistance_ohm)
    )
    assert found.residual_ratio.value == pytest.approx(true, rel=0.02)


@pytest.mark.parametrize("residual", [1e-6, 1e-8, 1e-10])
def test_a_metal_has_no_transition(residual: float) -> None:
    found = resistive_transition(simulated(0.0, 0.0, GRID, residual_ohm_m=residual))
    assert found.status == "no_transition"
    assert found.onset_k is None
    assert found.zero_k is None


def test_a_semiconductor_has_no_transition() -> None:
    found = resistive_transition(simulated(0.0, 0.0, GRID, activation_k=150.0))
    assert found.status == "no_transition"


def test_noise_alone_is_no_transition() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        curve = ResistanceCurve(
            temperature_k=GRID, resistance_ohm=rng.normal(1e-9, 1e-8, GRID.size)
        )
        assert resistive_transition(curve).status == "no_transition"


def test_contacts_in_series_or_a_cold_end_keep_it_from_zero() -> None:
    curve = simulated(92.0, 0.5, GRID)
    two_wire = ResistanceCurve(
        temperature_k=curve.temperature_k, resistance_ohm=curve.resistance_ohm + 3e-3
    )
    for case in (two_wire, simulated(92.0, 3.0, GRID[GRID > 94.5])):
        found = resistive_transition(case)
        assert found.status == "not_reached_zero"
        assert found.onset_k is not None
        assert found.zero_k is None
        assert any("remains" in warning for warning in found.warnings)


def test_order_and_repeats_do_not_matter() -> None:
    curve = simulated(92.0, 0.5, GRID)
    mixed = np.random.default_rng(2).permutation(GRID.size)
    other = resistive_transition(
        ResistanceCurve(
            temperature_k=np.concatenate([curve.temperature_k[mixed]] * 2),
            resistance_ohm=np.concatenate([curve.resistance_ohm[mixed]] * 2),
        )
    )
    found = resistive_transition(curve)
    assert other.zero_k is not None
    assert found.zero_k is not None
    assert other.zero_k.value == pytest.approx(found.zero_k.value, abs=1e-6)


def test_too_few_points_and_a_run_below_300_k() -> None:
    assert resistive_transition(simulated(92.0, 0.5, GRID[::60])).status == "too_few_points"
    found = resistive_transition(simulated(92.0, 0.5, GRID[GRID < 150]))
    assert found.status == "ok"
    assert found.residual_ratio is None
    assert any("300 K" in warning for warning in found.warnings)


def test_numbers_go_into_the_vocabulary() -> None:
    found = {a.quantity: a for a in scalar_analyses(resistive_transition(simulated(92, 0.5, GRID)))}
    assert set(found) == {"tc_onset", "tc_midpoint", "tc_zero", "residual_resistance_ratio"}
    assert found["tc_zero"].unit == "K"
    assert found["tc_zero"].status == "ok"


def moments(volume_m3: float, grain_m: float = 1e-3, tc_k: float = 92.0) -> MagnetisationCurve:
    values = {"tc_k": tc_k, "tc_spread_k": 0.5, "penetration_depth_m": 1.5e-7}
    values |= {"grain_radius_m": grain_m, "curie_k": 1e-5, "weiss_k": 0.0}
    values |= {"constant_susceptibility": -1e-5}
    t = np.linspace(5, 120, 150)
    run = moment_curve(
        MagneticPhases(**{name: np.array([[value]]) for name, value in values.items()}),
        np.array([[volume_m3]]),
        t[None, :],
        1e-3,
        MagnetometerSetup(field_offset_t=0.0),
        [np.random.default_rng(4)],
    )
    return MagnetisationCurve(
        temperature_k=run.temperature_k[0],
        field_t=np.full(t.size, 1e-3),
        moment_a_m2=run.reading_a_m2[0],
    )


def test_shielding_is_found_with_its_share() -> None:
    found = magnetic_transition(moments(1e-9), volume_m3=2e-9)
    assert found.status == "ok"
    assert found.onset_k is not None
    assert found.shielding_fraction is not None
    assert found.onset_k.value == pytest.approx(92.0, abs=1.5)
    assert found.shielding_fraction.value == pytest.approx(0.5, abs=0.03)
    fine = magnetic_transition(moments(1e-9, grain_m=3e-7), volume_m3=1e-9)
    assert fine.shielding_fraction is not None
    assert fine.shielding_fraction.value < 0.4
    assert {a.quantity for a in scalar_analyses(found)} == {
        "tc_magnetic_onset",
        "shielding_fraction",
    }


def test_no_shielding_is_no_transition() -> None:
    assert magnetic_transition(moments(1e-9, tc_k=0.0)).status == "no_transition"
    assert magnetic_transition(moments(1e-16)).status == "no_transition"


def test_odd_magnetic_curves_are_refused() -> None:
    curve = moments(1e-9)
    swept = curve.model_copy(update={"field_t": np.linspace(0, 1, curve.field_t.size)})
    assert magnetic_transition(swept).status == "field_varies"
    with pytest.raises(ConfigError, match="volume"):
        magnetic_transition(curve, volume_m3=0.0)
    with pytest.raises(ConfigError, match="demagnetising"):
        magnetic_transition(curve, demagnetising=1.0)


@pytest.mark.real_data
def test_a_real_field_sweep_is_no_temperature_curve(cases_dir: Path) -> None:
    resistance = read_measurement(cases_dir / "ppms" / "resistivity.dat")
    assert isinstance(resistance, ResistanceCurve)
    found = resistive_transition(resistance)
    assert found.status in {"too_few_points", "no_transition"}
    assert any("field" in warning for warning in found.warnings)
    moment = read_measurement(cases_dir / "ppms" / "acms.dat")
    assert isinstance(moment, MagnetisationCurve)
    assert magnetic_transition(moment).status == "field_varies"
