"""pdCIF: a data block with the wavelengths and a loop of angles and intensities."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.formats.writers.saying import (
    check_scan,
    equal_steps,
    is_stated,
    number,
    put,
    started,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from labenv_schemas.measurement import Diffractogram


def write_pdcif(scan: Diffractogram, path: str | Path) -> None:
    """Write a diffractogram as pdCIF.

    Args:
        scan: The diffractogram.
        path: Where to; an existing file is replaced.

    Raises:
        ConfigError: If the file cannot be written.
    """
    check_scan(scan)
    put(path, "\n".join(_lines(scan)) + "\n")


def _lines(scan: Diffractogram) -> Iterator[str]:
    angles, light = scan.two_theta_deg, scan.radiation
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", scan.sample_id or "scan").strip("_") or "scan"
    yield f"data_{name[:70]}"
    yield "_audit_creation_method 'labenv'"
    if scan.sample_id:
        yield f"_pd_spec_description {_quoted(scan.sample_id)}"
    if scan.instrument is not None:
        yield f"_diffrn_measurement_device_type {_quoted(scan.instrument.model)}"
    if started(scan):
        yield f"_pd_meas_datetime_initiated {started(scan)}"
    if scan.counting_time_s is not None:
        yield f"_pd_meas_step_count_time {scan.counting_time_s:.10g}"
    yield "_pd_meas_scan_method step"
    yield f"_pd_meas_number_of_points {angles.size}"
    yield f"_pd_meas_2theta_range_min {angles[0]:.8f}"
    yield f"_pd_meas_2theta_range_max {angles[-1]:.8f}"
    if equal_steps(angles):
        yield f"_pd_meas_2theta_range_inc {(angles[-1] - angles[0]) / (angles.size - 1):.10f}"
    if is_stated(scan):
        yield "_diffrn_radiation_probe x-ray"
        if light.anode:
            yield f"_diffrn_radiation_type '{light.anode} K\\a'"
        if light.k_alpha2_a is None:
            yield f"_diffrn_radiation_wavelength {light.k_alpha1_a:.7f}"
        else:
            yield "loop_"
            yield "_diffrn_radiation_wavelength_id"
            yield "_diffrn_radiation_wavelength"
            yield "_diffrn_radiation_wavelength_wt"
            yield f"1 {light.k_alpha1_a:.7f} 1.0"
            yield f"2 {light.k_alpha2_a:.7f} {light.k_alpha2_ratio:.5g}"
    whole = (scan.counts == np.round(scan.counts)).all()
    raw = scan.intensity_unit == "counts" and whole
    yield "loop_"
    yield "_pd_meas_2theta_scan"
    yield "_pd_meas_counts_total" if raw else "_pd_meas_intensity_total"
    for angle, intensity in zip(angles, scan.counts, strict=True):
        yield f"{angle:.8f} {number(intensity)}"


def _quoted(text: str) -> str:
    plain = " ".join(text.split()).encode("ascii", "replace").decode()
    return f"'{plain}'" if "'" not in plain else f'"{plain.replace(chr(34), "")}"'
