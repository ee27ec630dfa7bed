"""Which phases of a library a scan may hold: a quick look before any refinement.

Every phase is tried as a pattern of fixed line shape at a ladder of relative changes of its
spacings, as solid solution and temperature bring about. A pattern's gain is the fall of χ² it would
bring to what is left of the scan, with its scale held down to what its strong lines leave room for:
a phase whose strong lines are missing gains little, however well its weak lines fall on others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.analysis.peaks import smooth
from labenv.analysis.twins import line_heights
from labenv.physics.profiles import add_peaks

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from labenv.analysis.pattern_model import PhaseModel
    from labenv.analysis.refinement import Refined
    from labenv.analysis.scan import Scan

STRETCHES = tuple(0.0025 * k for k in (0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5))
"""Relative changes of spacings that are tried, least first."""

MODEL_ERROR = 0.1
"""Part by which fitted lines commonly miss observed ones, beyond counting noise."""

_ETA = 0.4
_REACH = 3.0
_WIDER = 1.15
_FAINT = 0.004  # of the strongest line
_MOST_LINES = 160
_STRONG_LINES = 8
_STRONG = 0.15
_SHIFT_REACH_DEG, _SHIFT_STEP_DEG = 0.36, 0.12
_HIGHEST_SINE = 0.9848
_ALIKE = 0.3
_LEAST_GAIN = 30.0  # in χ²
_STRETCH_COST = 0.12  # of the gain, for a change of spacings of one per cent


class Match(NamedTuple):
    """A phase that may be there: name, relative change of its spacings, and gain in χ²."""

    name: str
    stretch: float
    gain: float


@dataclass
class Screen:
    """Patterns of all candidate phases on one scan's grid.

    Attributes:
        scan: The scan.
        models: Candidate phases by name.
    """

    scan: Scan
    models: dict[str, PhaseModel]
    _columns: NDArray[np.float64] = field(init=False, repr=False)
    _displacement: float = field(default=np.inf, init=False, repr=False)
    _strong: list[NDArray[np.int64]] = field(init=False, repr=False)
    _lines: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Pick each phase's lines worth looking at."""
        self._lines = []
        for model in self.models.values():
            heights = line_heights(model.lines)
            order = np.argsort(-heights)[:_MOST_LINES]
            order = order[heights[order] > _FAINT * heights[order[0]]]
            self._lines.append((model.lines.d_a[order], heights[order]))

    def first_matches(self, most: int) -> list[tuple[Match, float]]:
        """Return the phases that alone explain most of a scan.

        Args:
            most: How many.

        Returns:
            Matches, best first, each with its displacement shift in degrees.
        """
        scan = self.scan
        best: dict[str, tuple[Match, float]] = {}
        for shift in np.arange(-_SHIFT_REACH_DEG, _SHIFT_REACH_DEG + 0.01, _SHIFT_STEP_DEG):
            self._lay_out(-shift, 0.0)
            for match in self._matches(scan.counts - scan.background, 0.0 * scan.counts, 1.0):
                held = best.get(match.name)
                if held is None or match.gain > held[0].gain:
                    best[match.name] = (match, -float(shift))
        return sorted(best.values(), key=lambda pair: -pair[0].gain)[:most]

    def matches(self, refined: Refined, present: Collection[str], most: int) -> list[Match]:
        """Return the phases that best explain what a refinement leaves.

        Args:
            refined: The refinement.
            present: Names of phases not to look for.
            most: How many.

        Returns:
            Matches, best first, at most one a phase.
        """
        self._lay_out(float(refined.shared[0]), float(refined.shared[1]))
        lines = refined.calculated - refined.background
        found = self._matches(self.scan.counts - refined.calculated, lines, 0.5)
        others = [
            match for match in found if match.name not in present and match.gain > _LEAST_GAIN
        ]
        return sorted(others, key=lambda match: -match.gain)[:most]

    def alike(
        self, refined: Refined, index: int, present: Collection[str], most: int
    ) -> list[Match]:
        """Return the phases whose lines could stand for those of a fitted phase.

        Args:
            refined: The refinement.
            index: Which of its phases.
            present: Names of phases not to look for.
            most: How many.

        Returns:
            Matches, best first, that explain most of the phase's lines.
        """
        self._lay_out(float(refined.shared[0]), float(refined.shared[1]))
        pattern = refined.per_phase[index]
        lines = refined.calculated - refined.background - pattern
        whole = float((pattern**2 / np.maximum(refined.calculated, 1.0)).sum())
        found = self._matches(pattern, lines, 1.0)
        others = [m for m in found if m.name not in present and m.gain > _ALIKE * whole]
        return sorted(others, key=lambda match: -match.gain)[:most]

    def _matches(
        self, residual: NDArray[np.float64], lines: NDArray[np.float64], reach: float
    ) -> list[Match]:
        """Return the best stretch of each phase for a residual above fitted lines."""
        scan, width = self.scan, self.scan.priors.width_deg / self.scan.optics.step_deg
        level = np.maximum(scan.background, 1.0) + np.maximum(lines, 0.0)
        if not lines.any():
            level = level + np.maximum(residual, 0.0)
        around = smooth(np.maximum(lines, 0.0), 0.5 * width)
        variance = level + (MODEL_ERROR * (0.5 * lines + around)) ** 2
        room = smooth(residual + 0.7 * lines, 0.3 * width)
        weighted = residual / variance
        steps = max(1, int(0.25 * reach * width))
        moved = np.stack([np.roll(weighted, -step) for step in (-steps, 0, steps)])
        along = (self._columns @ moved.T).max(axis=1)
        bottom = np.maximum((self._columns**2) @ (1.0 / variance), 1e-30)
        scales = np.maximum(along, 0.0) / bottom
        rungs = len(STRETCHES)
        matches: list[Match] = []
        names = list(self.models)
        promising = along**2 / bottom
        for index, name in enumerate(names):
            best = Match(name, 0.0, 0.0)
            for rung, stretch in enumerate(STRETCHES):
                row = index * rungs + rung
                if scales[row] <= 0.0 or promising[row] <= best.gain:
                    continue
                scale = min(scales[row], self._most_scale(row, room))
                gain = scale * (2.0 * along[row] - scale * bottom[row])
                gain *= 1.0 - _STRETCH_COST * abs(stretch) * 100.0
                if gain > best.gain:
                    best = Match(name, stretch, float(gain))
            matches.append(best)
        return matches

    def _most_scale(self, row: int, room: NDArray[np.float64]) -> float:
        """Return the scale at which a third of the strong lines are as high as there is room."""
        places = self._strong[row]
        if not places.size:
            return 0.0
        heights = self._columns[row, places]
        ratios = np.maximum(room[places], 0.0) / np.maximum(heights, 1e-30)
        order = np.argsort(ratios)
        share = np.cumsum(heights[order]) / heights.sum()
        return 1.5 * float(ratios[order][np.searchsorted(share, 0.33)])

    def _lay_out(self, displacement_deg: float, zero_deg: float) -> None:
        """Compute the patterns for a displacement, unless they are there."""
        effective = displacement_deg - zero_deg
        if abs(effective - self._displacement) < 0.25 * self.scan.priors.width_deg:
            return
        self._displacement = effective
        rows = [
            self._pattern(d_a * (1.0 + stretch), heights, effective)
            for d_a, heights in self._lines
            for stretch in STRETCHES
        ]
        self._columns = np.stack([row for row, _ in rows])
        self._strong = [strong for _, strong in rows]

    def _pattern(
        self, d_a: NDArray[np.float64], heights: NDArray[np.float64], displacement_deg: float
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return a pattern of lines, shape (M,), and the places of the strong ones."""
        scan, optics = self.scan, self.scan.optics
        out = np.zeros(optics.points)
        strong = np.empty(0, dtype=np.int64)
        for place, (wavelength, share) in enumerate(optics.lines):
            sine = 0.5 * wavelength / d_a
            seen = sine < _HIGHEST_SINE
            sine = sine[seen]
            theta = np.arcsin(sine)
            area = heights[seen] * share
            area *= np.minimum(1.0, sine / max(scan.priors.overflow[0], 1e-3))
            centre = np.degrees(2.0 * theta) - displacement_deg * np.cos(theta)
            width = np.full(len(centre), _WIDER * scan.priors.width_deg)
            eta = np.full(len(centre), _ETA)
            add_peaks(optics.start_deg, optics.step_deg, centre, width, eta, area, _REACH, out)
            if place == 0:
                strong = np.rint((centre - optics.start_deg) / optics.step_deg).astype(np.int64)
        strong = strong[(strong >= 0) & (strong < optics.points)]
        if strong.size:
            strong = strong[np.argsort(-out[strong])][: 3 * _STRONG_LINES]
            strong = strong[out[strong] > _STRONG * out[strong[0]]][:_STRONG_LINES]
        return out, strong
