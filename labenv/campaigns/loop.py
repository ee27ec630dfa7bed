"""The loop of a campaign: propose, submit, collect, write down, learn."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from labenv.campaigns.progress import Progress
from labenv.campaigns.setup import policy_name
from labenv.lab.audit import true_mass_fractions
from labenv.policies.base import policy_label
from labenv_schemas.errors import LabEnvError, PolicyError, boundary
from labenv_schemas.proposal import Proposal

if TYPE_CHECKING:
    from collections.abc import Callable

    from labenv.campaigns.interrupts import Interrupts
    from labenv.campaigns.lease_keeper import LeaseKeeper
    from labenv.campaigns.progress import ProgressKind
    from labenv.campaigns.replayed_lab import ReplayedLab
    from labenv.policies import Policy
    from labenv.store import Store
    from labenv.tasks import Result, Session
    from labenv_schemas.campaign import CampaignConfig


class CampaignLoop:
    """One campaign under way; the same for a new one and for one that is resumed.

    Args:
        store: Where everything is written down.
        campaign_id: The campaign.
        episode_id: Its episode.
        config: The campaign file.
        session: Task, lab and budget.
        lab: The session's lab.
        policy: Reset for this campaign.
        on_progress: Called after every step.
    """

    def __init__(  # noqa: PLR0913 - the parts that a campaign joins
        self,
        *,
        store: Store,
        campaign_id: str,
        episode_id: str,
        config: CampaignConfig,
        session: Session,
        lab: ReplayedLab,
        policy: Policy,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._store = store
        self._campaign_id = campaign_id
        self._episode_id = episode_id
        self._config = config
        self._session = session
        self._lab = lab
        self._policy = policy
        self._policy_label = policy_label(policy_name(config))
        self._on_progress = on_progress
        recorded = store.experiments(campaign_id)
        self._recorded = {record.index: record.proposal for record in recorded}
        self._done = {record.index for record in recorded if record.outcome is not None}
        self._indices: dict[str, int] = {}
        self._finished = 0

    def run(self, lease: LeaseKeeper, interrupts: Interrupts) -> None:
        """Go on until the budget is spent, or the goal reached, and nothing is in flight.

        Args:
            lease: Our lead of the campaign.
            interrupts: What may ask us to stop.
        """
        session = self._session
        while True:
            while len(session.pending) < self._config.parallelism and not self._ended:
                lease.check()
                interrupts.check()
                self._submit()
            interrupts.check()
            if not session.pending:
                return
            for result in session.collect("next"):
                lease.check()
                interrupts.check()
                self._take_in(result)

    @property
    def reached_goal(self) -> bool:
        """Whether the campaign ends because a result reached the goal."""
        return self._config.stops_on_success and self._session.success

    @property
    def _ended(self) -> bool:
        return self._session.exhausted or self.reached_goal

    def tell(
        self,
        kind: ProgressKind,
        *,
        index: int | None = None,
        result: Result | None = None,
        message: str = "",
    ) -> None:
        """Tell whoever watches.

        Args:
            kind: What happened.
            index: Experiment it happened to.
            result: Its result.
            message: For people.
        """
        if self._on_progress is None:
            return
        best = self._session.best
        if best is not None and best.outcome.status != "ok":
            best = None  # the score 0 of a plan that was not carried out
        self._on_progress(
            Progress(
                kind=kind,
                campaign_id=self._campaign_id,
                lab_time_s=self._lab.now_s,
                submitted=len(self._indices),
                finished=self._finished,
                limit=self._session.budget.experiments,
                stations=self._lab.stations,
                best_value=None if best is None else best.score.value,
                best_index=None if best is None else self._indices[best.outcome.experiment_id],
                goal=self._session.task.spec.goal_fraction,
                index=index,
                result=result,
                replayed=index is not None and index in self._done,
                message=message,
            )
        )

    def _submit(self) -> None:
        index = len(self._indices)
        proposal = self._proposal(index)
        experiment_id = f"{self._campaign_id}-{index:04d}"
        self._store.record_submission(
            self._campaign_id,
            self._episode_id,
            index,
            proposal,
            experiment_id=experiment_id,
            submitted_s=self._lab.now_s,
        )
        self._session.submit(proposal, experiment_id=experiment_id)
        self._indices[experiment_id] = index
        self.tell("submitted", index=index)

    def _proposal(self, index: int) -> Proposal:
        """Return the next plan: what is written down of it, else what the policy proposes now.

        Args:
            index: Of the experiment.

        Returns:
            The plan.

        Raises:
            PolicyError: If the policy fails, or gives something else than a plan.
        """
        pending = [self._session.proposal(ticket.experiment_id) for ticket in self._session.pending]
        with boundary(PolicyError, f"{self._policy_label} failed to propose"):
            proposed = self._policy.propose(pending)
        if not _is_proposal(proposed):
            kind = type(proposed).__name__
            raise PolicyError(f"{self._policy_label} failed to propose: a {kind} is no Proposal")
        recorded = self._lab.next_proposal() or self._recorded.get(index)
        if recorded is None or recorded == proposed:
            return proposed
        told = f"the policy did not repeat itself at experiment {index}; the recorded plan stands"
        self.tell("warning", index=index, message=told)
        return recorded

    def _take_in(self, result: Result) -> None:
        experiment_id = result.outcome.experiment_id
        index = self._indices[experiment_id]
        proposal = self._session.proposal(experiment_id)
        if index not in self._done:
            self._store.record_experiment(
                self._campaign_id, self._episode_id, index, proposal, result.outcome, result.score
            )
        with boundary(PolicyError, f"{self._policy_label} failed to learn"):
            self._policy.observe(proposal, result.outcome, result.score)
        self._finished += 1
        self.tell("result", index=index, result=result)
        self._record_truth(experiment_id, index)

    def _record_truth(self, experiment_id: str, index: int) -> None:
        """Write the truth down for evaluation, where the simulation can tell it."""
        if index in self._done:
            return
        with suppress(LabEnvError):
            fractions = true_mass_fractions(self._lab.world, experiment_id)
            if fractions:
                self._store.record_truth(experiment_id, fractions, campaign_id=self._campaign_id)


def _is_proposal(given: object) -> bool:
    return isinstance(given, Proposal)
