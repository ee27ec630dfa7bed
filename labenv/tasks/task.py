"""A task: a goal, the proposals it offers, how its measurements are read, and what they are worth.

The score of an outcome, between 0 and 1, comes from the *analysed measurement* and nothing else::

    score  = gate * max(0, f - u)
    f      = sum of the measured weight fractions of the target phases
    u      = root of the sum of their squared standard uncertainties
    gate   = 1 if the fit is "ok", 1/2 if "poor_fit", 0 if "unidentified"

so a purity counts as far as the measurement shows it, and a scan too short to tell is worth less.
An `invalid` plan and `failed_chemistry` score 0: both are lessons. `failed_machine` and `cancelled`
have no score at all (None). The reward of an outcome is what it adds to the best score so far, less
a small share of its cost::

    reward = max(0, score - best_before) - cost_share * cost - (invalid_penalty if invalid)

so the rewards of an episode add up to its best score minus what it spent, whatever the order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from labenv.tasks.plugins import PluginCatalogue
from labenv_schemas.campaign import LabConfig
from labenv_schemas.outcome import Outcome, Score

if TYPE_CHECKING:
    from labenv.tasks.space import ProposalSpace
    from labenv_schemas.analysis import AnalysisStatus, PhaseAnalysis
    from labenv_schemas.measurement import Diffractogram
    from labenv_schemas.task import TaskSpec

GATES: dict[AnalysisStatus, float] = {"ok": 1.0, "poor_fit": 0.5, "unidentified": 0.0}

task_catalogue = PluginCatalogue("task", "labenv.tasks.catalogue", "labenv.tasks")


class Quantifies(Protocol):
    """What reads phase fractions out of a diffractogram."""

    def quantify(self, diffractogram: Diffractogram) -> PhaseAnalysis:
        """Return the analysis."""
        ...


@dataclass(frozen=True)
class RewardRule:
    """The constants of the reward.

    Attributes:
        cost_share: Reward taken per unit of the lab's currency.
        invalid_penalty: Reward taken for a plan that the lab refuses.
    """

    cost_share: float = 2e-5
    invalid_penalty: float = 0.01


@dataclass(frozen=True)
class Task:
    """A goal with everything needed to pursue it.

    Attributes:
        spec: Name, material system, target, goal and budget.
        space: The proposals on offer.
        lab: The laboratory it is meant for.
        reward_rule: Constants of the reward.
    """

    spec: TaskSpec
    space: ProposalSpace
    lab: LabConfig = field(default_factory=LabConfig)
    reward_rule: RewardRule = field(default_factory=RewardRule)

    def merit(self, status: AnalysisStatus, fraction: float, uncertainty: float) -> float:
        """Return the score of a measured purity.

        Args:
            status: Of the analysis.
            fraction: Measured weight fraction of the target phases, 0 to 1.
            uncertainty: Its standard uncertainty.

        Returns:
            The score, 0 to 1.
        """
        return min(1.0, GATES[status] * max(0.0, fraction - uncertainty))

    def score(self, outcome: Outcome, best_before: float = 0.0) -> Score:
        """Return what an analysed outcome is worth.

        Args:
            outcome: With its analyses.
            best_before: Best score of the episode until now, 0 to 1.

        Returns:
            Score, reward, the reason in words, and whether the goal is reached.
        """
        cost = self.reward_rule.cost_share * outcome.cost
        if outcome.status in {"failed_machine", "cancelled"}:
            return Score(value=None, reward=0.0, reason=f"not scored: {outcome.message}")
        if outcome.status != "ok":
            penalty = self.reward_rule.invalid_penalty if outcome.status == "invalid" else 0.0
            return Score(value=0.0, reward=-cost - penalty, reason=outcome.message or "")
        analysis = outcome.phase_analysis
        if analysis is None:
            return Score(value=0.0, reward=-cost, reason="nothing was measured")
        found = [p for p in analysis.phases if p.name in self.spec.target_phases]
        fraction = sum(p.weight_fraction for p in found)
        uncertainty = math.hypot(*[p.uncertainty for p in found])
        value = self.merit(analysis.status, fraction, uncertainty)
        return Score(
            value=value,
            reward=max(0.0, value - best_before) - cost,
            reason=f"{fraction:.3f} ± {uncertainty:.3f} of {self.spec.target}, fit {analysis.status}",
            success=value >= self.spec.goal_fraction,
        )


def make_task(name: str) -> Task:
    """Return a task by its name.

    Args:
        name: Such as ``"batio3-synthesis"``; see `task_names`.

    Returns:
        The task.

    Raises:
        UnknownPluginError: If no task has this name; the message lists those that do.
    """
    task = task_catalogue.factory(name)()
    if not isinstance(task, Task):
        raise TypeError(f"task plug-in {name!r} made a {type(task).__name__}, not a Task")
    return task


def task_names() -> tuple[str, ...]:
    """Return the names of all tasks, sorted."""
    return task_catalogue.names()
