"""Quantum Design PPMS and MPMS .dat files: [Header], then [Data] as comma-separated columns.

Fields in oersted, gauss or tesla become tesla, moments in emu A·m². Status columns are not judged:
their codes differ between options and versions, and an unknown one is no error. A row may end
before the headings do. An overflow mark (a magnitude of 9.9e36 or more) counts as missing.
"""

from __future__ import annotations

import csv
import math
import re
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

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
_MOMENTS = ("m-dc", "dc moment fixed ctr", "dc moment free ctr", "long moment", "moment")
_TEMPERATURES, _FIELDS = ("temperature",), ("magnetic field", "field")
_TO_TESLA = {"oe": 1e-4, "koe": 0.1, "g": 1e-4, "gauss": 1e-4, "t": 1.0, "tesla": 1.0, "mt": 1e-3}
_TO_A_M2 = {"emu": 1e-3, "a m2": 1.0, "am2": 1.0, "a m^2": 1.0, "am^2": 1.0, "a·m²": 1.0}
_TO_OHM = {"ohm": 1.0, "ohms": 1.0, "mohm": 1e-3, "mohms": 1e-3, "kohm": 1e3, "kohms": 1e3}
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
    """

    columns: tuple[Column, ...]
    header: tuple[tuple[str, ...], ...]
    overflowed: int


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


def read(data: bytes, source: str) -> Measurement:
    """Read the resistance of the first bridge in use, or else the static moment.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        A resistance or magnetisation curve in SI units, in the order of the file. Rows without the
        quantity, such as those of another measurement type, are left out and flagged; so are other
        bridges, and a field that changes in a resistance curve, of which the median is given.

    Raises:
        MeasurementFileError: If the file is damaged, or holds neither quantity.
    """
    return _curve(data, source, None)


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
    return cast("ResistanceCurve", _curve(data, source, bridge))


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
    for index, heading in enumerate(headings):
        parts = _HEADING.match(heading.strip())
        values = table[:, index]
        if parts and parts["name"] and np.isfinite(values).any():
            columns.append(Column(parts["name"].strip(), (parts["unit"] or "").strip(), values))
    header = tuple(tuple(part.strip() for part in line.split(",")) for line in lines[: start - 1])
    return QuantumDesignTable(tuple(columns), header, int(over.sum()))


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


def _curve(data: bytes, source: str, bridge: int | None) -> Measurement:
    table = read_table(data, source)
    _, encoding = decode(data)
    bridges = _bridges(table.columns)
    if bridge is not None and bridge not in bridges:
        raise MeasurementFileError(
            f"{source}: no resistance of bridge {bridge}; measured: {sorted(bridges) or 'none'}"
        )
    chosen = (min(bridges) if bridges else None) if bridge is None else bridge
    column = _moment(table, source) if chosen is None else bridges[chosen]
    temperature = _find(table, _TEMPERATURES, {"k": 1.0}, source)
    field = _find(table, _FIELDS, _TO_TESLA, source)
    scale = _scale(column, _TO_A_M2 if chosen is None else _TO_OHM, source)
    good = np.isfinite(temperature) & np.isfinite(field) & np.isfinite(column.values)
    good &= np.where(np.isfinite(temperature), temperature, 0.0) > 0.0
    if not good.any():
        raise MeasurementFileError(f"{source}: no row has temperature, field and {column.name}")
    flags = _row_flags(table, good)
    provenance = {"file": source, "format": NAME, "encoding": encoding, "column": column.name}
    provenance.update(_header_facts(table))
    if chosen is None:
        moment = MagnetisationCurve(
            temperature_k=temperature[good],
            field_t=field[good],
            moment_a_m2=column.values[good] * scale,
            flags=tuple(flags),
            provenance=provenance,
        )
        return cast("Measurement", moment)
    others = sorted(set(bridges) - {chosen})
    if bridge is None and others:
        message = f"bridge {chosen} was read; {others} also hold resistances"
        flags.append(QualityFlag(code="other_channels", message=message))
    low, high = float(field[good].min()), float(field[good].max())
    if high - low > _STEADY_T:
        message = f"the field runs from {low:.4g} T to {high:.4g} T; its median is given"
        flags.append(QualityFlag(code="field_varies", message=message))
    resistance = ResistanceCurve(
        temperature_k=temperature[good],
        resistance_ohm=column.values[good] * scale,
        field_t=float(np.median(field[good])),
        current_a=_current(table, chosen, good),
        flags=tuple(flags),
        provenance=provenance,
    )
    return cast("Measurement", resistance)


def _bridges(columns: Sequence[Column]) -> dict[int, Column]:
    found: dict[int, Column] = {}
    for column in columns:
        match = _BRIDGE.match(column.name)
        if match:
            found.setdefault(int(next((g for g in match.groups() if g), 1)), column)
    return found


def _moment(table: QuantumDesignTable, source: str) -> Column:
    named = {column.name.lower(): column for column in table.columns}
    alternating = "frequency" in named and "amplitude" in named
    for name in _MOMENTS:
        if name in named and not (name == "moment" and alternating):
            return named[name]
    what = ", ".join(column.name for column in table.columns[:12])
    raise MeasurementFileError(
        f"{source}: neither a resistance in ohm nor a static moment in emu; its columns: {what}"
    )


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
        if column.name.lower() == f"bridge {bridge} excitation":
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
