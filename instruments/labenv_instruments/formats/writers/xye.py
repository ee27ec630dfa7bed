"""xye: columns of 2θ, intensity and its standard uncertainty, below a heading of ``#`` lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.formats.writers.saying import check_scan, is_stated, number, put, started
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from labenv_schemas.measurement import Diffractogram


def write_xye(
    scan: Diffractogram,
    path: str | Path,
    *,
    standard_uncertainty: NDArray[np.float64] | None = None,
) -> None:
    """Write a diffractogram as xye.

    Args:
        scan: The diffractogram.
        path: Where to; an existing file is replaced.
        standard_uncertainty: Of each intensity, shape (n,), above 0; that of counting if none.

    Raises:
        ConfigError: If the uncertainties are needed and missing, or do not fit, or the file cannot
            be written.
    """
    check_scan(scan)
    uncertainty = _uncertainty(scan) if standard_uncertainty is None else standard_uncertainty
    if uncertainty.shape != scan.counts.shape or not (uncertainty > 0).all():
        raise ConfigError(
            f"{uncertainty.size} uncertainties for {scan.counts.size} points, all above 0, are "
            "needed; check standard_uncertainty"
        )
    rows = (
        f"{number(angle)} {number(intensity)} {error:.8g}"
        for angle, intensity, error in zip(
            scan.two_theta_deg, scan.counts, uncertainty, strict=True
        )
    )
    put(path, "\n".join([*_heading(scan), *rows]) + "\n")


def _heading(scan: Diffractogram) -> Iterator[str]:
    light = scan.radiation
    if scan.sample_id:
        yield "# sample: " + " ".join(scan.sample_id.split())
    if is_stated(scan):
        yield f"# wavelength = {light.k_alpha1_a:.7f} Angstrom"
        if light.k_alpha2_a is not None:
            yield f"# K-alpha2 wavelength = {light.k_alpha2_a:.7f} Angstrom"
            yield f"# K-alpha2/K-alpha1 ratio = {light.k_alpha2_ratio:.6g}"
        if light.anode:
            yield f"# anode: {light.anode}"
    if scan.counting_time_s is not None:
        yield f"# time per step (s) = {scan.counting_time_s:.10g}"
    if started(scan):
        yield f"# started: {started(scan)}"
    yield f"# 2theta (deg), intensity ({scan.intensity_unit}), standard uncertainty"


def _uncertainty(scan: Diffractogram) -> NDArray[np.float64]:
    counts = np.maximum(scan.counts, 0.0)
    if scan.intensity_unit == "counts":
        return np.sqrt(np.maximum(counts, 1.0))
    if scan.intensity_unit == "counts_per_second" and scan.counting_time_s:
        return np.sqrt(np.maximum(counts * scan.counting_time_s, 1.0)) / scan.counting_time_s
    raise ConfigError(
        f"intensities in {scan.intensity_unit.replace('_', ' ')} have no known uncertainty; give "
        "standard_uncertainty"
    )
