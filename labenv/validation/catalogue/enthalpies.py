"""Enthalpies of reactions: calorimetry, mostly of solutions, and differences of NBS enthalpies.

Calorimetry at 970 K is compared with ours at 298 K; heat capacities change a reaction between
solids by 1 or 2 kJ between them, which the tolerances include beside the published uncertainty.

It is one table, hence its length.
"""

from __future__ import annotations

from functools import partial

from labenv.physics.thermochemistry.sources import substance_table
from labenv.validation.checks import Check


def reaction_enthalpy_kj(
    reactants: dict[str, float], products: dict[str, float], at_k: float = 298.15
) -> float:
    """Return the enthalpy of a reaction, kJ per mole as written."""
    table = substance_table()
    total = 0.0
    for side, sign in ((products, 1.0), (reactants, -1.0)):
        for name, n in side.items():
            total += sign * n * float(table.get(name).enthalpy_and_entropy(at_k)[0])
    return total / 1000.0


def _enthalpy(
    system: str,
    quantity: str,
    value: float,
    tolerance: float,
    source: str,
    reaction: tuple[dict[str, float], dict[str, float]],
) -> Check:
    return Check(
        system,
        quantity,
        value,
        tolerance,
        "kJ/mol",
        source,
        partial(reaction_enthalpy_kj, *reaction),
    )


_NBS = (
    "Wagman et al., NBS tables, J. Phys. Chem. Ref. Data 11, Suppl. 2 (1982), difference of "
    "enthalpies of formation"
)
_CHARLU = (
    "Charlu, Newton & Kleppa, Geochim. Cosmochim. Acta 39, 1487 (1975) and 42, 367 (1978): "
    "solution calorimetry at 970 K"
)
_NAVROTSKY = "Navrotsky & Kleppa, J. Inorg. Nucl. Chem. 30, 479 (1968): calorimetry at 970 K"
_USGS = "Robie & Hemingway, USGS Bulletin 2131 (1995)"

CHECKS = [
    _enthalpy(
        "Ca-C-O",
        "CaCO3 -> CaO + CO2, 298 K",
        178.3,
        3.0,
        _USGS,
        ({"CaCO3": 1}, {"CaO": 1, "CO2": 1}),
    ),
    _enthalpy(
        "Ca-W-O",
        "CaO + WO3 -> CaWO4, 298 K",
        -167.0,
        10.0,
        _NBS,
        ({"CaO": 1, "WO3": 1}, {"CaWO4": 1}),
    ),
    _enthalpy(
        "Mg-Al-O",
        "MgO + Al2O3 -> MgAl2O4, 298 K",
        -22.5,
        3.0,
        "Navrotsky, Wechsler, Geisinger & Seifert, J. Am. Ceram. Soc. 69, 418 (1986)",
        ({"MgO": 1, "Al2O3": 1}, {"MgAl2O4": 1}),
    ),
    _enthalpy(
        "Sr-Ti-O",
        "SrO + TiO2 -> SrTiO3, 298 K",
        -135.1,
        8.0,
        "Kelley, Todd & King, US Bureau of Mines RI 5059 (1954)",
        ({"SrO": 1, "TiO2": 1}, {"SrTiO3": 1}),
    ),
    _enthalpy(
        "Ca-Ti-O",
        "CaO + TiO2 -> CaTiO3, 298 K",
        -81.0,
        4.0,
        "Takayama-Muromachi & Navrotsky, J. Solid State Chem. 72, 244 (1988)",
        ({"CaO": 1, "TiO2": 1}, {"CaTiO3": 1}),
    ),
    _enthalpy(
        "Ba-Ti-O",
        "BaO + TiO2 -> BaTiO3, 298 K",
        -152.3,
        12.0,
        "Kelley, Todd & King, US Bureau of Mines RI 5059 (1954): -36.4 kcal/mol",
        ({"BaO": 1, "TiO2": 1}, {"BaTiO3": 1}),
    ),
    _enthalpy(
        "Zn-Si-O",
        "2 ZnO + SiO2 -> Zn2SiO4, 298 K",
        -29.0,
        5.0,
        "Kitchener & Ignatowicz, Trans. Faraday Soc. 47, 1278 (1951)",
        ({"ZnO": 2, "SiO2": 1}, {"Zn2SiO4": 1}),
    ),
    _enthalpy(
        "Ca-Si-O",
        "CaO + SiO2 -> CaSiO3, 298 K",
        -89.5,
        4.0,
        _CHARLU,
        ({"CaO": 1, "SiO2": 1}, {"CaSiO3": 1}),
    ),
    _enthalpy(
        "Mg-Si-O",
        "MgO + SiO2 -> MgSiO3, 298 K",
        -36.0,
        4.0,
        _CHARLU,
        ({"MgO": 1, "SiO2": 1}, {"MgSiO3": 1}),
    ),
    _enthalpy(
        "Mg-Si-O",
        "2 MgO + SiO2 -> Mg2SiO4, 298 K",
        -61.5,
        4.0,
        _CHARLU,
        ({"MgO": 2, "SiO2": 1}, {"Mg2SiO4": 1}),
    ),
    _enthalpy(
        "Ca-Mg-Si-O",
        "CaO + MgO + 2 SiO2 -> CaMgSi2O6, 298 K",
        -147.0,
        5.0,
        _CHARLU,
        ({"CaO": 1, "MgO": 1, "SiO2": 2}, {"CaMgSi2O6": 1}),
    ),
    _enthalpy(
        "Ca-Al-O",
        "CaO + Al2O3 -> CaAl2O4, 298 K",
        -15.4,
        4.0,
        "Coughlin, J. Am. Chem. Soc. 78, 5479 (1956): solution in HCl",
        ({"CaO": 1, "Al2O3": 1}, {"CaAl2O4": 1}),
    ),
    _enthalpy(
        "Ca-Al-O",
        "3 CaO + Al2O3 -> Ca3Al2O6, 298 K",
        -6.7,
        5.0,
        "Coughlin, J. Am. Chem. Soc. 78, 5479 (1956): solution in HCl",
        ({"CaO": 3, "Al2O3": 1}, {"Ca3Al2O6": 1}),
    ),
    _enthalpy(
        "Ca-Si-O",
        "2 CaO + SiO2 -> Ca2SiO4 (gamma, stable at 298 K)",
        -136.8,
        8.0,
        "King, J. Am. Chem. Soc. 79, 5437 (1957): solution in HF",
        ({"CaO": 2, "SiO2": 1}, {"Ca2SiO4": 1}),
    ),
    _enthalpy(
        "Zn-Fe-O",
        "ZnO + Fe2O3 -> ZnFe2O4, 298 K",
        -11.2,
        5.0,
        _NAVROTSKY,
        ({"ZnO": 1, "Fe2O3": 1}, {"ZnFe2O4": 1}),
    ),
    _enthalpy(
        "Ni-Fe-O",
        "NiO + Fe2O3 -> NiFe2O4, 298 K",
        -5.0,
        5.0,
        _NAVROTSKY,
        ({"NiO": 1, "Fe2O3": 1}, {"Fe2NiO4": 1}),
    ),
    _enthalpy(
        "Ni-Al-O",
        "NiO + Al2O3 -> NiAl2O4, 298 K",
        -3.4,
        4.0,
        _NAVROTSKY,
        ({"NiO": 1, "Al2O3": 1}, {"Al2NiO4": 1}),
    ),
    _enthalpy(
        "Co-Fe-O",
        "CoO + Fe2O3 -> CoFe2O4, 298 K",
        -24.7,
        6.0,
        _NAVROTSKY,
        ({"CoO": 1, "Fe2O3": 1}, {"CoFe2O4": 1}),
    ),
    _enthalpy(
        "Ca-Mo-O",
        "CaO + MoO3 -> CaMoO4, 298 K",
        -161.2,
        8.0,
        _NBS,
        ({"CaO": 1, "MoO3": 1}, {"CaMoO4": 1}),
    ),
    _enthalpy(
        "Sr-Zr-O",
        "SrO + ZrO2 -> SrZrO3, 298 K",
        -76.0,
        8.0,
        "Huntelaar, Booij & Cordfunke, J. Chem. Thermodyn. 26, 1095 (1994)",
        ({"SrO": 1, "ZrO2": 1}, {"SrZrO3": 1}),
    ),
    _enthalpy(
        "Ba-Zr-O",
        "BaO + ZrO2 -> BaZrO3, 298 K",
        -123.9,
        12.0,
        "Huntelaar, Booij & Cordfunke, J. Chem. Thermodyn. 26, 1095 (1994)",
        ({"BaO": 1, "ZrO2": 1}, {"BaZrO3": 1}),
    ),
    _enthalpy(
        "Ca-Zr-O",
        "CaO + ZrO2 -> CaZrO3, 298 K",
        -31.3,
        6.0,
        "Takayama-Muromachi & Navrotsky, J. Solid State Chem. 72, 244 (1988), at 1068 K",
        ({"CaO": 1, "ZrO2": 1}, {"CaZrO3": 1}),
    ),
    _enthalpy(
        "Pb-Ti-O",
        "PbO + TiO2 -> PbTiO3, 298 K",
        -31.1,
        7.0,
        "Rane, Navrotsky & Rossetti, J. Solid State Chem. 161, 402 (2001)",
        ({"PbO": 1, "TiO2": 1}, {"PbTiO3": 1}),
    ),
    _enthalpy(
        "Mg-Ti-O",
        "MgO + TiO2 -> MgTiO3, 298 K",
        -26.6,
        5.0,
        "Kelley, Todd & King, US Bureau of Mines RI 5059 (1954)",
        ({"MgO": 1, "TiO2": 1}, {"MgTiO3": 1}),
    ),
    _enthalpy(
        "La-Zr-O",
        "La2O3 + 2 ZrO2 -> La2Zr2O7, 298 K",
        -135.2,
        13.0,
        "Radha, Ushakov & Navrotsky, J. Mater. Res. 24, 3350 (2009)",
        ({"La2O3": 1, "ZrO2": 2}, {"La2Zr2O7": 1}),
    ),
    _enthalpy(
        "La-P-O",
        "La2O3/2 + P2O5/2 -> LaPO4, 298 K",
        -321.4,
        12.0,
        "Ushakov, Helean, Navrotsky & Boatner, J. Mater. Res. 16, 2623 (2001)",
        ({"La2O3": 0.5, "P2O5": 0.5}, {"LaPO4": 1}),
    ),
    _enthalpy(
        "La-Fe-O",
        "La2O3/2 + Fe2O3/2 -> LaFeO3, 298 K",
        -64.6,
        7.0,
        "Cheng, Navrotsky, Zhou & Anderson, J. Mater. Res. 20, 191 (2005)",
        ({"La2O3": 0.5, "Fe2O3": 0.5}, {"LaFeO3": 1}),
    ),
    _enthalpy(
        "Li-Al-O",
        "Li2O/2 + Al2O3/2 -> LiAlO2, 298 K",
        -51.9,
        6.0,
        _NBS,
        ({"Li2O": 0.5, "Al2O3": 0.5}, {"LiAlO2": 1}),
    ),
    _enthalpy(
        "Li-Ti-O",
        "Li2O + TiO2 -> Li2TiO3, 298 K",
        -128.0,
        10.0,
        _NBS,
        ({"Li2O": 1, "TiO2": 1}, {"Li2TiO3": 1}),
    ),
    _enthalpy(
        "Na-Si-O",
        "Na2O + SiO2 -> Na2SiO3, 298 K",
        -229.8,
        8.0,
        _NBS,
        ({"Na2O": 1, "SiO2": 1}, {"Na2SiO3": 1}),
    ),
    _enthalpy(
        "Ca-V-O",
        "CaO + V2O5 -> CaV2O6, 298 K",
        -143.5,
        10.0,
        _NBS,
        ({"CaO": 1, "V2O5": 1}, {"CaV2O6": 1}),
    ),
    _enthalpy(
        "Pb-Si-O",
        "PbO + SiO2 -> PbSiO3, 298 K",
        -17.5,
        6.0,
        _NBS,
        ({"PbO": 1, "SiO2": 1}, {"SiPbO3": 1}),
    ),
    _enthalpy(
        "Pb-W-O",
        "PbO + WO3 -> PbWO4, 298 K",
        -61.5,
        12.0,
        _NBS,
        ({"PbO": 1, "WO3": 1}, {"PbWO4": 1}),
    ),
    _enthalpy(
        "Fe-W-O",
        "FeO + WO3 -> FeWO4, 298 K",
        -40.0,
        12.0,
        _NBS,
        ({"FeO": 1, "WO3": 1}, {"FeWO4": 1}),
    ),
    _enthalpy(
        "Cu-O",
        "Cu2O + O2/2 -> 2 CuO, 298 K",
        -146.0,
        4.0,
        _NBS,
        ({"Cu2O": 1, "O2": 0.5}, {"CuO": 2}),
    ),
    _enthalpy(
        "Fe-O",
        "Fe3O4 + O2/4 -> 3/2 Fe2O3, 298 K",
        -117.9,
        4.0,
        _USGS,
        ({"Fe3O4": 1, "O2": 0.25}, {"Fe2O3": 1.5}),
    ),
    _enthalpy(
        "Mn-O",
        "3 MnO + O2/2 -> Mn3O4, 298 K",
        -232.0,
        5.0,
        "Fritsch & Navrotsky, J. Am. Ceram. Soc. 79, 1761 (1996), and NBS tables",
        ({"MnO": 3, "O2": 0.5}, {"Mn3O4": 1}),
    ),
    _enthalpy(
        "Ba-C-O",
        "BaO + CO2 -> BaCO3, 298 K",
        -269.3,
        6.0,
        _NBS,
        ({"BaO": 1, "CO2": 1}, {"BaCO3": 1}),
    ),
    _enthalpy(
        "Sr-C-O",
        "SrO + CO2 -> SrCO3, 298 K",
        -234.6,
        6.0,
        _NBS,
        ({"SrO": 1, "CO2": 1}, {"SrCO3": 1}),
    ),
    _enthalpy(
        "Mg-C-O",
        "MgO + CO2 -> MgCO3, 298 K",
        -118.3,
        5.0,
        _USGS,
        ({"MgO": 1, "CO2": 1}, {"MgCO3": 1}),
    ),
    _enthalpy(
        "Ca-Mg-C-O",
        "CaCO3 + MgCO3 -> CaMg(CO3)2, 298 K",
        -11.5,
        3.0,
        "Navrotsky & Capobianco, Am. Mineral. 72, 782 (1987)",
        ({"CaCO3": 1, "MgCO3": 1}, {"CaMgC2O6": 1}),
    ),
    _enthalpy(
        "Ca-O-H",
        "CaO + H2O(g) -> Ca(OH)2, 298 K",
        -109.2,
        3.0,
        _NBS,
        ({"CaO": 1, "H2O": 1}, {"Ca(OH)2": 1}),
    ),
    _enthalpy(
        "Mg-O-H",
        "MgO + H2O(g) -> Mg(OH)2, 298 K",
        -81.1,
        4.0,
        _NBS,
        ({"MgO": 1, "H2O": 1}, {"Mg(OH)2": 1}),
    ),
    _enthalpy(
        "W-C",
        "W + C -> WC, 298 K",
        -40.2,
        3.0,
        "Mah, US Bureau of Mines RI 6337 (1963): combustion",
        ({"W": 1, "C": 1}, {"WC": 1}),
    ),
    _enthalpy("Ti-C", "Ti + C -> TiC, 298 K", -184.5, 5.0, _NBS, ({"Ti": 1, "C": 1}, {"TiC": 1})),
    _enthalpy(
        "Al-N", "Al + N2/2 -> AlN, 298 K", -318.0, 5.0, _NBS, ({"Al": 1, "N2": 0.5}, {"AlN": 1})
    ),
]
