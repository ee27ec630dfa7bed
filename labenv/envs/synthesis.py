"""`labenv/SolidStateSynthesis-v0`: a step is a proposal; the reward comes from what was measured.

See `docs/environment.md` for the spaces, the reward and the ends of an episode in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded

from labenv.envs.actions import action_masks, action_space, read_actions
from labenv.envs.ledger import FITS, OUTCOMES, Ledger, ResultRows
from labenv.envs.observation import observation_space, observe
from labenv.envs.rendering import render_text
from labenv.envs.settings import read_settings
from labenv.tasks.session import Session
from labenv_schemas.errors import ConfigError, ProposalError
from labenv_schemas.proposal import Proposal, parse_proposal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.envs.observation import Observation
    from labenv.envs.settings import SynthesisSettings
    from labenv.tasks.session import Result, Wait
    from labenv.tasks.task import Task

    Floats = NDArray[np.float64]
    Step = tuple[Observation, float, bool, bool, dict[str, Any]]

SEEDS = 2**62


class RenderModeError(ConfigError, TypeError):
    """There is no such render mode.

    A TypeError too, because Stable-Baselines3's `make_vec_env` asks every environment for
    "rgb_array" and makes those without it only after a TypeError.
    """


class SolidStateSynthesisEnv(gym.Env["Observation", "NDArray[np.generic]"]):
    """A campaign in a solid-state laboratory.

    A step hands in one proposal. With `parallelism` 1 its result arrives in the same step; with
    more, the lab's clock runs only when all places in flight are taken, until the next result. The
    step that uses up the budget waits for everything in flight.

    An episode *terminates* when a result reaches the task's goal and is *truncated* when the budget
    is used up or, by default, when a machine fails. A goal reached by the last affordable
    experiment is a success: terminated and not truncated. ``info["episode_end"]`` says which.

    Args:
        task: A task or its name; None for that of BaTiO3, or of the target given.
        render_mode: "ansi" for text from `render`.
        **settings: See `labenv.envs.settings.make_settings`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - Gymnasium's own type

    def __init__(
        self,
        task: str | Task | None = None,
        render_mode: str | None = None,
        **settings: Any,  # noqa: ANN401 - those of make_settings
    ) -> None:
        if render_mode not in {None, "ansi"}:
            raise RenderModeError(f"render_mode must be 'ansi' or None, not {render_mode!r}")
        self.render_mode = render_mode
        self._settings = read_settings(task, settings, ("render_mode",))
        self.action_space = action_space(self._settings.task.space, self._settings.action_type)
        self.observation_space = observation_space(self._settings.ledger_shape)
        self._ledger = Ledger(self._settings.ledger_shape, 1)
        self._session: Session | None = None
        self._episode_seed: int | None = None
        self._calls: list[Proposal | Wait] = []  # replayed to rebuild the session of a copy
        self._ended = False

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
        """Proposals in flight at most."""
        return self._settings.parallelism

    @property
    def session(self) -> Session:
        """The session of the running episode.

        Raises:
            ResetNeeded: Before the first `reset`.
        """
        if self._session is None:
            if self._episode_seed is None:
                raise ResetNeeded("call reset() before the environment is used")
            self._session = self._open_session(self._episode_seed)
            for call in self._calls:
                if isinstance(call, str):
                    self._session.collect(call)
                else:
                    self._session.submit(call)
        return self._session

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode: a new campaign in a lab whose hidden conditions are drawn anew.

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
        self.close()
        self._episode_seed = int(self.np_random.integers(SEEDS))
        self._calls = []
        self._ended = False
        self._ledger.clear(np.array([0]))
        return self._observation(), self._state_info()

    def step(self, action: NDArray[np.generic]) -> Step:
        """Hand in the proposal that an action stands for.

        Args:
            action: Of the action space.

        Returns:
            Observation, reward, terminated, truncated, info.

        Raises:
            ProposalError: If the action is not of the action space; nothing has moved then.
        """
        space = self.task.space
        actions = np.asarray(action)[None]
        if actions.shape != (1, space.n):
            raise ProposalError(
                f"an action has shape ({space.n},), got {actions.shape[1:]}; the parameters are "
                f"{', '.join(space.names)}"
            )
        values, units = read_actions(space, self._settings.action_type, actions)
        return self._advance(space.decode(values[0]), units[0])

    def propose(self, proposal: Proposal | Mapping[str, Any] | str) -> Step:
        """Hand in a proposal of whatever form.

        What the lab cannot do comes back as an outcome `invalid` with a message, not as an error.

        Args:
            proposal: The plan, as a model, as plain data, or as JSON text.

        Returns:
            As `step`.

        Raises:
            ProposalError: If it is no plan at all; each fault is named, and nothing has moved.
        """
        if not isinstance(proposal, Proposal):
            proposal = _read_proposal(proposal)
        try:
            unit = self.task.space.encode_unit(proposal)
        except ProposalError:
            unit = np.zeros(self.task.space.n)
        return self._advance(proposal, unit)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which levels can still be finished in the lab time left.

        Returns:
            True where allowed, shape (sum of levels,), parameter after parameter, as
            sb3_contrib's MaskablePPO takes them.

        Raises:
            ConfigError: If the action space is not discrete.
        """
        if self._settings.action_type != "discrete":
            raise ConfigError("only discrete actions have masks; make the env with 'discrete'")
        limit_s = self._settings.budget.lab_time_s
        left_s = np.inf if limit_s is None else limit_s - self._ledger.now_s
        return np.asarray(action_masks(self.task.space, np.broadcast_to(left_s, (1,)))[0])

    def render(self) -> str | None:
        """Return the state of the campaign as text, or None without a render mode."""
        return render_text(self._ledger, self._settings) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Stop the lab; twice is fine."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _open_session(self, seed: int) -> Session:
        from labenv.lab.laboratory import Lab

        lab = Lab(self._settings.lab, seed=seed)
        return Session(self.task, lab, self._settings.budget)

    def _advance(self, proposal: Proposal, unit: Floats) -> Step:
        if self._ended:
            raise ResetNeeded("the episode has ended; call reset() before the next step")
        session, rows = self.session, np.array([0])
        ticket = session.submit(proposal)
        self._calls.append(proposal)
        self._ledger.submit(rows, unit[None])
        full = int(self._ledger.in_flight[0]) >= self._settings.parallelism
        results = self._collect("all" if session.exhausted else "next" if full else "none")
        if session.exhausted and session.pending and not self._goal_or_failure():
            results += self._collect("all")
        terminated, truncated, end = self._end()
        info = self._state_info()
        info["replicate"] = session.replicate_of(ticket.experiment_id) is not None
        info["results"] = len(results)
        info["scored"] = any(result.score.value is not None for result in results)
        if results:
            info |= _result_info(results[-1])
        self._ended = terminated or truncated
        if self._ended:
            info |= _episode_info(self._ledger, end)
        reward = float(sum(result.score.reward for result in results))
        return self._observation(), reward, terminated, truncated, info

    def _collect(self, wait: Wait) -> list[Result]:
        results = self.session.collect(wait)
        self._calls.append(wait)
        self._ledger.now_s[0] = self.session.lab.now_s
        for result in results:
            index = self.session.index_of(result.outcome.experiment_id)
            self._ledger.settle(_result_row(self.task, index, result))
        return results

    def _goal_or_failure(self) -> bool:
        goal = bool(self._ledger.success[0]) and self._settings.stop_on_success
        failed = self._ledger.failed_machine[0] and self._settings.machine_failure == "truncate"
        return goal or bool(failed)

    def _end(self) -> tuple[bool, bool, str]:
        """Return whether the episode terminates, whether it is truncated, and why."""
        if self._ledger.success[0] and self._settings.stop_on_success:
            return True, False, "goal"
        if self._goal_or_failure():
            return False, True, "machine_failure"
        if self.session.exhausted:
            return False, True, "budget"
        return False, False, ""

    def _observation(self) -> Observation:
        arrays = observe(self._ledger, self._settings.budget)
        return {name: array[0] for name, array in arrays.items()}

    def _state_info(self) -> dict[str, Any]:
        ledger = self._ledger
        return {
            "best_score": float(ledger.best[0]),
            "lab_time_s": float(ledger.now_s[0]),
            "cost": float(ledger.cost[0]),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}


def _read_proposal(given: object) -> Proposal:
    if isinstance(given, Mapping):
        given = dict(given)
    if not isinstance(given, dict | str | bytes):
        raise ProposalError(
            f"a plan is a Proposal, a mapping or JSON text, not a {type(given).__name__}; "
            "actions of the action space go to step()"
        )
    return parse_proposal(given)


def _result_row(task: Task, index: int, result: Result) -> ResultRows:
    outcome, score = result
    analysis = outcome.phase_analysis
    fractions, uncertainties = np.zeros((2, 1, len(task.phases)))
    quality = np.zeros((1, 2))
    if analysis is not None:
        quality[0] = analysis.r_wp, analysis.goodness_of_fit
        for phase in analysis.phases:
            column = task.phases.index(phase.name)
            fractions[0, column] = phase.weight_fraction
            uncertainties[0, column] = phase.uncertainty
    return ResultRows(
        rows=np.array([0]),
        experiment=np.array([index]),
        outcome=np.array([OUTCOMES.index(outcome.status)]),
        fit=np.array([0 if analysis is None else FITS.index(analysis.status)]),
        fractions=fractions,
        uncertainties=uncertainties,
        quality=quality,
        value=np.array([score.value or 0.0]),
        scored=np.array([score.value is not None]),
        reward=np.array([score.reward]),
        cost=np.array([outcome.cost]),
        success=np.array([score.success]),
    )


def _result_info(result: Result) -> dict[str, Any]:
    outcome, score = result
    info: dict[str, Any] = {"status": outcome.status, "score": score.value or 0.0}
    if outcome.message:
        info["message"] = outcome.message
    return info


def _episode_info(ledger: Ledger, end: str) -> dict[str, Any]:
    return {
        "episode_end": end,
        "episode_score": float(ledger.best[0]),
        "episode_return": float(ledger.total[0]),
        "episode_experiments": int(ledger.submitted[0]),
    }
