"""A session: a lab, a budget and a task meet; proposals go in, scored outcomes come out.

The Gymnasium environment and the campaign runner both stand on it.

The budget's first limit that is reached ends the session: `exhausted` is true and `submit` refuses.
What is in flight then is still collected and scored, except what finishes after the limit of lab
time: an experiment whose result comes too late is worth nothing (score None), however good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

from labenv_schemas.errors import ConfigError, ProposalError
from labenv_schemas.measurement import Diffractogram, is_characterisation
from labenv_schemas.outcome import Outcome, Score

if TYPE_CHECKING:
    from labenv.lab.laboratory import Ticket
    from labenv.tasks.task import Quantifies, Task
    from labenv_schemas.analysis import Analysis
    from labenv_schemas.proposal import Operation, Proposal
    from labenv_schemas.task import Budget

Wait = Literal["none", "next", "all"]


class RunsProposals(Protocol):
    """What a session needs of a laboratory; `labenv.lab.Lab` has it."""

    def submit(self, proposal: Proposal, *, experiment_id: str | None = None) -> Ticket:
        """Hand in a plan."""
        ...

    def collect(self, wait: Wait = "next") -> list[Outcome]:
        """Return finished outcomes in order of lab time."""
        ...

    def close(self) -> None:
        """Stop everything."""
        ...

    @property
    def pending(self) -> tuple[Ticket, ...]:
        """Tickets in flight."""
        ...

    @property
    def now_s(self) -> float:
        """Lab clock, s."""
        ...


@runtime_checkable
class KnowsStandard(Protocol):
    """A laboratory whose diffractometer was measured against a standard."""

    @property
    def standard_brightness(self) -> float:
        """Brightness of the diffractometer over its nominal one, as found on the standard."""
        ...


class Result(NamedTuple):
    """An outcome with its analyses, and what the task makes of it."""

    outcome: Outcome
    score: Score


class BudgetLeft(NamedTuple):
    """What may still be spent; None where there is no limit."""

    experiments: int | None
    lab_time_s: float | None
    cost: float | None


class Session:
    """One budgeted series of proposals toward one task in one lab.

    Args:
        task: The goal.
        lab: Where the proposals run.
        budget: What may be spent; None for the task's own budget.
        quantifier: Reads diffractograms; None for that of the task's material system.

    Attributes:
        best: The best-scored result so far, or None.
        success: Whether a result reached the goal.
        cost: Cost of the outcomes collected so far, in the lab's currency.
    """

    def __init__(
        self,
        task: Task,
        lab: RunsProposals,
        budget: Budget | None = None,
        quantifier: Quantifies | None = None,
    ) -> None:
        self.task = task
        self.lab = lab
        self.budget = budget or task.spec.budget
        standard = lab.standard_brightness if isinstance(lab, KnowsStandard) else None
        self.quantifier = quantifier or task.quantifier(standard)
        self.best: Result | None = None
        self.success = False
        self.cost = 0.0
        self._submitted = 0
        self._proposals: dict[str, Proposal] = {}
        self._indices: dict[str, int] = {}
        self._replicates: dict[str, str] = {}
        self._first_with: dict[tuple[Operation, ...], str] = {}

    @property
    def best_score(self) -> float:
        """Best score so far, 0 to 1; 0 before the first."""
        return 0.0 if self.best is None else self.best.score.value or 0.0

    @property
    def pending(self) -> tuple[Ticket, ...]:
        """Tickets whose result has not been collected, in order of submission."""
        return self.lab.pending

    @property
    def left(self) -> BudgetLeft:
        """What may still be spent; never below 0."""
        budget = self.budget
        return BudgetLeft(
            None if budget.experiments is None else max(0, budget.experiments - self._submitted),
            None if budget.lab_time_s is None else max(0.0, budget.lab_time_s - self.lab.now_s),
            None if budget.cost is None else max(0.0, budget.cost - self.cost),
        )

    @property
    def exhausted(self) -> bool:
        """Whether a limit of the budget is reached."""
        return any(left is not None and left <= 0 for left in self.left)

    def submit(self, proposal: Proposal, *, experiment_id: str | None = None) -> Ticket:
        """Hand in a proposal.

        Args:
            proposal: The plan; what the lab refuses comes back as an outcome `invalid`.
            experiment_id: A name for the experiment; the lab gives one otherwise.

        Returns:
            A ticket; the result arrives by `collect`.

        Raises:
            ConfigError: If the budget is used up.
        """
        if self.exhausted:
            raise ConfigError("the session's budget is used up; collect what is pending and end")
        ticket = self.lab.submit(proposal, experiment_id=experiment_id)
        self.adopt(ticket.experiment_id, proposal)
        return ticket

    def adopt(self, experiment_id: str, proposal: Proposal) -> None:
        """Count an experiment that the lab already has, as after resuming it from its journal.

        Args:
            experiment_id: Its name.
            proposal: Its plan.
        """
        self._submitted += 1
        self._indices[experiment_id] = len(self._proposals)
        self._proposals[experiment_id] = proposal
        first = self._first_with.setdefault(proposal.operations, experiment_id)
        if first != experiment_id:
            self._replicates[experiment_id] = first

    def recall(self, proposal: Proposal, result: Result) -> None:
        """Count an experiment whose result is already known, as after reading it from a store.

        Args:
            proposal: Its plan.
            result: Its analysed outcome and score, as recorded.
        """
        self.adopt(result.outcome.experiment_id, proposal)
        self._account(result)

    def collect(self, wait: Wait = "next") -> list[Result]:
        """Return the results that are ready, analysed and scored.

        Args:
            wait: "none" for what is ready now; "next" to let the lab's clock run until something
                is; "all" to let it run until nothing is in flight.

        Returns:
            Results in order of lab time, ties by submission.
        """
        results: list[Result] = []
        for raw in self.lab.collect(wait):
            outcome = self.analyse(raw)
            result = Result(outcome, self._judge(outcome))
            self._account(result)
            results.append(result)
        return results

    def analyse(self, outcome: Outcome) -> Outcome:
        """Return an outcome with an analysis for each diffractogram, and what the rest tells."""
        analyses: tuple[Analysis, ...] = tuple(
            self.quantifier.quantify(measurement)
            for measurement in outcome.measurements
            if isinstance(measurement, Diffractogram)
        )
        changed: dict[str, object] = {}
        if any(is_characterisation(measurement) for measurement in outcome.measurements):
            from labenv.analysis.characterisation import characterise

            numbers, warnings = characterise(outcome.measurements)
            analyses += numbers
            changed["warnings"] = (*outcome.warnings, *warnings)
        if analyses:
            changed["analyses"] = analyses
        return outcome.model_copy(update=changed) if changed else outcome

    def proposal(self, experiment_id: str) -> Proposal:
        """Return the plan of an experiment.

        Raises:
            ProposalError: If this session has no such experiment.
        """
        if experiment_id not in self._proposals:
            raise ProposalError(f"this session has no experiment {experiment_id!r}")
        return self._proposals[experiment_id]

    def index_of(self, experiment_id: str) -> int:
        """Return the place of an experiment in the order of submission, from 0."""
        return self._indices[experiment_id]

    def replicate_of(self, experiment_id: str) -> str | None:
        """Return the first experiment of the same plan, if this one repeats it."""
        return self._replicates.get(experiment_id)

    def close(self) -> None:
        """Stop the lab; twice is fine."""
        self.lab.close()

    def _judge(self, outcome: Outcome) -> Score:
        limit = self.budget.lab_time_s
        if limit is not None and outcome.finished_s > limit:
            reason = (
                f"finished at {outcome.finished_s / 3600:.1f} h of lab time, after the budget of "
                f"{limit / 3600:.1f} h"
            )
            return Score(value=None, reward=0.0, reason=reason)
        return self.task.score(outcome, self.best_score)

    def _account(self, result: Result) -> None:
        self.cost += result.outcome.cost
        value = result.score.value
        self.success |= result.score.success
        if value is not None and (self.best is None or value > self.best_score):
            self.best = result
