"""`labenv/SuperconductorSearch-v0`: raise the measured critical temperature of YBa2Cu3Oy ceramics.

A step weighs and fires a powder, anneals the bar, and measures its resistance and, if asked, its
moment. Its score is the measured temperature of zero resistance over 100 K: 0 where no path of
superconductor percolates, nothing is measured, or the bar melted. The reward is what the score adds
to the best of the episode, so that an episode's return is the best Tc measured, over 100 K.

The laboratory's furnace offsets, kinetics, grains, diffusivity and material are drawn anew for each
episode and told to nobody; `labenv.envs.superconductor_search_audit` is the door for evaluation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from labenv.envs.superconductor_search_settings import (
    make_search_settings,
    search_observation,
    search_observation_space,
)
from labenv.tasks.options import check_option_names, option_names
from labenv.tasks.superconductor_search import Conditions, Recipe, read_recipe, run_experiment
from labenv.tasks.superconductor_search.recipe import ROUTES
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.envs.superconductor_search_settings import Observation, SearchSettings
    from labenv.tasks.superconductor_search import Result

    Step = tuple[Observation, float, bool, bool, dict[str, Any]]

SEEDS = 2**62


class SuperconductorSearchEnv(gym.Env["Observation", "NDArray[np.floating[Any]]"]):
    """A search for the recipe with the highest measured Tc.

    An episode is *truncated* when its experiments or lab time are used up and *terminates* when
    `goal_tc_k` is measured, if there is one. ``info["episode_end"]`` says which.

    Args:
        routes: Precursors of barium on offer.
        render_mode: "ansi" for text from `render`.
        **settings: See `labenv.envs.superconductor_search_settings.make_search_settings`.

    Raises:
        ConfigError: If a setting is wrong.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own type

    def __init__(
        self,
        routes: Sequence[str] = ROUTES,
        render_mode: str | None = None,
        **settings: Any,  # noqa: ANN401 - those of make_search_settings
    ) -> None:
        if render_mode not in {None, "ansi"}:
            raise ConfigError(f"render_mode must be 'ansi' or None, not {render_mode!r}")
        known = (*(option_names(make_search_settings) or ()), "render_mode")
        check_option_names("the environment", settings, known)
        self.render_mode = render_mode
        self._settings = make_search_settings(routes, **settings)
        self.action_space = spaces.Box(-1.0, 1.0, (self._settings.space.size,), np.float32)
        self.observation_space = search_observation_space(self._settings)
        self._conditions: Conditions | None = None
        self._past: list[Result] = []
        self._ended = False

    @property
    def settings(self) -> SearchSettings:
        """What the environment is made of."""
        return self._settings

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode in a laboratory drawn anew.

        Args:
            seed: Restarts the environment's random stream; None continues it.
            options: None are known.

        Returns:
            Observation and info.

        Raises:
            ConfigError: If an option is given.
        """
        if options:
            raise ConfigError(f"reset takes no options, got {', '.join(map(repr, options))}")
        super().reset(seed=seed)
        self._conditions = Conditions.drawn(int(self.np_random.integers(1, SEEDS)))
        self._past, self._ended = [], False
        return self._observation(), self._bill()

    def step(self, action: NDArray[np.floating[Any]]) -> Step:
        """Carry out the recipe that an action means.

        Args:
            action: Of the action space.

        Returns:
            Observation, reward, terminated, truncated, info.

        Raises:
            ProposalError: If the action is not of the action space; nothing has moved then.
        """
        return self._advance(self._settings.space.recipe(action))

    def propose(self, recipe: Recipe | Mapping[str, Any]) -> Step:
        """Carry out a recipe in SI units.

        One beyond what the laboratory can do comes back as "invalid" and uses up an experiment.

        Args:
            recipe: A `Recipe`, or a mapping with some of its fields.

        Returns:
            As `step`.

        Raises:
            ProposalError: If it cannot be read as a recipe; nothing has moved then.
        """
        return self._advance(read_recipe(recipe))

    def render(self) -> str | None:
        """Return the state of the episode as text, or None without a render mode."""
        if self.render_mode != "ansi":
            return None
        bill, shown = self._bill(), self._past[-5:]
        lines = [
            f"{len(self._past)} of {self._settings.experiments} experiments, "
            f"{bill['lab_time_h']:.0f} h, best Tc {100.0 * bill['best_score']:.1f} K"
        ]
        lines += [f"  {r.status} {100.0 * r.score:.1f} K: {r.recipe.text()}" for r in shown]
        return "\n".join(lines)

    def _advance(self, recipe: Recipe) -> Step:
        if self._conditions is None or self._ended:
            raise ResetNeeded("call reset() before the first step and after an episode's end")
        best = max((result.score for result in self._past), default=0.0)
        result = run_experiment(recipe, self._settings.space, self._conditions, len(self._past))
        self._past.append(result)
        bill, goal = self._bill(), self._settings.goal_tc_k
        found = result.transition
        zero_k = found.zero_k if found is not None and result.status == "ok" else None
        terminated = goal is not None and zero_k is not None and zero_k >= goal
        limit = self._settings.lab_time_h
        late = limit is not None and bill["lab_time_h"] >= limit
        truncated = not terminated and (late or len(self._past) >= self._settings.experiments)
        self._ended = terminated or truncated
        info = {**bill, **_result_info(result)}
        if self._ended:
            info["episode_end"] = "goal" if terminated else "budget"
        reward = float(max(result.score - best, 0.0))
        return self._observation(), reward, terminated, truncated, info

    def _observation(self) -> Observation:
        return search_observation(self._settings, self._past)

    def _bill(self) -> dict[str, Any]:
        return {
            "experiments": len(self._past),
            "best_score": float(max((result.score for result in self._past), default=0.0)),
            "lab_time_h": float(sum(result.time_s for result in self._past) / 3600.0),
            "cost": float(sum(result.cost for result in self._past)),
        }


def _result_info(result: Result) -> dict[str, Any]:
    info: dict[str, Any] = {
        "status": result.status,
        "score": float(result.score),
        "recipe": result.recipe.text(),
    }
    if result.reason:
        info["reason"] = result.reason
    if result.transition is not None:
        found = result.transition
        measured = {
            "tc_zero_k": found.zero_k,
            "tc_midpoint_k": found.midpoint_k,
            "tc_onset_k": found.onset_k,
            "resistance_300k_ohm": found.room_ohm,
            "tc_magnetic_onset_k": found.moment_onset_k,
            "shielding_fraction": found.shielded,
        }
        info |= {name: float(value) for name, value in measured.items() if value is not None}
    return info
