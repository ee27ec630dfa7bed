"""Stations on wires: drivers of the devices that a lab file names, and the hand between them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labenv.lab.bench_lock import BenchLock, places_of
from labenv.lab.portal import Portal
from labenv.lab.stations import Station, carry_out
from labenv_instruments.clock import VirtualClock, WallClock
from labenv_instruments.drivers import load_driver
from labenv_instruments.hand import Hand
from labenv_instruments.instrument import InstrumentState
from labenv_instruments.limits import DeviceLimits
from labenv_instruments.watchdog import Watchdog
from labenv_instruments.wire.address import parse_address
from labenv_instruments.wire.driver import WireDriver
from labenv_schemas.base import parse
from labenv_schemas.errors import ConfigError, InstrumentError, LabEnvError, ProposalError
from labenv_schemas.proposal import Dose, Heat

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from labenv.lab.sample import BenchSample
    from labenv_instruments.clock import Clock
    from labenv_instruments.instrument import InstrumentRequest
    from labenv_schemas.campaign import LabConfig, StationConfig
    from labenv_schemas.measurement import Measurement
    from labenv_schemas.proposal import Operation

_BESIDE = ("atmosphere", "crucible", "cooling")  # of a firing, what whoever loads the furnace does
_READING_S = 2.0
_HAND_TRIES, _HAND_PAUSE_S = 4, 1.0


@dataclass(slots=True)
class WireStation(Station):
    """A station whose device is on a wire.

    Attributes:
        hand: What puts samples in and takes them out.
        lost: Experiments of whose sample nothing is left, and why.
    """

    hand: Hand = field(default_factory=lambda: Hand("tcp://127.0.0.1"))
    lost: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def driver(self) -> WireDriver:
        """Its device's driver.

        Raises:
            InstrumentError: If it is not on a wire.
        """
        if not isinstance(self.instrument, WireDriver):
            raise InstrumentError(f"{self.name} is not on a wire")
        return self.instrument

    def accepts(self, operation: Operation) -> bool:
        """Whether its device may do an operation.

        Args:
            operation: What is asked for.

        Returns:
            True if neither the device's range nor the lab file's limits forbid it.
        """
        try:
            self.driver.check_request(operation)
        except ProposalError:
            return False
        return True

    async def perform(
        self, request: InstrumentRequest, sample: BenchSample
    ) -> tuple[Measurement, ...]:
        """Have the sample put in, carry the operation out, and have it taken out.

        The device is safe before a hand goes near it.

        Args:
            request: The operation.
            sample: Its name and index; what it is made of is elsewhere.

        Returns:
            What was measured.

        Raises:
            InstrumentError: If the device or the hand fails, or another sample was measured.
        """
        await self.driver.connect()
        if self.driver.state is not InstrumentState.IDLE:  # it could not be made safe before
            await self.driver.abort()
        name = request.sample_id
        await self.hand.load(self.name, name, sample.index, _settings(request.operation))
        try:
            measured = await carry_out(self.driver, request)
            for measurement in measured:
                if measurement.sample_id != name:
                    raise InstrumentError(
                        f"{self.name} gave a measurement of {measurement.sample_id} for {name}; "
                        "it is not believed"
                    )
        except BaseException:
            with contextlib.suppress(InstrumentError):
                await self.hand.unload(self.name, name)
            raise
        lost = await self.hand.unload(self.name, name)
        if lost is not None:
            self.lost[sample.index] = lost
        return measured


class WireBench:
    """The connected stations of a lab file.

    Args:
        config: The lab file.
        stamps: Whether measurements carry the wall clock's time.

    Attributes:
        portal: Runs the drivers.
        stations: One a device, in the file's order.
        live: Whether operations take the wall's time, so that several go on at once.
        clock: Lab time.

    Raises:
        ConfigError: If an address, a role or a limit is wrong.
        InstrumentError: If a device or the hand does not answer, or is not what the file says.
    """

    def __init__(self, config: LabConfig, *, stamps: bool) -> None:
        self.config = config
        self.live = config.clock == "wall"
        self.clock: Clock = WallClock(config.speed) if self.live else VirtualClock()
        self.hand = Hand(config.hand or "")
        self._now_s: dict[str, float] = {}  # of each station's own virtual time
        self.stations = [
            self._station(name, station, stamps=stamps) for name, station in config.stations.items()
        ]
        self._watchdog: Watchdog | None = None
        self._begun = False
        self._lock = BenchLock(places_of(config))
        self._lock.take()
        self.portal = Portal()
        try:
            self.portal.run(self._connect())
        except BaseException:
            self.close()
            raise

    def begin(self, seed: int, *, resume: bool) -> None:
        """Tell the hand that a series of samples begins; only the first call does anything.

        Args:
            seed: Of a simulated laboratory's truth.
            resume: Whether samples of an earlier life go on.
        """
        if self._begun:
            return
        self._begun = True
        config = self.config
        self.portal.run(
            self.hand.begin(seed, config.system, randomise=config.randomise, resume=resume)
        )

    def check_there(self) -> None:
        """See that the bench is still there and knows its samples, before another one begins.

        Raises:
            InstrumentError: If nobody carries samples any more, or they are lost.
        """
        told: dict[str, Any] = {}
        for left in reversed(range(_HAND_TRIES)):
            try:
                told = self.portal.run(self.hand.hello())
            except InstrumentError as error:
                if not left:
                    raise InstrumentError(
                        f"what carries samples does not answer ({error}); no further experiment "
                        "begins"
                    ) from error
                time.sleep(_HAND_PAUSE_S)
            else:
                break
        if self._begun and told.get("begun") is False:
            raise InstrumentError(
                f"the bench at {self.hand.address} was started anew and has lost its samples; no "
                "further experiment begins"
            )

    def check(self, operation: Operation, role: str) -> None:
        """Refuse what no station of the lab may do.

        Args:
            operation: What is asked for.
            role: Kind of station that does it.

        Raises:
            ProposalError: What the first station of that kind says, or that there is none.
        """
        able = [station for station in self.stations if station.kind == role]
        if not able:
            raise ProposalError(f"no station of this lab does '{operation.op}'")
        first: ProposalError | None = None
        for station in able:
            try:
                station.driver.check_request(operation)
            except ProposalError as refusal:
                first = first or refusal
            else:
                return
        if first is not None:
            raise first

    def look(self) -> None:
        """Read what every device shows, for a person; a device that does not answer shows that."""
        with contextlib.suppress(InstrumentError, TimeoutError):
            self.portal.submit(self._look()).future.result(_READING_S * 2.0)

    def close(self) -> None:
        """Make every device safe and let it go; twice is fine."""
        if not self.portal.is_open:
            return
        self.portal.run(self._close())
        if self._watchdog is not None:
            self._watchdog.dismiss()
        self.portal.close()
        self._lock.release()

    # ------------------------------------------------------------------------------------ inside

    def _station(self, name: str, config: StationConfig, *, stamps: bool) -> WireStation:
        address = parse_address(config.address)
        if address.driver is None:
            raise ConfigError(f"station {name}: address {address} names no driver")
        driver = load_driver(address.driver)
        if not issubclass(driver, WireDriver):
            raise ConfigError(
                f"station {name}: {address.driver} is no driver of a device on a wire"
            )
        try:
            limits = parse(DeviceLimits, config.limits, ConfigError)
        except ConfigError as error:
            raise ConfigError(f"station {name}: limits: {error}") from None
        instrument = driver(
            address,
            name,
            limits=limits,
            timeout_s=config.timeout_s,
            pace=self._pace(name),
            lab_clock=self._lab_clock(name),
            stamps=stamps,
        )
        return WireStation(name, instrument, role=config.role or driver.role, hand=self.hand)

    def _pace(self, station: str) -> Callable[[float], Awaitable[None]]:
        speed = self.config.speed

        async def on_the_wall(lab_s: float) -> None:
            await asyncio.sleep(lab_s / speed)

        async def at_once(lab_s: float) -> None:
            reply = await self.hand.ask("advance", {"station": station, "lab_s": lab_s})
            self._now_s[station] = float(reply["now_s"])

        return on_the_wall if self.live else at_once

    def _lab_clock(self, station: str) -> Callable[[], float]:
        if self.live:
            return lambda: self.clock.now_s
        return lambda: self._now_s.get(station, 0.0)

    async def _connect(self) -> None:
        simulated = bool((await self.hand.hello()).get("simulated"))
        faults: list[str] = []
        for station in self.stations:  # one by one: a driver may import its library here
            try:
                await station.driver.connect()
            except LabEnvError as error:
                faults.append(f"{station.name}: {error}")
        if faults:
            raise InstrumentError("devices do not answer: " + "; ".join(faults))
        if not simulated and (self.config.clock == "virtual" or self.config.speed != 1.0):
            raise ConfigError(
                "only a bench of twins can live in virtual or faster time; write 'clock: wall' and "
                "leave 'speed' out"
            )
        if not self.live:  # another campaign may have let time pass there
            shown = (await self.hand.ask("state"))["stations"]
            self._now_s = {name: float(one["lab_s"]) for name, one in shown.items()}
        if self.live:
            addresses = [str(station.driver.address) for station in self.stations]
            self._watchdog = Watchdog(addresses, self.config.dead_man_s)
            self._watchdog.start(asyncio.get_running_loop())

    async def _look(self) -> None:
        async def one(station: WireStation) -> None:
            try:
                async with asyncio.timeout(_READING_S):
                    station.shows = await station.driver.readings()
            except (TimeoutError, LabEnvError) as error:
                station.shows = {"": f"does not answer ({str(error)[:60]})"}

        await asyncio.gather(*(one(station) for station in self.stations))

    async def _close(self) -> None:
        for station in self.stations:
            if station.driver.state is not InstrumentState.DISCONNECTED:
                await station.driver.close()
        await self.hand.close()


def _settings(operation: Operation) -> dict[str, Any]:
    """Return what whoever puts the sample in does beside it."""
    data: dict[str, Any] = operation.model_dump(mode="json", exclude_none=True)
    if isinstance(operation, Heat):
        return {name: data[name] for name in _BESIDE if name in data}
    if isinstance(operation, Dose):
        return {"empty": True}
    return {operation.op: data, "operation": data}


__all__ = ["WireBench", "WireStation"]
