"""Bruker BRML: the zip container of DIFFRAC.SUITE, one RawData document a range.

The measured data route names the columns of its ``Datum`` rows. The counting time is that of each
point over all channels of the detector (the measured time of its row, or the effective time per
step), which for a line detector is longer than the time per step of the goniometer; both are kept.

Source:
    Names of members and elements as they stand in files of DIFFRAC.MEASUREMENT CENTER 7.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv_instruments.formats.containers import (
    member_names,
    number_or_nan,
    number_or_none,
    parse_xml,
    read_members,
)
from labenv_instruments.formats.scans import (
    TWO_THETA,
    IntensityUnit,
    XrayScan,
    grid,
    identity,
    radiation_of,
    to_measurement,
)
from labenv_instruments.formats.times import moment_of
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import InstrumentIdentity, Measurement, QualityFlag, Radiation

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from numpy.typing import NDArray

NAME = "Bruker BRML"
_RAW = re.compile(r"^(?P<folder>Experiment(?P<experiment>\d+))/RawData(?P<number>\d+)\.xml$")
_UNITS: dict[str, IntensityUnit] = {"Counts": "counts", "CountsPerSecond": "counts_per_second"}


class _Columns(NamedTuple):
    axis: str
    position: int | None
    intensity: int
    time: int | None
    absorption: int | None
    unit: IntensityUnit


def matches(data: bytes) -> bool:
    """Return whether the bytes are a zip container with Bruker raw data."""
    names = member_names(data)
    return any(_RAW.match(name) for name in names) or "experimentCollection.xml" in names


def read(data: bytes, source: str) -> tuple[Measurement, ...]:
    """Read every range of a BRML file.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        Diffractograms, or spectra where another axis than 2θ was moved, in the order of measuring.

    Raises:
        MeasurementFileError: If the container is damaged, holds no range, or points are missing.
    """
    names = member_names(data)
    ranges = sorted(
        (int(m["experiment"]), int(m["number"]), m["folder"], name)
        for name in names
        if (m := _RAW.match(name))
    )
    if not ranges:
        raise MeasurementFileError(
            f"{source}: the container holds no RawData; the experiment was not measured, or its "
            "data were left out of the file. Export the scan as XY"
        )
    about = [f"{folder}/DataContainer.xml" for _, _, folder, _ in ranges]
    wanted = [name for *_, name in ranges] + [name for name in set(about) if name in names]
    members = read_members(data, wanted, source)
    found: list[Measurement] = []
    for place, (name, described) in enumerate(zip((r[3] for r in ranges), about, strict=True), 1):
        root, encoding = parse_xml(members[name], f"{source}: {name}")
        scan = _scan(root, f"{source}: {name}")
        scan.part = f"scan {place}"
        if described in members:
            device = parse_xml(members[described], f"{source}: {described}")[0]
            scan.instrument, scan.sample_id = _identity(device), _sample(device)
        provenance = {"file": source, "format": NAME, "encoding": encoding, "member": name}
        found.append(to_measurement(scan, provenance))
    return tuple(found)


def _scan(root: Element, place: str) -> XrayScan:
    route = _route(root, place)
    columns = _columns(route, place)
    table = _table(route, columns, place)
    flags = _completeness(root, route, table.shape[0], place)
    information = route.find("ScanInformation")
    intensity = table[:, columns.intensity]
    if columns.absorption is not None and not (table[:, columns.absorption] == 1.0).all():
        message = "absorption factors other than 1 are in the file; they were not multiplied in"
        flags.append(QualityFlag(code="attenuator_not_applied", message=message))
    facts: dict[str, str] = {}
    seconds: float | None = None
    if information is not None:
        facts["scan_axis"] = information.get("VisibleName") or information.get("ScanName") or ""
        per_step = number_or_none(information.findtext("TimePerStep"))
        seconds = number_or_none(information.findtext("TimePerStepEffective")) or per_step
        if per_step:
            facts["time_per_step_s"] = f"{per_step:g}"
    if columns.time is not None and table[:, columns.time].min() > 0.0:
        seconds = float(f"{np.mean(table[:, columns.time]):.12g}")
    tube = root.find("FixedInformation/Instrument")
    return XrayScan(
        positions=_positions(route, columns, table, place),
        intensity=intensity,
        axis=columns.axis,
        intensity_unit=columns.unit,
        counting_time_s=seconds,
        radiation=_light(tube),
        started=moment_of(root.findtext("TimeStampStarted")),
        goniometer_radius_m=_radius_m(tube),
        flags=flags,
        facts={**facts, **_generator(tube)},
    )


def _route(root: Element, place: str) -> Element:
    routes = [r for r in root.iterfind("DataRoutes/DataRoute") if r.find("Datum") is not None]
    if not routes:
        outside = root.find("ExtLocations")
        why = (
            "its data stand in another file of the container, which is not read"
            if outside is not None and len(outside)
            else "it holds no measured point"
        )
        raise MeasurementFileError(f"{place}: {why}; export the scan as XY from DIFFRAC.EVA")
    return next((r for r in routes if r.get("RouteFlag") == "Measured"), routes[0])


def _columns(route: Element, place: str) -> _Columns:
    axes: dict[str, int] = {}
    named: dict[str, int] = {}
    recorded: list[tuple[int, Element]] = []
    for view in route.iterfind("DataViews/RawDataView"):
        start = number_or_none(view.get("Start"))
        if start is None:
            continue
        fields = list(view.iterfind("Varying/FieldDefinitions"))
        axes |= {
            e.get("AxisId") or e.get("FieldName") or "": int(start) + i
            for i, e in enumerate(fields)
        }
        if view.find("Recording") is not None:
            recorded.append((int(start), view))
        elif view.get("LogicName"):
            named[str(view.get("LogicName"))] = int(start)
    axis = _moved_axis(route)
    position = axes.get(axis, axes.get("TwoTheta") if axis == TWO_THETA else None)
    if not recorded:
        first = next(iter(route.iterfind("Datum")))  # older files name no columns: counts come last
        width = (first.text or "").count(",") + 1
        position = 2 if axis == TWO_THETA and width >= 4 else None
        return _Columns(axis, position, width - 1, 0, 1 if width >= 4 else None, "counts")
    start, view = recorded[0]
    length = number_or_none(view.get("Length")) or 1
    if length != 1:
        raise MeasurementFileError(
            f"{place}: every point is a picture of {length:g} channels; export it as a scan"
        )
    base = view.find("Recording/Unit")
    unit = _UNITS.get((base.get("Base") if base is not None else None) or "Counts", "arbitrary")
    return _Columns(
        axis, position, start, named.get("MeasuredTime"), named.get("AbsorptionFactor"), unit
    )


def _moved_axis(route: Element) -> str:
    moved = [e.get("AxisId") or "" for e in route.iterfind("ScanInformation/ScanAxes/ScanAxisInfo")]
    if not moved or "TwoTheta" in moved:
        return TWO_THETA
    return moved[0]


def _table(route: Element, columns: _Columns, place: str) -> NDArray[np.float64]:
    rows: list[list[float]] = []
    for number, datum in enumerate(route.iterfind("Datum"), 1):
        rows.append([number_or_nan(word) for word in (datum.text or "").split(",")])
        if len(rows[-1]) != len(rows[0]) or len(rows[-1]) <= columns.intensity:
            raise MeasurementFileError(
                f"{place}: point {number} has {len(rows[-1])} numbers, the first {len(rows[0])}; "
                "the file is damaged"
            )
    return np.array(rows, dtype=np.float64)


def _positions(
    route: Element, columns: _Columns, table: NDArray[np.float64], place: str
) -> NDArray[np.float64]:
    if columns.position is not None and columns.position < table.shape[1]:
        return table[:, columns.position]
    for element in route.iterfind("ScanInformation/ScanAxes/ScanAxisInfo"):
        if (element.get("AxisId") or "") in {columns.axis, "TwoTheta"}:
            start = number_or_none(element.findtext("Start"))
            step = number_or_none(element.findtext("Increment"))
            offset = number_or_none(element.findtext("Reference")) or 0.0
            if start is not None and step:
                return grid(offset + start, step, table.shape[0])
    raise MeasurementFileError(f"{place}: no positions of the {columns.axis} axis; export it as XY")


def _completeness(root: Element, route: Element, count: int, place: str) -> list[QualityFlag]:
    planned = number_or_none(route.findtext("ScanInformation/MeasurementPoints"))
    status = (root.findtext("MeasurementStatus") or "").strip()
    done = [number_or_none(e.get("MeasuredSteps")) for e in route.iterfind("SubScans/SubScanInfo")]
    measured = sum(steps for steps in done if steps) or planned
    if measured is not None and count < measured:
        raise MeasurementFileError(
            f"{place} holds {count} points, but declares {measured:g}; the file is cut off or "
            "edited, copy it again from the instrument"
        )
    unfinished = planned is not None and count < planned
    if status in {"", "Measured", "Finished"} and not unfinished:
        return []
    of = f" of {planned:g} planned" if planned is not None else ""
    message = f"{count} points{of}; the status is {status or 'not told'}"
    return [QualityFlag(code="scan_incomplete", message=message)]


def _light(tube: Element | None) -> Radiation | None:
    if tube is None:
        return None
    tags = ("WaveLengthAlpha1", "WaveLengthAlpha2", "WaveLengthRatio")
    one, two, ratio = (_value(tube, tag) for tag in tags)
    return radiation_of(one, two, ratio, next((e.text for e in tube.iter("TubeMaterial")), None))


def _value(element: Element, tag: str) -> float | None:
    return next((number_or_none(e.get("Value")) for e in element.iter(tag)), None)


def _radius_m(tube: Element | None) -> float | None:
    track = None if tube is None else tube.find("SecondaryTracks/TrackInfoData")
    radius = None if track is None else _value(track, "Radius")
    return radius * 1e-3 if radius else None


def _generator(tube: Element | None) -> dict[str, str]:
    generator = None if tube is None else next(tube.iter("Generator"), None)
    if generator is None:
        return {}
    pairs = (("tube_voltage_kv", "Voltage"), ("tube_current_ma", "Current"))
    return {n: f"{v:g}" for n, tag in pairs if (v := _value(generator, tag)) is not None}


def _identity(device: Element) -> InstrumentIdentity:
    about = "ExperimentInfo/InstrumentDescription/"
    model = device.findtext(about + "DeviceTypeDesc") or device.findtext(about + "InstrumentName")
    serial = device.findtext(about + "SerialNo")
    return identity("bruker_brml", model, None if serial in {None, "0"} else serial)


def _sample(device: Element) -> str | None:
    information = device.find("MeasurementInfo")
    return None if information is None else (information.get("SampleName") or "").strip() or None
