"""The best-so-far curve: score and step reward against lab time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from labenv.campaigns.plan_text import count_text, duration_text
from labenv.campaigns.score_text import score_text
from labenv.web.svg import (
    Scale,
    element,
    figure,
    nice_ticks,
    step_path,
    text,
    text_box,
    tooltip,
    x_axis,
    y_axis,
)

if TYPE_CHECKING:
    from labenv.campaigns.summary import CampaignSummary, ExperimentRow
    from labenv.web.svg import Anchor

    Point = tuple[float, float]

_WIDTH, _HEIGHT = 960, 440
_LEFT, _RIGHT = 70, 930
_TOP, _MIDDLE = 28, 268
_REWARD_TOP, _BOTTOM = 300, 390
_PURITIES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)
_DAY_S = 86_400.0
_MISSES = {"invalid", "failed_chemistry", "failed_machine", "cancelled"}


def progress_chart(summary: CampaignSummary) -> str:
    """Draw how the scores rose.

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
        value = score_text(best.value, summary.goal_fraction)
        said = f"The best score, {value}, came from experiment {best.index}."
    marks = {row.index: _place(row, across, merit, unit_s) for row in rows}
    return figure(
        _WIDTH,
        _HEIGHT,
        "Best so far",
        f"{count_text(len(rows), 'experiment')} over {duration_text(summary.lab_time_s)} of lab "
        f"time. {said}",
        y_axis(merit, (_LEFT, _RIGHT), f"score ({summary.target})", ticks=_PURITIES),
        _limit(summary, across, unit_s),
        _goal(summary, merit, list(marks.values())),
        _curve(summary, across, merit, unit_s),
        *(_mark(row, marks[row.index], row is best, summary.goal_fraction) for row in rows),
        _rewards(rows, across, unit_s),
        "" if best is None else _best_label(best, summary, merit, marks),
        x_axis(across, _BOTTOM, f"lab time ({unit})"),
    )


def _limit(summary: CampaignSummary, across: Scale, unit_s: float) -> str:
    """Return the line after which nothing is scored, if results came after it."""
    limit_s = summary.lab_time_limit_s
    if limit_s is None or not summary.late_rows:
        return ""
    x = across(limit_s / unit_s)
    return element(
        "g",
        tooltip(f"the budget ends after {duration_text(limit_s)} of lab time"),
        element("line", x1=x, x2=x, y1=_TOP - 8, y2=_BOTTOM, class_="limit"),
        text(x - 6, _MIDDLE + 18, "end of the budget", "note halo", "end"),
    )


def _goal(summary: CampaignSummary, merit: Scale, marks: list[Point]) -> str:
    y = merit(summary.goal_fraction)
    said = f"goal {summary.goal_fraction:g}"
    left, right = text_box(_LEFT + 6, y - 6, said), text_box(_RIGHT, y - 6, said, "end")
    side: Anchor = "end" if _hits(left, marks) > _hits(right, marks) else "start"
    return element(
        "g",
        tooltip(f"goal: a score of {summary.goal_fraction:g} for {summary.target}"),
        element("line", x1=_LEFT, x2=_RIGHT, y1=y, y2=y, class_="goal"),
        text(_RIGHT if side == "end" else _LEFT + 6, y - 6, said, "note halo", side),
    )


def _curve(summary: CampaignSummary, across: Scale, merit: Scale, unit_s: float) -> str:
    curve = summary.best_so_far()
    if not curve:
        return ""
    x_px = [across((row.finished_s or 0.0) / unit_s) for row, _ in curve]
    y_px = [merit(value) for _, value in curve]
    return element("path", d=step_path(x_px, y_px, across(across.high)), class_="best-line")


def _place(row: ExperimentRow, across: Scale, merit: Scale, unit_s: float) -> Point:
    return across((row.finished_s or 0.0) / unit_s), merit(row.value or 0.0)


def _mark(row: ExperimentRow, place: Point, is_best: bool, goal: float) -> str:
    x, y = place
    said = tooltip(_described(row, goal))
    if row.value is None:
        cross = f"M{x - 4:.1f},{y - 4:.1f}l8,8m0,-8l-8,8"
        return element("path", said, d=cross, class_="miss", tabindex=0)
    kind = "point best" if is_best else "point missed" if row.status in _MISSES else "point"
    return element("circle", said, cx=x, cy=y, r=6 if is_best else 4, class_=kind, tabindex=0)


def _best_label(
    best: ExperimentRow, summary: CampaignSummary, merit: Scale, marks: dict[int, Point]
) -> str:
    """Return the best experiment's number and score, where they cover least."""
    said = f"#{best.index}: {score_text(best.value, summary.goal_fraction)}"
    x, y = marks[best.index]
    others = [place for index, place in marks.items() if index != best.index]
    goal_y = merit(summary.goal_fraction)
    others += [(float(line_x), goal_y) for line_x in range(_LEFT, _RIGHT, 8)]
    others += _along_the_curve(summary, marks)
    sides: tuple[tuple[float, Anchor], ...] = ((-10.0, "end"), (10.0, "start"))
    fewest, chosen = math.inf, ""
    for dy in (20.0, -12.0, 36.0, -28.0, 52.0, 68.0):
        for dx, anchor in sides:
            box = text_box(x + dx, y + dy, said, anchor)
            outside = box[0] < _LEFT or box[1] > _RIGHT or box[2] < 0 or box[3] > _MIDDLE
            covered = _hits(box, others) + (1000 if outside else 0)
            if covered < fewest:
                fewest, chosen = covered, text(x + dx, y + dy, said, "note strong halo", anchor)
    return chosen


def _along_the_curve(summary: CampaignSummary, marks: dict[int, Point]) -> list[Point]:
    """Return points on the best-so-far curve, 8 px apart."""
    corners = [marks[row.index][0] for row, _ in summary.best_so_far()] + [float(_RIGHT)]
    heights = [
        min(marks[row.index][1] for row, _ in summary.best_so_far()[: count + 1])
        for count in range(len(corners) - 1)
    ]
    return [
        (float(x), height)
        for begin, end, height in zip(corners, corners[1:], heights, strict=False)
        for x in range(int(begin), int(end) + 1, 8)
    ]


def _hits(box: tuple[float, float, float, float], marks: list[Point], room: float = 5.0) -> int:
    """Return how many marks lie in a box or within `room` px of it."""
    left, right, top, bottom = box
    return sum(left - room < x < right + room and top - room < y < bottom + room for x, y in marks)


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


def _described(row: ExperimentRow, goal: float) -> str:
    value = "not scored" if row.value is None else f"score {score_text(row.value, goal)}"
    status = "" if row.status_text == "ok" else f" ({row.status_text})"
    after = duration_text(row.finished_s or 0.0)
    lines = [f"experiment {row.index}{status}: {value}, after {after}", row.plan]
    if row.message and row.status_text != "ok":
        lines.append(row.message)
    return "\n".join(lines)
