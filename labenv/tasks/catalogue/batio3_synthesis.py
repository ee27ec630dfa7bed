"""Task `batio3-synthesis`: make phase-pure BaTiO3 from the powders on the shelf.

The classic solid-state route: weigh a barium and a titanium source, mill, perhaps press, fire,
perhaps regrind and fire again, and take a diffractogram. The charge is fixed at a few grams. What
is hard: a ratio off by a percent leaves a titanate of the other side, the powders on the shelf are
not quite pure (so the best ratio is not exactly 1 and differs by episode), cool or short firings
leave Ba2TiO4 and unreacted carbonate, and too hot ones melt.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from labenv.tasks.batch_plan import (
    BatchPlan,
    DoseStep,
    HeatStep,
    MixStep,
    PressStep,
    RegrindStep,
    ScanStep,
)
from labenv.tasks.parameters import Categorical, Continuous, Ordinal
from labenv.tasks.space import ProposalSpace
from labenv.tasks.task import Task
from labenv_schemas.errors import ProposalError
from labenv_schemas.proposal import (
    Dose,
    Heat,
    HeatSegment,
    Measure,
    Mix,
    PrecursorDose,
    Press,
    Proposal,
    Regrind,
)
from labenv_schemas.task import Budget, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.lab.shelf import Shelf
    from labenv.tasks.batch_plan import BatchStep
    from labenv_schemas.proposal import AtmosphereName, Operation

    Floats = NDArray[np.float64]

CELSIUS_K = 273.15
TITANIUM_MOL = 0.0125  # about 2.9 g of BaTiO3, a few grams in the vial
REGRIND_S = 900.0
BARIUM_SOURCES = ("BaCO3", "BaO")
TITANIUM_SOURCES = ("TiO2 (rutile)", "TiO2 (anatase)", "TiO2 (P25)")
GASES = ("air", "oxygen", "nitrogen", "carbon_dioxide")

PARAMETERS = (
    Categorical("barium_source", BARIUM_SOURCES),
    Categorical("titanium_source", TITANIUM_SOURCES),
    Continuous("barium_per_titanium", 0.90, 1.10, "mol/mol", resolution=0.001, levels=41),
    Continuous("milling_s", 600.0, 86_400.0, "s", resolution=60.0, log=True, levels=8),
    Continuous("firing_k", 600 + CELSIUS_K, 1450 + CELSIUS_K, "K", resolution=1.0, levels=35),
    Continuous("hold_s", 1_800.0, 86_400.0, "s", resolution=60.0, log=True, levels=12),
    Continuous("rate_k_per_s", 1 / 60, 20 / 60, "K/s", log=True, levels=6),
    Categorical("atmosphere", GASES),
    Ordinal("refirings", (0.0, 1.0, 2.0)),
    Ordinal("pressing_pa", (0.0, 5e7, 2e8), "Pa"),
    Continuous("scan_s", 120.0, 3_600.0, "s", resolution=10.0, log=True, levels=5),
)


class SolidStateRoute:
    """Dose, mill, press, fire, (regrind, press, fire) as often as asked, scan.

    Attributes:
        longest_plan: Operations of the longest plan.
        limited_parameter: What the lab's interlocks limit in this family of plans.
        limiting_parameters: What sets the limit.
    """

    longest_plan = 3 + 2 + 2 * 3
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
        number = {name: value for name, value in values.items() if not isinstance(value, str)}
        barium_mol = number["barium_per_titanium"] * TITANIUM_MOL
        doses = (
            PrecursorDose(substance=str(values["barium_source"]), amount_mol=barium_mol),
            PrecursorDose(substance=str(values["titanium_source"]), amount_mol=TITANIUM_MOL),
        )
        segment = HeatSegment(
            target_k=number["firing_k"],
            rate_k_per_s=number["rate_k_per_s"],
            hold_s=number["hold_s"],
        )
        heat = Heat(segments=(segment,), atmosphere=cast("AtmosphereName", values["atmosphere"]))
        fire: tuple[Operation, ...] = (heat,)
        if number["pressing_pa"] > 0.0:
            fire = (Press(pressure_pa=number["pressing_pa"]), heat)
        again = (Regrind(duration_s=REGRIND_S), *fire) * int(number["refirings"])
        return Proposal(
            operations=(
                Dose(precursors=doses),
                Mix(method="ball_mill", duration_s=number["milling_s"]),
                *fire,
                *again,
                Measure(scan_time_s=number["scan_s"]),
            )
        )

    def plan_batch(self, values: Floats, shelf: Shelf) -> BatchPlan:
        """Return the plans of many rows of values, as `build` would make them.

        Args:
            values: Values, shape (N, n), in the order of `PARAMETERS`.
            shelf: The lab's shelf, S substances.

        Returns:
            The plans, N rows.
        """
        column = dict(zip((p.name for p in PARAMETERS), values.T, strict=True))
        count, every = len(values), np.arange(len(values))
        pressed = column["pressing_pa"] > 0.0
        operation = np.zeros(count, dtype=np.int64)  # of the next step, row by row
        steps: list[BatchStep] = [DoseStep(every, operation.copy(), _requested_kg(column, shelf))]
        steps.append(MixStep(every, operation + 1, "ball_mill", column["milling_s"]))
        operation += 2
        for firing in range(1 + int(np.max(column["refirings"], initial=0.0))):
            rows = np.flatnonzero(column["refirings"] >= firing)
            if firing:
                duration = np.full(len(rows), REGRIND_S)
                steps.append(RegrindStep(rows, operation[rows], duration))
                operation[rows] += 1
            press = rows[pressed[rows]]
            if len(press):
                steps.append(PressStep(press, operation[press], column["pressing_pa"][press]))
                operation[press] += 1
            steps.append(
                HeatStep(
                    rows,
                    operation[rows],
                    column["firing_k"][rows],
                    column["rate_k_per_s"][rows],
                    column["hold_s"][rows],
                    column["atmosphere"][rows].astype(np.int64),
                    GASES,
                    "alumina",
                )
            )
            operation[rows] += 1
        scan = Measure()
        angles = (scan.two_theta_min_deg, scan.two_theta_max_deg, scan.step_deg)
        steps.append(ScanStep(every, operation, *angles, column["scan_s"]))
        return BatchPlan(count, tuple(steps))

    def read(self, proposal: Proposal) -> dict[str, float | str]:
        """Return the values of a plan of this shape.

        Args:
            proposal: The plan.

        Returns:
            One value a parameter.

        Raises:
            ProposalError: If building a plan from the values read does not give this plan back.
        """
        try:
            values = _values(proposal.operations)
            same = _alike(self.build(values), proposal)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            raise ProposalError(_NOT_OURS) from error
        if not same:
            raise ProposalError(_NOT_OURS)
        return values


_NOT_OURS = (
    "this plan is not one of the family dose, ball mill, (press,) fire, (regrind, (press,) fire,) "
    "scan with one segment a firing, so it has no place in the task's space"
)


def _values(operations: Sequence[Any]) -> dict[str, float | str]:
    """Return the values that these operations seem to have been built from."""
    dose, mix, measure = operations[0], operations[1], operations[-1]
    heats, presses = _of_kind(operations, Heat), _of_kind(operations, Press)
    barium, titanium = dose.precursors
    segment = heats[0].segments[0]
    return {
        "barium_source": barium.substance,
        "titanium_source": titanium.substance,
        "barium_per_titanium": _amount(barium) / _amount(titanium),
        "milling_s": mix.duration_s,
        "firing_k": segment.target_k,
        "hold_s": segment.hold_s,
        "rate_k_per_s": segment.rate_k_per_s,
        "atmosphere": str(heats[0].atmosphere),
        "refirings": float(len(heats) - 1),
        "pressing_pa": presses[0].pressure_pa if presses else 0.0,
        "scan_s": measure.scan_time_s,
    }


def _requested_kg(column: Mapping[str, Floats], shelf: Shelf) -> Floats:
    """Return the masses to weigh, shape (N, S)."""
    count = len(column["barium_source"])
    requested = np.zeros((count, len(shelf.substances)))
    barium_mol = column["barium_per_titanium"] * TITANIUM_MOL
    for name, choices, amount_mol in (
        ("barium_source", BARIUM_SOURCES, barium_mol),
        ("titanium_source", TITANIUM_SOURCES, np.full(count, TITANIUM_MOL)),
    ):
        place = np.array([shelf.index(choice) for choice in choices])
        molar = np.array([shelf.get(choice).molar_mass_kg_mol for choice in choices])
        choice = column[name].astype(np.int64)
        requested[np.arange(count), place[choice]] = amount_mol * molar[choice]
    return requested


T = TypeVar("T")


def _of_kind(operations: Iterable[object], kind: type[T]) -> list[T]:
    return [operation for operation in operations if isinstance(operation, kind)]


def _amount(dose: PrecursorDose) -> float:
    if dose.amount_mol is None:
        raise ValueError("the space doses by amount of substance")
    return dose.amount_mol


def _alike(one: Proposal, other: Proposal) -> bool:
    """Say whether two plans are equal, amounts to within rounding error.

    Returns:
        True if they are.
    """
    doses = (one.operations[0], other.operations[0])
    if one.operations[1:] != other.operations[1:] or not all(isinstance(d, Dose) for d in doses):
        return False
    pairs = zip(doses[0].precursors, doses[1].precursors, strict=True)  # type: ignore[union-attr]
    return all(
        a.substance == b.substance and math.isclose(_amount(a), _amount(b), rel_tol=1e-9)
        for a, b in pairs
    )


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
