"""Temperatures at which phases give off gas."""

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
    """Return the temperature above which a reaction goes forward under a gas, K.

    Raises:
        SimulatorError: If it goes nowhere.
    """
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


def _onset(  # noqa: PLR0913 - one row of a table
    system: str,
    quantity: str,
    value: float,
    tolerance: float,
    source: str,
    reaction: tuple[dict[str, float], dict[str, float]],
    gas_bar: dict[str, float],
) -> Check:
    return Check(
        system, quantity, value, tolerance, "K", source, partial(onset_k, *reaction, gas_bar)
    )


_NBS = (
    "Wagman et al., NBS tables, J. Phys. Chem. Ref. Data 11, Suppl. 2 (1982), difference of "
    "enthalpies of formation"
)

CHECKS = [
    _onset(
        "Ca-C-O",
        "CaCO3 decomposes under 1 atm CO2",
        1168.0,
        12.0,
        "Hill & Winter, J. Phys. Chem. 60, 1361 (1956)",
        ({"CaCO3": 1}, {"CaO": 1, "CO2": 1}),
        {"CO2": 1.013},
    ),
    _onset(
        "Sr-C-O",
        "SrCO3 decomposes under 1 bar CO2",
        1447.0,
        20.0,
        "Robie, Hemingway & Fisher, USGS Bulletin 1452 (1979)",
        ({"SrCO3": 1}, {"SrO": 1, "CO2": 1}),
        {"CO2": 1.0},
    ),
    _onset(
        "Cu-O",
        "CuO gives Cu2O in air",
        1300.0,
        12.0,
        "Hallstedt, Risold & Gauckler, J. Phase Equilib. 15, 483 (1994): 1304 K",
        ({"CuO": 4}, {"Cu2O": 2, "O2": 1}),
        {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Co-O",
        "Co3O4 gives CoO in air",
        1175.0,
        25.0,
        "Oku & Sato, Appl. Surf. Sci. 55, 37 (1992): 1170-1180 K",
        ({"Co3O4": 2}, {"CoO": 6, "O2": 1}),
        {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Fe-O",
        "Fe2O3 gives Fe3O4 in air",
        1660.0,
        50.0,
        "Muan & Osborn, Phase Equilibria among Oxides in Steelmaking (1965): 1390 degC",
        ({"Fe2O3": 6}, {"Fe3O4": 4, "O2": 1}),
        {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Mn-O",
        "Mn2O3 gives Mn3O4 in air",
        1150.0,
        30.0,
        "Hahn & Muan, Am. J. Sci. 258, 66 (1960): 877 degC (fitted to the same literature)",
        ({"Mn2O3": 6}, {"Mn3O4": 4, "O2": 1}),
        {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Pb-O",
        "Pb3O4 gives PbO in air",
        820.0,
        30.0,
        "Otto, J. Electrochem. Soc. 113, 525 (1966)",
        ({"Pb3O4": 2}, {"PbO": 6, "O2": 1}),
        {"O2": AIR_O2_BAR},
    ),
    _onset(
        "Ba-Ti-C-O",
        "BaTiO3 from BaCO3 and TiO2 is favourable in air",
        481.0,
        30.0,
        "calculated from " + _NBS + " and entropy at 298 K",
        ({"BaCO3": 1, "TiO2": 1}, {"BaTiO3": 1, "CO2": 1}),
        {"CO2": AIR_CO2_BAR},
    ),
    _onset(
        "Ca-O-H",
        "Ca(OH)2 gives CaO under 1 bar of water",
        785.0,
        20.0,
        "Halstead & Moore, J. Chem. Soc. 3873 (1957): 512 degC",
        ({"Ca(OH)2": 1}, {"CaO": 1, "H2O": 1}),
        {"H2O": 1.0},
    ),
    _onset(
        "Mg-C-O",
        "MgCO3 decomposes under 1 bar CO2",
        675.0,
        25.0,
        "Robie, Hemingway & Fisher, USGS Bulletin 1452 (1979)",
        ({"MgCO3": 1}, {"MgO": 1, "CO2": 1}),
        {"CO2": 1.0},
    ),
]
