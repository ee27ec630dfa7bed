"""`labenv/PhaseMapping-v0`: map which phases two precursors give, in as little lab time as may be.

A step fires and scans points of composition, temperature and hold. Each point is labelled with the
phases that its noisy scan shows; the nearest measured point labels every cell of the map. The score
is the map's agreement with the hidden one less the share of the lab time spent times `cost_weight`,
so between -cost_weight and 1, and the reward of a step is what it adds to the score: rewards sum to
the last score. `labenv.tasks.phase_mapping.atlas` says what the hidden map is.

`labenv.envs.phase_mapping_audit` is the door to the truth, with the oracle's actions; the floor
samples the action space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from labenv.envs.phase_mapping_observation import mapping_observation, mapping_observation_space
from labenv.envs.phase_mapping_settings import HOUR_S, make_mapping_settings
from labenv.lab.streams import stream
from labenv.tasks.options import check_option_names, option_names
from labenv.tasks.phase_mapping.atlas import agreement, drawn_map, hidden_map
from labenv.tasks.phase_mapping.measuring import Point, draw_laboratory, lab_time_s, measure
from labenv.tasks.phase_mapping.systems import DEFAULT_PAIRS
from labenv_schemas.errors import ConfigError, ProposalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.envs.phase_mapping_observation import Observation
    from labenv.envs.phase_mapping_settings import MappingSettings
    from labenv.tasks.phase_mapping.measuring import Conditions, Reading
    from labenv.tasks.phase_mapping.systems import MappedSystem

    Step = tuple[Observation, float, bool, bool, dict[str, Any]]

SEEDS = 2**62
INVALID_S = 0.02  # of the budget: what it costs to ask for what cannot be done


class PhaseMappingEnv(gym.Env["Observation", "NDArray[np.int64]"]):
    """The phase map of one pair of precursors per episode.

    An action names for each point a column (composition), a row (temperature) and a hold. An
    episode is *truncated* when the lab time left is not enough for any point, and *terminates* when
    the map agrees as well as `goal` asks or the policy stops. ``info["episode_end"]`` says which.

    Args:
        systems: Pairs of precursors.
        render_mode: "ansi" for text from `render`.
        **settings: See `labenv.envs.phase_mapping_settings.make_mapping_settings`.

    Raises:
        ConfigError: If a setting is wrong.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own type

    def __init__(
        self,
        systems: str | Sequence[str] = DEFAULT_PAIRS,
        render_mode: str | None = None,
        **settings: Any,  # noqa: ANN401 - those of make_mapping_settings
    ) -> None:
        if render_mode not in {None, "ansi"}:
            raise ConfigError(f"render_mode must be 'ansi' or None, not {render_mode!r}")
        known = (*(option_names(make_mapping_settings) or ()), "render_mode")
        check_option_names("the environment", settings, known)
        self.render_mode = render_mode
        self._settings = make_mapping_settings(systems, **settings)
        given = self._settings
        levels = [given.compositions, given.temperatures, len(given.holds_s) + given.can_stop]
        self.action_space = spaces.MultiDiscrete(np.array(levels * given.points))
        self.observation_space = mapping_observation_space(given)
        self._system: MappedSystem | None = None
        self._episode_seed = 0
        self._begin()

    def _begin(self) -> None:
        self._readings: list[Reading] = []
        self._status, self._spent_s, self._score, self._asked = "none", 0.0, 0.0, 0
        self._ended = False
        self._conditions: Conditions | None = None
        self._truth: NDArray[np.bool_] | None = None

    @property
    def settings(self) -> MappingSettings:
        """What the environment is made of."""
        return self._settings

    @property
    def system(self) -> MappedSystem:
        """The pair of the episode.

        Raises:
            ResetNeeded: Before the first `reset`.
        """
        if self._system is None:
            raise ResetNeeded("call reset() before the environment is used")
        return self._system

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What was measured in the episode, oldest first."""
        return tuple(self._readings)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode with a pair and a laboratory drawn anew.

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
        given = self._settings
        system = given.systems[int(self.np_random.integers(len(given.systems)))]
        self._system = system
        self._episode_seed = int(self.np_random.integers(SEEDS))
        self._begin()
        self._conditions = draw_laboratory(system, self._episode_seed, randomise=given.randomise)
        self._truth = hidden_map(
            system, given.grid(system), given.truth, given.holds_s[-1], self._conditions
        )
        return self._observation(), self._state_info()

    def step(self, action: NDArray[np.int64]) -> Step:
        """Measure the points that an action means.

        Args:
            action: Of the action space: column, row and hold of each point.

        Returns:
            Observation, reward, terminated, truncated, info.

        Raises:
            ProposalError: If the action is not of the action space; nothing has moved then.
        """
        read = np.asarray(action)
        if read.dtype.kind not in "iu" or not self.action_space.contains(read.astype(np.int64)):
            raise ProposalError(f"{action!r} is not of the action space {self.action_space}")
        grid, holds = self._settings.grid(self.system), self._settings.holds_s
        rows = read.reshape(-1, 3).tolist()
        if any(hold == len(holds) for _, _, hold in rows):
            return self._advance([], stop=True)
        cells = [column * grid.temperatures + row for column, row, _ in rows]
        return self._advance([
            Point(float(grid.x[cell]), float(grid.temperature_k[cell]), holds[hold])
            for cell, (_, _, hold) in zip(cells, rows, strict=True)
        ])

    def propose(self, points: Sequence[tuple[float, float, float]]) -> Step:
        """Measure any points; what cannot be done comes back "invalid" and costs a little time.

        Up to 16 share a furnace, whatever `points` says, and holds may be short of the menu's: the
        oracle's figures are of actions, and do not bound a plan of one's own.

        Args:
            points: Composition (0 to 1), temperature (K) and hold (s) of each, 1 to 16 of them.

        Returns:
            As `step`.

        Raises:
            ProposalError: If they cannot be read as such numbers; nothing has moved then.
        """
        try:
            read = [Point(_number(x), _number(at_k), _number(hold)) for x, at_k, hold in points]
        except (TypeError, ValueError, OverflowError) as reason:
            raise ProposalError(f"points are (composition, K, s), not {points!r}") from reason
        return self._advance(read)

    def render(self) -> str | None:
        """Return the state of the episode as text, or None without a render mode."""
        if self.render_mode != "ansi":
            return None
        used, whole = self._spent_s / HOUR_S, self._settings.budget_s / HOUR_S
        lines = [f"{self.system.name}: {len(self._readings)} points, {used:.0f} of {whole:.0f} h"]
        for reading in self._readings[-5:]:
            point = reading.point
            where = f"x = {point.x:.3f}, {point.temperature_k:.0f} K, {point.hold_s / HOUR_S:g} h"
            lines.append(f"  {where}: {' + '.join(self._names(reading))}")
        return "\n".join(lines)

    def _names(self, reading: Reading) -> list[str]:
        return [self.system.labels[i] for i in np.flatnonzero(reading.label)]

    def _advance(self, points: list[Point], *, stop: bool = False) -> Step:
        system, conditions = self.system, self._conditions
        if self._ended or conditions is None:
            raise ResetNeeded("the episode has ended; call reset() before the next step")
        given, message = self._settings, ""
        found: list[Reading] = []
        takes_s = 0.0
        if not stop:
            message = self._fault(points)
            takes_s = INVALID_S * given.budget_s
        if not stop and not message:
            takes_s = lab_time_s(points, given.scan_s)
            streams = [
                stream(self._episode_seed, "point", self._asked, place)
                for place in range(len(points))
            ]
            found = measure(system, conditions, points, given.scan_s, streams)
        self._asked += 1
        self._spent_s = min(self._spent_s + takes_s, given.budget_s)
        self._readings += found
        if not stop:
            self._status = "invalid" if message else found[-1].status
        agrees = self._agreement()
        score = agrees - given.cost_weight * self._spent_s / given.budget_s
        reward, self._score = score - self._score, score
        goal = given.goal is not None and agrees >= given.goal
        terminated = stop or goal
        truncated = not terminated and given.budget_s - self._spent_s < self._least_s()
        self._ended = terminated or truncated
        info = {**self._state_info(), **self._found_info(found, takes_s, message)}
        if self._ended:
            info["episode_end"] = "stopped" if stop else "goal" if goal else "budget"
            info["episode_score"] = float(score)
        return self._observation(), float(reward), terminated, truncated, info

    def _fault(self, points: list[Point]) -> str:
        """Return why points cannot be measured, empty if they can."""
        low, high = self._settings.grid(self.system).range_k
        if not 1 <= len(points) <= 16:
            return f"a step measures 1 to 16 points, not {len(points)}"
        for point in points:
            if not 0.0 <= point.x <= 1.0:
                return f"compositions lie between 0 and 1; asked for {point.x:g}"
            if not low - 1e-6 <= point.temperature_k <= high + 1e-6:
                return (
                    f"the map is of {low:.0f} to {high:.0f} K; asked for {point.temperature_k:g} K"
                )
            if not 60.0 <= point.hold_s <= self._settings.holds_s[-1]:
                longest_h = self._settings.holds_s[-1] / HOUR_S
                return f"holds last 60 s to {longest_h:g} h; asked for {point.hold_s:g} s"
        takes_s, left_s = lab_time_s(points, self._settings.scan_s), self._left_s()
        if takes_s > left_s:
            return f"that takes {takes_s / HOUR_S:.1f} h, but {left_s / HOUR_S:.1f} h are left"
        return ""

    def _left_s(self) -> float:
        return self._settings.budget_s - self._spent_s

    def _least_s(self) -> float:
        """Return the time that the cheapest point takes, s."""
        low = self._settings.grid(self.system).range_k[0]
        return lab_time_s([Point(0.0, low, self._settings.holds_s[0])], self._settings.scan_s)

    def _agreement(self) -> float:
        drawn = drawn_map(self._settings.grid(self.system), self._readings)
        if drawn is None or self._truth is None:
            return 0.0
        return float(agreement(drawn, self._truth).mean())

    def _observation(self) -> Observation:
        return mapping_observation(
            self._settings, self.system, self._readings, self._status, self._spent_s
        )

    def _state_info(self) -> dict[str, Any]:
        return {"system": self.system.name, "lab_time_h": self._spent_s / HOUR_S}

    def _found_info(self, found: list[Reading], takes_s: float, message: str) -> dict[str, Any]:
        info: dict[str, Any] = {"status": self._status, "cost_h": takes_s / HOUR_S}
        if found:
            info["labels"] = tuple(" + ".join(self._names(reading)) for reading in found)
            info["notes"] = tuple(reading.note for reading in found)
        if message:
            info["message"] = message
        return info


def _number(value: object) -> float:
    """Return a number as a float.

    Raises:
        TypeError: Of a truth value, or of text.
    """
    if isinstance(value, bool | np.bool_ | str | bytes):
        raise TypeError(f"{value!r} is no number")
    return float(value)  # type: ignore[arg-type]
