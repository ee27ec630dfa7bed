"""A task: a goal, the proposals it offers, how its measurements are read, and what they are worth.

The score of an outcome, between 0 and 1, comes from the *analysed measurement* and nothing else::

    score  = gate * max(0, f - u)
    f      = sum of the measured weight fractions of the target phases, of the whole powder
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

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from labenv.tasks.plugins import PluginCatalogue
from labenv.tasks.reading import PatternReader
from labenv_schemas.campaign import LabConfig
from labenv_schemas.errors import ConfigError
from labenv_schemas.outcome import Outcome, Score

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from labenv.tasks.space import ProposalSpace
    from labenv_schemas.analysis import AnalysisStatus, PhaseAnalysis
    from labenv_schemas.measurement import Diffractogram
    from labenv_schemas.task import TaskSpec

    Floats = NDArray[np.float64]

GATES: dict[AnalysisStatus, float] = {"ok": 1.0, "poor_fit": 0.5, "unidentified": 0.0}

NOT_MEASURED = (
    "nothing was measured: the score is what a diffractogram shows of the target, so let the plan "
    'end with a scan, {"op": "measure"}'
)

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

    cost_share: float = 5e-7
    invalid_penalty: float = 0.002


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

    @cached_property
    def phases(self) -> tuple[str, ...]:
        """Slugs of the phases that may be found: those of the material system, in its order.

        What the system has without a known structure scatters like glass and cannot be found; by
        how much the lines fall short of a standard's it is missed, see `labenv.tasks.reading`.
        """
        from labenv.physics.structures.library import phase_library
        from labenv.physics.systems import load_system

        library = phase_library()
        slugs = dict.fromkeys(load_system(self.spec.system).structures)
        return tuple(slug for slug in slugs if slug in library)

    @cached_property
    def target_columns(self) -> tuple[int, ...]:
        """Positions of the target phases in `phases`."""
        wanted = self.spec.target_phases
        return tuple(k for k, name in enumerate(self.phases) if name in wanted)

    def quantifier(self, standard: float | None = None) -> PatternReader:
        """Return what reads phase fractions out of this task's diffractograms.

        Args:
            standard: Brightness of the laboratory's diffractometer as found on a standard; None if
                none was measured, which leaves fractions of the crystalline part.

        Returns:
            The reader.
        """
        return PatternReader(self.phases, standard)

    def merit(self, gate: ArrayLike, fractions: ArrayLike, uncertainties: ArrayLike) -> Floats:
        """Return the scores of measured purities.

        Args:
            gate: 1 for a good fit, less for a doubtful one, shape (N,); see `GATES`.
            fractions: Measured weight fractions of the target phases, shape (N, T).
            uncertainties: Their standard uncertainties, shape (N, T).

        Returns:
            Scores, 0 to 1, shape (N,).
        """
        fraction = np.sum(np.asarray(fractions, dtype=np.float64), axis=-1)
        spread = np.sqrt(np.sum(np.square(np.asarray(uncertainties, dtype=np.float64)), axis=-1))
        shown = np.asarray(gate) * np.maximum(0.0, fraction - spread)
        return np.asarray(np.minimum(1.0, shown))

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
            return Score(value=0.0, reward=-cost, reason=NOT_MEASURED)
        named = {phase.name: phase for phase in analysis.phases}
        found = [named[name] for name in self.spec.target_phases if name in named]
        fractions = np.array([phase.weight_fraction for phase in found])
        uncertainties = np.array([phase.uncertainty for phase in found])
        value = float(self.merit(GATES[analysis.status], fractions, uncertainties))
        spread = float(np.sqrt(np.sum(np.square(uncertainties))))
        return Score(
            value=value,
            reward=max(0.0, value - best_before) - cost,
            reason=(
                f"{float(np.sum(fractions)):.3f} ± {spread:.3f} of {self.spec.target}, "
                f"fit {analysis.status}"
            ),
            success=value >= self.spec.goal_fraction,
        )


def make_task(name: str, **options: Any) -> Task:  # noqa: ANN401 - those of the task's `create`
    """Return a task by its name.

    Args:
        name: Such as ``"batio3-synthesis"``; see `task_names`. A name with a target,
            ``"synthesis:LiCoO2"``, is short for the option `target`, and is how campaigns write it.
        **options: What the task itself takes, such as ``target="LiCoO2"`` of ``"synthesis"``.

    Returns:
        The task.

    Raises:
        UnknownPluginError: If no task has this name; the message lists those that do.
        ConfigError: If the task does not take these options.
        BoundaryError: If another distribution's task fails, or is no `Task`.
    """
    plain, colon, target = str(name).partition(":")
    if colon:
        if "target" in options:
            raise ConfigError(f"task {name!r} names a target already; leave one of them out")
        options["target"] = target
    return cast("Task", task_catalogue.make(plain, options, Task))


def task_names() -> tuple[str, ...]:
    """Return the names of all tasks, sorted."""
    return task_catalogue.names()
