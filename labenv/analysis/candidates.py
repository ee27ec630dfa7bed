"""Candidate phases of a fit, and their refinement with those left out that are not there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.pattern_model import PhaseModel, Texture
from labenv.analysis.refinement import Refined, Refinement
from labenv.analysis.twins import line_heights, same_structure
from labenv.physics.profiles import two_theta_deg
from labenv.physics.reflection_cache import reflections_of
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labenv.analysis.scan import Scan
    from labenv.physics.reflections import ReflectionList
    from labenv.physics.structures.phase import CrystalPhase

_LEVELS = (5, 6)  # shared parameters of a second surface level
_ROUGH_FIT = 1.8
_NEGLIGIBLE = 0.004
_MOST_CANDIDATES = 40
_SMALLEST_A = 1.0  # spacing above which every phase has its strongest lines
_SEEN = 0.1  # of a phase's strongest line


@dataclass(frozen=True)
class Candidate:
    """A phase that may be in the sample.

    Attributes:
        phase: The phase.
        optional: Whether it may be left out for want of evidence.
        group: What the user asked for, such as a formula; a group is never left out entirely.
        given: Whether the structure is the user's own, not the library's.
        notes: What the reader of a result must know about it.
    """

    phase: CrystalPhase
    optional: bool = False
    group: str = ""
    given: bool = False
    notes: tuple[str, ...] = ()


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

    found: list[Candidate] = []
    for wish in phases:
        if isinstance(wish, str):
            group = phase_library().resolve(wish)
            named = {candidate.phase.name for candidate in found if not candidate.given}
            found += [
                Candidate(phase, optional=len(group) > 1, group=wish)
                for phase in group
                if phase.name not in named
            ]
        elif wish not in [candidate.phase for candidate in found if candidate.given]:
            found.append(Candidate(wish, given=True))
    if not found:
        raise ConfigError("no candidate phase was given; name one, such as 'anatase' or 'TiO2'")
    if len(found) > _MOST_CANDIDATES:
        raise ConfigError(
            f"{len(found)} candidate phases are too many to fit at once (at most "
            f"{_MOST_CANDIDATES}); name fewer, or search by elements"
        )
    return _kept_apart(_without_twins(found))


def _without_twins(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates, of each structure given twice only one: the user's, or the first.

    Args:
        candidates: What was asked for. Phases of the library are not compared with one another.

    Returns:
        The candidates in their order; one that stands for another as well says so in its `note`.
    """
    kept: list[Candidate] = []
    for candidate in candidates:
        place = next((i for i, held in enumerate(kept) if _are_twins(held, candidate)), None)
        if place is None:
            kept.append(candidate)
        else:
            kept[place] = _merged(kept[place], candidate)
    return kept


def _are_twins(one: Candidate, other: Candidate) -> bool:
    return (one.given or other.given) and same_structure(one.phase, other.phase)


def _merged(held: Candidate, new: Candidate) -> Candidate:
    stays, goes = (held, new) if held.given else (new, held)
    note = (
        f"{goes.phase.name} and {stays.phase.name} ({stays.phase.source}) are one structure, with "
        "the same cell and lines; the latter was fitted for both"
    )
    # of a formula whose polymorph was replaced, the user's structure is now the evidence
    group = stays.group if goes.given else goes.group
    return replace(stays, group=group, notes=(*held.notes, note))


def _kept_apart(candidates: list[Candidate]) -> list[Candidate]:
    """Return the candidates with numbers after the names that others have."""
    taken = {candidate.phase.name for candidate in candidates if not candidate.given}
    apart: list[Candidate] = []
    for candidate in candidates:
        phase = candidate.phase
        if candidate.given:
            name = next(n for n in _numbered(phase.name) if n not in taken)
            taken.add(name)
            phase = phase if name == phase.name else replace(phase, name=name)
        apart.append(replace(candidate, phase=phase, group=candidate.group or phase.name))
    return apart


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


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
    _check_seen(phase, lines, scan)
    return PhaseModel(lines, Texture.of(lines))


def _check_seen(phase: CrystalPhase, lines: ReflectionList, scan: Scan) -> None:
    """Refuse a phase that could be there in any amount without showing.

    Raises:
        ConfigError: If no line of some strength lies in the scan's range.
    """
    top = float(two_theta_deg(np.array([_SMALLEST_A]), lines.wavelength_a)[0])
    whole = reflections_of(phase, lines.wavelength_a, top) if np.isfinite(top) else lines
    strongest = float(line_heights(whole).max())
    angle = two_theta_deg(lines.d_a, lines.wavelength_a)
    first, last = float(scan.two_theta_deg[0]), float(scan.two_theta_deg[-1])
    inside = (angle >= first) & (angle <= last)
    if not (line_heights(lines)[inside] > _SEEN * strongest).any():
        raise ConfigError(
            f"no strong line of {phase.name} lies in the scan, from {first:g}° to {last:g}°: "
            "nothing can be said about it; widen the scan or leave the phase out"
        )


def refine_candidates(scan: Scan, candidates: list[Candidate]) -> tuple[list[Candidate], Refined]:
    """Refine, leaving out optional candidates without evidence.

    Args:
        scan: The scan.
        candidates: Phases that may be there.

    Returns:
        The candidates that stayed, and the final refinement.

    Raises:
        ConfigError: If the scan cannot show a phase that was asked for.
    """
    models = _models_of(candidates, scan)
    candidates = [c for c in candidates if c.phase.name in models]
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


def _models_of(candidates: list[Candidate], scan: Scan) -> dict[str, PhaseModel]:
    """Return the models by name, without polymorphs that the scan cannot show if it shows others.

    Raises:
        ConfigError: If the scan cannot show a phase that was asked for.
    """
    models: dict[str, PhaseModel] = {}
    faults: dict[str, ConfigError] = {}
    for candidate in candidates:
        try:
            models[candidate.phase.name] = model_of(candidate.phase, scan)
        except ConfigError as fault:
            faults[candidate.phase.name] = fault
    shown = {c.group for c in candidates if c.phase.name in models}
    for candidate in candidates:
        unseen = candidate.phase.name in faults
        if unseen and not (candidate.optional and candidate.group in shown):
            raise faults[candidate.phase.name]
    return models


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
