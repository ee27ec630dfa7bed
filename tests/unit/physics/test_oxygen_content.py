"""Oxygen content of YBa2Cu3Oy: published equilibria, the transition, exchange along a firing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labenv.physics.oxygen_content import (
    anneal_oxygen,
    chemical_diffusivity,
    equilibrium_oxygen,
    is_orthorhombic,
)
from labenv_schemas.errors import ProposalError

ONE_BAR, AIR = 1.0e5, 2.1e4
HOUR = 3600.0

# (temperature K, oxygen pressure Pa, y, tolerance). The tolerance is what data sets differ by,
# and what is uncertain about figures recalled, not digitised.
PUBLISHED = [
    # Liang, Bonn & Hardy, Phys. Rev. B 73 (2006) 180505: optimal crystals, O2 at about 500 degC
    (773.0, ONE_BAR, 6.92, 0.03),
    # Kishio et al. 1987 (figure): delta about 0.4 at 700 and 0.6 at 900 degC in O2
    (973.0, ONE_BAR, 6.60, 0.06),
    (1173.0, ONE_BAR, 6.38, 0.06),
    # Gallagher, Adv. Ceram. Mater. 2 (1987) 632 (figure): about 6.3 in air
    (1173.0, AIR, 6.29, 0.06),
]


@pytest.mark.parametrize(("temperature_k", "o2_pa", "published", "tolerance"), PUBLISHED)
def test_equilibrium_is_as_published(
    temperature_k: float, o2_pa: float, published: float, tolerance: float
) -> None:
    assert float(equilibrium_oxygen(temperature_k, o2_pa)) == pytest.approx(
        published, abs=tolerance
    )


@pytest.mark.parametrize(("o2_pa", "published"), [(1e5, 973.0), (2e4, 943.0), (2e3, 893.0)])
def test_it_turns_tetragonal_where_neutrons_saw_it(o2_pa: float, published: float) -> None:
    # Jorgensen et al. 1987: 700, 670 and 620 degC, y near 6.5
    temperature = np.linspace(800.0, 1100.0, 3001)
    y = equilibrium_oxygen(temperature, o2_pa)
    ordered = is_orthorhombic(temperature, y)
    first = int(np.argmin(ordered))
    assert ordered[0]
    assert not ordered[first:].any()
    assert temperature[first] == pytest.approx(published, abs=20.0)
    assert 6.45 <= y[first] <= 6.6


@given(
    temperature=st.floats(400.0, 1500.0),
    more_k=st.floats(0.0, 500.0),
    ln_pa=st.floats(-3.0, 15.0),
    more=st.floats(0.0, 5.0),
)
@settings(max_examples=200, deadline=None)
def test_it_falls_with_heat_rises_with_pressure_and_stays_in_bounds(
    temperature: float, more_k: float, ln_pa: float, more: float
) -> None:
    y = float(equilibrium_oxygen(temperature, np.exp(ln_pa)))
    assert 6.0 <= y <= 7.0
    assert float(equilibrium_oxygen(temperature + more_k, np.exp(ln_pa))) <= y + 1e-12
    assert float(equilibrium_oxygen(temperature, np.exp(ln_pa + more))) >= y - 1e-12


def test_no_oxygen_at_all_is_an_atmosphere() -> None:
    assert 6.0 <= float(equilibrium_oxygen(1100.0, 0.0)) < 6.1


def test_diffusion_is_faster_than_the_tracer_and_activated() -> None:
    # Rothman et al. 1989, table: 2.8e-10 cm2/s at 600 degC, tracer, 0.1 MPa
    hot = float(chemical_diffusivity(873.0, ONE_BAR))
    assert 2.8e-14 < hot < 30 * 2.8e-14
    assert float(chemical_diffusivity(573.0, ONE_BAR)) < 0.1 * hot


def programme(*knots: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    time, temperature = zip(*knots, strict=True)
    return np.array([time]), np.array([temperature])


def test_slow_cooling_takes_up_oxygen_that_a_quench_leaves_out() -> None:
    slow = programme((0.0, 1203.0), (15 * HOUR, 300.0))
    quench = programme((0.0, 1203.0), (20.0, 300.0))
    start = float(equilibrium_oxygen(1203.0, ONE_BAR))
    filled = anneal_oxygen(start, *slow, ONE_BAR, 3e-6)[0, -1]
    frozen = anneal_oxygen(start, *quench, ONE_BAR, 30e-6)[0, -1]
    assert filled > 6.95
    assert frozen == pytest.approx(start, abs=0.05)


def test_an_anneal_reaches_equilibrium_and_argon_takes_oxygen_out() -> None:
    hold = programme((0.0, 773.0), (200 * HOUR, 773.0))
    assert anneal_oxygen(6.2, *hold, ONE_BAR, 2e-6)[0, -1] == pytest.approx(
        float(equilibrium_oxygen(773.0, ONE_BAR)), abs=1e-6
    )
    assert anneal_oxygen(6.95, *hold, 10.0, 2e-6)[0, -1] < 6.4


def test_coarse_grains_take_longer() -> None:
    time, temperature = programme((0.0, 673.0), (HOUR, 673.0))
    radii = np.array([1e-6, 1e-5, 1e-4])
    y = anneal_oxygen(6.3, np.tile(time, (3, 1)), np.tile(temperature, (3, 1)), ONE_BAR, radii)
    assert (np.diff(y[:, -1]) < 0).all()
    assert y[2, -1] < 6.45


def test_rows_do_not_depend_on_each_other_and_more_knots_change_nothing() -> None:
    time, temperature = programme((0.0, 1100.0), (10 * HOUR, 500.0))
    alone = anneal_oxygen(6.3, time, temperature, AIR, 2e-5)
    both = anneal_oxygen(
        np.array([6.9, 6.3]),
        np.tile(time, (2, 1)),
        np.vstack([temperature + 50.0, temperature]),
        np.array([ONE_BAR, AIR]),
        np.array([1e-6, 2e-5]),
    )
    np.testing.assert_array_equal(both[1], alone[0])
    fine_t = np.linspace(0.0, 10 * HOUR, 21)[None, :]
    fine = anneal_oxygen(6.3, fine_t, np.interp(fine_t, time[0], temperature[0]), AIR, 2e-5)
    assert fine[0, -1] == pytest.approx(alone[0, -1], abs=1e-3)


def test_bad_input_is_refused() -> None:
    time, temperature = programme((0.0, 700.0), (10.0, 700.0))
    for bad in (np.nan, -5.0, np.inf):
        with pytest.raises(ProposalError):
            equilibrium_oxygen(bad, ONE_BAR)
        with pytest.raises(ProposalError):
            equilibrium_oxygen(700.0, bad)
        with pytest.raises(ProposalError):
            anneal_oxygen(6.5, time, temperature, ONE_BAR, bad)
    with pytest.raises(ProposalError, match="y0"):
        anneal_oxygen(5.0, time, temperature, ONE_BAR, 1e-6)
    with pytest.raises(ProposalError, match="never fall"):
        anneal_oxygen(6.5, -time, temperature, ONE_BAR, 1e-6)
    with pytest.raises(ProposalError, match="must both be"):
        anneal_oxygen(6.5, time[0], temperature, ONE_BAR, 1e-6)
