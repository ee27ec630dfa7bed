"""What a measurement file holds, told in plain data: scans, axes, light, times and channels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv_instruments.formats import quantum_design
from labenv_instruments.formats.reading import Recognised, read_all, recognise
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import (
    Diffractogram,
    MagnetisationCurve,
    Measurement,
    QualityFlag,
    ResistanceCurve,
    Spectrum,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

_OFFSET = re.compile(r"(Z|[+-]\d\d:\d\d)$")
_SI = {
    "oe": ("T", 1e-4), "koe": ("T", 0.1), "g": ("T", 1e-4), "gauss": ("T", 1e-4),
    "t": ("T", 1.0), "tesla": ("T", 1.0), "k": ("K", 1.0), "kelvin": ("K", 1.0),
    "emu": ("A m2", 1e-3), "ohm": ("ohm", 1.0), "ohms": ("ohm", 1.0), "mohm": ("ohm", 1e-3),
    "ohm-m": ("ohm m", 1.0), "ohm-cm": ("ohm m", 1e-2), "ua": ("A", 1e-6), "ma": ("A", 1e-3),
    "sec": ("s", 1.0), "v": ("V", 1.0), "hz": ("Hz", 1.0), "deg": ("deg", 1.0),
}  # fmt: skip


def inspect_file(path: str | Path) -> dict[str, Any]:
    """Say what a measurement file holds.

    Args:
        path: The file; its name and ending do not matter.

    Returns:
        Plain data without non-finite numbers: format, kind and every scan with its number of
        points, axis, wavelengths, counting time, timestamp and channels, and the warnings. What
        the file does not state is None.

    Raises:
        MeasurementFileError: If the file cannot be read.
    """
    file = recognise(path)
    table = None
    if file.format_id == "quantum_design":
        table = quantum_design.read_table(file.data, file.source)
    try:
        measurements = read_all(file)
    except MeasurementFileError as cause:
        if table is None:
            raise
        return _only_columns(file, table, str(cause))
    scans = [_scan(measurement) for measurement in measurements]
    provenance = measurements[0].provenance
    told: dict[str, Any] = {
        "file": str(path),
        "format": file.reader.NAME,
        "format_id": file.format_id,
        "format_version": provenance.get("format_version"),
        "encoding": provenance.get("encoding"),
        "kind": measurements[0].kind,
        "number_of_scans": len(scans),
        "points": [scan["points"] for scan in scans],
        "scans": scans,
    }
    if table is not None:
        told["rows"] = _rows(table)
        told["channels"] = _columns(table)
        told["channels_without_values"] = [
            {"name": name, "file_unit": unit} for name, unit in table.unused
        ]
    told["warnings"] = _warnings(scans)
    return told


def _only_columns(
    file: Recognised, table: quantum_design.QuantumDesignTable, why: str
) -> dict[str, Any]:
    """Return what a table holds that has neither a resistance nor a static moment."""
    facts, flags = quantum_design.row_times(table)
    warnings = [why.removeprefix(f"{file.source}: "), *(flag.message for flag in flags)]
    stamp, warned = _timestamp(facts, None)
    warnings += warned
    axis = next((c for c in table.columns if c.name.lower() == "time stamp"), table.columns[0])
    scan: dict[str, Any] = {
        "name": "table",
        "kind": "table",
        "points": _rows(table),
        "axis": _axis(axis.name, axis.unit or "1", axis.values[np.isfinite(axis.values)]),
        "wavelengths": None,
        "counting_time_s": None,
        **stamp,
        "channels": _columns(table),
        "warnings": warnings,
    }
    return {
        "file": file.source,
        "format": file.reader.NAME,
        "format_id": file.format_id,
        "format_version": None,
        "encoding": None,
        "kind": "table",
        "number_of_scans": 1,
        "points": [_rows(table)],
        "scans": [scan],
        "rows": _rows(table),
        "channels": _columns(table),
        "warnings": warnings,
    }


def _scan(measurement: Measurement) -> dict[str, Any]:
    facts = measurement.provenance
    stamp, warnings = _timestamp(facts, measurement.measured_at)
    told: dict[str, Any] = {"name": facts.get("part", "scan 1"), "kind": measurement.kind}
    told |= _numbers(measurement)
    told |= stamp
    told["sample_id"] = measurement.sample_id
    told["instrument"] = measurement.instrument.model if measurement.instrument else None
    left_out = {"file", "format", "format_version", "encoding", "part", "axis", "started",
                "started_local", "ended_local"}  # fmt: skip
    told["conditions"] = {key: value for key, value in facts.items() if key not in left_out}
    told["warnings"] = [*(flag.message for flag in measurement.flags), *warnings]
    return told


def _numbers(measurement: Measurement) -> dict[str, Any]:
    if isinstance(measurement, Diffractogram):
        return _diffractogram(measurement)
    if isinstance(measurement, Spectrum):
        facts = measurement.provenance
        seconds = facts.get("counting_time_s")
        return {
            "points": measurement.axis.size,
            "axis": _axis(facts.get("axis", "axis"), measurement.axis_unit, measurement.axis),
            "wavelengths": _stated_light(facts),
            "counting_time_s": None if seconds is None else float(seconds),
            "channels": [_channel("intensity", measurement.intensity_unit, measurement.intensity)],
        }
    if isinstance(measurement, ResistanceCurve):
        pairs = [("resistance", "ohm", measurement.resistance_ohm)]
        temperature = measurement.temperature_k
    elif isinstance(measurement, MagnetisationCurve):
        pairs = [
            ("magnetic field", "T", measurement.field_t),
            ("moment", "A m2", measurement.moment_a_m2),
        ]
        temperature = measurement.temperature_k
    else:
        return {"points": None, "axis": None, "wavelengths": None, "counting_time_s": None,
                "channels": []}  # fmt: skip
    return {
        "points": temperature.size,
        "axis": _axis("temperature", "K", temperature),
        "wavelengths": None,
        "counting_time_s": None,
        "channels": [_channel("temperature", "K", temperature)]
        + [_channel(name, unit, values) for name, unit, values in pairs],
    }


def _diffractogram(scan: Diffractogram) -> dict[str, Any]:
    light = scan.radiation
    stated = not _flagged(scan.flags, "wavelength_assumed")
    return {
        "points": scan.two_theta_deg.size,
        "axis": _axis(scan.provenance.get("axis", "2Theta"), "deg", scan.two_theta_deg),
        "wavelengths": {
            "k_alpha1_angstrom": light.k_alpha1_a,
            "k_alpha2_angstrom": light.k_alpha2_a,
            "k_alpha2_ratio": None if light.k_alpha2_a is None else light.k_alpha2_ratio,
            "anode": light.anode,
        }
        if stated
        else None,
        "counting_time_s": scan.counting_time_s,
        "channels": [_channel("intensity", scan.intensity_unit, scan.counts)],
    }


def _stated_light(facts: dict[str, str]) -> dict[str, Any] | None:
    if "k_alpha1_a" not in facts:
        return None
    numbers = {
        name: float(facts[key]) if key in facts else None
        for name, key in (
            ("k_alpha1_angstrom", "k_alpha1_a"),
            ("k_alpha2_angstrom", "k_alpha2_a"),
            ("k_alpha2_ratio", "k_alpha2_ratio"),
        )
    }
    return {**numbers, "anode": facts.get("anode")}


def _axis(name: str, unit: str, values: NDArray[np.float64]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": name, "unit": unit, "min": None, "max": None, "step": None, "equal_steps": None,
    }  # fmt: skip
    if values.size:
        told |= {"min": float(values.min()), "max": float(values.max())}
    if values.size > 1:
        steps = np.diff(values)
        mean = float((values[-1] - values[0]) / (values.size - 1))
        # positions are written with few digits, so equal steps differ by a unit of the last
        even = bool(mean > 0 and np.abs(steps - mean).max() <= max(0.02 * mean, 1.1e-4))
        told |= {"step": float(f"{mean:.10g}") if even else None, "equal_steps": even}
    return told


def _channel(name: str, unit: str, values: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "name": name,
        "unit": unit,
        "points": int(values.size),
        "min": float(values.min()),
        "max": float(values.max()),
    }


def _rows(table: quantum_design.QuantumDesignTable) -> int:
    return int(table.columns[0].values.size) if table.columns else 0


def _columns(table: quantum_design.QuantumDesignTable) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for column in table.columns:
        values = column.values[np.isfinite(column.values)]
        unit, scale = _SI.get(column.unit.lower(), (column.unit or "1", 1.0))
        told.append({**_channel(column.name, unit, values * scale), "file_unit": column.unit})
    return told


def _timestamp(facts: dict[str, str], measured_at: Any) -> tuple[dict[str, Any], list[str]]:  # noqa: ANN401 - a time or none
    text = facts.get("started") or facts.get("started_local")
    stamp: dict[str, Any] = {
        "timestamp": text,
        "timezone": None,
        "timestamp_utc": None if measured_at is None else measured_at.isoformat(),
    }
    if "ended_local" in facts:
        stamp["timestamp_end"] = facts["ended_local"]
    zone = _OFFSET.search(text or "")
    if text is None:
        return stamp, ["the file states no time of measurement"]
    if zone is None:
        return stamp, ["the timestamp is a local time; the file does not state its zone"]
    stamp["timezone"] = "+00:00" if zone[1] == "Z" else zone[1]
    return stamp, []


def _warnings(scans: list[dict[str, Any]]) -> list[str]:
    """Return the warnings of all scans, each once, with the scan where only some have it."""
    told: dict[str, list[str]] = {}
    for scan in scans:
        for warning in scan["warnings"]:
            told.setdefault(warning, []).append(scan["name"])
    return [
        warning if len(names) == len(scans) else f"{', '.join(names[:5])}: {warning}"
        for warning, names in told.items()
    ]


def _flagged(flags: tuple[QualityFlag, ...], code: str) -> bool:
    return any(flag.code == code for flag in flags)
