"""The best sample's diffractogram with a fit to it, computed again from what the store holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv.campaigns.fitted_scan import FittedScan, PhaseLines
from labenv_schemas.errors import LabEnvError
from labenv_schemas.measurement import Diffractogram

if TYPE_CHECKING:
    from labenv.campaigns.summary import CampaignSummary
    from labenv.store import Store
    from labenv_schemas.analysis import PhaseAnalysis
    from labenv_schemas.outcome import Outcome

_WORTH_FITTING = 0.002


def best_scan(store: Store, summary: CampaignSummary) -> FittedScan | None:
    """Fit the last diffractogram of a campaign's best experiment in full.

    The reward came from the fast analysis that the store holds. The curve of a plot comes from a
    full refinement with the phases that the fast one found.

    Args:
        store: Where the campaign is kept.
        summary: The campaign.

    Returns:
        The scan and its fit; None if nothing was measured or no pattern fits.
    """
    best = summary.best
    if best is None or not best.value:
        return None
    record = store.experiment(best.experiment_id, campaign_id=summary.campaign_id)
    scan = None if record.outcome is None else _last_scan(record.outcome)
    analysis = None if record.outcome is None else record.outcome.phase_analysis
    if scan is None or analysis is None:
        return None
    try:
        return _fitted(scan, analysis)
    except LabEnvError:
        return None


def _last_scan(outcome: Outcome) -> Diffractogram | None:
    scans = [item for item in outcome.measurements if isinstance(item, Diffractogram)]
    return scans[-1] if scans else None


def _fitted(scan: Diffractogram, analysis: PhaseAnalysis) -> FittedScan | None:
    from labenv.analysis import fit_phases

    found = [
        phase.name
        for phase in analysis.phases
        if phase.weight_fraction >= max(_WORTH_FITTING, 2.0 * phase.uncertainty)
    ]
    if not found:
        return None
    fit = fit_phases(scan, found)
    lines = {
        phase.name: PhaseLines(phase.name, phase.formula, positions)
        for phase, positions in zip(fit.phases, fit.line_positions, strict=True)
    }
    order = sorted(fit.analysis.phases, key=lambda phase: -phase.weight_fraction)
    return FittedScan(
        two_theta_deg=fit.two_theta_deg,
        observed=fit.observed,
        fitted=fit.fitted,
        background=fit.background,
        unit=fit.unit,
        recorded=analysis,
        refined=fit.analysis,
        lines=tuple(lines[phase.name] for phase in order if phase.name in lines),
    )
