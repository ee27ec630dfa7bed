"""The native vector environment behind ``gym.make_vec("labenv/SolidStateSynthesis-v0", N)``.

All proposals of a step are carried out as one batch, which is some ten times faster than N single
environments. For the same seeds and actions each row gives the single environment's numbers.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from labenv.envs.actions import action_masks, action_space, read_rows
from labenv.envs.episodes import OK, Episodes
from labenv.envs.ledger import OUTCOMES
from labenv.envs.observation import observation_space, observe
from labenv.envs.settings import read_settings
from labenv.envs.synthesis import SEEDS
from labenv.tasks.options import check_whole_number
from labenv_schemas.errors import ConfigError, ProposalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.envs.episodes import StepRows
    from labenv.envs.observation import Observation
    from labenv.envs.settings import SynthesisSettings
    from labenv.tasks.task import Task

    Bools = NDArray[np.bool_]
    Infos = dict[str, Any]
    VectorStep = tuple[Observation, NDArray[np.float64], Bools, Bools, Infos]

_OUTCOME_NAMES = np.array(OUTCOMES, dtype=object)


class SolidStateSynthesisVectorEnv(VectorEnv["Observation", "NDArray[np.generic]", Any]):
    """N campaigns in N laboratories, stepped together.

    The autoreset mode is declared in ``metadata["autoreset_mode"]``. With NEXT_STEP (the default)
    the step after an episode's end resets it and ignores its action; with SAME_STEP the last
    observation and info are in ``infos["final_obs"]`` and ``infos["final_info"]``; with DISABLED
    call ``reset(options={"reset_mask": mask})``.

    Every entry of the infos comes with a mask ``_entry`` that says for which episodes it holds.

    Args:
        num_envs: Number of episodes, N.
        task: A task or its name; None for that of BaTiO3, or of the target given.
        autoreset_mode: What happens at the end of an episode.
        threads: Threads that share the episodes; None for as many as there are processors. The
            numbers do not depend on it.
        max_episode_steps: Not known: the budget ends an episode.
        render_mode: None.
        **settings: See `labenv.envs.settings.make_settings`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's own type
        "autoreset_mode": AutoresetMode.NEXT_STEP,
        "render_modes": [],
    }

    def __init__(
        self,
        num_envs: int = 1,
        task: str | Task | None = None,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **settings: Any,  # noqa: ANN401 - those of make_settings
    ) -> None:
        check_whole_number("num_envs", num_envs, 1)
        if threads is not None:
            check_whole_number("threads", threads, 1)
        if max_episode_steps is not None:
            raise ConfigError("episodes end by their budget; give budget={'experiments': ...}")
        if render_mode is not None:
            raise ConfigError("the vector environment does not render; make a single one")
        self.num_envs = num_envs
        self._mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._mode}
        self._settings = read_settings(task, settings, ("autoreset_mode", "threads"))
        space = self._settings.task.space
        self.single_action_space = action_space(space, self._settings.action_type)
        self.single_observation_space = observation_space(self._settings.ledger_shape)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self._episodes = Episodes(self._settings, num_envs, threads or cpus or 1)
        self._generators: list[np.random.Generator] | None = None
        self._ended = np.ones(num_envs, dtype=np.bool_)

    @property
    def settings(self) -> SynthesisSettings:
        """What the environment is made of."""
        return self._settings

    @property
    def task(self) -> Task:
        """The goal."""
        return self._settings.task

    @property
    def parallelism(self) -> int:
        """Proposals in flight at most, in each episode."""
        return self._settings.parallelism

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Infos]:
        """Begin episodes.

        Args:
            seed: An integer seeds episode i with seed + i; a sequence gives each its own; None lets
                each episode's random stream go on.
            options: ``{"reset_mask": mask}`` to reset some episodes only, shape (N,), bool.

        Returns:
            Observations of all episodes, and infos of those that were reset.
        """
        mask = _reset_mask(dict(options or {}), self.num_envs)
        self._seed(seed, mask)
        self._begin(mask)
        return self._observations(), self._reset_infos(mask)

    def step(self, actions: NDArray[np.generic]) -> VectorStep:
        """Hand in one proposal for each episode.

        Args:
            actions: Of the action space, shape (N, n).

        Returns:
            Observations, rewards, terminations, truncations, infos.

        Raises:
            ResetNeeded: Before `reset`, or with autoreset disabled if an episode has ended.
            ProposalError: If the actions do not fit the action space; nothing has moved then.
        """
        if self._generators is None:
            raise ResetNeeded("call reset() before the environment is used")
        ended = self._ended.copy()
        if self._mode is not AutoresetMode.NEXT_STEP and np.any(ended):
            which = ", ".join(map(str, np.flatnonzero(ended)))
            raise ResetNeeded(f"episodes {which} have ended; reset them with options['reset_mask']")
        array = np.asarray(actions)
        expected = (self.num_envs, self.task.space.n)
        if array.shape != expected:
            raise ProposalError(f"actions have shape {expected}, got {array.shape}")
        rows = np.flatnonzero(~ended)
        reward = np.zeros(self.num_envs)
        terminated, truncated = np.zeros((2, self.num_envs), dtype=np.bool_)
        infos: Infos = {}
        if len(rows):
            values, units = read_rows(
                self.task.space, self._settings.action_type, array[rows], rows
            )
            given = self._episodes.step(rows, values, units)
            reward[rows] = given.reward
            goal, broken = self._episodes.goal(rows), self._episodes.broken(rows)
            terminated[rows] = goal
            truncated[rows] = ~goal & (broken | self._episodes.exhausted(rows))
            infos = self._step_infos(rows, given, terminated, truncated)
        if np.any(ended):
            self._begin(ended)
            infos = _merged(infos, self._reset_infos(ended), ended)
        self._ended = terminated | truncated
        observations = self._observations()
        if self._mode is AutoresetMode.SAME_STEP and np.any(self._ended):
            observations, infos = self._reset_in_step(observations, infos)
        return observations, reward, terminated, truncated, infos

    def action_masks(self) -> Bools:
        """Return which levels can still be finished in the lab time left.

        Returns:
            True where allowed, shape (N, sum of levels).

        Raises:
            ConfigError: If the action space is not discrete.
        """
        if self._settings.action_type != "discrete":
            raise ConfigError("only discrete actions have masks; make the env with 'discrete'")
        limit_s = self._settings.budget.lab_time_s
        now_s = self._episodes.ledger.now_s
        left_s = np.full(self.num_envs, np.inf) if limit_s is None else limit_s - now_s
        return action_masks(self.task.space, left_s)

    # ---------------------------------------------------------------------------------- inside

    def _seed(self, seed: int | Sequence[int | None] | None, mask: Bools) -> None:
        if seed is None or isinstance(seed, int | np.integer):
            first = None if seed is None else int(seed)
            seeds = [None if first is None else first + row for row in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ConfigError(f"{len(seeds)} seeds were given for {self.num_envs} episodes")
        if self._generators is None:
            self._generators = [seeding.np_random(one)[0] for one in seeds]
            return
        for row in np.flatnonzero(mask).tolist():
            if seeds[row] is not None:
                self._generators[row] = seeding.np_random(seeds[row])[0]

    def _begin(self, mask: Bools) -> None:
        rows = np.flatnonzero(mask)
        generators = self._generators or []
        seeds = [int(generators[row].integers(SEEDS)) for row in rows.tolist()]
        self._episodes.begin(rows, seeds)
        self._ended[rows] = False

    def _reset_in_step(self, last: Observation, infos: Infos) -> tuple[Observation, Infos]:
        """Begin anew what has ended and return what to show; SAME_STEP only.

        Args:
            last: The observations with which it ended.
            infos: The infos with which it ended.

        Returns:
            The new observations, and infos that hold the last ones.
        """
        ended = self._ended.copy()
        final_obs = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(ended).tolist():
            final_obs[row] = {name: array[row].copy() for name, array in last.items()}
        final = {name: array.copy() for name, array in infos.items()}
        for name in [name for name in final if not name.startswith("_")]:
            for part, rows in ((final, ended), (infos, ~ended)):
                part[f"_{name}"] &= rows
                if not np.any(part[f"_{name}"]):
                    del part[name], part[f"_{name}"]
        self._begin(ended)
        infos = _merged(infos, self._reset_infos(ended), ended)
        infos |= {"final_obs": final_obs, "_final_obs": ended.copy()}
        infos |= {"final_info": final, "_final_info": ended.copy()}
        return self._observations(), infos

    def _observations(self) -> Observation:
        return observe(self._episodes.ledger, self._settings.budget)

    def _reset_infos(self, mask: Bools) -> Infos:
        ledger = self._episodes.ledger
        state = {"best_score": ledger.best, "lab_time_s": ledger.now_s, "cost": ledger.cost}
        infos: Infos = {}
        for name, array in state.items():
            infos[name] = np.where(mask, array, 0.0)
            infos[f"_{name}"] = mask.copy()
        return infos

    def _step_infos(
        self, rows: NDArray[np.int64], given: StepRows, terminated: Bools, truncated: Bools
    ) -> Infos:
        stepped = np.zeros(self.num_envs, dtype=np.bool_)
        stepped[rows] = True
        infos = self._reset_infos(stepped)
        arrived = np.zeros(self.num_envs, dtype=np.bool_)
        arrived[rows] = given.results > 0
        self._add(infos, "replicate", rows, self._episodes.replicate[rows], stepped)
        self._add(infos, "results", rows, given.results, stepped)
        self._add(infos, "scored", rows, given.scored, stepped)
        if np.any(arrived):
            self._add(infos, "status", rows, _OUTCOME_NAMES[given.outcome], arrived)
            self._add(infos, "score", rows, given.value, arrived)
        self._add_messages(infos, rows, given)
        ended = terminated | truncated
        if np.any(ended):
            self._add_episode(infos, ended, terminated)
        return infos

    def _add(
        self,
        infos: Infos,
        name: str,
        rows: NDArray[np.int64],
        values: NDArray[Any],
        mask: Bools,
    ) -> None:
        array = np.zeros(self.num_envs, dtype=values.dtype)
        if values.dtype == object:
            array[:] = None
        array[rows] = values
        if values.dtype == object:
            array[~mask] = None
        infos[name], infos[f"_{name}"] = array, mask.copy()

    def _add_messages(self, infos: Infos, rows: NDArray[np.int64], given: StepRows) -> None:
        failed = (given.place >= 0) & (given.outcome != OK)
        if not np.any(failed):
            return
        messages = np.full(self.num_envs, None, dtype=object)
        mask = np.zeros(self.num_envs, dtype=np.bool_)
        for row, place in zip(rows[failed].tolist(), given.place[failed].tolist(), strict=True):
            messages[row], mask[row] = self._episodes.message(row, place), True
        infos["message"], infos["_message"] = messages, mask

    def _add_episode(self, infos: Infos, ended: Bools, terminated: Bools) -> None:
        ledger, every = self._episodes.ledger, np.arange(self.num_envs)
        broken = self._episodes.broken(every)
        end = np.full(self.num_envs, None, dtype=object)
        end[ended] = "budget"
        end[ended & broken] = "machine_failure"
        end[terminated] = "goal"
        infos["episode_end"], infos["_episode_end"] = end, ended.copy()
        for name, array in (
            ("episode_score", ledger.best),
            ("episode_return", ledger.total),
            ("episode_experiments", ledger.submitted),
        ):
            infos[name] = np.where(ended, array, np.zeros_like(array))
            infos[f"_{name}"] = ended.copy()


def _merged(infos: Infos, more: Infos, rows: Bools) -> Infos:
    """Return infos with those of some other rows put in."""
    for name, array in more.items():
        if name in infos:
            infos[name] = np.where(rows, array, infos[name])
        else:
            infos[name] = array
    return infos


def _autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    names = {m.name: m for m in AutoresetMode} | {m.value: m for m in AutoresetMode}
    found = mode if isinstance(mode, AutoresetMode) else names.get(str(mode))
    if found is None:
        known = ", ".join(m.name for m in AutoresetMode)
        raise ConfigError(f"autoreset_mode {mode!r} is not known; there are {known}")
    return found


def _reset_mask(options: dict[str, Any], count: int) -> Bools:
    mask = options.pop("reset_mask", None)
    if options:
        raise ConfigError(f"reset takes only 'reset_mask', got {', '.join(map(repr, options))}")
    if mask is None:
        return np.ones(count, dtype=np.bool_)
    array = np.asarray(mask)
    if array.shape != (count,) or array.dtype != np.bool_ or not np.any(array):
        raise ConfigError(
            f"reset_mask must be a bool array of shape ({count},) with a True in it, got "
            f"{array.dtype} {array.shape}"
        )
    return array.copy()
