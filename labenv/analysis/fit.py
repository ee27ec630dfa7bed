"""Fit one scan with given phases: refine, leave out what is not there, judge the result.

    fit = fit_phases(diffractogram, ["TiO2", "ZnO"])     # names, formulas or CrystalPhase objects
    fit.analysis                                         # PhaseAnalysis, what `quantify` returns
    fit.fitted, fit.background, fit.per_phase            # curves for a plot

Of a formula with several polymorphs all are tried and those without evidence left out; a phase that
was named stays in the result whatever its fraction.

Uncertainties add in quadrature: counting statistics times the goodness of fit, microabsorption (the
size of its correction), and a model error of `MODEL_ERROR` · sqrt(w (1 - w)), the residual scatter
over weighed mixtures of oxides, carbonates and hydroxides on one laboratory instrument, where rough
surfaces, texture and uneven mixing show.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.candidates import candidates_of, model_of, refine_candidates
from labenv.analysis.judgement import PhaseEvidence, conclude
from labenv.analysis.matches import matching_phases
from labenv.analysis.scan import Scan, prepare_scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.analysis.pattern_model import PhaseModel
    from labenv.analysis.refinement import Refined
    from labenv.physics.structures.phase import CrystalPhase
    from labenv_schemas.analysis import PhaseAnalysis
    from labenv_schemas.measurement import Diffractogram

PARTICLE_SIZE_M = 1.5e-6
"""Assumed particle diameter for the microabsorption correction: a milled laboratory powder."""


@dataclass(frozen=True)
class PatternFit:
    """A scan and its fit, for a report.

    Attributes:
        analysis: Phase fractions and quality.
        phases: Fitted phases in the order of `per_phase`.
        two_theta_deg: Angles, degrees, shape (M,).
        observed: Intensity, in `unit`, shape (M,).
        fitted: Fitted intensity with background, shape (M,).
        background: Background of the fit, shape (M,).
        per_phase: Each phase's lines, shape (P, M).
        line_positions: Fitted positions of each phase's stronger lines, degrees.
        unit: Unit of the intensities.
    """

    analysis: PhaseAnalysis
    phases: tuple[CrystalPhase, ...]
    two_theta_deg: NDArray[np.float64]
    observed: NDArray[np.float64]
    fitted: NDArray[np.float64]
    background: NDArray[np.float64]
    per_phase: NDArray[np.float64]
    line_positions: tuple[NDArray[np.float64], ...]
    unit: str
    refined: Refined = field(repr=False)


def quantify(
    diffractogram: Diffractogram,
    phases: Sequence[CrystalPhase | str],
    *,
    particle_size_m: float = PARTICLE_SIZE_M,
) -> PhaseAnalysis:
    """Return the weight fractions of phases in a powder from its diffractogram.

    Args:
        diffractogram: The scan; any wavelength, range and even or uneven steps.
        phases: Candidates: structures, names, or formulas (all polymorphs are tried).
        particle_size_m: Particle diameter for the microabsorption correction, m; 0 for none.

    Returns:
        Fractions with uncertainties, quality of fit, left-over peaks and warnings.

    Raises:
        ConfigError: If no phase is given, the scan is too short, or a cell too large.
        UnknownPluginError: If a name or formula is not in the structure library.
    """
    return fit_phases(diffractogram, phases, particle_size_m=particle_size_m).analysis


def fit_phases(
    diffractogram: Diffractogram,
    phases: Sequence[CrystalPhase | str],
    *,
    particle_size_m: float = PARTICLE_SIZE_M,
) -> PatternFit:
    """Fit a scan and return curves beside the analysis; see `quantify`.

    Args:
        diffractogram: The scan.
        phases: Candidates: structures, names, or formulas.
        particle_size_m: Particle diameter for the microabsorption correction, m; 0 for none.

    Returns:
        The fit.

    Raises:
        ConfigError: As `quantify`.
        UnknownPluginError: As `quantify`.
    """
    candidates = candidates_of(phases)
    scan = prepare_scan(diffractogram)
    kept, refined = refine_candidates(scan, candidates)
    fit = finish(diffractogram, scan, [c.phase for c in kept], refined, particle_size_m)
    fit = _with_warnings(fit, [note for candidate in kept for note in candidate.notes])
    return fit if fit.analysis.status == "ok" else _with_suggestions(fit, scan)


def _with_warnings(fit: PatternFit, more: list[str]) -> PatternFit:
    if not more:
        return fit
    warnings = (*fit.analysis.warnings, *more)
    return replace(fit, analysis=fit.analysis.model_copy(update={"warnings": warnings}))


def _with_suggestions(fit: PatternFit, scan: Scan) -> PatternFit:
    """Return the fit with a warning that names phases which the left-over lines match."""
    names = matching_phases(scan, fit.phases, fit.refined) if scan.has_lines else []
    if not names:
        return fit
    what = "it" if len(names) == 1 else "one of them"
    warning = f"the left-over lines match {', '.join(names)}; try with {what} among the phases"
    return _with_warnings(fit, [warning])


def finish(
    diffractogram: Diffractogram,
    scan: Scan,
    phases: list[CrystalPhase],
    refined: Refined,
    particle_size_m: float,
) -> PatternFit:
    """Turn a refinement into a fit with its analysis.

    Args:
        diffractogram: The measurement.
        scan: The scan that was fitted.
        phases: The phases refined.
        refined: The refinement.
        particle_size_m: Particle diameter for the microabsorption correction, m.

    Returns:
        The fit.
    """
    models = [model_of(phase, scan) for phase in phases]
    evidence = [
        PhaseEvidence(phase.name, phase.formula, model, own)
        for phase, model, own in zip(phases, models, refined.own, strict=True)
    ]
    positions = tuple(
        _line_positions(model, own, refined, scan)
        for model, own in zip(models, refined.own, strict=True)
    )
    per_unit = 1.0 / scan.counts_per_unit
    return PatternFit(
        analysis=conclude(scan, refined, evidence, particle_size_m),
        phases=tuple(phases),
        two_theta_deg=scan.two_theta_deg,
        observed=scan.counts * per_unit,
        fitted=refined.calculated * per_unit,
        background=refined.background * per_unit,
        per_phase=refined.per_phase * per_unit,
        line_positions=positions,
        unit=diffractogram.intensity_unit,
        refined=refined,
    )


def _line_positions(
    model: PhaseModel, own: NDArray[np.float64], refined: Refined, scan: Scan
) -> NDArray[np.float64]:
    """Return the fitted angles of a phase's lines above a fiftieth of its strongest."""
    lines = model.lines
    stretch = lines.cell_terms * lines.cell_values
    inverse_d2 = stretch @ (1.0 + own[1 : 1 + model.cell_count])
    sine = np.clip(0.5 * scan.optics.lines[0][0] * np.sqrt(inverse_d2), 0.0, 1.0)
    theta = np.arcsin(sine)
    strength = lines.f_squared / np.maximum(sine, 1e-6) ** 2
    angle = np.degrees(2.0 * theta) - refined.shared[0] * np.cos(theta) + refined.shared[1]
    seen = (angle > scan.two_theta_deg[0]) & (angle < scan.two_theta_deg[-1])
    if not seen.any():
        return np.empty(0)
    return np.sort(angle[seen & (strength > 0.02 * strength[seen].max())])
