"""XRDML of version 1.5, which PANalytical's and other programs open, or 2.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from labenv_instruments.formats.writers.saying import (
    check_scan,
    equal_steps,
    is_stated,
    number,
    put,
    started,
)
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from labenv_schemas.measurement import Diffractogram

_SPACE = "http://www.xrdml.com/XRDMeasurement/"


def write_xrdml(
    scan: Diffractogram, path: str | Path, *, version: Literal["1.5", "2.1"] = "1.5"
) -> None:
    """Write a diffractogram as XRDML.

    Args:
        scan: The diffractogram; rates are multiplied by the counting time, as XRDML knows counts.
        path: Where to; an existing file is replaced.
        version: Version of the schema; from 2.0 on the intensities are called counts.

    Raises:
        ConfigError: If the intensities are no counts and cannot be made counts, or the file cannot
            be written.
    """
    check_scan(scan)
    counts = scan.counts
    if scan.intensity_unit == "counts_per_second" and scan.counting_time_s:
        counts = counts * scan.counting_time_s
    elif scan.intensity_unit != "counts":
        unit = scan.intensity_unit.replace("_", " ")
        raise ConfigError(f"XRDML holds counts, and these intensities are in {unit}; write xye")
    root = Element("xrdMeasurements", {"xmlns": _SPACE + version, "status": "Completed"})
    sample = SubElement(root, "sample", type="To be analyzed")
    SubElement(sample, "id").text = scan.sample_id or ""
    SubElement(sample, "name")
    measurement = SubElement(root, "xrdMeasurement", measurementType="Scan", status="Completed")
    if not is_stated(scan):
        comment = SubElement(measurement, "comment")
        SubElement(comment, "entry").text = "the wavelength was assumed, not measured or stated"
    _light(measurement, scan)
    _radius(measurement, scan)
    done = "Aborted" if any(f.code == "scan_incomplete" for f in scan.flags) else "Completed"
    element = SubElement(
        measurement, "scan", appendNumber="0", mode="Continuous", scanAxis="Gonio", status=done
    )
    _header(element, scan)
    points = SubElement(element, "dataPoints")
    _angles(points, scan)
    if scan.counting_time_s is not None:
        time = SubElement(points, "commonCountingTime", unit="seconds")
        time.text = f"{scan.counting_time_s:.10g}"
    name = "intensities" if version == "1.5" else "counts"
    whole = np.round(counts) if np.abs(counts - np.round(counts)).max() < 1e-6 else counts
    SubElement(points, name, unit="counts").text = " ".join(number(value) for value in whole)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    put(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _light(measurement: Element, scan: Diffractogram) -> None:
    light = scan.radiation
    used = SubElement(measurement, "usedWavelength", intended="K-Alpha")
    single = light.k_alpha2_a is None
    if single:
        used.set("intended", "K-Alpha 1")
    SubElement(used, "kAlpha1", unit="Angstrom").text = f"{light.k_alpha1_a:.7f}"
    second = light.k_alpha1_a if light.k_alpha2_a is None else light.k_alpha2_a
    SubElement(used, "kAlpha2", unit="Angstrom").text = f"{second:.7f}"
    ratio = 0.0 if single else light.k_alpha2_ratio
    SubElement(used, "ratioKAlpha2KAlpha1").text = f"{ratio:.4f}"


def _radius(measurement: Element, scan: Diffractogram) -> None:
    incident = SubElement(measurement, "incidentBeamPath")
    radius_mm = None if scan.goniometer_radius_m is None else scan.goniometer_radius_m * 1e3
    if radius_mm is not None:
        SubElement(incident, "radius", unit="mm").text = f"{radius_mm:.2f}"
    if scan.radiation.anode:
        tube = SubElement(incident, "xRayTube")
        for tag, unit, key in (
            ("tension", "kV", "tube_voltage_kv"),
            ("current", "mA", "tube_current_ma"),
        ):
            if key in scan.provenance:
                SubElement(tube, tag, unit=unit).text = scan.provenance[key]
        SubElement(tube, "anodeMaterial").text = scan.radiation.anode
    if radius_mm is not None:
        diffracted = SubElement(measurement, "diffractedBeamPath")
        SubElement(diffracted, "radius", unit="mm").text = f"{radius_mm:.2f}"


def _header(element: Element, scan: Diffractogram) -> None:
    header = SubElement(element, "header")
    when = started(scan)
    if when:
        SubElement(header, "startTimeStamp").text = when
    source = SubElement(header, "source")
    SubElement(source, "applicationSoftware", version="1").text = "labenv"
    if scan.instrument is not None:
        control = SubElement(source, "instrumentControlSoftware")
        control.set("version", scan.instrument.driver_version)
        control.text = scan.instrument.model
        SubElement(source, "instrumentID").text = scan.instrument.serial


def _angles(points: Element, scan: Diffractogram) -> None:
    angles = scan.two_theta_deg
    for axis, values in (("2Theta", angles), ("Omega", angles / 2.0)):
        positions = SubElement(points, "positions", axis=axis, unit="deg")
        if equal_steps(angles):
            SubElement(positions, "startPosition").text = f"{values[0]:.8f}"
            SubElement(positions, "endPosition").text = f"{values[-1]:.8f}"
        else:
            listed = " ".join(f"{value:.8f}" for value in values)
            SubElement(positions, "listPositions").text = listed
