"""In-process twins: simulated devices behind the same life cycle, without a wire.

A twin is loaded with a `SampleView` and lets it compute. It takes no time unless it is given a
`pace`, which is awaited with the operation's duration: a virtual laboratory keeps time itself and
gives none.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from labenv_instruments.instrument import Instrument, InstrumentRequest, InstrumentState
from labenv_schemas.errors import InstrumentError, ProposalError, boundary
from labenv_schemas.measurement import InstrumentIdentity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase

DRIVER_VERSION = "1"


class InProcessTwin(Instrument):
    """A simulated device; subclasses say what they check and what they perform.

    Args:
        station: Name of the station it stands at, for its identity.
        pace: Awaited with the seconds an operation takes; None takes no time.
        stamps: Whether measurements carry the wall clock's time. Without it equal seeds give equal
            measurements.
    """

    in_process = True
    model: ClassVar[str]
    units: ClassVar[Mapping[str, str]] = {}

    def __init__(
        self,
        station: str = "",
        *,
        pace: Callable[[float], Awaitable[None]] | None = None,
        stamps: bool = False,
    ) -> None:
        super().__init__()
        self._station = station or self.kind
        self._pace = pace
        self._stamps = stamps
        self._sample: SampleView | None = None
        self._request: InstrumentRequest | None = None
        self._measured: tuple[MeasurementBase, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether nothing moves; a twin is unsafe only while it runs or after a fault."""
        return self._state not in {InstrumentState.RUNNING, InstrumentState.FAULT}

    @property
    def channel_units(self) -> Mapping[str, str]:
        """Unit of every channel in the measurements."""
        return self.units

    def load(self, sample: SampleView) -> None:
        """Put a sample in, as a robot would.

        Args:
            sample: The sample.
        """
        self._sample = sample

    async def connect(self) -> InstrumentIdentity:
        """Become idle.

        Returns:
            The twin's identity, which says that it is simulated.
        """
        if self.identity is None:
            self.identity = InstrumentIdentity(
                station=self._station,
                model=self.model,
                serial=f"twin-{self._station}",
                driver=self.kind,
                driver_version=DRIVER_VERSION,
                simulated=True,
            )
        if self._state is InstrumentState.DISCONNECTED:
            self._state = InstrumentState.IDLE
        return self.identity

    async def prepare(self, request: InstrumentRequest) -> None:
        """Check a request and take it.

        Args:
            request: The operation.

        Raises:
            ProposalError: If this kind of device cannot do it.
            InstrumentError: If no sample is loaded, another one is, or the twin is not idle.
        """
        self._require(InstrumentState.IDLE, InstrumentState.PREPARED)
        operation = request.operation
        if operation.op not in self.operations:
            known = ", ".join(sorted(self.operations))
            raise ProposalError(f"{self.kind} does {known}, not '{operation.op}'")
        self.check(operation)
        if self._sample is None or self._sample.sample_id != request.sample_id:
            raise InstrumentError(f"{self.kind}: sample {request.sample_id} is not in it")
        self._request = request
        self._state = InstrumentState.PREPARED

    async def run(self) -> None:
        """Let the sample compute, then take the time.

        Raises:
            InstrumentError: If nothing is prepared or the simulation fails.
            Exception: What the simulation raised of labenv's own errors, unchanged.
            BaseException: The cancellation, once the twin is safe.
        """
        self._require(InstrumentState.PREPARED)
        if self._request is None or self._sample is None:
            raise InstrumentError(f"{self.kind}: nothing is prepared")
        self._state = InstrumentState.RUNNING
        try:
            if self._pace is not None:
                await self._pace(self._request.duration_s)
            with boundary(InstrumentError, f"{self.kind}.run"):
                measured = self.perform(self._sample, self._request.operation)
            self._measured = self._checked(measured)
        except Exception:
            self._state = InstrumentState.FAULT
            raise
        except BaseException:  # cancelled
            self._rest()
            raise
        self._state = InstrumentState.DONE

    async def result(self) -> tuple[MeasurementBase, ...]:
        """Return what was measured and become idle.

        Returns:
            The measurements.

        Raises:
            InstrumentError: If nothing was finished.
        """
        self._require(InstrumentState.DONE)
        measured = self._measured
        self._rest()
        return measured

    async def abort(self) -> None:
        """Stop and become idle; nothing happens to a twin that rests."""
        if self._state is not InstrumentState.DISCONNECTED:
            self._rest()

    async def close(self) -> None:
        """Stop and disconnect."""
        self._rest()
        self._state = InstrumentState.DISCONNECTED

    @abstractmethod
    def perform(self, sample: SampleView, operation: Any) -> tuple[MeasurementBase, ...]:  # noqa: ANN401 - each twin has its own kind
        """Do the operation to the sample.

        Args:
            sample: What lies in the twin.
            operation: One of the kinds in `operations`, already checked.

        Returns:
            The measurements.
        """

    def stamp(self, sample: SampleView) -> dict[str, Any]:
        """Return the fields that every measurement of this instrument carries.

        Args:
            sample: What was measured.

        Returns:
            Instrument identity, sample id, the lab clock's time and, where a record is kept, the
            wall clock's.
        """
        return {
            "instrument": self.identity,
            "sample_id": sample.sample_id,
            "measured_at": datetime.now(UTC) if self._stamps else None,
            "provenance": {},
            "lab_time_s": None if self._request is None else self._request.finishes_s,
        }

    def _checked(self, measured: tuple[MeasurementBase, ...]) -> tuple[MeasurementBase, ...]:
        for measurement in measured:
            fields = measurement.__dict__
            for name in self.units:
                value = fields.get(name)
                # The sum of finite readings is finite, and one that is not makes it so.
                total = value.sum() if isinstance(value, np.ndarray) else value
                if total is not None and not math.isfinite(total):
                    raise InstrumentError(f"{self.kind}: {name} is not finite")
        return measured

    def _rest(self) -> None:
        self._request = None
        self._sample = None
        self._measured = ()
        self._state = InstrumentState.IDLE


def ensure(holds: bool, message: str) -> None:
    """Raise unless a condition on a request holds.

    Args:
        holds: The condition.
        message: What is wrong, the limit, and what to write instead.

    Raises:
        ProposalError: If it does not hold.
    """
    if not holds:
        raise ProposalError(message)


__all__ = ["InProcessTwin", "ensure"]
