"""The lab's journal in the store: one table, one transaction an event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from labenv.store.models import JournalEntry
from labenv.store.names import campaign_number
from labenv.store.types import to_json
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from labenv.lab.journal import JournalEvent
    from labenv.store.database import Database


class StoreJournal:
    """The journal of one campaign; a `labenv.lab.journal.Journal`, made by `Store.journal`."""

    def __init__(self, database: Database, campaign_id: str) -> None:
        self._database = database
        self._campaign_id = campaign_id
        self._number = campaign_number(campaign_id)

    def append(self, event: JournalEvent) -> None:
        """Add an event at the end; the same event again changes nothing.

        Args:
            event: The event.

        Raises:
            StoreError: If another event has its sequence number, or its data are not plain JSON
                with finite numbers.
        """
        row = {
            "campaign_id": self._number,
            "sequence": event.sequence,
            "kind": event.kind,
            "experiment_name": event.experiment_id,
            "lab_time_s": event.lab_time_s,
            "recorded_at": event.recorded_at,
            "data": event.data,
        }

        def work(connection: Connection) -> None:
            found = connection.execute(
                select(JournalEntry).where(
                    JournalEntry.campaign_id == self._number,
                    JournalEntry.sequence == event.sequence,
                )
            ).first()
            if found is None:
                connection.execute(insert(JournalEntry), row)
            elif _content(found, found.experiment_name) != _content(event, event.experiment_id):
                raise StoreError(
                    f"journal of {self._campaign_id}: event {event.sequence} is already "
                    f"{found.kind!r} of {found.experiment_name}, not {event.kind!r} of "
                    f"{event.experiment_id}, or differs in its data; two processes may be "
                    "running the campaign"
                )

        self._database.write(f"journalling event {event.sequence} of {self._campaign_id}", work)

    def events(self) -> tuple[JournalEvent, ...]:
        """Return all events in order.

        Returns:
            The events.
        """
        from labenv.lab.journal import JournalEvent

        def work(connection: Connection) -> list[Any]:
            query = (
                select(JournalEntry)
                .where(JournalEntry.campaign_id == self._number)
                .order_by(JournalEntry.sequence)
            )
            return list(connection.execute(query))

        return tuple(
            JournalEvent(
                sequence=row.sequence,
                kind=row.kind,
                experiment_id=row.experiment_name,
                lab_time_s=row.lab_time_s,
                data=row.data,
                recorded_at=row.recorded_at,
            )
            for row in self._database.read(f"reading the journal of {self._campaign_id}", work)
        )


def _content(event: Any, experiment_id: str) -> tuple[str, str, float, str]:  # noqa: ANN401 - event or row
    """Return what must agree when an event is appended again: all but the wall clock."""
    return event.kind, experiment_id, float(event.lab_time_s), to_json(event.data)
