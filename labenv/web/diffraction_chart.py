"""A diffractogram with its fit, the lines of the phases found, and what the fit left over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.web.svg import (
    Scale,
    element,
    figure,
    line_path,
    nice_ticks,
    text,
    tooltip,
    x_axis,
    y_axis,
)

if TYPE_CHECKING:
    from labenv.campaigns.fitted_scan import FittedScan, PhaseLines

_WIDTH = 960
_LEFT, _RIGHT = 70, 930
_TOP, _PLOT_BOTTOM = 40, 330
_TICK_ROW = 20
_RESIDUAL_HEIGHT = 84
_MOST_PHASES = 6


def diffraction_chart(scan: FittedScan, name: str) -> str:
    """Draw a scan, its fit and the residual.

    Args:
        scan: The scan and its fit.
        name: Whose scan it is, such as ``"experiment 12"``.

    Returns:
        SVG markup.
    """
    angle = scan.two_theta_deg
    across = Scale(float(angle[0]), float(angle[-1]), _LEFT, _RIGHT)
    top = max(float(scan.observed.max()), float(scan.fitted.max()), 1.0)
    up = Scale(0.0, top * 1.03, _PLOT_BOTTOM, _TOP, kind="root")
    shown = scan.lines[:_MOST_PHASES]
    residual_top = _PLOT_BOTTOM + 14 + _TICK_ROW * len(shown) + 10
    residual_bottom = residual_top + _RESIDUAL_HEIGHT
    found = ", ".join(f"{phase.name} {phase.weight_fraction:.3f}" for phase in scan.recorded.phases)
    return figure(
        _WIDTH,
        residual_bottom + 46,
        f"Diffractogram of {name}",
        f"Measured and fitted intensity. Phases by weight: {found or 'none'}.",
        y_axis(up, (_LEFT, _RIGHT), f"{_unit(scan.unit)} (root scale)", ticks=_root_ticks(top)),
        _dots(scan, across, up),
        element("path", d=line_path(across.many(angle), up.many(scan.fitted)), class_="fit"),
        element(
            "path", d=line_path(across.many(angle), up.many(scan.background)), class_="background"
        ),
        _legend(),
        *(_phase_row(phase, across, row) for row, phase in enumerate(shown)),
        _residual(scan, across, residual_top, residual_bottom),
        x_axis(across, residual_bottom, "2θ (degrees)"),
    )


def _dots(scan: FittedScan, across: Scale, up: Scale) -> str:
    """Return the measured points as one path of zero-length strokes; round caps make them dots."""
    x_px, y_px = across.many(scan.two_theta_deg), up.many(scan.observed)
    marks = "".join(f"M{x:.1f},{y:.1f}h0" for x, y in zip(x_px, y_px, strict=True))
    return element("path", d=marks, class_="observed")


def _legend() -> str:
    entries = (("observed-key", "measured"), ("fit", "fit"), ("background", "background"))
    parts: list[str] = []
    for place, (kind, label) in enumerate(entries):
        x = _RIGHT - 290 + place * 95
        if kind == "observed-key":
            parts.append(element("circle", cx=x + 12, cy=20, r=2.5, class_=kind))
        else:
            parts.append(element("path", d=f"M{x},20h22", class_=kind))
        parts.append(text(x + 28, 24, label, "note"))
    return element("g", *parts)


def _phase_row(phase: PhaseLines, across: Scale, row: int) -> str:
    y = _PLOT_BOTTOM + 14 + row * _TICK_ROW
    inside = phase.two_theta_deg[
        (phase.two_theta_deg >= across.low) & (phase.two_theta_deg <= across.high)
    ]
    marks = "".join(f"M{x:.1f},{y}v11" for x in across.many(inside))
    ticks = element("path", d=marks, class_=f"lines phase-{row}") if marks else ""
    label = text(_LEFT + 4, y + 10, phase.name, f"phase-name phase-{row}")
    return element("g", tooltip(f"lines of {phase.name} ({phase.formula})"), ticks, label)


def _residual(scan: FittedScan, across: Scale, top: float, bottom: float) -> str:
    """Return (measured - fit) over the counting uncertainty, which treats all angles alike."""
    sigma = np.sqrt(np.maximum(scan.fitted, 1.0))
    scaled = (scan.observed - scan.fitted) / sigma
    reach = max(4.0, float(np.ceil(np.percentile(np.abs(scaled), 99.5))))
    clipped = np.clip(scaled, -reach, reach)
    scale = Scale(-reach, reach, bottom - 4, top)
    label = "residual / σ" if scan.unit == "counts" else "residual / √fit"
    return element(
        "g",
        y_axis(scale, (_LEFT, _RIGHT), label, ticks=(-reach, 0.0, reach)),
        element(
            "path",
            d=line_path(across.many(scan.two_theta_deg), scale.many(clipped)),
            class_="residual",
        ),
    )


def _root_ticks(top: float) -> list[float]:
    """Return round numbers that stand about evenly on a root scale."""
    roots = nice_ticks(0.0, float(np.sqrt(top)), 5)
    values = [_rounded(root * root) for root in roots]
    return sorted({value for value in values if value <= top})


def _rounded(value: float) -> float:
    if value <= 0:
        return 0.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(round(value / power * 2) / 2 * power)


def _unit(unit: str) -> str:
    return unit.replace("_", " ").replace("counts per second", "counts/s")
