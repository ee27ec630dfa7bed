"""The door to the truth of phase mapping, for evaluation; nothing a policy sees comes from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gymnasium.error import ResetNeeded

from labenv.tasks.phase_mapping.atlas import agreement, drawn_map, hidden_map
from labenv.tasks.phase_mapping.measuring import Point, lab_time_s
from labenv.tasks.phase_mapping.plans import greedy_plan

# This module alone reads the private parts of the environment: it is the door.
# ruff: noqa: SLF001
# pyright: reportPrivateUsage=false

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.envs.phase_mapping import PhaseMappingEnv


def true_map(env: PhaseMappingEnv) -> NDArray[np.bool_]:
    """Return the hidden map of the episode.

    Args:
        env: After a reset.

    Returns:
        Which of ``env.system.labels`` is in each cell, shape (cells, L).

    Raises:
        ResetNeeded: Before the first reset.
    """
    if env._truth is None:
        raise ResetNeeded("call reset() before the environment is audited")
    return env._truth.copy()


def map_quality(env: PhaseMappingEnv) -> dict[str, float]:
    """Return how good the map is that the episode has so far.

    Args:
        env: After a reset.

    Returns:
        ``agreement`` (mean Jaccard index), ``exact`` (share of cells with all labels right),
        ``labels_right`` (share of the measured points whose own label is that of their cell).
    """
    truth = true_map(env)
    grid = env.settings.grid(env.system)
    drawn = drawn_map(grid, env.readings)
    if drawn is None:
        return {"agreement": 0.0, "exact": 0.0, "labels_right": 0.0}
    right = [
        np.array_equal(r.label, truth[grid.cell_of(r.point.x, r.point.temperature_k)])
        for r in env.readings
    ]
    return {
        "agreement": float(agreement(drawn, truth).mean()),
        "exact": float((drawn == truth).all(axis=1).mean()),
        "labels_right": float(np.mean(right)),
    }


def oracle_actions(env: PhaseMappingEnv) -> list[NDArray[np.int64]]:
    """Return the greedy points of someone who knows the truth, one point a step.

    Args:
        env: After a reset, with one point a step.

    Returns:
        Actions that earn the most score each, until nothing adds any or the budget is used up.

    Raises:
        ResetNeeded: Before the first reset.
    """
    truth, given, system = true_map(env), env.settings, env.system
    conditions = env._conditions
    if conditions is None:
        raise ResetNeeded("call reset() before the environment is audited")
    grid = given.grid(system)
    by_hold = np.array([hidden_map(system, grid, "firing", s, conditions) for s in given.holds_s])
    hours = np.array([
        [lab_time_s([Point(0.0, at_k, s)], given.scan_s) for at_k in grid.temperature_k.tolist()]
        for s in given.holds_s
    ])
    # Time is worth something also where it costs no score: the least that orders equal gains.
    weight = max(given.cost_weight, 1e-6)
    plan = greedy_plan(grid, truth, by_hold, weight * hours / given.budget_s, weight)
    return [
        np.array([c.cell // grid.temperatures, c.cell % grid.temperatures, c.hold]) for c in plan
    ]


__all__ = ["map_quality", "oracle_actions", "true_map"]
