"""Writing down that campaigns and episodes begin and end; every function is one transaction."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from labenv.store.models import Campaign, Episode
from labenv.store.names import campaign_name, campaign_number, episode_name
from labenv.store.plain import plain
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from labenv.store.database import Database
    from labenv.store.rows import Row
    from labenv_schemas.campaign import CampaignConfig


def begin_campaign(
    database: Database,
    config: CampaignConfig,
    *,
    seed: int,
    versions: Mapping[str, str],
    hashes: tuple[str, str],
) -> str:
    """Insert a campaign; see `Store.begin_campaign`.

    Args:
        database: Where.
        config: The campaign file.
        seed: Seed of everything random.
        versions: Package name to version.
        hashes: Fingerprints of the lab and of the task.

    Returns:
        The campaign's id.
    """
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
        return inserted(connection, Campaign, row)

    return campaign_name(database.write("beginning a campaign", work))


def begin_episode(database: Database, campaign_id: str, *, seed: int, policy: str) -> str:
    """Insert an episode; see `Store.begin_episode`.

    Args:
        database: Where.
        campaign_id: Where it belongs.
        seed: Seed of the lab and the policy.
        policy: Name of the policy.

    Returns:
        The episode's id.
    """
    row: Row = {
        "campaign_id": campaign_number(campaign_id),
        "seed": str(int(seed)),
        "policy": policy,
        "started_at": datetime.now(UTC),
    }

    def work(connection: Connection) -> int:
        require_campaign(connection, row["campaign_id"])
        return inserted(connection, Episode, row)

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
        select(Campaign.id).where(Campaign.id == number).with_for_update(key_share=True)
    ).scalar()
    if found is None:
        raise StoreError(f"there is no campaign {campaign_name(number)} in this store")


def inserted(connection: Connection, table: type[Any], row: Row) -> int:
    """Insert a row.

    Args:
        connection: In a writing transaction.
        table: Model of the table.
        row: Columns.

    Returns:
        The new row's number.

    Raises:
        StoreError: If the database does not say.
    """
    key = connection.execute(insert(table), row).inserted_primary_key
    if key is None:
        raise StoreError("the database did not return the number of a new row")
    return int(key[0])
