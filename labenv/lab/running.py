"""An operation that a device on a wire is at, in its own time."""

from __future__ import annotations

from concurrent import futures
from typing import TYPE_CHECKING

from labenv.lab.experiment import OperationResult
from labenv.lab.timing import REPAIR_S
from labenv_schemas.errors import BoundaryError, InstrumentError, ProposalError, boundary

if TYPE_CHECKING:
    from labenv.lab.experiment import Experiment, Failure
    from labenv.lab.portal import Job
    from labenv.lab.stations import Station
    from labenv_schemas.measurement import Measurement
    from labenv_schemas.proposal import Operation

_STOPPING_S = 15.0  # of wall time, for a device to be made safe


class Running:
    """An operation under way.

    Args:
        experiment: Whose.
        job: What the device does.
    """

    def __init__(self, experiment: Experiment, job: Job[tuple[Measurement, ...]]) -> None:
        self.experiment = experiment
        self._job = job
        self.future = job.future

    def done(self) -> bool:
        """Say whether it has ended.

        Returns:
            True if it has, well or badly.
        """
        return self.future.done()

    def wait(self) -> None:
        """Wait for its end, however it ends; an interrupt of ours is passed on to it."""
        try:
            futures.wait([self.future])
        except BaseException:
            self.cancel()
            raise

    def ended(
        self, station: Station, cost: float, finished_s: float, free_s: float
    ) -> OperationResult:
        """Return what it gave, now that it has ended.

        Args:
            station: Where it was.
            cost: What it costs.
            finished_s: Lab clock at its end, s.
            free_s: Lab clock from which the station is free, if nothing failed, s.

        Returns:
            The result; a failure of the device is one too.
        """
        try:
            with boundary(InstrumentError, station.name):
                measurements = self.future.result()
        except ProposalError as error:
            return OperationResult(finished_s, free_s, cost, failure="refused", message=str(error))
        except BoundaryError as error:
            return OperationResult(
                finished_s, free_s + REPAIR_S, cost, failure="machine", message=str(error)
            )
        lost = getattr(station, "lost", {}).pop(self.experiment.ticket.index, None)
        failure: Failure | None = None if lost is None else "chemistry"
        return OperationResult(finished_s, free_s, cost, measurements, failure, lost)

    def cancel(self) -> None:
        """Stop it, and wait until its device is safe."""
        self._job.cancel()
        futures.wait([self.future], _STOPPING_S)


def left_behind(station: Station, operation: Operation) -> str:
    """Return what to say of an operation that an earlier life of the lab began and did not end."""
    return (
        f"the process that drove {station.name} ended during '{operation.op}'; what became of the "
        "sample is not known, so it is given up; the plan may be proposed again"
    )


__all__ = ["Running", "left_behind"]
