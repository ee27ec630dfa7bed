"""The timeline: what each station did when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv.campaigns.plan_text import count_text, duration_text
from labenv.web.svg import Scale, element, figure, nice_ticks, text, tooltip, x_axis

if TYPE_CHECKING:
    from labenv.campaigns.summary import CampaignSummary, StationUse

_WIDTH = 960
_LEFT, _RIGHT = 150, 930
_TOP = 16
_ROW = 38
_BAR = 20
_DAY_S = 86_400.0
_MOST_BARS = 8_000
_ROOM_FOR_NUMBER_PX = 16.0


def timeline_chart(summary: CampaignSummary) -> str:
    """Draw the occupation of every station over lab time.

    Args:
        summary: The campaign.

    Returns:
        SVG markup; a sentence if nothing ran.
    """
    uses = [use for use in summary.uses if use.finished_s > use.started_s][:_MOST_BARS]
    if not uses:
        return '<p class="empty">No operation has run.</p>'
    end_s = max(use.finished_s for use in uses)
    unit_s, unit = (_DAY_S, "days") if end_s > 2 * _DAY_S else (3600.0, "hours")
    across = Scale(0.0, end_s / unit_s, _LEFT, _RIGHT)
    stations = _ordered_stations(uses)
    bottom = _TOP + _ROW * len(stations) + 6
    best = summary.best
    best_index = -1 if best is None else best.index
    drawing = [_grid(across, bottom)]
    for row, station in enumerate(stations):
        y = _TOP + row * _ROW
        own = [use for use in uses if use.station == station]
        drawing.append(_station_label(station, own, end_s, y))
        drawing.extend(_bar(use, across, y, unit_s, use.index == best_index) for use in own)
    busiest = max(stations, key=lambda name: _busy_s(uses, name))
    share = _busy_s(uses, busiest) / end_s
    return figure(
        _WIDTH,
        bottom + 46,
        "Timeline of the stations",
        f"{len(stations)} stations over {duration_text(end_s)}; {busiest} is busiest, {share:.0%}.",
        *drawing,
        x_axis(across, bottom, f"lab time ({unit})"),
    )


def _ordered_stations(uses: list[StationUse]) -> list[str]:
    """Return furnaces first, for they take the time; then the others in order of first use."""
    first: dict[str, float] = {}
    for use in uses:
        first[use.station] = min(first.get(use.station, use.started_s), use.started_s)
    return sorted(first, key=lambda name: ("furnace" not in name, _natural(name, first)))


def _natural(name: str, first: dict[str, float]) -> tuple[float, str]:
    return (0.0, name) if "furnace" in name else (first[name], name)


def _busy_s(uses: list[StationUse], station: str) -> float:
    return sum(use.finished_s - use.started_s for use in uses if use.station == station)


def _grid(across: Scale, bottom: float) -> str:
    lines = [
        element("line", x1=across(t), x2=across(t), y1=_TOP - 6, y2=bottom, class_="grid")
        for t in nice_ticks(across.low, across.high)
    ]
    return element("g", *lines)


def _station_label(station: str, own: list[StationUse], end_s: float, y: float) -> str:
    busy = _busy_s(own, station) / end_s
    return element(
        "g",
        tooltip(f"{station}: busy {busy:.0%} of the time, {count_text(len(own), 'operation')}"),
        text(_LEFT - 12, y + _BAR - 9, station.replace("_", " "), "station", "end"),
        text(_LEFT - 12, y + _BAR + 5, f"{busy:.0%} busy", "tick", "end"),
    )


def _bar(use: StationUse, across: Scale, y: float, unit_s: float, is_best: bool) -> str:
    x = across(use.started_s / unit_s)
    width = max(across(use.finished_s / unit_s) - x, 1.0)
    gap = 1.0 if width > 4 else 0.0
    kind = "bar best" if is_best else "bar failed" if use.status == "failed" else "bar"
    waited = use.started_s - use.queued_s
    lines = [
        f"experiment {use.index}: {use.op.replace('_', ' ')}, "
        f"{duration_text(use.finished_s - use.started_s)} from {duration_text(use.started_s)}"
    ]
    if waited > 0:
        lines.append(f"waited {duration_text(waited)}")
    if use.status != "ok":
        lines.append(use.status)
    parts = [
        tooltip("\n".join(lines)),
        element("rect", x=x, y=y, width=width - gap, height=_BAR, rx=2, class_=kind),
    ]
    if width > _ROOM_FOR_NUMBER_PX:
        parts.append(text(x + (width - gap) / 2, y + 14, str(use.index), "on-bar", "middle"))
    return element("g", *parts)
