"""An operation that a device on a wire is at, in its own time."""

from __future__ import annotations

from concurrent import futures
from typing import TYPE_CHECKING

from labenv_schemas.errors import InstrumentError, boundary

if TYPE_CHECKING:
    from labenv.lab.experiment import Experiment
    from labenv.lab.portal import Job
    from labenv_schemas.measurement import Measurement

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

    def result(self) -> tuple[Measurement, ...]:
        """Return what was measured; raises what the device's failure was."""
        with boundary(InstrumentError, "operation"):
            return self.future.result()

    def cancel(self) -> None:
        """Stop it, and wait until its device is safe."""
        self._job.cancel()
        futures.wait([self.future], _STOPPING_S)


__all__ = ["Running"]
