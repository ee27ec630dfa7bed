"""How long operations take and what they cost.

Durations are what a robot cell needs, in the order of magnitude of published self-driving
laboratories; they are the lab's own settings, not measurements. Every function takes scalars or
arrays.

Two times belong to an operation: after `duration_s` the sample goes on, after `occupied_s` the
station is free. They differ for a quench, which takes the sample out hot and leaves a furnace that
must cool.

A furnace cools at the rate asked for as long as that is slower than its own; where it is faster,
in the last hundreds of kelvin, the furnace falls at its own rate and the firing takes longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from labenv.lab.crucibles import CRUCIBLE_COST
from labenv.physics.magnetometry import RUN_COST_S as MOMENT_RUN_S
from labenv.physics.resistivity import RUN_COST_S as RESISTANCE_RUN_S
from labenv_schemas.characterisation import (
    MeasureComposition,
    MeasureDensity,
    MeasureMagnetisation,
    MeasureResistance,
    Weigh,
)
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

# Cutting, contacts, loading; runs from the room down and back take `RUN_COST_S`, wider ones longer.
MOUNTING_S = 1800.0
RUN_TOP_K = 300.0
SECONDS_PER_RESISTANCE, SECONDS_PER_MOMENT = 5.0, 60.0
WEIGHING_HANDLING_S, SECONDS_PER_WEIGHING = 100.0, 20.0
PYCNOMETER_HANDLING_S, SECONDS_PER_PURGE = 600.0, 120.0
MICROSCOPE_HANDLING_S = 900.0  # carbon tape, pumping

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
REGRIND_COST_PER_HOUR = 2.0
SCAN_COST_PER_HOUR = 12.0
CRYOSTAT_COST_PER_HOUR = 20.0  # helium and instrument; the magnetometer's too
WEIGHING_COST, PYCNOMETER_COST_PER_HOUR, MICROSCOPE_COST_PER_HOUR = 0.2, 5.0, 40.0
_HOUR_S = 3600.0

REPAIR_S = 3600.0
"""Until a station works again after a failure, s."""


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


def resistance_time_s(run: MeasureResistance) -> float:
    """Return the time of a cryostat run with mounting, s."""
    top_k = max(RUN_TOP_K, float(run.temperatures_k()[-1]))
    cooling_s = RESISTANCE_RUN_S * (top_k - run.temperature_min_k) / (RUN_TOP_K - 4.0)
    return MOUNTING_S + max(cooling_s, SECONDS_PER_RESISTANCE * len(run.temperatures_k()))


def moment_time_s(run: MeasureMagnetisation) -> float:
    """Return the time of a magnetometer run with mounting, s."""
    span = max(RUN_TOP_K, run.temperature_max_k) - run.temperature_min_k
    cooling_s = MOMENT_RUN_S * span / (RUN_TOP_K - 5.0)
    return MOUNTING_S + max(cooling_s, SECONDS_PER_MOMENT * len(run.temperatures_k()))


def firing_course(heat: Heat) -> list[tuple[float, float]]:
    """Return the breakpoints of a firing's segments, without the cooling at the end.

    A furnace cannot be told to lose heat: where a segment asks for a faster fall than the furnace's
    own, it falls at its own.

    Args:
        heat: The firing.

    Returns:
        Times since the start without loading, s, and temperatures, K; the first is the room.
    """
    time_s, at_k = 0.0, ROOM_TEMPERATURE_K
    course = [(time_s, at_k)]
    for segment in heat.segments:
        if segment.target_k < at_k:
            for elapsed_s, to_k in controlled_fall(at_k, segment.target_k, segment.rate_k_per_s):
                course.append((time_s + elapsed_s, to_k))
            time_s = course[-1][0]
        else:
            time_s += (segment.target_k - at_k) / segment.rate_k_per_s
            course.append((time_s, segment.target_k))
        at_k = segment.target_k
        if segment.hold_s > 0.0:
            time_s += segment.hold_s
            course.append((time_s, at_k))
    return course


def cooling_course(heat: Heat) -> list[tuple[float, float]]:
    """Return the breakpoints of the cooling at the end of a firing, down to the room.

    Args:
        heat: The firing.

    Returns:
        Times since the end of the last segment, s, and temperatures, K, without the start.
    """
    start_k = heat.segments[-1].target_k
    fall_k = start_k - ROOM_TEMPERATURE_K
    if heat.cooling == "quench":
        return [(abs(fall_k) / QUENCH_K_PER_S, ROOM_TEMPERATURE_K)]
    rate_k_per_s = heat.cooling_rate_k_per_s
    if rate_k_per_s is not None and fall_k > 0.0:
        return controlled_fall(start_k, ROOM_TEMPERATURE_K, rate_k_per_s)
    total_s, gone, course = float(natural_cooling_s(abs(fall_k))), 0.0, []
    for share, part in COOLING_CURVE:
        gone += part
        course.append((gone * total_s, ROOM_TEMPERATURE_K + share * fall_k))
    return course


def controlled_fall(start_k: float, end_k: float, rate_k_per_s: float) -> list[tuple[float, float]]:
    """Return the breakpoints of a fall at a rate, slower where the furnace cannot follow it.

    Args:
        start_k: From, K, above the room.
        end_k: To, K, below `start_k`.
        rate_k_per_s: Rate asked for, K/s.

    Returns:
        Times since the start, s, and temperatures, K, without the start.
    """
    fall_k = start_k - ROOM_TEMPERATURE_K
    natural_s = float(natural_cooling_s(fall_k))
    elapsed_s, at_k, above = 0.0, start_k, 1.0
    course: list[tuple[float, float]] = []
    for share, part in COOLING_CURVE:
        slowest_s_per_k = max(1.0 / rate_k_per_s, part * natural_s / ((above - share) * fall_k))
        to_k = max(end_k, ROOM_TEMPERATURE_K + share * fall_k)
        elapsed_s += (at_k - to_k) * slowest_s_per_k
        course.append((elapsed_s, to_k))
        at_k, above = to_k, share
        if to_k <= end_k:
            break
    return course


def heat_time(heat: Heat) -> OperationTime:
    """Return the times of a firing with loading and cooling.

    Args:
        heat: The firing.

    Returns:
        Until the sample is out, and until the furnace is cold.
    """
    segments_s = FURNACE_LOADING_S + firing_course(heat)[-1][0]
    if heat.cooling_rate_k_per_s is not None:
        cold_s = segments_s + cooling_course(heat)[-1][0]
        return OperationTime(cold_s, cold_s)
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
    course, fired_s = firing_course(heat), elapsed_s - FURNACE_LOADING_S
    as_planned_s = max(0.0, heat_time(heat).occupied_s - elapsed_s)
    if fired_s > course[-1][0]:  # it was cooling already
        if heat.cooling_rate_k_per_s is None:
            return as_planned_s
        start_s = course[-1][0]
        course += [(start_s + after_s, to_k) for after_s, to_k in cooling_course(heat)]
    time_s, temperature_k = zip(*course, strict=True)
    fall_k = float(np.interp(fired_s, time_s, temperature_k)) - ROOM_TEMPERATURE_K
    return min(as_planned_s, float(natural_cooling_s(max(0.0, fall_k))))


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
    MeasureResistance: resistance_time_s,
    MeasureMagnetisation: moment_time_s,
    Weigh: lambda op: WEIGHING_HANDLING_S + SECONDS_PER_WEIGHING * op.repeats,
    MeasureDensity: lambda op: PYCNOMETER_HANDLING_S + SECONDS_PER_PURGE * op.purges,
    MeasureComposition: lambda op: MICROSCOPE_HANDLING_S + op.live_time_s,
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
    MeasureResistance: lambda op: CRYOSTAT_COST_PER_HOUR * resistance_time_s(op) / _HOUR_S,
    MeasureMagnetisation: lambda op: CRYOSTAT_COST_PER_HOUR * moment_time_s(op) / _HOUR_S,
    Weigh: lambda op: WEIGHING_COST,
    MeasureDensity: lambda op: (
        PYCNOMETER_COST_PER_HOUR * (PYCNOMETER_HANDLING_S + SECONDS_PER_PURGE * op.purges) / _HOUR_S
    ),
    MeasureComposition: lambda op: MICROSCOPE_COST_PER_HOUR * op.live_time_s / _HOUR_S,
}


__all__ = [
    "OperationTime",
    "cold_again_s",
    "controlled_fall",
    "cooling_course",
    "dose_time_s",
    "firing_course",
    "heat_time",
    "mix_time_s",
    "moment_time_s",
    "natural_cooling_s",
    "operation_cost",
    "operation_time",
    "regrind_time_s",
    "resistance_time_s",
    "scan_time_s",
]
