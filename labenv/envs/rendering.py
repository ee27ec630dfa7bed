"""The state of a campaign as a few lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.envs.ledger import FITS, OUTCOMES

if TYPE_CHECKING:
    from labenv.envs.ledger import Ledger
    from labenv.envs.settings import SynthesisSettings


def render_text(ledger: Ledger, settings: SynthesisSettings) -> str:
    """Return the state of one episode as text.

    Args:
        ledger: One episode.
        settings: Of its environment.

    Returns:
        Lines for a terminal.
    """
    spec, budget = settings.task.spec, settings.budget
    limits = [
        _of(f"{ledger.submitted[0]}", budget.experiments, "experiments"),
        _of(f"{ledger.now_s[0] / 3600:.1f}", _hours(budget.lab_time_s), "h of lab time"),
        _of(f"{ledger.cost[0]:.0f}", budget.cost, "spent"),
    ]
    lines = [
        f"{spec.name}: {spec.target}, goal {spec.goal_fraction:.3f}",
        f"  {', '.join(limits)}; {int(ledger.in_flight[0])} in flight",
        f"  best score {ledger.best[0]:.4f}",
    ]
    outcome = OUTCOMES[int(ledger.last[0, 0])]
    if outcome != "none":
        lines.append(f"  last result: {outcome}, fit {FITS[int(ledger.last[0, 1])]}")
        fractions, uncertainties = ledger.last_phases[0]
        for k in np.argsort(-fractions, kind="stable"):
            if fractions[k] > 0.0:
                name = settings.task.phases[k]
                lines.append(f"    {name:<20} {fractions[k]:.4f} ± {uncertainties[k]:.4f}")
    return "\n".join(lines) + "\n"


def _of(used: str, limit: float | None, what: str) -> str:
    return f"{used} {what}" if limit is None else f"{used} of {limit:g} {what}"


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 3600
