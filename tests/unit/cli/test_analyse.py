"""`labenv analyse` on a real mixture and on a file of ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
MIXTURE = "xrd-mixtures/TiO2_0p4009-ZnO_0p6010--8min.xrdml"
KEYS = {"status", "phases", "goodness_of_fit", "r_wp", "residual_peaks", "warnings"}


@pytest.mark.real_data
def test_a_real_mixture_is_quantified(labenv: Any, cases_dir: Path) -> None:
    for words in (("--phases", "anatase,ZnO"), ("--phases", "TiO2, ZnO")):
        data = labenv("analyse", cases_dir / MIXTURE, *words, "--format", "json").json
        assert set(data) == KEYS
        assert data["status"] == "ok"
        fractions = {phase["name"]: phase["weight_fraction"] for phase in data["phases"]}
        assert fractions["anatase"] == pytest.approx(0.4009, abs=0.04)
        assert set(data["phases"][0]) == {"name", "formula", "weight_fraction", "uncertainty"}


@pytest.mark.real_data
def test_the_page_shows_what_the_command_prints(
    labenv: Any, cases_dir: Path, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    shown = page.split("$ labenv analyse scan.xrdml --phases anatase,ZnO\n")[1].split("```")[0]
    (tmp_path / "scan.xrdml").write_bytes((cases_dir / MIXTURE).read_bytes())
    printed = labenv("analyse", "scan.xrdml", "--phases", "anatase,ZnO").out
    number = r"\d+\.\d+"
    assert re.sub(number, "N", printed) == re.sub(number, "N", shown)
    for ours, theirs in zip(re.findall(number, printed), re.findall(number, shown), strict=True):
        assert float(ours) == pytest.approx(float(theirs), rel=0.02, abs=0.002)


@pytest.mark.real_data
def test_a_wrong_phase_is_no_confident_answer(labenv: Any, cases_dir: Path) -> None:
    answer = labenv("analyse", cases_dir / MIXTURE, "--phases", "rutile,ZnO")
    assert answer.code == 0
    assert "unidentified" in answer.out
    assert "peaks that no phase explains: 25.3" in answer.out


@pytest.mark.real_data
@pytest.mark.parametrize("form", ["table", "json"])
def test_phases_of_which_none_is_there_are_no_fault(
    labenv: Any, cases_dir: Path, form: str
) -> None:
    scan = cases_dir / "xrd-mixtures/NiO_0p6007-Bi2O3_0p4008--8min.xrdml"
    answer = labenv("analyse", scan, "--phases", "anatase,ZnO", "--format", form)
    assert answer.code == 0
    assert "unidentified" in answer.out


@pytest.mark.real_data
def test_elements_are_searched(labenv: Any, cases_dir: Path) -> None:
    answer = labenv("analyse", cases_dir / MIXTURE, "--elements", "Ti,Zn,O")
    assert "anatase" in answer.out
    assert "ZnO" in answer.out


def test_a_simulated_scan_with_a_cif(labenv: Any, tmp_path: Path) -> None:
    import numpy as np

    from labenv.physics.structures import phase_library

    cif = tmp_path / "mine.cif"
    cif.write_text(phase_library().get("anatase").structure().to(fmt="cif"))
    angle = np.arange(20.0, 60.0, 0.02)
    counts = np.full_like(angle, 100.0)
    for place, height in ((25.31, 3000), (37.80, 600), (48.05, 900), (53.89, 600), (55.06, 600)):
        counts += height * np.exp(-(((angle - place) / 0.08) ** 2))
    scan = tmp_path / "scan.xy"
    np.savetxt(scan, np.column_stack([angle, counts.round()]), fmt="%.3f")
    data = labenv("analyse", scan, "--cif", cif, "--format", "json").json
    (phase,) = data["phases"]
    assert phase["formula"] in {"TiO2", "Ti4O8"}
    assert phase["weight_fraction"] == pytest.approx(1.0)


@pytest.mark.real_data
def test_a_structure_given_twice_is_fitted_once(
    labenv: Any, cases_dir: Path, tmp_path: Path
) -> None:
    from labenv.physics.structures import phase_library

    (tmp_path / "zincite.cif").write_text(phase_library().get("ZnO").structure().to(fmt="cif"))
    scan = cases_dir / MIXTURE
    words = ("--phases", "anatase,ZnO", "--cif", "zincite.cif", "--format", "json")
    data = labenv("analyse", scan, *words).json
    fractions = {phase["name"]: phase["weight_fraction"] for phase in data["phases"]}
    assert set(fractions) == {"anatase", "zincite"}
    assert fractions["zincite"] == pytest.approx(0.601, abs=0.04)
    assert any("ZnO and zincite (zincite.cif" in warning for warning in data["warnings"])


def test_a_scan_without_intensity_is_named(labenv: Any, tmp_path: Path) -> None:
    (tmp_path / "dark.xy").write_text("".join(f"{10 + 0.1 * i:.1f} 0\n" for i in range(200)))
    for words in (("--phases", "ZnO"), ("--elements", "Zn,O")):
        answer = labenv("analyse", "dark.xy", *words)
        assert answer.code == 2
        assert "dark.xy: the scan holds no intensity" in answer.err


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_an_intensity_that_is_no_number_is_told_by_its_line(
    labenv: Any, tmp_path: Path, value: str
) -> None:
    rows = [f"{10 + 0.1 * i:.1f} {value if i == 6 else 100}\n" for i in range(200)]
    (tmp_path / "scan.xy").write_text("".join(rows))
    answer = labenv("analyse", "scan.xy", "--phases", "ZnO")
    assert answer.code == 2
    assert f"scan.xy: line 7: the intensity is {value}" in answer.err
    assert "pydantic" not in answer.err


def test_a_wavelength_takes_the_place_of_what_a_file_says(labenv: Any, tmp_path: Path) -> None:
    import numpy as np

    from labenv.physics.diffraction import DiffractometerSpec, line_pattern
    from labenv.physics.diffraction_radiation import with_radiation
    from labenv.physics.reflection_cache import reflections_of
    from labenv.physics.structures import phase_library

    spec = with_radiation(DiffractometerSpec(step_deg=0.06, points=1001), "0.7 Å")
    lines = reflections_of(phase_library().get("rutile"), 0.7, 60.0)
    counts = 200.0 + 1e5 * (one := line_pattern(lines, spec, 5e-8)) / one.max()
    rows = np.stack([spec.two_theta_deg, np.round(counts)], axis=1)
    np.savetxt(tmp_path / "beam.xy", rows, fmt="%.4f")
    words = ("analyse", "beam.xy", "--phases", "rutile")
    assert "unidentified" in labenv(*words).out
    told = labenv(*words, "--wavelength", "0.7")
    assert "ok" in told.out
    assert "wavelength" not in told.out
    refused = labenv(*words, "--wavelength", "Xx")
    assert refused.code != 0
    assert "no radiation that is known" in refused.err
