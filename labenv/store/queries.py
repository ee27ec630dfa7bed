"""Reading campaigns and experiments back; every public function is one reading transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import func, select, true

from labenv.store.leases import is_live, to_lease, utc_now
from labenv.store.models import Campaign, Episode, Experiment, LeaseRow, Reward
from labenv.store.names import campaign_name, episode_name
from labenv.store.records import CampaignRecord, CampaignStatus, EpisodeRecord, ExperimentRecord
from labenv.store.resolve import find_campaign, find_experiment
from labenv.store.restore import restore_experiments
from labenv_schemas.base import parse
from labenv_schemas.campaign import CampaignConfig
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from labenv.store.database import Database

Order = Literal["submission", "completion"]
_BATCH = 200


def campaign(database: Database, text: str) -> CampaignRecord:
    """Return the campaign that a text means; see `Store.campaign`."""

    def work(connection: Connection) -> CampaignRecord:
        return _campaign_records(connection, find_campaign(connection, text))[0]

    return database.read("reading a campaign", work)


def campaigns(database: Database) -> list[CampaignRecord]:
    """Return all campaigns, oldest first."""
    return database.read("listing campaigns", _campaign_records)


def episodes(database: Database, campaign_id: str) -> list[EpisodeRecord]:
    """Return the episodes of a campaign, oldest first."""

    def work(connection: Connection) -> list[EpisodeRecord]:
        number = find_campaign(connection, campaign_id)
        query = select(Episode).where(Episode.campaign_id == number).order_by(Episode.id)
        return [
            EpisodeRecord(
                episode_id=episode_name(row.id),
                campaign_id=campaign_name(number),
                seed=int(row.seed),
                policy=row.policy,
                started_at=row.started_at,
            )
            for row in connection.execute(query)
        ]

    return database.read("listing episodes", work)


def experiments(
    database: Database, campaign_id: str, *, order: Order, with_measurements: bool
) -> list[ExperimentRecord]:
    """Return the experiments of a campaign. See `Store.experiments`."""

    def work(connection: Connection) -> list[ExperimentRecord]:
        number = find_campaign(connection, campaign_id)
        return list(iterate_experiments(connection, number, order, with_measurements))

    return database.read("reading experiments", work)


def experiment(database: Database, text: str, campaign_id: str | None) -> ExperimentRecord:
    """Return the experiment that a text means; see `Store.experiment`."""

    def work(connection: Connection) -> ExperimentRecord:
        number = find_experiment(connection, text, campaign_id)
        return restore_experiments(connection, [number], with_measurements=True)[0]

    return database.read("reading an experiment", work)


def iterate_experiments(
    connection: Connection, number: int, order: Order, with_measurements: bool
) -> Iterator[ExperimentRecord]:
    """Yield the experiments of a campaign, a few hundred in memory at a time.

    Args:
        connection: In a reading transaction.
        number: Of the campaign.
        order: By submission, or by completion with pending ones last.
        with_measurements: Whether to load arrays.

    Yields:
        The records.
    """
    query = select(Experiment.id).where(Experiment.campaign_id == number)
    if order == "completion":
        query = query.order_by(Experiment.completion.is_(None), Experiment.completion)
    numbers = list(connection.execute(query.order_by(Experiment.position)).scalars())
    for start in range(0, len(numbers), _BATCH):
        batch = numbers[start : start + _BATCH]
        yield from restore_experiments(connection, batch, with_measurements=with_measurements)


def _campaign_records(connection: Connection, number: int | None = None) -> list[CampaignRecord]:
    ours = true() if number is None else Experiment.campaign_id == number
    counts = {
        row.campaign_id: row
        for row in connection.execute(
            select(
                Experiment.campaign_id,
                func.count().label("submitted"),
                func.count(Experiment.completion).label("completed"),
            )
            .where(ours)
            .group_by(Experiment.campaign_id)
        )
    }
    rank = func.row_number().over(
        partition_by=Experiment.campaign_id, order_by=(Reward.value.desc(), Experiment.position)
    )
    ranked = (
        select(Experiment.campaign_id, Experiment.name, Reward.value, rank.label("rank"))
        .join(Reward, Reward.experiment_id == Experiment.id)
        .where(Reward.value.is_not(None), Experiment.status == "ok", ours)
        .subquery()
    )
    best = {
        row.campaign_id: row for row in connection.execute(select(ranked).where(ranked.c.rank == 1))
    }
    now = utc_now()
    live = {
        row.campaign_id: row for row in connection.execute(select(LeaseRow)) if is_live(row, now)
    }
    query = select(Campaign).where(true() if number is None else Campaign.id == number)
    return [
        _campaign_record(row, counts.get(row.id), best.get(row.id), live.get(row.id))
        for row in connection.execute(query.order_by(Campaign.id))
    ]


def _campaign_record(row: Any, counts: Any, best: Any, lease: Any) -> CampaignRecord:  # noqa: ANN401 - rows
    status: CampaignStatus = row.status
    if status == "running" and lease is None:
        status = "interrupted"
    return CampaignRecord(
        campaign_id=campaign_name(row.id),
        name=row.name,
        status=status,
        status_reason=row.status_reason,
        config=parse(CampaignConfig, row.config, StoreError),
        seed=int(row.seed),
        versions=row.versions,
        lab_hash=row.lab_hash,
        task_hash=row.task_hash,
        created_at=row.created_at,
        finished_at=row.finished_at,
        experiments=0 if counts is None else counts.completed,
        pending=0 if counts is None else counts.submitted - counts.completed,
        best_value=None if best is None else best.value,
        best_experiment_id=None if best is None else best.name,
        lease=None if lease is None else to_lease(lease._asdict()),
    )
