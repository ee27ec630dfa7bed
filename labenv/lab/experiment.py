"""One submitted plan on its way through the lab, and the outcome it ends in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from labenv_instruments.trusted import trusted
from labenv_schemas.outcome import OperationRecord, Outcome
from labenv_schemas.sample import Sample, SampleEvent

if TYPE_CHECKING:
    from datetime import datetime

    from labenv.lab.sample import BenchSample
    from labenv_schemas.measurement import Measurement
    from labenv_schemas.outcome import OutcomeStatus
    from labenv_schemas.proposal import Operation

_WITHOUT_MEASURING = frozenset({"dose", "mix", "press", "heat", "regrind"})
Failure = Literal["chemistry", "machine", "refused"]


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
class OperationResult:
    """What an operation gives, known when it starts and believed when it ends.

    Attributes:
        finished_s: Lab clock at its end, s.
        free_s: Lab clock at which the station is free again, s.
        cost: In the lab's currency.
        measurements: What was measured.
        failure: Whose failure it was, if it failed.
        message: Why it failed.
    """

    finished_s: float
    free_s: float
    cost: float
    measurements: tuple[Measurement, ...] = ()
    failure: Failure | None = None
    message: str | None = None


@dataclass(slots=True)
class Experiment:
    """State of one plan.

    Attributes:
        ticket: Whose it is.
        sample: The matter.
        operations: What the stations are asked for, in order.
        position: Index of the operation that is waiting or running.
        queued_s: Lab clock since when it waits, s.
        started_s: Lab clock since when the operation runs, s; None while it waits.
        station: Number of the station it is in; None while it waits.
        result: What the running operation will have given.
        records: Finished operations.
        measurements: What was measured so far.
        done: Whether there is an outcome.
    """

    ticket: Ticket
    sample: BenchSample
    operations: tuple[Operation, ...] = ()
    position: int = 0
    queued_s: float = 0.0
    started_s: float | None = None
    station: int | None = None
    result: OperationResult | None = None
    records: list[OperationRecord] = field(default_factory=list[OperationRecord])
    measurements: list[Measurement] = field(default_factory=list["Measurement"])
    done: bool = False

    def runs(self, position: int) -> bool:
        """Say whether the operation at a position is what runs now.

        Args:
            position: Index in the plan.

        Returns:
            True if it is.
        """
        return self.started_s is not None and self.position == position

    def note(
        self, station: str, status: Literal["ok", "failed", "cancelled"], finished_s: float
    ) -> OperationRecord:
        """Write the running operation down as ended.

        Args:
            station: Name of the station.
            status: How it ended.
            finished_s: Lab clock, s.

        Returns:
            The record.
        """
        result, started_s = self.result, self.started_s
        record = trusted(
            OperationRecord,
            index=self.position,
            op=self.operations[self.position].op,
            station=station,
            status=status,
            queued_s=self.queued_s,
            started_s=finished_s if started_s is None else started_s,
            finished_s=finished_s,
            cost=0.0 if result is None else result.cost,
            message=None if result is None else result.message,
        )
        self.records.append(record)
        return record

    def outcome(
        self,
        status: OutcomeStatus,
        message: str | None,
        finished_s: float,
        recorded_at: datetime | None,
    ) -> Outcome:
        """Return everything that came of the plan.

        Args:
            status: How it ended.
            message: Why, unless it is ``ok``.
            finished_s: Lab clock, s.
            recorded_at: Wall clock, where a record is kept.

        Returns:
            The outcome, without analyses.
        """
        experiment_id = self.ticket.experiment_id
        sample = None
        if self.records:
            history = tuple(
                trusted(
                    SampleEvent,
                    operation=record.op,
                    station=record.station,
                    started_s=record.started_s,
                    finished_s=record.finished_s,
                )
                for record in self.records
            )
            sample = trusted(
                Sample,
                sample_id=self.sample.sample_id,
                experiment_id=experiment_id,
                history=history,
            )
        warnings: tuple[str, ...] = ()
        if status == "ok" and all(op.op in _WITHOUT_MEASURING for op in self.operations):
            warnings = ("nothing was measured: end the plan with a 'measure'",)
        return trusted(
            Outcome,
            experiment_id=experiment_id,
            status=status,
            message=message,
            sample=sample,
            operations=tuple(self.records),
            measurements=tuple(self.measurements),
            analyses=(),
            warnings=warnings,
            cost=sum(record.cost for record in self.records),
            submitted_s=self.ticket.submitted_s,
            finished_s=finished_s,
            recorded_at=recorded_at,
        )


__all__ = ["Experiment", "Failure", "OperationResult", "Ticket"]
