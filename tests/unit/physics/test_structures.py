"""The structure library against published densities, bond lengths, lattices and powder lines."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from labenv.physics.structures import CrystalPhase, PhaseLibrary, Site, phase_library
from labenv.physics.structures.symmetry import hall_number_of, lattice_matrix, snap_thirds
from labenv_schemas.errors import SimulatorError, UnknownPluginError

CU_KALPHA1_A = 1.5405929  # Hoelzer et al., Phys. Rev. A 56 (1997) 4554
CARDS = json.loads((Path(__file__).parent / "published_lines.json").read_text(encoding="utf-8"))
NAMES = phase_library().names()

# Allowed nearest distances, angstrom: wide of every bond and contact in oxides, so that a wrong
# coordinate, setting or origin falls outside.
SHORTEST_A = {
    frozenset({"O", "H"}): 0.90, frozenset({"C", "O"}): 1.20, frozenset({"O"}): 1.45,
    frozenset({"N", "H"}): 0.80, frozenset({"N", "O"}): 1.20, frozenset({"H"}): 1.30,
    frozenset({"P", "O"}): 1.40,  # molecules of P4O10
}  # fmt: skip
SHORTEST_METAL_OXYGEN_A = 1.5
LONGEST_METAL_OXYGEN_A = 3.2
SHORTEST_OTHER_A = 1.6


def two_theta_deg(spacing_a: float) -> float:
    return float(2 * np.degrees(np.arcsin(CU_KALPHA1_A / 2 / spacing_a)))


@pytest.mark.parametrize("name", NAMES)
def test_density_site_count_and_composition_are_those_published(name: str) -> None:
    phase = phase_library().get(name)
    structure = phase.structure()  # raises where any of the three disagrees
    assert len(structure) == phase.sites_per_cell
    assert structure.density * 1e3 == pytest.approx(phase.density_kg_m3, rel=0.015)
    assert phase.source
    assert phase.density_source


@pytest.mark.parametrize("name", NAMES)
def test_no_two_atoms_are_too_close_and_metals_touch_oxygen(name: str) -> None:
    structure = phase_library().get(name).structure()
    for site, neighbours in zip(structure, structure.get_all_neighbors(3.3), strict=True):
        here = max(site.species, key=site.species.get).symbol
        to_oxygen = []
        for other in neighbours:
            there = max(other.species, key=other.species.get).symbol
            pair = frozenset({here, there})
            limit = SHORTEST_A.get(pair, SHORTEST_METAL_OXYGEN_A if "O" in pair else None)
            assert other.nn_distance > (limit or SHORTEST_OTHER_A), (here, there)
            if there == "O":
                to_oxygen.append(other.nn_distance)
        if "O" in structure.symbol_set and here not in "OH":
            assert to_oxygen, f"{here} has no oxygen within 3.3 angstrom"
            assert min(to_oxygen) < LONGEST_METAL_OXYGEN_A


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card["phase"])
def test_lattice_is_within_a_thousandth_of_the_published_one(card: dict) -> None:
    lattice = phase_library().get(card["phase"]).lattice
    assert lattice[:3] == pytest.approx(card["lattice"], rel=1e-3)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card["phase"])
def test_ten_strongest_lines_lie_within_a_twentieth_degree_of_published_ones(card: dict) -> None:
    phase = phase_library().get(card["phase"])
    lattice = phase.structure().lattice
    assert len(card["lines"]) == 10
    for line in card["lines"]:
        published = line["d_a"]
        if line.get("disputed"):
            published = 1 / np.linalg.norm(np.array(line["hkl"]) / card["lattice"])
        ours = two_theta_deg(lattice.d_hkl(line["hkl"]))
        assert ours == pytest.approx(two_theta_deg(published), abs=0.05), line


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card["phase"])
def test_relative_intensities_are_near_published_ones(card: dict) -> None:
    from pymatgen.analysis.diffraction.xrd import XRDCalculator

    structure = phase_library().get(card["phase"]).structure()
    pattern = XRDCalculator(CU_KALPHA1_A).get_pattern(structure, two_theta_range=(15, 80))
    computed = {}
    for line in card["lines"]:
        place = two_theta_deg(structure.lattice.d_hkl(line["hkl"]))
        computed[line["intensity"], *line["hkl"]] = pattern.y[np.argmin(abs(pattern.x - place))]
    assert max(computed.values()) == pytest.approx(100)
    for (published, *_), ours in computed.items():
        assert ours == pytest.approx(published, abs=10)  # diffractometers of 1953 to 1969


@pytest.mark.parametrize(
    ("name", "angles_deg"),
    [
        # NIST certificates of SRM 640f, 660c and 676a, Cu K-alpha 1
        ("Si", [28.441, 47.301, 56.120, 69.127, 76.373, 88.026, 94.947]),
        ("LaB6", [21.358, 30.385, 37.442, 43.507, 48.958]),
        ("corundum", [25.576, 35.150, 37.776, 43.353, 52.551, 57.500, 66.517, 68.207]),
    ],
)
def test_lines_of_certified_reference_materials(name: str, angles_deg: list[float]) -> None:
    from pymatgen.analysis.diffraction.xrd import XRDCalculator

    structure = phase_library().get(name).structure()
    pattern = XRDCalculator(CU_KALPHA1_A).get_pattern(structure, two_theta_range=(15, 100))
    for angle in angles_deg:
        assert np.min(abs(pattern.x - angle)) < 0.003


def test_cells_of_textbook_standards() -> None:
    assert phase_library().get("SrTiO3").lattice[0] == pytest.approx(3.905, abs=5e-4)
    assert phase_library().get("NaCl").lattice[0] == pytest.approx(5.640, abs=5e-4)


def test_every_phase_of_the_first_system_and_of_the_mixtures_is_there() -> None:
    library = phase_library()
    first = {phase.name for phase in library.search(["Ba", "Ti", "C", "O"])}
    needed = {"witherite", "BaO", "rutile", "anatase", "brookite", "Ba2TiO4", "BaTi2O5", "BaTi4O9"}
    assert needed | {f"BaTiO3-{kind}" for kind in ("tetragonal", "cubic", "hexagonal")} <= first
    mixtures = "In2O3 La(OH)3 TiO2 Li2CO3 ZrO2 NiO Bi2O3 ZnO V2O5 MnCO3"
    for formula in mixtures.split():
        assert library.resolve(formula), formula


def test_a_formula_finds_every_polymorph_however_it_is_written() -> None:
    library = phase_library()
    expected = ["anatase", "brookite", "rutile"]
    for text in ("TiO2", "O2Ti", "Ti2O4", "TiO₂"):
        assert sorted(phase.name for phase in library.resolve(text)) == expected


def test_a_name_or_alias_finds_one_phase_in_any_letter_case() -> None:
    library = phase_library()
    assert [p.name for p in library.resolve("Anatase")] == ["anatase"]
    assert [p.name for p in library.resolve("YBCO")] == ["YBa2Cu3O7"]  # not Y-B-C-O
    assert library.get("SHCHERBINAITE").name == "V2O5"
    assert "zincite" in library
    assert "zink" not in library


def test_letter_case_tells_elements_apart() -> None:
    with pytest.raises(UnknownPluginError):
        phase_library().resolve("NB")  # nitrogen and boron; niobium is Nb
    assert [p.name for p in phase_library().resolve("nb")] == ["Nb"]


def test_an_unknown_name_lists_near_ones_and_the_remedy() -> None:
    with pytest.raises(UnknownPluginError, match=r"anatas.*anatase.*CIF"):
        phase_library().resolve("anatas")
    with pytest.raises(UnknownPluginError, match="BaTiO3-cubic"):
        phase_library().resolve("BaTi9O20")
    with pytest.raises(UnknownPluginError):
        phase_library().get("")


def test_search_gives_a_system_with_its_subsystems_only() -> None:
    found = phase_library().search(["Ti", "Zn", "O"])
    assert {"anatase", "ZnO", "Zn2TiO4", "ZnTiO3"} <= {phase.name for phase in found}
    assert all(phase.elements <= {"Ti", "Zn", "O"} for phase in found)
    assert phase_library().search([]) == ()
    with pytest.raises(UnknownPluginError, match="Xx"):
        phase_library().search(["Xx"])


def test_phases_survive_pickling_and_are_hashable() -> None:
    phase = phase_library().get("anatase")
    assert pickle.loads(pickle.dumps(phase)) == phase
    assert len(set(phase_library())) == len(phase_library())


def test_importing_the_library_loads_neither_pymatgen_nor_scipy() -> None:
    code = (
        "import sys; from labenv.physics.structures import phase_library; phase_library(); "
        "sys.exit(bool({'pymatgen', 'spglib', 'scipy'} & {m.split('.')[0] for m in sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_a_wrong_origin_is_caught_by_the_density_or_the_site_count() -> None:
    anatase = phase_library().get("anatase")
    with pytest.raises(SimulatorError, match=r"anatase.*sites"):
        replace(anatase, space_group="I4_1/amd:1").structure()


def test_a_wrong_cell_occupancy_or_formula_is_caught_by_name() -> None:
    rutile = phase_library().get("rutile")
    swollen = (4.7, *rutile.lattice[1:])
    with pytest.raises(SimulatorError, match=r"rutile.*density"):
        replace(rutile, lattice=swollen).structure()
    with pytest.raises(SimulatorError, match=r"rutile.*Ti2O3"):
        replace(rutile, formula="Ti2O3").structure()
    doubled = (*rutile.sites, Site("Ti", 0.0, 0.0, 0.0, 0.5))
    with pytest.raises(SimulatorError, match=r"rutile.*1\.500"):
        replace(rutile, sites=doubled).structure()


def test_two_phases_of_one_name_are_refused() -> None:
    rutile = phase_library().get("rutile")
    with pytest.raises(SimulatorError, match="rutile"):
        PhaseLibrary([rutile, replace(rutile, density_kg_m3=1.0)])


@pytest.mark.parametrize("symbol", ["I4_1/amd", "R-3c", "Fd-3m", "Pmmn", "P4/nmm"])
def test_a_symbol_that_leaves_the_origin_open_is_refused(symbol: str) -> None:
    with pytest.raises(SimulatorError, match=f"{symbol}:"):
        hall_number_of(symbol)


def test_settings_are_found_by_short_full_and_blank_separated_symbols() -> None:
    assert hall_number_of("P 1 2_1/n 1") == hall_number_of("P2_1/n") != hall_number_of("P2_1/c")
    with pytest.raises(SimulatorError, match="unknown space group"):
        hall_number_of("P7")


def test_a_partly_occupied_mixed_site_counts_once() -> None:
    structure = phase_library().get("Zn2TiO4").structure()
    mixed = [site for site in structure if len(site.species) == 2]
    assert len(mixed) == 16


def test_rounded_thirds_become_exact_also_when_negative() -> None:
    snapped = snap_thirds(np.array([0.3333, -0.6667, 0.2500]))
    assert snapped == pytest.approx([1 / 3, -2 / 3, 0.25], abs=1e-12)


def test_an_impossible_cell_has_no_volume() -> None:
    assert np.linalg.det(lattice_matrix((5.0, 5.0, 5.0, 20.0, 150.0, 90.0))) == pytest.approx(0)


def test_deuterium_is_kept_and_weighs_more() -> None:
    ice = CrystalPhase(
        name="heavy ice VII",
        formula="D2O",
        space_group="Pn-3m:1",
        lattice=(3.35, 3.35, 3.35, 90.0, 90.0, 90.0),
        sites=(Site("O", 0, 0, 0), Site("D", 0.17, 0.17, 0.17, 0.5)),
        density_kg_m3=1769.0,
        sites_per_cell=10,
        source="test",
    )
    assert ice.elements == {"D", "O"}
    structure = ice.structure()
    assert structure.density * 1e3 == pytest.approx(1769, rel=0.005)
