"""What a running campaign tells whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from labenv.lab import StationStatus
    from labenv.tasks import Result

ProgressKind = Literal["begun", "resumed", "submitted", "waiting", "result", "finished", "warning"]


@dataclass(frozen=True)
class Progress:
    """What just happened in a campaign, and how it stands.

    Attributes:
        kind: What happened.
        campaign_id: Where.
        lab_time_s: Lab clock, s.
        submitted: Proposals handed in so far.
        finished: Outcomes so far.
        limit: Number of experiments in the budget, if it has one.
        stations: What each station is doing.
        best_value: Best score so far; None before the first.
        best_index: Experiment it came from.
        goal: Score that is success; None if unknown.
        index: Experiment that was submitted or has finished.
        result: Its analysed and scored outcome, once finished.
        replayed: Whether this only repeats what an earlier run of the campaign did.
        message: For people.
    """

    kind: ProgressKind
    campaign_id: str
    lab_time_s: float
    submitted: int
    finished: int
    limit: int | None
    stations: tuple[StationStatus, ...] = ()
    best_value: float | None = None
    best_index: int | None = None
    goal: float | None = None
    index: int | None = None
    result: Result | None = None
    replayed: bool = False
    message: str = ""
