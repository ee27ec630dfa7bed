"""An Aeris powder diffractometer that is not there, with its changer, its tube and its folder.

The sample lies at the location of the address (``location``, 2) once it is loaded. A programme is
one of `programmes`, or its name tells its angles and time, as the driver makes them. Files go into
the address's ``folder``, or one of the twin's own that goes with it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic import ValidationError

from labenv_instruments.faults import FaultKind
from labenv_instruments.twins._aeris_file import put, written
from labenv_instruments.wire_twin import WireTwin
from labenv_schemas.errors import LabEnvError
from labenv_schemas.proposal import Measure

if TYPE_CHECKING:
    import asyncio

LOADING_S: Final = 8.0
UNLOADING_S: Final = 8.0
EXPORT_S: Final = 2.0
OLD: Final = timedelta(hours=1)
_NAME = re.compile(r"labenv_([0-9.e-]+)-([0-9.]+)_([0-9.e-]+)_([0-9.e+-]+)s")
_SPOILT_EXPORTS = (FaultKind.NOT_EXPORTED, FaultKind.HALF_WRITTEN, FaultKind.STALE_READING)


@dataclass(slots=True)
class _Job:
    """A sample on its way through the goniometer."""

    sample_id: str
    scan: Measure
    begun_s: float
    began: datetime
    fault: FaultKind | None = None
    file: bytes | None = None
    scanned: bool = False
    exported: bool = False

    @property
    def scanned_s(self) -> float:
        return self.begun_s + LOADING_S + self.scan.scan_time_s

    @property
    def exports_s(self) -> float:
        return self.scanned_s + EXPORT_S

    @property
    def ends_s(self) -> float:
        return self.scanned_s + UNLOADING_S


class AerisTwin(WireTwin):
    """Counts what the sample scatters and writes it into a file.

    Attributes:
        programmes: Scans by the names of their programmes, beside those that tell them.
        local: Whether somebody works at the screen.
        file_sample_id: What to write into files in place of the sample's name.
        done: Scans that were counted to their end.
    """

    driver = "aeris"
    known_faults: ClassVar[frozenset[FaultKind]] = frozenset({
        FaultKind.BUSY,
        FaultKind.DOOR_OPEN,
        FaultKind.LOST_SAMPLE,
        *_SPOILT_EXPORTS,
    })

    def __init__(self, station: str = "", **rest: Any) -> None:  # noqa: ANN401 - as the base has them
        super().__init__(station, **rest)
        self.programmes: dict[str, Measure] = {}
        self.local = False
        self.file_sample_id: str | None = None
        self.done = 0
        self._own_folder: TemporaryDirectory[str] | None = None
        self._known: str | None = None
        self._job: _Job | None = None
        self._lost = False
        self._last_file: bytes | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Listen, and have a folder to write into.

        Args:
            host: Where.
            port: TCP port; 0 for any that is free.

        Returns:
            The address.
        """
        if "folder" not in self.options:
            self._own_folder = TemporaryDirectory(prefix="labenv-aeris-")
            self.options["folder"] = self._own_folder.name
        return await super().start(host, port)

    async def close(self) -> None:
        """Stop listening; a folder of the twin's own goes with it."""
        await super().close()
        folder, self._own_folder = self._own_folder, None
        if folder is not None:
            folder.cleanup()
            del self.options["folder"]

    def unload(self) -> None:
        """Take the sample away, out of the goniometer if need be."""
        super().unload()
        self._job, self._lost = None, False

    # ------------------------------------------------------------------------- the wire

    @property
    def safe(self) -> bool:
        """Whether the shutter is closed and nothing moves."""
        return self._job is None

    def state(self) -> dict[str, Any]:
        """Return what lies where and what goes on."""
        job = self._job
        return {
            "safe": self.safe,
            "control": "local" if self.local else "remote",
            "location": "occupied" if self._occupied() else "free",
            "measuring": None if job is None else job.sample_id,
        }

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Read a message.

        Args:
            reader: What comes in.

        Returns:
            The message, to its ``@END``.
        """
        return (await reader.readuntil(b"@END")).strip()

    def busy_reply(self, request: bytes) -> bytes:
        """Say that something else is going on.

        Args:
            request: The message.

        Returns:
            The reply.
        """
        if request.startswith(b"@STATUS_REQUEST@UNIT"):
            return _said("STATUS", UNIT="xrd", READY="no")
        if request.startswith(b"@STATUS_REQUEST"):
            return self._status(_fields(request))
        return _said("SAMPLE", STATUS="fatal", MESSAGE="the instrument is busy")

    async def answer(self, request: bytes) -> bytes:
        """Answer a message.

        Args:
            request: The message.

        Returns:
            The reply.
        """
        words = request.decode("ascii", "replace").split("@")[1:-1]
        fields = _fields(request)
        if words[:1] == ["STATUS_REQUEST"]:
            return self._status(fields)
        orders = {"ADD": self._add, "MEASURE": self._measure, "REMOVE": self._remove}
        order = orders.get(words[1]) if words[:1] == ["SAMPLE"] and len(words) > 1 else None
        if order is None:
            return _said("ERROR", STATUS="fatal", MESSAGE="unknown message")
        sample_id = fields.get("SAMPLE_ID", "") or (self._known or "")
        why = "the instrument is under local control" if self.local else order(fields)
        told = {"STATUS": "fatal", "MESSAGE": why} if why else {"STATUS": "normal"}
        return _said("SAMPLE", words[1], SAMPLE_ID=sample_id, **told)

    def _status(self, fields: dict[str, str]) -> bytes:
        if "UNIT" in fields:
            return _said("STATUS", UNIT="xrd", READY="yes" if self.safe else "no")
        if "LOCATION" in fields:
            here = fields["LOCATION"] == self._location() and self._occupied()
            return _said(
                "STATUS", LOCATION=fields["LOCATION"], STATE="occupied" if here else "free"
            )
        return _said("STATUS", SYSTEM="local" if self.local else "remote", SIMULATED="yes")

    def _location(self) -> str:
        return f"0,{self.options.get('location', '2')}"

    def _occupied(self) -> bool:
        gone = self._lost or self.faults.active(FaultKind.LOST_SAMPLE) is not None
        return self.sample is not None and self._job is None and not gone

    # ------------------------------------------------------------- orders: each says why not

    def _add(self, fields: dict[str, str]) -> str:
        # Takes note of a sample.
        if self._known is not None:
            return f"sample {self._known} is registered there"
        if fields.get("AT") != self._location() or not self._occupied():
            return f"location {fields.get('AT')} is free"
        if self._programme(fields.get("APPLICATION", "")) is None:
            return f"unknown application {fields.get('APPLICATION')}"
        self._known = fields.get("SAMPLE_ID") or None
        return "" if self._known else "no sample id"

    def _measure(self, fields: dict[str, str]) -> str:
        # Begins a scan.
        scan = self._programme(fields.get("APPLICATION", ""))
        if self._job is not None:
            return "the instrument is busy"
        if self._known is None or fields.get("SAMPLE_ID") != self._known:
            return f"unknown sample {fields.get('SAMPLE_ID')}"
        if scan is None:
            return f"unknown application {fields.get('APPLICATION')}"
        if self.faults.active(FaultKind.DOOR_OPEN):
            return "the door is open"
        if not self._occupied():
            return f"location {self._location()} is free"
        self._job = _Job(self._known, scan, self.clock.now_s, datetime.now(UTC))
        self._spoil(self._job)
        return ""

    def _remove(self, fields: dict[str, str]) -> str:
        # Forgets a sample, and ends its scan.
        here = fields.get("AT", self._location()) == self._location()
        if self._known is None or not here or fields.get("SAMPLE_ID", self._known) != self._known:
            return "unknown sample"
        self._known, self._job = None, None
        return ""

    def _programme(self, name: str) -> Measure | None:
        if name in self.programmes:
            return self.programmes[name]
        told = _NAME.fullmatch(name)
        if told is None:
            return None
        try:
            return Measure(
                two_theta_min_deg=float(told[1]),
                two_theta_max_deg=float(told[2]),
                step_deg=float(told[3]),
                scan_time_s=float(told[4]),
            )
        except (ValueError, ValidationError):
            return None

    # ------------------------------------------------------------------------- a scan

    def advance(self, now_s: float) -> None:
        """Go on with the scan until a moment."""
        job = self._job
        if job is None:
            return
        self._spoil(job)
        if self.faults.active(FaultKind.DOOR_OPEN) and now_s < job.scanned_s:
            self._job = None  # the interlock closes the shutter; nothing is kept
            return
        if self.faults.active(FaultKind.LOST_SAMPLE):
            self._job, self._lost = None, True
            return
        if now_s >= job.scanned_s and not job.scanned:
            job.scanned = True
            job.file = self._counted(job)
        if now_s >= job.exports_s and not job.exported:
            job.exported = True
            with suppress(OSError):  # a folder that is gone is a file that does not come
                self._export(job)
        if now_s >= job.ends_s:
            self._job = None

    def _spoil(self, job: _Job) -> None:
        fault = self.faults.first_active(_SPOILT_EXPORTS)
        if fault is not None and job.fault is None:
            job.fault = fault.kind

    def _counted(self, job: _Job) -> bytes | None:
        if self.sample is None:
            return None
        try:
            seen = self.sample.diffraction(job.scan)
        except LabEnvError:
            return None
        self.done += 1
        return written(self.file_sample_id or job.sample_id, job.scan, seen, job.began)

    def _export(self, job: _Job) -> None:
        path = Path(self.options["folder"]) / f"{job.sample_id}.xrdml"
        data = job.file
        if data is None or job.fault is FaultKind.NOT_EXPORTED:
            return
        if job.fault is FaultKind.HALF_WRITTEN:
            path.write_bytes(data[: len(data) // 2])
            return
        if job.fault is FaultKind.STALE_READING:
            began, old = job.began.isoformat(), (job.began - OLD).isoformat()
            put(path, self._last_file or data.replace(began.encode(), old.encode()))
            return
        self._last_file = data
        put(path, data)


def _fields(request: bytes) -> dict[str, str]:
    parts = request.decode("ascii", "replace").split("@")
    return dict(part.split("=", 1) for part in parts if "=" in part)


def _said(*words: str, **fields: str) -> bytes:
    told = [*words, *(f"{name}={value}" for name, value in fields.items())]
    return ("@" + "@".join(told) + "@END").encode("ascii", "replace")
