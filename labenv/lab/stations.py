"""Stations: places with one instrument each, and how an operation is carried out there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from labenv_instruments.drivers import load_driver
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_instruments.twin import InProcessTwin
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from labenv.lab.sample import BenchSample
    from labenv_instruments.instrument import Instrument
    from labenv_schemas.measurement import Measurement
    from labenv_schemas.proposal import Operation

R = TypeVar("R")

_SINGLE = (
    ("balance", "dosing_balance"),
    ("mixer", "ball_mill"),
    ("press", "pellet_press"),
    ("diffractometer", "powder_diffractometer"),
)


# Stations that a lab sets up when a plan first asks for one: the name of each by its driver.
_ON_DEMAND = {
    "cryostat": "cryostat",
    "magnetometer": "magnetometer",
    "analytical_balance": "analytical-balance",
    "gas_pycnometer": "pycnometer",
    "electron_microscope": "microscope",
}


@dataclass(frozen=True, slots=True)
class StationStatus:
    """What a station is doing.

    Attributes:
        name: Such as ``"furnace-1"``.
        kind: Driver of its instrument, such as ``"tube_furnace"``.
        busy_until_s: Lab clock at which it is free again, s; None if it is idle.
        queue_length: Samples waiting for a station of this kind.
        experiment_id: Whose sample is in it; None if it is empty, also while it cools.
        operation: Index in that plan of what it is doing.
        shows: What its device shows, name to value with unit; empty in process.
    """

    name: str
    kind: str
    busy_until_s: float | None
    queue_length: int
    experiment_id: str | None
    operation: int | None
    shows: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Station:
    """A place in the lab.

    Attributes:
        name: Such as ``"furnace-1"``.
        instrument: What stands there.
        free_s: Lab clock from which it is free, s.
        occupant: Index of the experiment whose sample is in it.
        role: What kind of station it is, where that is not its driver's name.
        shows: What its device showed when last looked at.
    """

    name: str
    instrument: Instrument
    free_s: float = 0.0
    occupant: int | None = None
    role: str | None = None
    shows: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def kind(self) -> str:
        """What kind of station it is: the name of the driver that it has in process."""
        return self.role or self.instrument.kind

    def accepts(self, operation: Operation) -> bool:
        """Whether its device may do an operation; devices of one kind may have other limits.

        Args:
            operation: One of the kinds that it does, vetted.

        Returns:
            True if it may.
        """
        return True

    async def perform(
        self, request: InstrumentRequest, sample: BenchSample
    ) -> tuple[Measurement, ...]:
        """Carry an operation out, leaving the instrument idle whatever happens.

        Args:
            request: The operation.
            sample: The sample.

        Returns:
            What was measured.
        """
        instrument = self.instrument
        if instrument.state is InstrumentState.DISCONNECTED:
            await instrument.connect()
        if isinstance(instrument, InProcessTwin):
            instrument.load(sample)
        return await carry_out(instrument, request)


async def carry_out(instrument: Instrument, request: InstrumentRequest) -> tuple[Measurement, ...]:
    """Let a connected instrument do an operation, leaving it idle whatever happens.

    Args:
        instrument: What does it.
        request: The operation.

    Returns:
        What was measured.

    Raises:
        InstrumentError: If it failed; and what else, if it could not be left idle then.
    """
    try:
        await instrument.prepare(request)
        await instrument.run()
        found = await instrument.result()
    except InstrumentError as cause:
        try:
            await _leave_idle(instrument)
        except InstrumentError as worse:
            raise InstrumentError(f"{cause}; and then {worse}") from cause
        raise
    except BaseException:
        await _leave_idle(instrument)
        raise
    await _leave_idle(instrument)
    return found  # type: ignore[return-value]


async def _leave_idle(instrument: Instrument) -> None:
    if instrument.state is not InstrumentState.IDLE:
        await instrument.abort()


def finish_now(coroutine: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine that never waits, without an event loop.

    In-process twins on a virtual clock compute and return; a loop would cost more than the physics.

    Args:
        coroutine: What to run.

    Returns:
        Its result.

    Raises:
        InstrumentError: If it waits for something.
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    coroutine.close()
    raise InstrumentError("an in-process instrument waited, but on a virtual clock nothing comes")


def build_stations(furnaces: int, *, stamps: bool) -> list[Station]:
    """Return the stations of a lab.

    Args:
        furnaces: Number of tube furnaces.
        stamps: Whether measurements carry the wall clock's time.

    Returns:
        One of each kind, and the furnaces.

    Raises:
        InstrumentError: If a driver has no in-process twin.
    """
    plan = [
        *_SINGLE[:3],
        *[(f"furnace-{n + 1}", "tube_furnace") for n in range(furnaces)],
        _SINGLE[3],
    ]
    return [_build(name, kind, stamps=stamps) for name, kind in plan]


def build_on_demand(kind: str, *, stamps: bool) -> Station:
    """Return the station of a kind that not every lab needs.

    Args:
        kind: Its driver.
        stamps: Whether measurements carry the wall clock's time.

    Returns:
        The station.

    Raises:
        InstrumentError: If no such station is known, or its driver has no in-process twin.
    """
    if kind not in _ON_DEMAND:
        raise InstrumentError(f"no station has a {kind}")
    return _build(_ON_DEMAND[kind], kind, stamps=stamps)


def _build(name: str, kind: str, *, stamps: bool) -> Station:
    driver = load_driver(kind)
    if not issubclass(driver, InProcessTwin):
        raise InstrumentError(f"driver {kind} has no in-process twin")
    return Station(name, driver(name, stamps=stamps))


__all__ = [
    "Station",
    "StationStatus",
    "build_on_demand",
    "build_stations",
    "carry_out",
    "finish_now",
]
