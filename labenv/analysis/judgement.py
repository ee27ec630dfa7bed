"""What a refinement means: fractions with honest uncertainties, a status, left-overs, warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.microabsorption import correct_fractions
from labenv.analysis.peaks import Peak, leftover_peaks
from labenv_schemas.analysis import AnalysisStatus, PhaseAnalysis, PhaseFraction, ResidualPeak

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from labenv.analysis.pattern_model import PhaseModel
    from labenv.analysis.refinement import Refined
    from labenv.analysis.scan import Scan

MODEL_ERROR = 0.08
"""Model error of a weight fraction w as a factor on sqrt(w (1 - w)); see `labenv.analysis.fit`."""

UNEXPLAINED_POOR, UNEXPLAINED_WRONG = 0.01, 0.20
"""Part of the line intensity in peaks of no fitted phase, from which a fit is poor, or wrong."""

MISFIT_POOR, MISFIT_WRONG = 0.30, 0.55
"""Part of the lines' weighted amplitude missed beyond noise, from which a fit is poor, or wrong."""

GOODNESS_POOR = 30.0
"""Goodness of fit from which a fit is poor whatever the lines' misfit: beyond what counting longer
does to a good fit, unless the noise is not that of counts."""

_DETECTION = 0.003  # no phase is known to be absent better than this
_STRONG_TEXTURE = 1.2
_LARGE_CELL_CHANGE = 0.006
_LARGE_DISPLACEMENT_DEG = 0.25
_LARGE_CORRECTION = 0.05


@dataclass(frozen=True)
class PhaseEvidence:
    """A phase with its refined parameters."""

    name: str
    formula: str
    model: PhaseModel
    own: NDArray[np.float64]


def conclude(
    scan: Scan, refined: Refined, evidence: list[PhaseEvidence], particle_size_m: float
) -> PhaseAnalysis:
    """Return the analysis that a refinement supports.

    Args:
        scan: The scan.
        refined: The refinement.
        evidence: The phases, in the refinement's order.
        particle_size_m: Particle diameter for the microabsorption correction, m.

    Returns:
        The analysis.
    """
    lines = refined.calculated - refined.background
    variance = np.maximum(refined.calculated, 1.0)
    peaks, unexplained = leftover_peaks(
        scan.two_theta_deg,
        scan.counts - refined.calculated,
        lines,
        variance,
        scan.priors.width_deg,
    )
    misfit = _misfit(scan, refined, variance)
    found = scan.has_lines and refined.scales.sum() > 0.0
    status = _status(unexplained, misfit, refined.goodness_of_fit, found=found)
    apparent, fractions, errors = _fractions(refined, evidence, particle_size_m)
    order = np.argsort(-fractions)
    notes = [] if status == "unidentified" else _notes(scan, refined, evidence)
    if not scan.has_lines:
        notes = ["no line stands out of the noise: amorphous, or counted too briefly"]
    warnings = [*scan.warnings, *notes]
    shift = float(np.abs(fractions - apparent).max())
    if shift > _LARGE_CORRECTION and status != "unidentified":
        warnings.append(
            f"microabsorption, for particles of {particle_size_m * 1e6:g} µm, moved fractions by "
            f"up to {shift:.3f}"
        )
    if status == "unidentified":
        warnings.insert(0, "the phases given do not explain the scan; do not use the fractions")
    return PhaseAnalysis(
        status=status,
        phases=tuple(
            PhaseFraction(
                name=evidence[i].name,
                formula=evidence[i].formula,
                weight_fraction=float(np.clip(fractions[i], 0.0, 1.0)),
                uncertainty=float(_widened(float(errors[i]), status, unexplained)),
            )
            for i in order
        ),
        goodness_of_fit=refined.goodness_of_fit,
        r_wp=refined.r_wp,
        residual_peaks=tuple(_residual_peak(peak, scan) for peak in peaks[:20]),
        warnings=tuple(dict.fromkeys(warnings)),
        method=(
            "whole-pattern refinement; weight fractions of the crystalline part; microabsorption "
            f"for {particle_size_m * 1e6:g} µm particles"
        ),
    )


def _residual_peak(peak: Peak, scan: Scan) -> ResidualPeak:
    return ResidualPeak(
        two_theta_deg=round(peak.two_theta_deg, 4),
        height=peak.height / scan.counts_per_unit,
        significance=peak.significance,
    )


def _misfit(scan: Scan, refined: Refined, variance: NDArray[np.float64]) -> float:
    net = float(((scan.counts - refined.background) ** 2 / variance).sum())
    return float(np.sqrt(max(refined.chi2 - refined.freedom, 0.0) / max(net, 1.0)))


def _status(unexplained: float, misfit: float, goodness: float, *, found: bool) -> AnalysisStatus:
    if not found or unexplained > UNEXPLAINED_WRONG or misfit > MISFIT_WRONG:
        return "unidentified"
    # written so that no number at all is not ok either
    if unexplained > UNEXPLAINED_POOR or misfit > MISFIT_POOR or not goodness < GOODNESS_POOR:
        return "poor_fit"
    return "ok"


def _widened(error: float, status: AnalysisStatus, unexplained: float) -> float:
    """Return an uncertainty that no one takes for knowledge where the fit is not good."""
    floor = {"ok": 0.0, "poor_fit": 0.05 + unexplained, "unidentified": 0.5}[status]
    return min(float(np.hypot(error, floor)), 1.0)


def _fractions(
    refined: Refined, evidence: list[PhaseEvidence], particle_size_m: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return apparent and corrected fractions and the uncertainties of the latter, (P,) each."""
    total = float(refined.scales.sum())
    count = len(evidence)
    if total <= 0.0:
        return np.zeros(count), np.zeros(count), np.ones(count)
    apparent = refined.scales / total
    gradient = (np.eye(count) - apparent[:, None]) / total
    covariance = gradient @ refined.scale_covariance @ gradient.T
    counting = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    counting *= max(1.0, refined.goodness_of_fit)
    attenuation = np.array([e.model.lines.attenuation_m2_kg for e in evidence])
    density = np.array([e.model.lines.density_kg_m3 for e in evidence])
    fractions = correct_fractions(apparent, attenuation, density, particle_size_m)
    model = MODEL_ERROR * np.sqrt(fractions * (1.0 - fractions))
    return (
        apparent,
        fractions,
        np.sqrt(counting**2 + model**2 + (fractions - apparent) ** 2 + _DETECTION**2),
    )


def _notes(scan: Scan, refined: Refined, evidence: list[PhaseEvidence]) -> Iterator[str]:
    """Yield what the parameters of a fit that explains the scan say about sample and structures."""
    if not refined.goodness_of_fit < GOODNESS_POOR:
        yield (
            f"the fit misses the scan by {refined.goodness_of_fit:.0f} times its noise: are the "
            "intensities counts? if they were scaled or changed, give the ones the detector counted"
        )
    if abs(refined.shared[0]) > _LARGE_DISPLACEMENT_DEG:
        yield f"the lines are displaced by {-refined.shared[0]:.2f}°: the sample's height is off"
    if refined.shared[5] > 0.25 * scan.priors.width_deg and 0.05 < refined.shared[6] < 0.95:
        yield "the sample's surface is uneven: lines are doubled by its height"
    for phase in evidence:
        k = phase.model.cell_count
        change = -0.5 * phase.own[1 : 1 + k]
        if phase.own[0] > 0.0 and np.abs(change).max() > _LARGE_CELL_CHANGE:
            yield (
                f"{phase.name}: cell differs by {100 * np.abs(change).max():.1f} % from the "
                "structure given; a solid solution, or another phase"
            )
        texture = phase.own[3 + k :]
        if texture.size and phase.own[0] > 0.0 and np.ptp([*texture, 0.0]) > _STRONG_TEXTURE:
            yield f"{phase.name}: strongly textured, its fraction is less certain"
    hump = _hump_deg(scan, refined)
    if hump is not None:
        yield (
            f"a broad hump near {hump:.0f}° suggests amorphous material; fractions are of the "
            "crystalline part"
        )


def _hump_deg(scan: Scan, refined: Refined) -> float | None:
    """Return where the background bulges above its lower hull by a good part of the lines' area."""
    angle, level = scan.two_theta_deg[::20], refined.background[::20]
    hull = [0]
    for i in range(1, len(level)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            cross = (angle[b] - angle[a]) * (level[i] - level[a])
            if cross > (level[b] - level[a]) * (angle[i] - angle[a]):
                break
            hull.pop()
        hull.append(i)
    bulge = level - np.interp(angle, angle[hull], level[hull])
    lines = float((refined.calculated - refined.background)[::20].sum())
    inside = bulge[3:-3]
    tall = inside.size > 0 and inside.max() > 0.15 * float(np.median(level))
    return float(angle[3 + int(inside.argmax())]) if tall and bulge.sum() > 0.3 * lines else None
