"""A whole bench of twins, as a lab file names them: one socket a device, and one for the hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labenv.lab.twin_world import new_world
from labenv_instruments.clock import VirtualClock, WallClock
from labenv_instruments.hand import DEFAULT_PORT
from labenv_instruments.twins import load_twin
from labenv_instruments.twins.bench_hand import BenchHandTwin
from labenv_instruments.twins.keithley_2400 import Keithley2400Twin
from labenv_instruments.twins.keithley_6221 import Keithley6221Twin
from labenv_instruments.twins.lakeshore_336 import Lakeshore336Twin
from labenv_instruments.wire.address import parse_address
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.faults import FaultPlan
    from labenv_instruments.wire.address import Address
    from labenv_instruments.wire_twin import WireTwin
    from labenv_schemas.campaign import LabConfig, StationConfig


class TwinBench:
    """The twins of a lab file.

    Args:
        config: The lab file.
        seed: Of the devices' own noise.
        any_port: Whether every twin takes any free port of loopback in place of the file's own.

    Raises:
        ConfigError: If the file names no stations, or an address is not one of a twin.
    """

    def __init__(self, config: LabConfig, *, seed: int = 0, any_port: bool = False) -> None:
        if not config.stations or config.hand is None:
            raise ConfigError("this lab file names no stations on wires; a twin bench needs some")
        self.config = config
        self.hand = BenchHandTwin("hand", clock=VirtualClock())
        self.hand.new_world = new_world
        self._any_port = any_port
        self.twins: dict[str, WireTwin] = {}
        for number, (name, station) in enumerate(config.stations.items()):
            address = parse_address(station.address)
            if address.driver is None:
                raise ConfigError(f"station {name}: address {address} names no driver")
            if "folder" in address.options:  # that device and computer share
                _make_folder(address.options["folder"], name)
            clock = VirtualClock() if config.clock == "virtual" else WallClock(config.speed)
            kind: type[WireTwin] = load_twin(address.driver)
            twin = kind(name, clock=clock, seed=seed + number, options=address.options)
            if isinstance(twin, BenchHandTwin):
                twin.twins = self.hand.twins  # a station at which the hand itself works
            self.twins[name] = twin
        self.hand.twins.update(self.twins)

    async def start(self) -> LabConfig:
        """Let every twin listen.

        Returns:
            The lab file with the addresses at which they do.

        Raises:
            InstrumentError: If a port cannot be had; those that listened are closed again.
        """
        stations: dict[str, StationConfig] = {}
        try:
            hand = await self._listen(self.hand, parse_address(self.config.hand or ""))
            thermometers = await self._start_thermometers(stations)
            for name, station in self.config.stations.items():
                if name in stations:
                    continue
                address = parse_address(station.address)
                twin = self.twins[name]
                if isinstance(twin, Keithley2400Twin | Keithley6221Twin):
                    _connect(twin, thermometers, name)
                found = (
                    hand if isinstance(twin, BenchHandTwin) else await self._listen(twin, address)
                )
                stations[name] = station.model_copy(update={"address": found})
        except BaseException:
            await self.close()
            raise
        in_order = {name: stations[name] for name in self.config.stations}
        return self.config.model_copy(update={"stations": in_order, "hand": hand})

    def set_faults(self, station: str, plan: FaultPlan) -> None:
        """Let things go wrong at a station.

        Args:
            station: Its name.
            plan: What.
        """
        self.twins[station].faults = plan

    async def close(self) -> None:
        """Close every twin; twice is fine."""
        for twin in (*self.twins.values(), self.hand):
            await twin.close()

    async def _start_thermometers(
        self, stations: dict[str, StationConfig]
    ) -> dict[str, tuple[Lakeshore336Twin, str]]:
        """Start the thermometers, which other devices are told the places of.

        Returns:
            Each with the place at which it listens, by the place that the lab file names.
        """
        found: dict[str, tuple[Lakeshore336Twin, str]] = {}
        for name, station in self.config.stations.items():
            twin, address = self.twins[name], parse_address(station.address)
            if isinstance(twin, Lakeshore336Twin):
                listens = parse_address(await self._listen(twin, address))
                stations[name] = station.model_copy(update={"address": str(listens)})
                port = address.port or _usual_port(twin)
                found[f"{address.host}:{port}"] = (twin, f"{listens.host}:{listens.port}")
        return found

    async def _listen(self, twin: WireTwin, address: Address) -> str:
        port = 0 if self._any_port else address.port or _usual_port(twin)
        host = "127.0.0.1" if self._any_port or address.host == "localhost" else address.host
        return await twin.start(host, port)


def _make_folder(folder: str, station: str) -> None:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"station {station}: folder {folder} cannot be made: {error.strerror or error}"
        ) from None


def _connect(
    twin: Keithley2400Twin | Keithley6221Twin,
    thermometers: Mapping[str, tuple[Lakeshore336Twin, str]],
    name: str,
) -> None:
    """Let a current source's twin have the temperature that its thermometer's twin has.

    Raises:
        ConfigError: If no station of the bench listens where the address says.
    """
    wanted = twin.options.get("thermometer", "")
    if wanted not in thermometers:
        raise ConfigError(
            f"station {name}: no thermometer of this bench is at {wanted or '(not said)'}; give "
            f"its address one of {', '.join(thermometers) or 'none: add a lakeshore_336 station'}"
        )
    thermometer, place = thermometers[wanted]
    twin.thermometer, twin.options["thermometer"] = thermometer, place
    thermometer.clock = twin.clock  # they are in one cryostat, and one driver lets its time pass


def _usual_port(twin: WireTwin) -> int:
    if isinstance(twin, BenchHandTwin):
        return DEFAULT_PORT
    from labenv_instruments.drivers import load_driver
    from labenv_instruments.wire.driver import WireDriver

    driver = load_driver(twin.driver)
    return (issubclass(driver, WireDriver) and driver.default_port) or 0


__all__ = ["TwinBench"]
