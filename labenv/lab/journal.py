"""The journal: an append-only list of everything that happened, from which a lab can be resumed.

Events hold what a person at the bench could have written down: proposals, times, measurements,
messages. The truth about a sample is in none of them.

==================== ==============================================================================
kind                 data
==================== ==============================================================================
submitted            index, proposal
interlock_refused    message
operation_started    operation, op, station, queued_s
operation_finished   operation, station, status, queued_s, started_s, cost, measurements, message
cancelled            (the caller gave the experiment up)
outcome              status, message
==================== ==============================================================================
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedWriter

EventKind = Literal[
    "submitted",
    "interlock_refused",
    "operation_started",
    "operation_finished",
    "cancelled",
    "outcome",
]


_KINDS: dict[str, EventKind] = {kind: kind for kind in get_args(EventKind)}


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """One line of the journal.

    Attributes:
        sequence: Position in the journal, from 0 without gaps.
        kind: What happened.
        experiment_id: To which experiment.
        lab_time_s: When, on the lab clock, s.
        data: The particulars, plain JSON.
        recorded_at: When, on the wall clock, UTC.
    """

    sequence: int
    kind: EventKind
    experiment_id: str
    lab_time_s: float
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    recorded_at: datetime | None = None

    def to_json(self) -> str:
        """Return the event as one line of JSON without a line end.

        Returns:
            The line, which `from_json` reads back to an equal event.

        Raises:
            StoreError: If the data hold what JSON cannot say, such as a NaN.
        """
        content = {
            "sequence": self.sequence,
            "kind": self.kind,
            "experiment_id": self.experiment_id,
            "lab_time_s": self.lab_time_s,
            "recorded_at": None if self.recorded_at is None else self.recorded_at.isoformat(),
            "data": self.data,
        }
        try:
            return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError) as error:
            raise StoreError(
                f"journal event {self.sequence} ({self.kind} of {self.experiment_id}) cannot be "
                f"written as JSON: {error}"
            ) from None

    @classmethod
    def from_json(cls, line: str | bytes) -> JournalEvent:
        """Read an event from a line that `to_json` wrote.

        Args:
            line: The JSON.

        Returns:
            The event.

        Raises:
            StoreError: If the line is not such an event.
        """
        try:
            content = json.loads(line)
            kind = _KINDS[content["kind"]]
            moment = content.get("recorded_at")
            return cls(
                sequence=int(content["sequence"]),
                kind=kind,
                experiment_id=str(content["experiment_id"]),
                lab_time_s=float(content["lab_time_s"]),
                data=dict(content["data"]),
                recorded_at=None if moment is None else datetime.fromisoformat(moment),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"not a journal event: {error} in {line[:120]!r}") from None


@runtime_checkable
class Journal(Protocol):
    """Where one lab's events go; what `append` has returned from is not lost by a crash."""

    def append(self, event: JournalEvent) -> None:
        """Add an event at the end."""
        ...

    def events(self) -> Iterable[JournalEvent]:
        """Return all events in order."""
        ...


class MemoryJournal:
    """A journal that lives as long as the process."""

    def __init__(self, events: Iterable[JournalEvent] = ()) -> None:
        self._events = list(events)

    def append(self, event: JournalEvent) -> None:
        """Add an event at the end."""
        self._events.append(event)

    def events(self) -> tuple[JournalEvent, ...]:
        """Return all events in order."""
        return tuple(self._events)


class JsonlJournal:
    """A journal in a file of JSON lines.

    A process that is killed while it writes leaves a torn last line. Reading ignores it, and the
    next `append` cuts it off first; a torn line anywhere else is an error.

    The file is opened on first use, so an unused journal pickles.
    """

    def __init__(self, path: str | Path, *, fsync: bool = False) -> None:
        self.path = Path(path)
        self._fsync = fsync
        self._file: BufferedWriter | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_file": None}

    def append(self, event: JournalEvent) -> None:
        """Write an event at the end and hand it to the operating system.

        Args:
            event: The event.

        Raises:
            StoreError: If the event is not JSON or the file cannot be written.
        """
        line = event.to_json().encode() + b"\n"
        try:
            file = self._open()
            file.write(line)
            file.flush()
            if self._fsync:
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"journal {self.path} cannot be written: {error}") from error

    def events(self) -> Iterator[JournalEvent]:
        """Yield all events in order.

        Yields:
            The events.

        Raises:
            StoreError: If a line other than the last is broken.
        """
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                yield JournalEvent.from_json(line)
            except StoreError as error:
                raise StoreError(f"journal {self.path}, line {number}: {error}") from None

    def close(self) -> None:
        """Close the file; appending again reopens it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> BufferedWriter:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._cut_torn_line()
            self._file = self.path.open("ab")
        return self._file

    def _cut_torn_line(self) -> None:
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        if content and not content.endswith(b"\n"):
            with self.path.open("r+b") as file:
                file.truncate(content.rfind(b"\n") + 1)


def utc_now() -> datetime:
    """Return the wall clock's time, UTC."""
    return datetime.now(UTC)


__all__ = [
    "EventKind",
    "Journal",
    "JournalEvent",
    "JsonlJournal",
    "MemoryJournal",
    "utc_now",
]
