"""Blind identification: right phases, no invented ones, honest about what it cannot know."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from labenv.analysis import Identification, identify, identify_phases
from labenv.analysis.identification_evidence import line_evidence
from labenv.analysis.identification_screen import Screen
from labenv.analysis.scan import prepare_scan
from labenv.analysis.search import _candidates  # pyright: ignore[reportPrivateUsage]
from labenv.physics.diffraction import DiffractometerSpec, PatternBasis, SampleBatch, ScanBatch
from labenv.physics.noise import poisson_counts
from labenv.physics.structures import CrystalPhase, PhaseLibrary, phase_library
from labenv_schemas.errors import ConfigError
from labenv_schemas.measurement import Diffractogram, Radiation

from .synthetic_scans import PARTICLES_M, simulated_scan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SYSTEM = ["Ti", "Zn", "Ni", "O"]


def scan_of(
    phases: Sequence[CrystalPhase], weights: Sequence[float], hump: float = 0.0
) -> Diffractogram:
    """Return a noisy scan of phases that need not be in the library, on an amorphous hump."""
    spec = DiffractometerSpec(step_deg=0.03, points=2001)
    basis = PatternBasis(tuple(phases), spec)
    one = np.ones(1)
    sample = SampleBatch(np.array([list(weights)]), np.full((1, len(phases)), 80e-9))
    mean = basis.mean_counts(sample, ScanBatch(0.3 * one, 8e-5 * one, 0.0 * one, one, one))
    mean = mean + hump * np.exp(-(((spec.two_theta_deg - 24.0) / 6.0) ** 2))
    first, second = spec.k_alpha_a
    return Diffractogram(
        two_theta_deg=spec.two_theta_deg,
        counts=poisson_counts(mean, [np.random.default_rng(3)])[0],
        radiation=Radiation(
            k_alpha1_a=first, k_alpha2_a=second, k_alpha2_ratio=spec.k_alpha2_ratio
        ),
        goniometer_radius_m=spec.radius_m,
    )


def swollen(name: str, stretch: float) -> CrystalPhase:
    phase = phase_library().get(name)
    a, b, c, *angles = phase.lattice
    lattice = (a * (1 + stretch), b * (1 + stretch), c * (1 + stretch), *angles)
    density = phase.density_kg_m3 / (1 + stretch) ** 3
    return replace(phase, lattice=lattice, density_kg_m3=density)  # type: ignore[arg-type]


def names(result: Identification) -> set[str]:
    return {found.name for found in result.found}


TRUE = {"anatase": 0.5, "V2O5": 0.3, "In2O3": 0.2}


@pytest.fixture(scope="module")
def blind() -> Identification:
    """A search of a whole library; of a part of ours, for lines are computed afresh in tests."""
    others = [phase for phase in list(phase_library())[::25] if phase.name not in TRUE]
    library = PhaseLibrary([*[phase_library().get(n) for n in TRUE], *others])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("labenv.physics.structures.phase_library", lambda: library)
        return identify_phases(simulated_scan(TRUE), particle_size_m=PARTICLES_M)


@pytest.mark.parametrize("radiation", ["Mo", "Co", "0.4959 Å"])
def test_other_wavelengths_show_the_same_phases(radiation: str) -> None:
    from labenv.physics.diffraction_radiation import with_radiation

    spec = DiffractometerSpec(step_deg=0.02, points=3001)
    spec = with_radiation(spec, radiation)
    narrower = spec.k_alpha_a[0] / 1.54
    u, v, w = spec.caglioti
    spec = replace(
        spec,
        caglioti=(u, v * narrower, w * narrower**2),
        lorentz_deg=spec.lorentz_deg * narrower,
        counts_per_second=spec.counts_per_second * narrower**-3,
    )
    scan = simulated_scan({"anatase": 0.6, "ZnO": 0.4}, spec=spec, displacement_m=0.0)
    result = identify_phases(scan, ["Ti", "Zn", "O"], particle_size_m=PARTICLES_M)
    assert names(result) == {"anatase", "ZnO"}
    fractions = {p.name: p.weight_fraction for p in result.fit.analysis.phases}
    assert fractions["anatase"] == pytest.approx(0.6, abs=0.05)


def test_the_whole_library_is_searched_where_no_elements_are_given(blind: Identification) -> None:
    assert names(blind) == {"anatase", "V2O5", "In2O3"}
    assert blind.fit.analysis.status == "ok"
    fractions = {p.name: p.weight_fraction for p in blind.fit.analysis.phases}
    assert fractions["anatase"] == pytest.approx(0.5, abs=0.03)


def test_each_phase_has_its_evidence(blind: Identification) -> None:
    assert [found.name for found in blind.found] == [phase.name for phase in blind.fit.phases]
    for found in blind.found:
        assert found.confidence in ("high", "medium")
        assert found.evidence.seen >= 3
        assert found.rise > 1.1
        assert abs(found.stretch) < 0.002


def test_a_solid_solution_is_found_with_its_change_of_cell() -> None:
    scan = scan_of([swollen("NiO", 0.009), phase_library().get("rutile")], [0.5, 0.5], hump=300.0)
    result = identify_phases(scan, SYSTEM, particle_size_m=PARTICLES_M)
    assert names(result) == {"NiO", "rutile"}
    nickel = next(found for found in result.found if found.name == "NiO")
    assert nickel.stretch == pytest.approx(0.009, abs=0.002)
    assert nickel.confidence != "high"


def test_a_minor_phase_is_found_and_an_absent_one_is_not_invented() -> None:
    scan = scan_of([phase_library().get(name) for name in ("ZnO", "anatase")], [0.97, 0.03])
    assert names(identify_phases(scan, SYSTEM)) == {"ZnO", "anatase"}
    alone = scan_of([phase_library().get("ZnO")], [1.0])
    assert names(identify_phases(alone, SYSTEM)) == {"ZnO"}


def test_lines_of_no_known_phase_are_told() -> None:
    phases = [phase_library().get(name) for name in ("ZnO", "WO3")]
    result = identify(scan_of(phases, [0.8, 0.2]), ["Zn", "O", "Ti"])
    assert result.status != "ok"
    angles = [peak.two_theta_deg for peak in result.residual_peaks]
    assert min(abs(angle - 23.6) for angle in angles) < 0.6
    assert any("something else is there" in warning for warning in result.warnings)


def test_nothing_is_sure_where_the_scan_is_not_explained() -> None:
    scan = scan_of([phase_library().get("WO3")], [1.0])
    result = identify_phases(scan, ["Zn", "O"])
    assert result.fit.analysis.status == "unidentified"
    assert {found.confidence for found in result.found} == {"low"}
    assert any("low confidence" in warning for warning in result.fit.analysis.warnings)


def test_structures_that_no_scan_tells_apart_are_told_as_alternatives() -> None:
    scan = scan_of([phase_library().get("NiO"), phase_library().get("anatase")], [0.5, 0.5])
    result = identify_phases(scan, ["Ni", "Mg", "Co", "Ti", "O"])
    rock_salt = next(found for found in result.found if found.name != "anatase")
    assert "NiO" in (rock_salt.name, *rock_salt.alternatives)


def test_no_phase_of_the_elements_is_refused() -> None:
    with pytest.raises(ConfigError, match="no elements"):
        identify(scan_of([phase_library().get("ZnO")], [1.0]), [])


def test_the_screening_finds_phase_displacement_and_stretch() -> None:
    scan = prepare_scan(scan_of([swollen("ZnO", 0.0075)], [1.0]))
    _, models = _candidates(scan, SYSTEM)
    match, _ = Screen(scan, models).first_matches(3)[0]
    assert match.name == "ZnO"
    assert match.stretch == pytest.approx(0.0075, abs=0.003)


def test_a_phase_without_intensity_has_no_evidence(blind: Identification) -> None:
    scan = prepare_scan(simulated_scan(TRUE))
    refined = replace(blind.fit.refined, per_phase=0.0 * blind.fit.refined.per_phase)
    _, models = _candidates(scan, ["Ti", "V", "In", "O"])
    evidence = line_evidence(scan, refined, [models[f.name] for f in blind.found], 0)
    assert (evidence.lines, evidence.seen, evidence.agreement) == (0, 0, 0.0)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("scan", "elements", "expected"),
    [
        ("Bi2O3-Nb2O5_500C_60min", ["Bi", "Nb", "O"], {"Bi2O3-alpha", "Nb2O5-T"}),
        ("NH4H2PO4-Na2CO3_200C_60min", ["Na", "P", "N", "C", "H", "O"], {"Na2HPO4", "Na4P2O7"}),
    ],
)
def test_lines_of_real_reactions_are_explained(
    cases_dir: Path, scan: str, elements: list[str], expected: set[str]
) -> None:
    from labenv_instruments.formats import read_measurement

    measured = read_measurement(cases_dir / "xrd-reactions" / f"{scan}.xrdml")
    assert isinstance(measured, Diffractogram)
    result = identify_phases(measured, elements)
    assert names(result) == expected
    assert result.fit.analysis.r_wp < 0.06
