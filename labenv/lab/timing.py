"""How long operations take and what they cost.

Durations are what a robot cell needs, in the order of magnitude of published self-driving
laboratories; they are the lab's own settings, not measurements. Every function takes scalars or
arrays.

Two times belong to an operation: after `duration_s` the sample goes on, after `occupied_s` the
station is free. They differ for a quench, which takes the sample out hot and leaves a furnace that
must cool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from labenv_schemas.proposal import (
    ROOM_TEMPERATURE_K,
    Dose,
    Heat,
    Measure,
    Mix,
    Press,
    Regrind,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labenv.lab.shelf import Shelf
    from labenv_schemas.proposal import Operation

    Floats = NDArray[np.float64]

T = TypeVar("T", float, "Floats")

# Handling by the robot, s.
DOSE_SETUP_S, DOSE_PER_PRECURSOR_S = 60.0, 90.0
MIX_HANDLING_S = {"mortar": 180.0, "ball_mill": 600.0}  # the mill's jar is filled and emptied
PRESS_S = 420.0
FURNACE_LOADING_S = 300.0
REGRIND_HANDLING_S = 240.0
SCAN_HANDLING_S = 300.0

# A box furnace left to itself from 1473 K, s; from elsewhere by the root of the fall.
NATURAL_COOLING_S = 14_400.0
NATURAL_COOLING_FROM_K = 1473.15
QUENCH_K_PER_S = 50.0
# It loses heat roughly in proportion to its excess over the room: straight pieces, each with the
# share of the excess that it ends at and its part of the time.
COOLING_CURVE = ((0.6, 0.10), (0.3, 0.18), (0.1, 0.32), (0.0, 0.40))

# Prices in the lab's currency.
DOSE_COST = 1.0
MIX_COST_PER_HOUR = {"mortar": 2.0, "ball_mill": 4.0}
PRESS_COST = 1.5
FURNACE_COST_PER_HOUR = 6.0
GAS_COST_PER_HOUR = {"air": 0.0, "oxygen": 3.0, "nitrogen": 1.5, "argon": 4.0,
                     "carbon_dioxide": 2.0, "vacuum": 1.0, "mixture": 4.0}  # fmt: skip
CRUCIBLE_COST = {"alumina": 3.0, "zirconia": 8.0, "magnesia": 6.0, "platinum": 10.0}
REGRIND_COST_PER_HOUR = 2.0
SCAN_COST_PER_HOUR = 12.0
_HOUR_S = 3600.0


class OperationTime(NamedTuple):
    """How long an operation takes.

    Attributes:
        duration_s: From start until the sample goes on, s.
        occupied_s: From start until the station is free, s; at least `duration_s`.
    """

    duration_s: float
    occupied_s: float


def natural_cooling_s(fall_k: T) -> T:
    """Return how long a furnace left to itself takes to reach the room.

    Args:
        fall_k: Excess over the room, K.

    Returns:
        Time, s.
    """
    return NATURAL_COOLING_S * np.sqrt(fall_k / (NATURAL_COOLING_FROM_K - ROOM_TEMPERATURE_K))  # type: ignore[no-any-return]


def dose_time_s(precursors: T) -> T:
    """Return the time to weigh a number of precursors, s."""
    return DOSE_SETUP_S + DOSE_PER_PRECURSOR_S * precursors


def mix_time_s(method: str, duration_s: T) -> T:
    """Return the time to mix for a duration, with filling and emptying, s."""
    return MIX_HANDLING_S[method] + duration_s


def regrind_time_s(duration_s: T) -> T:
    """Return the time to regrind for a duration, with handling, s."""
    return REGRIND_HANDLING_S + duration_s


def scan_time_s(scan_s: T) -> T:
    """Return the time of a scan with mounting the sample, s."""
    return SCAN_HANDLING_S + scan_s


def programmed_s(heat: Heat) -> float:
    """Return the time of a firing's segments, without cooling, s."""
    total, temperature_k = 0.0, ROOM_TEMPERATURE_K
    for segment in heat.segments:
        total += abs(segment.target_k - temperature_k) / segment.rate_k_per_s + segment.hold_s
        temperature_k = segment.target_k
    return total


def heat_time(heat: Heat) -> OperationTime:
    """Return the times of a firing with loading and cooling.

    Args:
        heat: The firing.

    Returns:
        Until the sample is out, and until the furnace is cold.
    """
    segments_s = FURNACE_LOADING_S + programmed_s(heat)
    fall_k = abs(heat.segments[-1].target_k - ROOM_TEMPERATURE_K)
    cold_s = segments_s + float(natural_cooling_s(fall_k))
    if heat.cooling == "quench":
        return OperationTime(segments_s + fall_k / QUENCH_K_PER_S, cold_s)
    return OperationTime(cold_s, cold_s)


def cold_again_s(heat: Heat, elapsed_s: float) -> float:
    """Return how long a furnace takes to cool when a firing is broken off.

    Args:
        heat: The firing.
        elapsed_s: Time since it began, with loading, s.

    Returns:
        Time until the furnace is free, s.
    """
    left_s, temperature_k = elapsed_s - FURNACE_LOADING_S, ROOM_TEMPERATURE_K
    for segment in heat.segments:
        if left_s <= 0.0:
            break
        step_k = segment.target_k - temperature_k
        ramp_s = abs(step_k) / segment.rate_k_per_s
        temperature_k += step_k * min(1.0, left_s / ramp_s) if ramp_s > 0.0 else 0.0
        left_s -= ramp_s + segment.hold_s
    else:
        if left_s > 0.0:  # it was cooling already
            return max(0.0, heat_time(heat).occupied_s - elapsed_s)
    return float(natural_cooling_s(max(0.0, temperature_k - ROOM_TEMPERATURE_K)))


def operation_time(operation: Operation) -> OperationTime:
    """Return the times of any operation.

    Args:
        operation: The operation.

    Returns:
        Its times, s.
    """
    if isinstance(operation, Heat):
        return heat_time(operation)
    seconds = _TIME[type(operation)](operation)
    return OperationTime(seconds, seconds)


_TIME: dict[type, Callable[..., float]] = {
    Dose: lambda op: dose_time_s(float(len(op.precursors))),
    Mix: lambda op: mix_time_s(op.method, op.duration_s),
    Press: lambda op: PRESS_S,
    Regrind: lambda op: regrind_time_s(op.duration_s),
    Measure: lambda op: scan_time_s(op.scan_time_s),
}


def operation_cost(operation: Operation, shelf: Shelf) -> float:
    """Return what an operation costs in materials, wear and station time.

    Args:
        operation: The operation.
        shelf: For the prices of precursors.

    Returns:
        Cost, in the lab's currency.
    """
    if isinstance(operation, Dose):
        powder = sum(
            shelf.mass_kg(dose) * shelf.get(dose.substance).price_per_kg
            for dose in operation.precursors
        )
        return DOSE_COST + powder
    if isinstance(operation, Heat):
        return _heat_cost(operation)
    return _COST[type(operation)](operation)


def _heat_cost(heat: Heat) -> float:
    gas = heat.atmosphere if isinstance(heat.atmosphere, str) else "mixture"
    hours = heat_time(heat).occupied_s / _HOUR_S
    return CRUCIBLE_COST[heat.crucible] + hours * (FURNACE_COST_PER_HOUR + GAS_COST_PER_HOUR[gas])


_COST: dict[type, Callable[..., float]] = {
    Mix: lambda op: MIX_COST_PER_HOUR[op.method] * op.duration_s / _HOUR_S,
    Press: lambda op: PRESS_COST,
    Regrind: lambda op: REGRIND_COST_PER_HOUR * op.duration_s / _HOUR_S,
    Measure: lambda op: SCAN_COST_PER_HOUR * op.scan_time_s / _HOUR_S,
}


__all__ = [
    "OperationTime",
    "cold_again_s",
    "dose_time_s",
    "heat_time",
    "mix_time_s",
    "natural_cooling_s",
    "operation_cost",
    "operation_time",
    "programmed_s",
    "regrind_time_s",
    "scan_time_s",
]
