"""What a superconductor-search environment is made of, and what a policy sees of it.

===================== ========= ====================================================================
key                   shape     content
===================== ========= ====================================================================
budget_left           (1,)      share of the experiments left
time_used             (1,)      share of the lab time used; 0 without a limit on it
best_score            (1,)      best measured temperature of zero resistance / 100 K
last_outcome          (6,)      one-hot: none, ok, no_zero, no_transition, melted, invalid
last_measured         (8,)      known and value / 100 K of zero, midpoint and onset; log10 of the
                                resistance at 300 K in ohm, / 10; whether anything was measured
last_moment           (3,)      measured; onset / 100 K; shielded share of the volume
last_curve            (24,)     R / R(300 K), -1 to 3, at even steps of index along the curve
last_action           (11,)     what was asked for
history               (H*15,)   present, score, midpoint / 100 K, onset / 100 K, action; newest
                                first
===================== ========= ====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from gymnasium import spaces

from labenv.envs.budgets import HOUR_S, MOST_EXPERIMENTS, read_budget
from labenv.tasks.options import check_whole_number
from labenv.tasks.superconductor_search.laboratory import SCALE_K, STATUSES, Result
from labenv.tasks.superconductor_search.recipe import ROUTES, RecipeSpace
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from labenv_schemas.task import Budget

Observation = dict[str, "NDArray[np.float32]"]
CURVE = 24
_DEFAULT_EXPERIMENTS = 12


@dataclass(frozen=True)
class SearchSettings:
    """Budget, goal and laboratory.

    Attributes:
        space: What the laboratory can do.
        experiments: Budget of an episode.
        lab_time_h: Lab time of an episode, h; None for no limit.
        history: Results shown in the observation.
        goal_tc_k: Measured temperature of zero resistance that ends an episode; None for none.
    """

    space: RecipeSpace
    experiments: int
    lab_time_h: float | None
    history: int
    goal_tc_k: float | None


def make_search_settings(  # noqa: PLR0913 - the arguments of gym.make
    routes: Sequence[str] = ROUTES,
    *,
    firing_gases: Sequence[str] = ("air", "oxygen"),
    budget: Budget | Mapping[str, Any] | None = None,
    experiments: int | None = None,
    lab_time_h: float | None = None,
    history: int = 8,
    goal_tc_k: float | None = None,
) -> SearchSettings:
    """Return checked settings.

    Args:
        routes: Precursors of barium on offer, of BaCO3 and BaO2.
        firing_gases: On offer, of air, oxygen and nitrogen; each with each route is a reaction
            network that takes seconds to make, once in a process, when first used.
        budget: What an episode may spend, of which this environment limits ``experiments`` and
            ``lab_time``; of experiments 12 where none is given, 10000 where a budget leaves them
            out. The experiment that exceeds the lab time is the last.
        experiments: Short for a budget of so many experiments, 1 to 10000.
        lab_time_h: Short for a budget with this lab time, h, above 0.
        history: Results shown in the observation, 0 to 1000.
        goal_tc_k: Measured temperature of zero resistance that ends the episode as a success.

    Returns:
        The settings.

    Raises:
        ConfigError: If an argument is out of range.
    """
    limit = read_budget(
        budget, ("experiments", "lab_time"), {"experiments": experiments, "lab_time_h": lab_time_h}
    )
    if limit is not None:
        experiments = limit.experiments or MOST_EXPERIMENTS
        lab_time_h = None if limit.lab_time_s is None else limit.lab_time_s / HOUR_S
    experiments = _DEFAULT_EXPERIMENTS if experiments is None else experiments
    check_whole_number("experiments", experiments, 1, MOST_EXPERIMENTS)
    check_whole_number("history", history, 0, 1000)
    for name, value in (("lab_time_h", lab_time_h), ("goal_tc_k", goal_tc_k)):
        if value is not None and not 0.0 < value < np.inf:
            raise ConfigError(f"{name} must be above 0 and finite, or None, got {value!r}")
    if isinstance(routes, str) or isinstance(firing_gases, str):
        raise ConfigError("routes and firing_gases are sequences of names")
    return SearchSettings(
        RecipeSpace(tuple(routes), tuple(firing_gases)),
        int(experiments),
        None if lab_time_h is None else float(lab_time_h),
        int(history),
        None if goal_tc_k is None else float(goal_tc_k),
    )


def search_observation_space(settings: SearchSettings) -> spaces.Space[Observation]:
    """Return the observation space.

    Args:
        settings: Of the environment.

    Returns:
        A Dict of bounded Boxes.
    """
    size = settings.space.size
    row = ([0.0] * 4 + [-1.0] * size, [1.0, 1.0, 4.0, 4.0] + [1.0] * size)
    bounds = {
        "budget_left": ([0.0], [1.0]),
        "time_used": ([0.0], [1.0]),
        "best_score": ([0.0], [1.0]),
        "last_outcome": ([0.0] * 6, [1.0] * 6),
        "last_measured": ([0.0] * 6 + [-2.0, 0.0], [1.0, 4.0] * 3 + [2.0, 1.0]),
        "last_moment": ([0.0, 0.0, -2.0], [1.0, 4.0, 2.0]),
        "last_curve": ([-1.0] * CURVE, [3.0] * CURVE),
        "last_action": ([-1.0] * size, [1.0] * size),
        "history": (row[0] * settings.history, row[1] * settings.history),
    }
    return cast(
        "spaces.Space[Observation]",
        spaces.Dict({
            name: spaces.Box(np.array(low, np.float32), np.array(high, np.float32))
            for name, (low, high) in bounds.items()
        }),
    )


def search_observation(settings: SearchSettings, past: Sequence[Result]) -> Observation:
    """Return the observation of an episode.

    Args:
        settings: Of the environment.
        past: Its results, oldest first.

    Returns:
        New arrays, within the bounds of the space.
    """
    size, last = settings.space.size, past[-1] if past else None
    outcome = np.zeros(1 + len(STATUSES))
    outcome[0 if last is None else 1 + STATUSES.index(last.status)] = 1.0
    measured, moment, curve = _measured(last)
    rows = np.zeros((settings.history, 4 + size))
    for place, result in zip(rows, reversed(past), strict=False):
        place[:] = [1.0, result.score, *_shown(result), *settings.space.action(result.recipe)]
    used = sum(result.time_s for result in past) / 3600.0
    limit = settings.lab_time_h
    values = {
        "budget_left": [1.0 - len(past) / settings.experiments],
        "time_used": [0.0 if limit is None else min(used / limit, 1.0)],
        "best_score": [max((result.score for result in past), default=0.0)],
        "last_outcome": outcome,
        "last_measured": measured,
        "last_moment": moment,
        "last_curve": curve,
        "last_action": np.zeros(size) if last is None else settings.space.action(last.recipe),
        "history": rows.ravel(),
    }
    return {name: np.array(value, np.float32) for name, value in values.items()}


def _share(kelvin: float | None) -> float:
    return 0.0 if kelvin is None else float(np.clip(kelvin / SCALE_K, 0.0, 4.0))


def _shown(result: Result) -> tuple[float, float]:
    found = result.transition
    return (0.0, 0.0) if found is None else (_share(found.midpoint_k), _share(found.onset_k))


def _measured(last: Result | None) -> tuple[list[float], list[float], NDArray[np.float64]]:
    found = None if last is None else last.transition
    if found is None:
        return [0.0] * 8, [0.0] * 3, np.zeros(CURVE)
    temperatures = (found.zero_k, found.midpoint_k, found.onset_k)
    pairs = [part for t in temperatures for part in (float(t is not None), _share(t))]
    room = float(np.clip(np.log10(max(found.room_ohm, 1e-12)) / 10.0, -2.0, 2.0))
    shielded = found.shielded
    moment = [float(shielded is not None), _share(found.moment_onset_k), shielded or 0.0]
    moment[2] = float(np.clip(moment[2], -2.0, 2.0))
    places = np.linspace(0.0, len(found.curve_ohm) - 1.0, CURVE).round().astype(np.int64)
    relative = np.array(found.curve_ohm)[places] / max(found.room_ohm, 1e-12)
    return [*pairs, room, 1.0], moment, np.clip(relative, -1.0, 3.0)
