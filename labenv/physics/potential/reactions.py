"""Energies of reactions among solids at one level of theory: what the potential adds to tables.

A compound missing from the tables of experiment is written as a sum of binary oxides (or elements)
that are in them. The potential gives only the energy of that reaction, in which most of its error
cancels; the oxides stay experimental. Reactions with a gas are refused: the potential was not made
for molecules, and energies of different references never share a hull.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.physics.potential.elements import MOLECULES_A
from labenv.physics.potential.table import (
    ELEMENT_PREFIX,
    PRIMARY,
    TabledEnergy,
    potential_table,
)
from labenv.physics.structures.library import phase_library
from labenv_schemas.errors import SimulatorError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

J_PER_MOL_EV = 96485.33212  # CODATA 2018: the charge of a mole of electrons, coulomb
SECOND_OPINIONS = ("7net", "diep")
# Mean error of the r2SCAN potentials on oxide reactions against the Bureau of Mines tables; the
# project's benchmark of potential energies measures it. J per mol of atoms.
LEAST_UNCERTAINTY_J_PER_MOL_ATOM = 1500.0
_ABSENT = 1e-9

# Which polymorph of a binary oxide tables of experiment mean: the one stable at 298 K and 1 bar.
STABLE_AT_ROOM_TEMPERATURE = {
    "TiO2": "rutile",
    "SiO2": "quartz",
    "GeO2": "argutite",
    "ZrO2": "baddeleyite",
    "Bi2O3": "Bi2O3-alpha",
    "PbO": "PbO-litharge",
    "Al2O3": "corundum",
}


class NoSolidReactionError(SimulatorError):
    """A compound is no sum of solids whose energies are known; the message says what is missing."""


class SolidReaction(NamedTuple):
    """Formation of one formula unit of a compound from simpler solids.

    Attributes:
        decomposition: Amount of each reactant, by library name.
        energy_j_per_mol: Of the reaction reactants -> compound, J per mol of formula units;
            negative where the compound is the more stable.
        uncertainty_j_per_mol: Standard uncertainty, the disagreement among potentials or their mean
            error on known reactions, whichever is larger.
    """

    decomposition: dict[str, float]
    energy_j_per_mol: float
    uncertainty_j_per_mol: float


@cache
def formation_from_oxides(phase_name: str) -> SolidReaction:
    """Return the energy with which a compound forms from binary oxides, or elements if it has none.

    Of several oxides of an element the balance of oxygen chooses those of its oxidation state, of
    several balances the most stable: CuO for Cu2+, Mn2O3 with MnO2 for Mn3.5+.

    Args:
        phase_name: Name or alias in the structure library.

    Returns:
        Decomposition, energy and uncertainty at 0 K, without zero-point energy.

    Raises:
        UnknownPluginError: If the library has no such phase.
        NoSolidReactionError: If its energy is not known, or nothing balances without a gas.
    """
    phase = phase_library().get(phase_name)
    if not _known(phase.name):
        raise NoSolidReactionError(
            f"the energy of {phase.name} by the potential is not known or not trusted; see "
            "skipped, unconverged and badly relaxed phases in the file of potential energies"
        )
    wanted = parse_formula(phase.formula).amounts
    reactants = _oxides(frozenset(wanted), phase.formula) if "O" in wanted else _pure(wanted)
    candidates = {name: _amounts(name) for name in reactants}
    amounts = _cheapest_balance(phase.name, wanted, candidates)
    change = {phase.name: 1.0, **{name: -amount for name, amount in amounts.items()}}
    energy, uncertainty = reaction_energy_j_mol(change)
    return SolidReaction(amounts, energy, uncertainty)


def reaction_energy_j_mol(change: Mapping[str, float]) -> tuple[float, float]:
    """Return the energy of a reaction among library phases.

    Args:
        change: Formula units made of each phase, by library name; negative where used up.

    Returns:
        Energy and its standard uncertainty, J per mol of the reaction as written.

    Raises:
        NoSolidReactionError: If the energy of a phase is not known or elements do not balance.
    """
    _check_balance(change)
    energy = _energy_j(change, PRIMARY)
    if energy is None:
        missing = [name for name in change if name not in potential_table()]
        raise NoSolidReactionError(f"no energy by the potential is known of {', '.join(missing)}")
    others = [_energy_j(change, model) for model in SECOND_OPINIONS]
    disagreement = max((abs(other - energy) for other in others if other is not None), default=0.0)
    made = sum(_atoms(name) * amount for name, amount in change.items() if amount > 0.0)
    return energy, max(disagreement, LEAST_UNCERTAINTY_J_PER_MOL_ATOM * made)


def _energy_j(change: Mapping[str, float], model: str) -> float | None:
    table, total = potential_table(model), 0.0
    for name, amount in change.items():
        known = table.get(name)
        if known is None:
            return None
        total += amount * _atoms(name) * known.energy_ev_per_atom * J_PER_MOL_EV
    return total


def _amounts(name: str) -> dict[str, float]:
    """Return the atoms of one formula unit of a library phase or a reference element."""
    if name.startswith(ELEMENT_PREFIX):
        return {name.removeprefix(ELEMENT_PREFIX): 1.0}
    amounts = parse_formula(phase_library().get(name).formula).amounts
    return {element: float(amount) for element, amount in amounts.items()}


def _atoms(name: str) -> float:
    return sum(_amounts(name).values())


def _check_balance(change: Mapping[str, float]) -> None:
    left: dict[str, float] = {}
    for name, amount in change.items():
        for element, count in _amounts(name).items():
            left[element] = left.get(element, 0.0) + amount * count
    off = {element: round(amount, 6) for element, amount in left.items() if abs(amount) > 1e-6}
    if off:
        raise NoSolidReactionError(f"the reaction makes or loses atoms: {off}")


def _oxides(elements: frozenset[str], formula: str) -> list[str]:
    """Return the binary oxides of a system, one polymorph of each, those of a formula left out."""
    own = parse_formula(formula)
    chosen: dict[str, str] = {}
    for phase in phase_library():
        binary = len(phase.elements) == 2 and "O" in phase.elements
        if not (binary and phase.elements <= elements and _known(phase.name)):
            continue
        reads = parse_formula(phase.formula)
        if not reads.same_composition(own, tolerance=1e-3):
            key = next(
                (f for f in chosen if parse_formula(f).same_composition(reads)), phase.formula
            )
            chosen[key] = _preferred(key, phase.name, chosen.get(key))
    return sorted(chosen.values())


def _pure(elements: Iterable[str]) -> list[str]:
    """Return the solid elements of a compound, the most stable structure of each."""
    best: dict[str, TabledEnergy] = {}
    for one in potential_table().within(elements):
        symbol = next(iter(one.elements))
        if len(one.elements) > 1 or symbol in MOLECULES_A or not one.trusted:
            continue
        held = best.get(symbol)
        if held is None or one.energy_ev_per_atom < held.energy_ev_per_atom:
            best[symbol] = one
    return sorted(one.phase for one in best.values())


def _known(name: str) -> bool:
    energy = potential_table().get(name)
    return energy is not None and energy.trusted


def _preferred(formula: str, name: str, other: str | None) -> str:
    stable = STABLE_AT_ROOM_TEMPERATURE.get(formula)
    if other is None or name == stable:
        return name
    if other == stable:
        return other
    table = potential_table()
    here, there = table.get(name), table.get(other)
    if here is None or there is None:
        return other
    return name if here.energy_ev_per_atom < there.energy_ev_per_atom else other


def _cheapest_balance(
    name: str, wanted: Mapping[str, float], candidates: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    from scipy.optimize import linprog

    elements, names = sorted(wanted), list(candidates)
    missing = [e for e in elements if not any(e in candidates[n] for n in names)]
    if missing:
        raise NoSolidReactionError(
            f"no simple solid of {_listed(missing)} has a known energy, so {name} is no sum of "
            f"such solids; known here are {_listed(names) or 'none'}"
        )
    matrix = np.array([[candidates[n].get(e, 0.0) for n in names] for e in elements])
    aim = np.array([wanted[e] for e in elements])
    costs = [_energy_j({n: 1.0}, PRIMARY) for n in names]
    solved = linprog(np.array(costs, dtype=np.float64) / 1e6, A_eq=matrix, b_eq=aim)
    if not solved.success or solved.x is None:
        raise NoSolidReactionError(
            f"{name} is no sum of {_listed(names)}: its oxidation states are in none of them, and "
            "a balance with a gas is refused"
        )
    used = [i for i, amount in enumerate(solved.x) if amount > _ABSENT]
    exact, *_ = np.linalg.lstsq(matrix[:, used], aim)
    return {names[i]: float(amount) for i, amount in zip(used, exact, strict=True)}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
