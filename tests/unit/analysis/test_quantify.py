"""Quantification and identification of single scans, simulated and real."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from labenv.analysis import fit_phases, identify, quantify, search_phases
from labenv.physics.diffraction import DiffractometerSpec
from labenv.physics.structures import phase_library
from labenv_instruments.formats import read_measurement
from labenv_schemas.analysis import PhaseAnalysis
from labenv_schemas.errors import ConfigError, UnknownPluginError
from labenv_schemas.measurement import Diffractogram

from .synthetic_scans import PARTICLES_M, simulated_scan

if TYPE_CHECKING:
    from pathlib import Path

TRUE = {"anatase": 0.25, "ZnO": 0.45, "NiO": 0.30}


@pytest.fixture(scope="module")
def scan() -> Diffractogram:
    return simulated_scan(TRUE)


def by_name(analysis: PhaseAnalysis) -> dict[str, float]:
    return {phase.name: phase.weight_fraction for phase in analysis.phases}


def test_a_simulated_mixture_comes_back(scan: Diffractogram) -> None:
    result = quantify(scan, list(TRUE), particle_size_m=PARTICLES_M)
    assert result.status == "ok"
    for phase in result.phases:
        assert phase.weight_fraction == pytest.approx(TRUE[phase.name], abs=0.01)
        assert 0.003 < phase.uncertainty < 0.06
    assert sum(by_name(result).values()) == pytest.approx(1.0)
    assert result.goodness_of_fit < 1.6
    assert result.residual_peaks == ()


def test_of_a_formula_the_polymorph_that_is_there_is_found(scan: Diffractogram) -> None:
    result = quantify(scan, ["TiO2", "ZnO", "NiO"], particle_size_m=PARTICLES_M)
    assert set(by_name(result)) == set(TRUE)


def test_a_wrong_polymorph_is_no_confident_answer(scan: Diffractogram) -> None:
    result = quantify(scan, ["rutile", "ZnO", "NiO"])
    assert result.status != "ok"
    assert any(abs(peak.two_theta_deg - 25.3) < 0.3 for peak in result.residual_peaks)
    assert min(phase.uncertainty for phase in result.phases) > 0.05


def test_a_named_phase_that_is_absent_is_reported_as_such(scan: Diffractogram) -> None:
    result = quantify(scan, [*TRUE, "V2O5"], particle_size_m=PARTICLES_M)
    assert result.status == "ok"
    assert by_name(result)["V2O5"] < 0.01


def test_nothing_that_fits_is_unidentified(scan: Diffractogram) -> None:
    result = quantify(scan, ["V2O5"])
    assert result.status == "unidentified"
    assert "do not use" in result.warnings[0]


def test_search_by_elements_finds_the_phases(scan: Diffractogram) -> None:
    result = identify(scan, ["Ti", "Zn", "Ni", "O"], particle_size_m=PARTICLES_M)
    assert result.status == "ok"
    for name, fraction in TRUE.items():
        assert by_name(result)[name] == pytest.approx(fraction, abs=0.02)


def test_the_fit_has_the_curves_of_a_report(scan: Diffractogram) -> None:
    fit = search_phases(scan, ["Ti", "Zn", "Ni", "O"])
    points = len(fit.two_theta_deg)
    assert fit.per_phase.shape == (len(fit.phases), points)
    np.testing.assert_allclose(fit.fitted, fit.background + fit.per_phase.sum(axis=0), rtol=1e-9)
    assert fit.unit == "counts"
    assert abs(fit.line_positions[0][0] - 25.3) < 3 or fit.phases[0].name != "anatase"


@pytest.mark.parametrize("r", [0.7, 1.25])
def test_texture_does_not_spoil_the_fractions(r: float) -> None:
    scan = simulated_scan({"V2O5": 0.5, "ZnO": 0.5}, texture={"V2O5": ((0, 0, 1), r)})
    result = quantify(scan, ["V2O5", "ZnO"], particle_size_m=PARTICLES_M)
    assert by_name(result)["V2O5"] == pytest.approx(0.5, abs=0.025)


def test_another_wavelength_and_range_are_taken_from_the_scan() -> None:
    cobalt = DiffractometerSpec(
        start_deg=25.0, step_deg=0.025, points=2601, k_alpha_a=(1.78901, 1.79290)
    )
    scan = simulated_scan({"anatase": 0.6, "ZnO": 0.4}, spec=cobalt)
    result = quantify(scan, ["anatase", "ZnO"], particle_size_m=PARTICLES_M)
    assert result.status == "ok"
    assert by_name(result)["anatase"] == pytest.approx(0.6, abs=0.02)


def test_intensities_that_are_no_counts_give_the_same_fractions(scan: Diffractogram) -> None:
    scaled = scan.model_copy(update={"counts": scan.counts / 321.0, "intensity_unit": "arbitrary"})
    result = quantify(scaled, list(TRUE), particle_size_m=PARTICLES_M)
    assert result.status == "ok"
    for name, fraction in TRUE.items():
        assert by_name(result)[name] == pytest.approx(fraction, abs=0.015)
    assert any("no counts" in warning for warning in result.warnings)


def test_uneven_steps_are_read(scan: Diffractogram) -> None:
    kept = np.ones(scan.counts.size, dtype=bool)
    kept[400:1000:7] = False
    thinned = Diffractogram(
        two_theta_deg=scan.two_theta_deg[kept],
        counts=scan.counts[kept],
        radiation=scan.radiation,
    )
    result = quantify(thinned, list(TRUE), particle_size_m=PARTICLES_M)
    assert by_name(result)["ZnO"] == pytest.approx(0.45, abs=0.02)


def test_a_scan_without_lines_is_unidentified() -> None:
    angle = np.arange(15.0, 75.0, 0.03)
    flat = np.random.default_rng(0).poisson(500.0, angle.size).astype(float)
    result = quantify(Diffractogram(two_theta_deg=angle, counts=flat), ["ZnO"])
    assert result.status == "unidentified"
    assert any("amorphous" in warning for warning in result.warnings)


@pytest.mark.parametrize("kind", ["dark", "noise around zero", "one spike", "constant", "narrow"])
def test_odd_scans_end_in_a_status(kind: str) -> None:
    angle = np.arange(30.0, 34.0, 0.02) if kind == "narrow" else np.arange(10.0, 90.0, 0.02)
    rng = np.random.default_rng(0)
    counts = {
        "dark": np.r_[np.zeros(angle.size - 1), 1.0],
        "noise around zero": rng.normal(size=angle.size),
        "one spike": np.where(np.arange(angle.size) == 100, 1e6, 0.0),
        "constant": np.full(angle.size, 7.0),
        "narrow": rng.poisson(200.0, angle.size).astype(float),
    }[kind]
    result = quantify(Diffractogram(two_theta_deg=angle, counts=counts), ["ZnO", "TiO2"])
    assert result.status == "unidentified"
    assert PhaseAnalysis.from_json(result.to_json()) == result


def test_what_the_leftover_lines_match_is_suggested(scan: Diffractogram) -> None:
    result = quantify(scan, ["rutile", "ZnO", "NiO"])
    assert "anatase" in result.warnings[-1]


def test_wrong_requests_say_what_to_write(scan: Diffractogram) -> None:
    with pytest.raises(ConfigError, match="no candidate"):
        quantify(scan, [])
    with pytest.raises(UnknownPluginError):
        quantify(scan, ["unobtainium"])
    with pytest.raises(ConfigError, match="no phase of"):
        identify(scan, ["Xe"])
    short = Diffractogram(two_theta_deg=np.array([10.0, 11.0]), counts=np.array([1.0, 2.0]))
    with pytest.raises(ConfigError, match="50 at least"):
        quantify(short, ["ZnO"])


def test_a_structure_of_ones_own_is_taken_as_it_is(scan: Diffractogram) -> None:
    own = phase_library().get("anatase")
    fit = fit_phases(scan, [own, "ZnO", "NiO"], particle_size_m=PARTICLES_M)
    assert fit.phases[0] is own


# Weighed mixtures. The names of the files hold the weight fractions.

POLYMORPHS = {
    "TiO2": "anatase",
    "MnCO3": "rhodochrosite",
    "ZrO2": "baddeleyite",
    "Bi2O3": "Bi2O3-alpha",
}


def weighed(path: Path) -> dict[str, float]:
    parts = re.findall(r"([A-Za-z0-9()]+?)_(0p\d+)", path.name)
    fractions = {name: float(value.replace("p", ".")) for name, value in parts}
    return {name: value / sum(fractions.values()) for name, value in fractions.items()}


@pytest.mark.real_data
def test_weighed_mixtures_within_four_per_cent(cases_dir: Path) -> None:
    errors: list[float] = []
    deviations: list[float] = []
    for path in sorted((cases_dir / "xrd-mixtures").glob("*--8min.xrdml")):
        true = weighed(path)
        scan = read_measurement(path)
        assert isinstance(scan, Diffractogram)
        result = quantify(scan, list(true))
        assert result.status == "ok", path.name
        found = {phase.name: phase for phase in result.phases}
        for formula, fraction in true.items():
            phase = found[POLYMORPHS.get(formula, formula)]
            errors.append(abs(phase.weight_fraction - fraction))
            deviations.append((phase.weight_fraction - fraction) / phase.uncertainty)
    assert len(errors) == 24
    assert np.mean(errors) < 0.03
    assert np.abs(deviations).max() < 3.0
    assert np.sqrt(np.mean(np.square(deviations))) < 1.3


@pytest.mark.real_data
def test_rutile_for_anatase_is_unidentified_in_a_real_scan(cases_dir: Path) -> None:
    scan = read_measurement(cases_dir / "xrd-mixtures" / "TiO2_0p4009-ZnO_0p6010--8min.xrdml")
    assert isinstance(scan, Diffractogram)
    result = quantify(scan, ["rutile", "ZnO"])
    assert result.status == "unidentified"
    assert abs(result.residual_peaks[0].two_theta_deg - 25.3) < 0.2
    found = identify(scan, ["Ti", "Zn", "O"])
    assert found.status == "ok"
    assert {phase.name for phase in found.phases if phase.weight_fraction > 0.05} == {
        "anatase",
        "ZnO",
    }


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("mixture", "phases"),
    [
        ("In2O3_0p3022-La(OH)3_0p5014-TiO2_0p2004", ["In2O3", "La(OH)3", "brookite"]),
        ("V2O5_0p2012-La(OH)3_0p5004-MnCO3_0p3013", ["La(OH)3", "rhodochrosite"]),
        ("V2O5_0p2012-La(OH)3_0p5004-MnCO3_0p3013", ["MoO3", "La(OH)3", "rhodochrosite"]),
        ("V2O5_0p2012-La(OH)3_0p5004-MnCO3_0p3013", ["V2O5", "La(OH)3", "calcite"]),
        ("NiO_0p2030-Li2CO3_0p2999-TiO2_0p5025", ["MgO", "Li2CO3", "anatase"]),
        ("NiO_0p6007-Bi2O3_0p4008", ["MgO", "Bi2O3"]),
        ("V2O5_0p3005-NiO_0p4020-TiO2_0p3020", ["V2O5", "NiO", "brookite"]),
    ],
)
def test_a_phase_that_is_missing_or_wrong_is_never_ok_in_a_real_scan(
    cases_dir: Path, mixture: str, phases: list[str]
) -> None:
    measured = read_measurement(cases_dir / "xrd-mixtures" / f"{mixture}--8min.xrdml")
    assert isinstance(measured, Diffractogram)
    analysis = quantify(measured, phases)
    assert analysis.status != "ok"
    assert max(phase.uncertainty for phase in analysis.phases) > 0.05


def test_a_phase_without_a_line_in_the_range_is_refused(scan: Diffractogram) -> None:
    angle, counts = np.asarray(scan.two_theta_deg), np.asarray(scan.counts)
    part = (angle > 31.0) & (angle < 33.0)
    narrow = scan.model_copy(update={"two_theta_deg": angle[part], "counts": counts[part]})
    with pytest.raises(ConfigError, match="no strong line of anatase lies in the scan"):
        quantify(narrow, ["anatase", "ZnO"])


@pytest.mark.parametrize("value", [-9.91e37, 9.91e37, 1e20])
def test_a_marker_for_no_value_is_no_intensity(scan: Diffractogram, value: float) -> None:
    counts = np.asarray(scan.counts).copy()
    counts[7] = value
    with pytest.raises(ConfigError, match=r"which is no intensity .* delete the point"):
        quantify(scan.model_copy(update={"counts": counts}), ["ZnO"])


def test_intensities_below_zero_are_told_of(scan: Diffractogram) -> None:
    counts = np.asarray(scan.counts) - float(np.median(np.asarray(scan.counts)))
    analysis = quantify(scan.model_copy(update={"counts": counts}), list(TRUE))
    assert any("a background was subtracted" in warning for warning in analysis.warnings)
    assert analysis.status == "ok"
    assert 0.8 < analysis.goodness_of_fit < 1.3


def test_structures_of_one_name_are_kept_apart(scan: Diffractogram) -> None:
    zinc, titanium = phase_library().get("ZnO"), phase_library().get("anatase")
    given = [replace(zinc, name="x"), replace(titanium, name="x")]
    assert set(by_name(quantify(scan, given))) == {"x", "x-2"}


def test_an_unidentified_scan_has_no_notes_that_rest_on_the_fit(scan: Diffractogram) -> None:
    analysis = quantify(scan, ["V2O5"])
    assert analysis.status == "unidentified"
    for word in ("textured", "displaced", "cell differs", "hump", "uneven"):
        assert not any(word in warning for warning in analysis.warnings)


@pytest.mark.parametrize("medians", [1.0, 3.0])
@pytest.mark.parametrize("unit", ["counts", "counts_per_second", "arbitrary"])
def test_a_subtracted_background_leaves_the_noise_known(
    scan: Diffractogram, unit: str, medians: float
) -> None:
    seconds = 8.0 if unit == "counts_per_second" else 1.0
    counted = np.asarray(scan.counts)
    counts = (counted - medians * np.median(counted)) / seconds
    changed = {"counts": counts, "intensity_unit": unit, "counting_time_s": seconds}
    analysis = quantify(scan.model_copy(update=changed), list(TRUE), particle_size_m=PARTICLES_M)
    assert any("a background was subtracted" in warning for warning in analysis.warnings)
    assert analysis.goodness_of_fit < 1.6
    for name, fraction in TRUE.items():
        assert by_name(analysis)[name] == pytest.approx(fraction, abs=0.02)


def test_a_fit_far_beyond_the_noise_is_not_ok(scan: Diffractogram) -> None:
    counts = 1e4 * np.asarray(scan.counts)
    analysis = quantify(scan.model_copy(update={"counts": counts}), list(TRUE))
    assert analysis.goodness_of_fit > 50.0
    assert analysis.status == "poor_fit"
    assert any("times its noise: are the intensities counts?" in w for w in analysis.warnings)


def test_an_unidentified_scan_keeps_only_the_suggestion() -> None:
    analysis = quantify(simulated_scan({"anatase": 0.6, "ZnO": 0.4}), ["rutile", "ZnO"])
    assert analysis.status == "unidentified"
    first, second = analysis.warnings
    assert first == "the phases given do not explain the scan; do not use the fractions"
    assert second.startswith("the left-over lines match anatase")
    several = "," in second
    assert second.endswith(f"try with {'one of them' if several else 'it'} among the phases")
