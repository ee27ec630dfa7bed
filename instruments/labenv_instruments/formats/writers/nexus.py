"""NeXus: an entry after the application definition NXxrd_pan, with a default plot.

Source:
    NeXus contributed definitions, NXxrd_pan and NXxrd, as published by FAIRmat. What a measurement
    does not know of what they require, such as the tube's voltage, is left out, not invented.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv_instruments.formats.writers.saying import check_scan, equal_steps, is_stated, started
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from labenv_schemas.measurement import Diffractogram

_UNITS = {"counts": "counts", "counts_per_second": "counts/s", "arbitrary": "arbitrary"}
_KEV_ANGSTROM = 12.398419843  # h c, CODATA 2018, doi:10.1103/RevModPhys.93.025010


def write_nexus(scan: Diffractogram, path: str | Path) -> None:
    """Write a diffractogram as NeXus (HDF5).

    Args:
        scan: The diffractogram.
        path: Where to; an existing file is replaced.

    Raises:
        ConfigError: If h5py is missing, or the file cannot be written.
    """
    check_scan(scan)
    try:
        h5py: Any = import_module("h5py")
    except ImportError:
        raise ConfigError(
            "NeXus files need h5py: pip install 'labenv[instruments]', or pip install h5py"
        ) from None
    try:
        with h5py.File(str(path), "w") as file:
            file.attrs.update({"NX_class": "NXroot", "default": "entry"})
            _entry(_group(file, "entry", "NXentry"), scan)
    except OSError as cause:
        raise ConfigError(f"{path}: cannot be written, {cause}") from cause


def _entry(entry: Any, scan: Diffractogram) -> None:  # noqa: ANN401 - h5py has no types
    entry.attrs["default"] = "experiment_result"
    entry["definition"] = "NXxrd_pan"
    entry["method"] = "X-Ray Diffraction (XRD)"
    entry["measurement_type"] = "Scan"
    if "file" in scan.provenance:
        entry["data_file"] = scan.provenance["file"]
    if started(scan):
        entry["start_time"] = started(scan)
    if scan.sample_id:
        sample = _group(entry, "sample", "NXsample")
        sample["name"] = sample["sample_id"] = scan.sample_id
    _instrument(entry, scan)
    _settings(entry, scan)
    result = _group(entry, "experiment_result", "NXdata")
    result.attrs.update({"signal": "intensity", "axes": "two_theta", "two_theta_indices": 0})
    _field(result, "two_theta", scan.two_theta_deg, "deg")
    _field(result, "intensity", scan.counts, _UNITS[scan.intensity_unit])


def _instrument(entry: Any, scan: Diffractogram) -> None:  # noqa: ANN401 - h5py has no types
    instrument = _group(entry, "instrument", "NXinstrument")
    if scan.instrument is not None:
        instrument["name"] = scan.instrument.model
    source = _group(instrument, "source", "NXsource")
    source["probe"] = "x-ray"
    light = scan.radiation
    if light.anode:
        source["xray_tube_material"] = light.anode
    for name, key, unit in (
        ("xray_tube_voltage", "tube_voltage_kv", "kV"),
        ("xray_tube_current", "tube_current_ma", "mA"),
    ):
        try:
            _field(source, name, float(scan.provenance[key]), unit)
        except (KeyError, ValueError):
            continue
    if is_stated(scan):
        _field(source, "k_alpha_one", light.k_alpha1_a, "angstrom")
        if light.k_alpha2_a is not None:
            _field(source, "k_alpha_two", light.k_alpha2_a, "angstrom")
            source["ratio_k_alphatwo_k_alphaone"] = light.k_alpha2_ratio
        beam = _group(instrument, "beam", "NXbeam")
        _field(beam, "incident_wavelength", light.k_alpha1_a, "angstrom")
        _field(beam, "incident_energy", _KEV_ANGSTROM / light.k_alpha1_a, "keV")
    detector = _group(instrument, "detector", "NXdetector")
    detector["scan_axis"] = scan.provenance.get("scan_axis", "2Theta")
    detector["scan_mode"] = "continuous"
    _field(detector, "polar_angle", scan.two_theta_deg, "deg")
    if scan.counting_time_s is not None:
        _field(detector, "count_time", scan.counting_time_s, "s")
        _field(detector, "integration_time", scan.counting_time_s, "s")
    if scan.goniometer_radius_m is not None:
        _field(detector, "distance", scan.goniometer_radius_m, "m")


def _settings(entry: Any, scan: Diffractogram) -> None:  # noqa: ANN401 - h5py has no types
    settings = _group(entry, "experiment_config", "NXobject")
    if scan.counting_time_s is not None:
        _field(settings, "count_time", scan.counting_time_s, "s")
    axis = _group(settings, "two_theta", "NXobject")
    angles = scan.two_theta_deg
    _field(axis, "start", angles[0], "deg")
    _field(axis, "end", angles[-1], "deg")
    if equal_steps(angles):
        _field(axis, "step", (angles[-1] - angles[0]) / (angles.size - 1), "deg")


def _group(parent: Any, name: str, kind: str) -> Any:  # noqa: ANN401 - h5py has no types
    group = parent.create_group(name)
    group.attrs["NX_class"] = kind
    return group


def _field(group: Any, name: str, value: Any, unit: str) -> None:  # noqa: ANN401 - h5py has no types
    group.create_dataset(name, data=np.asarray(value, dtype=np.float64)).attrs["units"] = unit
