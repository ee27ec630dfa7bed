"""One experiment from recipe to measured transition, with its time and cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from labenv.lab.timing import (
    CRYOSTAT_COST_PER_HOUR,
    DOSE_COST,
    FURNACE_COST_PER_HOUR,
    FURNACE_LOADING_S,
    GAS_COST_PER_HOUR,
    MIX_COST_PER_HOUR,
    PRESS_COST,
    PRESS_S,
    dose_time_s,
    mix_time_s,
    moment_time_s,
    resistance_time_s,
)
from labenv.tasks.superconductor_search.firing import MILL_S, Conditions, make_bar, programs
from labenv.tasks.superconductor_search.measuring import (
    MOMENT,
    RESISTANCE,
    Transition,
    measure,
)

if TYPE_CHECKING:
    from labenv.tasks.superconductor_search.recipe import Recipe, RecipeSpace

Status = Literal["ok", "no_zero", "no_transition", "melted", "invalid"]
STATUSES: tuple[Status, ...] = ("ok", "no_zero", "no_transition", "melted", "invalid")
REASONS: dict[str, str] = {
    "ok": "",
    "no_zero": "a transition begins, but no superconducting path percolates through the bar",
    "no_transition": "no superconducting transition was seen in the resistance down to 4 K",
    "melted": "the bar melted in the furnace and could not be measured",
}
SCALE_K = 100.0
_HOUR_S = 3600.0


@dataclass(frozen=True)
class Result:
    """What became of a recipe; everything in it was measured or is on the bill.

    Attributes:
        recipe: As asked for.
        status: "ok" only if zero resistance was measured.
        score: Measured temperature of zero resistance over 100 K; 0 if there is none.
        reason: Why the score is 0, empty otherwise.
        transition: What was measured; None if nothing could be.
        time_s: Time in the laboratory, s.
        cost: In the laboratory's currency.
    """

    recipe: Recipe
    status: Status
    score: float = 0.0
    reason: str = ""
    transition: Transition | None = None
    time_s: float = 0.0
    cost: float = 0.0


def run_experiment(
    recipe: Recipe, space: RecipeSpace, conditions: Conditions, experiment: int
) -> Result:
    """Carry out a recipe and measure what it gave.

    Args:
        recipe: Any; one that cannot be carried out comes back as "invalid", at no cost.
        space: What the laboratory can do.
        conditions: What is hidden about it.
        experiment: Number of the experiment, which names its random streams.

    Returns:
        The result.
    """
    fault = space.fault(recipe)
    if fault:
        return Result(recipe, "invalid", reason=fault)
    bar = make_bar(recipe, conditions, experiment)
    time_s, cost = _bill(recipe, measured=not bar.melted)
    if bar.melted:
        return Result(recipe, "melted", 0.0, REASONS["melted"], None, time_s, cost)
    found = measure(bar, conditions.seed, experiment, magnetometry=recipe.magnetometry)
    status: Status = next(s for s in STATUSES if s == found.status)
    reached = found.zero_k is not None and status == "ok"
    score = min(max(found.zero_k or 0.0, 0.0) / SCALE_K, 1.0) if reached else 0.0
    return Result(recipe, status, score, REASONS[status], found, time_s, cost)


def _bill(recipe: Recipe, *, measured: bool) -> tuple[float, float]:
    """Return the time, s, and the cost of an experiment as its recipe says, not as it truly was."""
    firing, anneal = programs(recipe, Conditions())
    time_s = float(dose_time_s(3.0)) + mix_time_s("ball_mill", MILL_S) + PRESS_S
    cost = 3.0 * DOSE_COST + PRESS_COST + MIX_COST_PER_HOUR["ball_mill"] * MILL_S / _HOUR_S
    for program, gas in ((firing, recipe.firing_gas), (anneal, recipe.anneal_gas)):
        hot_s = float(program.duration_s[0])
        time_s += hot_s + FURNACE_LOADING_S
        cost += hot_s / _HOUR_S * (FURNACE_COST_PER_HOUR + GAS_COST_PER_HOUR[gas])
        if not measured:
            return time_s, cost  # nothing is annealed that has melted
    run_s = resistance_time_s(RESISTANCE)
    if recipe.magnetometry:
        run_s += moment_time_s(MOMENT)
    return time_s + run_s, cost + run_s / _HOUR_S * CRYOSTAT_COST_PER_HOUR
