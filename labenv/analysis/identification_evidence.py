"""What a scan says for each fitted phase: which of its lines are seen, and which are its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.analysis.pattern_model import PhaseModel
    from labenv.analysis.refinement import Refined
    from labenv.analysis.scan import Scan

_MOST_LINES = 12
_TALL = 0.08  # of a phase's highest line
_OWN = 1.0  # a line is a phase's own where it gives this much of what all others give
_SEEN_RATIO = 0.35
_SEEN_SIGMAS = 4.0
_NEIGHBOUR_ERROR = 0.06
_BROADEST = 4.0
_EXCUSED_SIGMAS = 1.5


@dataclass(frozen=True)
class LineEvidence:
    """The stronger lines of one phase in a scan.

    Attributes:
        lines: How many stronger lines the range holds, lines close together counted as one.
        own: How many of them no other fitted phase mostly explains.
        seen: How many of the own ones are there, about as high as fitted.
        share: Part of the own lines' intensity that is seen, 0 to 1; 0 if none is its own.
        significance: Height of the best-seen own line over its uncertainty.
        agreement: How well the own lines' heights are as fitted, beyond noise, 0 to 1.
        presence: The same, where lines higher than fitted do no harm: others may lie on them.
    """

    lines: int
    own: int
    seen: int
    share: float
    significance: float
    agreement: float
    presence: float


def line_evidence(
    scan: Scan, refined: Refined, models: list[PhaseModel], index: int
) -> LineEvidence:
    """Return what the lines of one phase of a refinement are worth.

    Args:
        scan: The scan.
        refined: The refinement.
        models: Its phases.
        index: Which of them.

    Returns:
        The evidence.
    """
    from scipy.signal import find_peaks

    pattern = refined.per_phase[index]
    others = refined.per_phase.sum(axis=0) - pattern
    without = scan.counts - refined.calculated + pattern
    highest = float(pattern.max())
    if highest <= 0.0:
        return LineEvidence(0, 0, 0, 0.0, 0.0, 0.0, 0.0)
    own = refined.own[index]
    k = models[index].cell_count
    width_deg = float(np.hypot(scan.priors.width_deg, own[1 + k] + 0.4 * own[2 + k]))
    width_deg = min(width_deg, _BROADEST * scan.priors.width_deg)
    half = max(1, int(0.6 * width_deg / scan.optics.step_deg))
    found, _ = find_peaks(pattern, height=_TALL * highest, distance=2 * half)
    places = found[np.argsort(-pattern[found])][:_MOST_LINES]
    kernel = _difference_kernel(half)
    net = np.array([
        [_at(kernel, curve, i) for curve in (pattern, without, others)] for i in places
    ]).reshape(-1, 3)
    noise = np.sqrt([
        _at(kernel**2, np.maximum(refined.calculated, 1.0), i)
        + (_NEIGHBOUR_ERROR * _at(np.abs(kernel), np.maximum(others, 0.0), i)) ** 2
        for i in places
    ])
    return _weigh(net, noise)


def _weigh(net: NDArray[np.float64], noise: NDArray[np.float64]) -> LineEvidence:
    """Return the evidence of lines from their net fitted, observed and foreign heights (n, 3)."""
    fitted, observed, foreign = net.T
    mine = (fitted > _OWN * np.maximum(foreign, 0.0)) & (fitted > 0.0)
    ratio = observed / np.maximum(fitted, 1e-30)
    seen = mine & (ratio > _SEEN_RATIO)
    visible = mine & (
        fitted > _SEEN_SIGMAS * noise
    )  # a line too low to be seen is no contradiction
    seen &= observed > _SEEN_SIGMAS * noise
    weight = np.where(visible | seen, fitted, 0.0)
    share = float(weight[seen].sum() / weight.sum()) if weight.sum() > 0.0 else 0.0
    best = float((observed / noise)[seen].max()) if seen.any() else 0.0
    lacking = np.maximum(fitted - observed - _EXCUSED_SIGMAS * noise, 0.0)[mine].sum()
    beyond = np.maximum(observed - fitted - _EXCUSED_SIGMAS * noise, 0.0)[mine].sum()
    whole = max(float(fitted[mine].sum()), 1e-30)
    presence = float(np.clip(1.0 - lacking / whole, 0.0, 1.0))
    agreement = float(np.clip(1.0 - (lacking + beyond) / (whole + beyond), 0.0, 1.0))
    return LineEvidence(
        len(net), int(mine.sum()), int(seen.sum()), share, best, agreement, presence
    )


def _difference_kernel(half: int) -> NDArray[np.float64]:
    """Return weights that take the mean over a line less the mean of both sides."""
    inner, side = 2 * half + 1, max(1, half)
    kernel = np.full(inner + 2 * (half + side), 0.0)
    centre = len(kernel) // 2
    kernel[centre - half : centre + half + 1] = 1.0 / inner
    kernel[:side] = kernel[-side:] = -0.5 / side
    return kernel


def _at(kernel: NDArray[np.float64], curve: NDArray[np.float64], place: int) -> float:
    """Return the kernel's product with a curve around a place; beyond the ends, the end's value."""
    reach = len(kernel) // 2
    where = np.clip(np.arange(place - reach, place - reach + len(kernel)), 0, len(curve) - 1)
    return float(kernel @ curve[where])
