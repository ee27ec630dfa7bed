"""Reflections, profiles, pattern synthesis and counting noise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labenv.physics import reflection_cache
from labenv.physics.diffraction import (
    DiffractometerSpec,
    PatternBasis,
    SampleBatch,
    ScanBatch,
    line_pattern,
)
from labenv.physics.noise import EXACT_BELOW, poisson_counts
from labenv.physics.profiles import (
    add_peaks,
    combine_widths,
    lorentz_polarisation,
    march_dollase,
    scherrer_deg,
    shift_deg,
    two_theta_deg,
)
from labenv.physics.reflection_cache import reflections_of
from labenv.physics.structures import phase_library
from labenv_schemas.errors import ConfigError, SimulatorError

CU_KALPHA1_A = 1.5405929
CARDS = json.loads((Path(__file__).parent / "published_lines.json").read_text(encoding="utf-8"))
SPEC = DiffractometerSpec(start_deg=20.0, step_deg=0.03, points=1201)


@pytest.fixture(scope="module")
def basis() -> PatternBasis:
    library = phase_library()
    phases = tuple(library.get(name) for name in ("rutile", "anatase", "witherite"))
    return PatternBasis(phases, SPEC, {"rutile": (1, 1, 0)})


def mixture(rows: int = 3) -> tuple[SampleBatch, ScanBatch]:
    rng = np.random.default_rng(7)
    weights = rng.dirichlet(np.ones(3), rows)
    sizes = np.exp(rng.uniform(np.log(8e-9), np.log(4e-7), (rows, 3)))
    texture = rng.uniform(0.55, 1.2, (rows, 3))
    one = np.ones(rows)
    scan = ScanBatch(
        2.0 * one, rng.uniform(-1e-4, 1e-4, rows), rng.uniform(-0.03, 0.03, rows), one, one
    )
    return SampleBatch(weights, sizes, texture), scan


@pytest.mark.parametrize("card", CARDS, ids=[card["phase"] for card in CARDS])
def test_strongest_lines_stand_where_the_powder_card_has_them(card: dict) -> None:
    lines = reflections_of(phase_library().get(card["phase"]), CU_KALPHA1_A)
    angle = two_theta_deg(lines.d_a, CU_KALPHA1_A)
    strength = lines.unit_intensity * lorentz_polarisation(angle)
    for line in card["lines"]:
        if line.get("disputed"):
            continue
        published = float(two_theta_deg(np.array([line["d_a"]]), CU_KALPHA1_A)[0])
        near = np.abs(angle - published) < 0.05 + 0.002 * published
        assert near.any(), line
        assert strength[near].max() > 0.02 * strength.max(), line


def test_relative_intensities_agree_with_pymatgen_for_light_dispersion() -> None:
    from pymatgen.analysis.diffraction.xrd import XRDCalculator

    phase = phase_library().get("rutile")
    lines = reflections_of(phase, CU_KALPHA1_A, 90.0)
    angle = two_theta_deg(lines.d_a, CU_KALPHA1_A)
    strength = lines.unit_intensity * lorentz_polarisation(angle)
    strength *= 100.0 / strength.max()
    pattern = XRDCalculator(wavelength=CU_KALPHA1_A).get_pattern(
        phase.structure(), two_theta_range=(20.0, 60.0)
    )
    for position, height in zip(pattern.x, pattern.y, strict=True):
        if height > 5.0:
            ours = float(strength[np.abs(angle - position) < 0.01].sum())
            assert ours == pytest.approx(height, rel=0.10)


def test_weight_fractions_follow_from_scale_times_zmv() -> None:
    """I/Ic of an absolute scale: rutile 3.4 to 3.6, zincite 5.0 to 5.7, both against corundum."""
    library = phase_library()

    def strongest(name: str) -> float:
        lines = reflections_of(library.get(name), CU_KALPHA1_A)
        angle = two_theta_deg(lines.d_a, CU_KALPHA1_A)
        return float((lines.unit_intensity * lorentz_polarisation(angle)).max())

    corundum = strongest("corundum")
    assert strongest("rutile") / corundum == pytest.approx(3.5, rel=0.08)
    assert strongest("ZnO") / corundum == pytest.approx(5.4, rel=0.10)


def test_line_members_hold_all_intensity_and_equal_spacings() -> None:
    lines = reflections_of(phase_library().get("witherite"), CU_KALPHA1_A)
    assert_allclose(lines.line_mean(np.ones(len(lines.member_line))), 1.0)
    inverse_d = np.linalg.norm(lines.member_hkl @ lines.reciprocal_a, axis=1)
    assert_allclose(1.0 / inverse_d, lines.d_a[lines.member_line], rtol=1e-9)
    assert_allclose(1.0 / np.sqrt(lines.cell_terms @ lines.cell_values), lines.d_a, rtol=1e-9)
    assert (np.diff(lines.d_a) <= 0).all()


def test_preferred_plane_of_zero_indices_is_refused() -> None:
    lines = reflections_of(phase_library().get("rutile"), CU_KALPHA1_A)
    with pytest.raises(ConfigError, match="0 0 0"):
        lines.cos2_to_axis((0, 0, 0))


def test_too_large_cell_and_empty_range_are_named() -> None:
    from pymatgen.core import Lattice, Structure

    from labenv.physics.reflections import compute_reflections

    huge = Structure(Lattice.cubic(100.0), ["Si"] * 40, np.random.default_rng(0).random((40, 3)))
    with pytest.raises(ConfigError, match="too many to compute"):
        compute_reflections(huge, CU_KALPHA1_A)
    tiny = Structure(Lattice.cubic(2.0), ["Si"], [[0, 0, 0]])
    with pytest.raises(ConfigError, match="widen the angular range"):
        compute_reflections(tiny, CU_KALPHA1_A, 20.0)


def test_cache_survives_damage_and_is_read_without_pymatgen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABENV_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(reflection_cache, "_in_process", {})
    phase = phase_library().get("rutile")
    first = reflections_of(phase, CU_KALPHA1_A)
    (stored,) = (tmp_path / "reflections").glob("*.npz")
    monkeypatch.setattr(reflection_cache, "_in_process", {})
    monkeypatch.setattr(reflection_cache, "compute_reflections", None)
    again = reflections_of(phase, CU_KALPHA1_A)
    assert_array_equal(again.f_squared, first.f_squared)
    monkeypatch.undo()
    monkeypatch.setenv("LABENV_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(reflection_cache, "_in_process", {})
    stored.write_bytes(stored.read_bytes()[:100])
    assert_array_equal(reflections_of(phase, CU_KALPHA1_A).f_squared, first.f_squared)


def test_cache_folder_that_cannot_be_made_costs_nothing_but_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("LABENV_CACHE_DIR", str(blocked))
    monkeypatch.setattr(reflection_cache, "_in_process", {})
    assert len(reflections_of(phase_library().get("rutile"), CU_KALPHA1_A).d_a) > 10


def test_peak_area_is_kept_by_the_profile() -> None:
    out = np.zeros(40001)
    add_peaks(
        0.0, 0.001, np.array([20.0]), np.array([0.1]), np.array([0.4]), np.array([5.0]), 150.0, out
    )
    assert out.sum() * 0.001 == pytest.approx(5.0, rel=5e-3)
    above = np.flatnonzero(out > out.max() / 2)
    assert (above[-1] - above[0]) * 0.001 == pytest.approx(0.1, rel=0.03)


def test_widths_reduce_to_their_pure_parts() -> None:
    gauss, lorentz = np.array([0.01]), np.array([0.1])
    width, eta = combine_widths(gauss, np.zeros(1))
    assert width[0] == pytest.approx(0.1)
    assert eta[0] == pytest.approx(0.0)
    width, eta = combine_widths(np.array([1e-12]), lorentz)
    assert width[0] == pytest.approx(0.1, rel=1e-3)
    assert eta[0] == pytest.approx(1.0, rel=1e-3)


def test_scherrer_width_of_a_known_crystallite() -> None:
    # 0.9 λ / (L cos θ) for L = 20 nm at 2θ = 40°, in degrees
    expected = np.degrees(0.9 * 1.5406e-10 / (20e-9 * np.cos(np.radians(20.0))))
    assert scherrer_deg(np.array([40.0]), 20e-9, 1.5406)[0] == pytest.approx(expected)


@pytest.mark.parametrize("r", [0.5, 0.8, 1.0, 1.3])
def test_texture_keeps_the_mean_over_the_sphere(r: float) -> None:
    cosine = (np.arange(20000) + 0.5) / 20000
    assert march_dollase(cosine**2, r).mean() == pytest.approx(1.0, rel=1e-3)


def test_sample_above_the_axis_moves_lines_to_lower_angles() -> None:
    shift = shift_deg(np.array([30.0]), 0.0, 1e-4, 0.145)
    assert shift[0] == pytest.approx(-np.degrees(2e-4 / 0.145) * np.cos(np.radians(15.0)))


def test_fast_patterns_agree_with_direct_summation(basis: PatternBasis) -> None:
    sample, scan = mixture()
    fast = basis.mean_counts(sample, scan)
    angle = SPEC.two_theta_deg
    dense = (SPEC.start_deg - 1.0, 0.002, 19001)
    dense_angle = dense[0] + dense[1] * np.arange(dense[2])
    for row in range(3):
        total = np.zeros(SPEC.points)
        moved = angle - shift_deg(
            angle, scan.zero_deg[row], scan.displacement_m[row], SPEC.radius_m
        )
        for p, phase in enumerate(basis.phases):
            lines = reflections_of(phase, CU_KALPHA1_A, 60.0)
            factor = None
            if phase.name == "rutile":
                cos2 = lines.cos2_to_axis((1, 1, 0))
                factor = lines.line_mean(march_dollase(cos2, sample.texture_r[row, p]))
            exact = line_pattern(lines, SPEC, sample.crystallite_size_m[row, p], factor, dense)
            total += sample.weight_fractions[row, p] * np.interp(moved, dense_angle, exact)
        attenuation = float(sample.weight_fractions[row] @ basis.attenuation_m2_kg)
        exact_counts = 2.0 * SPEC.counts_per_second * total / attenuation
        lines_only = fast[row] - 2.0 * SPEC.background().sum(axis=0)
        # texture is interpolated between seven strengths
        assert np.abs(lines_only - exact_counts).max() < 4e-3 * exact_counts.max()


def test_without_texture_agreement_is_better_than_two_per_mille(basis: PatternBasis) -> None:
    weights, sizes = np.array([[0.3, 0.2, 0.5]]), np.array([[30e-9, 70e-9, 200e-9]])
    fast = basis.mean_counts(SampleBatch(weights, sizes), ScanBatch.plain(1))[0]
    exact = sum(
        weights[0, p] * line_pattern(reflections_of(x, CU_KALPHA1_A, 60.0), SPEC, sizes[0, p])
        for p, x in enumerate(basis.phases)
    )
    attenuation = float(weights[0] @ basis.attenuation_m2_kg)
    exact = SPEC.counts_per_second * exact / attenuation
    fast = fast - SPEC.background().sum(axis=0)
    assert np.abs(fast - exact).max() < 2e-3 * exact.max()


def test_a_row_has_the_same_bits_in_any_batch(basis: PatternBasis) -> None:
    sample, scan = mixture(17)
    together = basis.mean_counts(sample, scan)
    for row in (0, 8, 16):
        one = slice(row, row + 1)
        alone = basis.mean_counts(
            SampleBatch(
                sample.weight_fractions[one],
                sample.crystallite_size_m[one],
                sample.texture_r[one],
            ),
            ScanBatch(*(getattr(scan, name)[one] for name in ScanBatch.__dataclass_fields__)),
        )
        assert_array_equal(alone[0], together[row])


def test_counts_grow_with_scan_time_and_fall_with_absorption(basis: PatternBasis) -> None:
    sample = SampleBatch(np.array([[1.0, 0.0, 0.0]]), np.full((1, 3), 1e-7))
    short = basis.mean_counts(sample, ScanBatch.plain(1, 1.0))
    assert_allclose(basis.mean_counts(sample, ScanBatch.plain(1, 3.0)), 3.0 * short, rtol=1e-12)
    mixed = SampleBatch(np.array([[0.5, 0.0, 0.5]]), np.full((1, 3), 1e-7))
    attenuation = basis.attenuation_m2_kg
    peak = np.argmax(short[0])
    background = SPEC.background().sum(axis=0)[peak]
    expected = 0.5 * attenuation[0] / (0.5 * (attenuation[0] + attenuation[2]))
    ratio = (basis.mean_counts(mixed, ScanBatch.plain(1))[0, peak] - background) / (
        short[0, peak] - background
    )
    assert ratio == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("bad", [-0.1, np.nan])
def test_impossible_fractions_are_refused(basis: PatternBasis, bad: float) -> None:
    sample = SampleBatch(np.array([[bad, 0.5, 0.5]]), np.full((1, 3), 1e-7))
    with pytest.raises(SimulatorError, match="negative or not finite"):
        basis.mean_counts(sample, ScanBatch.plain(1))


def test_shapes_that_disagree_are_refused(basis: PatternBasis) -> None:
    sample = SampleBatch(np.ones((1, 2)), np.full((1, 2), 1e-7))
    with pytest.raises(SimulatorError, match="3 phases"):
        basis.mean_counts(sample, ScanBatch.plain(1))


@pytest.mark.parametrize("mean", [0.3, 4.0, EXACT_BELOW + 0.5, 200.0, 40000.0])
def test_counts_have_the_moments_of_a_poisson_variable(mean: float) -> None:
    counts = poisson_counts(np.full((1, 200_000), mean), [np.random.default_rng(3)])[0]
    error = np.sqrt(mean / counts.size)
    assert counts.mean() == pytest.approx(mean, abs=5 * error)
    assert counts.var() == pytest.approx(mean, rel=0.02)
    skew = ((counts - mean) ** 3).mean() / mean**1.5
    assert skew == pytest.approx(mean**-0.5, abs=0.06)
    assert (counts == np.round(counts)).all()
    assert counts.min() >= 0


def test_fast_poisson_has_the_right_probabilities() -> None:
    from scipy.stats import poisson

    mean = EXACT_BELOW + 1.0
    counts = poisson_counts(np.full((1, 400_000), mean), [np.random.default_rng(5)])[0]
    values = np.arange(10, 60)
    observed = np.array([(counts == value).mean() for value in values])
    assert np.abs(observed - poisson.pmf(values, mean)).sum() < 0.02


def test_noise_of_a_row_depends_on_its_own_generator_only() -> None:
    mean = np.abs(np.random.default_rng(0).normal(50.0, 40.0, (5, 300)))
    together = poisson_counts(mean, [np.random.default_rng(seed) for seed in range(5)])
    alone = poisson_counts(mean[3:4], [np.random.default_rng(3)])
    assert_array_equal(alone[0], together[3])


@pytest.mark.parametrize("bad", [-1.0, np.inf])
def test_impossible_means_are_refused(bad: float) -> None:
    with pytest.raises(SimulatorError, match="finite and not negative"):
        poisson_counts(np.array([[1.0, bad]]), [np.random.default_rng(0)])


def test_generators_must_match_rows() -> None:
    with pytest.raises(SimulatorError, match="as many generators"):
        poisson_counts(np.ones((2, 3)), [np.random.default_rng(0)])


def test_deviates_of_the_counts_are_normal_out_into_the_tails() -> None:
    from scipy.stats import kstest, norm

    mean = 1e12  # so many that rounding to whole numbers does not show
    counts = poisson_counts(np.full((1, 1_000_000), mean), [np.random.default_rng(8)])[0]
    deviate = (counts - mean) / np.sqrt(mean)
    assert kstest(deviate, "norm").pvalue > 1e-3
    for edge in (2.5, 3.0, 3.5, 4.0):
        expected = deviate.size * norm.sf(edge)
        for beyond in (np.sum(deviate > edge), np.sum(deviate < -edge)):
            assert abs(beyond - expected) < 4.0 * np.sqrt(expected)
    assert abs(np.corrcoef(deviate[:-1], deviate[1:])[0, 1]) < 4e-3
    half = deviate.size // 2  # the two deviates of one count of the counter
    assert abs(np.corrcoef(deviate[:half], deviate[half:])[0, 1]) < 6e-3


def test_counts_may_take_the_place_of_their_means() -> None:
    mean = np.exp(np.random.default_rng(2).uniform(0.0, 9.0, (3, 400)))  # some drawn exactly
    apart = poisson_counts(mean, [np.random.default_rng(seed) for seed in range(3)])
    place = mean.copy()
    same = poisson_counts(place, [np.random.default_rng(seed) for seed in range(3)], place)
    assert same is place
    assert_array_equal(apart, place)
