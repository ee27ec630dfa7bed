"""What every instrument is: an asynchronous life cycle that always ends in a safe state.

::

    disconnected ─connect─▶ idle ─prepare─▶ prepared ─run─▶ running ─▶ done ─result─▶ idle
                             ▲                 │              │  │
                             └──────abort──────┴──────────────┘  └─failure─▶ fault ─abort─▶ idle

* `prepare` refuses what the device cannot do with a `ProposalError`, before anything moves.
* `run` may be cancelled at any await; the device is then already in its safe state.
* `close` may be called twice and from every state.

A driver that talks over a wire and an in-process twin are both `Instrument`s; the laboratory uses
no more than this page.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_schemas.measurement import InstrumentIdentity, MeasurementBase
    from labenv_schemas.proposal import Operation


class InstrumentState(StrEnum):
    """Where an instrument is in its life cycle."""

    DISCONNECTED = "disconnected"
    IDLE = "idle"
    PREPARED = "prepared"
    RUNNING = "running"
    DONE = "done"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class InstrumentRequest:
    """One operation on one sample.

    Attributes:
        operation: What to do.
        sample_id: Name on the vial.
        duration_s: How long it is expected to take, lab time, s; a twin takes so long, a device
            takes what it takes.
        finishes_s: Lab clock at which that ends, s, for the record; None outside a laboratory.
    """

    operation: Operation
    sample_id: str
    duration_s: float = 0.0
    finishes_s: float | None = None


class Instrument(ABC):
    """One device that performs one kind of operation.

    Attributes:
        kind: Id of the driver, which is its module's name.
        operations: Values of ``op`` that it performs.
        in_process: True for a twin that computes in this process and suspends only to pass time.
        identity: What the device said of itself; None before `connect`.
    """

    kind: ClassVar[str]
    operations: ClassVar[frozenset[str]]
    in_process: ClassVar[bool] = False
    identity: InstrumentIdentity | None = None

    def __init__(self) -> None:
        self._state = InstrumentState.DISCONNECTED

    @property
    def state(self) -> InstrumentState:
        """Where the instrument is in its life cycle."""
        return self._state

    @property
    @abstractmethod
    def safe(self) -> bool:
        """Whether a person may open the device: cold, still, shutter closed."""

    @property
    @abstractmethod
    def channel_units(self) -> Mapping[str, str]:
        """Unit of every channel in the measurements, by its name; empty if it measures nothing."""

    @classmethod
    @abstractmethod
    def check(cls, operation: Operation) -> None:
        """Refuse an operation that this kind of device cannot do.

        Args:
            operation: What is asked for.

        Raises:
            ProposalError: If it lies out of range; the message says what to write instead.
        """

    @abstractmethod
    async def connect(self) -> InstrumentIdentity:
        """Find the device and ask what it is; connecting again is safe.

        Returns:
            The device's identity.

        Raises:
            InstrumentError: If it does not answer.
        """

    @abstractmethod
    async def prepare(self, request: InstrumentRequest) -> None:
        """Set the device up for an operation without starting it.

        Args:
            request: The operation and the sample.

        Raises:
            ProposalError: If the device cannot do it.
            InstrumentError: If the device is not idle or fails.
        """

    @abstractmethod
    async def run(self) -> None:
        """Perform the prepared operation until it is finished.

        Raises:
            InstrumentError: If nothing is prepared or the device fails.
        """

    @abstractmethod
    async def result(self) -> tuple[MeasurementBase, ...]:
        """Return what was measured and become idle.

        Returns:
            The measurements; empty for an operation that measures nothing.

        Raises:
            InstrumentError: If nothing was finished.
        """

    @abstractmethod
    async def abort(self) -> None:
        """Stop whatever goes on and bring the device into its safe state; safe when idle."""

    @abstractmethod
    async def close(self) -> None:
        """Make the device safe and let it go; twice is safe."""

    def _require(self, *states: InstrumentState) -> None:
        if self._state not in states:
            wanted = " or ".join(states)
            raise InstrumentError(f"{self.kind} is {self._state}; it must be {wanted} for that")


__all__ = ["Instrument", "InstrumentRequest", "InstrumentState"]
