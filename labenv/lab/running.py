"""An operation that a device on a wire is at, in its own time."""

from __future__ import annotations

from concurrent import futures
from typing import TYPE_CHECKING

from labenv_schemas.errors import InstrumentError, boundary

if TYPE_CHECKING:
    from concurrent.futures import Future

    from labenv.lab.experiment import Experiment
    from labenv_schemas.measurement import Measurement

_STOPPING_S = 15.0  # of wall time, for a device to be made safe


class Running:
    """An operation under way.

    Args:
        experiment: Whose.
        future: What the device will give.
    """

    def __init__(self, experiment: Experiment, future: Future[tuple[Measurement, ...]]) -> None:
        self.experiment = experiment
        self.future = future

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
            self.future.cancel()
            raise

    def result(self) -> tuple[Measurement, ...]:
        """Return what was measured.

        Raises:
            InstrumentError: If the device failed, or the operation was cancelled under our hands.
        """
        try:
            with boundary(InstrumentError, "operation"):
                return self.future.result()
        except futures.CancelledError:
            raise InstrumentError("the operation was stopped") from None

    def cancel(self) -> None:
        """Stop it, and wait until its device is safe."""
        self.future.cancel()
        futures.wait([self.future], _STOPPING_S)


__all__ = ["Running"]
