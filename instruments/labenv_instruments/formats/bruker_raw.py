"""Siemens and Bruker RAW of versions 1 (``RAW ``), 2 (``RAW2``) and 3 (``RAW1.01``).

Dates are local times, month first. A range whose header does not agree with itself, or ranges that
do not fill the file, are refused rather than read as something plausible.

Source:
    DIFFRAC-AT manual, appendix B (versions 1 and 2), and DIFFRAC plus XCH V5.0 manual, appendix A
    (version 3), as their layouts are described in the comments of open readers; the manuals
    themselves were not at hand. Version 3 was checked against a reader by other people; versions 1
    and 2 only against files made to that description.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.formats.containers import fixed_text, leading_float32, unpack
from labenv_instruments.formats.scans import (
    TWO_THETA,
    IntensityUnit,
    XrayScan,
    grid,
    identity,
    radiation_of,
    to_measurement,
)
from labenv_instruments.formats.times import Moment, moment_of, order_flags
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Measurement, QualityFlag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from labenv_schemas.measurement import Radiation

NAME = "Bruker RAW"
_STATUS = {3: "aborted", 4: "interrupted"}
_AXES = {
    0: TWO_THETA, 1: TWO_THETA, 2: TWO_THETA, 3: "Theta", 4: "Chi", 5: "Phi", 6: "X", 7: "Y",
    8: "Z", 12: "Psi", 20: TWO_THETA,
}  # fmt: skip
_LENGTHS = {"X", "Y", "Z"}
_MAX_RANGES = 10_000


def matches(data: bytes) -> bool:
    """Return whether the bytes begin as a RAW file of version 1, 2 or 3."""
    return len(data) > 150 and data.startswith((b"RAW ", b"RAW2", b"RAW1.01"))


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
    if data.startswith(b"RAW "):
        version, scans = "RAW", _version_1(data, source)
    elif data.startswith(b"RAW2"):
        version, scans = "RAW2", _version_2(data, source)
    else:
        version, scans = "RAW1.01", _version_3(data, source)
    provenance = {"file": source, "format": NAME, "encoding": "binary", "format_version": version}
    return tuple(to_measurement(scan, provenance) for scan in scans)


def unit_of(
    intensity: NDArray[np.float64], seconds: float | None
) -> tuple[IntensityUnit, list[QualityFlag]]:
    """Return the unit of intensities, which RAW files do not state.

    Args:
        intensity: The numbers, shape (n,).
        seconds: Counting time.

    Returns:
        Counts, if the numbers are whole; counts per second if they are after multiplying with the
        time; arbitrary otherwise, with a flag.
    """
    if (intensity == np.round(intensity)).all():
        return "counts", []
    if seconds:
        counts = intensity * seconds
        if np.abs(counts - np.round(counts)).max() < 1e-3 and counts.max() > 1.0:
            return "counts_per_second", []
    message = "the file states no unit, and the numbers are neither counts nor a rate of counts"
    return "arbitrary", [QualityFlag(code="unit_unknown", message=message)]


def short(value: float) -> float:
    """Return the decimal number that a 32-bit float was meant to be.

    Args:
        value: A float that was stored in 32 bits.

    Returns:
        The same to seven digits.
    """
    return float(f"{value:.7g}")


def _scan(
    intensity: NDArray[np.float64], start: float, step: float, seconds: float, place: str
) -> XrayScan:
    if not (np.isfinite([start, step]).all() and abs(start) <= 400.0 and 0.0 < abs(step) <= 90.0):
        raise MeasurementFileError(
            f"{place} steps by {step:g} from {start:g}, which is no scan; the file is damaged or "
            "of an unknown layout, export it as XY"
        )
    known = seconds if 0.0 < seconds < 1e7 else None
    unit, flags = unit_of(intensity, known)
    return XrayScan(
        positions=grid(start, step, intensity.size),
        intensity=intensity,
        intensity_unit=unit,
        counting_time_s=known,
        instrument=identity("bruker_raw", "Bruker diffractometer"),
        flags=flags,
    )


def _counts(data: bytes, at: int, count: float, stride: float, place: str) -> NDArray[np.float64]:
    points, size = int(count), int(stride)
    if at + points * size > len(data):
        raise MeasurementFileError(
            f"{place} declares {points} points, which end at byte {at + points * size}, but the "
            f"file ends at byte {len(data)}; it is cut off, copy it again"
        )
    if points < 2:
        raise MeasurementFileError(f"{place} has {points} points, too few for a scan")
    return leading_float32(data, at, points, size)


def _ended(data: bytes, at: int, source: str) -> None:
    if len(data) - at >= 8 and any(data[at:]):
        raise MeasurementFileError(
            f"{source}: the ranges end at byte {at} of {len(data)}, and more than padding follows; "
            "the layout is unknown, export the file as XY"
        )


def _version_1(data: bytes, source: str) -> Iterator[XrayScan]:
    at, number, following = 4, 0, 1.0
    while following > 0:
        number += 1
        place = f"{source}: range {number}"
        if number > _MAX_RANGES:
            raise MeasurementFileError(f"{source}: more than {_MAX_RANGES} ranges; it is damaged")
        if number > 1 and data[at : at + 4] == b"RAW ":  # early files did not repeat it
            at += 4
        count, seconds, step = unpack(data, "<Iff", at, "a range header", place)
        start, *_ = unpack(data, "<f", at + 24, "a range header", place)
        one, two = unpack(data, "<ff", at + 68, "a range header", place)
        following, *_ = unpack(data, "<I", at + 148, "a range header", place)
        counts = _counts(data, at + 152, count, 4, place)
        scan = _scan(counts, short(start), short(step), short(seconds), place)
        scan.part, scan.sample_id = f"range {number}", fixed_text(data, at + 36, 32) or None
        if 0.1 < one < 10.0:
            scan.radiation = radiation_of(short(one), short(two) if 0.1 < two < 10.0 else None)
        yield scan
        at += 152 + int(count) * 4
    _ended(data, at, source)


def _version_2(data: bytes, source: str) -> Iterator[XrayScan]:
    ranges, *_ = unpack(data, "<H", 4, "the file header", source)
    one, two, ratio = (short(v) for v in unpack(data, "<3f", 190, "the file header", source))
    light = _light(one, two, ratio, fixed_text(data, 188, 2))
    started = moment_of(fixed_text(data, 168, 20))
    at = 256
    for number in range(1, int(ranges) + 1):
        place = f"{source}: range {number}"
        size, count = unpack(data, "<HH", at, "a range header", place)
        seconds, step, start = unpack(data, "<3f", at + 8, "a range header", place)
        kelvin, *_ = unpack(data, "<H", at + 46, "a range header", place)
        if size < 48:
            raise MeasurementFileError(f"{place} has a header of {size:g} bytes; it is damaged")
        counts = _counts(data, at + int(size), count, 4, place)
        scan = _scan(counts, short(start), short(step), short(seconds), place)
        scan.part, scan.radiation, scan.started = f"range {number}", light, started
        scan.flags += order_flags(started)
        if kelvin > 0:
            scan.facts["temperature_k"] = f"{kelvin:g}"
        yield scan
        at += int(size) + int(count) * 4
    _ended(data, at, source)


def _version_3(data: bytes, source: str) -> Iterator[XrayScan]:
    status, ranges = unpack(data, "<II", 8, "the file header", source)
    if not 1 <= ranges <= _MAX_RANGES:
        raise MeasurementFileError(
            f"{source}: the header declares {ranges:g} ranges; it is damaged"
        )
    started = moment_of(f"{fixed_text(data, 16, 10)} {fixed_text(data, 26, 10)}")
    radius_mm, *_ = unpack(data, "<f", 564, "the file header", source)
    one, two, _, ratio = unpack(data, "<4d", 624, "the file header", source)
    light = _light(one, two, ratio, fixed_text(data, 608, 4))
    at = 712
    for number in range(1, int(ranges) + 1):
        place = f"{source}: range {number}"
        scan, at = _range_3(data, at, place)
        scan.part, scan.sample_id = f"range {number}", fixed_text(data, 326, 60) or None
        scan.started, scan.radiation = started, light or scan.radiation
        scan.goniometer_radius_m = short(radius_mm) * 1e-3 if 1.0 < radius_mm < 1e4 else None
        scan.flags += [*_status_flags(int(status)), *order_flags(started)]
        yield scan
    _ended(data, at, source)


def _range_3(data: bytes, at: int, place: str) -> tuple[XrayScan, int]:
    header, count = unpack(data, "<II", at, "a range header", place)
    theta, two_theta = unpack(data, "<dd", at + 8, "a range header", place)
    step, *_ = unpack(data, "<d", at + 176, "a range header", place)
    seconds, code = unpack(data, "<fI", at + 192, "a range header", place)
    kilovolt, milliampere = unpack(data, "<II", at + 224, "a range header", place)
    wavelength, varying, record, extra = unpack(data, "<dIII", at + 240, "a range header", place)
    columns = int(varying).bit_count()
    if record != 4 + 8 * columns and not (record == 0 and columns == 0):
        raise MeasurementFileError(
            f"{place} declares records of {record:g} bytes for {columns} columns; the layout is "
            "unknown, export the file as XY"
        )
    if not 260 <= header <= 65536 or extra > len(data):
        raise MeasurementFileError(f"{place} has a header of {header:g} bytes; it is damaged")
    stride = 4 + 8 * columns
    first = at + int(header) + int(extra)
    counts = _counts(data, first, count, stride, place)
    axis = _AXES.get(int(code), TWO_THETA)
    start = two_theta if axis == TWO_THETA else _drive_start(data, at, axis, theta, place)
    scan = _scan(counts, start, step, short(seconds), place)
    scan.axis, scan.axis_unit = axis, "mm" if axis in _LENGTHS else "deg"
    if int(varying) & 1 and axis == TWO_THETA:
        records = np.frombuffer(data, np.uint8, counts.size * stride, first).reshape(-1, stride)
        scan.positions = np.ascontiguousarray(records[:, 4:12]).view("<f8").reshape(-1)
    if int(code) not in _AXES:
        message = f"scan type {code:g} is unknown; 2θ was assumed"
        scan.flags.append(QualityFlag(code="axis_assumed", message=message))
    if 0.1 < wavelength < 10.0:
        scan.radiation = radiation_of(wavelength)
    scan.facts = {"tube_voltage_kv": f"{kilovolt:g}", "tube_current_ma": f"{milliampere:g}"}
    return scan, first + counts.size * stride


def _drive_start(data: bytes, at: int, axis: str, theta: float, place: str) -> float:
    places = {"Chi": 24, "Phi": 32, "X": 40, "Y": 48, "Z": 56}
    if axis not in places:
        return theta
    return unpack(data, "<d", at + places[axis], "a range header", place)[0]


def _light(one: float, two: float, ratio: float, anode: str) -> Radiation | None:
    if not 0.1 < one < 10.0:
        return radiation_of(None, anode=anode)
    second = two if 0.1 < two < 10.0 else None
    return radiation_of(one, second, ratio if 0.0 <= ratio <= 1.0 else None, anode)


def _status_flags(status: int) -> list[QualityFlag]:
    if status not in _STATUS:
        return []
    return [QualityFlag(code="scan_incomplete", message=f"the file's status is {_STATUS[status]}")]


def moment_text(data: bytes, date_at: int, time_at: int) -> Moment | None:
    """Return the local time that stands in two fields of a header.

    Args:
        data: The file.
        date_at: Where the date stands, twelve bytes.
        time_at: Where the time of day stands, ten bytes.

    Returns:
        The time.
    """
    return moment_of(f"{fixed_text(data, date_at, 12)} {fixed_text(data, time_at, 10)}")
