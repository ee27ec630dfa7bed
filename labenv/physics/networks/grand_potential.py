"""Which phases matter: energies of condensed phases under a gas that exchanges O, C, H and N.

With the gas's pressures held, oxygen, carbon, hydrogen and nitrogen have chemical potentials, and a
phase's Gibbs energy less what its gas elements cost is a potential over the other elements alone
(here called cations, though phosphorus and boron are among them). Reaction energies are differences
of it, and the equilibrium is its convex hull.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.thermochemistry import (
    GAS_CONSTANT_J_MOL_K,
    GAS_ELEMENTS,
    STANDARD_PRESSURE_PA,
    cation_amounts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.physics.thermochemistry.tables import SubstanceTable, TabulatedSubstance

    Floats = NDArray[np.float64]

TEMPERATURES_K = np.arange(400.0, 1601.0, 100.0)


@dataclass(frozen=True)
class GrandPotential:
    """Phases over cations at fixed gas pressures.

    Attributes:
        phases: Condensed phases, P of them, each with at least one cation.
        cations: Elements that are not exchanged with the gas, C of them.
        counts: Atoms of each cation per formula unit, shape (P, C).
        temperature_k: Temperatures, K, shape (K,).
        energy_j_mol: Potential per formula unit, J/mol, shape (P, K).
    """

    phases: tuple[TabulatedSubstance, ...]
    cations: tuple[str, ...]
    counts: Floats
    temperature_k: Floats
    energy_j_mol: Floats

    @cached_property
    def atoms(self) -> Floats:
        """Atoms per formula unit of all elements, shape (P,)."""
        return np.array([phase.atoms for phase in self.phases])

    def rows(self, keep: Sequence[int]) -> GrandPotential:
        """Return the phases of the given positions as a potential of their own."""
        index = list(keep)
        return GrandPotential(
            tuple(self.phases[i] for i in index),
            self.cations,
            self.counts[index],
            self.temperature_k,
            self.energy_j_mol[index],
        )

    def least(self, composition: Floats, k: int, without: frozenset[int] = frozenset()) -> Floats:
        """Return the amounts of the phases that make a composition with the least potential.

        Args:
            composition: Moles of each cation, shape (C,).
            k: Index of the temperature.
            without: Phases that may not be used.

        Returns:
            Amounts, mol, shape (P,); not finite if the others cannot make the composition.
        """
        use = [p for p in range(len(self.phases)) if p not in without]
        amounts = np.zeros(len(self.phases))
        if not use:
            return np.full(len(self.phases), np.nan)
        found = least_cost(self.energy_j_mol[use, k], self.counts[use].T, composition)
        if found is None:
            return np.full(len(self.phases), np.nan)
        amounts[use] = found
        return amounts

    def above_hull_j_mol_atom(self, p: int, k: int) -> float:
        """Return how far a phase lies above the others' hull, J per mole of its atoms.

        Minus infinity if the others cannot make its composition.
        """
        others = self.least(self.counts[p], k, frozenset({p}))
        if not np.isfinite(others).all():
            return -np.inf
        return float((self.energy_j_mol[p, k] - others @ self.energy_j_mol[:, k]) / self.atoms[p])


def least_cost(cost_j_mol: Floats, balance: Floats, right: Floats) -> Floats | None:
    """Return the amounts at or above zero that fulfil a balance at the least cost.

    Args:
        cost_j_mol: Shape (n,).
        balance: Shape (C, n).
        right: What the balance has to give, shape (C,).

    Returns:
        Shape (n,), `None` if there is no such set or no least one.
    """
    from scipy.optimize import linprog

    # What every solution costs alike is taken off, since solvers compare by absolute tolerances.
    shift = np.linalg.lstsq(balance.T, cost_j_mol, rcond=None)[0]
    result = linprog(
        (cost_j_mol - balance.T @ shift) / 1000.0, A_eq=balance, b_eq=right, method="highs"
    )
    return None if result.x is None else np.asarray(result.x)


def gases_given_off(left: Mapping[str, float], gases: Sequence[str]) -> dict[str, float]:
    """Return the gases that take along what is left of the gas elements.

    The elements are shared out as in `gas_potentials`.

    Args:
        left: Moles of each of `GAS_ELEMENTS`.
        gases: Those there are, O2 and CO2 at least.

    Returns:
        Moles of each, below 0 for taken up, in the order of `gases`; none where it is next to
        nothing.
    """
    given = dict.fromkeys(gases, 0.0)
    given["CO2"] = left["C"]
    oxygen = left["O"] - 2.0 * left["C"]
    hydrogen = left["H"]
    if "NH3" in given:
        given["NH3"] = left["N"]
        hydrogen -= 3.0 * left["N"]
    if "NO2" in given:
        given["NO2"] = left["N"]
        oxygen -= 2.0 * left["N"]
    if "H2O" in given:
        given["H2O"] = 0.5 * hydrogen
        oxygen -= 0.5 * hydrogen
    given["O2"] = 0.5 * oxygen
    return {gas: n for gas, n in given.items() if abs(n) > 1e-9}


def gas_potentials(
    table: SubstanceTable, pressures_pa: Mapping[str, float], temperature_k: Floats
) -> dict[str, Floats]:
    """Return chemical potentials of the gas elements.

    Args:
        table: Substances, with the gases.
        pressures_pa: Pressure of each gas, Pa; O2 and CO2 at least, H2O if there is hydrogen, and
            NH3 or NO2 if there is nitrogen.
        temperature_k: Temperatures, K, shape (K,).

    Returns:
        J/mol of each element's atoms, shape (K,).
    """
    rt = GAS_CONSTANT_J_MOL_K * temperature_k

    def energy(gas: str) -> Floats:
        pressure = max(pressures_pa[gas], 1e-15) / STANDARD_PRESSURE_PA
        return np.asarray(table.substances[gas].gibbs_j_mol(temperature_k) + rt * np.log(pressure))

    oxygen = 0.5 * energy("O2")
    found = {"O": oxygen, "C": energy("CO2") - 2.0 * oxygen}
    if "H2O" in pressures_pa:
        found["H"] = 0.5 * (energy("H2O") - oxygen)
    if "NO2" in pressures_pa:
        found["N"] = energy("NO2") - 2.0 * oxygen
    elif "NH3" in pressures_pa:
        found["N"] = energy("NH3") - 3.0 * found["H"]
    return found


def grand_potential(
    table: SubstanceTable,
    phases: Sequence[TabulatedSubstance],
    pressures_pa: Mapping[str, float],
    temperature_k: Floats = TEMPERATURES_K,
) -> GrandPotential:
    """Return the potential of phases under a gas; phases without a cation are left out.

    Args:
        table: Substances, with the gases.
        phases: Condensed phases.
        pressures_pa: As `gas_potentials`.
        temperature_k: Temperatures, K, shape (K,).

    Returns:
        The potential.
    """
    potentials = gas_potentials(table, pressures_pa, temperature_k)
    elements = {e for phase in phases for e in phase.elements}
    cations = tuple(sorted(elements - set(GAS_ELEMENTS)))
    kept = tuple(
        p
        for p in phases
        if set(p.elements) & set(cations) and set(p.elements) & set(GAS_ELEMENTS) <= set(potentials)
    )
    energy = np.empty((len(kept), temperature_k.size))
    for i, phase in enumerate(kept):
        energy[i] = phase.gibbs_j_mol(temperature_k)
        for element, mu in potentials.items():
            energy[i] -= phase.elements.get(element, 0.0) * mu
    counts = np.array([[p.elements.get(c, 0.0) for c in cations] for p in kept])
    return GrandPotential(kept, cations, counts, temperature_k, energy)


def relevant(
    potential: GrandPotential, always: Sequence[str], margin_j_mol_atom: float
) -> GrandPotential:
    """Return the phases near the hull at some temperature, and those named.

    Where a phase named holds no element of the gas, such as a metal or boron, it may react before
    the gas gets to it, so that those near the hull of such phases alone are kept too.

    Args:
        potential: All phases.
        always: Names to keep wherever they lie, such as the precursors.
        margin_j_mol_atom: How far above the hull a phase may lie, J per mole of atoms.

    Returns:
        The potential of those that matter.
    """
    bare = [
        p
        for p, phase in enumerate(potential.phases)
        if len(cation_amounts(phase.elements)) == len(phase.elements)
    ]
    keep = {p for p, phase in enumerate(potential.phases) if phase.name in always}
    keep |= _near_hull(potential, margin_j_mol_atom)
    if any(potential.phases[p].name in always for p in bare):
        keep |= {bare[p] for p in _near_hull(potential.rows(bare), margin_j_mol_atom)}
    return potential.rows(sorted(keep))


def _near_hull(potential: GrandPotential, margin_j_mol_atom: float) -> set[int]:
    return {
        p
        for p in range(len(potential.phases))
        for k in range(0, potential.temperature_k.size, 3)
        if potential.above_hull_j_mol_atom(p, k) < margin_j_mol_atom
    }


__all__ = [
    "TEMPERATURES_K",
    "GrandPotential",
    "gas_potentials",
    "gases_given_off",
    "grand_potential",
    "least_cost",
    "relevant",
]
