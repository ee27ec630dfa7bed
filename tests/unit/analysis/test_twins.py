"""One structure given twice, and structures that only look alike."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from labenv.analysis import fit_phases, quantify
from labenv.analysis.twins import same_structure
from labenv.physics.structures import CrystalPhase, phase_from_cif, phase_library

from .synthetic_scans import PARTICLES_M, simulated_scan

if TYPE_CHECKING:
    from pathlib import Path


def warmer(phase: CrystalPhase, part: float) -> CrystalPhase:
    """Return a phase with its axes longer by a part."""
    a, b, c, *angles = phase.lattice
    lattice = tuple(length * (1.0 + part) for length in (a, b, c))
    density_kg_m3 = phase.density_kg_m3 / (1.0 + part) ** 3
    return replace(phase, name="mine", lattice=(*lattice, *angles), density_kg_m3=density_kg_m3)


def test_the_users_structure_stands_for_the_one_of_the_library() -> None:
    scan = simulated_scan({"anatase": 0.4, "ZnO": 0.6})
    mine = warmer(phase_library().get("ZnO"), 0.001)
    for phases in (["anatase", "ZnO", mine], [mine, "ZnO", "anatase"], ["TiO2", "ZnO", mine, mine]):
        analysis = quantify(scan, phases, particle_size_m=PARTICLES_M)
        found = {phase.name: phase.weight_fraction for phase in analysis.phases}
        assert set(found) == {"anatase", "mine"}
        assert found["mine"] == pytest.approx(0.6, abs=0.015)
        (note,) = [warning for warning in analysis.warnings if "are one structure" in warning]
        assert note.startswith("ZnO and mine (")


def test_of_a_formula_the_other_polymorphs_need_not_stay() -> None:
    scan = simulated_scan({"anatase": 0.4, "ZnO": 0.6})
    mine = warmer(phase_library().get("anatase"), 0.001)
    fit = fit_phases(scan, ["TiO2", "ZnO", mine], particle_size_m=PARTICLES_M)
    assert {phase.name for phase in fit.phases} == {"mine", "ZnO"}


def test_a_file_in_another_setting_is_the_same_structure(tmp_path: Path) -> None:
    anatase = phase_library().get("anatase")
    path = tmp_path / "anatase.cif"
    anatase.structure().get_primitive_structure().to(str(path), fmt="cif")
    mine = phase_from_cif(path)
    assert mine.sites_per_cell < anatase.sites_per_cell
    assert same_structure(anatase, mine)
    fit = fit_phases(simulated_scan({"anatase": 0.4, "ZnO": 0.6}), ["anatase", mine, "ZnO"])
    assert [phase.name for phase in fit.phases].count("anatase") == 1
    assert len(fit.phases) == 2


@pytest.mark.parametrize(("part", "same"), [(0.003, True), (-0.003, True), (0.015, False)])
def test_a_cell_of_another_temperature_is_the_same_up_to_a_limit(part: float, same: bool) -> None:
    anatase = phase_library().get("anatase")
    assert same_structure(anatase, warmer(anatase, part)) is same


def test_no_two_phases_of_the_library_are_one_structure() -> None:
    names = ["anatase", "rutile", "brookite"]
    names += [name for name in ("BaTiO3-tetragonal", "BaTiO3-cubic") if name in known()]
    phases = [phase_library().get(name) for name in names]
    assert not any(same_structure(one, other) for one, other in combinations(phases, 2))


def known() -> set[str]:
    return {phase.name for phase in phase_library().search(["Ba", "Ti", "O"])}
