"""Find out which phases of a chemical system are in a powder, and how much of each.

All phases of the library made of the given elements are tried. A joint non-negative fit of the
unrefined patterns over a range of displacements gives the first guess; then phases are added one
by one where a refinement with them explains clearly more of the scan, and removed where one
without them explains nearly as much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.candidates import Candidate, model_of, refine_candidates
from labenv.analysis.fit import PARTICLE_SIZE_M, PatternFit, finish
from labenv.analysis.matches import gain_of
from labenv.analysis.refinement import Refined, Refinement
from labenv.analysis.scan import Scan, prepare_scan
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labenv.analysis.pattern_model import PhaseModel
    from labenv.physics.structures.phase import CrystalPhase
    from labenv_schemas.analysis import PhaseAnalysis
    from labenv_schemas.measurement import Diffractogram

_MOST_PHASES = 6
_FIRST_SHARE = 0.03
_TRIED_EACH_TIME = 3
_WORTH_ADDING = 0.97  # χ² must fall to this part of what it was
_WORTH_KEEPING = 1.03  # without a phase, χ² must rise beyond this part


def identify(
    diffractogram: Diffractogram,
    elements: Iterable[str],
    *,
    particle_size_m: float = PARTICLE_SIZE_M,
) -> PhaseAnalysis:
    """Return the phases of a chemical system that a diffractogram shows, with weight fractions.

    Args:
        diffractogram: The scan.
        elements: Symbols of the elements that may be present; all phases of the library made of
            them or of some of them are tried.
        particle_size_m: Particle diameter for the microabsorption correction, m; 0 for none.

    Returns:
        The analysis of the best set of phases found, with status ``unidentified`` if it explains
        the scan badly.

    Raises:
        ConfigError: If the library has no phase of these elements, or the scan is too short.
        UnknownPluginError: If a symbol is no element.
    """
    return search_phases(diffractogram, elements, particle_size_m=particle_size_m).analysis


def search_phases(
    diffractogram: Diffractogram,
    elements: Iterable[str],
    *,
    particle_size_m: float = PARTICLE_SIZE_M,
) -> PatternFit:
    """Search as `identify` does, and return curves beside the analysis.

    Args:
        diffractogram: The scan.
        elements: Symbols of the elements that may be present.
        particle_size_m: Particle diameter for the microabsorption correction, m; 0 for none.

    Returns:
        The fit with the phases found.

    Raises:
        ConfigError: As `identify`.
        UnknownPluginError: As `identify`.
    """
    from labenv.physics.structures import phase_library

    scan = prepare_scan(diffractogram)
    symbols = list(elements)
    models: dict[str, PhaseModel] = {}
    phases: dict[str, CrystalPhase] = {}
    for phase in phase_library().search(symbols):
        try:
            models[phase.name] = model_of(phase, scan)
        except ConfigError:
            continue  # no line of it in the range, so nothing can be said about it
        phases[phase.name] = phase
    if not phases:
        raise ConfigError(
            f"the structure library has no phase of {', '.join(symbols) or 'no elements'}; "
            "give structures as CIF files"
        )
    kept, refined = _refine(scan, [phases[name] for name in _first_guess(scan, models)])
    kept, refined = _add(scan, phases, models, (kept, refined))
    kept, refined = _remove(scan, (kept, refined))
    return finish(diffractogram, scan, kept, refined, particle_size_m)


def _refine(scan: Scan, chosen: list[CrystalPhase]) -> tuple[list[CrystalPhase], Refined]:
    candidates = [Candidate(phase, optional=True, group="search") for phase in chosen]
    kept, refined = refine_candidates(scan, candidates)
    return [candidate.phase for candidate in kept], refined


def _first_guess(scan: Scan, models: dict[str, PhaseModel]) -> list[str]:
    """Return the phases that a joint fit of unrefined patterns gives a fair share of the lines."""
    names = list(models)
    work = Refinement(scan.counts, scan.optics, list(models.values()), scan.priors)
    work.start(scan.background)
    areas = work.line_areas()
    order = np.argsort(-areas)[:_MOST_PHASES]
    total = max(float(areas.sum()), 1e-30)
    return [names[i] for i in order if areas[i] > _FIRST_SHARE * total] or [names[order[0]]]


def _add(
    scan: Scan,
    phases: dict[str, CrystalPhase],
    models: dict[str, PhaseModel],
    state: tuple[list[CrystalPhase], Refined],
) -> tuple[list[CrystalPhase], Refined]:
    kept, refined = state
    while len(kept) < _MOST_PHASES:
        present = {phase.name for phase in kept}
        gains = {
            name: gain_of(scan, model, refined)
            for name, model in models.items()
            if name not in present
        }
        promising = sorted(gains, key=lambda name: -gains[name])[:_TRIED_EACH_TIME]
        trials = [
            _refine(scan, [*kept, phases[name]])
            for name in promising
            if gains[name] > (1.0 - _WORTH_ADDING) * 0.3 * refined.chi2
        ]
        if not trials:
            break
        best = min(trials, key=lambda trial: trial[1].chi2)
        if best[1].chi2 > _WORTH_ADDING * refined.chi2:
            break
        kept, refined = best
    return kept, refined


def _remove(
    scan: Scan, state: tuple[list[CrystalPhase], Refined]
) -> tuple[list[CrystalPhase], Refined]:
    kept, refined = state
    while len(kept) > 1:
        weakest = int(np.argmin(refined.scales))
        fewer, without = _refine(scan, [p for i, p in enumerate(kept) if i != weakest])
        if without.chi2 > _WORTH_KEEPING * refined.chi2:
            break
        kept, refined = fewer, without
    return kept, refined
