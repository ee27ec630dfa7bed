"""The campaign report: one HTML file that loads nothing and needs no script."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from labenv.campaigns.plan_text import duration_text
from labenv.campaigns.provenance import versions
from labenv.campaigns.score_text import WHAT_A_SCORE_IS, late_text, number_text, score_text
from labenv.store.whole_files import whole_file
from labenv.web.diffraction_chart import diffraction_chart
from labenv.web.progress_chart import progress_chart
from labenv.web.timeline_chart import timeline_chart
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from labenv.campaigns.comparison import RecipeComparison
    from labenv.campaigns.fitted_scan import FittedScan
    from labenv.campaigns.summary import CampaignSummary, ExperimentRow

_MOST_ROWS = 2_000


def render_report(
    summary: CampaignSummary,
    scan: FittedScan | None = None,
    comparisons: Sequence[RecipeComparison] = (),
) -> str:
    """Return the report of a campaign as HTML.

    Args:
        summary: The campaign.
        scan: The best sample's diffractogram with its fit, if there is one.
        comparisons: Simulated beside published outcomes, if recipes were replayed.

    Returns:
        A complete HTML document.
    """
    import jinja2
    from markupsafe import Markup

    folder = files("labenv.web")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string((folder / "report.html.j2").read_text(encoding="utf-8"))
    best = summary.best
    return template.render(
        version=versions().get("labenv", "(not installed)"),
        style=Markup((folder / "report.css").read_text(encoding="utf-8")),
        summary=summary,
        tiles=_tiles(summary),
        progress=Markup(progress_chart(summary)),
        timeline=Markup(timeline_chart(summary)),
        scan=Markup(_drawn(scan, best)),
        phases=_phases(scan),
        fit=scan,
        best=best,
        comparisons=comparisons,
        comparison_note=_comparison_note(comparisons),
        rows=[_row(row, summary, row is best) for row in summary.rows[:_MOST_ROWS]],
        what_a_score_is=_sentence(WHAT_A_SCORE_IS),
        late=_sentence(late_text(summary)) if summary.late_rows else "",
        facts=_facts(summary),
    )


def write_report(path: Path, html: str) -> None:
    """Write a report, all of it or nothing.

    Args:
        path: Where to; folders are made as needed.
        html: The document.

    Raises:
        ConfigError: If the place cannot be written.
    """
    try:
        with whole_file(path) as fresh:
            fresh.write_text(html, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"the report cannot be written to {path}: {error.strerror or error}; "
            "name another place with --report"
        ) from None


def _tiles(summary: CampaignSummary) -> list[dict[str, str]]:
    best = summary.best
    reached = next((row for row in summary.finished_rows if row.success), None)
    tiles = [
        _tile("best score", "–" if best is None else score_text(best.value, summary.goal_fraction),
              "" if best is None else f"experiment {best.index}: {best.message}".rstrip(": ")),
        _tile(f"goal {summary.goal_fraction:g}", "reached" if reached else "not reached",
              f"by experiment {reached.index}" if reached else ""),
        _tile("experiments", str(len(summary.finished_rows)), _failures(summary)),
        _tile("lab time", duration_text(summary.lab_time_s), f"{summary.parallelism} in parallel"),
        _tile("cost", f"{summary.cost:,.0f}", "lab currency"),
    ]  # fmt: skip
    if summary.status not in {"finished"}:
        tiles.append(_tile("status", summary.status, ""))
    return tiles


def _tile(label: str, value: str, note: str) -> dict[str, str]:
    return {"label": label, "value": value, "note": note}


def _failures(summary: CampaignSummary) -> str:
    counts: dict[str, int] = {}
    for row in summary.finished_rows:
        said = "late" if row.late else row.status_text
        if said != "ok":
            counts[said] = counts.get(said, 0) + 1
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _row(row: ExperimentRow, summary: CampaignSummary, is_best: bool) -> dict[str, Any]:
    phases = ", ".join(f"{p.name} {p.weight_fraction:.3f}" for p in row.phases if p.weight_fraction)
    found = "; ".join([*([phases] if phases else []), *map(number_text, row.numbers)])
    return {
        "best": is_best,
        "index": row.index,
        "plan": f"{row.recipe}: {row.plan}" if row.recipe else row.plan,
        "message": row.message if row.status_text != "ok" else "",
        "status": row.status_text,
        "status_class": "soft" if row.status_text in {"ok", "running"} else "bad",
        "value": score_text(row.value, summary.goal_fraction).replace("-", "–"),
        "reward": "–" if row.reward is None else f"{row.reward:+.3f}",
        "phases": found or "–",
        "finished": "–" if row.finished_s is None else duration_text(row.finished_s),
        "cost": f"{row.cost:,.0f}",
    }


def _drawn(scan: FittedScan | None, best: ExperimentRow | None) -> str:
    return (
        "" if scan is None or best is None else diffraction_chart(scan, f"experiment {best.index}")
    )


def _phases(scan: FittedScan | None) -> list[dict[str, str]]:
    """Return the phases of the best scan, by the recorded and by the refined analysis."""
    if scan is None:
        return []
    refined = {phase.name: phase for phase in scan.refined.phases}
    rows: list[dict[str, str]] = []
    for phase in sorted(scan.recorded.phases, key=lambda phase: -phase.weight_fraction):
        again = refined.get(phase.name)
        if phase.weight_fraction < 5e-5 and again is None:
            continue
        rows.append({
            "name": phase.name,
            "formula": phase.formula,
            "recorded": f"{phase.weight_fraction:.4f} ± {phase.uncertainty:.4f}",
            "refined": "–"
            if again is None
            else f"{again.weight_fraction:.4f} ± {again.uncertainty:.4f}",
        })
    return rows


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _comparison_note(comparisons: Sequence[RecipeComparison]) -> str:
    judged = [item for item in comparisons if item.agrees is not None]
    agreeing = sum(1 for item in judged if item.agrees)
    return (
        f"Published recipes, replayed on the simulated lab: in {agreeing} of {len(judged)} the "
        "phases that the authors name are the ones found here. What a publication leaves open "
        "(milling, heating rate, powder grade) is filled in and said in the recipe file."
    )


def _facts(summary: CampaignSummary) -> list[tuple[str, str]]:
    begun = summary.begun_at
    facts = [
        ("campaign", summary.campaign_id),
        ("task", summary.task),
        ("policy", summary.policy),
        ("seed", str(summary.seed)),
        ("begun", "unknown" if begun is None else begun.strftime("%Y-%m-%d %H:%M:%S UTC")),
        ("status", summary.status),
    ]
    return facts + sorted(summary.provenance.items())
