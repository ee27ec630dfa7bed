"""Find out which phases are in a powder, of a chemical system or of the whole library.

    identify(scan)                          # among all phases of the library
    identify(scan, ["Ba", "Ti", "C", "O"])  # among those made of these elements
    found = identify_phases(scan)           # with curves, and what each phase's lines say

The search itself is `labenv.analysis.identification`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labenv.analysis.candidates import model_of
from labenv.analysis.fit import PARTICLE_SIZE_M, PatternFit, finish
from labenv.analysis.identification import Found, Identifier, doubted
from labenv.analysis.scan import Scan, prepare_scan
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from labenv.analysis.pattern_model import PhaseModel
    from labenv.physics.structures.phase import CrystalPhase
    from labenv_schemas.analysis import PhaseAnalysis
    from labenv_schemas.measurement import Diffractogram

_PEAKS_TOLD = 6
_TOLD_SIGMAS = 8.0


@dataclass(frozen=True)
class Identification:
    """A fit with the phases found in a scan, and what is known of each.

    Attributes:
        fit: Analysis and curves; `fit.analysis.residual_peaks` are the lines of no phase found.
        found: The phases, in the order of `fit.phases`.
    """

    fit: PatternFit
    found: tuple[Found, ...]


def identify(
    diffractogram: Diffractogram,
    elements: Iterable[str] | None = None,
    *,
    particle_size_m: float = PARTICLE_SIZE_M,
) -> PhaseAnalysis:
    """Return the phases that a diffractogram shows, with weight fractions.

    Args:
        diffractogram: The scan.
        elements: Symbols of the elements that may be present; all phases of the library made of
            them or of some of them are tried. None tries the whole library.
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
    elements: Iterable[str] | None = None,
    *,
    particle_size_m: float = PARTICLE_SIZE_M,
) -> PatternFit:
    """Search as `identify` does, and return curves beside the analysis.

    Args:
        diffractogram: The scan.
        elements: Symbols of the elements that may be present; None for the whole library.
        particle_size_m: Particle diameter for the microabsorption correction, m; 0 for none.

    Returns:
        The fit with the phases found.

    Raises:
        ConfigError: As `identify`.
        UnknownPluginError: As `identify`.
    """
    return identify_phases(diffractogram, elements, particle_size_m=particle_size_m).fit


def identify_phases(
    diffractogram: Diffractogram,
    elements: Iterable[str] | None = None,
    *,
    particle_size_m: float = PARTICLE_SIZE_M,
) -> Identification:
    """Search as `identify` does, and return the evidence for each phase as well.

    Args:
        diffractogram: The scan.
        elements: Symbols of the elements that may be present; None for the whole library.
        particle_size_m: Particle diameter for the microabsorption correction, m; 0 for none.

    Returns:
        The fit, and lines seen, alternatives and confidence of each phase.

    Raises:
        ConfigError: As `identify`.
        UnknownPluginError: As `identify`.
    """
    scan = prepare_scan(diffractogram)
    phases, models = _candidates(scan, None if elements is None else list(elements))
    state, found = Identifier(scan, models).run()
    kept = [phases[name] for name in state.names]
    fit = finish(diffractogram, scan, kept, state.refined, particle_size_m)
    if fit.analysis.status != "ok":
        unknown = fit.analysis.status == "unidentified"
        found = [doubted(phase, unknown=unknown) for phase in found]
    warnings = (*fit.analysis.warnings, *_remarks(fit.analysis, found))
    fit = replace(fit, analysis=fit.analysis.model_copy(update={"warnings": warnings}))
    return Identification(fit, tuple(found))


def _candidates(
    scan: Scan, symbols: list[str] | None
) -> tuple[dict[str, CrystalPhase], dict[str, PhaseModel]]:
    """Return phases and models by name, without those that the scan cannot show.

    Raises:
        ConfigError: If none is left.
    """
    from labenv.physics.structures import phase_library

    library = phase_library()
    models: dict[str, PhaseModel] = {}
    phases: dict[str, CrystalPhase] = {}
    for phase in library if symbols is None else library.search(symbols):
        try:
            models[phase.name] = model_of(phase, scan)
        except ConfigError:
            continue  # no line of it in the range, so nothing can be said about it
        phases[phase.name] = phase
    if not phases:
        what = "that shows in this scan" if symbols is None else f"of {', '.join(symbols)}"
        what = what if symbols is None or symbols else "of no elements"
        raise ConfigError(
            f"the structure library has no phase {what}; give structures as CIF files"
        )
    return phases, models


def _remarks(analysis: PhaseAnalysis, found: list[Found]) -> Iterator[str]:
    """Yield what the reader must know of the phases and of what none of them explains."""
    for phase in found:
        if phase.alternatives:
            yield (
                f"{phase.name}: {' or '.join(phase.alternatives)} would explain the scan about as "
                "well; the elements present decide"
            )
        if phase.confidence == "low":
            yield (
                f"{phase.name}: low confidence, {phase.evidence.seen} of {phase.evidence.lines} "
                "stronger lines are seen as its own"
            )
    peaks = [peak for peak in analysis.residual_peaks if peak.significance > _TOLD_SIGMAS]
    if peaks:
        angles = ", ".join(f"{peak.two_theta_deg:.2f}°" for peak in peaks[:_PEAKS_TOLD])
        more = " and more" if len(peaks) > _PEAKS_TOLD else ""
        yield f"no phase found explains the lines at {angles}{more}: something else is there"
