"""What a score is, in words; scores as text that never contradicts whether the goal was reached."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from labenv.campaigns.plan_text import duration_text

if TYPE_CHECKING:
    from labenv.campaigns.summary import CampaignSummary
    from labenv_schemas.analysis import ScalarAnalysis

_FEWEST_DIGITS, _MOST_DIGITS = 3, 15

WHAT_A_SCORE_IS = (
    "score: the measured weight fraction of the target less its standard uncertainty (1 σ); halved "
    "where the fit is poor, 0 where the phases are not identified"
)


def score_text(value: float | None, goal: float | None = None) -> str:
    """Return a score for people.

    Args:
        value: The score, 0 to 1, or None.
        goal: The score that is success, if it is known.

    Returns:
        Three decimals, or as many more as it takes to stand on the same side of the goal as the
        score does; a dash for None.
    """
    if value is None:
        return "-"
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        shown = f"{value:.{digits}f}"
        if goal is None or (float(shown) >= goal) == (value >= goal):
            return shown
    return repr(value)


def number_text(number: ScalarAnalysis) -> str:
    """Return a measured number for people.

    Args:
        number: With its uncertainty.

    Returns:
        Such as ``tc zero 89.2 ± 0.3 K``; a doubtful one says so.
    """
    name = number.quantity.replace("_", " ")
    unit = "" if number.unit in {"1", "kg/kg"} else f" {number.unit}"
    doubt = "" if number.status == "ok" else f" ({number.status.replace('_', ' ')})"
    if number.uncertainty <= 0.0:
        return f"{name} {number.value:.6g}{unit}{doubt}"
    digits = 1 - math.floor(math.log10(number.uncertainty))
    if 0 <= digits <= 9:
        return f"{name} {number.value:.{digits}f} ± {number.uncertainty:.{digits}f}{unit}{doubt}"
    return f"{name} {number.value:.4g} ± {number.uncertainty:.2g}{unit}{doubt}"


def late_text(summary: CampaignSummary) -> str:
    """Return what became of experiments that were in flight when the lab time ran out.

    Args:
        summary: A campaign with such experiments.

    Returns:
        A sentence.
    """
    numbers = ", ".join(str(row.index) for row in summary.late_rows)
    return (
        f"late: in flight when the budget's {duration_text(summary.lab_time_limit_s or 0.0)} of "
        f"lab time ended, carried out to the end and not scored: {numbers}"
    )
