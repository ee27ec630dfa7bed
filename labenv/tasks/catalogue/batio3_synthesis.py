"""Task `batio3-synthesis`: make phase-pure BaTiO3 from the powders on the shelf.

The classic solid-state route: weigh a barium and a titanium source, mill, perhaps press, fire,
perhaps regrind and fire again, and take a diffractogram. The charge is fixed at a few grams. What
is hard: a ratio off by a percent leaves a titanate of the other side, the powders on the shelf are
not quite pure (so the best ratio is not exactly 1 and differs by episode), cool or short firings
leave Ba2TiO4 and unreacted carbonate, and too hot ones melt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
from labenv.tasks.space import ProposalSpace
from labenv.tasks.task import Task
from labenv_schemas.proposal import PrecursorDose
from labenv_schemas.task import Budget, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from labenv.lab.shelf import Shelf
    from labenv.tasks.batch_plan import BatchPlan
    from labenv_schemas.proposal import Dose, Proposal

    Floats = NDArray[np.float64]

TITANIUM_MOL = 0.0125  # about 2.9 g of BaTiO3, a few grams in the vial
BARIUM_SOURCES = ("BaCO3", "BaO")
TITANIUM_SOURCES = ("TiO2 (rutile)", "TiO2 (anatase)", "TiO2 (P25)")
GASES = ("air", "oxygen", "nitrogen", "carbon_dioxide")

PARAMETERS = (
    Categorical("barium_source", BARIUM_SOURCES),
    Categorical("titanium_source", TITANIUM_SOURCES),
    Continuous("barium_per_titanium", 0.90, 1.10, "mol/mol", resolution=0.001, levels=41),
    *firing_parameters(GASES, (600 + CELSIUS_K, 35), longest_hold_s=86_400.0),
)


class SolidStateRoute:
    """Dose, mill, press, fire, (regrind, press, fire) as often as asked, scan.

    Attributes:
        longest_plan: Operations of the longest plan.
        limited_parameter: What the lab's interlocks limit in this family of plans.
        limiting_parameters: What sets the limit.
    """

    longest_plan = LONGEST_PLAN
    limited_parameter = "firing_k"
    limiting_parameters = (
        "barium_source",
        "titanium_source",
        "barium_per_titanium",
        "atmosphere",
    )

    def build(self, values: Mapping[str, float | str]) -> Proposal:
        """Return the plan with these values.

        Args:
            values: One value a parameter of `PARAMETERS`, in its unit.

        Returns:
            The plan.
        """
        barium_mol = float(values["barium_per_titanium"]) * TITANIUM_MOL
        doses = (
            PrecursorDose(substance=str(values["barium_source"]), amount_mol=barium_mol),
            PrecursorDose(substance=str(values["titanium_source"]), amount_mol=TITANIUM_MOL),
        )
        return plan_of(doses, values)

    def plan_batch(self, values: Floats, shelf: Shelf) -> BatchPlan:
        """Return the plans of many rows of values, as `build` would make them.

        Args:
            values: Values, shape (N, n), in the order of `PARAMETERS`.
            shelf: The lab's shelf, S substances.

        Returns:
            The plans, N rows.
        """
        column = dict(zip((p.name for p in PARAMETERS), values.T, strict=True))
        return plans_of(_requested_kg(column, shelf), column, GASES)

    def read(self, proposal: Proposal) -> dict[str, float | str]:
        """Return the values of a plan of this shape.

        Args:
            proposal: The plan.

        Returns:
            One value a parameter.

        Raises:
            ProposalError: If building a plan from the values read does not give this plan back.
        """
        return read_plan(proposal, _charge, self.build)


def _charge(dose: Dose) -> dict[str, float | str]:
    barium, titanium = dose.precursors
    return {
        "barium_source": barium.substance,
        "titanium_source": titanium.substance,
        "barium_per_titanium": amount_mol(barium) / amount_mol(titanium),
    }


def _requested_kg(column: Mapping[str, Floats], shelf: Shelf) -> Floats:
    """Return the masses to weigh, shape (N, S)."""
    count = len(column["barium_source"])
    requested = np.zeros((count, len(shelf.substances)))
    barium_mol = column["barium_per_titanium"] * TITANIUM_MOL
    for name, choices, taken_mol in (
        ("barium_source", BARIUM_SOURCES, barium_mol),
        ("titanium_source", TITANIUM_SOURCES, np.full(count, TITANIUM_MOL)),
    ):
        place = np.array([shelf.index(choice) for choice in choices])
        molar = np.array([shelf.get(choice).molar_mass_kg_mol for choice in choices])
        choice = column[name].astype(np.int64)
        requested[np.arange(count), place[choice]] = taken_mol * molar[choice]
    return requested


def create() -> Task:
    """Return the task."""
    spec = TaskSpec(
        name="batio3-synthesis",
        description=(
            "Make phase-pure BaTiO3 from a barium and a titanium source by milling and firing. "
            "Judged by the weight fraction of BaTiO3 that diffraction finds."
        ),
        system="Ba-Ti-C-O",
        target="BaTiO3",
        target_phases=("BaTiO3-tetragonal", "BaTiO3-cubic"),
        goal_fraction=0.99,
        budget=Budget(experiments=20),
    )
    return Task(spec, ProposalSpace(PARAMETERS, SolidStateRoute()))
