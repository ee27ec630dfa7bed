"""Unit cells of the structure library, and volumes relaxed by the tabulated potential.

A cell is checked against a paper or card other than the one its row in the library cites. Samples
of the same compound differ by some 0.1 % in an edge, more where composition varies (nitrides,
cuprates by their oxygen), and the tolerances say so.

Densities are compared with handbooks, whose values were measured or rounded to 1 %. Where one
misses, the molar volume is compared with a second handbook too, to 0.5 %, to see which differs.

Relaxed volumes are those of CHGNet trained on r2SCAN. Lattice constants by r2SCAN itself miss by
0.027 angstrom on average (Furness, Kaplan, Ning, Perdew & Sun, J. Phys. Chem. Lett. 11 (2020)
8208), below 1 % nearly always; so 3 % in volume is allowed.
"""

from __future__ import annotations

from functools import partial

from labenv.physics.potential.table import potential_table
from labenv.physics.structures.library import phase_library
from labenv.validation.checks import Check
from labenv_schemas.errors import SimulatorError

VOLUME_TOLERANCE = 0.03
DENSITY_TOLERANCE = 0.01
MOLAR_VOLUME_TOLERANCE = 0.005
ATOMIC_MASS_G = 1.66053906660e-24


def cell_edge_a(phase: str, edge: str) -> float:
    """Return an edge of a phase's cell in the library, or its volume, in angstrom or its cube."""
    found = phase_library().get(phase)
    return found.volume_a3 if edge == "V" else found.lattice["abc".index(edge)]


def relaxed_volume_a3(phase: str) -> float:
    """Return the volume of a phase's cell as the potential relaxes it, cubic angstrom.

    Raises:
        SimulatorError: If the potential was not run on it.
    """
    energy = potential_table().get(phase)
    if energy is None:
        raise SimulatorError(f"the potential's table has no {phase}")
    return phase_library().get(phase).volume_a3 * (1.0 + energy.volume_change)


def _cell(phase: str, system: str, edge: str, value: float, tolerance: float, source: str) -> Check:
    unit = "angstrom^3" if edge == "V" else "angstrom"
    what = "volume of the cell" if edge == "V" else f"edge {edge}"
    ours = partial(cell_edge_a, phase, edge)
    return Check(system, f"{phase}: {what}, library", value, tolerance, unit, source, ours)


def density_g_cm3(phase: str) -> float:
    """Return the density of a library phase from its cell and contents, g/cm^3."""
    structure = phase_library().get(phase).structure()
    mass_g = float(structure.composition.weight) * ATOMIC_MASS_G
    return mass_g / (float(structure.volume) * 1e-24)


def _density(phase: str, system: str, value: float, source: str) -> Check:
    ours = partial(density_g_cm3, phase)
    tolerance = DENSITY_TOLERANCE * value
    return Check(system, f"{phase}: density, library", value, tolerance, "g/cm^3", source, ours)


def molar_volume_cm3(phase: str) -> float:
    """Return the volume of a mole of formula units of a library phase, cm^3."""
    composition = phase_library().get(phase).structure().composition
    mass_g = float(composition.reduced_composition.weight)
    return mass_g / density_g_cm3(phase)


def _molar_volume(phase: str, system: str, value: float) -> Check:
    what = f"{phase}: molar volume, library"
    ours = partial(molar_volume_cm3, phase)
    tolerance = MOLAR_VOLUME_TOLERANCE * value
    return Check(system, what, value, tolerance, "cm^3/mol", _USGS, ours)


def _relaxed(phase: str, system: str, volume: float, source: str) -> Check:
    return Check(
        system,
        f"{phase}: volume of the cell, relaxed by CHGNet (r2SCAN)",
        volume,
        VOLUME_TOLERANCE * volume,
        "angstrom^3",
        source,
        partial(relaxed_volume_a3, phase),
    )


_BENO = "Beno et al., Appl. Phys. Lett. 51 (1987) 57"
_SASAKI = "Sasaki, Fujino & Takeuchi, Proc. Japan Acad. B55 (1979) 43"
_FINGER = "Finger & Hazen, J. Appl. Phys. 51 (1980) 5362"
_MCMURDIE = "JCPDS 36-1451; McMurdie et al., Powder Diffr. 1 (1986) 76"
_NAGAMATSU = "Nagamatsu et al., Nature 410 (2001) 63"
_HSU = "Hsu et al., Proc. Natl. Acad. Sci. 105 (2008) 14262"
_ZALKIN = "Zalkin & Templeton, J. Chem. Phys. 40 (1964) 501"
_KWEI = "Kwei, Lawson, Billinge & Cheong, J. Phys. Chem. 97 (1993) 2368"
_SHIRANE = "Shirane, Pepinsky & Frazer, Acta Cryst. 9 (1956) 131"
_CAVA = "Cava, van Dover, Batlogg & Rietman, Phys. Rev. Lett. 58 (1987) 408, and Cava et al., 1987"
_NBS_CALCITE = "JCPDS 05-0586; Swanson & Fuyat, NBS Circular 539, vol. 2 (1953)"
_CRC = "CRC Handbook of Chemistry and Physics, density near 298 K"
_USGS = "Robie & Hemingway, USGS Bulletin 2131 (1995), molar volumes"
_WYCKOFF = "Wyckoff, Crystal Structures 1 (1963)"

CHECKS = [
    _cell(
        "SrTiO3",
        "Sr-Ti-O",
        "a",
        3.905,
        0.002,
        "Okazaki & Kawaminami, Mater. Res. Bull. 8 (1973) 545",
    ),
    _cell(
        "NaCl",
        "Na-Cl",
        "a",
        5.6401,
        0.002,
        "Nickels, Fineman & Wallace, J. Phys. Chem. 53 (1949) 625",
    ),
    _cell("MgO", "Mg-O", "a", 4.211, 0.003, "Hazen, Am. Mineral. 61 (1976) 266"),
    _cell(
        "Si",
        "Si",
        "a",
        5.43102,
        0.0005,
        "Tiesinga et al., Rev. Mod. Phys. 93 (2021) 025010 (CODATA 2018)",
    ),
    _cell("YBa2Cu3O7", "Y-Ba-Cu-O", "a", 3.823, 0.01, _BENO),
    _cell("YBa2Cu3O7", "Y-Ba-Cu-O", "b", 3.886, 0.01, _BENO),
    _cell("YBa2Cu3O7", "Y-Ba-Cu-O", "c", 11.681, 0.03, _BENO),
    _cell(
        "YBa2Cu3O6",
        "Y-Ba-Cu-O",
        "c",
        11.819,
        0.03,
        "Santoro et al., Mater. Res. Bull. 22 (1987) 1007",
    ),
    _cell("CeO2", "Ce-O", "a", 5.4116, 0.002, "NIST SRM 674b"),
    _cell("corundum", "Al-O", "a", 4.7588, 0.001, "NIST SRM 1976"),
    _cell("corundum", "Al-O", "c", 12.9931, 0.003, "NIST SRM 1976"),
    _cell("rutile", "Ti-O", "a", 4.593, 0.002, "Meagher & Lager, Can. Mineral. 17 (1979) 77"),
    _cell("rutile", "Ti-O", "c", 2.959, 0.002, "Meagher & Lager, Can. Mineral. 17 (1979) 77"),
    _cell("ZnO", "Zn-O", "a", 3.2498, 0.002, _MCMURDIE),
    _cell("ZnO", "Zn-O", "c", 5.2066, 0.003, _MCMURDIE),
    _cell("NiO", "Ni-O", "a", 4.178, 0.003, _SASAKI),
    _cell("MnO", "Mn-O", "a", 4.446, 0.003, _SASAKI),
    _cell("CoO", "Co-O", "a", 4.260, 0.004, _SASAKI),
    _cell(
        "Cu2O", "Cu-O", "a", 4.2685, 0.003, "Restori & Schwarzenbach, Acta Cryst. B42 (1986) 201"
    ),
    _cell("hematite", "Fe-O", "a", 5.035, 0.004, _FINGER),
    _cell("eskolaite", "Cr-O", "a", 4.9607, 0.005, _FINGER),
    _cell("eskolaite", "Cr-O", "c", 13.599, 0.012, _FINGER),
    _cell(
        "magnetite", "Fe-O", "a", 8.396, 0.004, "JCPDS 19-0629; NBS Monograph 25, section 5 (1967)"
    ),
    _cell("Co3O4", "Co-O", "a", 8.0837, 0.003, "JCPDS 42-1467"),
    _cell("Al", "Al", "a", 4.0496, 0.001, _WYCKOFF),
    _cell("Cu", "Cu", "a", 3.6149, 0.001, "Straumanis & Yu, Acta Cryst. A25 (1969) 676"),
    _cell("Nb", "Nb", "a", 3.3008, 0.002, "Straumanis & Zyszczynski, J. Appl. Cryst. 3 (1970) 1"),
    _cell("W", "W", "a", 3.1652, 0.001, "Parrish, Acta Cryst. 13 (1960) 838"),
    _cell("Nb3Sn", "Nb-Sn", "a", 5.290, 0.003, "Devantay et al., J. Mater. Sci. 16 (1981) 2145"),
    _cell("MgB2", "Mg-B", "a", 3.086, 0.003, _NAGAMATSU),
    _cell("MgB2", "Mg-B", "c", 3.524, 0.004, _NAGAMATSU),
    _cell("FeSe", "Fe-Se", "a", 3.7693, 0.01, _HSU),
    _cell("FeSe", "Fe-Se", "c", 5.4861, 0.05, _HSU),
    _cell("V3Si", "V-Si", "a", 4.7249, 0.005, "Testardi, Rev. Mod. Phys. 47 (1975) 637"),
    _cell("NbN", "Nb-N", "a", 4.392, 0.01, "Brauer, J. Less-Common Met. 2 (1960) 131"),
    _cell("LiCoO2", "Li-Co-O", "a", 2.8150, 0.003, "JCPDS 50-0653"),
    _cell("LiCoO2", "Li-Co-O", "c", 14.049, 0.01, "JCPDS 50-0653"),
    _cell(
        "LiFePO4",
        "Li-Fe-P-O",
        "V",
        291.4,
        1.0,
        "Padhi, Nanjundaswamy & Goodenough, J. Electrochem. Soc. 144 (1997) 1188",
    ),
    _cell(
        "BiFeO3",
        "Bi-Fe-O",
        "c",
        13.87,
        0.02,
        "Fischer, Polomska, Sosnowska & Szymanski, J. Phys. C 13 (1980) 1931",
    ),
    _cell(
        "La2CuO4", "La-Cu-O", "V", 382.0, 2.0, "Longo & Raccah, J. Solid State Chem. 6 (1973) 526"
    ),
    _cell("La1.85Sr0.15CuO4", "La-Sr-Cu-O", "a", 3.779, 0.005, _CAVA),
    _cell("La1.85Sr0.15CuO4", "La-Sr-Cu-O", "c", 13.23, 0.02, _CAVA),
    _cell("calcite", "Ca-C-O", "a", 4.989, 0.002, _NBS_CALCITE),
    _cell("calcite", "Ca-C-O", "c", 17.062, 0.01, _NBS_CALCITE),
    _cell("CaWO4", "Ca-W-O", "a", 5.243, 0.003, _ZALKIN),
    _cell("CaWO4", "Ca-W-O", "c", 11.376, 0.007, _ZALKIN),
    _cell("Y2O3", "Y-O", "a", 10.604, 0.006, "JCPDS 41-1105"),
    _cell(
        "CaTiO3",
        "Ca-Ti-O",
        "V",
        223.7,
        0.7,
        "Sasaki, Prewitt, Bass & Schulze, Acta Cryst. C43 (1987) 1668",
    ),
    _cell("BaTiO3-tetragonal", "Ba-Ti-O", "a", 3.9910, 0.003, _KWEI),
    _cell("BaTiO3-tetragonal", "Ba-Ti-O", "c", 4.0352, 0.004, _KWEI),
    _cell("PbTiO3", "Pb-Ti-O", "a", 3.904, 0.004, _SHIRANE),
    _cell("PbTiO3", "Pb-Ti-O", "c", 4.150, 0.01, _SHIRANE),
    _cell("Y3Fe5O12", "Y-Fe-O", "a", 12.376, 0.006, "Gilleo & Geller, Phys. Rev. 110 (1958) 73"),
    _cell(
        "SrFe12O19",
        "Sr-Fe-O",
        "c",
        23.05,
        0.02,
        "Obradors et al., J. Solid State Chem. 72 (1988) 218",
    ),
    _cell("cassiterite", "Sn-O", "a", 4.737, 0.002, "Baur & Khan, Acta Cryst. B27 (1971) 2133"),
    _relaxed("MgO", "Mg-O", 74.7, "Hazen, Am. Mineral. 61 (1976) 266"),
    _relaxed("NaCl", "Na-Cl", 179.4, "Nickels, Fineman & Wallace, J. Phys. Chem. 53 (1949) 625"),
    _relaxed("Al", "Al", 66.41, _WYCKOFF),
    _relaxed("Cu", "Cu", 47.24, "Straumanis & Yu, Acta Cryst. A25 (1969) 676"),
    _relaxed("Fe", "Fe", 23.55, _WYCKOFF),
    _relaxed("W", "W", 31.71, "Parrish, Acta Cryst. 13 (1960) 838"),
    _relaxed("Pt", "Pt", 60.4, _WYCKOFF),
    _relaxed("SrO", "Sr-O", 137.4, _WYCKOFF),
    _relaxed("hematite", "Fe-O", 301.9, _FINGER),
    _relaxed("calcite", "Ca-C-O", 367.8, _NBS_CALCITE),
    _relaxed("YBa2Cu3O7", "Y-Ba-Cu-O", 173.5, _BENO),
    _relaxed(
        "LiFePO4",
        "Li-Fe-P-O",
        291.4,
        "Padhi, Nanjundaswamy & Goodenough, J. Electrochem. Soc. 144 (1997) 1188",
    ),
    _relaxed("quartz", "Si-O", 113.0, "Levien, Prewitt & Weidner, Am. Mineral. 65 (1980) 920"),
    _relaxed("LaB6", "La-B", 71.83, "NIST SRM 660c"),
    _density("Al", "Al", 2.7, _CRC),
    _density("Cu", "Cu", 8.96, _CRC),
    _density("Fe", "Fe", 7.87, _CRC),
    _density("Ni", "Ni", 8.9, _CRC),
    _density("Ag", "Ag", 10.5, _CRC),
    _density("Au", "Au", 19.3, _CRC),
    _density("Pt", "Pt", 21.5, _CRC),
    _density("W", "W", 19.3, _CRC),
    _density("Nb", "Nb", 8.57, _CRC),
    _density("Pb", "Pb", 11.3, _CRC),
    _density("Ta", "Ta", 16.4, _CRC),
    _density("Mo", "Mo", 10.2, _CRC),
    _density("V", "V", 6.0, _CRC),
    _density("Ti", "Ti", 4.506, _CRC),
    _density("Zn", "Zn", 7.134, _CRC),
    _density("Mg", "Mg", 1.74, _CRC),
    _density("Si", "Si", 2.3296, _CRC),
    _density("Ge", "Ge", 5.3234, _CRC),
    _density("Bi", "Bi", 9.79, _CRC),
    _density("NaCl", "Na-Cl", 2.17, _CRC),
    _density("MgO", "Mg-O", 3.6, _CRC),
    _density("CaO", "Ca-O", 3.34, _CRC),
    _density("corundum", "Al-O", 3.99, _CRC),
    _density("rutile", "Ti-O", 4.23, _CRC),
    _density("ZnO", "Zn-O", 5.6, _CRC),
    _density("CeO2", "Ce-O", 7.216, _CRC),
    _density("hematite", "Fe-O", 5.25, _CRC),
    _density("magnetite", "Fe-O", 5.17, _CRC),
    _density("quartz", "Si-O", 2.648, _CRC),
    _density("calcite", "Ca-C-O", 2.71, _CRC),
    _density("witherite", "Ba-C-O", 4.2865, _CRC),
    _density("cassiterite", "Sn-O", 6.85, _CRC),
    _density("NiO", "Ni-O", 6.72, _CRC),
    _density("Cu2O", "Cu-O", 6.0, _CRC),
    _density("CuO", "Cu-O", 6.31, _CRC),
    _density("Y2O3", "Y-O", 5.03, _CRC),
    _density("In2O3", "In-O", 7.18, _CRC),
    _density("portlandite", "Ca-O-H", 2.24, _CRC),
    _density("CaWO4", "Ca-W-O", 6.06, _CRC),
    _density("BaTiO3-tetragonal", "Ba-Ti-O", 6.02, _CRC),
    _density("SrTiO3", "Sr-Ti-O", 5.12, _CRC),
    _density("LiNbO3", "Li-Nb-O", 4.64, _CRC),
    _molar_volume("cassiterite", "Sn-O", 21.55),
    _molar_volume("ZnO", "Zn-O", 14.338),
    _molar_volume("NiO", "Ni-O", 10.97),
    _molar_volume("CuO", "Cu-O", 12.22),
    _molar_volume("Cu2O", "Cu-O", 23.44),
    _molar_volume("V", "V", 8.35),
    _molar_volume("Ta", "Ta", 10.85),
]
