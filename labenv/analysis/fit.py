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

from labenv.analysis.judgement import PhaseEvidence, conclude
from labenv.analysis.pattern_model import PhaseModel, Texture
from labenv.analysis.refinement import Refined, Refinement
from labenv.analysis.scan import Scan, prepare_scan
from labenv.physics.reflection_cache import reflections_of
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.physics.structures.phase import CrystalPhase
    from labenv_schemas.analysis import PhaseAnalysis
    from labenv_schemas.measurement import Diffractogram

PARTICLE_SIZE_M = 1.5e-6
"""Assumed particle diameter for the microabsorption correction: a milled laboratory powder."""

_LEVELS = (5, 6)  # shared parameters of a second surface level
_ROUGH_FIT = 1.8
_NEGLIGIBLE = 0.004
_MOST_CANDIDATES = 40


@dataclass(frozen=True)
class Candidate:
    """A phase that may be in the sample.

    Attributes:
        phase: The phase.
        optional: Whether it may be left out for want of evidence.
        group: What the user asked for, such as a formula; a group is never left out entirely.
    """

    phase: CrystalPhase
    optional: bool = False
    group: str = ""


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
    return fit if fit.analysis.status == "ok" else _with_suggestions(fit, scan)


def _with_suggestions(fit: PatternFit, scan: Scan) -> PatternFit:
    """Return the fit with a warning that names phases which the left-over lines match."""
    from labenv.analysis.search import matching_phases

    names = matching_phases(scan, fit.phases, fit.refined) if scan.has_lines else []
    if not names:
        return fit
    warning = f"the left-over lines match {', '.join(names)}; try with it among the phases"
    analysis = fit.analysis.model_copy(update={"warnings": (*fit.analysis.warnings, warning)})
    return replace(fit, analysis=analysis)


def candidates_of(phases: Sequence[CrystalPhase | str]) -> list[Candidate]:
    """Return the candidates that names, formulas and structures stand for, without repetition.

    Args:
        phases: What the user asked for.

    Returns:
        Candidates in the order asked for.

    Raises:
        ConfigError: If there is none, or there are more than 40.
        UnknownPluginError: If the library does not know a name or formula.
    """
    from labenv.physics.structures import phase_library

    found: dict[str, Candidate] = {}
    for wish in phases:
        if isinstance(wish, str):
            group = phase_library().resolve(wish)
            for phase in group:
                candidate = Candidate(phase, optional=len(group) > 1, group=wish)
                found.setdefault(phase.name, candidate)
        else:
            found[wish.name] = Candidate(wish, group=wish.name)
    if not found:
        raise ConfigError("no candidate phase was given; name one, such as 'anatase' or 'TiO2'")
    if len(found) > _MOST_CANDIDATES:
        raise ConfigError(
            f"{len(found)} candidate phases are too many to fit at once (at most "
            f"{_MOST_CANDIDATES}); name fewer, or search by elements"
        )
    return list(found.values())


def model_of(phase: CrystalPhase, scan: Scan) -> PhaseModel:
    """Return a phase's model on the scan's wavelength and range.

    Args:
        phase: The phase.
        scan: The scan.

    Returns:
        The model.

    Raises:
        ConfigError: If its cell is too large, or no line of it lies in the range.
    """
    top = float(scan.two_theta_deg[-1]) + 1.0
    lines = reflections_of(phase, scan.optics.lines[0][0], top)
    return PhaseModel(lines, Texture.of(lines))


def refine_candidates(scan: Scan, candidates: list[Candidate]) -> tuple[list[Candidate], Refined]:
    """Refine, leaving out optional candidates without evidence.

    Args:
        scan: The scan.
        candidates: Phases that may be there.

    Returns:
        The candidates that stayed, and the final refinement.
    """
    models = {c.phase.name: model_of(c.phase, scan) for c in candidates}
    kept = candidates
    if any(c.optional for c in candidates):
        work = _begin(scan, [models[c.phase.name] for c in kept])
        kept = _with_evidence(kept, work.run(6, work.coarse_indices()), _NEGLIGIBLE, 0.0)
    while True:
        work = _begin(scan, [models[c.phase.name] for c in kept])
        work.run(8, work.coarse_indices())
        refined = work.run(25, _LEVELS)
        fewer = _with_evidence(kept, refined, 0.01, 4.0)
        if len(fewer) == len(kept):
            break
        kept = fewer
    if refined.goodness_of_fit > _ROUGH_FIT:
        refined = _with_two_levels(work, refined)
    return kept, refined


def _begin(scan: Scan, models: list[PhaseModel]) -> Refinement:
    work = Refinement(scan.counts, scan.optics, models, scan.priors)
    work.start(scan.background)
    return work


def _with_two_levels(work: Refinement, refined: Refined) -> Refined:
    """Let the surface lie on two levels.

    Returns:
        The refinement with two levels where it fits clearly better, else the one given.
    """
    before = work.parameters.copy()
    work.parameters[list(_LEVELS)] = 0.5 * work.priors.width_deg, 0.5
    uneven = work.run(25)
    if uneven.chi2 < 0.93 * refined.chi2:
        return uneven
    work.parameters = before
    return refined


def _with_evidence(
    candidates: list[Candidate], refined: Refined, least: float, sigmas: float
) -> list[Candidate]:
    """Return candidates without the optional ones whose fraction is small or uncertain."""
    total = max(float(refined.scales.sum()), 1e-30)
    fractions = refined.scales / total
    errors = np.sqrt(np.diag(refined.scale_covariance)) / total * max(1.0, refined.goodness_of_fit)
    best: dict[str, int] = {}
    for i, candidate in enumerate(candidates):
        held = best.get(candidate.group)
        if held is None or fractions[i] > fractions[held]:
            best[candidate.group] = i
    return [
        candidate
        for i, candidate in enumerate(candidates)
        if not candidate.optional
        or best[candidate.group] == i
        or (fractions[i] > least and fractions[i] > sigmas * errors[i])
    ]


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
