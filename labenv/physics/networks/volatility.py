"""What evaporates: vapours over each phase, and how fast they leave the crucible.

Over a phase stands the vapour that it may give off by the least loss of energy: into itself alone,
or leaving the phases behind that are stable next to it, as MgB2 leaves MgB4 and LiCoO2 leaves Co3O4
or CoO. Its pressure is ``exp(-ΔG/RT)`` at the pressures of the gases that the furnace holds
(oxygen, and water for hydroxides), by the tables of gas and condensed phase.

From there two resistances in series are in the way (transpiration): the surface's, by the equation
of Hertz and Knudsen, ``α p / sqrt(2 π M R T)``, and a column of still gas between bed and mouth,
``D p / (R T L)``. In vacuum there is no column. Grains inside a bed are saturated with vapour, so
that the bed's cross section counts, not its grains' surface.

Left out: vapour that meets other phases on its way and reacts there, loss from inside dense grains
by diffusion, boiling, what needs oxygen to form (as CrO3 does), and vapours without data (P4O10,
WO3 and its hydroxide, Bi4O6).
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from labenv.physics.networks.grand_potential import (
    gas_potentials,
    gases_given_off,
    least_cost,
)
from labenv.physics.thermochemistry import (
    GAS_CONSTANT_J_MOL_K,
    GAS_ELEMENTS,
    REFERENCE_K,
    STANDARD_PRESSURE_PA,
)
from labenv.physics.thermochemistry.tables import TabulatedSubstance
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.physics.networks.grand_potential import GrandPotential
    from labenv.physics.thermochemistry.tables import SubstanceTable

    Floats = NDArray[np.float64]

Vessel = Literal["covered", "open", "vacuum"]
VESSELS: tuple[Vessel, ...] = ("covered", "open", "vacuum")
TABULATED = (
    *("Mg(g)", "Li(g)", "Na(g)", "K(g)", "Pb(g)", "PbO(g)", "Zn(g)"),
    *("LiOH(g)", "NaOH(g)", "KHO(g)", "BHO2(g)", "B2O3(g)"),
)
# A crucible of 2 cm inner width and 2 cm between bed and mouth, with 3 mmol of cations in it (about
# half a gram): estimates of usual practice.
MOUTH_M2, COLUMN_M, CHARGE_MOL = 3.0e-4, 0.02, 3.0e-3
# CO2 in air at 900 K, and how diffusion of gases goes with temperature: Marrero & Mason, J. Phys.
# Chem. Ref. Data 1, 3 (1972). With the molar mass as kinetic theory has it.
DIFFUSION_M2_S, DIFFUSION_AT_K, DIFFUSION_POWER = 1.1e-4, 900.0, 1.75
AIR_KG_MOL, CO2_KG_MOL = 0.02896, 0.04401
# MgB2 gives off magnesium ten thousand times more slowly than its pressure would let it (Fan,
# Hinks, Newman & Rowell, Appl. Phys. Lett. 79, 87 (2001)); in a bed of powder pores below the
# surface contribute, by the square root as of any reaction in pores (an estimate).
BORIDE_EVAPORATION = 1.0e-2
SIGMA_LN = 1.0  # the crucible's shape, a draught, and some 10 kJ/mol of the vapour
LARGEST_PA = 3.0e5  # beyond which it boils, which is as good as gone
LEAST_LOSS_PER_S = 1.0e-9  # of the cations at the highest temperature; 1e-4 a day
_TINY = 1e-9


@dataclass(frozen=True)
class Escape:
    """A way for a vapour to leave.

    Attributes:
        row: A reaction as in a system's file, one mole of vapour.
        factor: Its rate on the grid of temperature, 1/s, shape (K,).
    """

    row: dict[str, Any]
    factor: Floats


@lru_cache(maxsize=1)
def further_vapours() -> Mapping[str, TabulatedSubstance]:
    """Return the vapours that a file of their own holds, by name."""
    path = resources.files("labenv.physics") / "data" / "vapours.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    grid = np.arange(300.0, 2301.0, 100.0)
    found: dict[str, TabulatedSubstance] = {}
    for row in content["vapours"]:
        heat = float(row["heat_capacity_j_mol_k"])
        enthalpy = float(row["enthalpy_j_mol"]) + heat * (grid - REFERENCE_K)
        entropy = float(row["entropy_j_mol_k"]) + heat * np.log(grid / REFERENCE_K)
        found[row["name"]] = TabulatedSubstance(
            name=row["name"],
            elements=dict(parse_formula(row["formula"]).amounts),
            temperature_k=grid,
            table_j_mol=enthalpy - grid * entropy,
            uncertainty_j_mol=float(row["uncertainty_j_mol"]),
            sources=tuple(content["sources"][key] for key in row["source"]),
            estimate=bool(row.get("estimate", False)),
            gas=True,
        )
    return found


def gas_substance(table: SubstanceTable, name: str) -> TabulatedSubstance:
    """Return a gas or vapour by its name."""
    further = further_vapours()
    return further[name] if name in further else table.substances[name]


def vapour_names(table: SubstanceTable, elements: Iterable[str]) -> tuple[str, ...]:
    """Return the vapours that powders of some elements may give off.

    Args:
        table: Substances.
        elements: Of the powder; oxygen and hydrogen the furnace has.

    Returns:
        Names, in a fixed order.
    """
    there = set(elements) | {"O", "H"}
    tabulated = [name for name in TABULATED if name in table.substances]
    names = [*tabulated, *further_vapours()]
    return tuple(n for n in names if set(gas_substance(table, n).elements) <= there)


def escape_rate(
    molar_mass_kg_mol: float, temperature_k: Floats, alpha: float, vessel: Vessel
) -> Floats:
    """Return how fast a vapour leaves a crucible.

    Args:
        molar_mass_kg_mol: Of the vapour.
        temperature_k: Temperatures, K, shape (K,).
        alpha: Evaporation coefficient.
        vessel: ``"open"`` in flowing gas at 1 bar, or ``"vacuum"``.

    Returns:
        Moles of vapour per mole of the charge's cations, per second and pascal, shape (K,).

    Source:
        Knudsen, Ann. Phys. 352, 697 (1915); Marrero & Mason, J. Phys. Chem. Ref. Data 1, 3 (1972).
    """
    rt = GAS_CONSTANT_J_MOL_K * temperature_k
    surface = alpha / np.sqrt(2.0 * np.pi * molar_mass_kg_mol * rt)
    if vessel == "vacuum":
        return np.asarray(MOUTH_M2 / CHARGE_MOL * surface)
    lighter = (1.0 / molar_mass_kg_mol + 1.0 / AIR_KG_MOL) / (1.0 / CO2_KG_MOL + 1.0 / AIR_KG_MOL)
    diffusion = DIFFUSION_M2_S * (temperature_k / DIFFUSION_AT_K) ** DIFFUSION_POWER
    column = diffusion * np.sqrt(lighter) / (rt * COLUMN_M)
    return np.asarray(MOUTH_M2 / CHARGE_MOL / (1.0 / surface + 1.0 / column))


def escapes(
    table: SubstanceTable,
    potential: GrandPotential,
    pressures_pa: Mapping[str, float],
    vessel: Vessel,
    grid_k: Floats,
) -> list[Escape]:
    """Return how vapours leave the phases of a system.

    Args:
        table: Substances.
        potential: The phases, under the gases held.
        pressures_pa: Pressure of each gas, Pa, with the vapours that matter.
        vessel: How open the powder lies.
        grid_k: Temperatures of the system's tables, K, shape (K,).

    Returns:
        One for each phase, vapour and set of phases left behind; none where a day at the highest
        temperature would lose next to nothing.
    """
    if vessel == "covered":
        return []
    names = vapour_names(table, (*potential.cations, "O"))
    held = {gas: pa for gas, pa in pressures_pa.items() if gas not in names}
    found: list[Escape] = []
    place = _Place(table, held, vessel, grid_k)
    for name in names:
        vapour = gas_substance(table, name)
        if name not in pressures_pa or ("H" in vapour.elements and "H2O" not in held):
            continue
        energy = _over_the_gases(table, vapour, held, potential.temperature_k)
        needed = np.array([vapour.elements.get(c, 0.0) for c in potential.cations])
        for a in range(len(potential.phases)):
            if (potential.counts[a] > 0.0)[needed > 0.0].all():
                for left in _left_behind(potential, a, needed, energy):
                    escape = _escape(place, potential.phases, (a, vapour), left)
                    if escape is not None:
                        found.append(escape)
    return found


class _Place(NamedTuple):
    """Where a powder is fired."""

    table: SubstanceTable
    held_pa: Mapping[str, float]
    vessel: Vessel
    grid_k: Floats


def _over_the_gases(
    table: SubstanceTable,
    vapour: TabulatedSubstance,
    held_pa: Mapping[str, float],
    temperature_k: Floats,
) -> Floats:
    """Return a vapour's potential at 1 bar over its cations alone, J/mol, shape (K,)."""
    potentials = gas_potentials(table, held_pa, temperature_k)
    energy = vapour.gibbs_j_mol(temperature_k)
    for element in set(vapour.elements) & potentials.keys():
        energy = energy - vapour.elements[element] * potentials[element]
    return energy


def _left_behind(
    potential: GrandPotential, a: int, needed: Floats, energy: Floats
) -> list[tuple[float, dict[int, float]]]:
    """Return how much of a phase makes a mole of vapour, with what stays of it, once each.

    Of all ways at a temperature, that of the least energy; it follows from a linear programme over
    the amounts of the phase and of the others.
    """
    counts, phases = potential.counts, potential.phases
    share = counts / counts.sum(axis=1, keepdims=True)
    if np.abs(share[a] - needed / needed.sum()).max() < _TINY:
        return [(float(needed.sum() / counts[a].sum()), {})]
    others = [
        p
        for p in range(len(counts))
        if np.abs(share[p] - share[a]).max() > _TINY
        and ("O" in phases[a].elements or "O" not in phases[p].elements)
        and not (counts[p] > 0.0)[counts[a] == 0.0].any()
    ]
    found: dict[tuple[int, ...], tuple[float, dict[int, float]]] = {}
    for k in range(potential.temperature_k.size - 1, -1, -3):
        amounts, pressure_ln = _least(potential, (a, others), needed, energy, k)
        if amounts is None:
            continue
        if k == potential.temperature_k.size - 1 and pressure_ln < np.log(1e-9):
            break  # below a ten-thousandth of a pascal at 1600 K
        products = tuple(p for p, n in zip(others, amounts[1:], strict=True) if n > 1e-7)
        solution = _exact(counts, a, products, needed)
        if 1 <= len(products) <= 3 and solution is not None:
            found[products] = solution
    return list(found.values())


def _least(
    potential: GrandPotential, which: tuple[int, list[int]], needed: Floats, energy: Floats, k: int
) -> tuple[Floats | None, float]:
    """Return the amounts of least energy that make a mole of vapour, and ln(pressure / bar)."""
    a, others = which
    cost = np.concatenate([[-potential.energy_j_mol[a, k]], potential.energy_j_mol[others, k]])
    balance = np.column_stack([-potential.counts[a], *potential.counts[others]])
    amounts = least_cost(cost, balance, -needed)
    if amounts is None:  # the phase itself is not stable
        return None, -np.inf
    change = float(cost @ amounts) + float(energy[k])
    return amounts, -change / (GAS_CONSTANT_J_MOL_K * potential.temperature_k[k])


def _exact(
    counts: Floats, a: int, products: tuple[int, ...], needed: Floats
) -> tuple[float, dict[int, float]] | None:
    """Return the amounts solved to rounding, `None` if they do not balance."""
    balance = np.column_stack([counts[a], *(-counts[p] for p in products)])
    solution, *_ = np.linalg.lstsq(balance, needed, rcond=None)
    if np.abs(balance @ solution - needed).max() > _TINY or (solution < 1e-7).any():
        return None
    return float(solution[0]), {p: float(n) for p, n in zip(products, solution[1:], strict=True)}


def _gas_balance(
    phase: TabulatedSubstance,
    share: float,
    products: Sequence[tuple[TabulatedSubstance, float]],
    held_pa: Mapping[str, float],
) -> dict[str, float] | None:
    """Return the gases given off beside the vapour, below 0 for taken up; `None` for none."""
    left = {e: share * phase.elements.get(e, 0.0) for e in GAS_ELEMENTS}
    for substance, n in products:
        for element in GAS_ELEMENTS:
            left[element] -= n * substance.elements.get(element, 0.0)
    given = gases_given_off(left, ("CO2", "H2O", "O2"))
    # What would take up oxygen as it leaves burns, and is limited by the oxygen that reaches it.
    burns = given.get("O2", 0.0) < 0.0
    if burns or abs(left["N"]) > _TINY or not given.keys() <= held_pa.keys():
        return None
    return given


def _escape(
    place: _Place,
    phases: Sequence[TabulatedSubstance],
    what: tuple[int, TabulatedSubstance],
    left: tuple[float, dict[int, float]],
) -> Escape | None:
    phase, vapour, (share, amounts) = phases[what[0]], what[1], left
    table, held_pa, vessel, grid_k = place
    made = [(phases[p], n) for p, n in amounts.items()]
    gas = _gas_balance(phase, share, [*made, (vapour, 1.0)], held_pa)
    if gas is None:
        return None
    energy = vapour.gibbs_j_mol(grid_k) - share * phase.gibbs_j_mol(grid_k)
    for substance, n in made:
        energy = energy + n * substance.gibbs_j_mol(grid_k)
    exponent = -energy / (GAS_CONSTANT_J_MOL_K * grid_k)
    for name, n in gas.items():
        exponent -= n * table.substances[name].gibbs_j_mol(grid_k) / (GAS_CONSTANT_J_MOL_K * grid_k)
        exponent -= n * np.log(held_pa[name] / STANDARD_PRESSURE_PA)
    pressure = np.minimum(STANDARD_PRESSURE_PA * np.exp(np.minimum(exponent, 10.0)), LARGEST_PA)
    boride = {"Mg", "B"} <= set(phase.elements) and "O" not in phase.elements
    alpha = BORIDE_EVAPORATION if boride else 1.0
    mass = parse_formula(vapour.name.removesuffix("(g)")).molar_mass_kg_per_mol
    loss = escape_rate(mass, grid_k, alpha, vessel) * pressure
    if float(loss[-1]) < LEAST_LOSS_PER_S:
        return None
    row = {
        "reactants": {phase.name: share, **{g: -n for g, n in gas.items() if n < 0.0}},
        "products": {
            **{substance.name: n for substance, n in made},
            vapour.name: 1.0,
            **{g: n for g, n in gas.items() if n > 0.0},
        },
        "law": "escape",
        "core": phase.name,
        "contact": False,
        "rate": 1.0,
        "activation_j_mol": 0.0,
        "sigma_ln": SIGMA_LN,
        "source": ["estimate: labenv.physics.networks.volatility"],
    }
    return Escape(row, np.asarray(share * loss))


__all__ = [
    "VESSELS",
    "Escape",
    "Vessel",
    "escape_rate",
    "escapes",
    "further_vapours",
    "gas_substance",
    "vapour_names",
]
