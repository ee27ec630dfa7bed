"""Oxygen content of YBa2Cu3Oy against temperature, its transition and its lower limit.

Thermogravimetry of different groups differs by 0.02 to 0.05 in y, and the values here were read
from figures; 0.05 is allowed. The model was fitted to other data of the same compound (an
assessment of Kishio, Lindemer and others), so this checks agreement of laboratories more than a
prediction. To the transitions it was fitted after an assessment without them had missed three of
the four rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from labenv.physics.oxygen_content import equilibrium_oxygen, is_orthorhombic
from labenv.physics.thermochemistry import GAS_CONSTANT_J_MOL_K
from labenv.physics.thermochemistry.sources import substance_table
from labenv.validation.checks import Check

BAR = 1.0e5


def oxygen_content(temperature_k: float, o2_pa: float) -> float:
    """Return y of YBa2Cu3Oy in equilibrium with a gas."""
    return float(equilibrium_oxygen(temperature_k, o2_pa))


def transition_k(o2_pa: float) -> float:
    """Return the lowest temperature at which equilibrated YBa2Cu3Oy is tetragonal, K."""
    temperature = np.linspace(700.0, 1100.0, 801)
    tetragonal = ~is_orthorhombic(temperature, equilibrium_oxygen(temperature, o2_pa))
    return float(temperature[int(np.argmax(tetragonal))])


def transition_content(o2_pa: float) -> float:
    """Return y at the transition."""
    return oxygen_content(transition_k(o2_pa), o2_pa)


def lower_limit_log10_bar(temperature_k: float) -> float:
    """Return log10 of the oxygen pressure, bar, below which YBa2Cu3O6 decomposes."""
    parts = {"YBa2Cu3O6": -2.0, "Y2BaCuO5": 1.0, "BaCuO2": 1.0, "BaCu2O2": 2.0, "O2": 0.5}
    table = substance_table()
    energy = sum(n * float(table.get(name).gibbs_j_mol(temperature_k)) for name, n in parts.items())
    return -2.0 * energy / float(GAS_CONSTANT_J_MOL_K * temperature_k * np.log(10.0))


def _content(temperature_k: float, value: float) -> Check:
    return Check(
        "Y-Ba-Cu-O",
        f"y of YBa2Cu3Oy at {temperature_k:g} K in 1 bar of O2",
        value,
        0.05,
        "1",
        "Gallagher, Adv. Ceram. Mater. 2 (1987) 632 (figure)",
        partial(oxygen_content, temperature_k, BAR),
    )


def _transition(o2_pa: float, value: float) -> Check:
    return Check(
        "Y-Ba-Cu-O",
        f"YBa2Cu3Oy becomes tetragonal on heating in {100.0 * o2_pa / BAR:g} % O2 (fitted)",
        value,
        25.0,
        "K",
        "Jorgensen et al., Phys. Rev. B 36 (1987) 3608 (neutrons, in situ)",
        partial(transition_k, o2_pa),
    )


CHECKS = [
    _content(673.0, 6.94),
    _content(773.0, 6.87),
    _content(873.0, 6.74),
    _content(973.0, 6.60),
    _content(1073.0, 6.47),
    _content(1173.0, 6.36),
    Check(
        "Y-Ba-Cu-O",
        "y of YBa2Cu3Oy at 1173 K in air",
        6.29,
        0.05,
        "1",
        "Gallagher, Adv. Ceram. Mater. 2 (1987) 632 (figure)",
        partial(oxygen_content, 1173.0, 0.21 * BAR),
    ),
    Check(
        "Y-Ba-Cu-O",
        "y of YBa2Cu3Oy at 773 K in 1 bar of O2 (crystals of highest Tc)",
        6.92,
        0.03,
        "1",
        "Liang, Bonn & Hardy, Phys. Rev. B 73 (2006) 180505",
        partial(oxygen_content, 773.0, BAR),
    ),
    _transition(1.0 * BAR, 973.0),
    _transition(0.2 * BAR, 943.0),
    _transition(0.02 * BAR, 893.0),
    Check(
        "Y-Ba-Cu-O",
        "y at the transition in 1 bar of O2 (fitted)",
        6.5,
        0.1,
        "1",
        "Jorgensen et al., Phys. Rev. B 36 (1987) 3608",
        partial(transition_content, BAR),
    ),
    Check(
        "Y-Ba-Cu-O",
        "log10 of the O2 pressure, bar, below which it decomposes at 1123 K (fitted)",
        -3.4,
        0.4,
        "1",
        "Bormann & Noelting, Appl. Phys. Lett. 54 (1989) 2148",
        partial(lower_limit_log10_bar, 1123.0),
    ),
]
