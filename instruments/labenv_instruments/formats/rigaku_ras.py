"""Rigaku RAS: the text export of SmartLab, MiniFlex and Ultima, often in Shift-JIS.

Each scan has its own header of ``*KEY "value"`` lines between ``*RAS_HEADER_START`` and
``*RAS_HEADER_END``, and its rows of position, intensity and attenuator between ``*RAS_INT_START``
and ``*RAS_INT_END``. The attenuator's column is not multiplied in, since nothing in the file says
whether that was done already; where it is not 1 a flag says so.

Source:
    The sections and keys as they stand in exported files; no description by the maker is public.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.formats.containers import number_or_nan, number_or_none
from labenv_instruments.formats.scans import (
    TWO_THETA,
    IntensityUnit,
    XrayScan,
    identity,
    radiation_of,
    to_measurement,
)
from labenv_instruments.formats.times import moment_of, order_flags
from labenv_schemas.decoding import decode
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import Measurement, QualityFlag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NAME = "Rigaku RAS"
_LINE = re.compile(r'^\*(\S+)\s+"(.*)"\s*$')
_TWO_THETA_AXES = {"2theta", "2thetatheta", "2thetaomega"}
_SECONDS_PER_DEGREE = {"deg/min": 60.0, "degree/min": 60.0, "deg/s": 1.0, "deg/sec": 1.0}
_SECONDS_PER_STEP = {"sec": 1.0, "s": 1.0, "sec/step": 1.0, "s/step": 1.0, "min/step": 60.0}


@dataclass
class _Block:
    header: dict[str, str] = field(default_factory=dict[str, str])
    rows: list[tuple[float, ...]] = field(default_factory=list[tuple[float, ...]])
    commented: int = 0
    first_line: int = 0
    closed: bool = False


def matches(data: bytes) -> bool:
    """Return whether the bytes begin with a section of a RAS file."""
    return b"*RAS_" in data[:2000].replace(b"\x00", b"").lstrip(b"\xef\xbb\xbf\xff\xfe")[:400]


def read(data: bytes, source: str) -> tuple[Measurement, ...]:
    """Read every scan of a RAS file.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        Diffractograms, or spectra where another axis than 2θ was moved.

    Raises:
        MeasurementFileError: If a row is damaged, or rows are missing.
    """
    text, encoding = _decoded(data)
    provenance = {"file": source, "format": NAME, "encoding": encoding}
    found: list[Measurement] = []
    blocks = _blocks(text, source)
    headers = text.count("*RAS_HEADER_START")
    if headers > len(blocks) > 0:
        raise MeasurementFileError(
            f"{source}: {headers} scans begin but {len(blocks)} have points; the file is cut off, "
            "export it again"
        )
    ends = "*RAS_DATA_END" in text or "*RAS_DATA_START" not in text
    for number, block in enumerate(blocks, 1):
        scan = _scan(block, f"{source}: scan {number}")
        if not ends:
            message = "*RAS_DATA_END is missing; whole scans may be missing behind the last"
            scan.flags.append(QualityFlag(code="end_missing", message=message))
        scan.part = f"scan {number}"
        found.append(to_measurement(scan, provenance))
    if not found:
        raise MeasurementFileError(f"{source}: the file holds no *RAS_INT_START; it has no scan")
    return tuple(found)


def is_two_theta(axis: str) -> bool:
    """Return whether Rigaku's name of an axis means the scattering angle.

    Args:
        axis: Such as "TwoThetaTheta", "2θ/θ" or "Omega".

    Returns:
        Whether it does.
    """
    plain = axis.lower().replace("θ", "theta").replace("ω", "omega").replace("two", "2")
    return re.sub(r"[^a-z0-9]", "", plain) in _TWO_THETA_AXES


def counting_time_s(step: float | None, speed: float | None, unit: str) -> float | None:
    """Return how long each point was counted for.

    Args:
        step: Degrees from point to point.
        speed: Speed of the scan.
        unit: Its unit, such as "deg/min".

    Returns:
        Seconds; none if the unit is unknown.
    """
    unit = unit.strip().lower()
    if speed is None or speed <= 0.0:
        return None
    if unit in _SECONDS_PER_STEP:
        return speed * _SECONDS_PER_STEP[unit]
    if step is None or step <= 0.0 or unit not in _SECONDS_PER_DEGREE:
        return None
    return round(step / speed * _SECONDS_PER_DEGREE[unit], 12)


def unit_of(stated: str, intensity: NDArray[np.float64]) -> tuple[IntensityUnit, list[QualityFlag]]:
    """Return the unit that a file states, and a flag if its numbers cannot be counts.

    Args:
        stated: Such as "counts" or "cps".
        intensity: The numbers, shape (n,).

    Returns:
        Unit and flags.
    """
    plain = stated.strip().lower()
    if plain in {"cps", "counts/s", "counts/sec", "c/s"}:
        return "counts_per_second", []
    if plain not in {"counts", "count"}:
        return "arbitrary", []
    finite = intensity[np.isfinite(intensity)]
    if (finite == np.round(finite)).all():
        return "counts", []
    message = "the file says counts, but the numbers are not whole; they were scaled or corrected"
    return "counts", [QualityFlag(code="counts_not_whole", message=message)]


def attenuator_flags(factors: Sequence[float]) -> list[QualityFlag]:
    """Say that the attenuator's column is not 1 throughout, if so.

    Args:
        factors: The third column.

    Returns:
        One flag or none.
    """
    used = sorted(set(factors))
    if not used or used == [1.0]:
        return []
    listed = ", ".join(f"{factor:g}" for factor in used[:5])
    message = f"the attenuator's column holds {listed}; it was not multiplied in"
    return [QualityFlag(code="attenuator_not_applied", message=message)]


def _decoded(data: bytes) -> tuple[str, str]:
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\x00" in data[:200]:
        return decode(data)
    for name in ("utf-8-sig", "cp932"):
        try:
            return data.decode(name), {"utf-8-sig": "utf-8", "cp932": "shift_jis"}[name]
        except UnicodeDecodeError:
            continue
    return decode(data)


def _blocks(text: str, source: str) -> list[_Block]:
    blocks: list[_Block] = []
    block, inside = _Block(), False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("*RAS_HEADER_START"):
            block, inside = _Block(), False
        elif line.startswith("*RAS_INT_START"):
            block.first_line, inside = number, True
            blocks.append(block)
        elif line.startswith("*RAS_INT_END"):
            block.closed, inside = True, False
        elif inside and line.startswith("#"):
            block.commented += 1
        elif inside and line and not line.startswith("*"):
            block.rows.append(_row(line, f"{source}: line {number}"))
        elif line.startswith("*"):
            inside = False
            entry = _LINE.match(line)
            if entry:
                block.header[entry[1]] = entry[2].strip()
    return blocks


def _row(line: str, place: str) -> tuple[float, ...]:
    values = tuple(number_or_nan(word) for word in line.split()[:3])
    if len(values) < 2 or not np.isfinite(values).all():
        raise MeasurementFileError(f"{place} is no row of numbers: {line[:60]!r}; export it again")
    return values


def _scan(block: _Block, place: str) -> XrayScan:
    header = block.header
    flags = _count_flags(block, place)
    positions = np.array([row[0] for row in block.rows], dtype=np.float64)
    intensity = np.array([row[1] for row in block.rows], dtype=np.float64)
    flags += attenuator_flags([row[2] for row in block.rows if len(row) > 2])
    unit, more = unit_of(header.get("MEAS_SCAN_UNIT_Y", "counts"), intensity)
    axis = header.get("MEAS_SCAN_AXIS_X_INTERNAL") or header.get("MEAS_SCAN_AXIS_X") or ""
    if not axis:
        message = "the file names no scan axis; 2θ was assumed"
        more.append(QualityFlag(code="axis_assumed", message=message))
    started = moment_of(header.get("MEAS_SCAN_START_TIME"))
    lines = (f"HW_XG_WAVE_LENGTH_ALPHA{number}" for number in (1, 2))
    one, two = (number_or_none(header.get(key)) for key in lines)
    speed = number_or_none(header.get("MEAS_SCAN_SPEED"))
    step = number_or_none(header.get("MEAS_SCAN_STEP"))
    return XrayScan(
        positions=positions,
        intensity=intensity,
        axis=TWO_THETA if not axis or is_two_theta(axis) else axis,
        axis_unit=header.get("MEAS_SCAN_UNIT_X") or "deg",
        intensity_unit=unit,
        counting_time_s=counting_time_s(step, speed, header.get("MEAS_SCAN_SPEED_UNIT", "")),
        radiation=radiation_of(one, two, None, header.get("HW_XG_TARGET_NAME")),
        started=started,
        instrument=identity("rigaku_ras", header.get("FILE_SYSTEM_NAME")),
        sample_id=header.get("FILE_SAMPLE") or None,
        flags=flags + more + order_flags(started),
        facts=_facts(header, axis),
    )


def _facts(header: dict[str, str], axis: str) -> dict[str, str]:
    facts = {"scan_axis": axis} if axis else {}
    kept = {
        "FILE_COMMENT": "comment",
        "HW_XG_WAVE_TYPE": "wavelength_intended",
        "MEAS_COND_XG_VOLTAGE": "tube_voltage_kv",
        "MEAS_COND_XG_CURRENT": "tube_current_ma",
    }
    facts.update({name: header[key] for key, name in kept.items() if header.get(key)})
    return facts


def _count_flags(block: _Block, place: str) -> list[QualityFlag]:
    """Check the number of rows against what the header declares.

    Args:
        block: The scan.
        place: File and scan, for messages.

    Returns:
        A flag for rows that were commented out.

    Raises:
        MeasurementFileError: If there are not as many rows as declared, or the file ends among
            rows whose number it does not declare.
    """
    declared = number_or_none(block.header.get("MEAS_DATA_COUNT"))
    count = len(block.rows) + block.commented
    if declared is not None and count != declared:
        raise MeasurementFileError(
            f"{place} declares {declared:g} points but holds {count} (from line "
            f"{block.first_line + 1}); the file is cut off or edited, export it again"
        )
    if declared is None and not block.closed:
        raise MeasurementFileError(
            f"{place} ends without *RAS_INT_END; the file is cut off, export it again"
        )
    flags: list[QualityFlag] = []
    if block.commented:
        message = f"{block.commented} points are commented out and left out"
        flags.append(QualityFlag(code="rows_skipped", message=message))
    return flags
