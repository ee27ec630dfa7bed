"""Weighing, pycnometry, EDS: noise as stated, limits, blind spots."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.physics.bulk_measurements import (
    EDS_LIMIT,
    BulkInstruments,
    eds_composition,
    mass_change,
    pycnometer_density,
)
from labenv_schemas.errors import ProposalError, SimulatorError

LAB = BulkInstruments()


def generators(count: int) -> list[np.random.Generator]:
    return [np.random.default_rng([5, i]) for i in range(count)]


def test_calcite_loses_44_percent() -> None:
    # CaCO3 -> CaO + CO2: 44.0 g of 100.1 g (molar masses)
    before, share = 1e-3, 44.01 / 100.09
    n = 500
    readings = mass_change(
        np.full(n, before),
        np.full(n, before * (1 - share)),
        np.tile([2710.0, 3340.0], (n, 1)),
        LAB,
        generators(n),
    )
    lost = 1 - readings[:, 1] / readings[:, 0]
    assert float(np.median(lost)) == pytest.approx(share, abs=5e-4)
    assert float(lost.std()) < 3e-4
    # handling loses powder, it never adds: the mean lies above
    assert float(lost.mean()) > share


def test_buoyancy_is_seen_by_light_powders() -> None:
    quiet = BulkInstruments(
        balance_sd_kg=0.0, drift_sd_kg=0.0, handling_loss=0.0, balance_step_kg=1e-15
    )
    one = np.array([1e-3])
    reading = mass_change(one, one, np.array([[1000.0, 8000.0]]), quiet, generators(1))[0]
    # water against steel in air: about 1.05 mg a gram (OIML R 111)
    assert 1e-3 - reading[0] == pytest.approx(1.04e-6, rel=0.02)
    assert reading[1] == pytest.approx(1e-3)


def test_closed_pores_lower_the_density_and_open_ones_do_not() -> None:
    n = 400
    solid, none = np.full(n, 6374.0), np.zeros(n)
    density, sd = pycnometer_density(np.full(n, 5e-3), solid, none, LAB, generators(n))
    assert float(density.mean()) == pytest.approx(6374.0, rel=2e-4)
    assert float((density - 6374.0).std()) == pytest.approx(float(sd.mean()), rel=0.15)
    porous, _ = pycnometer_density(np.full(n, 5e-3), solid, none + 0.05, LAB, generators(n))
    assert float(porous.mean()) == pytest.approx(0.95 * 6374.0, rel=3e-4)


def test_small_samples_are_uncertain_then_refused() -> None:
    solid, none = np.array([6000.0]), np.zeros(1)
    _, large = pycnometer_density(np.array([1e-2]), solid, none, LAB, generators(1))
    _, small = pycnometer_density(np.array([1e-4]), solid, none, LAB, generators(1))
    assert small[0] > 10 * large[0]
    with pytest.raises(ProposalError, match="at least"):
        pycnometer_density(np.array([1e-6]), solid, none, LAB, generators(1))


def test_eds_is_blind_to_lithium_and_hazy_on_oxygen() -> None:
    # LiCoO2: Li 7.1, Co 60.2, O 32.7 % by mass
    n = 500
    true = np.tile([0.0709, 0.6021, 0.3270], (n, 1))
    found = eds_composition(true, [3, 27, 8], LAB, generators(n))
    assert not found.seen[:, 0].any()
    assert (found.mass_fraction[:, 0] == 0.0).all()
    np.testing.assert_allclose(found.mass_fraction.sum(axis=1), 1.0)
    assert float(found.mass_fraction[:, 1].mean()) == pytest.approx(0.648, abs=0.01)
    for column in (1, 2):
        real = float(found.mass_fraction[:, column].std())
        assert real == pytest.approx(float(found.uncertainty[:, column].mean()), rel=0.2)
    assert float(found.mass_fraction[:, 2].std()) > 0.03


def test_eds_misses_traces() -> None:
    true = np.array([[0.9996, 0.0004]])
    found = eds_composition(true, [29, 47], LAB, generators(1))
    assert not found.seen[0, 1]
    assert found.uncertainty[0, 1] == EDS_LIMIT / 2


def test_rows_stand_alone_and_bad_input_is_refused() -> None:
    true = np.tile([0.5, 0.5], (3, 1))
    both = eds_composition(true, [29, 39], LAB, generators(3))
    alone = eds_composition(true[2:], [29, 39], LAB, generators(3)[2:])
    np.testing.assert_array_equal(both.mass_fraction[2], alone.mass_fraction[0])
    with pytest.raises(ProposalError, match="add up"):
        eds_composition(np.array([[0.5, 0.4]]), [29, 39], LAB, generators(1))
    with pytest.raises(ProposalError, match="lighter"):
        eds_composition(np.array([[1.0]]), [3], LAB, generators(1))
    with pytest.raises(ProposalError, match="mass"):
        mass_change(np.array([np.nan]), np.array([1.0]), np.ones((1, 2)), LAB, generators(1))
    with pytest.raises(SimulatorError):
        eds_composition(true, [29, 39], LAB, [])
