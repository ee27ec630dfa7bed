"""A lab resumed from its journal, whose past is lived through again in the order it happened.

A campaign is resumed by making the same calls again: the policy proposes, the session submits and
collects. While the journal lasts, `ReplayedLab` answers those calls from it, at the lab times of
then; after that it is the resumed lab itself.
"""

from __future__ import annotations

from collections import deque
from itertools import groupby
from typing import TYPE_CHECKING

from labenv.lab import Ticket
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labenv.lab import JournalEvent, Lab, StationStatus
    from labenv.tasks.session import Wait
    from labenv_schemas.outcome import Outcome
    from labenv_schemas.proposal import Proposal


class ReplayedLab:
    """Answers from the journal as long as it lasts, then from the lab.

    Args:
        lab: A new lab, of the same configuration and seed as the one that wrote the journal.
        events: The journal, in order.

    Attributes:
        world: The lab itself.
    """

    def __init__(self, lab: Lab, events: Sequence[JournalEvent]) -> None:
        self.world = self._lab = lab
        self._submitted = deque(_submissions(events))
        lab.resume(events)
        reached = lab.collect("none")
        reached.sort(key=lambda outcome: outcome.finished_s)
        self._reached = deque(
            list(group) for _, group in groupby(reached, key=lambda outcome: outcome.finished_s)
        )
        self._in_flight: dict[str, Ticket] = {}
        self._clock_s = 0.0

    @property
    def replaying(self) -> bool:
        """Whether the next answer still comes from the journal."""
        return bool(self._submitted or self._reached)

    @property
    def now_s(self) -> float:
        """Lab clock, s; of the past while that is lived through."""
        return self._clock_s if self.replaying else self._lab.now_s

    @property
    def pending(self) -> tuple[Ticket, ...]:
        """Tickets whose outcome has not been collected, in order of submission."""
        return tuple(self._in_flight.values())

    @property
    def stations(self) -> tuple[StationStatus, ...]:
        """A snapshot of every station."""
        return self._lab.stations

    def next_proposal(self) -> Proposal | None:
        """Return the plan that the journal holds for the next submission, if it holds one."""
        return self._submitted[0][1] if self._submitted else None

    def submit(self, proposal: Proposal, *, experiment_id: str | None = None) -> Ticket:
        """Hand in a plan, or recognise it as one that the journal already holds.

        Args:
            proposal: The plan.
            experiment_id: Name of the experiment.

        Returns:
            A ticket.

        Raises:
            StoreError: If the journal holds another experiment at this place.
        """
        if not self._submitted:
            ticket = self._lab.submit(proposal, experiment_id=experiment_id)
        else:
            ticket, recorded = self._submitted.popleft()
            if recorded != proposal or experiment_id not in {None, ticket.experiment_id}:
                raise StoreError(
                    f"experiment {ticket.index} cannot be resumed: the journal holds "
                    f"{ticket.experiment_id} with another plan"
                )
            self._clock_s = max(self._clock_s, ticket.submitted_s)
        self._in_flight[ticket.experiment_id] = ticket
        return ticket

    def collect(self, wait: Wait = "next") -> list[Outcome]:
        """Return finished outcomes; one instant of the past at a time with ``"next"``.

        Args:
            wait: As for `labenv.lab.Lab.collect`.

        Returns:
            Outcomes in order of lab time, ties by submission.
        """
        outcomes: list[Outcome] = []
        while wait != "none" and (ready := self._take_reached()):
            outcomes += ready
            self._clock_s = ready[-1].finished_s
            if wait == "next":
                break
        if not outcomes or wait == "all":
            outcomes += self._lab.collect(wait)
        for outcome in outcomes:
            self._in_flight.pop(outcome.experiment_id, None)
        return outcomes

    def _take_reached(self) -> list[Outcome]:
        """Return the outcomes of the next instant of the past, of plans handed in by now.

        A plan refused at the very instant of another's end was handed in after that end was seen.
        """
        if not self._reached:
            return []
        instant = self._reached.popleft()
        ready = [outcome for outcome in instant if outcome.experiment_id in self._in_flight]
        later = [outcome for outcome in instant if outcome.experiment_id not in self._in_flight]
        if later:
            self._reached.appendleft(later)
        return ready

    def close(self) -> None:
        """Stop the lab; twice is fine."""
        self._lab.close()


def _submissions(events: Sequence[JournalEvent]) -> list[tuple[Ticket, Proposal]]:
    from labenv_schemas.proposal import parse_proposal

    found: list[tuple[Ticket, Proposal]] = []
    for event in events:
        if event.kind == "submitted":
            index = int(event.data["index"])
            ticket = Ticket(event.experiment_id, index, event.lab_time_s)
            found.append((ticket, parse_proposal(event.data["proposal"])))
    return found
