"""Batched quantification: accuracy, uncertainty, independence of the batch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from labenv.analysis import PhaseQuantifier, QuantifiedBatch
from labenv.physics.diffraction import DiffractometerSpec, PatternBasis, SampleBatch, ScanBatch
from labenv.physics.noise import poisson_counts
from labenv.physics.structures import phase_library
from labenv_schemas.errors import ConfigError

NAMES = ("witherite", "anatase", "rutile", "BaTiO3-hexagonal", "ZnO", "NiO", "V2O5", "baddeleyite")
SPEC = DiffractometerSpec()
ROWS = 60


@pytest.fixture(scope="module")
def quantifier() -> PhaseQuantifier:
    return PhaseQuantifier([phase_library().get(name) for name in NAMES], SPEC)


@pytest.fixture(scope="module")
def case() -> tuple[np.ndarray, np.ndarray, ScanBatch]:
    """True fractions, counts and settings of mixtures of two to four phases."""
    rng = np.random.default_rng(11)
    weights = np.zeros((ROWS, len(NAMES)))
    for row in weights:
        chosen = rng.choice(len(NAMES), rng.integers(2, 5), replace=False)
        row[chosen] = rng.dirichlet(np.ones(len(chosen)))
    sizes = np.exp(rng.uniform(np.log(15e-9), np.log(4e-7), weights.shape))
    one = np.ones(ROWS)
    scan = ScanBatch(
        0.25 * one, rng.uniform(-1, 1, ROWS) * 1e-4, rng.uniform(-1, 1, ROWS) * 0.02, one, one
    )
    basis = PatternBasis(tuple(phase_library().get(name) for name in NAMES), SPEC)
    mean = basis.mean_counts(SampleBatch(weights, sizes), scan)
    counts = poisson_counts(mean, [np.random.default_rng(seed) for seed in range(ROWS)])
    return weights, counts, scan


@pytest.fixture(scope="module")
def result(quantifier: PhaseQuantifier, case: tuple) -> QuantifiedBatch:
    return quantifier.run_batch(case[1], 0.25)


def test_fractions_are_right_to_half_a_per_cent(result: QuantifiedBatch, case: tuple) -> None:
    error = result.weight_fractions - case[0]
    assert np.abs(error).mean() < 0.005
    assert np.abs(error).max() < 0.05
    np.testing.assert_allclose(result.weight_fractions.sum(axis=1), 1.0)


def test_uncertainties_are_honest(result: QuantifiedBatch, case: tuple) -> None:
    present = case[0] > 0
    z = ((result.weight_fractions - case[0]) / result.uncertainties)[present]
    assert 0.3 < np.sqrt(np.mean(z**2)) < 2.0
    assert (np.abs(z) > 4).mean() < 0.05
    assert (result.uncertainties > 0).all()


def test_displacement_and_zero_are_found(result: QuantifiedBatch, case: tuple) -> None:
    scan = case[2]
    true = scan.zero_deg - np.degrees(2.0 * scan.displacement_m / SPEC.radius_m)
    assert np.abs(result.shift_deg - true).max() < 0.01


def test_good_fits_look_good(result: QuantifiedBatch) -> None:
    assert np.median(result.goodness_of_fit) < 1.5
    assert result.misfit.max() < 0.12
    np.testing.assert_allclose(result.crystalline_scale, 1.0, atol=0.08)


def test_a_scan_gives_the_same_bits_in_any_batch(
    quantifier: PhaseQuantifier, result: QuantifiedBatch, case: tuple
) -> None:
    alone = quantifier.run_batch(case[1][17], 0.25)
    for name in QuantifiedBatch.__dataclass_fields__:
        assert_array_equal(getattr(alone, name)[0], getattr(result, name)[17])


def test_a_missing_phase_shows_in_the_misfit(case: tuple) -> None:
    weights, counts, _ = case
    row = int(np.argmax(weights[:, 4]))
    others = [phase_library().get(name) for name in NAMES if name != "ZnO"]
    assert PhaseQuantifier(others, SPEC).run_batch(counts[row]).misfit[0] > 0.3


def test_a_scan_without_lines_has_no_phases(quantifier: PhaseQuantifier) -> None:
    flat = poisson_counts(0.25 * SPEC.background().sum(axis=0)[None], [np.random.default_rng(1)])
    found = quantifier.run_batch(flat)
    strongest = found.crystalline_scale[0] / 0.25
    assert strongest < 0.01


def test_noise_free_empty_scan_is_no_division_by_zero(quantifier: PhaseQuantifier) -> None:
    found = quantifier.run_batch(np.zeros((1, SPEC.points)))
    assert np.isfinite(found.weight_fractions).all()
    assert found.weight_fractions.sum() == 0.0


def test_quantifier_pickles_and_answers_the_same(
    quantifier: PhaseQuantifier, result: QuantifiedBatch, case: tuple
) -> None:
    again = pickle.loads(pickle.dumps(quantifier)).run_batch(case[1][:3], 0.25)
    assert_array_equal(again.weight_fractions, result.weight_fractions[:3])


def test_wrong_grids_and_numbers_are_refused(quantifier: PhaseQuantifier) -> None:
    with pytest.raises(ConfigError, match="grid of 2001"):
        quantifier.run_batch(np.ones((2, 100)))
    with pytest.raises(ConfigError, match="not finite"):
        quantifier.run_batch(np.full((1, SPEC.points), np.nan))
    with pytest.raises(ConfigError, match="at least one"):
        PhaseQuantifier([], SPEC)


def test_steps_of_any_size_are_read_as_well(case: tuple) -> None:
    # Two, three and five points to a bin, and one where a bin would be narrower than a step.
    weights, phases = case[0][:12], tuple(phase_library().get(name) for name in NAMES)
    sizes, one = np.full(weights.shape, 6e-8), np.ones(12)
    for step_deg in (0.012, 0.02, 0.03, 0.05):
        points = int(60.0 / step_deg) + 1
        spec = DiffractometerSpec(start_deg=15.0, step_deg=step_deg, points=points)
        scan = ScanBatch(8.3 * step_deg * one, 5e-5 * one, 0.01 * one, one, one)
        mean = PatternBasis(phases, spec).mean_counts(SampleBatch(weights, sizes), scan)
        counts = poisson_counts(mean, [np.random.default_rng(seed) for seed in range(12)])
        found = PhaseQuantifier(phases, spec).run_batch(counts)
        assert np.abs(found.weight_fractions - weights).max() < 0.03
        true = 0.01 - np.degrees(2.0 * 5e-5 / spec.radius_m)
        assert np.abs(found.shift_deg - true).max() < 0.01
