"""Temperatures at which phases give off gas, and energies of reactions."""

from __future__ import annotations

from functools import partial

import numpy as np

from labenv.physics.thermochemistry import GAS_CONSTANT_J_MOL_K
from labenv.physics.thermochemistry.sources import substance_table
from labenv.validation.checks import Check
from labenv_schemas.errors import SimulatorError

AIR_O2_BAR, AIR_CO2_BAR = 0.2122, 4.25e-4


def onset_k(
    reactants: dict[str, float], products: dict[str, float], gas_bar: dict[str, float]
) -> float:
    """Return the temperature above which a reaction goes forward under a gas, K."""
    table = substance_table()
    grid = np.arange(300.0, 2001.0, 0.5)
    energy = np.zeros(grid.size)
    for side, sign in ((products, 1.0), (reactants, -1.0)):
        for name, n in side.items():
            energy += sign * n * table.get(name).gibbs_j_mol(grid)
            if name in gas_bar:
                energy += sign * n * GAS_CONSTANT_J_MOL_K * grid * np.log(gas_bar[name])
    forward = np.flatnonzero(energy < 0.0)
    if not forward.size:
        raise SimulatorError("the reaction goes nowhere up to 2000 K")
    return float(grid[forward[0]])


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


def _onset(
    system: str,
    quantity: str,
    value: float,
    tolerance: float,
    source: str,
    reaction: tuple[dict[str, float], dict[str, float]],
    gas_bar: dict[str, float],
) -> Check:  # noqa: PLR0913
    return Check(
        system, quantity, value, tolerance, "K", source, partial(onset_k, *reaction, gas_bar)
    )


def _enthalpy(
    system: str,
    quantity: str,
    value: float,
    tolerance: float,
    source: str,
    reaction: tuple[dict[str, float], dict[str, float]],
) -> Check:  # noqa: PLR0913
    return Check(
        system,
        quantity,
        value,
        tolerance,
        "kJ/mol",
        source,
        partial(reaction_enthalpy_kj, *reaction),
    )


CHECKS = [
    _onset(
        "Ca-C-O", "CaCO3 decomposes under 1 atm CO2", 1168.0, 12.0,
        "Hill & Winter, J. Phys. Chem. 60, 1361 (1956)",
        ({"CaCO3": 1}, {"CaO": 1, "CO2": 1}), {"CO2": 1.013},
    ),
    _onset(
        "Sr-C-O", "SrCO3 decomposes under 1 bar CO2", 1447.0, 20.0,
        "Robie, Hemingway & Fisher, USGS Bulletin 1452 (1979)",
        ({"SrCO3": 1}, {"SrO": 1, "CO2": 1}), {"CO2": 1.0},
    ),
    _onset(
        "Cu-O", "CuO gives Cu2O in air", 1300.0, 12.0,
        "Hallstedt, Risold & Gauckler, J. Phase Equilib. 15, 483 (1994): 1304 K",
        ({"CuO": 4}, {"Cu2O": 2, "O2": 1}), {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Co-O", "Co3O4 gives CoO in air", 1175.0, 25.0,
        "Oku & Sato, Appl. Surf. Sci. 55, 37 (1992): 1170-1180 K",
        ({"Co3O4": 2}, {"CoO": 6, "O2": 1}), {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Fe-O", "Fe2O3 gives Fe3O4 in air", 1660.0, 50.0,
        "Muan & Osborn, Phase Equilibria among Oxides in Steelmaking (1965): 1390 degC",
        ({"Fe2O3": 6}, {"Fe3O4": 4, "O2": 1}), {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Mn-O", "Mn2O3 gives Mn3O4 in air", 1150.0, 30.0,
        "Shenouda, J. Therm. Anal. / Grundy, Hallstedt & Gauckler, J. Phase Equilib. 24, 21 (2003): 877 degC",
        ({"Mn2O3": 6}, {"Mn3O4": 4, "O2": 1}), {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Pb-O", "Pb3O4 gives PbO in air", 820.0, 30.0,
        "Otto, J. Electrochem. Soc. 113, 525 (1966)",
        ({"Pb3O4": 2}, {"PbO": 6, "O2": 1}), {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Ba-Ti-C-O", "BaTiO3 from BaCO3 and TiO2 is favourable in air", 454.0, 30.0,
        "from NBS tables, Wagman et al., J. Phys. Chem. Ref. Data 11, Suppl. 2 (1982)",
        ({"BaCO3": 1, "TiO2": 1}, {"BaTiO3": 1, "CO2": 1}), {"CO2": AIR_CO2_BAR},
    ),
    _onset(
        "Ca-O-H", "Ca(OH)2 gives CaO under 1 bar of water", 785.0, 20.0,
        "Halstead & Moore, J. Chem. Soc. 3873 (1957): 512 degC",
        ({"Ca(OH)2": 1}, {"CaO": 1, "H2O": 1}), {"H2O": 1.0},
    ),
    _onset(
        "Mg-C-O", "MgCO3 decomposes under 1 bar CO2", 675.0, 25.0,
        "Robie, Hemingway & Fisher, USGS Bulletin 1452 (1979)",
        ({"MgCO3": 1}, {"MgO": 1, "CO2": 1}), {"CO2": 1.0},
    ),
    _enthalpy(
        "Ca-C-O", "CaCO3 -> CaO + CO2, 298 K", 178.3, 3.0,
        "Robie & Hemingway, USGS Bulletin 2131 (1995)",
        ({"CaCO3": 1}, {"CaO": 1, "CO2": 1}),
    ),
    _enthalpy(
        "Ca-W-O", "CaO + WO3 -> CaWO4, 298 K", -167.0, 10.0,
        "Guillermet & others; Navrotsky & Kleppa, Inorg. Chem. 8, 756 (1969)",
        ({"CaO": 1, "WO3": 1}, {"CaWO4": 1}),
    ),
    _enthalpy(
        "Mg-Al-O", "MgO + Al2O3 -> MgAl2O4, 298 K", -22.5, 3.0,
        "Navrotsky, Wechsler, Geisinger & Seifert, J. Am. Ceram. Soc. 69, 418 (1986)",
        ({"MgO": 1, "Al2O3": 1}, {"MgAl2O4": 1}),
    ),
    _enthalpy(
        "Sr-Ti-O", "SrO + TiO2 -> SrTiO3, 298 K", -135.1, 8.0,
        "Kelley, Todd & King, US Bureau of Mines RI 5059 (1954)",
        ({"SrO": 1, "TiO2": 1}, {"SrTiO3": 1}),
    ),
    _enthalpy(
        "Ca-Ti-O", "CaO + TiO2 -> CaTiO3, 298 K", -81.0, 4.0,
        "Takayama-Muromachi & Navrotsky, J. Solid State Chem. 72, 244 (1988)",
        ({"CaO": 1, "TiO2": 1}, {"CaTiO3": 1}),
    ),
    _enthalpy(
        "Ba-Ti-O", "BaO + TiO2 -> BaTiO3, 298 K", -152.3, 12.0,
        "Todd & Lorenson, J. Am. Chem. Soc. 74, 2043 (1952) with Kelley: -36.4 kcal/mol",
        ({"BaO": 1, "TiO2": 1}, {"BaTiO3": 1}),
    ),
    _enthalpy(
        "Zn-Si-O", "2 ZnO + SiO2 -> Zn2SiO4, 298 K", -29.0, 5.0,
        "Kitchener & Ignatowicz, Trans. Faraday Soc. 47, 1278 (1951)",
        ({"ZnO": 2, "SiO2": 1}, {"Zn2SiO4": 1}),
    ),
]  # fmt: skip
