"""A diffractogram made ready for fitting: even steps, counts, a sensible number of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.pattern_model import Optics
from labenv.analysis.peaks import estimate_background, line_width_deg
from labenv.analysis.refinement import Priors
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv_schemas.measurement import Diffractogram

_SAMPLE_DIAMETER_M = 0.020
"""Typical powder holder; holders run from 16 to 27 mm."""

_POINTS_PER_WIDTH = 6.0
_MOST_POINTS = 500_000
_NO_VALUE = 1e15  # beyond what any detector counts
_NO_INTENSITY = 1e-100
_FEW_NEGATIVE = 0.01  # share of points
_LEAST_POINTS = 50


@dataclass(frozen=True)
class Scan:
    """What the refinement works on.

    Attributes:
        two_theta_deg: Angles in even steps, degrees, shape (M,).
        counts: Counts, shape (M,); of sums of neighbouring steps where lines are wide.
        background: Rough background, counts, shape (M,).
        counts_per_unit: Counts that one unit of the diffractogram's intensity stands for, times the
            steps summed.
        optics: Wavelengths and grid.
        priors: Typical values for this scan.
        has_lines: Whether any line stands out of the noise.
        warnings: What the reader of a result must know.
    """

    two_theta_deg: NDArray[np.float64]
    counts: NDArray[np.float64]
    background: NDArray[np.float64]
    counts_per_unit: float
    optics: Optics
    priors: Priors
    has_lines: bool
    warnings: tuple[str, ...]


def prepare_scan(diffractogram: Diffractogram) -> Scan:
    """Make a diffractogram ready for fitting.

    Args:
        diffractogram: The measurement.

    Returns:
        The scan.

    Raises:
        ConfigError: If the scan is too short or too long, holds no intensity, or one that is none.
    """
    angle = np.asarray(diffractogram.two_theta_deg, dtype=np.float64)
    values = np.asarray(diffractogram.counts, dtype=np.float64)
    if len(angle) < _LEAST_POINTS:
        raise ConfigError(
            f"the scan has {len(angle)} points; a fit of phases needs {_LEAST_POINTS} at least"
        )
    if len(angle) > _MOST_POINTS:
        raise ConfigError(
            f"the scan has {len(angle)} points; at most {_MOST_POINTS} are fitted: join neighbours"
        )
    _check_intensities(angle, values)
    warnings = [flag.message for flag in diffractogram.flags if flag.code != "encoding"]
    step = float(np.median(np.diff(angle)))
    if np.abs(np.diff(angle) - step).max() > 0.02 * step:
        grid = np.arange(angle[0], angle[-1] + 0.5 * step, step)
        values, angle = np.interp(grid, angle, values), grid
        warnings.append("uneven steps were interpolated")
    negative = float((values < 0.0).mean())
    if negative > _FEW_NEGATIVE:
        values = values + _background_taken_off(diffractogram, values)
    scale = _counts_per_unit(diffractogram, values)
    if negative > _FEW_NEGATIVE:
        warnings.append(
            f"{100 * negative:.0f} % of the intensities are below zero, which no counter gives: a "
            "background was subtracted; the noise was estimated from the scan"
        )
    elif scale != 1.0:
        warnings.append("intensities are no counts; their noise was estimated from the scan")
    counts = values * scale
    reach = max(8, int(1.2 / step))
    background = estimate_background(counts, reach)
    width = line_width_deg(counts, background, step)
    known = width is not None
    width_deg = max(width if width is not None else 0.2, 2.0 * step)
    together = max(1, int(width_deg / _POINTS_PER_WIDTH / step))
    points = len(counts) // together
    counts = counts[: points * together].reshape(points, together).sum(axis=1)
    background = background[: points * together].reshape(points, together).sum(axis=1)
    angle = angle[: points * together].reshape(points, together).mean(axis=1)
    radiation = diffractogram.radiation
    lines: tuple[tuple[float, float], ...] = ((radiation.k_alpha1_a, 1.0),)
    if radiation.k_alpha2_a is not None and radiation.k_alpha2_ratio > 0.0:
        total = 1.0 + radiation.k_alpha2_ratio
        lines = (
            (radiation.k_alpha1_a, 1.0 / total),
            (radiation.k_alpha2_a, radiation.k_alpha2_ratio / total),
        )
    optics = Optics(lines, float(angle[0]), float((angle[-1] - angle[0]) / (points - 1)), points)
    priors = Priors(width_deg=width_deg, overflow=_overflow(diffractogram))
    return Scan(angle, counts, background, scale * together, optics, priors, known, tuple(warnings))


def _check_intensities(angle: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    highest = float(np.abs(values).max())
    if highest > _NO_VALUE:
        place = int(np.argmax(np.abs(values)))
        raise ConfigError(
            f"the scan holds {values[place]:g} at {angle[place]:g}°, which is no intensity "
            "(instruments write 9.91e37 for 'no value'); delete the point"
        )
    if values.max() <= _NO_INTENSITY:
        raise ConfigError("the scan holds no intensity: no value in it is above zero")


def _overflow(diffractogram: Diffractogram) -> tuple[float, float]:
    """Return sinθ below which the beam is longer than the sample, and its uncertainty."""
    stated = diffractogram.provenance.get("beam_height_m")
    if stated is None:
        return (0.08, 0.06)
    ratio = min(float(stated) / _SAMPLE_DIAMETER_M, 0.4)
    return (ratio, 0.2 * ratio + 0.005)


def _background_taken_off(diffractogram: Diffractogram, values: NDArray[np.float64]) -> float:
    """Return a guess of the background that was subtracted: of counts, as much as their noise."""
    noise, level = _noise_and_level(values)
    known = _known_counts_per_unit(diffractogram)
    lowest = float(values.min())
    return -lowest if known is None else max(known * noise - level, -lowest)


def _noise_and_level(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the noise's variance and the mean of the quieter half of a scan."""
    # second differences see noise but no slope; for counts their variance is six times the mean
    curve = values[:-2] - 2.0 * values[1:-1] + values[2:]
    quiet = np.argsort(values[1:-1])[: max(20, len(values) // 2)]
    noise = float(np.median(np.abs(curve[quiet]))) ** 2 / 0.4549 / 6.0
    return noise, float(np.median(values[1:-1][quiet]))


def _known_counts_per_unit(diffractogram: Diffractogram) -> float | None:
    if diffractogram.intensity_unit == "counts":
        return 1.0
    return diffractogram.counting_time_s if diffractogram.intensity_unit != "arbitrary" else None


def _counts_per_unit(diffractogram: Diffractogram, values: NDArray[np.float64]) -> float:
    known = _known_counts_per_unit(diffractogram)
    if known:
        return known
    noise, level = _noise_and_level(np.maximum(values, 0.0))
    if noise <= 0.0 or level <= 0.0:
        return 1e4 / max(float(values.max()), 1e-30)
    return level / noise
