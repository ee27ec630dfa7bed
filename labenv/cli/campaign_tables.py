"""Campaigns and experiments as tables and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labenv.campaigns.plan_text import count_text, duration_text
from labenv.campaigns.score_text import WHAT_A_SCORE_IS, late_text, number_text, score_text
from labenv.cli.output import print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labenv.campaigns.comparison import RecipeComparison
    from labenv.campaigns.summary import CampaignSummary, ExperimentRow

_COLUMNS = {
    "index": "#",
    "status": "status",
    "score": "score",
    "reward": "reward",
    "finished": "after",
    "plan": "plan",
    "phases": "phases found",
}
_NUMBERS = frozenset({"index", "score", "reward", "finished"})


def print_summary(summary: CampaignSummary) -> None:
    """Write the final table of a campaign and its result in a few lines.

    Args:
        summary: The campaign.
    """
    best = summary.best
    marked = None if best is None else summary.rows.index(best)
    cells = [_cells(row, summary.goal_fraction) for row in summary.rows]
    print_table(cells, _COLUMNS, numbers=_NUMBERS, marked=marked)
    print_lines("", *_result_lines(summary))


def print_comparisons(comparisons: Sequence[RecipeComparison]) -> None:
    """Write simulated beside published outcomes.

    Args:
        comparisons: One a recipe.
    """
    rows = [
        {
            "name": item.name,
            "published": item.published_text,
            "simulated": item.simulated_text,
            "same": item.verdict,
            "difference": item.difference_text,
        }
        for item in comparisons
    ]
    columns = {"name": "recipe", "published": "published", "simulated": "simulated",
               "same": "same phases", "difference": "fraction, simulated - published"}  # fmt: skip
    print_lines("")
    print_table(rows, columns)
    judged = [item for item in comparisons if item.agrees is not None]
    agreeing = sum(1 for item in judged if item.agrees)
    print_lines("", f"named phases agree in {agreeing} of {count_text(len(judged), 'recipe')}")


def summary_json(
    summary: CampaignSummary, comparisons: Sequence[RecipeComparison] = ()
) -> dict[str, Any]:
    """Return a campaign as plain data.

    Args:
        summary: The campaign.
        comparisons: Simulated beside published outcomes, if recipes were replayed.

    Returns:
        What ``--format json`` prints.
    """
    best = summary.best
    data: dict[str, Any] = {
        "campaign_id": summary.campaign_id,
        "name": summary.name,
        "status": summary.status,
        "task": summary.task,
        "policy": summary.policy,
        "seed": summary.seed,
        "experiments": len(summary.finished_rows),
        "lab_time_s": summary.lab_time_s,
        "cost": summary.cost,
        "goal": summary.goal_fraction,
        "goal_reached": any(row.success for row in summary.rows),
        "best": None if best is None else row_json(best),
        "rows": [row_json(row) for row in summary.rows],
    }
    if comparisons:
        data["comparisons"] = [_comparison_json(item) for item in comparisons]
    return data


def row_json(row: ExperimentRow) -> dict[str, Any]:
    """Return an experiment's row as plain data.

    Args:
        row: The row.

    Returns:
        Keys as the attributes of `ExperimentRow`.
    """
    return {
        "index": row.index,
        "experiment_id": row.experiment_id,
        "status": row.status,
        "plan": row.plan,
        "score": row.value,
        "reward": row.reward,
        "success": row.success,
        "submitted_s": row.submitted_s,
        "finished_s": row.finished_s,
        "cost": row.cost,
        "phases": [phase.model_dump(mode="json") for phase in row.phases],
        "numbers": [number.model_dump(mode="json") for number in row.numbers],
        "analysis_status": row.analysis_status,
        "message": row.message,
        "recipe": row.recipe,
        "late": row.late,
    }


def _cells(row: ExperimentRow, goal: float) -> dict[str, str]:
    phases = [f"{p.name} {p.weight_fraction:.3f}" for p in row.phases if p.weight_fraction >= 5e-4]
    found = ", ".join(phases[:3]) + (" ..." if len(phases) > 3 else "")
    found = "; ".join([*([found] if found else []), *map(number_text, row.numbers)])
    return {
        "index": str(row.index),
        "status": row.status_text,
        "score": score_text(row.value, goal),
        "reward": "-" if row.reward is None else f"{row.reward:+.3f}",
        "finished": "-" if row.finished_s is None else duration_text(row.finished_s),
        "plan": f"{row.recipe}: {row.plan}" if row.recipe else row.plan,
        "phases": _shortened(row.message) if row.status not in {"ok", "running"} else found or "-",
    }


def _shortened(message: str, most: int = 120) -> str:
    """Return a message for a table; `labenv show` has all of it."""
    return message if len(message) <= most else f"{message[:most].rsplit(' ', 1)[0]} ..."


def _result_lines(summary: CampaignSummary) -> list[str]:
    best = summary.best
    lines = [
        f"campaign {summary.campaign_id} ({summary.name}; {summary.policy}, seed {summary.seed}): "
        f"{summary.status}, "
        f"{count_text(len(summary.finished_rows), 'experiment')}, "
        f"{duration_text(summary.lab_time_s)} of lab time, cost {summary.cost:,.0f}"
    ]
    if best is None:
        lines.append("best: nothing could be scored")
    else:
        goal = summary.goal_fraction
        reached = "reached" if best.success else "not reached"
        why = f" ({best.message})" if best.message else ""
        lines += [
            f"best: score {score_text(best.value, goal)}{why}, experiment {best.index} "
            f"({best.experiment_id}); goal {goal:g} {reached}",
            f"      {best.plan}",
            WHAT_A_SCORE_IS,
        ]
    if summary.late_rows:
        lines.append(late_text(summary))
    return lines


def _comparison_json(item: RecipeComparison) -> dict[str, Any]:
    return {
        "name": item.name,
        "citation": item.citation,
        "published": item.published,
        "statement": item.statement,
        "plan": item.plan,
        "rationale": item.rationale,
        "status": item.status,
        "simulated": [phase.model_dump(mode="json") for phase in item.simulated],
        "agrees": item.agrees,
        "verdict": item.verdict,
        "differences": item.differences,
    }
