"""Which phases are stable under a gas, oxygen buffers, and vapour over metals and borides.

A change is a temperature in K, at which two sides of a reaction are equal; a phase is stable if the
equilibrium of everything the tables know in its system leaves all of it (1, or 0 if not). Oxygen
buffers by galvanic cells are certain to 0.3 kJ, tables to some 2 kJ, which is the tolerance.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from labenv.physics.thermochemistry import GAS_CONSTANT_J_MOL_K, stable_assemblage
from labenv.physics.thermochemistry.sources import substance_table
from labenv.validation.catalogue.decompositions import AIR_CO2_BAR, AIR_O2_BAR, onset_k
from labenv.validation.checks import Check

BAR_PA = 1.0e5
TORR_BAR = 1.33322e-3
Amounts = dict[str, float]


def stable_amount(
    start: Amounts, wanted: tuple[str, ...], temperature_k: float, o2_bar: float
) -> float:
    """Return how much of some phases is left of a powder at equilibrium with a gas.

    Args:
        start: Phases to start from, mol.
        wanted: Phases whose amounts are added up.
        temperature_k: Temperature, K.
        o2_bar: Pressure of oxygen, bar; carbon dioxide is that of air.

    Returns:
        Mol of the wanted phases.
    """
    table = substance_table()
    elements = {e for name in start for e in table.get(name).elements} | {"O"}
    phases = table.within(elements)
    names = [phase.name for phase in phases]
    pressures = {"O2": o2_bar, "CO2": AIR_CO2_BAR}
    gases = [gas for gas in table.gases(elements) if gas.name in pressures]
    amounts = np.zeros(len(names))
    for name, n in start.items():
        amounts[names.index(table.get(name).name)] = n
    gas_pa = [pressures[gas.name] * BAR_PA for gas in gases]
    left = stable_assemblage(phases, gases, amounts, temperature_k, gas_pa)
    return float(sum(left[names.index(table.get(name).name)] for name in wanted))


def oxygen_potential_kj(reaction: Amounts, temperature_k: float) -> float:
    """Return RT ln p(O2), kJ/mol, at which a reaction that takes up one O2 is in equilibrium.

    Args:
        reaction: Products positive, reactants negative, O2 left out.
        temperature_k: Temperature, K.

    Returns:
        Gibbs energy of the reaction with oxygen at 1 bar, kJ/mol.
    """
    table = substance_table()
    terms = [n * float(table.get(name).gibbs_j_mol(temperature_k)) for name, n in reaction.items()]
    return (sum(terms) - float(table.get("O2").gibbs_j_mol(temperature_k))) / 1000.0


def magnesium_log10_torr(temperature_k: float) -> float:
    """Return log10 of the pressure of magnesium, Torr, over MgB2 with MgB4."""
    table = substance_table()
    parts = {"MgB2": -2.0, "MgB4": 1.0, "Mg(g)": 1.0}
    energy = sum(n * float(table.get(name).gibbs_j_mol(temperature_k)) for name, n in parts.items())
    return -energy / (GAS_CONSTANT_J_MOL_K * temperature_k * math.log(10.0)) - math.log10(TORR_BAR)


def change_check(  # noqa: PLR0913 - one row of a table
    system: str,
    quantity: str,
    value: float,
    tolerance: float,
    source: str,
    left: Amounts,
    right: Amounts,
    gas_bar: Amounts | None = None,
) -> Check:
    """Return a check of the temperature, K, above which a reaction goes forward."""
    ours = partial(onset_k, left, right, gas_bar or {})
    return Check(system, quantity, value, tolerance, "K", source, ours)


def stable_check(  # noqa: PLR0913 - one row of a table
    system: str,
    phase: str,
    temperature_k: float,
    source: str,
    *,
    start: Amounts | None = None,
    also: tuple[str, ...] = (),
    o2_bar: float = AIR_O2_BAR,
    amount: float = 1.0,
) -> Check:
    """Return a check of how much of a phase, mol, is left at equilibrium; 1 of itself."""
    made = " + ".join(start) if start else phase
    what = f"mol of {phase} in equilibrium at {temperature_k:g} K, {o2_bar:.3g} bar O2, from {made}"
    powder = start or {phase: 1.0}
    ours = partial(stable_amount, powder, (phase, *also), temperature_k, o2_bar)
    return Check(system, what, amount, 0.02, "mol", source, ours)


def _magnesium(at_k: float, value: float, tolerance: float, source: str) -> Check:
    what = f"log10 of the pressure of Mg over MgB2 and MgB4, Torr, {at_k:g} K (fitted)"
    ours = partial(magnesium_log10_torr, at_k)
    return Check("Mg-B", what, value, tolerance, "1", source, ours)


def buffer_check(  # noqa: PLR0913 - one row of a table
    system: str,
    quantity: str,
    at_k: float,
    value: float,
    tolerance: float,
    source: str,
    reaction: Amounts,
) -> Check:
    """Return a check of the oxygen potential, kJ/mol, of a reaction that takes up one O2."""
    ours = partial(oxygen_potential_kj, reaction, at_k)
    return Check(
        system, f"{quantity}, RT ln p(O2) at {at_k:g} K", value, tolerance, "kJ/mol", source, ours
    )


_POWNCEBY = "O'Neill & Pownceby, Contrib. Mineral. Petrol. 114 (1993) 296"
_ROTH = "Roth, Davis & Dennis, Adv. Ceram. Mater. 2 (1987) 303 (phase diagram, 950 degC in air)"
_KNUDSEN = (
    "Thermodynamics of MgB2 by calorimetry and Knudsen thermogravimetry, IEEE Trans. Appl. "
    "Supercond. (2003): log10 p = 7.328 - 11291/T, taken to be in bar, as its 1268 degC at 1 bar"
)
_JANAF = "Chase, NIST-JANAF Thermochemical Tables, 4th ed. (1998)"
_LEVIN = "Levin, Robbins & McMurdie, Phase Diagrams for Ceramists (1964)"
_CRC = "CRC Handbook of Chemistry and Physics, vapour pressure of the metallic elements"
_NURSE = "Taylor, Cement Chemistry (1997): alite is stable above 1250 degC"

CHECKS = [
    stable_check("Y-Ba-Cu-O", "YBa2Cu3O6", 1173.0, _ROTH, also=("YBa2Cu3O7",)),
    stable_check(
        "Y-Ba-Cu-O",
        "YBa2Cu3O6",
        1173.0,
        _ROTH,
        also=("YBa2Cu3O7",),
        amount=2.0,
        start={"Y2BaCuO5": 1.0, "BaCuO2": 3.0, "CuO": 2.0},
    ),
    stable_check("Y-Ba-Cu-O", "Y2BaCuO5", 1223.0, _ROTH),
    stable_check("Y-Ba-Cu-O", "BaCuO2", 1173.0, _ROTH),
    stable_check("Y-Ba-Cu-O", "Y2Cu2O5", 1223.0, _ROTH, start={"Y2O3": 1.0, "CuO": 2.0}),
    stable_check(
        "Ba-Ti-O",
        "BaTiO3",
        1473.0,
        "Rase & Roy, J. Am. Ceram. Soc. 38 (1955) 102",
        start={"BaO": 1.0, "TiO2": 1.0},
    ),
    stable_check("Sr-Ti-O", "SrTiO3", 1473.0, _LEVIN, start={"SrO": 1.0, "TiO2": 1.0}),
    stable_check("Ca-Ti-O", "CaTiO3", 1473.0, _LEVIN, start={"CaO": 1.0, "TiO2": 1.0}),
    stable_check("Mg-Al-O", "MgAl2O4", 1473.0, _LEVIN, start={"MgO": 1.0, "Al2O3": 1.0}),
    stable_check("Zn-Fe-O", "ZnFe2O4", 1273.0, _LEVIN, start={"ZnO": 1.0, "Fe2O3": 1.0}),
    stable_check(
        "La-Cu-O",
        "La2CuO4",
        1173.0,
        "Longo & Raccah, J. Solid State Chem. 6 (1973) 526",
        start={"La2O3": 1.0, "CuO": 1.0},
    ),
    stable_check(
        "Li-Co-O",
        "LiCoO2",
        1173.0,
        "Antolini, Solid State Ionics 170 (2004) 159",
        start={"Li2O": 0.5, "Co3O4": 1.0 / 3.0},
    ),
    stable_check("Ca-W-O", "CaWO4", 1173.0, _LEVIN, start={"CaO": 1.0, "WO3": 1.0}),
    stable_check("Ca-C-O", "CaO", 1173.0, _JANAF, start={"CaCO3": 1.0}),
    stable_check("Ba-C-O", "BaCO3", 1073.0, _JANAF, start={"BaCO3": 1.0}),
    stable_check(
        "Pb-O",
        "PbO",
        973.0,
        "Otto, J. Electrochem. Soc. 113 (1966) 525",
        start={"Pb3O4": 1.0},
        amount=3.0,
    ),
    stable_check("Bi-O", "Bi2O3", 973.0, _LEVIN),
    stable_check(
        "Cu-O",
        "Cu2O",
        1323.0,
        "Hallstedt, Risold & Gauckler, J. Phase Equilib. 15 (1994) 483",
        start={"CuO": 2.0},
    ),
    stable_check(
        "Y-Fe-O",
        "Y3Fe5O12",
        1573.0,
        "van Hook, J. Am. Ceram. Soc. 45 (1962) 162",
        start={"Y2O3": 1.5, "Fe2O3": 2.5},
    ),
    stable_check("Zn-Si-O", "Zn2SiO4", 1273.0, _LEVIN, start={"ZnO": 2.0, "SiO2": 1.0}),
    change_check(
        "Y-Ba-Cu-O",
        "Y2Cu2O5 forms from its oxides (fitted to the same literature)",
        1000.0,
        60.0,
        "Kale & Jacob, Chem. Mater. 1 (1989) 515",
        {"Y2O3": 1, "CuO": 2},
        {"Y2Cu2O5": 1},
    ),
    change_check(
        "Ba-O",
        "BaO2 gives BaO under 1 bar of O2",
        1070.0,
        30.0,
        "Tribelhorn & Brown, Thermochim. Acta 255 (1995) 143, and the Brin process",
        {"BaO2": 2},
        {"BaO": 2, "O2": 1},
        {"O2": 1.0},
    ),
    change_check(
        "Fe-O",
        "wuestite forms from iron and magnetite",
        833.0,
        25.0,
        "Darken & Gurry, J. Am. Chem. Soc. 68 (1946) 798",
        {"Fe3O4": 1, "Fe": 1},
        {"FeO": 4},
    ),
    change_check(
        "Cu-Fe-O",
        "CuFeO2 forms from CuFe2O4 and CuO in air",
        1288.0,
        30.0,
        "Yund & Kullerud, Am. Mineral. 49 (1964) 689: 1015 degC",
        {"Fe2CuO4": 2, "CuO": 2},
        {"FeCuO2": 4, "O2": 1},
        {"O2": AIR_O2_BAR},
    ),
    change_check(
        "Ca-Si-O",
        "Ca3SiO5 forms from Ca2SiO4 and CaO",
        1523.0,
        60.0,
        _NURSE,
        {"Ca2SiO4": 1, "CaO": 1},
        {"Ca3SiO5": 1},
    ),
    change_check(
        "Al-Ti-O",
        "Al2TiO5 forms from its oxides",
        1553.0,
        60.0,
        "Kato, Daimon & Takahashi, J. Am. Ceram. Soc. 63 (1980) 355",
        {"Al2O3": 1, "TiO2": 1},
        {"TiAl2O5": 1},
    ),
    change_check(
        "Fe-Ti-O",
        "Fe2TiO5 forms from its oxides",
        858.0,
        60.0,
        "Lindsley, Carnegie Inst. Yearbook 64 (1965) 144",
        {"Fe2O3": 1, "TiO2": 1},
        {"TiFe2O5": 1},
    ),
    change_check(
        "Zr-Si-O",
        "ZrSiO4 decomposes into its oxides",
        1949.0,
        60.0,
        "Butterman & Foster, Am. Mineral. 52 (1967) 880",
        {"ZrSiO4": 1},
        {"ZrO2": 1, "SiO2": 1},
    ),
    change_check(
        "Mg-O-H",
        "Mg(OH)2 gives MgO under 1 bar of water",
        540.0,
        15.0,
        "Barnes & Ernst, Am. J. Sci. 261 (1963) 129",
        {"Mg(OH)2": 1},
        {"MgO": 1, "H2O": 1},
        {"H2O": 1.0},
    ),
    change_check(
        "C-O",
        "C + CO2 gives 2 CO, all at 1 bar",
        973.0,
        8.0,
        _JANAF,
        {"C": 1, "CO2": 1},
        {"CO": 2},
        {"CO": 1.0, "CO2": 1.0},
    ),
    change_check(
        "C-O-H",
        "H2 + CO2 gives H2O + CO, all at 1 bar",
        1095.0,
        25.0,
        _JANAF,
        {"H2": 1, "CO2": 1},
        {"H2O": 1, "CO": 1},
    ),
    change_check(
        "Mg",
        "magnesium has a vapour of 10 kPa",
        1132.0,
        15.0,
        _CRC,
        {"Mg": 1},
        {"Mg(g)": 1},
        {"Mg(g)": 0.1},
    ),
    change_check(
        "Zn",
        "zinc has a vapour of 10 kPa",
        990.0,
        15.0,
        _CRC,
        {"Zn": 1},
        {"Zn(g)": 1},
        {"Zn(g)": 0.1},
    ),
    change_check(
        "Na",
        "sodium has a vapour of 10 kPa",
        946.0,
        15.0,
        _CRC,
        {"Na": 1},
        {"Na(g)": 1},
        {"Na(g)": 0.1},
    ),
    change_check(
        "Li",
        "lithium has a vapour of 10 kPa",
        1337.0,
        15.0,
        _CRC,
        {"Li": 1},
        {"Li(g)": 1},
        {"Li(g)": 0.1},
    ),
    _magnesium(1100.0, -0.66, 0.5, "Liu, Schlom, Li & Xi, Appl. Phys. Lett. 78 (2001) 3678"),
    _magnesium(1000.0, -1.09, 0.5, _KNUDSEN),
    buffer_check("Ni-O", "Ni with NiO", 1000.0, -298.1, 2.0, _POWNCEBY, {"NiO": 2, "Ni": -2}),
    buffer_check("Ni-O", "Ni with NiO", 1200.0, -264.1, 2.0, _POWNCEBY, {"NiO": 2, "Ni": -2}),
    buffer_check("Co-O", "Co with CoO", 1200.0, -298.1, 2.0, _POWNCEBY, {"CoO": 2, "Co": -2}),
    buffer_check("Cu-O", "Cu with Cu2O", 1200.0, -162.2, 2.0, _POWNCEBY, {"Cu2O": 2, "Cu": -4}),
    buffer_check("Mn-O", "MnO with Mn3O4", 1200.0, -178.5, 4.0, _POWNCEBY, {"Mn3O4": 2, "MnO": -6}),
    buffer_check(
        "Mo-O",
        "Mo with MoO2",
        1200.0,
        -374.3,
        4.0,
        "O'Neill, Am. Mineral. 71 (1986) 1007",
        {"MoO2": 1, "Mo": -1},
    ),
]
