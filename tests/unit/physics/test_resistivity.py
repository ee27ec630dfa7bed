"""Resistivity: published limits, mixtures, transitions, wiring and noise."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.integrate import quad

from labenv.physics.resistivity import (
    LOW_TEMPERATURE_LIMIT,
    ResistanceSetup,
    TransportPhases,
    bloch_gruneisen,
    effective_resistivity,
    mixture_resistivity,
    normal_resistivity,
    resistance_curve,
)
from labenv_schemas.errors import ProposalError, SimulatorError

if TYPE_CHECKING:
    from numpy.typing import NDArray

COPPER = {"residual_ohm_m": 1e-11, "electron_phonon_ohm_m": 0.0, "debye_k": 320.0}


def phases(*rows: dict[str, float], samples: int = 1) -> TransportPhases:
    usual = {
        "residual_ohm_m": 1e-6,
        "electron_phonon_ohm_m": 0.0,
        "debye_k": 300.0,
        "saturation_ohm_m": np.inf,
        "activation_k": 0.0,
        "tc_k": 0.0,
        "tc_spread_k": 0.0,
    }
    columns = {name: [row.get(name, value) for row in rows] for name, value in usual.items()}
    return TransportPhases(**{name: np.tile(v, (samples, 1)) for name, v in columns.items()})


def row(*values: float) -> NDArray[np.float64]:
    return np.array([values])


def test_bloch_gruneisen_has_its_limits() -> None:
    cold, hot = 0.003, 40.0
    assert float(bloch_gruneisen(cold)) / cold**5 == pytest.approx(124.431, rel=1e-5)
    assert float(bloch_gruneisen(0.012)) / 0.012**5 == pytest.approx(
        LOW_TEMPERATURE_LIMIT, rel=1e-3
    )
    assert float(bloch_gruneisen(hot)) == pytest.approx(hot / 4, rel=1e-4)


@pytest.mark.parametrize("t", [0.02, 0.0733, 0.2, 0.51, 1.0, 3.7, 19.0])
def test_bloch_gruneisen_is_its_integral(t: float) -> None:
    def kernel(x: float) -> float:
        return x**5 / (np.expm1(x) * -np.expm1(-x)) if x > 0 else 0.0

    integral, _ = quad(kernel, 0.0, min(1.0 / t, 80.0), epsrel=1e-11)
    assert float(bloch_gruneisen(t)) == pytest.approx(t**5 * integral, rel=1e-5)


def test_copper_falls_as_measured_between_room_and_nitrogen() -> None:
    # Matula, J. Phys. Chem. Ref. Data 8 (1979) 1147: 1.725 at 300 K, 0.348 at 100 K, 0.215 at 80 K,
    # all in 1e-8 ohm m
    published = {80.0: 0.215e-8, 100.0: 0.348e-8, 200.0: 1.046e-8}
    scale = 1.725e-8 / float(bloch_gruneisen(300.0 / 320.0))
    metal = phases({**COPPER, "electron_phonon_ohm_m": scale})
    for temperature, value in published.items():
        ours = normal_resistivity(metal, row(temperature))[0, 0, 0]
        assert ours == pytest.approx(value, rel=0.06)


def test_saturation_and_activation() -> None:
    metal = {"residual_ohm_m": 1e-6, "electron_phonon_ohm_m": 1e-5}
    capped = normal_resistivity(phases({**metal, "saturation_ohm_m": 1.5e-6}), row(1.0, 3000.0))
    assert (capped < 1.5e-6).all()
    assert capped[0, 0, 1] > 1.4e-6
    semi = normal_resistivity(phases({"activation_k": 500.0}), row(50.0, 300.0))[0, 0]
    assert semi[0] / semi[1] == pytest.approx(np.exp(500 / 50 - 500 / 300))


def test_the_effective_medium_of_one_phase_is_that_phase() -> None:
    rho = np.full((1, 2, 3), 3.3e-7)
    out = effective_resistivity(rho, np.array([[0.3, 0.7]]), np.zeros_like(rho))
    np.testing.assert_allclose(out, 3.3e-7, rtol=1e-9)


def test_two_phases_follow_the_quadratic() -> None:
    # for two phases Bruggeman's equation is a quadratic
    f, s1, s2 = 0.4, 1e7, 1e2
    b = (3 * f - 1) * s1 + (2 - 3 * f) * s2
    exact = (b + np.sqrt(b * b + 8 * s1 * s2)) / 4
    rho = np.array([[[1 / s1], [1 / s2]]])
    out = effective_resistivity(rho, np.array([[f, 1 - f]]), np.zeros_like(rho))
    assert out[0, 0] == pytest.approx(1 / exact, rel=1e-9)


@pytest.mark.parametrize(("share", "expected"), [(0.30, 10.0), (0.2, 2.5), (0.34, 0.0), (1.0, 0.0)])
def test_a_third_of_superconductor_shorts_the_sample(share: float, expected: float) -> None:
    # perfect conductor in a matrix below the threshold: s = s0 / (1 - 3 f) (Kirkpatrick 1973)
    mixed = phases({"tc_k": 90.0}, {"residual_ohm_m": 1e-6})
    out = mixture_resistivity(mixed, np.array([[share, 1 - share]]), row(50.0))[0, 0]
    assert out == pytest.approx(1e-6 / expected if expected else 0.0, rel=1e-6)


def test_an_insulator_beyond_two_thirds_blocks() -> None:
    mixed = phases({"residual_ohm_m": 1e-6}, {"residual_ohm_m": 1e6})
    rho = [
        mixture_resistivity(mixed, np.array([[f, 1 - f]]), row(300.0))[0, 0]
        for f in (0.9, 0.5, 0.36, 0.30)
    ]
    assert rho[2] < 1e-4
    assert rho[3] > 1e3


def test_the_transition_is_as_broad_as_its_spread() -> None:
    t = np.linspace(80.0, 100.0, 2001)[None, :]
    rho = mixture_resistivity(phases({"tc_k": 90.0, "tc_spread_k": 1.0}), np.array([[1.0]]), t)[0]
    zero = t[0][rho == 0.0].max()
    # the sample is shorted when a third of it superconducts: 0.4307 sigma above the mean
    assert zero == pytest.approx(90.4307, abs=0.02)
    assert rho[-1] == pytest.approx(1e-6)
    sharp = mixture_resistivity(phases({"tc_k": 90.0}), np.array([[1.0]]), row(89.99, 90.01))[0]
    np.testing.assert_allclose(sharp, [0.0, 1e-6], rtol=1e-9)


def test_random_mixtures_lie_between_their_phases() -> None:
    rng = np.random.default_rng(3)
    rho = 10.0 ** rng.uniform(-9, 6, (50, 5, 4))
    share = rng.dirichlet(np.ones(5), 50)
    out = effective_resistivity(rho, share, np.zeros_like(rho))
    assert (out >= rho.min(axis=1) * 0.999999).all()
    assert (out <= rho.max(axis=1) * 1.000001).all()


def generators(count: int, seed: int = 0) -> list[np.random.Generator]:
    return [np.random.default_rng([seed, i]) for i in range(count)]


def test_four_wires_do_not_see_the_contacts() -> None:
    sample = phases({"residual_ohm_m": 1e-6})
    quiet = ResistanceSetup(contact_ohm=5.0, current_a=1e-4)
    four = resistance_curve(sample, row(1.0), row(300.0), quiet, generators(1))
    two = resistance_curve(
        sample, row(1.0), row(300.0), dataclasses.replace(quiet, four_wire=False), generators(1)
    )
    assert four.mean_ohm[0, 0] == pytest.approx(1e-3)
    assert two.mean_ohm[0, 0] == pytest.approx(10.0 + 1e-3)


def test_delta_mode_removes_the_thermal_voltage() -> None:
    n = 300
    sample, t = phases({"residual_ohm_m": 1e-8}, samples=n), np.full((n, 2), 300.0)
    spreads = []
    for delta in (True, False):
        setup = ResistanceSetup(delta_mode=delta, gain_sd=0.0)
        run = resistance_curve(sample, np.ones((n, 1)), t, setup, generators(n))
        spreads.append(float((run.reading_ohm - run.mean_ohm).std()))
    assert spreads[0] == pytest.approx(1e-8 / np.sqrt(2) / 1e-3, rel=0.15)
    assert spreads[1] == pytest.approx(1e-6 / 1e-3, rel=0.15)


def test_current_heats_and_is_limited() -> None:
    sample = phases({"residual_ohm_m": 1e-6, "tc_k": 90.0, "tc_spread_k": 0.1})
    t = np.linspace(85.0, 92.0, 141)[None, :]
    small, large = (
        resistance_curve(
            sample, row(1.0), t, ResistanceSetup(current_a=i, contact_ohm=2.0), generators(1)
        )
        for i in (1e-4, 3e-2)
    )
    assert t[small.mean_ohm == 0.0].max() > t[large.mean_ohm == 0.0].max() + 1.0
    insulator = phases({"residual_ohm_m": 1e6})
    run = resistance_curve(insulator, row(1.0), row(300.0), ResistanceSetup(), generators(1))
    assert run.current_a[0, 0] == pytest.approx(20.0 / 1e9)


def test_a_row_depends_on_its_own_generator_alone() -> None:
    sample = phases({"residual_ohm_m": 1e-6, "tc_k": 40.0, "tc_spread_k": 1.0}, samples=3)
    t = np.tile(np.linspace(10, 300, 30), (3, 1))
    both = resistance_curve(sample, np.ones((3, 1)), t, ResistanceSetup(), generators(3))
    one = TransportPhases(**{k: v[2:] for k, v in vars(sample).items()})
    alone = resistance_curve(one, np.ones((1, 1)), t[2:], ResistanceSetup(), generators(3)[2:])
    np.testing.assert_array_equal(both.reading_ohm[2], alone.reading_ohm[0])


def test_bad_input_is_refused() -> None:
    good = phases({})
    with pytest.raises(ProposalError, match="above 0 K"):
        mixture_resistivity(good, row(1.0), row(np.nan))
    with pytest.raises(ProposalError, match="add up to 1"):
        mixture_resistivity(good, row(0.5), row(300.0))
    with pytest.raises(ProposalError, match="residual"):
        mixture_resistivity(phases({"residual_ohm_m": 0.0}), row(1.0), row(300.0))
    with pytest.raises(ProposalError, match="finite"):
        bloch_gruneisen(0.0)
    with pytest.raises(SimulatorError):
        resistance_curve(good, row(1.0), row(300.0), ResistanceSetup(), [])
    with pytest.raises(ProposalError, match="current"):
        resistance_curve(good, row(1.0), row(300.0), ResistanceSetup(current_a=0.0), generators(1))
