"""The campaign runner: policy, session, lab and store joined in one loop that survives a kill.

Every submission is written down before it is carried out, every operation by the lab's journal,
every outcome when it is known. A campaign whose process was killed is resumed by running the same
loop again: the policy proposes what it proposed, the journal answers for what the lab already did,
and the store recognises what it already holds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

from labenv.campaigns import provenance
from labenv.campaigns.lease_keeper import LEASE_TTL_S, LeaseKeeper
from labenv.campaigns.recipe_policy import RecipePolicy
from labenv.campaigns.replayed_lab import ReplayedLab
from labenv.lab import Lab
from labenv.policies import Policy, make_policy
from labenv.tasks import Session, Task, make_task
from labenv_schemas.errors import ConfigError, LabEnvError, PolicyError, boundary
from labenv_schemas.task import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from labenv.lab import StationStatus
    from labenv.store import Store
    from labenv.tasks.session import Result
    from labenv_schemas.campaign import CampaignConfig
    from labenv_schemas.proposal import Proposal

ProgressKind = Literal["begun", "resumed", "submitted", "result", "finished", "warning"]


@dataclass(frozen=True)
class Progress:
    """What just happened in a campaign, and how it stands.

    Attributes:
        kind: What happened.
        campaign_id: Where.
        lab_time_s: Lab clock, s.
        submitted: Proposals handed in so far.
        finished: Outcomes so far.
        limit: Number of experiments in the budget, if it has one.
        stations: What each station is doing.
        best_value: Best measured merit so far; None before the first.
        best_index: Experiment it came from.
        index: Experiment that was submitted or has finished.
        result: Its analysed and scored outcome, once finished.
        message: For people.
    """

    kind: ProgressKind
    campaign_id: str
    lab_time_s: float
    submitted: int
    finished: int
    limit: int | None
    stations: tuple[StationStatus, ...] = ()
    best_value: float | None = None
    best_index: int | None = None
    index: int | None = None
    result: Result | None = None
    message: str = ""


class CampaignRunner:
    """Runs one campaign to its end; made by `begin` or `resume`, used once.

    An interruption (Ctrl-C, an error of the policy's or the store's) leaves the campaign resumable.

    Args:
        store: Where everything is written down.
        campaign_id: The campaign, which the store already holds.
        on_progress: Called after every step, in the runner's thread.
        lease_ttl_s: How long the lead outlives a process that died on another machine, s.
    """

    def __init__(
        self,
        store: Store,
        campaign_id: str,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        lease_ttl_s: float = LEASE_TTL_S,
    ) -> None:
        self.campaign_id = campaign_id
        self._store = store
        self._record = store.campaign(campaign_id)
        self._config = self._record.config
        self._on_progress = on_progress
        self._lease_ttl_s = lease_ttl_s
        self._task = _task_of(self._config)
        self._policy = _policy_of(self._config)
        self._budget = _budget_of(self._config, self._task)
        self._indices: dict[str, int] = {}
        self._finished = 0

    @classmethod
    def begin(
        cls,
        store: Store,
        config: CampaignConfig,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        lease_ttl_s: float = LEASE_TTL_S,
    ) -> Self:
        """Write a new campaign down.

        Args:
            store: Where.
            config: The campaign file.
            on_progress: Called after every step.
            lease_ttl_s: How long the lead outlives a process that died on another machine, s.

        Returns:
            A runner, to be `run`.

        Raises:
            ConfigError: If task and lab do not go together.
            UnknownPluginError: If no task or policy has the name given.
        """
        task = _task_of(config)
        _policy_of(config)  # a wrong name must not leave an empty campaign behind
        campaign_id = store.begin_campaign(
            config,
            seed=config.seed,
            versions=provenance.versions(),
            lab_hash=provenance.lab_fingerprint(config.lab),
            task_hash=provenance.task_fingerprint(task),
        )
        return cls(store, campaign_id, on_progress=on_progress, lease_ttl_s=lease_ttl_s)

    def run(self) -> str:
        """Run the campaign, from the start or from where it was left, to the end of its budget.

        Returns:
            The campaign's id.

        Raises:
            PolicyError: If the policy fails.
            StoreError: If another process runs the campaign, or the store cannot be written.
        """
        with LeaseKeeper(self._store, self.campaign_id, self._lease_ttl_s) as lease:
            lab, session = self._open_lab()
            try:
                self._loop(lease, lab, session)
            finally:
                session.close()
            self._store.finish_campaign(self.campaign_id, "finished")
            self._tell("finished", lab, session)
        return self.campaign_id

    # ------------------------------------------------------------------------- opening

    def _open_lab(self) -> tuple[ReplayedLab, Session]:
        journal = self._store.journal(self.campaign_id)
        past = tuple(journal.events())
        world = Lab(self._config.lab, seed=self._config.seed, journal=journal)
        self._world = world
        lab = ReplayedLab(world, past)
        session = Session(self._task, lab, self._budget)
        self._recorded = {
            record.index: record.proposal for record in self._store.experiments(self.campaign_id)
        }
        self._done = {
            record.index
            for record in self._store.experiments(self.campaign_id)
            if record.outcome is not None
        }
        self._episode_id = self._episode()
        self._policy.reset(self._task, self._config.seed)
        self._tell("resumed" if self._recorded else "begun", lab, session)
        self._warn_of_changes(lab, session)
        return lab, session

    def _episode(self) -> str:
        episodes = self._store.episodes(self.campaign_id)
        if episodes:
            return episodes[-1].episode_id
        return self._store.begin_episode(
            self.campaign_id, seed=self._config.seed, policy=policy_name(self._config)
        )

    def _warn_of_changes(self, lab: ReplayedLab, session: Session) -> None:
        if not self._recorded:
            return
        changed: list[str] = []
        if self._record.lab_hash != provenance.lab_fingerprint(self._config.lab):
            changed.append("the lab's data")
        if self._record.task_hash != provenance.task_fingerprint(self._task):
            changed.append("the task")
        before, now = dict(self._record.versions), provenance.versions()
        changed += [
            f"{name} ({old} then, {now.get(name)} now)"
            for name, old in before.items()
            if now.get(name) != old
        ]
        if changed:
            told = f"changed since the campaign began: {', '.join(changed)}; results may differ"
            self._tell("warning", lab, session, message=told)

    # ------------------------------------------------------------------------- the loop

    def _loop(self, lease: LeaseKeeper, lab: ReplayedLab, session: Session) -> None:
        while True:
            while len(session.pending) < self._config.parallelism and not session.exhausted:
                lease.check()
                self._submit(lab, session)
            if not session.pending:
                return
            for result in session.collect("next"):
                self._take_in(result, lab, session)
            lease.check()

    def _submit(self, lab: ReplayedLab, session: Session) -> None:
        index = len(self._indices)
        pending = [session.proposal(ticket.experiment_id) for ticket in session.pending]
        with boundary(PolicyError, f"policy {policy_name(self._config)!r}.propose"):
            proposal = self._policy.propose(pending)
        recorded = lab.next_proposal() or self._recorded.get(index)
        if recorded is not None and recorded != proposal:
            proposal = recorded
            told = (
                f"the policy did not repeat itself at experiment {index}; the recorded plan stands"
            )
            self._tell("warning", lab, session, index=index, message=told)
        experiment_id = f"{self.campaign_id}-{index:04d}"
        self._store.record_submission(
            self.campaign_id,
            self._episode_id,
            index,
            proposal,
            experiment_id=experiment_id,
            submitted_s=lab.now_s,
        )
        ticket = session.submit(proposal, experiment_id=experiment_id)
        self._indices[ticket.experiment_id] = index
        self._tell("submitted", lab, session, index=index)

    def _take_in(self, result: Result, lab: ReplayedLab, session: Session) -> None:
        experiment_id = result.outcome.experiment_id
        index = self._indices[experiment_id]
        proposal: Proposal = session.proposal(experiment_id)
        if index not in self._done:
            self._store.record_experiment(
                self.campaign_id, self._episode_id, index, proposal, result.outcome, result.score
            )
            self._record_truth(experiment_id)
        with boundary(PolicyError, f"policy {policy_name(self._config)!r}.observe"):
            self._policy.observe(proposal, result.outcome, result.score)
        self._finished += 1
        self._tell("result", lab, session, index=index, result=result)

    def _record_truth(self, experiment_id: str) -> None:
        """Write the truth down for evaluation, where the simulation can tell it."""
        from labenv.lab.audit import true_mass_fractions

        with suppress(LabEnvError):
            fractions = true_mass_fractions(self._world, experiment_id)
            self._store.record_truth(experiment_id, fractions, campaign_id=self.campaign_id)

    def _tell(
        self,
        kind: ProgressKind,
        lab: ReplayedLab,
        session: Session,
        *,
        index: int | None = None,
        result: Result | None = None,
        message: str = "",
    ) -> None:
        if self._on_progress is None:
            return
        best = session.best
        self._on_progress(
            Progress(
                kind=kind,
                campaign_id=self.campaign_id,
                lab_time_s=lab.now_s,
                submitted=len(self._indices),
                finished=self._finished,
                limit=self._budget.experiments,
                stations=lab.stations,
                best_value=None if best is None else best.score.value,
                best_index=None if best is None else self._indices[best.outcome.experiment_id],
                index=index,
                result=result,
                message=message,
            )
        )


def policy_name(config: CampaignConfig) -> str:
    """Return the name under which a campaign's policy is recorded.

    Args:
        config: The campaign.

    Returns:
        The policy's name, or ``"recipes"`` if the campaign replays recipes.
    """
    return "recipes" if config.recipes else config.policy.name


def _task_of(config: CampaignConfig) -> Task:
    task = make_task(config.task)
    if task.spec.system != config.lab.system:
        raise ConfigError(
            f"task {config.task!r} belongs to {task.spec.system}, but the lab of this campaign has "
            f"{config.lab.system}; set lab.system to {task.spec.system!r} or choose another task"
        )
    return task


def _policy_of(config: CampaignConfig) -> Policy:
    if config.recipes:
        return RecipePolicy(config.recipes)
    return make_policy(config.policy.name, **config.policy.options)


def _budget_of(config: CampaignConfig, task: Task) -> Budget:
    if config.recipes:
        asked = config.budget.experiments if config.budget is not None else None
        count = len(config.recipes)
        return Budget(experiments=count if asked is None else min(asked, count))
    return config.budget or task.spec.budget
