"""The campaign runner: policy, session, lab and store joined into one run that survives a kill.

Every submission is written down before it is carried out, every operation by the lab's journal,
every outcome when it is known. A campaign whose process was killed is resumed by running the same
loop again: the policy proposes what it proposed, the journal answers for what the lab already did,
and the store recognises what it already holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from labenv.campaigns import provenance
from labenv.campaigns.interrupts import heeded_interrupts
from labenv.campaigns.lease_keeper import LEASE_TTL_S, LeaseKeeper
from labenv.campaigns.loop import CampaignLoop
from labenv.campaigns.replayed_lab import ReplayedLab
from labenv.campaigns.setup import budget_of, check_campaign, policy_name, policy_of, task_of
from labenv.lab import Lab
from labenv.policies.base import policy_label
from labenv.tasks import Session
from labenv_schemas.errors import PolicyError, boundary

if TYPE_CHECKING:
    from collections.abc import Callable

    from labenv.campaigns.progress import Progress
    from labenv.store import Store
    from labenv_schemas.campaign import CampaignConfig


class CampaignRunner:
    """Runs one campaign of a store, from the start or from where it was left, to its end.

    An interruption (Ctrl-C, SIGTERM, an error of the policy's or the store's) leaves the campaign
    resumable.

    Args:
        store: Where everything is written down.
        campaign_id: The campaign, as `Store.campaign` understands it; see `begin` for a new one.
        on_progress: Called after every step, in the runner's thread.
        lease_ttl_s: How long the lead outlives a process that died on another machine, s.

    Attributes:
        campaign_id: The campaign's full id.
        has_led: Whether this runner had the lead of the campaign, now or before.
    """

    def __init__(
        self,
        store: Store,
        campaign_id: str,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        lease_ttl_s: float = LEASE_TTL_S,
    ) -> None:
        self.has_led = False
        self._store = store
        self._on_progress = on_progress
        self._lease_ttl_s = lease_ttl_s
        self._record = store.campaign(campaign_id)
        self.campaign_id = self._record.campaign_id
        self._config = self._record.config
        self._task = task_of(self._config)
        self._policy = policy_of(self._config)

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
            ConfigError: If task and lab do not go together, or the policy's options are wrong.
            UnknownPluginError: If no task or policy has the name given.
        """
        task = check_campaign(config)  # a wrong name must not leave an empty campaign behind
        campaign_id = store.begin_campaign(
            config,
            seed=config.seed,
            versions=provenance.versions(),
            lab_hash=provenance.lab_fingerprint(config.lab),
            task_hash=provenance.task_fingerprint(task),
        )
        return cls(store, campaign_id, on_progress=on_progress, lease_ttl_s=lease_ttl_s)

    def run(self) -> str:
        """Run to the end of the budget, or to the goal if that ends the campaign.

        Returns:
            The campaign's id.

        Raises:
            PolicyError: If the policy fails.
            StoreError: If another process runs the campaign, or the store cannot be written.
            KeyboardInterrupt: If Ctrl-C or SIGTERM came, also where Python could not pass it on.
        """
        config, seed = self._config, self._record.seed
        with (
            heeded_interrupts() as interrupts,
            LeaseKeeper(self._store, self.campaign_id, self._lease_ttl_s) as lease,
        ):
            self.has_led = True
            journal = self._store.journal(self.campaign_id)
            past = tuple(journal.events())
            world = Lab(config.lab, seed=seed, journal=journal)
            try:
                lab = ReplayedLab(world, past)
            except BaseException:
                world.close()
                raise
            session = Session(self._task, lab, budget_of(config, self._task))
            with boundary(PolicyError, f"{policy_label(policy_name(config))} failed to begin"):
                self._policy.reset(self._task, seed)
            loop = CampaignLoop(
                store=self._store,
                campaign_id=self.campaign_id,
                episode_id=self._episode(),
                config=config,
                session=session,
                lab=lab,
                policy=self._policy,
                on_progress=self._on_progress,
            )
            lab.world.on_wait = lambda: loop.tell("waiting")
            loop.tell("resumed" if past else "begun")
            changed = self._changes() if past else ""
            if changed:
                loop.tell("warning", message=changed)
            try:
                loop.run(lease, interrupts)
            finally:
                session.close()
            reason = "the goal is reached" if loop.reached_goal else "the budget is used up"
            self._store.finish_campaign(self.campaign_id, "finished", reason=reason)
            loop.tell("finished", message=reason)
        return self.campaign_id

    def _episode(self) -> str:
        episodes = self._store.episodes(self.campaign_id)
        if episodes:
            return episodes[-1].episode_id
        return self._store.begin_episode(
            self.campaign_id, seed=self._record.seed, policy=policy_name(self._config)
        )

    def _changes(self) -> str:
        """Return what has changed since the campaign began, or nothing."""
        changed: list[str] = []
        if self._record.lab_hash != provenance.lab_fingerprint(self._config.lab):
            changed.append("the lab's data")
        if self._record.task_hash != provenance.task_fingerprint(self._task):
            changed.append("the task")
        before, now = dict(self._record.versions), provenance.versions()
        changed += [
            f"{name} ({old} then, {now.get(name, 'missing')} now)"
            for name, old in before.items()
            if now.get(name) != old
        ]
        if not changed:
            return ""
        return f"changed since the campaign began: {', '.join(changed)}; results may differ"
