"""Bruker UXD: the text form of RAW files, ``_KEY=value`` lines and a block of numbers a range.

Keys hold until another range changes them. Angles are printed with few digits, so where the first
angle and the step of the header agree with them, those are used.

Source:
    Keys and markers as they stand in files of versions 1 to 3 written by Bruker's XCH.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.formats.containers import number_or_nan, number_or_none
from labenv_instruments.formats.scans import (
    TWO_THETA,
    XrayScan,
    grid,
    identity,
    radiation_of,
    to_measurement,
)
from labenv_instruments.formats.times import moment_of, order_flags
from labenv_schemas.decoding import decode, is_text
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Measurement, QualityFlag

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "Bruker UXD"
_KEY = re.compile(r"^_(\w+)\s*=\s*(.*)$")
_MARK = re.compile(r"^_(2THETA)?(COUNTS?|CPS)(TIME)?$")
_DRIVES = {"coupled": TWO_THETA, "2theta": TWO_THETA, "theta-2theta": TWO_THETA, "khi": "Chi"}


@dataclass
class _Range:
    mark: str
    header: dict[str, str]
    line: int
    words: list[list[str]] = field(default_factory=list[list[str]])


def matches(data: bytes) -> bool:
    """Return whether the bytes are text whose first line that is no comment is _FILEVERSION."""
    if not is_text(data):
        return False
    try:
        text, _ = decode(data[:20_000])
    except ValueError:
        return False
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith(";")), "")
    return first.startswith("_FILEVERSION")


def read(data: bytes, source: str) -> tuple[Measurement, ...]:
    """Read every range of a UXD file.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        Diffractograms, or spectra where another axis than 2θ was moved.

    Raises:
        MeasurementFileError: If a line is damaged, or a range has no positions.
    """
    text, encoding = decode(data)
    provenance = {"file": source, "format": NAME, "encoding": encoding}
    found: list[Measurement] = []
    for number, part in enumerate(_ranges(text, source), 1):
        scan = _scan(part, f"{source}: range {number}", source)
        scan.part = f"range {number}"
        found.append(to_measurement(scan, provenance))
    if not found:
        raise MeasurementFileError(
            f"{source}: no block of _COUNTS, _CPS, _2THETACOUNTS or _2THETACPS; it has no scan"
        )
    return tuple(found)


def _ranges(text: str, source: str) -> list[_Range]:
    header: dict[str, str] = {}
    ranges: list[_Range] = []
    current: _Range | None = None
    peaks = begun = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith(";"):
            continue
        key = _KEY.match(line)
        if _MARK.match(line):
            current, peaks = _Range(line, dict(header), number), False
            ranges.append(current)
            begun = False
        elif key:
            header[key[1].upper()], current = key[2].strip().strip("'\""), None
            begun = begun or key[1].upper() == "DRIVE"
        elif line.startswith(("_D-I", "_2THETA-I")):  # a list of peaks, no scan
            current, peaks = None, True
        elif line.startswith("_"):
            raise MeasurementFileError(
                f"{source}: line {number} begins a block that is not known, {line[:30]!r}; export "
                "the scan as XY"
            )
        elif current is not None:
            current.words.append(line.replace(",", " ").split())
        elif not peaks:
            raise MeasurementFileError(
                f"{source}: line {number} stands outside any block of counts: {line[:40]!r}"
            )
    if begun and ranges and not peaks:
        raise MeasurementFileError(
            f"{source}: a range begins behind the last block of counts, but has none; the file is "
            "cut off, export it again"
        )
    return ranges


def _scan(part: _Range, place: str, source: str) -> XrayScan:
    mark, header = _MARK.match(part.mark), part.header
    listed = mark is not None and mark[1] is not None
    positions, intensity = _numbers(part, place, source, listed=listed)
    declared = number_or_none(header.get("STEPCOUNT"))
    if declared is not None and declared != intensity.size:
        raise MeasurementFileError(
            f"{place} declares {declared:g} points but holds {intensity.size}, from line "
            f"{part.line + 1}; the file is cut off or edited, export it again"
        )
    drive = header.get("DRIVE", "COUPLED")
    axis = _DRIVES.get(drive.lower(), drive.capitalize())
    started = moment_of(header.get("DATEMEASURED"))
    lines = ("WL1", "WL2", "WLRATIO", "STEPTIME", "GONIOMETER_RADIUS")
    one, two, ratio, seconds, radius_mm = (number_or_none(header.get(key)) for key in lines)
    flags: list[QualityFlag] = []
    if header.get("WL_UNIT", "A").upper() not in {"A", "ANGSTROM"}:
        message = f"wavelengths are in {header['WL_UNIT']!r}; they were taken for Å"
        flags.append(QualityFlag(code="wavelength_unit", message=message))
    kept = {"KV": "tube_voltage_kv", "MA": "tube_current_ma", "TIMESTARTED": "range_started_s"}
    return XrayScan(
        positions=positions,
        intensity=intensity,
        axis=axis,
        axis_unit="mm" if axis in {"X", "Y", "Z"} else "deg",
        intensity_unit="counts_per_second" if "CPS" in part.mark else "counts",
        counting_time_s=seconds,
        radiation=radiation_of(one, two, ratio, header.get("ANODE")),
        started=started,
        instrument=identity("bruker_uxd", "Bruker diffractometer"),
        sample_id=header.get("SAMPLE") or None,
        goniometer_radius_m=radius_mm * 1e-3 if radius_mm and radius_mm > 0 else None,
        flags=flags + order_flags(started),
        facts={"scan_axis": drive}
        | {name: header[key] for key, name in kept.items() if header.get(key)},
    )


def _numbers(
    part: _Range, place: str, source: str, *, listed: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    start, step = (number_or_none(part.header.get(key)) for key in ("START", "STEPSIZE"))
    for offset, words in enumerate(part.words, 1):
        if not np.isfinite([number_or_nan(word) for word in words]).all() or (
            listed and len(words) < 2
        ):
            raise MeasurementFileError(
                f"{source}: line {part.line + offset} or near is no row of numbers: "
                f"{' '.join(words)[:60]!r}; export the file again"
            )
    if not listed:
        counts = np.array([number_or_nan(w) for words in part.words for w in words])
        if start is None or not step:
            raise MeasurementFileError(
                f"{place} lists counts without angles, and its header lacks _START or _STEPSIZE; "
                "there is no 2θ axis, export it with angles"
            )
        return grid(start, step, counts.size), counts
    angles = np.array([number_or_nan(words[0]) for words in part.words])
    counts = np.array([number_or_nan(words[1]) for words in part.words])
    if start is not None and step:
        exact = grid(start, step, angles.size)
        digits = (len(words[0].partition(".")[2]) for words in part.words)
        rounding = np.array([0.5 * 10.0**-n for n in digits])
        if (np.abs(exact - angles) <= rounding * 1.2 + 1e-9).all():
            return exact, counts
    return angles, counts
