"""The file that a diffractometer writes into a shared folder after a scan, and no other.

A file is taken only if it is new or has changed since the scan was asked for, has stopped growing,
is whole, names the sample, and began when it was asked for: a folder holds yesterday's scans, and a
network shows half a file.
"""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from labenv_instruments.formats import read_measurement
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Diffractogram

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


class _Look(NamedTuple):
    changed_ns: int
    size: int


class Export:
    """The file of one scan that has been asked for.

    Args:
        folder: Where the device writes.
        sample_id: Name of the sample, and of the file.
        asked_at: When the scan was asked for.
        skew_s: How much the device's clock may be behind, s.
        later_than: When the last scan of this device began, if there was one.
    """

    def __init__(
        self,
        folder: Path,
        sample_id: str,
        asked_at: datetime,
        *,
        skew_s: float,
        later_than: datetime | None = None,
    ) -> None:
        self.path = folder / f"{sample_id}.xrdml"
        self.problem = f"{self.path} has not been written"
        self._sample_id = sample_id
        self._earliest = asked_at - timedelta(seconds=skew_s)
        self._later_than = later_than
        self._before, self._digest_before = self._look(), self._digest()
        self._last: _Look | None = None

    def take(self) -> Diffractogram | None:
        """Look at the file.

        Returns:
            The scan; None as long as there is none to be trusted, and then `problem` says why.
        """
        seen, last = self._look(), self._last
        self._last = seen
        if seen is None:
            self.problem = f"{self.path} has not been written"
            return None
        if seen == self._before:
            self.problem = f"{self.path} is the file that was there before"
            return None
        if seen != last:
            self.problem = f"{self.path} is still being written"
            return None
        try:
            scan = read_measurement(self.path)
        except MeasurementFileError as cause:
            self.problem = f"the file is not whole: {cause}"
            return None
        if not isinstance(scan, Diffractogram):
            self.problem = f"{self.path} holds no diffractogram"
            return None
        self.problem = self._mistrust(scan)
        return None if self.problem else scan

    def _mistrust(self, scan: Diffractogram) -> str:
        """Return why a scan is not the one that was asked for; nothing if it is."""
        if scan.sample_id != self._sample_id:
            return f"{self.path} is of sample {scan.sample_id!r}, not of {self._sample_id!r}"
        if self._digest() == self._digest_before:
            return f"{self.path} holds what it held before"
        began = scan.measured_at
        if began is None:
            return f"{self.path} does not say when it began"
        if began < self._earliest or (self._later_than is not None and began <= self._later_than):
            return f"{self.path} is an old scan: it began at {began.isoformat()}"
        if any(flag.code == "scan_incomplete" for flag in scan.flags):
            return f"{self.path} is a scan that was not finished"
        return ""

    def _look(self) -> _Look | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return _Look(found.st_mtime_ns, found.st_size)

    def _digest(self) -> bytes | None:
        try:
            return hashlib.sha256(self.path.read_bytes()).digest()
        except OSError:
            return None


__all__ = ["Export"]
