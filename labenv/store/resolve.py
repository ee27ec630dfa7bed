"""What a person types, to the one campaign or experiment that is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from labenv.store.models import Campaign, Experiment
from labenv.store.names import campaign_name, short_number
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_SHOWN = 8


def find_campaign(connection: Connection, text: str) -> int:
    """Find the campaign that a text means.

    Args:
        connection: In a transaction.
        text: A full id, its number (``c3``, ``3``), the beginning of one id only, the name of one
            campaign only, or ``latest``.

    Returns:
        The campaign's number.

    Raises:
        StoreError: If none or several are meant.
    """
    wanted = text.strip()
    if not wanted:
        raise StoreError("no campaign was named; give an id such as 'c00003', or 'latest'")
    newest = connection.execute(select(func.max(Campaign.id))).scalar()
    if newest is None:
        raise StoreError("there are no campaigns in this store yet")
    if wanted == "latest":
        return int(newest)
    number = short_number(wanted)
    if number is not None and _exists(connection, number):
        return number
    rows = connection.execute(select(Campaign.id, Campaign.name).order_by(Campaign.id)).all()
    exact = [row.id for row in rows if campaign_name(row.id) == wanted]
    begin = [row.id for row in rows if campaign_name(row.id).startswith(wanted)]
    named = [row.id for row in rows if row.name == wanted]
    found = exact or begin or named
    if len(found) == 1:
        return int(found[0])
    if found:
        shown = _some([campaign_name(item) for item in found])
        raise StoreError(f"{text!r} means several campaigns: {shown}; write one of these ids")
    shown = _some([f"{campaign_name(row.id)} ({row.name})" for row in rows[::-1]])
    raise StoreError(f"there is no campaign {text!r}; there are: {shown}")


def find_experiment(connection: Connection, text: str, campaign: str | None) -> int:
    """Find the experiment that a text means.

    Args:
        connection: In a transaction.
        text: Its name, the beginning of one name only, or ``CAMPAIGN/INDEX``.
        campaign: Where to look, as for `find_campaign`; everywhere if None.

    Returns:
        The row's number.

    Raises:
        StoreError: If none or several are meant.
    """
    wanted = text.strip()
    if not wanted:
        raise StoreError("no experiment was named; give its name or CAMPAIGN/INDEX such as c3/17")
    place, slash, index = wanted.rpartition("/")
    columns = select(Experiment.id, Experiment.name, Experiment.campaign_id, Experiment.position)
    if campaign is not None:
        columns = columns.where(Experiment.campaign_id == find_campaign(connection, campaign))
    columns = columns.order_by(Experiment.campaign_id, Experiment.position)
    rows = connection.execute(columns.where(Experiment.name == wanted)).all()
    if not rows and slash and index.isdecimal():
        number = find_campaign(connection, place)
        rows = connection.execute(
            columns.where(Experiment.campaign_id == number, Experiment.position == int(index))
        ).all()
    if not rows:
        prefix = columns.where(Experiment.name.startswith(wanted, autoescape=True))
        rows = [row for row in connection.execute(prefix) if row.name.startswith(wanted)]
    if len(rows) == 1:
        return int(rows[0].id)
    if rows:
        shown = _some([f"{campaign_name(row.campaign_id)}/{row.position}" for row in rows])
        raise StoreError(
            f"{text!r} means several experiments: {shown}; name the campaign, or write one of these"
        )
    where = "this store" if campaign is None else f"campaign {campaign}"
    raise StoreError(
        f"there is no experiment {text!r} in {where}; give its name or CAMPAIGN/INDEX such as c3/17"
    )


def _exists(connection: Connection, number: int) -> bool:
    found = connection.execute(select(Campaign.id).where(Campaign.id == number)).scalar()
    return found is not None


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
