"""Writing experiments down; every function here is one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, insert, select, update

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
from labenv.store.names import campaign_name, episode_name
from labenv.store.opening import inserted
from labenv.store.plain import plain
from labenv.store.rows import ExperimentRows, Row, experiment_rows, proposal_digest
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from labenv.store.database import Database
    from labenv_schemas.outcome import Outcome, Score
    from labenv_schemas.proposal import Proposal


# Built once: making a statement takes SQLAlchemy longer than SQLite takes to carry it out.
_LOCK_CAMPAIGN = (
    select(Episode.campaign_id)
    .join(Campaign, Campaign.id == Episode.campaign_id)
    .where(Episode.id == bindparam("episode"))
    .with_for_update(of=Campaign, key_share=True)
)
_EXPERIMENT = select(
    Experiment.id, Experiment.name, Experiment.proposal_digest, Experiment.content_digest
).where(Experiment.campaign_id == bindparam("campaign"), Experiment.position == bindparam("index"))
_LAST_COMPLETION = select(func.max(Experiment.completion)).where(
    Experiment.campaign_id == bindparam("campaign")
)
_KNOWN_ARRAYS = select(ArrayBlob.digest).where(
    ArrayBlob.digest.in_(bindparam("digests", expanding=True))
)
_COMPLETE_EXPERIMENT = update(Experiment).where(Experiment.id == bindparam("number"))
_INSERTS = {
    table: insert(table)
    for table in (ArrayBlob, Operation, Measurement, MeasurementArray, Analysis, Reward)
}


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


def record_experiment(
    database: Database,
    key: ExperimentKey,
    proposal: Proposal,
    outcome: Outcome,
    score: Score | None,
    extra: Mapping[str, Any] | None,
) -> None:
    """Insert an outcome and all that belongs to it; see `Store.record_experiment`.

    Args:
        database: Where.
        key: Where it belongs.
        proposal: What was asked for.
        outcome: What it gave.
        score: What the task made of it.
        extra: What else to keep.

    Raises:
        StoreError: If the index holds another experiment or a number is not finite.
    """
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
            number = inserted(connection, Experiment, submission | columns)
        else:
            number = existing.id
            connection.execute(_COMPLETE_EXPERIMENT, {"number": number, **columns})
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
    # Locks the campaign first: every writer takes its locks in the same order.
    campaign = connection.execute(_LOCK_CAMPAIGN, {"episode": key.episode}).scalar()
    if campaign != key.campaign:
        raise StoreError(
            f"{key.text}: there is no episode {episode_name(key.episode)} in that campaign"
        )
    place = {"campaign": key.campaign, "index": key.index}
    found = connection.execute(_EXPERIMENT, place).first()
    if found is not None and found.name != name:
        raise StoreError(f"{key.text} has been recorded under the name {found.name}, not {name}")
    if found is not None and found.proposal_digest != digest:
        raise StoreError(f"{key.text} has been recorded with another proposal")
    return found


def _next_completion(connection: Connection, campaign: int) -> int:
    last = connection.execute(_LAST_COMPLETION, {"campaign": campaign}).scalar()
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
            connection.execute(
                _INSERTS[table], [{"experiment_id": number, **part} for part in parts]
            )


def _insert_arrays(connection: Connection, rows: ExperimentRows) -> None:
    if not rows.arrays:
        return
    known = set(connection.execute(_KNOWN_ARRAYS, {"digests": list(rows.arrays)}).scalars())
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
        connection.execute(_INSERTS[ArrayBlob], missing)
