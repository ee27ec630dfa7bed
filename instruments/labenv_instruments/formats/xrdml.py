"""PANalytical XRDML 1.0 to 2.3: a measured scan with its wavelengths, times and goniometer.

Source:
    The schemas' own names as they stand in files of versions 1.5, 2.0, 2.1 and 2.3: counts were
    called ``intensities`` up to 1.5.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import TYPE_CHECKING, cast
from xml.etree import ElementTree

import numpy as np

from labenv_schemas.decoding import decode
from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import (
    Diffractogram,
    InstrumentIdentity,
    Measurement,
    QualityFlag,
    Radiation,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

    from numpy.typing import NDArray

NAME = "PANalytical XRDML"
_LENGTHS_M = {"mm": 1e-3, "m": 1.0, "cm": 1e-2}
_SLIT_LENGTHS = ("height", "distanceToSample")
_POWDER_AXES = {"gonio", "2theta", "2theta-omega", "omega-2theta", "theta-theta"}


def matches(data: bytes) -> bool:
    """Return whether the bytes are an XRDML document."""
    head = data[:4000].replace(b"\x00", b"")
    return b"<xrdMeasurements" in head


def read(data: bytes, source: str) -> Measurement:
    """Read the first complete scan of an XRDML file.

    Args:
        data: The file.
        source: The file's name, for messages.

    Returns:
        The diffractogram. Counts are corrected for the beam attenuator where the file names its
        factors.

    Raises:
        MeasurementFileError: If the XML is damaged, or holds no scan with angles and counts.
    """
    text, encoding = decode(data)
    if "<!DOCTYPE" in text[:4000] or "<!ENTITY" in text:
        raise MeasurementFileError(f"{source}: XRDML with its own entities is refused")
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as cause:
        raise MeasurementFileError(f"{source}: damaged XML, {cause}") from cause
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    scans = [(m, s) for m in root.iter("xrdMeasurement") for s in m.iter("scan")]
    if not scans:
        raise MeasurementFileError(f"{source}: the XRDML file holds no scan")
    sample_id = (root.findtext("sample/id") or "").strip() or None
    measurement, scan = next(((m, s) for m, s in scans if s.get("status") == "Completed"), scans[0])
    flags = list(_flags(scans, scan, encoding))
    result = _diffractogram(measurement, scan, source, (flags, encoding))
    return cast("Measurement", result.model_copy(update={"sample_id": sample_id}))


def _flags(
    scans: list[tuple[Element, Element]], scan: Element, encoding: str
) -> Iterator[QualityFlag]:
    if len(scans) > 1:
        yield QualityFlag(
            code="several_scans", message=f"the file holds {len(scans)} scans; one was read"
        )
    if scan.get("status", "Completed") != "Completed":
        yield QualityFlag(code="scan_incomplete", message=f"scan status is {scan.get('status')}")
    axis = scan.get("scanAxis", "Gonio")
    if axis.lower() not in _POWDER_AXES:
        yield QualityFlag(code="unusual_axis", message=f"the scan axis is {axis}")
    if encoding not in {"utf-8", "utf-8-sig", "utf-16"}:
        yield QualityFlag(code="encoding", message=f"the file was read as {encoding}")


def _diffractogram(
    measurement: Element, scan: Element, source: str, notes: tuple[list[QualityFlag], str]
) -> Diffractogram:
    flags, encoding = notes
    points = scan.find("dataPoints")
    if points is None:
        raise MeasurementFileError(f"{source}: the scan has no dataPoints")
    raw = points.find("counts")
    raw = points.find("intensities") if raw is None else raw
    if raw is None:
        raise MeasurementFileError(f"{source}: the scan has neither counts nor intensities")
    counts = _numbers(raw, source)
    if counts.size < 2:
        raise MeasurementFileError(f"{source}: the scan has {counts.size} points")
    attenuation = points.find("beamAttenuationFactors")
    if attenuation is not None and raw.tag == "counts":
        factors = _numbers(attenuation, source)
        if factors.size == counts.size:
            counts = counts * factors
    unit = "counts_per_second" if (raw.get("unit") or "counts") == "cps" else "counts"
    angles = _angles(points, counts.size, source)
    order = slice(None) if angles[-1] >= angles[0] else slice(None, None, -1)
    start = scan.findtext("header/startTimeStamp")
    provenance = {"file": source, "format": NAME, "encoding": encoding}
    beam_height_m = _beam_height_m(measurement)
    if beam_height_m is not None:
        provenance["beam_height_m"] = f"{beam_height_m:.6f}"
    return Diffractogram(
        two_theta_deg=angles[order],
        counts=counts[order],
        intensity_unit=unit,
        counting_time_s=_counting_time(points, source),
        radiation=_radiation(measurement, source),
        goniometer_radius_m=_length_m(measurement.find("diffractedBeamPath/radius")),
        instrument=_identity(measurement, scan),
        measured_at=_moment(start),
        flags=tuple(flags),
        provenance=provenance,
    )


def _numbers(element: Element, source: str) -> NDArray[np.float64]:
    words = (element.text or "").split()
    try:
        values = np.array(words, dtype=np.float64)
    except ValueError:
        values = np.array([_finite(word) for word in words])
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise MeasurementFileError(
            f"{source}: value {bad + 1} of <{element.tag}> is {words[bad]!r}, not a number; write "
            "there what its neighbours suggest, or export the scan again"
        )
    return values


def _finite(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan


def _angles(points: Element, count: int, source: str) -> NDArray[np.float64]:
    for positions in points.findall("positions"):
        if (positions.get("axis") or "").lower() != "2theta":
            continue
        listed = positions.find("listPositions")
        if listed is not None:
            angles = _numbers(listed, source)
            if angles.size != count:
                raise MeasurementFileError(f"{source}: {angles.size} angles for {count} counts")
            return angles
        ends = [positions.findtext(f"{end}Position") for end in ("start", "end")]
        if None not in ends:
            first, last = (float(str(end)) for end in ends)
            return np.linspace(first, last, count)
    raise MeasurementFileError(f"{source}: the scan has no 2Theta positions; it is no 2θ scan")


def _counting_time(points: Element, source: str) -> float | None:
    common = points.findtext("commonCountingTime")
    if common is not None:
        return float(common)
    listed = points.find("countingTimes")
    if listed is None:
        return None
    return float(np.mean(_numbers(listed, source)))


def _radiation(measurement: Element, source: str) -> Radiation:
    used = measurement.find("usedWavelength")
    anode = measurement.findtext("incidentBeamPath/xRayTube/anodeMaterial")
    first = None if used is None else used.findtext("kAlpha1")
    if used is None or first is None:
        raise MeasurementFileError(f"{source}: the file states no wavelength")
    second, ratio = used.findtext("kAlpha2"), used.findtext("ratioKAlpha2KAlpha1")
    ratio_value = 0.5 if ratio is None else float(ratio)
    mono = second is None or ratio_value == 0.0
    return Radiation(
        k_alpha1_a=float(first),
        k_alpha2_a=None if mono else float(str(second)),
        k_alpha2_ratio=0.0 if mono else ratio_value,
        anode=anode,
    )


def _beam_height_m(measurement: Element) -> float | None:
    """Return the height of the beam at the sample, from a fixed divergence slit's own numbers."""
    path = measurement.find("incidentBeamPath")
    slit = None if path is None else path.find("divergenceSlit")
    if path is None or slit is None:
        return None
    lengths = (_length_m(path.find("radius")), *map(_length_m, map(slit.find, _SLIT_LENGTHS)))
    radius_m, height_m, distance_m = lengths
    if radius_m is None or height_m is None or not distance_m:
        return None
    return height_m * radius_m / distance_m


def _length_m(element: Element | None) -> float | None:
    if element is None or not element.text:
        return None
    return float(element.text) * _LENGTHS_M.get(element.get("unit") or "mm", 1e-3)


def _identity(measurement: Element, scan: Element) -> InstrumentIdentity:
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


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip()) if text else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None
