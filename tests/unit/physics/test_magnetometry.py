"""Magnetometry: moments, demagnetisation, small grains, shielding curves, noise."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.physics.magnetometry import (
    MOLAR_CGS_TO_SI,
    MU_0,
    MagneticPhases,
    MagnetometerSetup,
    core_susceptibility,
    curie_weiss,
    effective_moment,
    external_susceptibility,
    moment_curve,
    penetration_depth,
    small_sphere_factor,
)
from labenv_schemas.errors import ProposalError, SimulatorError


def phases(samples: int = 1, **changes: float) -> MagneticPhases:
    usual = {"tc_k": 92.0, "tc_spread_k": 0.5, "penetration_depth_m": 1.5e-7}
    usual |= {"grain_radius_m": 1e-3, "curie_k": 0.0, "weiss_k": 0.0}
    usual |= {"constant_susceptibility": 0.0, **changes}
    return MagneticPhases(**{name: np.full((samples, 1), value) for name, value in usual.items()})


def generators(count: int) -> list[np.random.Generator]:
    return [np.random.default_rng([7, i]) for i in range(count)]


def test_the_moment_is_2828_roots_in_cgs() -> None:
    chi_cgs = 4.377 / 300.0  # emu/mol; Fe3+ spin only: 5.92 Bohr magnetons
    moment = float(effective_moment(chi_cgs * MOLAR_CGS_TO_SI, 300.0))
    assert moment == pytest.approx(2.828 * np.sqrt(4.377), rel=2e-4)
    assert moment == pytest.approx(np.sqrt(35.0), rel=1e-3)  # g sqrt(S(S+1)), S = 5/2


def test_curie_weiss_and_its_moment_are_inverse() -> None:
    chi = curie_weiss(300.0, 1.9, -20.0)
    assert float(effective_moment(chi, 320.0)) == pytest.approx(1.9)
    assert float(curie_weiss(300.0, 1.0)) / MOLAR_CGS_TO_SI == pytest.approx(
        0.12505 / 300.0, rel=1e-3
    )


def test_the_core_of_water_free_oxides_is_small_and_negative() -> None:
    # YBa2Cu3O7: 12 + 53 + 33 + 84 = 182e-6 emu/mol by Pascal's constants
    chi = core_susceptibility({"Y": 1, "Ba": 2, "Cu": 3, "O": 7})
    assert chi / MOLAR_CGS_TO_SI == pytest.approx(-182e-6)


@pytest.mark.parametrize(("shape", "published"), [(1 / 3, -1.5), (0.0, -1.0), (0.5, -2.0)])
def test_perfect_shielding_by_shape(shape: float, published: float) -> None:
    assert float(external_susceptibility(-1.0, shape)) == pytest.approx(published)


def test_small_spheres_shield_less() -> None:
    depth = 1.5e-7
    assert float(small_sphere_factor(1e-3, depth)) == pytest.approx(1.0, abs=1e-3)
    tiny = 1e-9
    assert float(small_sphere_factor(tiny, depth)) == pytest.approx(
        tiny**2 / (15 * depth**2), rel=1e-4
    )
    radii = np.geomspace(1e-10, 1e-3, 400)
    assert (np.diff(small_sphere_factor(radii, depth)) > 0).all()
    assert float(small_sphere_factor(2 * depth, depth)) == pytest.approx(
        1 - 1.5 / np.tanh(2.0) + 0.75
    )


def test_the_depth_diverges_at_tc() -> None:
    assert float(penetration_depth(1e-7, 0.0)) == 1e-7
    assert float(penetration_depth(1e-7, 0.5)) == pytest.approx(1e-7 / np.sqrt(1 - 1 / 16))
    assert np.isinf(penetration_depth(1e-7, 1.0))


def test_a_superconducting_sphere_in_a_magnetometer() -> None:
    volume, field = 1e-9, 1e-3
    t = np.array([[5.0, 85.0, 91.9, 100.0]])
    run = moment_curve(phases(), np.array([[volume]]), t, field, MagnetometerSetup(), generators(1))
    assert run.mean_a_m2[0, 0] == pytest.approx(-1.5 * volume * field / MU_0, rel=1e-3)
    assert run.mean_a_m2[0, 3] == 0.0
    assert (np.diff(run.mean_a_m2[0]) > 0).all()
    cooled = moment_curve(
        phases(),
        np.array([[volume]]),
        t,
        field,
        MagnetometerSetup(field_cooled=True),
        generators(1),
    )
    assert cooled.mean_a_m2[0, 0] == pytest.approx(0.3 * run.mean_a_m2[0, 0])


def test_a_paramagnet_follows_curie() -> None:
    para = phases(tc_k=0.0, curie_k=2e-3, weiss_k=-10.0, constant_susceptibility=-1e-5)
    t = np.array([[10.0, 290.0]])
    run = moment_curve(para, np.array([[1e-8]]), t, 0.1, MagnetometerSetup(), generators(1))
    expected = 1e-8 * 0.1 / MU_0 * (2e-3 / (t[0] + 10.0) - 1e-5)
    np.testing.assert_allclose(run.mean_a_m2[0], expected)


def test_the_floor_is_1e_8_emu() -> None:
    n = 400
    t = np.full((n, 3), 200.0)
    run = moment_curve(
        phases(n), np.full((n, 1), 1e-9), t, 1e-3, MagnetometerSetup(), generators(n)
    )
    assert float(run.reading_a_m2.std()) == pytest.approx(1e-11, rel=0.1)


def test_rows_stand_alone_and_bad_input_is_refused() -> None:
    t, volume, setup = np.full((2, 4), 50.0), np.full((2, 1), 1e-9), MagnetometerSetup()
    both = moment_curve(phases(2), volume, t, 1e-3, setup, generators(2))
    alone = moment_curve(phases(), volume[1:], t[1:], 1e-3, setup, generators(2)[1:])
    np.testing.assert_array_equal(both.reading_a_m2[1], alone.reading_a_m2[0])
    one = (np.full((1, 1), 1e-9), np.full((1, 2), 50.0))
    for changes in ({"tc_k": np.nan}, {"penetration_depth_m": 0.0}, {"weiss_k": 60.0}):
        with pytest.raises(ProposalError):
            moment_curve(phases(**changes), *one, 1e-3, setup, generators(1))
    with pytest.raises(ProposalError, match="field"):
        moment_curve(phases(), *one, np.nan, setup, generators(1))
    with pytest.raises(SimulatorError):
        moment_curve(phases(), *one, 1e-3, setup, [])
    with pytest.raises(ProposalError):
        curie_weiss(10.0, 2.0, 20.0)
    with pytest.raises(ProposalError):
        external_susceptibility(-2.0, 0.3)
