"""The device under test: how the checks reach it, what they may ask, what it measured."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from labenv_instruments.clock import WallClock
from labenv_instruments.conformance.check import CheckFailed, CheckSkipped, DeviceUnreachableError
from labenv_instruments.conformance.proxy import MeddlingProxy
from labenv_instruments.conformance.requests import asked_time_s, described, safe_candidates
from labenv_instruments.conformance.shown import read_shown
from labenv_instruments.drivers import load_driver
from labenv_instruments.instrument import InstrumentRequest
from labenv_instruments.limits import DeviceLimits
from labenv_instruments.wire.address import Address, parse_address
from labenv_instruments.wire.driver import SAFE_WITHIN_S, WireDriver
from labenv_schemas.errors import ConfigError, LabEnvError, ProposalError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from labenv_schemas.measurement import InstrumentIdentity, MeasurementBase
    from labenv_schemas.proposal import Operation

    Pace = Callable[[float], Awaitable[None]]

SAMPLE_ID = "conformance"
_UNTIMED_S = 60.0  # what an operation is said to take that names no time
_DRIVING = ("heater", "output")  # readings that are 0 where nothing is driven


@runtime_checkable
class AsksWhetherSafe(Protocol):
    """A driver that can ask its device whether it drives anything, rather than remember."""

    async def ask_safe(self) -> bool:
        """Return whether the device says that it drives nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """One operation that was carried out.

    Attributes:
        operation: What was asked for.
        measured: What came of it.
        began_at: Wall clock before it.
        ended_at: Wall clock after it.
        lab_s: Lab time that the operation took, as far as anybody knows, s.
    """

    operation: Operation
    measured: tuple[MeasurementBase, ...]
    began_at: datetime
    ended_at: datetime
    lab_s: float


class PaceWatch:
    """Passes lab time on, adds it up, and does something at one of the waits.

    Args:
        pace: How lab time passes.
        at_wait: Number of the wait, from 1.
        do: Done there; what it raises ends the wait.

    Attributes:
        lab_s: Lab time waited so far, s.
    """

    def __init__(
        self, pace: Pace, at_wait: int = 0, do: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.lab_s = 0.0
        self._pace, self._at_wait, self._do = pace, at_wait, do
        self._waits = 0

    async def __call__(self, lab_s: float) -> None:
        """Let lab time pass."""
        self._waits += 1
        await self._pace(lab_s)
        self.lab_s += lab_s
        if self._do is not None and self._waits == self._at_wait:
            await self._do()


@dataclass
class Bench:
    """A device, its driver and what may be done with them.

    Attributes:
        address: Where the device is.
        driver: Its driver, by id or class; None where the address names it.
        limits: What it may be asked for here.
        timeout_s: Longest wait for one reply that the driver is given, s of wall time.
        actuate: Whether it may be moved, within `limits`.
        requests: Operations to use in place of the suite's own small ones, one of a kind.
        speed: Lab seconds per wall second; other than 1 only for twins that run as fast.
        pace: How lab time passes; None for the wall clock at `speed`, as with every real device.
        lab_clock: Returns the lab time that `pace` lets pass, s, where somebody knows it.
        witness: Tells whether the device is safe, where somebody knows better than its driver; a
            test with a twin gives ``lambda: twin.safe``.
        patience_s: Longest that a check may take which moves the device, s of wall time.
    """

    address: str
    driver: str | type[WireDriver] | None = None
    limits: DeviceLimits = field(default_factory=DeviceLimits)
    timeout_s: float = 2.0
    actuate: bool = False
    requests: tuple[Operation, ...] = ()
    speed: float = 1.0
    pace: Pace | None = None
    lab_clock: Callable[[], float] | None = None
    witness: Callable[[], bool] | None = None
    patience_s: float = 3600.0
    identity: InstrumentIdentity | None = field(default=None, init=False)
    _runs: list[Run] | None = field(default=None, init=False)
    _runs_failed: LabEnvError | CheckFailed | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._address = parse_address(self.address)
        self.driver_class = self._driver_class()
        if not self.timeout_s > 0.0:
            raise ConfigError(f"the time-out must be above 0 s, not {self.timeout_s:g} s")
        if self.pace is None:
            self._use_wall_clock()
        self.instrument()  # refuses an address that lacks a port or has options of no driver

    def _use_wall_clock(self) -> None:
        clock, speed = WallClock(self.speed), self.speed

        async def pace(lab_s: float) -> None:
            await asyncio.sleep(lab_s / speed)

        # A watch on the pace hides from the driver that its time is the wall's.
        self.pace, self.lab_clock = pace, lambda: clock.now_s

    @property
    def limit_s(self) -> float:
        """Longest that a check may take, s of wall time."""
        return self.patience_s if self.actuate else 30.0 + 30.0 * self.timeout_s

    def instrument(
        self,
        proxy_port: int | None = None,
        *,
        pace: Pace | None = None,
        limits: DeviceLimits | None = None,
    ) -> WireDriver:
        """Return a new driver.

        Args:
            proxy_port: Port of a proxy on loopback to go through; None goes straight.
            pace: How lab time passes for it; the bench's by default.
            limits: What it refuses; the bench's by default.

        Returns:
            The driver, not connected.
        """
        address: Address = self._address
        if proxy_port is not None:
            address = replace(address, host="127.0.0.1", port=proxy_port)
        return self.driver_class(
            address,
            limits=self.limits if limits is None else limits,
            timeout_s=self.timeout_s,
            pace=pace or self.pace,
            lab_clock=self.lab_clock,
        )

    @asynccontextmanager
    async def connected(self, instrument: WireDriver | None = None) -> AsyncGenerator[WireDriver]:
        """Connect a driver for the length of a block.

        Args:
            instrument: Which; a new one by default.

        Yields:
            The driver, idle.

        Raises:
            DeviceUnreachableError: If the device does not answer.
            ConfigError: If its time is to be sped up and it is no twin.
        """
        found = instrument or self.instrument()
        try:
            try:
                await found.connect()
            except LabEnvError as error:
                raise DeviceUnreachableError(f"the device does not answer: {error}") from error
            if self.speed != 1.0 and found.identity is not None and not found.identity.simulated:
                raise ConfigError(
                    f"{self.address} is a device, whose time is the wall's; leave the speed out"
                )
            yield found
        finally:
            await found.close()

    @asynccontextmanager
    async def proxied(self) -> AsyncGenerator[tuple[MeddlingProxy, int]]:
        """Put a proxy before the device for the length of a block.

        Yields:
            The proxy and its port.

        Raises:
            CheckSkipped: If the device is not reached by TCP.
        """
        if self._address.transport != "tcp":
            raise CheckSkipped(
                f"a wire can be disturbed only on TCP, and {self.address} goes through "
                f"{self._address.transport.upper()}"
            )
        proxy = MeddlingProxy(self._address.host, self.instrument().port)
        port = await proxy.start()
        try:
            yield proxy, port
        finally:
            await proxy.close()

    @property
    def own_pace(self) -> Pace:
        """How lab time passes."""
        return self.pace or asyncio.sleep

    def safe_requests(self) -> list[InstrumentRequest]:
        """Return one small request of each kind that device and limits allow.

        Returns:
            The requests.

        Raises:
            ConfigError: If the device refuses one that was given.
        """
        probe = self.instrument()
        found: list[InstrumentRequest] = []
        for op in sorted(self.driver_class.operations):
            given = [one for one in self.requests if one.op == op]
            for operation in given or safe_candidates(op):
                try:
                    probe.check_request(operation)
                except ProposalError as refusal:
                    if given:
                        raise ConfigError(f"request {described(operation)}: {refusal}") from refusal
                    continue
                found.append(request_of(operation))
                break
        return found

    def some_request(self) -> InstrumentRequest:
        """Return one small request.

        Returns:
            The first of `safe_requests`.

        Raises:
            CheckSkipped: If there is none.
        """
        found = self.safe_requests()
        if not found:
            what = ", ".join(sorted(self.driver_class.operations)) or "no operation"
            raise CheckSkipped(
                f"{self.driver_class.kind} does {what}, and none of the suite's small requests is "
                "allowed; give one with --request"
            )
        return found[0]

    async def runs(self) -> list[Run]:
        """Carry every small request out twice, once for all checks that look at measurements.

        What failed once is not tried again: a device that works every other time does not work.

        Returns:
            The runs; those of one request follow each other.

        Raises:
            CheckSkipped: If there is no request that may be carried out.
            CheckFailed: If no device answers.
            LabEnvError: Whatever an operation failed with.
        """
        if self._runs_failed is not None:
            raise self._runs_failed
        if self._runs is None:
            self.some_request()
            try:
                found = [await self._run(one) for one in self.safe_requests() for _ in range(2)]
            except (LabEnvError, CheckFailed) as error:
                self._runs_failed = error
                raise
            self._runs = found
        return self._runs

    async def measured_runs(self) -> list[Run]:
        """Return the runs, or nothing where the device must not be moved.

        Returns:
            The runs.

        Raises:
            CheckSkipped: If they failed, which the check of operations tells.
        """
        if not self.actuate or not self.driver_class.operations:
            return []
        try:
            return await self.runs()
        except (CheckFailed, LabEnvError) as error:
            raise CheckSkipped("nothing could be carried out; see the check 'operation'") from error

    async def is_safe(self, instrument: WireDriver) -> bool | None:
        """Return whether the device drives nothing, by the best witness there is.

        Args:
            instrument: A connected driver.

        Returns:
            None where neither witness, driver nor readings can tell.
        """
        if self.witness is not None:
            return self.witness()
        if isinstance(instrument, AsksWhetherSafe):
            return await instrument.ask_safe()
        driven = [
            found.value
            for name, text in (await instrument.readings()).items()
            if any(word in name for word in _DRIVING) and (found := read_shown(text)) is not None
        ]
        return not any(value > 0.0 for value in driven) if driven else None

    async def _run(self, request: InstrumentRequest) -> Run:
        watch = PaceWatch(self.own_pace)
        began_at = datetime.now(UTC)
        async with self.connected(self.instrument(pace=watch)) as instrument:
            await instrument.prepare(request)
            before_s = self._lab_s(watch)
            await instrument.run()
            took_s = self._lab_s(watch) - before_s
            measured = await instrument.result()
        return Run(request.operation, measured, began_at, datetime.now(UTC), took_s)

    def _lab_s(self, watch: PaceWatch) -> float:
        """Return lab time, which on a wall clock passes also while a reply is waited for, s."""
        return watch.lab_s if self.lab_clock is None else self.lab_clock()

    def _driver_class(self) -> type[WireDriver]:
        name = self.driver or self._address.driver
        if name is None:
            raise ConfigError(
                f"address {self.address} names no driver; write one before it, such as "
                f"'eurotherm+{self.address}', or give --driver"
            )
        found = load_driver(name.replace("-", "_")) if isinstance(name, str) else name
        if not issubclass(found, WireDriver):
            raise ConfigError(
                f"driver {found.kind} talks to no address: it is simulated in process, and "
                "labenv_instruments.testing.InstrumentContract checks it"
            )
        return found


def request_of(operation: Operation) -> InstrumentRequest:
    """Return a request for an operation, with the time it names."""
    return InstrumentRequest(operation, SAMPLE_ID, asked_time_s(operation) or _UNTIMED_S)


__all__ = [
    "SAFE_WITHIN_S",
    "SAMPLE_ID",
    "AsksWhetherSafe",
    "Bench",
    "PaceWatch",
    "Run",
    "request_of",
]
