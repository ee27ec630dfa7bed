"""The firing that a sample saw: the programme as it was followed, or the path that was taken."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from labenv_schemas.proposal import ControlledCooling, Heat, HeatSegment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.twins._furnace_model import Run

KELVIN: Final = 273.15
_MOST_SEGMENTS = 60
_SIMPLIFIED_WITHIN_K = 2.0
_FASTEST_K_PER_S, _SLOWEST_K_PER_S = 50.0, 1e-5


def fired(run: Run, settings: Mapping[str, Any], *, complete: bool) -> Heat | None:
    """Return the firing that a run amounts to.

    Args:
        run: The programme and what became of it.
        settings: Atmosphere, crucible and cooling, as whoever loaded the furnace chose them.
        complete: Whether the programme went to its end; a programme that was broken off cools with
            the furnace.

    Returns:
        The firing; None if the programme never began to move.
    """
    chosen = {name: settings[name] for name in ("atmosphere", "crucible", "cooling")
              if name in settings}  # fmt: skip
    whole = Heat.model_validate({"segments": [{"target": "500 K"}], **chosen})
    cooling = whole.cooling if complete else "furnace"
    segments = _as_programmed(run) if run.followed else _as_taken(run)
    if complete and run.followed and isinstance(cooling, ControlledCooling) and len(segments) > 1:
        segments = segments[:-1]  # the last ramp of the programme is the cooling
    if not segments:
        return None
    return whole.model_copy(update={"segments": tuple(segments), "cooling": cooling})


def _as_programmed(run: Run) -> list[HeatSegment]:
    segments: list[HeatSegment] = []
    from_c = run.start_c
    for number, step in enumerate(run.steps[: run.reached + 1]):
        moved_s, stayed_s = run.done_s[number]
        if number == run.reached and not moved_s and not stayed_s:
            break
        way_k = abs(step.target_c - from_c)
        whole = moved_s >= way_k / step.rate_k_per_s - 1e-3
        up = 1.0 if step.target_c > from_c else -1.0
        target_c = step.target_c if whole else from_c + up * step.rate_k_per_s * moved_s
        hold_s = step.dwell_s if stayed_s >= step.dwell_s - 1e-3 else stayed_s
        rate = min(_FASTEST_K_PER_S, step.rate_k_per_s)
        segments.append(HeatSegment(target_k=target_c + KELVIN, rate_k_per_s=rate, hold_s=hold_s))
        from_c = target_c
    return segments


def _as_taken(run: Run) -> list[HeatSegment]:
    """Return the path with corners left out that a straight line passes close by."""
    within_k = _SIMPLIFIED_WITHIN_K
    corners = _simplified(run.path, within_k)
    while len(corners) > _MOST_SEGMENTS:
        within_k *= 2.0
        corners = _simplified(run.path, within_k)
    segments: list[HeatSegment] = []
    for (from_s, from_c), (to_s, to_c) in pairwise(corners):
        lasted_s = to_s - from_s
        if lasted_s <= 0.0:
            continue
        rate = abs(to_c - from_c) / lasted_s
        target_k = max(to_c + KELVIN, KELVIN)
        if rate < 1e-4:
            segments.append(HeatSegment(target_k=target_k, rate_k_per_s=0.05, hold_s=lasted_s))
        else:
            rate = min(max(rate, _SLOWEST_K_PER_S), _FASTEST_K_PER_S)
            segments.append(HeatSegment(target_k=target_k, rate_k_per_s=rate))
    return segments


def _simplified(path: list[tuple[float, float]], within_k: float) -> list[tuple[float, float]]:
    """Return the corners that are farther from the lines between their neighbours than allowed."""
    keep, spans = {0, len(path) - 1}, [(0, len(path) - 1)]
    while spans:
        first, last = spans.pop()
        (from_s, from_c), (to_s, to_c) = path[first], path[last]
        slope = (to_c - from_c) / (to_s - from_s) if to_s > from_s else 0.0
        worst_k, at = within_k, -1
        for n in range(first + 1, last):
            off_k = abs(path[n][1] - from_c - slope * (path[n][0] - from_s))
            if off_k > worst_k:
                worst_k, at = off_k, n
        if at >= 0:
            keep.add(at)
            spans += [(first, at), (at, last)]
    return [path[n] for n in sorted(keep)]


__all__ = ["KELVIN", "fired"]
