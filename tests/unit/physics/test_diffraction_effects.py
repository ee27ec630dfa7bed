"""Other radiations, and what real powders add to the pattern of an ideal mixture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from labenv.physics.diffraction import (
    DiffractometerSpec,
    PatternBasis,
    SampleBatch,
    ScanBatch,
    line_pattern,
)
from labenv.physics.diffraction_effects import (
    SILICA_GLASS,
    RealPowder,
    diffuse_pattern,
    particle_factor,
)
from labenv.physics.diffraction_radiation import K_ALPHA_A, radiation_of, with_radiation
from labenv.physics.fluorescence import Detection, emission_lines
from labenv.physics.profiles import lorentz_polarisation, two_theta_deg
from labenv.physics.reflection_cache import reflections_of
from labenv.physics.structures import phase_library
from labenv_schemas.errors import ConfigError, SimulatorError

SPEC = DiffractometerSpec(start_deg=20.0, step_deg=0.06, points=901)
CU_EV = 8047.8


def basis_of(*names: str, spec: DiffractometerSpec = SPEC) -> PatternBasis:
    return PatternBasis(tuple(phase_library().get(name) for name in names), spec)


def sample_of(*weights: float) -> SampleBatch:
    fractions = np.array([weights])
    return SampleBatch(fractions, np.full(fractions.shape, 1e-7))


def level(counts: np.ndarray) -> float:
    return float(np.percentile(counts, 5.0))


@pytest.mark.parametrize(
    ("text", "wavelength_a", "second"),
    [
        ("Mo", 0.709319, True),
        ("co k-alpha", 1.789010, True),
        ("CrKα", 2.289726, True),
        ("Cu Kα1", 1.5405929, False),
        ("0.4136", 0.4136, False),
        ("0,4136 Å", 0.4136, False),
        ("41.36 pm", 0.4136, False),
        ("0.04136 nm", 0.4136, False),
    ],
)
def test_radiation_is_read(text: str, wavelength_a: float, second: bool) -> None:
    light = radiation_of(text)
    assert light.k_alpha1_a == pytest.approx(wavelength_a)
    assert (light.k_alpha2_a is not None) == second


@pytest.mark.parametrize("text", ["", "Xx", "-1", "nan", "25", "1e-9", "Mo K-beta", "0.7 eV"])
def test_radiation_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"radiation|wavelength"):
        radiation_of(text)


@pytest.mark.parametrize("anode", sorted(K_ALPHA_A))
def test_wavelengths_are_those_of_the_elements_lines(anode: str) -> None:
    import xraydb  # type: ignore[import-untyped]  # the package has no types

    energy_ev = xraydb.xray_lines(anode)["Ka1"].energy
    assert K_ALPHA_A[anode][0] == pytest.approx(12398.42 / energy_ev, rel=4e-4)


def test_molybdenum_shows_the_same_spacings_at_smaller_angles() -> None:
    """(110) of rutile, d = 3.2487 Å, at 27.43° of copper and 12.54° of molybdenum."""
    mo = with_radiation(SPEC, "Mo")
    ends = two_theta_deg(np.array([1.0]), 1.0)  # 60°, as a check of Bragg's law
    assert ends[0] == pytest.approx(60.0)
    pattern = line_pattern(
        reflections_of(phase_library().get("rutile"), mo.k_alpha_a[0], 60.0), mo, 1e-7
    )
    assert mo.two_theta_deg[np.argmax(pattern)] == pytest.approx(12.54, abs=0.03)
    assert mo.points == SPEC.points
    d_ends = [
        0.5 * s.k_alpha_a[0] / np.sin(np.radians(s.two_theta_deg[[0, -1]]) / 2) for s in (SPEC, mo)
    ]
    assert_allclose(d_ends[0], d_ends[1], rtol=1e-9)
    assert mo.counts_per_second / SPEC.counts_per_second == pytest.approx(0.0976, rel=0.01)


def test_spacings_that_chromium_cannot_show_are_named() -> None:
    with pytest.raises(ConfigError, match="cannot show"):
        with_radiation(replace(SPEC, points=2001), "Cr")
    kept = with_radiation(replace(SPEC, points=2001), "Cr", same_spacings=False)
    assert kept.two_theta_deg[-1] == pytest.approx(140.0)


def test_polarised_beam_has_no_dip_at_right_angles() -> None:
    angle = np.array([90.0])
    tube, ring = lorentz_polarisation(angle), lorentz_polarisation(angle, 0.02)
    assert_allclose(tube, ring)  # cos² 90° is 0 for both
    assert (
        lorentz_polarisation(np.array([20.0]))[0]
        > 1.8 * lorentz_polarisation(np.array([20.0]), 0.02)[0]
    )
    assert with_radiation(SPEC, "0.5 Å", polarised=True).in_plane == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("opacity", "published"), [(0.02, 0.985), (0.2, 0.861), (-0.2, 1.163), (1.0, 0.482)]
)
def test_particle_factor_follows_brindley(opacity: float, published: float) -> None:
    """Brindley's table at (μ - μ̄) R = 0.01, ±0.1 and 0.5, here by the diameter."""
    assert particle_factor(np.array([opacity]))[0] == pytest.approx(published, abs=0.003)


def test_particle_factor_is_smooth_and_falls() -> None:
    x = np.linspace(-3.0, 15.0, 3601)
    tau = particle_factor(x)
    assert (np.diff(tau) < 0.0).all()
    assert np.abs(np.diff(tau, 2)).max() < 1e-3


def test_without_effects_the_counts_are_those_of_the_basis() -> None:
    basis = basis_of("rutile", "ZnO")
    sample, scan = sample_of(0.4, 0.6), ScanBatch.plain(1)
    ideal = basis.mean_counts(sample, scan)
    assert_allclose(RealPowder(basis).mean_counts(sample, scan), ideal, rtol=1e-12)


def test_coarse_absorbing_particles_are_seen_too_weakly() -> None:
    """Bismuth oxide with lithium carbonate under copper: 10 µm grains, (μ - μ̄) D far above 1."""
    basis = basis_of("Bi2O3-alpha", "Li2CO3")
    sample, scan = sample_of(0.5, 0.5), ScanBatch.plain(1)
    powder = RealPowder(basis)
    fine = powder.mean_counts(sample, scan)[0]
    coarse = powder.mean_counts(sample, scan, 10e-6)[0]
    bismuth = basis.mean_counts(sample_of(1.0, 0.0), scan)[0]
    line = int(np.argmax(bismuth))
    assert coarse[line] < 0.75 * fine[line]
    per_phase = powder.mean_counts(sample, scan, np.array([[10e-6, 10e-6]]))[0]
    assert_array_equal(coarse, per_phase)


def test_atoms_scatter_as_much_in_a_glass_as_in_a_crystal() -> None:
    """Lines of quartz over a wide range hold what its atoms scatter, less vibration."""
    spec = DiffractometerSpec(start_deg=30.0, step_deg=0.05, points=1601)
    lines = reflections_of(phase_library().get("quartz"), spec.k_alpha_a[0], 115.0)
    crystal = line_pattern(lines, spec, 2e-7).sum()
    free = diffuse_pattern("SiO2", spec).sum()
    assert 0.55 * free < crystal < 1.15 * free


def test_glass_gives_a_halo_and_its_mass_is_missing_in_the_lines() -> None:
    basis = basis_of("rutile")
    powder = RealPowder(basis, (SILICA_GLASS,))
    scan = ScanBatch.plain(1)
    pure = powder.mean_counts(sample_of(1.0), scan)[0]
    half = powder.mean_counts(sample_of(0.5), scan, amorphous_fractions=np.array([[0.5]]))[0]
    glass = powder.mean_counts(sample_of(0.0), scan, amorphous_fractions=np.array([[1.0]]))[0]
    angle = SPEC.two_theta_deg
    background = basis.spec.background().sum(axis=0)
    assert angle[np.argmax(glass - background)] == pytest.approx(21.7, abs=0.7)
    line = int(np.argmax(pure))
    light = powder._mu  # pyright: ignore[reportPrivateUsage]
    expected = 0.5 * light[0] / (0.5 * light.sum())
    halo = 0.5 * (glass - background)[line] * light[1] / (0.5 * light.sum())
    net = half[line] - background[line] - halo
    assert net / (pure - background)[line] == pytest.approx(expected, rel=1e-6)


def test_iron_glows_under_copper_but_not_under_cobalt_or_with_a_discriminator() -> None:
    scan = ScanBatch.plain(1)
    dark = level(basis_of("hematite").mean_counts(sample_of(1.0), scan))
    copper = level(
        RealPowder(basis_of("hematite"), detection=Detection()).mean_counts(sample_of(1.0), scan)
    )
    assert copper > 8.0 * dark
    sharp = RealPowder(basis_of("hematite"), detection=Detection.discriminating(CU_EV))
    assert level(sharp.mean_counts(sample_of(1.0), scan)) < 0.15 * copper
    cobalt = with_radiation(SPEC, "Co", same_spacings=False)
    seen = Detection.open(12398.42 / 1.789010, monochromatic=True)
    glow = RealPowder(basis_of("hematite", spec=cobalt), detection=seen)
    assert level(glow.mean_counts(sample_of(1.0), scan)) < 1.05 * dark


@pytest.mark.parametrize(
    ("phases", "weights", "counts_per_second"),
    [
        (("magnetite", "SrO"), (0.427, 0.573), 57_700),
        (("NiO", "Bi2O3-alpha"), (0.6, 0.4), 46_000),
        (("V2O5", "ZnO"), (0.6, 0.4), 6_900),
        (("CuO", "MnO"), (0.529, 0.471), 55_900),
        (("eskolaite", "PbO-litharge"), (0.254, 0.746), 11_900),
    ],
)
def test_background_of_real_scans_follows_from_composition(
    phases: tuple[str, ...], weights: tuple[float, ...], counts_per_second: float
) -> None:
    """Levels at 70° to 80° of A-Lab scans of these compositions, per second of scan time."""
    spec = DiffractometerSpec(start_deg=70.0, step_deg=0.06, points=167)
    powder = RealPowder(basis_of(*phases, spec=spec), detection=Detection())
    found = level(powder.mean_counts(sample_of(*weights), ScanBatch.plain(1)))
    assert counts_per_second / 1.8 < found < 1.8 * counts_per_second


def test_edges_decide_what_glows() -> None:
    assert not [x for x in emission_lines("Ni", CU_EV) if x.energy_ev > 5000.0]
    (alpha, beta) = (x for x in emission_lines("Fe", CU_EV) if x.energy_ev > 5000.0)
    assert alpha.energy_ev == pytest.approx(6400.0, abs=5.0)
    # of 30.0 m²/kg, 0.873 in the K shell, of which 0.351 shine, 0.87 of them as α
    assert alpha.cross_section_m2_kg == pytest.approx(8.0, rel=0.05)
    assert beta.cross_section_m2_kg < 0.2 * alpha.cross_section_m2_kg


@pytest.mark.parametrize("bad", [-0.1, np.nan, 1.2])
def test_impossible_amounts_are_refused(bad: float) -> None:
    powder = RealPowder(basis_of("rutile"), (SILICA_GLASS,))
    with pytest.raises(SimulatorError):
        powder.mean_counts(
            sample_of(0.5), ScanBatch.plain(1), amorphous_fractions=np.array([[bad]])
        )
    with pytest.raises(SimulatorError, match="amorphous"):
        powder.mean_counts(sample_of(0.5), ScanBatch.plain(1), np.zeros(3))
