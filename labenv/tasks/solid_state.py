"""The solid-state route: dose, mill, (press,) fire, (regrind, (press,) fire,) scan.

What tasks of this route share: from the values of a firing's parameters to a plan, to the plans of
many rows at once, and back. What is dosed is each task's own affair.
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.tasks.batch_plan import BatchStep
    from labenv.tasks.parameters import Parameter
    from labenv_schemas.proposal import AtmosphereName, Operation

    Floats = NDArray[np.float64]

T = TypeVar("T")

CELSIUS_K = 273.15
REGRIND_S = 900.0
LONGEST_PLAN = 3 + 2 + 2 * 3  # operations: two refirings at most
NOT_OURS = (
    "this plan is not one of the family dose, ball mill, (press,) fire, (regrind, (press,) fire,) "
    "scan with one segment a firing, so it has no place in the task's space"
)


def firing_parameters(
    gases: tuple[str, ...], coldest: tuple[float, int], longest_hold_s: float
) -> tuple[Parameter, ...]:
    """Return what is free to set of milling, firing, pressing and scanning.

    Args:
        gases: Names of the atmospheres.
        coldest: Lowest firing temperature, K, and how many levels the range has.
        longest_hold_s: Longest hold, s.

    Returns:
        The parameters that `plan_of` reads, in the order of the space.
    """
    low_k, levels = coldest
    return (
        Continuous("milling_s", 600.0, 86_400.0, "s", resolution=60.0, log=True, levels=8),
        Continuous("firing_k", low_k, 1450 + CELSIUS_K, "K", resolution=1.0, levels=levels),
        Continuous("hold_s", 1_800.0, longest_hold_s, "s", resolution=60.0, log=True, levels=12),
        Continuous("rate_k_per_s", 1 / 60, 20 / 60, "K/s", log=True, levels=6),
        Categorical("atmosphere", gases),
        Ordinal("refirings", (0.0, 1.0, 2.0)),
        Ordinal("pressing_pa", (0.0, 5e7, 2e8), "Pa"),
        Continuous("scan_s", 120.0, 3_600.0, "s", resolution=10.0, log=True, levels=5),
    )


def plan_of(doses: tuple[PrecursorDose, ...], values: Mapping[str, float | str]) -> Proposal:
    """Return the plan of a charge and a firing.

    Args:
        doses: The charge.
        values: ``milling_s``, ``firing_k``, ``hold_s``, ``rate_k_per_s``, ``atmosphere``,
            ``refirings``, ``pressing_pa`` and ``scan_s``; others are passed over.

    Returns:
        The plan.
    """
    number = {name: value for name, value in values.items() if not isinstance(value, str)}
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


def plans_of(
    requested_kg: Floats, column: Mapping[str, Floats], gases: tuple[str, ...]
) -> BatchPlan:
    """Return the plans of many charges and firings, as `plan_of` would make them.

    Args:
        requested_kg: Masses to weigh, shape (N, S).
        column: Values by name, each shape (N,); ``atmosphere`` indexes `gases`.
        gases: Names of the atmospheres.

    Returns:
        The plans, N rows.
    """
    count, every = len(requested_kg), np.arange(len(requested_kg))
    pressed = column["pressing_pa"] > 0.0
    operation = np.zeros(count, dtype=np.int64)  # of the next step, row by row
    steps: list[BatchStep] = [DoseStep(every, operation.copy(), requested_kg)]
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
                gases,
                "alumina",
            )
        )
        operation[rows] += 1
    scan = Measure()
    angles = (scan.two_theta_min_deg, scan.two_theta_max_deg, scan.step_deg)
    steps.append(ScanStep(every, operation, *angles, column["scan_s"]))
    return BatchPlan(count, tuple(steps))


def read_plan(
    proposal: Proposal,
    charge_of: Callable[[Dose], dict[str, float | str]],
    build: Callable[[dict[str, float | str]], Proposal],
) -> dict[str, float | str]:
    """Return the values of a plan of this route.

    Args:
        proposal: The plan.
        charge_of: Reads the values of a charge.
        build: Makes the plan of values, to make sure that they are those of this plan.

    Returns:
        One value a parameter.

    Raises:
        ProposalError: If building a plan from the values read does not give this plan back.
    """
    try:
        dose = cast("Dose", proposal.operations[0])
        values = charge_of(dose) | _firing_of(proposal.operations)
        same = _alike(build(values), proposal)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise ProposalError(NOT_OURS) from error
    if not same:
        raise ProposalError(NOT_OURS)
    return values


def amount_mol(dose: PrecursorDose) -> float:
    """Return the amount of a dose.

    Raises:
        ValueError: If it is given by mass.
    """
    if dose.amount_mol is None:
        raise ValueError("the space doses by amount of substance")
    return dose.amount_mol


def _firing_of(operations: Sequence[Any]) -> dict[str, float | str]:
    """Return the values that these operations seem to have been built from."""
    mix, measure = operations[1], operations[-1]
    heats, presses = _of_kind(operations, Heat), _of_kind(operations, Press)
    segment = heats[0].segments[0]
    return {
        "milling_s": mix.duration_s,
        "firing_k": segment.target_k,
        "hold_s": segment.hold_s,
        "rate_k_per_s": segment.rate_k_per_s,
        "atmosphere": str(heats[0].atmosphere),
        "refirings": float(len(heats) - 1),
        "pressing_pa": presses[0].pressure_pa if presses else 0.0,
        "scan_s": measure.scan_time_s,
    }


def _of_kind(operations: Iterable[object], kind: type[T]) -> list[T]:
    return [operation for operation in operations if isinstance(operation, kind)]


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
        a.substance == b.substance and math.isclose(amount_mol(a), amount_mol(b), rel_tol=1e-9)
        for a, b in pairs
    )
