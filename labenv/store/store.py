"""The store: the one object through which campaigns are written down and read back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from labenv.store import leases, opening, queries, recording, truth
from labenv.store.database import Database
from labenv.store.export import ExportFormat, export_campaign
from labenv.store.journal import StoreJournal
from labenv.store.migrate import prepare
from labenv.store.names import campaign_number, episode_number
from labenv.store.records import ClosingStatus
from labenv_schemas.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv.store.records import CampaignRecord, EpisodeRecord, ExperimentRecord, Lease
    from labenv_schemas.campaign import CampaignConfig
    from labenv_schemas.measurement import Measurement
    from labenv_schemas.outcome import Outcome, Score
    from labenv_schemas.proposal import Proposal


class Store:
    """A results store; made by `open`.

    **Durability.** What a method has returned from survives a kill of the process, also by
    ``kill -9``. An SQLite store opened without ``durable=True`` may lose the last transactions
    before a power cut (those since the last checkpoint of the write-ahead log, some 1,000 pages);
    it is never left inconsistent. With ``durable=True`` each transaction waits for the disk.

    **Processes and threads.** Any number may use one store at the same time, each process through
    its own `Store` or one inherited by fork; a pickled store reopens by its URL. Writers wait for
    one another; nothing is lost.

    **Errors.** Every method raises `StoreError` when the store cannot be read or written, with what
    to do about it, and ``retryable`` set if the same call may succeed later.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url: str | Path, *, create: bool = True, durable: bool = False) -> Self:
        """Open a store, making it or migrating it to this version's schema where needed.

        Args:
            url: Path of an SQLite file, or an SQLAlchemy URL such as
                ``postgresql://user@host/database``.
            create: Whether to make a store where there is none.
            durable: SQLite only: whether each transaction waits until the disk has it.

        Returns:
            The store.

        Raises:
            StoreError: If there is no store and `create` is False, if what is there is not a store
                of labenv's, was written by a newer labenv, is damaged, or cannot be reached.
        """
        database = Database.at(url, durable=durable)
        try:
            prepare(database, create=create)
        except StoreError:
            database.close()
            raise
        return cls(database)

    @property
    def location(self) -> str:
        """Path or URL of the store, without its password."""
        return self._database.location

    def close(self) -> None:
        """Close all connections; twice is safe, and the next call opens new ones."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.location!r})"

    # ---------------------------------------------------------------------------- writing

    def begin_campaign(
        self,
        config: CampaignConfig,
        *,
        seed: int,
        versions: Mapping[str, str],
        lab_hash: str,
        task_hash: str,
    ) -> str:
        """Write down that a campaign begins.

        Args:
            config: The campaign file.
            seed: Seed of everything random in it.
            versions: Package name to version.
            lab_hash: Fingerprint of the lab's configuration and data.
            task_hash: Fingerprint of the task.

        Returns:
            The campaign's id, such as ``"c00003"``; ids sort by age.
        """
        return opening.begin_campaign(
            self._database, config, seed=seed, versions=versions, hashes=(lab_hash, task_hash)
        )

    def begin_episode(self, campaign_id: str, *, seed: int, policy: str) -> str:
        """Write down that an episode begins.

        Args:
            campaign_id: Where it belongs.
            seed: Seed of the lab and the policy.
            policy: Name of the policy.

        Returns:
            The episode's id, such as ``"e00007"``.
        """
        return opening.begin_episode(self._database, campaign_id, seed=seed, policy=policy)

    def record_submission(
        self,
        campaign_id: str,
        episode_id: str,
        index: int,
        proposal: Proposal,
        *,
        experiment_id: str,
        submitted_s: float = 0.0,
    ) -> None:
        """Write down a proposal before it is carried out; doing so twice changes nothing.

        Args:
            campaign_id: Where it belongs.
            episode_id: In which episode.
            index: Order of submission in the campaign, from 0.
            proposal: What was asked for.
            experiment_id: Its name in the lab, unique in the campaign.
            submitted_s: Lab clock, s.

        Raises:
            StoreError: If another proposal or name has been recorded under that index.
        """
        key = recording.ExperimentKey(
            campaign_number(campaign_id), episode_number(episode_id), index
        )
        recording.record_submission(self._database, key, proposal, experiment_id, submitted_s)

    def record_experiment(  # noqa: PLR0913 - one experiment
        self,
        campaign_id: str,
        episode_id: str,
        index: int,
        proposal: Proposal,
        outcome: Outcome,
        score: Score | None,
        *,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Write down an outcome with all that belongs to it, in one transaction.

        Recording the same experiment again changes nothing (wall-clock times may differ).

        Args:
            campaign_id: Where it belongs.
            episode_id: In which episode.
            index: Order of submission in the campaign, from 0.
            proposal: What was asked for.
            outcome: What it gave.
            score: What the task made of it; None if no task scored it. If its value is None and it
                gives no reason, the outcome's status and message become the reason.
            extra: Anything else that JSON can say; not-finite numbers are refused.

        Raises:
            StoreError: If the index holds another experiment, or a number is not finite, or a
                machine's failure carries a value.
        """
        key = recording.ExperimentKey(
            campaign_number(campaign_id), episode_number(episode_id), index
        )
        recording.record_experiment(self._database, key, proposal, outcome, score, extra)

    def finish_campaign(
        self, campaign_id: str, status: ClosingStatus, *, reason: str | None = None
    ) -> None:
        """Write down that a campaign has ended.

        Args:
            campaign_id: Which.
            status: How.
            reason: Why, for people.

        Raises:
            ConfigError: If the status is none of the three.
        """
        if status not in get_args(ClosingStatus):
            known = ", ".join(get_args(ClosingStatus))
            raise ConfigError(f"{status!r} is no way for a campaign to end; use one of: {known}")
        opening.set_status(self._database, campaign_id, status, reason)

    def reopen_campaign(self, campaign_id: str) -> None:
        """Write down that an ended campaign goes on."""
        opening.set_status(self._database, campaign_id, "running", None)

    # ---------------------------------------------------------------------------- reading

    def campaign(self, id_or_prefix: str) -> CampaignRecord:
        """Find one campaign.

        Args:
            id_or_prefix: An id (``c00003``, in short ``c3`` or ``3``), the beginning of one, a
                campaign's name, or ``latest``.

        Returns:
            The record.

        Raises:
            StoreError: If none or several answer to it; the message lists them.
        """
        return queries.campaign(self._database, id_or_prefix)

    def campaigns(self) -> list[CampaignRecord]:
        """Return all campaigns, oldest first."""
        return queries.campaigns(self._database)

    def episodes(self, campaign_id: str) -> list[EpisodeRecord]:
        """Return the episodes of a campaign, oldest first."""
        return queries.episodes(self._database, campaign_id)

    def experiments(
        self,
        campaign_id: str,
        *,
        order: Literal["submission", "completion"] = "submission",
        with_measurements: bool = False,
    ) -> list[ExperimentRecord]:
        """Return the experiments of a campaign, pending ones too.

        Args:
            campaign_id: Id or anything that `campaign` understands.
            order: By index, or in the order in which outcomes were recorded, pending ones last.
            with_measurements: Whether to load the arrays, which takes most of the time.

        Returns:
            The records.
        """
        return queries.experiments(
            self._database, campaign_id, order=order, with_measurements=with_measurements
        )

    def experiment(self, experiment_id: str, *, campaign_id: str | None = None) -> ExperimentRecord:
        """Find one experiment, with its measurements.

        Args:
            experiment_id: Its name, the beginning of it, or ``CAMPAIGN/INDEX`` such as ``c3/17``.
            campaign_id: Where to look; everywhere if None.

        Returns:
            The record.

        Raises:
            StoreError: If none or several answer to it; the message lists them.
        """
        return queries.experiment(self._database, experiment_id, campaign_id)

    def measurements(
        self, experiment_id: str, *, campaign_id: str | None = None
    ) -> tuple[Measurement, ...]:
        """Return the measurements of one experiment, named as for `experiment`."""
        outcome = self.experiment(experiment_id, campaign_id=campaign_id).outcome
        return () if outcome is None else outcome.measurements

    def export(
        self,
        campaign_id: str,
        path: str | Path,
        format: ExportFormat,
        *,
        lab_time_limit_s: float | None = None,
    ) -> Path:
        """Write the experiments of a campaign to a file, whole or not at all.

        Args:
            campaign_id: Id or anything that `campaign` understands.
            path: File to write; replaced if it exists.
            format: ``csv`` and ``parquet`` have one flat row an experiment, with units in the
                column names; ``jsonl`` has one line an experiment with everything in it.
            lab_time_limit_s: Lab time after which an outcome is late, s; that of the campaign's
                own budget if None (the store does not know the budget of a task).

        Returns:
            The path.

        Raises:
            ConfigError: If the format is unknown.
        """
        return export_campaign(self._database, campaign_id, Path(path), format, lab_time_limit_s)

    # ---------------------------------------------------------------------------- journal, lease

    def journal(self, campaign_id: str) -> StoreJournal:
        """Return the lab's journal of a campaign, kept in this store."""
        return StoreJournal(self._database, campaign_id)

    def lease(self, campaign_id: str, owner: str, ttl_s: float = 60.0) -> Lease:
        """Take the lead of a campaign, so that no other process runs it at the same time.

        A lease that has expired is free to take, and so is one whose process is known to be dead
        (on the same Linux machine), so that a killed campaign can be resumed at once.

        Args:
            campaign_id: Which campaign.
            owner: Who, in words for people.
            ttl_s: How long it holds without renewal, s.

        Returns:
            The lease.

        Raises:
            StoreError: If another process leads the campaign; retryable.
        """
        return leases.acquire(self._database, campaign_id, owner, ttl_s)

    def renew(self, lease: Lease) -> Lease:
        """Prolong a lease by its `ttl_s` from now.

        Args:
            lease: One that `lease` or `renew` returned.

        Returns:
            The new lease, with the same token.

        Raises:
            StoreError: If another process has taken the campaign over.
        """
        return leases.renew(self._database, lease)

    def release(self, lease: Lease) -> None:
        """Give the lead of a campaign back; harmless if it has been lost."""
        leases.release(self._database, lease)

    # ---------------------------------------------------------------------------- truth

    def record_truth(
        self,
        experiment_id: str,
        fractions: Mapping[str, float],
        *,
        campaign_id: str | None = None,
    ) -> None:
        """Write down the true mass fractions of a simulated sample, for evaluation only.

        They are kept in a table of their own that no other method and no export reads.

        Args:
            experiment_id: Named as for `experiment`.
            fractions: Phase to mass fraction, 0 to 1.
            campaign_id: Where to look; everywhere if None.
        """
        truth.record_truth(self._database, experiment_id, fractions, campaign_id)

    def truth(self, campaign_id: str) -> dict[str, dict[str, float]]:
        """Return the true mass fractions that were recorded, by experiment and phase."""
        return truth.truth(self._database, campaign_id)
