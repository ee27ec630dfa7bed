"""What a policy is: anything that proposes experiments and is told what they gave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from labenv.tasks.plugins import PluginCatalogue
from labenv_schemas.errors import ConfigError, PolicyError, ProposalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from labenv.tasks.space import ProposalSpace
    from labenv.tasks.task import Task
    from labenv_schemas.outcome import Outcome, Score
    from labenv_schemas.proposal import Proposal

    Floats = NDArray[np.float64]

policy_catalogue = PluginCatalogue(
    "policy", "labenv.policies.catalogue", "labenv.policies", PolicyError
)


class Policy(ABC):
    """Proposes experiments toward a task.

    **Determinism.** What a policy proposes is a function of the seed and of the sequence of calls
    since `reset`, and of nothing else, so a campaign is resumed by making the same calls again.

    **Pending work.** `propose` is told what is in flight; a proposal in flight has not been
    observed yet and will be.

    **Failures.** `observe` is called for every outcome. A score without value (a machine failed,
    the experiment was cancelled) says nothing about the proposal and must teach nothing; an invalid
    plan or failed chemistry has score 0 and does.
    """

    @abstractmethod
    def reset(self, task: Task, seed: int) -> None:
        """Forget everything and begin a campaign.

        Args:
            task: The task.
            seed: Of the policy's own randomness.
        """

    @abstractmethod
    def propose(self, pending: Sequence[Proposal] = ()) -> Proposal:
        """Return the next experiment.

        Args:
            pending: Proposals in flight, in order of submission.
        """

    @abstractmethod
    def observe(self, proposal: Proposal, outcome: Outcome, score: Score) -> None:
        """Take note of a result.

        Args:
            proposal: What was proposed, by this policy or by anyone.
            outcome: What it gave.
            score: What the task makes of it.
        """


class SpacePolicy(Policy):
    """A policy that chooses points of the task's proposal space.

    It never proposes the same plan twice, nor one that is in flight, while the space holds others.
    A plan from outside the space (a person's, a language model's) is ignored by `observe`.
    """

    _ATTEMPTS = 64

    def reset(self, task: Task, seed: int) -> None:
        """Forget everything and begin a campaign.

        Args:
            task: The task.
            seed: Of the policy's own randomness, at least 0.

        Raises:
            ConfigError: If the seed is negative.
        """
        if seed < 0:
            raise ConfigError(f"a policy's seed must be at least 0, got {seed}")
        self._space = task.space
        self._generator = np.random.default_rng([seed, 0x706F6C])
        self._seen: set[tuple[float, ...]] = set()

    @property
    def space(self) -> ProposalSpace:
        """The space of the task at hand.

        Raises:
            ConfigError: Before `reset`.
        """
        space: ProposalSpace | None = getattr(self, "_space", None)
        if space is None:
            raise ConfigError(f"{type(self).__name__} needs reset(task, seed) before it proposes")
        return space

    def propose(self, pending: Sequence[Proposal] = ()) -> Proposal:
        """Return the next experiment.

        Args:
            pending: Proposals in flight.

        Returns:
            A proposal of the task's space.
        """
        space = self.space
        waiting = [unit for unit in map(self.locate, pending) if unit is not None]
        taken = self._seen | {space.key(unit) for unit in waiting}
        unit = np.asarray(self._choose(waiting, taken), dtype=np.float64)
        self._seen.add(space.key(unit))
        return space.decode_unit(unit)

    def observe(self, proposal: Proposal, outcome: Outcome, score: Score) -> None:
        """Take note of a result.

        Args:
            proposal: What was proposed.
            outcome: What it gave.
            score: What the task makes of it.
        """
        del outcome
        unit = self.locate(proposal)
        if unit is None:
            return
        if score.value is None:  # it may be tried again
            self._seen.discard(self.space.key(unit))
        else:
            self._seen.add(self.space.key(unit))
            self._learn(unit, score.value)

    def locate(self, proposal: Proposal) -> Floats | None:
        """Return the point of the unit cube of a proposal, shape (n,), or None if it has none."""
        try:
            return self.space.encode_unit(proposal)
        except ProposalError:
            return None

    @abstractmethod
    def _choose(self, waiting: list[Floats], taken: set[tuple[float, ...]]) -> ArrayLike:
        """Return a point of the unit cube, shape (n,), whose key is not in `taken` if possible."""

    def _learn(self, unit: Floats, value: float) -> None:
        """Take note of a score, 0 to 1, at a point."""


def make_policy(name: str, /, **options: Any) -> Policy:  # noqa: ANN401 - the policy's own
    """Return a policy by its name.

    Args:
        name: Such as ``"bayesian"``; see `policy_names`.
        **options: The policy's own.

    Returns:
        The policy, to be `reset` before use.

    Raises:
        UnknownPluginError: If no policy has this name; the message lists those that do.
        ConfigError: If the policy does not take such options (the message lists those it does), or
            needs a package that is missing.
        PolicyError: If another distribution's policy fails, or is no `Policy`.
    """
    return cast("Policy", policy_catalogue.make(name, options, Policy))


def policy_label(name: str) -> str:
    """Return the name of a policy for messages, with the distribution it comes from."""
    return policy_catalogue.label(name)


def policy_names() -> tuple[str, ...]:
    """Return the names of all policies, sorted."""
    return policy_catalogue.names()
