"""What a firing to equilibrium gives: phases that are known to form, by system.

As in the file of phases, 1 mol of the phase is wanted of powders of its composition. Temperatures
lie within the phase's field and not on its edge; where a source names an edge, that is a row of its
own, as a temperature.
"""

from __future__ import annotations

from labenv.validation.catalogue.phases import buffer_check, change_check, stable_check

_LEVIN = "Levin, Robbins & McMurdie, Phase Diagrams for Ceramists (1964)"
_HWANG = "Hwang, Roth & Rawn, J. Am. Ceram. Soc. 73 (1990) 2531"
_ROTH = "Roth, Hwang, Rawn, Burton & Ritter, J. Am. Ceram. Soc. 74 (1991) 2148"
_MUAN = "Muan & Osborn, Phase Equilibria among Oxides in Steelmaking (1965)"
_MURUGAN = "Murugan, Thangadurai & Weppner, Angew. Chem. Int. Ed. 46 (2007) 7778"
_ONEILL = "O'Neill, Am. Mineral. 73 (1988) 470"

CHECKS = [
    stable_check(
        "Co-O",
        "CoO",
        1273.0,
        "Oku & Sato, Appl. Surf. Sci. 55 (1992) 37",
        start={"Co3O4": 1.0},
        amount=3.0,
    ),
    stable_check(
        "Co-O", "Co3O4", 1073.0, "Oku & Sato, Appl. Surf. Sci. 55 (1992) 37", start={"CoO": 3.0}
    ),
    stable_check("Mn-O", "Mn3O4", 1273.0, _MUAN, start={"Mn2O3": 1.5}),
    stable_check("Mn-O", "Mn2O3", 1073.0, _MUAN, start={"MnO": 2.0}),
    stable_check("Mn-O", "MnO2", 673.0, _MUAN),
    stable_check("Fe-O", "Fe2O3", 1573.0, _MUAN, start={"Fe3O4": 2.0 / 3.0}),
    stable_check("Fe-O", "Fe3O4", 1723.0, _MUAN, start={"Fe2O3": 1.5}),
    stable_check("Cu-O", "CuO", 1223.0, _LEVIN, start={"Cu2O": 0.5}),
    stable_check("Ni-O", "NiO", 1273.0, _LEVIN, start={"Ni": 1.0}),
    stable_check("V-O", "V2O5", 873.0, _LEVIN, start={"V2O3": 1.0}),
    stable_check(
        "Ba-Ti-O",
        "Ba2TiO4",
        1473.0,
        "Rase & Roy, J. Am. Ceram. Soc. 38 (1955) 102",
        start={"BaTiO3": 1.0, "BaO": 1.0},
    ),
    stable_check(
        "Ba-Ti-O",
        "BaTi4O9",
        1473.0,
        "O'Bryan & Thomson, J. Am. Ceram. Soc. 57 (1974) 522",
        start={"BaTiO3": 1.0, "TiO2": 3.0},
    ),
    stable_check("Sr-Cu-O", "SrCuO2", 1223.0, _HWANG, start={"SrO": 1.0, "CuO": 1.0}),
    stable_check("Sr-Cu-O", "Sr2CuO3", 1223.0, _HWANG, start={"SrO": 2.0, "CuO": 1.0}),
    stable_check("Ca-Cu-O", "Ca2CuO3", 1223.0, _ROTH, start={"CaO": 2.0, "CuO": 1.0}),
    stable_check("Bi-Cu-O", "Bi2CuO4", 973.0, _LEVIN, start={"Bi2O3": 1.0, "CuO": 1.0}),
    stable_check("La-Fe-O", "LaFeO3", 1473.0, _LEVIN, start={"La2O3": 0.5, "Fe2O3": 0.5}),
    stable_check("Y-Fe-O", "YFeO3", 1573.0, _LEVIN, start={"Y2O3": 0.5, "Fe2O3": 0.5}),
    stable_check("Ni-Fe-O", "NiFe2O4", 1273.0, _LEVIN, start={"NiO": 1.0, "Fe2O3": 1.0}),
    stable_check("Zn-Cr-O", "ZnCr2O4", 1273.0, _LEVIN, start={"ZnO": 1.0, "Cr2O3": 1.0}),
    stable_check("Zn-Ti-O", "Zn2TiO4", 1473.0, _LEVIN, start={"ZnO": 2.0, "TiO2": 1.0}),
    stable_check("Mg-Si-O", "Mg2SiO4", 1473.0, _LEVIN, start={"MgO": 2.0, "SiO2": 1.0}),
    stable_check("Ca-Si-O", "CaSiO3", 1273.0, _LEVIN, start={"CaO": 1.0, "SiO2": 1.0}),
    stable_check("Pb-Ti-O", "PbTiO3", 1073.0, _LEVIN, start={"PbO": 1.0, "TiO2": 1.0}),
    stable_check("Co-W-O", "CoWO4", 1173.0, _LEVIN, start={"CoO": 1.0, "WO3": 1.0}),
    stable_check("Zn-W-O", "ZnWO4", 1173.0, _LEVIN, start={"ZnO": 1.0, "WO3": 1.0}),
    stable_check(
        "Bi-Fe-O",
        "BiFeO3",
        1000.0,
        "Maitre, Francois & Gachon, J. Phase Equilib. Diffus. 25 (2004) 59",
        start={"Bi2O3": 0.5, "Fe2O3": 0.5},
    ),
    stable_check(
        "Li-La-Zr-O",
        "Li7La3Zr2O12",
        1473.0,
        _MURUGAN,
        also=("Li7La3Zr2O12-cubic",),
        start={"Li2O": 3.5, "La2O3": 1.5, "ZrO2": 2.0},
    ),
    stable_check(
        "Nb-Sn",
        "Nb3Sn",
        1200.0,
        "Charlesworth, Macphail & Madsen, J. Mater. Sci. 5 (1970) 580",
        start={"Nb": 3.0, "Sn": 1.0},
        o2_bar=1e-35,
    ),
    stable_check(
        "Mg-B",
        "MgB2",
        1000.0,
        "Nagamatsu et al., Nature 410 (2001) 63",
        start={"Mg": 1.0, "B": 2.0},
        o2_bar=1e-50,
    ),
    change_check(
        "Cu-O",
        "CuO gives Cu2O under 1 bar of O2",
        1398.0,
        12.0,
        _ONEILL,
        {"CuO": 4},
        {"Cu2O": 2, "O2": 1},
        {"O2": 1.0},
    ),
    change_check(
        "Co-O",
        "Co3O4 gives CoO under 1 bar of O2",
        1243.0,
        25.0,
        "Oku & Sato, Appl. Surf. Sci. 55 (1992) 37, and older decomposition pressures: 970 degC",
        {"Co3O4": 2},
        {"CoO": 6, "O2": 1},
        {"O2": 1.0},
    ),
    change_check(
        "Mn-O",
        "Mn2O3 gives Mn3O4 under 1 bar of O2",
        1250.0,
        30.0,
        "Grundy, Hallstedt & Gauckler, J. Phase Equilib. 24 (2003) 21 (fitted in air)",
        {"Mn2O3": 6},
        {"Mn3O4": 4, "O2": 1},
        {"O2": 1.0},
    ),
    change_check(
        "Fe-O",
        "Fe2O3 gives Fe3O4 under 1 bar of O2",
        1730.0,
        50.0,
        _MUAN + ": 1457 degC",
        {"Fe2O3": 6},
        {"Fe3O4": 4, "O2": 1},
        {"O2": 1.0},
    ),
    change_check(
        "Sr-O-H",
        "Sr(OH)2 gives SrO under 1 bar of water (taken)",
        983.0,
        30.0,
        "Lander, J. Am. Chem. Soc. 73 (1951): 710 degC",
        {"Sr(OH)2": 1},
        {"SrO": 1, "H2O": 1},
        {"H2O": 1.0},
    ),
    buffer_check("Cu-O", "Cu2O with CuO", 1200.0, -37.2, 2.0, _ONEILL, {"CuO": 4, "Cu2O": -2}),
    buffer_check("Cu-O", "Cu with Cu2O", 1000.0, -190.8, 2.0, _ONEILL, {"Cu2O": 2, "Cu": -4}),
    buffer_check("Fe-O", "Fe with FeO", 1200.0, -372.2, 4.0, _ONEILL, {"FeO": 2, "Fe": -2}),
]
