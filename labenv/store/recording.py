"""Writing campaigns and experiments down; every function here is one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from labenv.store.models import (
    Analysis,
    ArrayBlob,
    Campaign,
    Episode,
    Experiment,
    Measurement,
    MeasurementArray,
    Operation,
    Reward,
)
from labenv.store.names import campaign_name, campaign_number, episode_name
from labenv.store.plain import plain
from labenv.store.rows import ExperimentRows, Row, experiment_rows, proposal_digest
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from labenv.store.database import Database
    from labenv_schemas.campaign import CampaignConfig
    from labenv_schemas.outcome import Outcome, Score
    from labenv_schemas.proposal import Proposal


@dataclass(frozen=True, slots=True)
class ExperimentKey:
    """Where an experiment belongs.

    Attributes:
        campaign: Number of the campaign.
        episode: Number of the episode.
        index: Order of submission in the campaign, from 0.
    """

    campaign: int
    episode: int
    index: int

    @property
    def text(self) -> str:
        """How to name it in messages."""
        return f"experiment {self.index} of {campaign_name(self.campaign)}"


def begin_campaign(
    database: Database,
    config: CampaignConfig,
    *,
    seed: int,
    versions: Mapping[str, str],
    hashes: tuple[str, str],
) -> str:
    """Insert a campaign; `hashes` are those of lab and task. See `Store.begin_campaign`."""
    row: Row = {
        "name": config.name,
        "status": "running",
        "config": plain(config),
        "seed": str(int(seed)),
        "versions": dict(versions),
        "lab_hash": hashes[0],
        "task_hash": hashes[1],
        "created_at": datetime.now(UTC),
    }

    def work(connection: Connection) -> int:
        return _inserted(connection, Campaign, row)

    return campaign_name(database.write("beginning a campaign", work))


def begin_episode(database: Database, campaign_id: str, *, seed: int, policy: str) -> str:
    """Insert an episode. See `Store.begin_episode`."""
    row: Row = {
        "campaign_id": campaign_number(campaign_id),
        "seed": str(int(seed)),
        "policy": policy,
        "started_at": datetime.now(UTC),
    }

    def work(connection: Connection) -> int:
        require_campaign(connection, row["campaign_id"])
        return _inserted(connection, Episode, row)

    return episode_name(database.write("beginning an episode", work))


def set_status(database: Database, campaign_id: str, status: str, reason: str | None) -> None:
    """Change what became of a campaign. See `Store.finish_campaign`."""
    number = campaign_number(campaign_id)
    ended = None if status == "running" else datetime.now(UTC)

    def work(connection: Connection) -> None:
        require_campaign(connection, number)
        connection.execute(
            update(Campaign)
            .where(Campaign.id == number)
            .values(status=status, status_reason=reason, finished_at=ended)
        )

    database.write(f"writing that {campaign_id} is {status}", work)


def require_campaign(connection: Connection, number: int) -> None:
    """Lock a campaign's row against other writers.

    Args:
        connection: In a writing transaction.
        number: Of the campaign.

    Raises:
        StoreError: If there is none of that number.
    """
    found = connection.execute(
        select(Campaign.id).where(Campaign.id == number).with_for_update()
    ).scalar()
    if found is None:
        raise StoreError(f"there is no campaign {campaign_name(number)} in this store")


def record_submission(
    database: Database,
    key: ExperimentKey,
    proposal: Proposal,
    experiment_id: str,
    submitted_s: float,
) -> None:
    """Insert a pending experiment. See `Store.record_submission`."""
    digest = proposal_digest(proposal)
    row = _submission_row(key, proposal, experiment_id, digest)
    row |= {"status": "pending", "submitted_s": submitted_s}

    def work(connection: Connection) -> None:
        if _existing(connection, key, experiment_id, digest) is None:
            connection.execute(insert(Experiment), row)

    database.write(f"recording the submission of {key.text}", work)


def record_experiment(  # noqa: PLR0913 - one experiment
    database: Database,
    key: ExperimentKey,
    proposal: Proposal,
    outcome: Outcome,
    score: Score | None,
    extra: Mapping[str, Any] | None,
) -> None:
    """Insert an outcome and all that belongs to it. See `Store.record_experiment`."""
    what = f"recording {key.text}"
    try:
        rows = experiment_rows(proposal, outcome, score, extra)
    except ValueError as error:
        raise StoreError(f"store {database.location}: {what}: {error}") from None
    name = outcome.experiment_id
    submission = _submission_row(key, proposal, name, rows.proposal_digest)

    def work(connection: Connection) -> None:
        existing = _existing(connection, key, name, rows.proposal_digest)
        if existing is not None and existing.content_digest is not None:
            if existing.content_digest == rows.digest:
                return
            raise StoreError(
                f"{key.text} has been recorded with another outcome; an experiment is written once"
            )
        columns = rows.outcome | {
            "content_digest": rows.digest,
            "completion": _next_completion(connection, key.campaign),
            "recorded_at": datetime.now(UTC),
        }
        if existing is None:
            number = _inserted(connection, Experiment, submission | columns)
        else:
            number = existing.id
            connection.execute(update(Experiment).where(Experiment.id == number).values(**columns))
        _insert_parts(connection, number, rows)

    database.write(what, work)


def _submission_row(key: ExperimentKey, proposal: Proposal, experiment_id: str, digest: str) -> Row:
    return {
        "campaign_id": key.campaign,
        "episode_id": key.episode,
        "position": key.index,
        "name": experiment_id,
        "proposal": plain(proposal),
        "proposal_digest": digest,
        "submitted_at": datetime.now(UTC),
    }


def _existing(connection: Connection, key: ExperimentKey, name: str, digest: str) -> Any:  # noqa: ANN401
    """Return the row under `key`, None if there is none, having locked the campaign."""
    campaign = connection.execute(
        select(Episode.campaign_id)
        .join(Campaign, Campaign.id == Episode.campaign_id)
        .where(Episode.id == key.episode)
        .with_for_update(of=Campaign)
    ).scalar()
    if campaign != key.campaign:
        raise StoreError(
            f"{key.text}: there is no episode {episode_name(key.episode)} in that campaign"
        )
    found = connection.execute(
        select(
            Experiment.id, Experiment.name, Experiment.proposal_digest, Experiment.content_digest
        ).where(Experiment.campaign_id == key.campaign, Experiment.position == key.index)
    ).first()
    if found is not None and found.name != name:
        raise StoreError(f"{key.text} has been recorded under the name {found.name}, not {name}")
    if found is not None and found.proposal_digest != digest:
        raise StoreError(f"{key.text} has been recorded with another proposal")
    return found


def _next_completion(connection: Connection, campaign: int) -> int:
    last = connection.execute(
        select(func.max(Experiment.completion)).where(Experiment.campaign_id == campaign)
    ).scalar()
    return 0 if last is None else int(last) + 1


def _insert_parts(connection: Connection, number: int, rows: ExperimentRows) -> None:
    _insert_arrays(connection, rows)
    for table, parts in (
        (Operation, rows.operations),
        (Measurement, rows.measurements),
        (MeasurementArray, rows.channels),
        (Analysis, rows.analyses),
        (Reward, [] if rows.reward is None else [rows.reward]),
    ):
        if parts:
            connection.execute(insert(table), [{"experiment_id": number, **part} for part in parts])


def _insert_arrays(connection: Connection, rows: ExperimentRows) -> None:
    if not rows.arrays:
        return
    known = set(
        connection.execute(
            select(ArrayBlob.digest).where(ArrayBlob.digest.in_(list(rows.arrays)))
        ).scalars()
    )
    missing = [
        {
            "digest": packed.digest,
            "dtype": packed.dtype,
            "shape": packed.shape,
            "encoding": packed.encoding,
            "data": packed.data,
        }
        for digest, packed in rows.arrays.items()
        if digest not in known
    ]
    if missing:
        connection.execute(insert(ArrayBlob), missing)


def _inserted(connection: Connection, table: type[Any], row: Row) -> int:
    key = connection.execute(insert(table).values(**row)).inserted_primary_key
    if key is None:
        raise StoreError("the database did not return the number of a new row")
    return int(key[0])
