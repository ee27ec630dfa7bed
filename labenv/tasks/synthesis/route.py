"""The plans toward a named target: which powder of each metal, in which ratio, fired how.

The charge is a few grams. Ratios go from a fifth below to a quarter above the formula's: the best
one differs from it with the purity of the lots, and practice adds an excess of what may be lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.lab.shelf import load_shelf
from labenv.physics.systems import metals_of
from labenv.tasks.parameters import Categorical, Continuous
from labenv.tasks.solid_state import (
    CELSIUS_K,
    LONGEST_PLAN,
    amount_mol,
    firing_parameters,
    plan_of,
    plans_of,
    read_plan,
)
from labenv_schemas.errors import ProposalError
from labenv_schemas.formula import parse_formula
from labenv_schemas.proposal import PrecursorDose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from labenv.lab.shelf import Shelf
    from labenv.tasks.batch_plan import BatchPlan
    from labenv.tasks.parameters import Parameter
    from labenv.tasks.synthesis.targets import Target
    from labenv_schemas.proposal import Dose, Proposal

    Floats = NDArray[np.float64]

CHARGE_KG = 3e-3
GASES = ("air", "oxygen", "nitrogen")
LOWEST, HIGHEST = 0.8, 1.25  # of a ratio, times the formula's


def route_parameters(target: Target) -> tuple[Parameter, ...]:
    """Return what a plan toward a target is free to set.

    Args:
        target: The target.

    Returns:
        A powder for each metal, a ratio for each metal but the last, and the firing.
    """
    sources = tuple(
        Categorical(_source(metal), choices)
        for metal, choices in zip(target.metals, target.sources, strict=True)
    )
    base = target.metals[-1]
    ratios = tuple(_ratio_range(target, metal, base) for metal in target.metals[:-1])
    return (
        *sources,
        *ratios,
        *firing_parameters(GASES, (400 + CELSIUS_K, 43), longest_hold_s=172_800.0),
    )


@dataclass(frozen=True)
class ChargeRoute:
    """Builds plans toward a target from values, one or many, and reads them back.

    Attributes:
        target: The target.
        names: Names of the parameters, in the space's order.
        limiting_parameters: What sets the limit of the firing temperature.
        longest_plan: Operations of the longest plan.
        limited_parameter: What the lab's interlocks limit in this family of plans.
    """

    target: Target
    names: tuple[str, ...]
    limiting_parameters: tuple[str, ...]
    longest_plan: int = LONGEST_PLAN
    limited_parameter: str = "firing_k"

    def build(self, values: Mapping[str, float | str]) -> Proposal:
        """Return the plan with these values.

        Args:
            values: One value a parameter, in its unit.

        Returns:
            The plan.
        """
        shelf = load_shelf(self.target.system)
        bottles = [shelf.get(str(values[_source(metal)])) for metal in self.target.metals]
        doses = tuple(
            PrecursorDose(
                substance=bottle.name,
                amount_mol=(float(values[ratio]) if ratio else 1.0)
                * base_mol
                / _atoms(bottle.formula),
            )
            for (_, ratio, base_mol), bottle in zip(self._charge, bottles, strict=True)
        )
        return plan_of(doses, values)

    def plan_batch(self, values: Floats, shelf: Shelf) -> BatchPlan:
        """Return the plans of many rows of values, as `build` would make them.

        Args:
            values: Values, shape (N, n), in the order of `names`.
            shelf: The lab's shelf, S substances.

        Returns:
            The plans, N rows.
        """
        column = dict(zip(self.names, values.T, strict=True))
        every = np.arange(len(values))
        requested = np.zeros((len(values), len(shelf.substances)))
        for (metal, ratio, base_mol), choices in zip(
            self._charge, self.target.sources, strict=True
        ):
            bottles = [shelf.get(choice) for choice in choices]
            place = np.array([shelf.index(choice) for choice in choices])
            molar = np.array([bottle.molar_mass_kg_mol for bottle in bottles])
            atoms = np.array([_atoms(bottle.formula) for bottle in bottles])
            choice = column[_source(metal)].astype(np.int64)
            metal_mol = column[ratio] * base_mol if ratio else base_mol
            requested[every, place[choice]] = metal_mol / atoms[choice] * molar[choice]
        return plans_of(requested, column, GASES)

    def read(self, proposal: Proposal) -> dict[str, float | str]:
        """Return the values of a plan of this shape.

        Args:
            proposal: The plan.

        Returns:
            One value a parameter.

        Raises:
            ProposalError: If building a plan from the values read does not give this plan back.
        """
        return read_plan(proposal, self._read_charge, self.build)

    @property
    def _charge(self) -> list[tuple[str, str, float]]:
        """Each metal, the name of its ratio to the last one (empty for it), moles of the last."""
        metals = self.target.metals
        base_mol = CHARGE_KG / self.target.molar_mass_kg_mol * self.target.amounts[metals[-1]]
        ratios = [*(ratio_name(metal, metals[-1]) for metal in metals[:-1]), ""]
        return [(metal, ratio, base_mol) for metal, ratio in zip(metals, ratios, strict=True)]

    def _read_charge(self, dose: Dose) -> dict[str, float | str]:
        values: dict[str, float | str] = {}
        named = load_shelf(self.target.system)
        bottles = [named.get(given.substance) for given in dose.precursors]
        metal_mol = [
            amount_mol(given) * _atoms(bottle.formula)
            for given, bottle in zip(dose.precursors, bottles, strict=True)
        ]
        for (metal, ratio, _), bottle, mol in zip(self._charge, bottles, metal_mol, strict=True):
            values[_source(metal)] = bottle.name
            if ratio:
                values[ratio] = mol / metal_mol[-1]
        return values


def limiting_of(target: Target) -> tuple[str, ...]:
    """Return the parameters on which the highest firing temperature depends.

    Args:
        target: The target.

    Returns:
        The gas; the ratios too, where a charge within their ranges may attack the crucible.
    """
    metals = target.metals
    total = sum(target.amounts[metal] for metal in metals)
    spread = HIGHEST / LOWEST
    for limit in load_shelf(target.system).crucible_limits:
        share = target.amounts.get(limit.cation, 0.0) / total
        if share * spread > limit.above_share:
            sources = tuple(_source(metal) for metal in metals)
            return (*sources, *(ratio_name(m, metals[-1]) for m in metals[:-1]), "atmosphere")
    return ("atmosphere",)


def _ratio_range(target: Target, metal: str, base: str) -> Continuous:
    nominal = target.amounts[metal] / target.amounts[base]
    step = 10.0 ** np.floor(np.log10(nominal)) * 1e-3
    low = round(LOWEST * nominal / step) * step
    high = round(HIGHEST * nominal / step) * step
    return Continuous(
        ratio_name(metal, base),
        float(low),
        float(high),
        "mol/mol",
        resolution=float(step),
        levels=21,
    )


def _source(metal: str) -> str:
    return f"{metal.lower()}_source"


def ratio_name(metal: str, base: str) -> str:
    """Return the name of the parameter that sets a metal's amount per another."""
    return f"{metal.lower()}_per_{base.lower()}"


def _atoms(formula: str) -> float:
    """Return how many atoms of its metal a powder's formula has.

    Raises:
        ProposalError: If it is no powder of one metal.
    """
    try:
        (metal,) = metals_of(formula)
    except ValueError as error:
        raise ProposalError(f"{formula!r} is no powder of one metal") from error
    return float(parse_formula(formula).amounts[metal])


__all__ = ["ChargeRoute", "limiting_of", "ratio_name", "route_parameters"]
