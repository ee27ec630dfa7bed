"""Bruker RAW of version 4 (``RAW4.00``): segments about the file, then ranges up to its end.

A segment is a kind, a length and its content. Kind 0 or 160 begins a range: a header of 160 bytes,
its own segments (one for each drive), then records of which the first four bytes are the
intensity. The time per step is that over all channels of the detector, in seconds. The date is a
local time, month first.

Source:
    No description by the maker is public. The layout is that described by open readers; it was
    checked on files, of which one states its 77.9 s per step as 192 channels of a scan that lasted
    as long as that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv_instruments.formats.bruker_raw import moment_text, unit_of
from labenv_instruments.formats.containers import fixed_text, leading_float32, unpack
from labenv_instruments.formats.scans import (
    TWO_THETA,
    XrayScan,
    grid,
    identity,
    radiation_of,
    to_measurement,
)
from labenv_instruments.formats.times import order_flags
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Measurement, QualityFlag

if TYPE_CHECKING:
    from labenv_schemas.measurement import Radiation

NAME = "Bruker RAW4"
_FIRST_SEGMENT = 61
_RANGE_HEADER = 160
_RANGE_MARKS = {0, 160}
_TEXT, _TUBE, _DRIVE = 10, 30, 50
_SCAN_AXES = {
    "locked coupled": TWO_THETA,
    "unlocked coupled": TWO_THETA,
    "detector scan": TWO_THETA,
    "psd fast scan": TWO_THETA,
    "rocking curve": "Theta",
    "chi scan": "Chi",
    "phi scan": "Phi",
    "x scan": "X",
    "y scan": "Y",
    "z scan": "Z",
    "psi scan": "Psi",
}


class _Drive(NamedTuple):
    name: str
    position: float


@dataclass
class _About:
    texts: dict[str, str] = field(default_factory=dict[str, str])
    radiation: Radiation | None = None


def matches(data: bytes) -> bool:
    """Return whether the bytes begin as a RAW file of version 4 that holds more than its head."""
    return data.startswith(b"RAW4.00") and any(data[12:_FIRST_SEGMENT])


def read(data: bytes, source: str) -> tuple[Measurement, ...]:
    """Read every range of a RAW file.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        Diffractograms, or spectra where another axis than 2θ was moved.

    Raises:
        MeasurementFileError: If the file is cut off, or a header contradicts itself.
    """
    about, scans = _About(), list[XrayScan]()
    at, end = _FIRST_SEGMENT, len(data.rstrip(b"\x00"))
    while at < end:
        kind, length = (int(v) for v in unpack(data, "<II", at, "a segment", source))
        if kind in _RANGE_MARKS:
            place = f"{source}: range {len(scans) + 1}"
            scan, at = _range(data, at, place)
            scan.part = f"range {len(scans) + 1}"
            scans.append(scan)
            continue
        _about(data, at, _checked(data, at, length, source), about, source)
        at += length
    if not scans:
        raise MeasurementFileError(
            f"{source}: the RAW4 file holds no range; it is cut off or only holds settings"
        )
    started = moment_text(data, 12, 24)
    provenance = {"file": source, "format": NAME, "encoding": "binary", "format_version": "RAW4.00"}
    for scan in scans:
        scan.radiation = about.radiation or scan.radiation
        scan.started, scan.sample_id = started, about.texts.get("SAMPLEID") or None
        scan.flags += order_flags(started)
        if about.texts.get("COMMENT"):
            scan.facts["comment"] = about.texts["COMMENT"]
    return tuple(to_measurement(scan, provenance) for scan in scans)


def _checked(data: bytes, at: int, length: int, source: str) -> int:
    if length < 8 or at + length > len(data):
        raise MeasurementFileError(
            f"{source}: the segment at byte {at} declares {length} bytes, but the file ends at "
            f"byte {len(data)}; it is cut off or damaged, copy it again"
        )
    return length


def _about(data: bytes, at: int, length: int, about: _About, source: str) -> None:
    kind, *_ = unpack(data, "<I", at, "a segment", source)
    if kind == _TEXT and length >= 36:
        about.texts[fixed_text(data, at + 12, 24)] = fixed_text(data, at + 36, length - 36)
    if kind == _TUBE and length >= 120:
        values = unpack(data, "<4d", at + 80, "the wavelengths", source)
        one, two, _, ratio = (value if np.isfinite(value) else 0.0 for value in values)
        light = {
            "k_alpha1_a": one if 0.1 < one < 10.0 else None,
            "k_alpha2_a": two if 0.1 < two < 10.0 else None,
            "ratio": ratio if 0.0 <= ratio <= 1.0 else None,
        }
        about.radiation = radiation_of(**light, anode=fixed_text(data, at + 116, 4))


def _range(data: bytes, at: int, place: str) -> tuple[XrayScan, int]:
    start, step = unpack(data, "<dd", at + 72, "a range header", place)
    count, seconds = unpack(data, "<If", at + 88, "a range header", place)
    kilovolt, milliampere = unpack(data, "<ff", at + 100, "a range header", place)
    wavelength, *_ = unpack(data, "<d", at + 112, "a range header", place)
    stride, extra = (int(v) for v in unpack(data, "<II", at + 136, "a range header", place))
    points, first = int(count), at + _RANGE_HEADER + extra
    if stride < 4 or first + points * stride > len(data):
        raise MeasurementFileError(
            f"{place} declares {points} records of {stride} bytes from byte {first}, but the file "
            f"ends at byte {len(data)}; it is cut off or damaged, copy it again"
        )
    if not (np.isfinite([start, step]).all() and 0.0 < abs(step) <= 90.0 and abs(start) <= 400.0):
        raise MeasurementFileError(f"{place} steps by {step:g} from {start:g}, which is no scan")
    drives = _drives(data, at + _RANGE_HEADER, first, place)
    scan_type = fixed_text(data, at + 32, 24)
    axis, flags = _axis(scan_type, drives, start)
    intensity = leading_float32(data, first, points, stride)
    known = float(f"{seconds:.7g}") if 0.0 < seconds < 1e7 else None
    unit, more = unit_of(intensity, known) if points else ("counts", [])
    scan = XrayScan(
        positions=grid(start, step, points),
        intensity=intensity,
        axis=axis,
        axis_unit="mm" if axis in {"X", "Y", "Z"} else "deg",
        intensity_unit=unit,
        counting_time_s=known,
        radiation=radiation_of(wavelength if 0.1 < wavelength < 10.0 else None),
        instrument=identity("bruker_raw4", "Bruker diffractometer"),
        flags=flags + more,
        facts={
            "scan_axis": scan_type,
            "tube_voltage_kv": f"{kilovolt:g}",
            "tube_current_ma": f"{milliampere:g}",
        },
    )
    return scan, first + points * stride


def _drives(data: bytes, at: int, end: int, place: str) -> list[_Drive]:
    drives: list[_Drive] = []
    while at < end:
        kind, length = (int(v) for v in unpack(data, "<II", at, "a drive", place))
        if length < 8 or at + length > end:
            raise MeasurementFileError(
                f"{place}: the segments of its header do not end where the data begin; the file "
                "is damaged, copy it again"
            )
        if kind == _DRIVE and length >= 64:
            position, *_ = unpack(data, "<d", at + 56, "a drive", place)
            drives.append(_Drive(fixed_text(data, at + 12, 24), position))
        at += length
    return drives


def _axis(scan_type: str, drives: list[_Drive], start: float) -> tuple[str, list[QualityFlag]]:
    known = _SCAN_AXES.get(scan_type.lower())
    if known is None and scan_type.lower().startswith("unlocked coupled"):
        known = TWO_THETA
    if known is not None:
        return known, []
    at_start = [drive.name for drive in drives if abs(drive.position - start) < 1e-6]
    axis = TWO_THETA if not at_start or "2Theta" in at_start else at_start[0]
    message = f"scan type {scan_type!r} is unknown; {axis} was assumed to be the axis"
    return axis, [QualityFlag(code="axis_assumed", message=message)]
