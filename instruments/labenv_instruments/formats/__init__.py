"""Measurement files: what a file is, is decided by its content, never by its name.

    scan = read_measurement("scan.xrdml")        # a labenv_schemas Measurement
    scans = read_measurements("ranges.raw")      # every scan, range or channel, in order
    write_xrdml(scan, "copy.xrdml")              # also write_xye, write_pdcif, write_nexus

One module a format. A format module offers ``NAME``, ``matches(data) -> bool`` on the file's bytes
and ``read(data, source) -> tuple[Measurement, ...]``; the module's file name is the format's id,
and a new module in this folder is found without being registered.
"""

from __future__ import annotations

from labenv_instruments.formats.reading import format_ids, read_measurement, read_measurements
from labenv_instruments.formats.writers import (
    write_nexus,
    write_pdcif,
    write_xrdml,
    write_xye,
)

__all__ = [
    "format_ids",
    "read_measurement",
    "read_measurements",
    "write_nexus",
    "write_pdcif",
    "write_xrdml",
    "write_xye",
]
