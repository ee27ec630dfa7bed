"""Background, widths and left-over peaks of a diffractogram, without a model of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Peak(NamedTuple):
    """A peak: its angle (degrees), net height and height over its counting uncertainty."""

    two_theta_deg: float
    height: float
    significance: float


def smooth(values: NDArray[np.float64], width_points: float) -> NDArray[np.float64]:
    """Return values smoothed by a Gaussian of the given standard deviation in points."""
    from scipy.ndimage import gaussian_filter1d

    return np.asarray(gaussian_filter1d(values, max(width_points, 1e-3)), dtype=np.float64)


def estimate_background(counts: NDArray[np.float64], reach_points: int) -> NDArray[np.float64]:
    """Return a background by iterative peak clipping.

    Args:
        counts: Counts, shape (n,).
        reach_points: Half-width in points of the widest structure that counts as a peak.

    Returns:
        Background, shape (n,), in counts.

    Source:
        Ryan et al. 1988, doi:10.1016/0168-583X(88)90063-8 (SNIP).
    """
    level = np.sqrt(np.maximum(smooth(counts, 2.0), 0.0))
    for reach in range(min(reach_points, len(counts) // 3), 0, -1):
        mean = 0.5 * (level[: -2 * reach] + level[2 * reach :])
        level[reach:-reach] = np.minimum(level[reach:-reach], mean)
    return level**2


def line_width_deg(
    counts: NDArray[np.float64], background: NDArray[np.float64], step_deg: float
) -> float | None:
    """Return the typical full width at half maximum of the strongest lines.

    Args:
        counts: Counts, shape (n,).
        background: Background, shape (n,).
        step_deg: Step, degrees.

    Returns:
        Median width of up to twelve lines, degrees; None if no line stands out of the noise.
    """
    from scipy.signal import find_peaks, peak_widths

    net = smooth(counts - background, 1.0)
    noise = np.sqrt(np.maximum(background, 1.0))
    tall = float(np.max(net))
    height = np.maximum(4.0 * noise, 0.05 * tall)
    found, _ = find_peaks(net, height=height, prominence=0.5 * height, distance=3)
    if len(found) == 0:
        return None
    strongest = found[np.argsort(-net[found])][:12]
    widths = peak_widths(net, strongest, rel_height=0.5)[0]
    return float(np.median(widths)) * step_deg


def leftover_peaks(
    angle_deg: NDArray[np.float64],
    residual: NDArray[np.float64],
    fitted_lines: NDArray[np.float64],
    variance: NDArray[np.float64],
    width_deg: float,
) -> tuple[list[Peak], float]:
    """Return peaks that no fitted line explains, and how much of the intensity they hold.

    Imperfect line shapes leave residuals on the flanks of strong lines; a left-over counts only
    where it is higher than half of what the fitted lines give there.

    Args:
        angle_deg: Angles, degrees, shape (n,).
        residual: Observed less fitted, shape (n,).
        fitted_lines: Fitted lines without background, shape (n,).
        variance: Counting variance, shape (n,).
        width_deg: Typical line width, degrees.

    Returns:
        The peaks, highest first, and their part of all line intensity, 0 to 1.
    """
    from scipy.signal import find_peaks

    sigma = max(0.35 * width_deg / (angle_deg[1] - angle_deg[0]), 0.5)
    extra, lines = smooth(residual, sigma), smooth(fitted_lines, sigma)
    noise = np.sqrt(smooth(variance, sigma) / (2.0 * np.sqrt(np.pi) * sigma))
    ratio = extra / noise
    tall = max(float(lines.max()), float(extra.max()), 1e-30)
    alone = (extra > 0.5 * lines) & (ratio > 3.0)
    area = float(extra[alone].sum())
    total = float(np.maximum(fitted_lines, 0.0).sum()) + area
    found, _ = find_peaks(np.where(alone, ratio, 0.0), height=5.0, distance=max(3, int(2 * sigma)))
    kept = [i for i in found if extra[i] > 0.005 * tall]
    peaks = [Peak(float(angle_deg[i]), float(extra[i]), float(ratio[i])) for i in kept]
    return sorted(peaks, key=lambda peak: -peak.height), area / max(total, 1e-30)
