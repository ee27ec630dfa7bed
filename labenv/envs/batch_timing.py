"""Durations and costs of batch steps: `labenv.lab.timing` for many rows at once.

The constants and formulas are those of `labenv.lab.timing`, in the same order of arithmetic; a test
compares every number with `operation_time` and `operation_cost`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.lab import timing
from labenv.lab.crucibles import CRUCIBLE_COST
from labenv.physics.furnace_program import HeatProgram
from labenv.tasks.batch_plan import (
    DoseStep,
    HeatStep,
    MixStep,
    PressStep,
    RegrindStep,
    ScanStep,
)
from labenv_schemas.proposal import ROOM_TEMPERATURE_K

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labenv.lab.shelf import Shelf
    from labenv.tasks.batch_plan import BatchStep

    Floats = NDArray[np.float64]

HOUR_S = 3600.0


def furnace_programs(target_k: Floats, rate_k_per_s: Floats, hold_s: Floats) -> HeatProgram:
    """Return the programmes of firings of one segment, cooled by the furnace.

    As `labenv.lab.bench.firing_programs` of the same firings.

    Args:
        target_k: Temperatures, K, shape (M,).
        rate_k_per_s: Heating rates, K/s, shape (M,).
        hold_s: Times at the temperature, s, above 0, shape (M,).

    Returns:
        The programmes, M rows.
    """
    fall_k = target_k - ROOM_TEMPERATURE_K
    heated_s = fall_k / rate_k_per_s
    held_s = heated_s + hold_s
    cooling_s = timing.natural_cooling_s(fall_k)
    time = [np.zeros(len(target_k)), heated_s, held_s]
    temperature = [np.full(len(target_k), ROOM_TEMPERATURE_K), target_k, target_k]
    gone = 0.0
    for share, part in timing.COOLING_CURVE:
        gone += part
        time.append(held_s + gone * cooling_s)
        temperature.append(ROOM_TEMPERATURE_K + share * fall_k)
    return HeatProgram(np.column_stack(time), np.column_stack(temperature))


class StepTimes(NamedTuple):
    """What a step takes, each shape (M,).

    Attributes:
        duration_s: From start until the sample goes on, s; the station is free again with it.
        cost: In the lab's currency.
    """

    duration_s: Floats
    cost: Floats


def step_times(step: BatchStep, shelf: Shelf) -> StepTimes:
    """Return times and costs of a step.

    Args:
        step: The step, M rows.
        shelf: For prices.

    Returns:
        Its times and costs.
    """
    return _TIMES[type(step)](step, shelf)


def _dose(step: DoseStep, shelf: Shelf) -> StepTimes:
    precursors = np.sum(step.requested_kg > 0.0, axis=1).astype(np.float64)
    price = np.array([substance.price_per_kg for substance in shelf.substances])
    powder = np.zeros(len(precursors))
    for column, per_kg in enumerate(price):  # left to right, as the shelf's plans list them
        powder = powder + step.requested_kg[:, column] * per_kg
    return StepTimes(timing.dose_time_s(precursors), timing.DOSE_COST + powder)


def _mix(step: MixStep, shelf: Shelf) -> StepTimes:
    del shelf
    hourly = timing.MIX_COST_PER_HOUR[step.method]
    duration = timing.mix_time_s(step.method, step.duration_s)
    return StepTimes(duration, hourly * step.duration_s / HOUR_S)


def _press(step: PressStep, shelf: Shelf) -> StepTimes:
    del shelf
    one = np.ones(len(step.pressure_pa))
    return StepTimes(timing.PRESS_S * one, timing.PRESS_COST * one)


def _heat(step: HeatStep, shelf: Shelf) -> StepTimes:
    del shelf
    fall_k = np.abs(step.target_k - ROOM_TEMPERATURE_K)
    programmed_s = fall_k / step.rate_k_per_s + step.hold_s
    duration = timing.FURNACE_LOADING_S + programmed_s + timing.natural_cooling_s(fall_k)
    gas = np.array([timing.GAS_COST_PER_HOUR[name] for name in step.gases])[step.gas]
    hourly = timing.FURNACE_COST_PER_HOUR + gas
    return StepTimes(duration, CRUCIBLE_COST[step.crucible] + duration / HOUR_S * hourly)


def _regrind(step: RegrindStep, shelf: Shelf) -> StepTimes:
    del shelf
    cost = timing.REGRIND_COST_PER_HOUR * step.duration_s / HOUR_S
    return StepTimes(timing.regrind_time_s(step.duration_s), cost)


def _scan(step: ScanStep, shelf: Shelf) -> StepTimes:
    del shelf
    cost = timing.SCAN_COST_PER_HOUR * step.scan_s / HOUR_S
    return StepTimes(timing.scan_time_s(step.scan_s), cost)


_TIMES: dict[type, Callable[..., StepTimes]] = {
    DoseStep: _dose,
    MixStep: _mix,
    PressStep: _press,
    HeatStep: _heat,
    RegrindStep: _regrind,
    ScanStep: _scan,
}
