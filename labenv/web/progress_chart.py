"""The best-so-far curve: measured merit and step reward against lab time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv.campaigns.plan_text import duration_text
from labenv.web.svg import (
    Scale,
    element,
    figure,
    nice_ticks,
    step_path,
    text,
    tooltip,
    x_axis,
    y_axis,
)

if TYPE_CHECKING:
    from labenv.campaigns.summary import CampaignSummary, ExperimentRow

_WIDTH, _HEIGHT = 960, 440
_LEFT, _RIGHT = 70, 930
_TOP, _MIDDLE = 28, 268
_REWARD_TOP, _BOTTOM = 300, 390
_PURITIES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)
_DAY_S = 86_400.0
_MISSES = {"invalid", "failed_chemistry", "failed_machine", "cancelled"}


def progress_chart(summary: CampaignSummary) -> str:
    """Draw how the measured merit rose.

    Args:
        summary: The campaign.

    Returns:
        SVG markup; a sentence if no experiment has finished.
    """
    rows = summary.finished_rows
    if not rows:
        return '<p class="empty">No experiment has finished yet.</p>'
    unit_s, unit = (_DAY_S, "days") if summary.lab_time_s > 2 * _DAY_S else (3600.0, "hours")
    across = Scale(0.0, summary.lab_time_s / unit_s * 1.01, _LEFT, _RIGHT)
    merit = Scale(0.0, 1.0, _MIDDLE, _TOP, kind="purity")
    best = summary.best
    said = "No experiment could be scored."
    if best is not None and best.value is not None:
        said = f"The best measured value, {best.value:.3f}, came from experiment {best.index}."
    return figure(
        _WIDTH,
        _HEIGHT,
        "Best so far",
        f"{len(rows)} experiments over {duration_text(summary.lab_time_s)} of lab time. {said}",
        y_axis(merit, (_LEFT, _RIGHT), f"measured {summary.target}", ticks=_PURITIES),
        _goal(summary, merit),
        _curve(summary, across, merit, unit_s),
        *(_mark(row, across, merit, unit_s, row is best) for row in rows),
        _rewards(rows, across, unit_s),
        x_axis(across, _BOTTOM, f"lab time ({unit})"),
    )


def _goal(summary: CampaignSummary, merit: Scale) -> str:
    y = merit(summary.goal_fraction)
    return element(
        "g",
        tooltip(f"goal: {summary.goal_fraction:g} of {summary.target} by weight"),
        element("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_="goal"),
        text(_LEFT + 6, y - 6, f"goal {summary.goal_fraction:g}", "note halo"),
    )


def _curve(summary: CampaignSummary, across: Scale, merit: Scale, unit_s: float) -> str:
    curve = summary.best_so_far()
    if not curve:
        return ""
    x_px = [across((row.finished_s or 0.0) / unit_s) for row, _ in curve]
    y_px = [merit(value) for _, value in curve]
    return element("path", d=step_path(x_px, y_px, across(across.high)), class_="best-line")


def _mark(row: ExperimentRow, across: Scale, merit: Scale, unit_s: float, is_best: bool) -> str:
    x = across((row.finished_s or 0.0) / unit_s)
    said = tooltip(_described(row))
    if row.value is None:
        y = merit(0.0)
        cross = f"M{x - 4:.1f},{y - 4:.1f}l8,8m0,-8l-8,8"
        return element("path", said, d=cross, class_="miss", tabindex=0)
    y = merit(row.value)
    kind = "point best" if is_best else "point missed" if row.status in _MISSES else "point"
    mark = element("circle", said, cx=x, cy=y, r=6 if is_best else 4, class_=kind, tabindex=0)
    if not is_best:
        return mark
    side = "end" if x > (_LEFT + _RIGHT) / 2 else "start"
    shift = -10 if side == "end" else 10
    label = text(x + shift, y + 20, f"#{row.index}: {row.value:.3f}", "note strong halo", side)
    return mark + label


def _rewards(rows: tuple[ExperimentRow, ...], across: Scale, unit_s: float) -> str:
    rewards = [row.reward or 0.0 for row in rows]
    low, high = min(0.0, *rewards), max(0.0, *rewards)
    if low == high:
        high = 1.0
    scale = Scale(low, high, _BOTTOM - 4, _REWARD_TOP)
    zero = scale(0.0)
    parts = [y_axis(scale, (_LEFT, _RIGHT), "reward", ticks=nice_ticks(low, high, 2))]
    for row in rows:
        x = across((row.finished_s or 0.0) / unit_s)
        y = scale(row.reward or 0.0)
        said = tooltip(f"experiment {row.index}: reward {row.reward or 0.0:+.3f}")
        parts.append(
            element(
                "rect",
                said,
                x=x - 2,
                y=min(y, zero),
                width=4,
                rx=1,
                height=max(abs(zero - y), 1.0),
                class_="reward",
            )
        )
    return element("g", *parts)


def _described(row: ExperimentRow) -> str:
    value = "not scored" if row.value is None else f"measured {row.value:.3f}"
    status = "" if row.status == "ok" else f" ({row.status.replace('_', ' ')})"
    after = duration_text(row.finished_s or 0.0)
    lines = [f"experiment {row.index}{status}: {value}, after {after}", row.plan]
    if row.message and row.status != "ok":
        lines.append(row.message)
    return "\n".join(lines)
