"""Writes the journal, and knows what an earlier life of the lab has already written in it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from labenv.lab.experiment import OperationResult
from labenv.lab.journal import JournalEvent, utc_now
from labenv_schemas.base import describe
from labenv_schemas.errors import ConfigError, StoreError
from labenv_schemas.measurement import Measurement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from labenv.lab.experiment import Experiment
    from labenv.lab.journal import EventKind, Journal
    from labenv_schemas.outcome import OperationRecord

_Key = tuple[str, str, int]
_SAME_TIME_S = 1e-6


class Recorder:
    """Appends each event once, also across lives.

    Args:
        journal: Where to; None keeps no record.
    """

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        self._sequence = 0
        self._known: dict[_Key, JournalEvent] = {}

    @property
    def keeps_record(self) -> bool:
        """Whether there is a journal."""
        return self._journal is not None

    def load(self, events: Iterable[JournalEvent]) -> list[JournalEvent]:
        """Take note of what the journal already holds.

        Args:
            events: All of it, in order.

        Returns:
            The events.

        Raises:
            StoreError: If events are missing or out of order.
        """
        past = list(events)
        for number, event in enumerate(past):
            if event.sequence != number:
                raise StoreError(f"the journal has event {event.sequence} at place {number}")
            self._known[event.kind, event.experiment_id, int(event.data.get("operation", -1))] = (
                event
            )
        self._sequence = len(past)
        return past

    def record(
        self,
        kind: EventKind,
        experiment_id: str,
        lab_time_s: float,
        data: Callable[[], dict[str, Any]] = dict,
        operation: int = -1,
    ) -> datetime | None:
        """Append an event unless an earlier life did.

        Args:
            kind: What happened.
            experiment_id: To which experiment.
            lab_time_s: When, s.
            data: Gives the particulars; called only if they are needed.
            operation: Which operation, if it is about one.

        Returns:
            When it was written down, wall clock, UTC; None where no record is kept.
        """
        if self._journal is None:
            return None
        known = self._known.get((kind, experiment_id, operation))
        if known is not None:
            return known.recorded_at
        content = data() if operation < 0 else {"operation": operation, **data()}
        moment = utc_now()
        self._journal.append(
            JournalEvent(self._sequence, kind, experiment_id, lab_time_s, content, moment)
        )
        self._sequence += 1
        return moment

    def left_unfinished(self, experiment_id: str, operation: int) -> bool:
        """Say whether an earlier life began an operation of which no end is recorded.

        Args:
            experiment_id: Of which experiment.
            operation: Its index in the plan.

        Returns:
            True if it did.
        """
        began = ("operation_started", experiment_id, operation) in self._known
        return began and ("operation_finished", experiment_id, operation) not in self._known

    def recorded_result(self, experiment: Experiment, started_s: float) -> OperationResult | None:
        """Return what the journal says the waiting operation of an experiment gave.

        Args:
            experiment: Whose operation starts.
            started_s: Lab clock, s.

        Returns:
            The recorded result; None if it has to be found out.

        Raises:
            ConfigError: If the record does not fit this lab.
            StoreError: If it is broken.
        """
        name = experiment.ticket.experiment_id
        event = self._known.get(("operation_finished", name, experiment.position))
        if event is None:
            return None
        data = event.data
        if abs(float(data["started_s"]) - started_s) > _SAME_TIME_S:
            raise ConfigError(
                f"the journal says that operation {experiment.position} of {name} started at "
                f"{data['started_s']} s of lab time, here it starts at {started_s} s: the journal "
                f"was written by a lab of another configuration or version"
            )
        try:
            measurements = tuple(_reader().validate_python(data["measurements"]))
        except ValidationError as error:
            raise StoreError(f"journal event {event.sequence}: {describe(error)}") from None
        return OperationResult(
            finished_s=event.lab_time_s,
            free_s=float(data["free_s"]),
            cost=float(data["cost"]),
            measurements=measurements,
            failure=data["failure"],
            message=data["message"],
        )

    def operation_finished(
        self, experiment: Experiment, record: OperationRecord, result: OperationResult
    ) -> None:
        """Write down what an operation gave.

        Args:
            experiment: Whose.
            record: When and where.
            result: What.
        """

        def data() -> dict[str, Any]:
            return {
                "op": record.op,
                "station": record.station,
                "status": record.status,
                "queued_s": record.queued_s,
                "started_s": record.started_s,
                "free_s": result.free_s,
                "cost": result.cost,
                "failure": result.failure,
                "message": result.message,
                "measurements": [
                    m.model_dump(mode="json", exclude_none=True) for m in result.measurements
                ],
            }

        name = experiment.ticket.experiment_id
        self.record("operation_finished", name, result.finished_s, data, record.index)


@cache
def _reader() -> TypeAdapter[list[Measurement]]:
    return TypeAdapter(list[Measurement])


__all__ = ["Recorder"]
