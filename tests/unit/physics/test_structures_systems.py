"""The phases that solid-state reactions give are in the library, and their bonds make sense."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import exp
from typing import TYPE_CHECKING

import numpy as np
import pytest

from labenv.physics.profiles import lorentz_polarisation, two_theta_deg
from labenv.physics.reflection_cache import reflections_of
from labenv.physics.structures import phase_library

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

NAMES = phase_library().names()

# Length of a bond of valence one to oxygen, angstrom: Brown & Altermatt, Acta Cryst. B41 (1985)
# 244-247, of the commonest charge of each element (charges of one element differ by 0.03).
UNIT_BOND_A = {
    "Al": 1.651, "B": 1.371, "Ba": 2.29, "Bi": 2.09, "C": 1.390, "Ca": 1.967, "Ce": 2.028,
    "Co": 1.692, "Cr": 1.724, "Cu": 1.679, "Fe": 1.759, "Ge": 1.748, "In": 1.902, "La": 2.172,
    "Li": 1.466, "Mg": 1.693, "Mn": 1.760, "Mo": 1.907, "N": 1.432, "Na": 1.80, "Nb": 1.911,
    "Ni": 1.654, "P": 1.604, "Pb": 2.112, "Si": 1.624, "Sn": 1.905, "Sr": 2.118, "Ti": 1.815,
    "V": 1.803, "W": 1.921, "Y": 2.014, "Zn": 1.704, "Zr": 1.937,
}  # fmt: skip
OTHER_BONDS: dict[str, dict[str, float]] = {
    "Pb": {
        **dict.fromkeys(("PbO2", "Ca2PbO4", "Sr2PbO4", "Ba2PbO4", "SrPbO3", "BaPbO3"), 2.042),
        "Pb3O4": 2.08,
    },
    "Cr": dict.fromkeys(("PbCrO4", "SrCrO4", "BaCrO4", "Na2CrO4", "CrO3"), 1.794),
    "Cu": dict.fromkeys(("Cu2O", "BaCu2O2", "SrCu2O2", "LaCuO2", "YCuO2"), 1.593),
}
SOFTNESS_A = 0.37
SLACK = 0.2  # of the sum over a whole cell; a wrong site or setting moves it by more
METAL_METAL = {"NbO"}  # niobium bonds to niobium
PEROXIDES = {"BaO2", "SrO2"}
AMMONIUM = {"NH4H2PO4"}  # its hydrogen is on nitrogen

OXIDES = [name for name in NAMES if "O" in phase_library().get(name).elements]
TETRAHEDRA_A = {"P": 1.54, "Si": 1.63, "V": 1.72, "Cr": 1.65, "Mo": 1.77, "W": 1.79, "Ge": 1.75}
TETRAHEDRAL = [
    *((name, "W") for name in ("CaWO4", "SrWO4", "BaWO4", "PbWO4", "Na2WO4")),
    *((name, "Mo") for name in ("CaMoO4", "SrMoO4", "BaMoO4", "PbMoO4", "Na2MoO4")),
    *((name, "Mo") for name in ("Li2MoO4", "MnMoO4", "CoMoO4-beta", "MgMoO4", "ZnMoO4")),
    *((name, "V") for name in ("YVO4", "BiVO4", "LaVO4", "Ba3V2O8")),
    *((name, "Si") for name in ("Zn2SiO4", "Co2SiO4", "Mn2SiO4", "Fe2SiO4", "Ca2SiO4-gamma")),
    *((name, "P") for name in ("YPO4", "LaPO4", "BiPO4", "FePO4", "Li3PO4", "LiFePO4")),
    *((name, "Cr") for name in ("SrCrO4", "PbCrO4", "BaCrO4", "Na2CrO4")),
    *((name, "P") for name in ("NH4H2PO4", "Mg3P2O8", "Na4P2O7", "Na3P3O9", "Mn2P2O7", "Mg2P2O7")),
    *((name, "Si") for name in ("Y2Si2O7-beta", "Y2Si2O7-y", "SrSiO3")),
    *((name, "Si") for name in ("MgSiO3", "Li2SiO3")),
    *((name, "Ge") for name in ("Bi4Ge3O12", "Fe2GeO4", "Ca2GeO4", "Mg2GeO4", "Li2GeO3")),
]
PRODUCTS = {
    "Y Fe": "Y3Fe5O12 YFeO3",
    "Y Ti": "Y2Ti2O7",
    "Y Mn": "YMnO3 YMn2O5",
    "Bi Ti": "Bi4Ti3O12 Bi12TiO20",
    "Bi Nb": "Bi3NbO7 BiNbO4-alpha Nb2O5-T",
    "Bi Si": "Bi4Si3O12 Bi12SiO20",
    "Sr W": "SrWO4",
    "Sr Fe": "SrFeO3 Sr2Fe2O5 Sr3Fe2O7 SrFe12O19",
    "Zn Nb": "ZnNb2O6",
    "Zn V": "Zn2V2O7 Zn3V2O8",
    "Co Ti": "CoTiO3 Co2TiO4",
    "Co Fe": "CoFe2O4",
    "Cu Cr": "CuCrO2 CuCr2O4",
    "Na W": "Na2WO4",
    "Li La Zr": "Li7La3Zr2O12-cubic Li7La3Zr2O12-tetragonal La2Zr2O7",
    "La Cu": "La2CuO4",
    "Bi Mo": "Bi2MoO6",
    "Bi W": "Bi2WO6",
    "Bi Fe": "BiFeO3 Bi2Fe4O9 Bi25FeO39",
    "Bi Cu": "CuBi2O4",
    "Ca W": "CaWO4",
    "Ca Mo": "CaMoO4",
    "Fe W": "FeWO4",
    "Cu W": "CuWO4",
    "Pb W": "PbWO4",
    "Pb Mo": "PbMoO4",
    "Pb Cr": "PbCrO4 Pb2CrO5",
    "Pb Ti": "PbTiO3 PbTi3O7",
    "Li Nb": "LiNbO3 Li3NbO4 LiNb3O8",
    "Ca Fe": "CaFe2O4 Ca2Fe2O5",
    "Zn Si": "Zn2SiO4",
    "Zn Fe": "ZnFe2O4",
    "Zn Cr": "ZnCr2O4",
    "Cu V": "Cu2V2O7-alpha Cu3V2O8",
    "Cu Fe": "CuFe2O4-cubic CuFe2O4-tetragonal",
    "Y Ba Cu": "BaCuO2 YBa2Cu3O7 Y2BaCuO5 Y2Cu2O5 YBa2Cu4O8",
    "Y V": "YVO4",
    "Na V": "NaVO3",
    "Y Ba": "BaY2O4 Ba3Y4O9",
    "Sr Si": "SrSiO3",
    "Ca V": "CaV2O6",
    "Na Cr": "Na2CrO4",
    "Na P H": "Na2HPO4 Na4P2O7 Na3P3O9",
    "Y Si": "Y2Si2O7-beta Y2Si2O7-y Y2SiO5",
    "Li Ti": "Li4Ti5O12 Li2TiO3",
    "Li Zr": "Li2ZrO3 Li6Zr2O7",
    "La C": "La2O2CO3",
    "Ca Ti": "CaTiO3 Ca3Ti2O7 Ca4Ti3O10",
    "Sr Ti": "SrTiO3 Sr2TiO4 Sr3Ti2O7 Sr4Ti3O10",
    "Na Nb": "NaNbO3 Na2Nb4O11 Na3NbO4",
    "Sr Nb": "SrNb2O6 Sr2Nb2O7",
    "Zn Mo": "ZnMoO4",
    "Cu Mo": "CuMoO4",
    "Ti Nb": "TiNb2O7",
    "Mg P": "Mg3P2O8 Mg2P2O7",
    "Bi V": "BiVO4 Bi4V2O11",
    "Co Mo": "CoMoO4-beta",
    "Mn Mo": "MnMoO4",
}


@cache
def structure_of(name: str) -> Structure:
    return phase_library().get(name).structure()


def valence_sum_per_oxygen(name: str, moved: Structure | None = None) -> float:
    """Sum of the cations' bond valences over the charge that the oxygen needs."""
    structure = structure_of(name) if moved is None else moved
    total, oxygen, hydrogen = 0.0, 0.0, 0.0
    for site, neighbours in zip(structure, structure.get_all_neighbors(4.0), strict=True):
        oxygen += site.species.get("O", 0.0)
        for element, amount in site.species.items():
            symbol = element.symbol
            hydrogen += amount if symbol in ("H", "D") else 0.0
            if symbol in UNIT_BOND_A:
                unit = OTHER_BONDS.get(symbol, {}).get(name, UNIT_BOND_A[symbol])
                total += amount * sum(
                    other.species.get("O", 0.0) * exp((unit - other.nn_distance) / SOFTNESS_A)
                    for other in neighbours
                )
    return total / (2.0 * oxygen - hydrogen)


@pytest.mark.parametrize("name", sorted(set(OXIDES) - METAL_METAL - PEROXIDES - AMMONIUM))
def test_bond_valences_of_the_cell_balance_its_oxygen(name: str) -> None:
    assert valence_sum_per_oxygen(name) == pytest.approx(1.0, abs=SLACK)


def test_a_misplaced_oxygen_unbalances_the_bond_valences() -> None:
    rutile = phase_library().get("rutile")
    titanium, oxygen = rutile.sites
    moved = replace(rutile, sites=(titanium, replace(oxygen, x=0.25, y=0.25)))
    assert abs(valence_sum_per_oxygen("rutile", moved.structure()) - 1.0) > SLACK


@pytest.mark.parametrize(("name", "element"), TETRAHEDRAL)
def test_oxygen_tetrahedra_have_their_usual_size(name: str, element: str) -> None:
    structure = structure_of(name)
    for site, neighbours in zip(structure, structure.get_all_neighbors(2.3), strict=True):
        if element in site.species:
            lengths = sorted(n.nn_distance for n in neighbours if "O" in n.species)
            assert len(lengths) == 4
            assert sum(lengths) / 4 == pytest.approx(TETRAHEDRA_A[element], abs=0.03)


# Spacings of strong lines, angstrom, rounded, as on cards of the International Centre for
# Diffraction Data (37-1479, 36-1474, 24-0053, 41-1488, 46-0416, 30-0873, 27-0044, 38-1402, 33-0831,
# 29-0829, 21-0868, 35-0791, 19-0768, 10-0351, 39-1407, 28-1246).
STRONG_LINES_A = {
    "NH4H2PO4": (5.32, 3.07, 3.75),
    "NaNO3": (3.03, 2.31),
    "Ba(NO3)2": (4.69, 2.45),
    "Bi2O2CO3": (2.95, 2.73, 3.72),
    "Bi25FeO39": (3.22, 2.72),
    "Nb2O5-T": (3.93, 3.14, 3.09),
    "BaY2O4": (3.02, 2.88),
    "BaCuO2": (3.05, 3.13, 2.96),
    "Li2TiO3": (4.78, 2.07),
    "Li2SiO3": (4.69, 3.30, 2.71),
    "CoMoO4-beta": (3.36,),
    "Cr2WO6": (3.24, 2.48),
    "MgSiO3": (3.17, 2.88),
    "MgCr2O4": (2.51, 4.81),
    "TiNb2O7": (3.72, 3.42),
    "Sr2Nb2O7": (3.04, 2.77),
}


@pytest.mark.parametrize("name", list(STRONG_LINES_A))
def test_strong_lines_are_those_of_the_card(name: str) -> None:
    lines = reflections_of(phase_library().get(name), 1.5405929, 60.0)
    angle = two_theta_deg(lines.d_a, 1.5405929)
    strength = lines.unit_intensity * lorentz_polarisation(angle)
    for spacing in STRONG_LINES_A[name]:
        near = np.abs(lines.d_a - spacing) < 0.006 * spacing
        assert near.any(), spacing
        assert strength[near].max() > 0.2 * strength.max(), spacing


def test_the_library_is_wide_enough_for_the_systems_that_labs_mix() -> None:
    assert len(NAMES) >= 407
    elements = set().union(*(phase.elements for phase in phase_library()))
    cations = "Bi Ca Co Cr Cu Fe Ge Mn Mo Na Nb P Pb Si Sr Ti V W Y Zn"
    assert set(cations.split()) <= elements


@pytest.mark.parametrize("cations", list(PRODUCTS))
def test_the_products_of_a_pair_of_precursors_are_there(cations: str) -> None:
    found = {phase.name for phase in phase_library().search([*cations.split(), "O"])}
    assert set(PRODUCTS[cations].split()) <= found


def test_every_phase_cites_its_structure_and_its_density() -> None:
    for phase in phase_library():
        assert len(phase.density_source) > 10, phase.name
        assert any(year in phase.source for year in ("19", "20", "NIST", "JCPDS")), phase.name


def test_computed_coordinates_say_so() -> None:
    computed = [phase for phase in phase_library() if "CHGNet" in phase.source]
    assert computed
    for phase in computed:
        assert "lattice" in phase.source, phase.name
