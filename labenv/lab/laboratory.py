"""The laboratory: proposals in, outcomes out, several at a time, on a clock of its own.

PUBLIC SIGNATURES ONLY, being filled in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from labenv.lab.clock import Clock
    from labenv.lab.journal import Journal, JournalEvent
    from labenv_schemas.campaign import LabConfig
    from labenv_schemas.outcome import Outcome
    from labenv_schemas.proposal import Proposal


@dataclass(frozen=True, slots=True)
class Ticket:
    """A claim on the outcome of a submitted proposal.

    Attributes:
        experiment_id: Name of the experiment.
        index: Order of submission, from 0; the key of its random streams.
        submitted_s: Lab clock at submission, s.
    """

    experiment_id: str
    index: int
    submitted_s: float


@dataclass(frozen=True, slots=True)
class StationStatus:
    """What a station is doing.

    Attributes:
        name: Such as ``"furnace-1"``.
        kind: Such as ``"tube_furnace"``.
        busy_until_s: Lab clock at which it is free again, s; None if it is idle.
        queue_length: Samples waiting for a station of this kind.
        experiment_id: Whose sample is in it, if any.
        operation: Index in that plan of what it is doing.
    """

    name: str
    kind: str
    busy_until_s: float | None
    queue_length: int
    experiment_id: str | None
    operation: int | None


class Lab:
    """Stations, a clock and samples."""

    def __init__(
        self,
        config: LabConfig,
        *,
        seed: int,
        journal: Journal | None = None,
        clock: Clock | None = None,
    ) -> None: ...

    def submit(self, proposal: Proposal, *, experiment_id: str | None = None) -> Ticket:
        """Hand in a plan; a policy's mistake gives an outcome `invalid`, never an exception."""
        raise NotImplementedError

    def collect(self, wait: Literal["none", "next", "all"] = "next") -> list[Outcome]:
        """Return finished outcomes in order of lab time, ties by submission.

        With "next" the clock advances until at least one is ready; all that finish at the same
        instant come together. Nothing in flight: an empty list.
        """
        raise NotImplementedError

    def run(self, proposal: Proposal) -> Outcome:
        """Submit one plan and wait for its outcome."""
        raise NotImplementedError

    @property
    def pending(self) -> tuple[Ticket, ...]:
        """Tickets whose outcome has not been collected, in order of submission."""
        raise NotImplementedError

    @property
    def now_s(self) -> float:
        """Lab clock, s."""
        raise NotImplementedError

    @property
    def stations(self) -> tuple[StationStatus, ...]:
        """A snapshot of every station."""
        raise NotImplementedError

    def resume(self, events: Iterable[JournalEvent], *, collected: Collection[str] = ()) -> None:
        """Replay a journal into this new lab.

        Operations with a journalled result are not executed again. Outcomes that were reached are
        handed out again by `collect`, except those of the experiments in `collected` (what the
        caller has already recorded).
        """
        raise NotImplementedError

    def cancel(self, ticket: Ticket) -> None:
        """Give an experiment up; its outcome is `cancelled`."""
        raise NotImplementedError

    def close(self) -> None:
        """Cancel everything and leave every instrument safe; twice is fine."""
        raise NotImplementedError


__all__ = ["Lab", "StationStatus", "Ticket"]
