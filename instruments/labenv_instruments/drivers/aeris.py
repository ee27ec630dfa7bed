"""A Malvern Panalytical Aeris powder diffractometer, told by TCP, read through a shared folder.

A robot lays the sample on a location of the device; the driver announces it (``ADD``), has it
measured, waits for the scan's .xrdml file, and has the device forget it (``REMOVE``).

What a scan's range, step and time are is decided by an application, a programme of the device that
somebody has written there. Its name is the address's ``application``; without one it is made of the
operation, such as ``labenv_10-70_0.03_480s``, and a programme of that name must exist. Either way
the file that comes is held against what was asked for.
"""

from __future__ import annotations

import asyncio
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from labenv_instruments.drivers._aeris_client import AerisClient
from labenv_instruments.drivers._aeris_export import Export
from labenv_instruments.drivers.powder_diffractometer import PowderDiffractometer
from labenv_instruments.wire import Connection, WireDriver
from labenv_schemas.errors import ConfigError, InstrumentError
from labenv_schemas.proposal import Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from labenv_instruments.instrument import InstrumentRequest
    from labenv_schemas.measurement import Diffractogram, MeasurementBase
    from labenv_schemas.proposal import Operation

T = TypeVar("T")

READY_WITHIN_S: Final = 120.0
STARTS_WITHIN_S: Final = 10.0  # the public driver waits so long before it asks whether it is busy
OVERHEAD_S: Final = 600.0  # for the arm, and whatever the device does around a scan
EXPORT_POLL_S: Final = 1.0
_SHARE_TIMEOUT_S = 10.0
_STOPPING_POLLS = 10
_SAMPLE_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9_. +()-]{1,64}")
_DEFAULTS = {"export_timeout_s": "10", "scan_timeout_s": "0", "clock_skew_s": "120"}


class Aeris(WireDriver):
    """Scans a flat powder with the device's own sample changer."""

    kind = "aeris"
    operations = frozenset({"measure"})
    role = "powder_diffractometer"
    default_port = 702
    option_help: ClassVar[Mapping[str, str]] = {
        "folder": "shared folder that the device writes its .xrdml files into; required",
        "location": "number n of the location 0,n that the robot lays samples on; default 2",
        "application": "programme of the device; made of the operation if left out",
        "export_timeout_s": "longest wait for the file after a scan, s; default 10",
        "scan_timeout_s": "longest time of a scan, s; default 0, for its own time and ten minutes",
        "clock_skew_s": "how much the device's clock may be behind, s; default 120",
        "serial": "serial number, which the device does not tell; default 'not told'",
    }

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as the base
        super().__init__(*args, **options)
        folder, self._location = self.option("folder", ""), self.option("location", "2")
        if not folder:
            raise ConfigError(
                f"address {self.address} names no folder; write ?folder=PATH, "
                f"{self.option_help['folder']}"
            )
        if not self._location.isascii() or not self._location.isdigit():
            raise ConfigError(f"address {self.address}: location={self._location!r} is no number")
        application = self.option("application", "")
        if application and not _NAME.fullmatch(application):
            raise ConfigError(f"address {self.address}: {application!r} is no name of a programme")
        self._folder = Path(folder)
        self._numbers = {name: self._number(name, text) for name, text in _DEFAULTS.items()}
        self._connection = Connection(
            self.address.host, self.port, timeout_s=self.timeout_s, name=f"Aeris {self.address}"
        )
        self._client = AerisClient(self._connection, f"Aeris {self._station}")
        self._last_began: datetime | None = None

    def _number(self, name: str, default: str) -> float:
        text = self.option(name, default)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0.0 <= value < math.inf:
            raise ConfigError(
                f"address {self.address}: {name}={text!r} is no number; give "
                f"{self.option_help[name]}, such as {name}={default}"
            )
        return value

    @property
    def channel_units(self) -> Mapping[str, str]:
        """Unit of every channel in the measurements."""
        return PowderDiffractometer.units

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse angles and times beyond the goniometer's.

        Args:
            operation: A `Measure`.
        """
        PowderDiffractometer.check(operation)

    # ------------------------------------------------------------------------- life cycle

    async def open_device(self) -> tuple[str, str, bool]:
        """Ask the device for its state; it tells neither its model nor its serial number.

        Returns:
            What it is taken for, its serial number by the address, and whether a twin answers.

        Raises:
            InstrumentError: If its folder cannot be seen.
        """
        fields = await self._client.system()
        if not await self._off_loop(self._folder.is_dir):
            raise InstrumentError(f"{self._folder} is no folder that can be seen; is it mounted?")
        simulated = fields.get("SIMULATED") == "yes"
        return (
            "Malvern Panalytical Aeris",
            self.option("serial", "not told"),
            simulated,
        )

    async def set_up(self, request: InstrumentRequest) -> None:
        """See that the device takes orders and can be told the sample's name.

        Args:
            request: The operation.

        Raises:
            InstrumentError: If it does not.
        """
        if not _SAMPLE_ID.fullmatch(request.sample_id):
            raise InstrumentError(
                f"the device cannot be told of sample {request.sample_id!r}; name samples in "
                "letters, digits, '_', '.' and '-'"
            )
        mode = (await self._client.system())["SYSTEM"]
        if mode != "remote":
            raise InstrumentError(
                f"Aeris {self._station} is under {mode} control; set it to remote at its screen"
            )

    async def carry_out(self, request: InstrumentRequest) -> tuple[MeasurementBase, ...]:
        """Have the sample scanned and read the file.

        Args:
            request: What was set up.

        Returns:
            The diffractogram.

        Raises:
            InstrumentError: If the device fails, loses the sample, or its file does not come or is
                not of this scan.
        """
        scan, sample_id = request.operation, request.sample_id
        if not isinstance(scan, Measure):  # `operations` has no other kind
            raise InstrumentError(f"{self.kind} cannot carry out {scan.op!r}")
        application = self.option("application", "") or application_name(scan)
        await self._at_rest(READY_WITHIN_S, READY_WITHIN_S / 60, "become ready")
        await self._see_sample(f"sample {sample_id} is not there")
        export = await self._off_loop(lambda: self._expect(sample_id))
        await self._client.add(sample_id, self._location, application)
        await self._client.measure(sample_id, application)
        await self.wait(STARTS_WITHIN_S)
        limit_s = self._numbers["scan_timeout_s"] or scan.scan_time_s + OVERHEAD_S
        took_s = await self._at_rest(limit_s, self.poll_s(scan.scan_time_s), "ended its scan")
        await self._see_sample(f"sample {sample_id} did not come back from the goniometer")
        found = await self._exported(export, took_s)
        self._last_began = found.measured_at
        check_range(found, scan, application)
        await self._client.remove(self._location)
        return (self._restamped(found, request, application),)

    async def make_safe(self) -> None:
        """End a scan, close the shutter with it, and have the device forget the sample.

        Raises:
            InstrumentError: If the scan goes on.
        """
        for attempt in (1, 2, 3):
            try:
                await self._stopped()
            except InstrumentError as cause:  # the reply may be lost: removing twice does no harm
                if attempt == 3 or not cause.retryable:
                    raise
            else:
                return

    async def _stopped(self) -> None:
        if not await self._is_known_there():
            return
        for _ in range(_STOPPING_POLLS):
            if await self._client.is_ready():
                return
            await self.wait(0.5)
        raise InstrumentError(f"Aeris {self._station} goes on with its scan")

    async def _is_known_there(self) -> bool:
        """Have the device forget the sample.

        Returns:
            Whether it may still be at work on it.

        Raises:
            InstrumentError: If the answer was lost.
        """
        try:
            await self._client.remove(self._location)
        except InstrumentError:
            if not self._connection.is_open:
                raise
            return not await self._client.is_ready()
        return True

    async def release(self) -> None:
        """Let the connection go."""
        await self._connection.close()

    async def readings(self) -> dict[str, str]:
        """Return who controls the device, whether it is at rest and whether a sample is there."""
        occupied = await self._client.is_occupied(self._location)
        return {
            "control": (await self._client.system())["SYSTEM"],
            "state": "ready" if await self._client.is_ready() else "at work",
            f"location 0,{self._location}": "occupied" if occupied else "free",
        }

    # ------------------------------------------------------------------------- a scan

    async def _at_rest(self, limit_s: float, poll_s: float, what: str) -> float:
        """Wait until the device is at rest.

        Returns:
            How long that took, lab s.

        Raises:
            InstrumentError: If it took too long.
        """
        waited_s = 0.0
        while not await self._client.is_ready():
            if waited_s >= limit_s:
                raise InstrumentError(
                    f"Aeris {self._station} has not {what} within {limit_s:g} s; look at its screen"
                )
            await self.wait(poll_s)
            waited_s += poll_s
        return waited_s

    async def _see_sample(self, otherwise: str) -> None:
        if not await self._client.is_occupied(self._location):
            raise InstrumentError(
                f"Aeris {self._station}: location 0,{self._location} is free, so {otherwise}; look "
                "for it before anything else is put there"
            )

    def _expect(self, sample_id: str) -> Export:
        skew_s = self._numbers["clock_skew_s"]
        now = datetime.now(UTC)
        return Export(self._folder, sample_id, now, skew_s=skew_s, later_than=self._last_began)

    async def _exported(self, export: Export, took_s: float) -> Diffractogram:
        """Wait for the scan's file.

        Returns:
            The scan.

        Raises:
            InstrumentError: If it does not come.
        """
        waited_s, limit_s = 0.0, self._numbers["export_timeout_s"]
        while (scan := await self._off_loop(export.take)) is None:
            if waited_s >= limit_s:
                raise InstrumentError(
                    f"Aeris {self._station} was at work for {took_s + STARTS_WITHIN_S:.0f} s, but "
                    f"{limit_s:g} s later there is no file of this scan: {export.problem}; look at "
                    "the device's screen and at its export"
                )
            await self.wait(EXPORT_POLL_S)
            waited_s += EXPORT_POLL_S
        return scan

    def _restamped(
        self, scan: Diffractogram, request: InstrumentRequest, application: str
    ) -> Diffractogram:
        stamp = self.stamp(request)
        stamp["measured_at"] = scan.measured_at if self._stamps else None
        stamp["provenance"] = {**scan.provenance, "application": application}
        return scan.model_copy(update=stamp)

    async def _off_loop(self, work: Callable[[], T]) -> T:
        """Do some work on the shared folder, which a lost network may hold up.

        Returns:
            What the work gives.

        Raises:
            InstrumentError: If the folder does not answer.
        """
        try:
            async with asyncio.timeout(_SHARE_TIMEOUT_S):
                return await asyncio.to_thread(work)
        except TimeoutError:
            raise InstrumentError(
                f"the folder {self._folder} did not answer within {_SHARE_TIMEOUT_S:g} s; is the "
                "network there?"
            ) from None


def application_name(scan: Measure) -> str:
    """Return the name of the programme for a scan, which tells all of it.

    Args:
        scan: Angles and time.

    Returns:
        Such as ``labenv_10-70_0.03_480s``; no digit is lost.
    """
    first, last = _digits(scan.two_theta_min_deg), _digits(scan.two_theta_max_deg)
    return f"labenv_{first}-{last}_{_digits(scan.step_deg)}_{_digits(scan.scan_time_s)}s"


def check_range(found: Diffractogram, asked: Measure, application: str) -> None:
    """Refuse a scan of other angles than were asked for.

    Args:
        found: The scan.
        asked: What was asked for.
        application: Programme that was named for it.

    Raises:
        InstrumentError: If range or number of points is another one.
    """
    first, last = float(found.two_theta_deg[0]), float(found.two_theta_deg[-1])
    points = round((asked.two_theta_max_deg - asked.two_theta_min_deg) / asked.step_deg) + 1
    near = 1.5 * asked.step_deg
    if (
        abs(first - asked.two_theta_min_deg) > near
        or abs(last - asked.two_theta_max_deg) > near
        or abs(found.counts.size - points) > 2
    ):
        raise InstrumentError(
            f"programme {application!r} scanned {found.counts.size} points from {first:g} to "
            f"{last:g} degrees where {points} from {asked.two_theta_min_deg:g} to "
            f"{asked.two_theta_max_deg:g} were asked for; write the programme on the device anew"
        )


def _digits(value: float) -> str:
    return repr(float(value)).removesuffix(".0")
