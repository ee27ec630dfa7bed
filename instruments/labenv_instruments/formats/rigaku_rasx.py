"""Rigaku RASX: the zip container of SmartLab Studio II, a profile and its conditions a scan.

Source:
    Names of members and elements as they stand in files; ``MesurementConditions`` is the maker's
    own spelling. The columns of a profile mean the same as in RAS.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.formats.containers import (
    member_names,
    number_or_nan,
    number_or_none,
    parse_xml,
    read_members,
)
from labenv_instruments.formats.rigaku_ras import (
    attenuator_flags,
    counting_time_s,
    is_two_theta,
    unit_of,
)
from labenv_instruments.formats.scans import (
    TWO_THETA,
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
    from xml.etree.ElementTree import Element

    from numpy.typing import NDArray

NAME = "Rigaku RASX"
_PROFILE = re.compile(r"^(?P<folder>Data(?P<number>\d+))/Profile\d+\.txt$", re.IGNORECASE)
_GENERATOR = "HWConfigurations/XrayGenerator/"
_GENERATOR_FACTS = {
    "WaveType": "wavelength_intended",
    "Voltage": "tube_voltage_kv",
    "Current": "tube_current_ma",
}


def matches(data: bytes) -> bool:
    """Return whether the bytes are a zip container with a Rigaku profile."""
    return any(_PROFILE.match(name) for name in member_names(data))


def read(data: bytes, source: str) -> tuple[Measurement, ...]:
    """Read every profile of a RASX file.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        Diffractograms, or spectra where another axis than 2θ was moved, by number of their folder.

    Raises:
        MeasurementFileError: If the container or a profile is damaged, or points are missing.
    """
    names = member_names(data)
    profiles = [
        (int(m["number"]), m["folder"], name) for name in names if (m := _PROFILE.match(name))
    ]
    conditions = {
        name.partition("/")[0]: name for name in names if re.search(r"Conditions\d*\.xml$", name)
    }
    wanted = [name for _, _, name in profiles] + list(conditions.values())
    members = read_members(data, wanted, source)
    found: list[Measurement] = []
    for number, (_, folder, name) in enumerate(sorted(profiles), 1):
        place = f"{source}: {name}"
        table, encoding = _table(members[name], place)
        stated = conditions.get(folder)
        root = None if stated is None else parse_xml(members[stated], f"{source}: {stated}")[0]
        scan = _scan(table, root, place)
        scan.part = f"scan {number}"
        provenance = {"file": source, "format": NAME, "encoding": encoding, "member": name}
        found.append(to_measurement(scan, provenance))
    return tuple(found)


def _table(data: bytes, place: str) -> tuple[NDArray[np.float64], str]:
    try:
        text, encoding = decode(data)
    except ValueError as cause:
        raise MeasurementFileError(f"{place} cannot be decoded, {cause}") from cause
    rows: list[tuple[float, float, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        values = [number_or_nan(word) for word in words[:3]]
        if len(values) < 2 or not np.isfinite(values).all():
            raise MeasurementFileError(
                f"{place}, line {number} is no row of numbers: {line.strip()[:60]!r}; export it "
                "again"
            )
        rows.append((values[0], values[1], values[2] if len(values) > 2 else 1.0))
    return np.array(rows, dtype=np.float64).reshape(-1, 3), encoding


def _scan(table: NDArray[np.float64], root: Element | None, place: str) -> XrayScan:
    if root is None:
        message = "the container holds no conditions of this scan: axis and unit were assumed"
        return XrayScan(
            positions=table[:, 0],
            intensity=table[:, 1],
            intensity_unit="arbitrary",
            flags=[QualityFlag(code="axis_assumed", message=message)],
        )
    said = {child.tag: (child.text or "").strip() for child in root.iterfind("ScanInformation/*")}
    declared = number_or_none(said.get("DataCount"))
    if declared is not None and declared != table.shape[0]:
        raise MeasurementFileError(
            f"{place} holds {table.shape[0]} points, but its conditions declare {declared:g}; the "
            "file is cut off or edited, export it again"
        )
    axis = said.get("AxisName", "")
    unit, flags = unit_of(said.get("IntensityUnit", "counts"), table[:, 1])
    flags += attenuator_flags(table[:, 2].tolist())
    started = moment_of(said.get("StartTime"))
    lines = (f"{_GENERATOR}WavelengthKalpha{number}" for number in (1, 2))
    one, two = (number_or_none(root.findtext(path)) for path in lines)
    step, speed = number_or_none(said.get("Step")), number_or_none(said.get("Speed"))
    facts = {"scan_axis": axis}
    for key, name in _GENERATOR_FACTS.items():
        if root.findtext(_GENERATOR + key):
            facts[name] = str(root.findtext(_GENERATOR + key)).strip()
    return XrayScan(
        positions=table[:, 0],
        intensity=table[:, 1],
        axis=TWO_THETA if not axis or is_two_theta(axis) else axis,
        axis_unit=said.get("PositionUnit") or "deg",
        intensity_unit=unit,
        counting_time_s=counting_time_s(step, speed, said.get("SpeedUnit", "")),
        radiation=radiation_of(one, two, None, root.findtext(_GENERATOR + "TargetName")),
        started=started,
        instrument=identity("rigaku_rasx", root.findtext("GeneralInformation/SystemName")),
        sample_id=(root.findtext("GeneralInformation/SampleName") or "").strip() or None,
        flags=flags + order_flags(started),
        facts=facts,
    )
