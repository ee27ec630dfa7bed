"""The life cycle that every driver on a wire has; a driver adds what its device is told.

A driver says how to find the device (`open_device`), set it up (`set_up`), let it work
(`carry_out`), bring it into its safe state (`make_safe`) and let it go (`release`). What is kept
here is what must not differ between them: a failure or a cancellation first makes the device safe,
whoever asks for the result gets the result of what was asked for, and no step waits for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import abstractmethod
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from labenv_instruments.instrument import Instrument, InstrumentRequest, InstrumentState
from labenv_instruments.limits import DeviceLimits
from labenv_instruments.wire.address import Address, parse_address
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError, boundary
from labenv_schemas.measurement import InstrumentIdentity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

    Pace = Callable[[float], Awaitable[None]]

SAFE_WITHIN_S = 10.0
_POLLS = 200  # an operation is looked at so often, but
_SHORTEST_POLL_S, _LONGEST_POLL_S = 0.5, 30.0  # not more often and not more rarely than this


class WireDriver(Instrument):
    """A device on a wire.

    Args:
        address: Where the device is, as text or taken apart.
        station: Name of the station it stands at, for its identity.
        limits: What it may be asked for here, below what it could do.
        timeout_s: Longest wait for one reply, s of wall time.
        pace: Awaited with the lab seconds to wait between looks at the device; None waits on the
            wall clock.
        lab_clock: Returns the lab time of the device, s; None where a driver can only count what
            it waits.
        stamps: Whether measurements carry the wall clock's time.

    Attributes:
        role: Kind of station that the device can stand at: the driver's name in a simulated lab.
        default_port: TCP port where the address names none; None where one must be given.
        option_help: The options an address may carry, by name, in words.
        shared: Whether several stations of a laboratory may be at one address, as where one robot
            mixes and presses.

    Raises:
        ConfigError: If the address is of another driver, lacks a port or has unknown options.
    """

    role: ClassVar[str]
    default_port: ClassVar[int | None] = None
    option_help: ClassVar[Mapping[str, str]] = {}
    shared: ClassVar[bool] = False
    driver_version: ClassVar[str] = "1"

    def __init__(  # noqa: PLR0913 - what a laboratory decides of a device
        self,
        address: str | Address,
        station: str = "",
        *,
        limits: DeviceLimits | None = None,
        timeout_s: float = 2.0,
        pace: Pace | None = None,
        lab_clock: Callable[[], float] | None = None,
        stamps: bool = True,
    ) -> None:
        super().__init__()
        found = parse_address(address) if isinstance(address, str) else address
        self.address = found.with_driver(self.kind)
        self._check_address()
        self.limits = limits or DeviceLimits()
        self.timeout_s = timeout_s
        self._station = station or self.kind
        self._pace: Pace = pace or asyncio.sleep
        self.lab_clock = time.monotonic if pace is None and lab_clock is None else lab_clock
        self._stamps = stamps
        self._request: InstrumentRequest | None = None
        self._measured: tuple[MeasurementBase, ...] = ()
        self._safe = True

    @property
    def safe(self) -> bool:
        """Whether the device was last known to drive nothing: no heater, no current, no beam."""
        return self._safe

    @property
    def port(self) -> int:
        """TCP port of the device."""
        return self.address.port or self.default_port or 0

    # ------------------------------------------------------------------------- what a driver adds

    @abstractmethod
    async def open_device(self) -> tuple[str, str, bool]:
        """Connect and ask the device what it is; connecting again is safe.

        Returns:
            Its model, its serial number, and whether it says that it is simulated.

        Raises:
            InstrumentError: If it does not answer or is another kind of device.
        """

    async def set_up(self, request: InstrumentRequest) -> None:
        """Set the device up without moving anything.

        Args:
            request: The operation, checked.

        Raises:
            InstrumentError: If it does not take the settings.
        """

    @abstractmethod
    async def carry_out(self, request: InstrumentRequest) -> tuple[MeasurementBase, ...]:
        """Let the device do it, to the end; waits only through `wait` and bounded exchanges.

        Args:
            request: What was set up.

        Returns:
            The measurements.

        Raises:
            InstrumentError: If the device fails, is lost or answers what it must not.
        """

    @abstractmethod
    async def make_safe(self) -> None:
        """Stop whatever goes on, whoever started it, and see that it has stopped.

        Raises:
            InstrumentError: If the device cannot be told or does not stop.
        """

    @abstractmethod
    async def release(self) -> None:
        """Let the connections go; never raises, twice is fine."""

    async def readings(self) -> dict[str, str]:
        """Return what the device shows now, for a person: name to value with unit.

        Returns:
            The readings; empty where there is nothing to show.
        """
        return {}

    # ------------------------------------------------------------------------- the life cycle

    async def connect(self) -> InstrumentIdentity:
        """Find the device and ask what it is.

        Returns:
            Its identity.

        Raises:
            InstrumentError: If it does not answer, or another device than before does.
        """
        with boundary(InstrumentError, f"{self.kind}.connect"):
            model, serial, simulated = await self.open_device()
        found = InstrumentIdentity(
            station=self._station,
            model=model,
            serial=serial,
            driver=self.kind,
            driver_version=self.driver_version,
            simulated=simulated,
        )
        if self.identity is not None and found != self.identity:
            raise InstrumentError(
                f"{self.kind} at {self.address}: {model} {serial} answers where "
                f"{self.identity.model} {self.identity.serial} was"
            )
        self.identity = found
        if self._state is InstrumentState.DISCONNECTED:
            self._state = InstrumentState.IDLE
        return found

    async def prepare(self, request: InstrumentRequest) -> None:
        """Check a request and set the device up.

        Args:
            request: The operation.

        Raises:
            ProposalError: If the device cannot do it or is not allowed to.
            InstrumentError: If the device is not idle or fails.
        """
        self._require(InstrumentState.IDLE, InstrumentState.PREPARED)
        self.check_request(request.operation)
        with boundary(InstrumentError, f"{self.kind}.prepare"):
            await self.set_up(request)
        self._request = request
        self._state = InstrumentState.PREPARED

    def check_request(self, operation: Operation) -> None:
        """Refuse what this kind of device cannot do and what this one is not allowed to.

        Args:
            operation: What is asked for.

        Raises:
            ProposalError: The message says what to write instead.
        """
        if operation.op not in self.operations:
            known = ", ".join(sorted(self.operations))
            raise ProposalError(f"{self.kind} does {known}, not '{operation.op}'")
        self.check(operation)
        self.limits.check(operation, self._station)

    async def run(self) -> None:
        """Carry the prepared operation out; whatever ends it early leaves the device safe.

        Raises:
            InstrumentError: If nothing is prepared, or the device fails.
            BaseException: The cancellation, once the device is safe.
        """
        self._require(InstrumentState.PREPARED)
        if self._request is None:
            raise InstrumentError(f"{self.kind}: nothing is prepared")
        self._state, self._safe = InstrumentState.RUNNING, False
        try:
            with boundary(InstrumentError, f"{self.kind}.run"):
                self._measured = await self.carry_out(self._request)
        except Exception:
            self._state = InstrumentState.FAULT
            with contextlib.suppress(InstrumentError):  # the first failure is the one to report
                await self._safely()
            raise
        except BaseException:  # cancelled
            self._state = InstrumentState.FAULT
            await self._safely()
            self._rest()
            raise
        self._state, self._safe = InstrumentState.DONE, True

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
        """Bring the device into its safe state and become idle.

        Raises:
            InstrumentError: If it cannot be made safe; it then stays in fault.
        """
        if self._state is InstrumentState.DISCONNECTED:
            return
        self._state = InstrumentState.FAULT
        await self._safely()
        self._rest()

    async def close(self) -> None:
        """Make the device safe if it was at work, and let it go; never raises, twice is fine."""
        if self._state not in {InstrumentState.DISCONNECTED, InstrumentState.IDLE}:
            with contextlib.suppress(InstrumentError):
                await self._safely()
        await self.release()
        self._request, self._measured = None, ()
        self._state = InstrumentState.DISCONNECTED

    # ------------------------------------------------------------------------- for drivers

    async def wait(self, lab_s: float) -> None:
        """Let lab time pass.

        Args:
            lab_s: How much, s.

        Raises:
            CancelledError: If the task was cancelled before, and a library took that for its own.
        """
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        await self._pace(lab_s)

    def poll_s(self, duration_s: float) -> float:
        """Return how long to wait between looks at an operation of some length, lab s."""
        return min(max(duration_s / _POLLS, _SHORTEST_POLL_S), _LONGEST_POLL_S)

    def stamp(self, request: InstrumentRequest) -> dict[str, Any]:
        """Return the fields that every measurement of this instrument carries.

        Args:
            request: What was asked for.

        Returns:
            Identity, sample id, the lab clock's time and, where a record is kept, the wall clock's.
        """
        return {
            "instrument": self.identity,
            "sample_id": request.sample_id,
            "measured_at": datetime.now(UTC) if self._stamps else None,
            "provenance": {},
            "lab_time_s": request.finishes_s,
        }

    def option(self, name: str, default: str) -> str:
        """Return an option of the address."""
        return self.address.options.get(name, default)

    def _check_address(self) -> None:
        unknown = sorted(set(self.address.options) - set(self.option_help))
        if unknown:
            known = ", ".join(sorted(self.option_help)) or "none"
            raise ConfigError(
                f"address {self.address}: {self.kind} has no option {', '.join(unknown)}; "
                f"there are: {known}"
            )
        if self.address.transport == "tcp" and not self.port:
            raise ConfigError(
                f"address {self.address} names no port; write one after the host, such as ':7777'"
            )

    async def _safely(self) -> None:
        """Make the device safe, also while this task is being cancelled, within a fixed time.

        Raises:
            InstrumentError: If it is not safe then.
        """
        try:
            await finish_despite_cancellation(self._made_safe(), SAFE_WITHIN_S)
        except TimeoutError:
            raise InstrumentError(
                f"{self.kind} at {self.address} could not be made safe within {SAFE_WITHIN_S:g} s; "
                "look after the device"
            ) from None
        except InstrumentError as cause:
            raise InstrumentError(
                f"{self.kind} at {self.address} could not be made safe: {cause}; look after the "
                "device"
            ) from cause
        self._safe = True

    async def _made_safe(self) -> None:
        with boundary(InstrumentError, f"{self.kind}.make_safe"):
            await self.make_safe()

    def _rest(self) -> None:
        self._request, self._measured = None, ()
        self._state = InstrumentState.IDLE


async def finish_despite_cancellation(work: Coroutine[Any, Any, None], within_s: float) -> None:
    """Finish some work within a time, though the task that asks is cancelled meanwhile.

    Args:
        work: What must be done.
        within_s: Longest it may take, s of wall time.

    Raises:
        TimeoutError: If it took longer; it is then cancelled.
        CancelledError: If a cancellation came meanwhile, once the work is done.
    """
    task = asyncio.ensure_future(asyncio.wait_for(work, within_s))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as again:
            cancelled = again
        except Exception:  # noqa: BLE001 - raised below
            break
    if cancelled is not None and task.exception() is None:
        raise cancelled
    task.result()


__all__ = ["SAFE_WITHIN_S", "WireDriver", "finish_despite_cancellation"]
