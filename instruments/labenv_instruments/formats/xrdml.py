"""PANalytical XRDML 1.0 to 2.3: every scan with its wavelengths, times and goniometer.

Source:
    The schemas' own names as they stand in files of versions 1.5, 2.0, 2.1, 2.2 and 2.3. Up to 1.5
    the numbers are called ``intensities`` and bear the beam attenuator's factors already; later
    they are the detector's own ``counts``, to be multiplied by ``beamAttenuationFactors``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.formats.containers import (
    number_or_none,
    numbers_in,
    parse_xml,
    required_number,
)
from labenv_instruments.formats.scans import TWO_THETA, XrayScan, radiation_of, to_measurement
from labenv_instruments.formats.times import moment_of
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import InstrumentIdentity, Measurement, QualityFlag, Radiation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

    from numpy.typing import NDArray

NAME = "PANalytical XRDML"
_ANGSTROMS = {"Angstrom": 1.0, "A": 1.0, "\u00c5": 1.0, "nm": 10.0, "pm": 0.01}
_SECONDS = {"seconds": 1.0, "s": 1.0, "milliseconds": 1e-3, "ms": 1e-3, "minutes": 60.0}
_LENGTHS_M = {"mm": 1e-3, "m": 1.0, "cm": 1e-2}
_SLIT_LENGTHS = ("height", "distanceToSample")
_POWDER_AXES = {"gonio", "2theta", "2theta-omega", "omega-2theta", "theta-theta"}


def matches(data: bytes) -> bool:
    """Return whether the bytes are an XRDML document."""
    head = data[:4000].replace(b"\x00", b"")
    return b"<xrdMeasurements" in head


def read(data: bytes, source: str) -> tuple[Measurement, ...]:
    """Read every scan of an XRDML file.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        Diffractograms, or spectra where another axis than 2θ was moved. Counts are corrected for
        the beam attenuator where the file names its factors. Scans without any point, such as
        those that never began, are left out and named in a flag of the others.

    Raises:
        MeasurementFileError: If the XML is damaged, or holds no scan with angles and counts.
    """
    root, encoding = parse_xml(data, source)
    pairs = [(m, s) for m in root.iter("xrdMeasurement") for s in m.iter("scan")]
    if not pairs:
        raise MeasurementFileError(f"{source}: the XRDML file holds no scan")
    provenance = {"file": source, "format": NAME, "encoding": encoding}
    version = re.search(rb"XRDMeasurement/(\d+\.\d+)", data[:4000].replace(b"\x00", b""))
    if version:
        provenance["format_version"] = version[1].decode()
    sample_id = (root.findtext("sample/id") or "").strip() or None
    empty = [number for number, (_, scan) in enumerate(pairs, 1) if _is_empty(scan)]
    if len(empty) == len(pairs):
        raise MeasurementFileError(f"{source}: the scan has 0 points; measure it again")
    found: list[Measurement] = []
    for number, (measurement, element) in enumerate(pairs, 1):
        if number in empty:
            continue
        place = source if len(pairs) == 1 else f"{source}: scan {number}"
        scan = _scan(measurement, element, place)
        scan.part, scan.sample_id = f"scan {number}", sample_id
        scan.flags += _flags(element, encoding)
        if empty:
            message = f"scans {empty} of {len(pairs)} hold no point and are left out"
            scan.flags.append(QualityFlag(code="scans_empty", message=message))
        found.append(to_measurement(scan, provenance))
    return tuple(found)


def _is_empty(scan: Element) -> bool:
    points = scan.find("dataPoints")
    raw = None if points is None else _raw(points)
    return raw is not None and not (raw.text or "").split()


def _raw(points: Element) -> Element | None:
    for name in ("counts", "intensities"):
        raw = points.find(name)
        if raw is not None:
            return raw
    return None


def _flags(scan: Element, encoding: str) -> Iterator[QualityFlag]:
    if scan.get("status", "Completed") != "Completed":
        yield QualityFlag(code="scan_incomplete", message=f"scan status is {scan.get('status')}")
    axis = scan.get("scanAxis", "Gonio")
    if axis.lower() not in _POWDER_AXES:
        yield QualityFlag(code="unusual_axis", message=f"the scan axis is {axis}")
    if encoding not in {"utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"}:
        yield QualityFlag(code="encoding", message=f"the file was read as {encoding}")


def _scan(measurement: Element, scan: Element, source: str) -> XrayScan:
    points = scan.find("dataPoints")
    if points is None:
        raise MeasurementFileError(f"{source}: the scan has no dataPoints")
    raw = _raw(points)
    if raw is None:
        raise MeasurementFileError(f"{source}: the scan has neither counts nor intensities")
    counts = numbers_in(raw, source)
    if counts.size < 2:
        raise MeasurementFileError(f"{source}: the scan has {counts.size} points")
    flags: list[QualityFlag] = []
    if raw.tag == "counts":
        counts = counts * _attenuation(points, counts.size, source)
        if points.find("divergenceCorrections") is not None:
            message = "the file's divergence corrections were not applied; these are counts"
            flags.append(QualityFlag(code="divergence_uncorrected", message=message))
    axis, unit, positions = _positions(points, scan, counts.size, source)
    counting_time_s, more = _counting_time(points, counts.size, source)
    facts = dict(_facts(measurement, scan, source))
    return XrayScan(
        positions=positions,
        intensity=counts,
        axis=axis,
        axis_unit=unit,
        intensity_unit="counts_per_second" if raw.get("unit") == "cps" else "counts",
        counting_time_s=counting_time_s,
        radiation=_radiation(measurement, source),
        started=moment_of(scan.findtext("header/startTimeStamp")),
        instrument=_identity(scan),
        goniometer_radius_m=_length_m(measurement.find("diffractedBeamPath/radius"), source),
        flags=flags + more,
        facts=facts,
    )


def _attenuation(points: Element, count: int, source: str) -> NDArray[np.float64] | float:
    listed = points.find("beamAttenuationFactors")
    if listed is None:
        common = points.findtext("commonBeamAttenuationFactor")
        return 1.0 if common is None else required_number(common, "the attenuation factor", source)
    factors = numbers_in(listed, source)
    if factors.size != count:
        raise MeasurementFileError(
            f"{source}: {factors.size} attenuation factors for {count} counts; export it again"
        )
    return factors


def _positions(
    points: Element, scan: Element, count: int, source: str
) -> tuple[str, str, NDArray[np.float64]]:
    """Return name, unit and positions of the axis that was moved: 2θ, or what the scan names.

    Args:
        points: The dataPoints element.
        scan: The scan element.
        count: How many counts there are.
        source: Where they stand.

    Returns:
        Name, unit and positions.

    Raises:
        MeasurementFileError: If no axis was moved.
    """
    wanted = scan.get("scanAxis", "Gonio")
    order = [] if wanted.lower() in _POWDER_AXES else [wanted.lower()]
    for name in (*order, "2theta"):
        for element in points.findall("positions"):
            axis = element.get("axis") or ""
            if axis.lower() != name:
                continue
            values = _values(element, axis, count, source)
            if values is not None:
                known = TWO_THETA if name == "2theta" else axis
                unit = element.get("unit") or "deg"
                if unit == "rad":
                    unit, values = "deg", np.degrees(values)
                return known, unit, values
    raise MeasurementFileError(
        f"{source}: the scan has no 2Theta positions; it is no 2θ scan (its axis is {wanted})"
    )


def _values(element: Element, axis: str, count: int, source: str) -> NDArray[np.float64] | None:
    listed = element.find("listPositions")
    if listed is not None:
        angles = numbers_in(listed, source)
        if angles.size != count:
            raise MeasurementFileError(f"{source}: {angles.size} angles for {count} counts")
        return angles
    first, last = (element.findtext(f"{end}Position") for end in ("start", "end"))
    if first is None or last is None:
        return None
    what = f"an end of the {axis} axis"
    start, end = (required_number(text, what, source) for text in (first, last))
    return np.linspace(start, end, count)


def _counting_time(
    points: Element, count: int, source: str
) -> tuple[float | None, list[QualityFlag]]:
    common = points.find("commonCountingTime")
    if common is not None:
        required_number(common.text or "", "the counting time", source)
        return _scaled(common, _SECONDS, source), []
    listed = points.find("countingTimes")
    if listed is None:
        return None, []
    times = numbers_in(listed, source)
    if times.size != count:
        raise MeasurementFileError(f"{source}: {times.size} counting times for {count} counts")
    mean = float(np.mean(times))
    if float(np.ptp(times)) <= 1e-6 * abs(mean):
        return mean, []
    message = (
        f"the counting times run from {times.min():g} s to {times.max():g} s; their mean is given, "
        "and the counts are as counted"
    )
    return mean, [QualityFlag(code="counting_time_varies", message=message)]


def _scaled(element: Element | None, units: dict[str, float], source: str) -> float | None:
    """Return an element's number in our unit; None where there is none.

    Raises:
        MeasurementFileError: If its unit is not known.
    """
    if element is None:
        return None
    value, unit = number_or_none(element.text), element.get("unit") or next(iter(units))
    if unit not in units:
        raise MeasurementFileError(
            f"{source}: <{element.tag}> is in {unit!r}; known units are {', '.join(units)}"
        )
    return None if value is None else value * units[unit]


def _radiation(measurement: Element, source: str) -> Radiation | None:
    anode = measurement.findtext("incidentBeamPath/xRayTube/anodeMaterial")
    used = measurement.find("usedWavelength")
    if used is None:
        return radiation_of(None, anode=anode)
    named = ("kAlpha1", "kAlpha2", "kBeta", "ratioKAlpha2KAlpha1")
    one, two, beta = (_scaled(used.find(name), _ANGSTROMS, source) for name in named[:3])
    ratio = number_or_none(used.findtext(named[3]))
    if (used.get("intended") or "").replace("-", "").lower() == "kbeta" and beta:
        one, two = beta, None
    if not one:
        raise MeasurementFileError(f"{source}: the file states no wavelength")
    return radiation_of(one, two, ratio, anode)


def _facts(measurement: Element, scan: Element, source: str) -> Iterator[tuple[str, str]]:
    yield "scan_axis", scan.get("scanAxis", "Gonio")
    height = _beam_height_m(measurement, source)
    if height is not None:
        yield "beam_height_m", f"{height:.6f}"
    for name, path in (("tube_voltage_kv", "tension"), ("tube_current_ma", "current")):
        value = number_or_none(measurement.findtext(f"incidentBeamPath/xRayTube/{path}"))
        if value is not None:
            yield name, f"{value:g}"
    intended = measurement.find("usedWavelength")
    if intended is not None and intended.get("intended"):
        yield "wavelength_intended", str(intended.get("intended"))
    for outside in (
        *scan.findall("nonAmbientPoints"),
        *scan.findall("dataPoints/nonAmbientPoints"),
    ):
        values = outside.find("nonAmbientValues")
        if values is not None and (values.text or "").split():
            numbers = numbers_in(values, source)
            what = (outside.get("type") or "condition").lower().replace(" ", "_")
            unit = (
                values.get("unit") or outside.get("unit") or ("K" if what == "temperature" else "")
            )
            yield f"{what}_mean", f"{numbers.mean():.6g} {unit}".strip()
            yield f"{what}_range", f"{numbers.min():.6g} to {numbers.max():.6g} {unit}".strip()


def _beam_height_m(measurement: Element, source: str) -> float | None:
    """Return the height of the beam at the sample, from a fixed divergence slit's own numbers."""
    path = measurement.find("incidentBeamPath")
    slit = None if path is None else path.find("divergenceSlit")
    if path is None or slit is None:
        return None
    elements = (path.find("radius"), *map(slit.find, _SLIT_LENGTHS))
    radius_m, height_m, distance_m = (_length_m(element, source) for element in elements)
    if radius_m is None or height_m is None or not distance_m:
        return None
    return height_m * radius_m / distance_m


def _length_m(element: Element | None, source: str) -> float | None:
    if element is None or not (element.text or "").strip():
        return None
    length = required_number(element.text, f"<{element.tag}>", source)
    return length * _LENGTHS_M.get(element.get("unit") or "mm", 1e-3)


def _identity(scan: Element) -> InstrumentIdentity:
    header = scan.find("header/source")
    software = None if header is None else header.find("instrumentControlSoftware")
    model = (software.text if software is not None else None) or "PANalytical diffractometer"
    serial = (header.findtext("instrumentID") if header is not None else None) or "unknown"
    version = (software.get("version") if software is not None else None) or "unknown"
    return InstrumentIdentity(
        station="file",
        model=model.strip(),
        serial=serial.strip(),
        driver="xrdml",
        driver_version=version,
        simulated=False,
    )
