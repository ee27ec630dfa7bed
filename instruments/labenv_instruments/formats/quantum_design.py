"""Quantum Design PPMS and MPMS .dat files: [Header], then [Data] as comma-separated columns.

Fields in oersted, gauss or tesla become tesla, moments in emu A·m². Status columns are not judged:
their codes differ between options and versions, and an unknown one is no error. A row may end
before the headings do. An overflow mark (a magnitude of 9.9e36 or more) counts as missing.
"""

from __future__ import annotations

import csv
import math
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from labenv_instruments.formats.containers import number_or_none
from labenv_instruments.formats.times import moment_of, order_flags
from labenv_schemas.decoding import decode, is_text
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import (
    MagnetisationCurve,
    Measurement,
    QualityFlag,
    ResistanceCurve,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NAME = "Quantum Design .dat"
OVERFLOW = 9.9e36
_HEADING = re.compile(r"^(?P<name>.*?)\s*(?:\((?P<unit>[^()]*)\))?$")
_BRIDGE = re.compile(
    r"^(?:bridge\s*(\d+)\s+resistance|resistance\s+ch\.?\s*(\d+)|ch\.?\s*(\d+)\s+resistance"
    r"|resistance)$",
    re.IGNORECASE,
)
_RESISTIVITY = re.compile(
    r"^(?:bridge\s*(\d+)\s+resistivity|resistivity\s+ch\.?\s*(\d+)|res\.\s*ch\.?\s*(\d+)"
    r"|resistivity)$",
    re.IGNORECASE,
)
_MAGNETOMETERS = ("acms", "vsm", "mpms", "squid", "magnetometer")
_MOMENTS = ("m-dc", "dc moment fixed ctr", "dc moment free ctr", "long moment", "moment")
_TEMPERATURES = ("temperature", "sample temp.", "sample temp")
_FIELDS = ("magnetic field", "field", "sample field")
_TO_TESLA = {"oe": 1e-4, "koe": 0.1, "g": 1e-4, "gauss": 1e-4, "t": 1.0, "tesla": 1.0, "mt": 1e-3}
_TO_A_M2 = {"emu": 1e-3, "a m2": 1.0, "am2": 1.0, "a m^2": 1.0, "am^2": 1.0, "a·m²": 1.0}
_TO_OHM = {"ohm": 1.0, "ohms": 1.0, "mohm": 1e-3, "mohms": 1e-3, "kohm": 1e3, "kohms": 1e3}
_TO_OHM_M = {"ohm-m": 1.0, "ohm-cm": 1e-2, "mohm-cm": 1e-5, "uohm-cm": 1e-8, "mohm-m": 1e-3}
_TO_AMPERE = {"ua": 1e-6, "µa": 1e-6, "μa": 1e-6, "ma": 1e-3, "a": 1.0}
_STEADY_T = 1e-3  # fields that wander by less are one field


class Column(NamedTuple):
    """One column.

    Attributes:
        name: Heading without the unit.
        unit: What stands in brackets, or "".
        values: Numbers, shape (rows,), nan where missing, overflowed or text.
    """

    name: str
    unit: str
    values: Floats


class QuantumDesignTable(NamedTuple):
    """A whole file.

    Attributes:
        columns: Columns in the file's order; those without any number are left out.
        header: Lines of the header, each split at the commas.
        overflowed: How many entries bore an overflow mark.
        unused: Name and unit of the columns without any number.
    """

    columns: tuple[Column, ...]
    header: tuple[tuple[str, ...], ...]
    overflowed: int
    unused: tuple[tuple[str, str], ...] = ()


def matches(data: bytes) -> bool:
    """Return whether the bytes are a text whose sections are [Header] and [Data]."""
    if not is_text(data):
        return False
    try:
        text, _ = decode(data[:200_000])
    except ValueError:
        return False
    return bool(
        re.match(r"\s*\[header\]", text, re.IGNORECASE)
        and re.search(r"^\s*\[data\]\s*$", text, re.IGNORECASE | re.MULTILINE)
    )


def read(data: bytes, source: str) -> tuple[Measurement, ...]:
    """Read the resistance of every bridge or channel in use, and the static moment.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        Resistance and magnetisation curves in SI units, rows in the order of the file; the moment
        comes first if a magnetometer wrote the file. Rows without the quantity, such as those of
        another measurement type, are left out and flagged; so is a field that changes in a
        resistance curve, of which the median is given.

    Raises:
        MeasurementFileError: If the file is damaged, or holds neither quantity.
    """
    table = read_table(data, source)
    _, encoding = decode(data)
    channels: list[int | None] = [*sorted(_bridges(table.columns))]
    if _moment(table) is not None or not channels:
        by_magnetometer = any(word in _written_by(table) for word in _MAGNETOMETERS)
        channels.insert(0 if by_magnetometer else len(channels), None)
    curves: list[Measurement] = []
    failures: list[MeasurementFileError] = []
    for channel in channels:
        try:
            curves.append(_curve(table, source, channel, encoding))
        except MeasurementFileError as failure:  # a channel may be used in no complete row
            failures.append(failure)
    if not curves:
        raise failures[0]
    return tuple(curves)


def read_bridge(data: bytes, source: str, bridge: int) -> ResistanceCurve:
    """Read the resistance of one bridge.

    Args:
        data: The file.
        source: The file's name, for messages.
        bridge: Number of the bridge or channel, from 1.

    Returns:
        The resistance curve.

    Raises:
        MeasurementFileError: If the file is damaged, or the bridge was not used.
    """
    _, encoding = decode(data)
    return cast("ResistanceCurve", _curve(read_table(data, source), source, bridge, encoding))


def read_table(data: bytes, source: str) -> QuantumDesignTable:
    """Read every column as it stands, in the units of the file.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        The table.

    Raises:
        MeasurementFileError: If the sections, the headings or a row are damaged.
    """
    text, _ = decode(data)
    lines = text.splitlines()
    marks = [i for i, line in enumerate(lines) if line.strip().lower() == "[data]"]
    if not marks or marks[0] + 1 >= len(lines):
        raise MeasurementFileError(f"{source}: no column headings follow a [Data] line")
    start = marks[0] + 1
    headings = next(csv.reader([lines[start]]))
    rows: list[list[float]] = []
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if line.strip(" ,\t"):
            rows.append(_row(next(csv.reader([line])), len(headings), f"{source}: line {number}"))
    if not rows:
        raise MeasurementFileError(f"{source}: no row of numbers follows the headings")
    table = np.array(rows)
    over = np.abs(table) >= OVERFLOW
    table[over] = np.nan
    columns: list[Column] = []
    unused: list[tuple[str, str]] = []
    for index, heading in enumerate(headings):
        parts = _HEADING.match(heading.strip())
        values = table[:, index]
        if not parts or not parts["name"]:
            continue
        name, unit = parts["name"].strip(), (parts["unit"] or "").strip()
        if np.isfinite(values).any():
            columns.append(Column(name, unit, values))
        else:
            unused.append((name, unit))
    header = tuple(tuple(part.strip() for part in line.split(",")) for line in lines[: start - 1])
    return QuantumDesignTable(tuple(columns), header, int(over.sum()), tuple(unused))


def _row(fields: list[str], width: int, place: str) -> list[float]:
    """Return `width` numbers, nan for what is missing or is a comment in the first column.

    Raises:
        MeasurementFileError: If there are more values than headings, or one is no number.
    """
    if any(field.strip() for field in fields[width:]):
        raise MeasurementFileError(f"{place} has {len(fields)} values for {width} headings")
    numbers = [math.nan] * width
    for index, field in enumerate(fields[:width]):
        if not field.strip():
            continue
        try:
            numbers[index] = float(field)
        except ValueError:
            if index > 0:  # the first column is the operator's comment
                message = f"{place}: {field.strip()[:40]!r} is no number"
                raise MeasurementFileError(message) from None
    return [number if math.isfinite(number) else math.nan for number in numbers]


def _curve(
    table: QuantumDesignTable, source: str, bridge: int | None, encoding: str
) -> Measurement:
    bridges = _bridges(table.columns)
    if bridge is not None and bridge not in bridges:
        raise MeasurementFileError(
            f"{source}: no resistance of bridge {bridge}; measured: {sorted(bridges) or 'none'}"
        )
    column = _required_moment(table, source) if bridge is None else bridges[bridge]
    temperature = _find(table, _TEMPERATURES, {"k": 1.0, "kelvin": 1.0}, source)
    field = _find(table, _FIELDS, _TO_TESLA, source)
    good = np.isfinite(temperature) & np.isfinite(field) & np.isfinite(column.values)
    good &= np.where(np.isfinite(temperature), temperature, 0.0) > 0.0
    if not good.any():
        raise MeasurementFileError(f"{source}: no row has temperature, field and {column.name}")
    flags = _row_flags(table, good)
    provenance = {"file": source, "format": NAME, "encoding": encoding, "column": column.name}
    provenance["part"] = "moment" if bridge is None else f"bridge {bridge}"
    provenance.update(_header_facts(table))
    moments, doubt = row_times(table, good)
    provenance.update(moments)
    flags += doubt
    if bridge is None:
        moment = MagnetisationCurve(
            temperature_k=temperature[good],
            field_t=field[good],
            moment_a_m2=column.values[good] * _scale(column, _TO_A_M2, source),
            flags=tuple(flags),
            provenance=provenance,
        )
        return cast("Measurement", moment)
    bar = _resistance_scale(table, column, bridge, source)
    flags += bar.flags
    low, high = float(field[good].min()), float(field[good].max())
    if high - low > _STEADY_T:
        message = f"the field runs from {low:.4g} T to {high:.4g} T; its median is given"
        flags.append(QualityFlag(code="field_varies", message=message))
    resistance = ResistanceCurve(
        temperature_k=temperature[good],
        resistance_ohm=column.values[good] * bar.scale,
        field_t=float(np.median(field[good])),
        current_a=_current(table, bridge, good),
        contact_distance_m=bar.length_m,
        cross_section_m2=bar.area_m2,
        flags=tuple(flags),
        provenance=provenance,
    )
    return cast("Measurement", resistance)


class _Bar(NamedTuple):
    scale: float
    length_m: float | None = None
    area_m2: float | None = None
    flags: tuple[QualityFlag, ...] = ()


def _resistance_scale(table: QuantumDesignTable, column: Column, bridge: int, source: str) -> _Bar:
    """Return what turns a column into ohm: of a resistivity, by way of the sample's geometry."""
    per_metre = _TO_OHM_M.get(column.unit.lower().replace(" ", "-"))
    if per_metre is None:
        return _Bar(_scale(column, _TO_OHM, source))
    # AC Transport states lead separation in cm and cross section in cm²; its own voltages agree
    length = _fact(table, f"SAMPLE{bridge}_LEAD_SEPARATION")
    area = _fact(table, f"SAMPLE{bridge}_CROSS_SECTION")
    if length and area:
        length_m, area_m2 = length * 1e-2, area * 1e-4
        return _Bar(per_metre * length_m / area_m2, length_m, area_m2)
    message = (
        f"{column.name} is a resistivity in {column.unit}; it is given as the resistance of a bar "
        "of 1 m and 1 m²"
    )
    return _Bar(per_metre, 1.0, 1.0, (QualityFlag(code="resistivity", message=message),))


def _fact(table: QuantumDesignTable, name: str) -> float | None:
    for line in table.header:
        if len(line) >= 3 and line[0].upper() == "INFO" and line[-1].upper() == name:
            value = number_or_none(line[1])
            return value if value is not None and value > 0.0 else None
    return None


def _bridges(columns: Sequence[Column]) -> dict[int, Column]:
    found: dict[int, Column] = {}
    for pattern in (_BRIDGE, _RESISTIVITY):
        for column in columns:
            match = pattern.match(column.name)
            if match and column.unit.lower().replace(" ", "-") in {**_TO_OHM, **_TO_OHM_M}:
                found.setdefault(int(next((g for g in match.groups() if g), 1)), column)
    return found


def _moment(table: QuantumDesignTable) -> Column | None:
    named = {column.name.lower(): column for column in table.columns}
    alternating = "frequency" in named and "amplitude" in named
    for name in _MOMENTS:
        if name in named and not (name == "moment" and alternating):
            return named[name]
    return None


def _required_moment(table: QuantumDesignTable, source: str) -> Column:
    column = _moment(table)
    if column is not None:
        return column
    what = ", ".join(column.name for column in table.columns[:12])
    raise MeasurementFileError(
        f"{source}: neither a resistance in ohm nor a static moment in emu; its columns: {what}"
    )


def _written_by(table: QuantumDesignTable) -> str:
    return next(
        (" ".join(line[1:]).lower() for line in table.header if line[0].lower() == "byapp"), ""
    )


def row_times(
    table: QuantumDesignTable, good: NDArray[np.bool_] | None = None
) -> tuple[dict[str, str], list[QualityFlag]]:
    """Return when the rows were measured, in the local time of the instrument, whose zone is open.

    Args:
        table: The file.
        good: Which rows count, shape (rows,); all if none.

    Returns:
        "started_local" and "ended_local" as ISO 8601 without offset, or nothing where the file
        does not tell; and a flag if month and day could be the other way round.
    """
    opened = next((line for line in table.header if line[0].lower() == "fileopentime"), ())
    stamp = number_or_none(opened[1]) if len(opened) > 2 else None
    moment = moment_of(" ".join(part for part in opened[2:] if part))
    column = next((c for c in table.columns if c.name.lower() == "time stamp"), None)
    if moment is None:
        return {}, []
    facts, start = {"started_local": moment.text}, datetime.fromisoformat(moment.text)
    if column is not None and stamp is not None:
        stamps = column.values if good is None else column.values[good]
        seconds = stamps[np.isfinite(stamps)]
        # a file that was appended to later, or merged, has stamps of another count: then not told
        if seconds.size and seconds.min() >= stamp and seconds.max() < stamp + 3e8:
            for name, value in (("started_local", seconds.min()), ("ended_local", seconds.max())):
                at = start + timedelta(seconds=float(value - stamp))
                facts[name] = at.isoformat(timespec="seconds")
    return facts, order_flags(moment)


def _find(
    table: QuantumDesignTable, names: Sequence[str], units: dict[str, float], source: str
) -> Floats:
    for column in table.columns:
        if column.name.lower() in names:
            return column.values * _scale(column, units, source)
    raise MeasurementFileError(f"{source}: no column {names[0]!r} with numbers")


def _scale(column: Column, units: dict[str, float], source: str) -> float:
    if column.unit.lower() not in units:
        raise MeasurementFileError(
            f"{source}: {column.name} is in {column.unit or 'no unit'!r}; readable are "
            f"{', '.join(units)}"
        )
    return units[column.unit.lower()]


def _row_flags(table: QuantumDesignTable, good: NDArray[np.bool_]) -> list[QualityFlag]:
    flags: list[QualityFlag] = []
    if not good.all():
        message = f"{int((~good).sum())} of {good.size} rows lack the quantity and are left out"
        flags.append(QualityFlag(code="rows_skipped", message=message))
    if table.overflowed:
        message = f"{table.overflowed} entries bear an overflow mark and count as missing"
        flags.append(QualityFlag(code="overflow", message=message))
    return flags


def _current(table: QuantumDesignTable, bridge: int, good: NDArray[np.bool_]) -> float | None:
    for column in table.columns:
        if column.name.lower() in {f"bridge {bridge} excitation", "excitation"}:
            scale = _TO_AMPERE.get(column.unit.lower())
            values = column.values[good]
            if scale is not None and np.isfinite(values).any():
                return float(np.nanmedian(values)) * scale
    return None


def _header_facts(table: QuantumDesignTable) -> dict[str, str]:
    facts: dict[str, str] = {}
    for line in table.header:
        key = line[0].lower()
        if key in {"title", "byapp"} and any(line[1:]):
            facts[key] = ", ".join(part for part in line[1:] if part)
        elif key == "fileopentime":  # local time of an unknown zone, so no time of measurement
            facts["opened_local_time"] = " ".join(line[2:])
    return facts
