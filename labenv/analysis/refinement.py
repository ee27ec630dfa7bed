"""Whole-pattern refinement of one real scan: Gauss-Newton with slopes, bounds and weak priors.

Everything is refined at once, which analytic slopes and one small normal matrix make cheap. Priors
keep what the data do not determine near its typical value: a cell that would have to stretch by a
per cent to fit is refused, and a trace phase does not grow a texture.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.batch_kernel import gram_rows
from labenv.analysis.least_squares import solve_nonnegative
from labenv.analysis.pattern_model import SHARED, Optics, PhaseModel, Texture

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.physics.reflections import ReflectionList


_MOST_DAMPINGS = 6
_SETTLED = 1e-4


@dataclass(frozen=True)
class Priors:
    """Typical values of the parameters and their spreads (standard deviations).

    Attributes:
        width_deg: Typical full width of the scan's lines, degrees; sets the scale of all widths.
        overflow: Typical sinθ below which the beam is longer than the sample, and its spread.
        displacement_deg: Spread of the displacement shift, degrees.
        zero_deg: Spread of the zero error, degrees.
        level_deg: Spread of the distance of two surface levels' shifts, degrees.
        cell: Spread of the relative change of 1/d².
        texture: Spread of the texture exponents.
    """

    width_deg: float = 0.27
    overflow: tuple[float, float] = (0.08, 0.06)
    displacement_deg: float = 0.10
    zero_deg: float = 0.01
    level_deg: float = 0.15
    cell: float = 0.004
    texture: float = 0.7

    def shared_rows(self) -> list[tuple[float, float, float, float]]:
        """Return (typical value, spread, least, most) of the shared parameters."""
        h = self.width_deg
        return [
            (0.0, self.displacement_deg, -0.6, 0.6),
            (0.0, self.zero_deg, -0.1, 0.1),
            (0.25 * h * h, 0.25 * h * h, 0.0035 * h * h, 2.2 * h * h),
            (0.04 * h, 0.08 * h, 0.0, 0.4 * h),
            (*self.overflow, 0.005, 0.5),
            (0.0, self.level_deg, 0.0, 0.6),
            (1.0, 0.3, 0.03, 1.0),
        ]

    def phase_rows(
        self, phase: PhaseModel, strain: float = 0.0
    ) -> list[tuple[float, float, float, float]]:
        """Return (typical value, spread, least, most) of a phase's parameters.

        Args:
            phase: The phase.
            strain: Typical relative change of its 1/d².

        Returns:
            One row a parameter.
        """
        h = self.width_deg
        cell = (strain, self.cell, strain - 4 * self.cell, strain + 4 * self.cell)
        return [
            (0.0, np.inf, 0.0, np.inf),
            *[cell] * phase.cell_count,
            (0.4 * h, 0.6 * h, 0.0, 10.0 * h),
            (0.4 * h, 0.8 * h, 0.0, 15.0 * h),
            *[(0.0, self.texture, -4.0, 4.0)] * (phase.cell_count - 1),
        ]


@dataclass
class Refined:
    """Outcome of a refinement of P phases over M points.

    Attributes:
        shared: Shared parameters (see `PhaseModel.columns`).
        own: Parameters of each phase.
        scales: Scale of each phase, proportional to its weight fraction, shape (P,).
        scale_covariance: Covariance of the scales from counting statistics, shape (P, P).
        calculated: Fitted pattern, shape (M,).
        background: Fitted background, shape (M,).
        per_phase: Patterns of the phases, shape (P, M).
        chi2: Weighted sum of squared residuals.
        freedom: Degrees of freedom.
        r_wp: Weighted profile residual.
        passes: Iterations used.
    """

    shared: NDArray[np.float64]
    own: list[NDArray[np.float64]]
    scales: NDArray[np.float64]
    scale_covariance: NDArray[np.float64]
    calculated: NDArray[np.float64]
    background: NDArray[np.float64]
    per_phase: NDArray[np.float64]
    chi2: float
    freedom: int
    r_wp: float
    passes: int = 0

    @property
    def goodness_of_fit(self) -> float:
        """sqrt(χ² / degrees of freedom)."""
        return float(np.sqrt(self.chi2 / self.freedom))


@dataclass
class Refinement:
    """A refinement in progress.

    Attributes:
        counts: Counts, shape (M,).
        optics: Wavelengths and grid.
        phases: Phases.
        priors: Typical values.
        background_terms: Chebyshev terms of the background.
        stretches: Relative change of each phase's spacings to expect, such as that of a solid
            solution; empty for none.
    """

    counts: NDArray[np.float64]
    optics: Optics
    phases: list[PhaseModel]
    priors: Priors = field(default_factory=Priors)
    background_terms: int = 12
    stretches: Sequence[float] = ()

    def __post_init__(self) -> None:
        """Lay out parameters, priors, bounds and the background's columns."""
        points = self.optics.points
        angle = self.optics.start_deg + self.optics.step_deg * np.arange(points)
        unit = np.linspace(-1.0, 1.0, points)
        smooth = np.polynomial.chebyshev.chebvander(unit, self.background_terms - 1).T
        self._smooth = np.vstack([smooth, 10.0 / np.maximum(angle, 1.0)])
        self._starts = SHARED + np.cumsum([0, *[phase.count for phase in self.phases]])
        self._smooth_start = int(self._starts[-1])
        self._size = self._smooth_start + len(self._smooth)
        self._rows = np.zeros((self._size + 1, points))
        self._rows[self._smooth_start : self._size] = self._smooth
        self._lay_out_priors()

    def _lay_out_priors(self) -> None:
        size = self._size
        mean, spread = np.zeros(size), np.full(size, np.inf)
        low, high = np.full(size, -np.inf), np.full(size, np.inf)
        rows = self.priors.shared_rows()
        stretches = self.stretches or [0.0] * len(self.phases)
        for phase, stretch in zip(self.phases, stretches, strict=True):
            rows += self.priors.phase_rows(phase, -2.0 * stretch)
        table = np.array(rows)
        count = len(table)
        mean[:count], spread[:count], low[:count], high[:count] = table.T
        self._mean, self._precision = mean, 1.0 / spread**2
        self._low, self._high = low, high
        self.parameters = mean.copy()

    def scale_index(self, phase: int) -> int:
        """Return where a phase's scale stands among the parameters."""
        return int(self._starts[phase])

    def _evaluate(self) -> NDArray[np.float64]:
        """Fill the slopes for the current parameters.

        Returns:
            The calculated pattern, shape (M,).
        """
        shared = self.parameters[:SHARED]
        self._rows[:SHARED] = 0.0
        total = self.parameters[self._smooth_start :] @ self._smooth
        for phase, begin in zip(self.phases, self._starts, strict=False):
            own = self.parameters[begin : begin + phase.count]
            block = np.empty((SHARED + phase.count, self.optics.points))
            phase.columns(shared, own, self.optics, self._floor, block)
            self._rows[:SHARED] += block[:SHARED]
            self._rows[begin : begin + phase.count] = block[SHARED:]
            total += own[0] * block[SHARED]
        return np.asarray(total, dtype=np.float64)

    def start(self, background: NDArray[np.float64]) -> None:
        """Set starting scales, displacement and background.

        The scan's lines are moved step by step against those of the phases, and the best
        non-negative mixture over all shifts is taken.

        Args:
            background: Rough background, counts, shape (M,).
        """
        level = np.maximum(background, 1.0)
        self.parameters[self._smooth_start :] = np.linalg.lstsq(
            (self._smooth / np.sqrt(level)).T, background / np.sqrt(level), rcond=None
        )[0]
        self._floor = 0.05 * float(np.sqrt(np.median(level)))
        self._evaluate()
        where = [self.scale_index(p) for p in range(len(self.phases))]
        columns = self._rows[where].copy()
        norm = np.maximum(np.sqrt((columns**2 / level).sum(axis=1)), 1e-30)
        columns /= norm[:, None]
        weighted = columns / level
        gram = weighted @ columns.T
        net = self.counts - background
        reach = int(0.45 / self.optics.step_deg)
        stride = max(1, int(0.3 * self.priors.width_deg / self.optics.step_deg))
        best, best_scales, best_shift = 0.0, np.zeros(len(where)), 0
        for shift in sorted(range(-reach, reach + 1, stride), key=abs):
            right = weighted @ np.roll(net, -shift)
            scales = np.empty(len(where))
            solve_nonnegative(gram, right, np.zeros(len(where), dtype=np.bool_), scales)
            gain = float(scales @ right)
            if gain > 1.02 * best:
                best, best_scales, best_shift = gain, scales, shift
        self.parameters[0] = -best_shift * self.optics.step_deg
        least = 2e-3 * float(best_scales.max())
        self.parameters[where] = np.maximum(best_scales, least) / norm

    def line_areas(self) -> NDArray[np.float64]:
        """Return each phase's part of the pattern, counts, shape (P,)."""
        where = [self.scale_index(p) for p in range(len(self.phases))]
        return np.asarray(self._rows[where].sum(axis=1) * self.parameters[where])

    def coarse_indices(self) -> list[int]:
        """Return the parameters to hold while positions and widths are still rough."""
        held = [1, 3, 5, 6]
        for phase, begin in zip(self.phases, self._starts, strict=False):
            held += list(range(begin + 1, begin + 1 + phase.cell_count))
            held += list(range(begin + 2 + phase.cell_count, begin + phase.count))
        return held

    def run(self, passes: int = 25, frozen: Sequence[int] = ()) -> Refined:
        """Refine until χ² settles.

        Args:
            passes: Most iterations.
            frozen: Indices of parameters to hold.

        Returns:
            The outcome.
        """
        damping = 1e-3
        calculated = self._evaluate()
        done = 0
        for done in range(1, passes + 1):  # noqa: B007 - the count is reported
            variance = np.maximum(0.5 * (calculated + self.counts), 1.0)
            gram, right, chi2 = self._normal(calculated, variance)
            inflation = max(1.0, chi2 / max(len(self.counts) - self._size, 1))
            value = chi2 + inflation * self._penalty(self.parameters)
            before, rows = self.parameters.copy(), self._rows.copy()
            gain = 0.0
            for _ in range(_MOST_DAMPINGS):
                step = self._step(gram, right, inflation, damping, frozen)
                self.parameters = np.clip(before + step, self._low, self._high)
                trial = self._evaluate()
                residual = self.counts - trial
                new = float(residual @ (residual / variance))
                gain = value - new - inflation * self._penalty(self.parameters)
                if gain > 0.0:
                    damping = max(damping * 0.2, 1e-7)
                    calculated = trial
                    break
                damping *= 8.0
            if gain <= 0.0:
                self.parameters, self._rows = before, rows
            if gain < _SETTLED * value:
                break
        return self._outcome(calculated, done)

    def _normal(
        self, calculated: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        weight = 1.0 / np.sqrt(variance)
        rows = self._rows * weight
        rows[-1] = (self.counts - calculated) * weight
        size = self._size + 1
        gram = np.empty((size, size))
        gram_rows(rows, size, size, gram)
        gram = np.tril(gram) + np.tril(gram, -1).T
        return gram[:-1, :-1], gram[-1, :-1], float(gram[-1, -1])

    def _penalty(self, parameters: NDArray[np.float64]) -> float:
        return float(((parameters - self._mean) ** 2 * self._precision).sum())

    def _step(
        self,
        gram: NDArray[np.float64],
        right: NDArray[np.float64],
        inflation: float,
        damping: float,
        frozen: Sequence[int],
    ) -> NDArray[np.float64]:
        """Return the damped step; parameters pushed against a bound are held."""
        matrix = gram + np.diag(inflation * self._precision)
        slope = right - inflation * self._precision * (self.parameters - self._mean)
        held = (self.parameters <= self._low) & (slope < 0)
        held |= (self.parameters >= self._high) & (slope > 0)
        held[list(frozen)] = True
        free = np.flatnonzero(~held & (np.diag(matrix) > 0))
        size = np.sqrt(np.diag(matrix)[free])
        scaled = matrix[np.ix_(free, free)] / np.outer(size, size)
        scaled[np.diag_indices_from(scaled)] += damping
        step = np.zeros_like(slope)
        step[free] = np.linalg.solve(scaled, slope[free] / size) / size
        return step

    def _outcome(self, calculated: NDArray[np.float64], passes: int) -> Refined:
        variance = np.maximum(calculated, 1.0)
        gram, _, chi2 = self._normal(calculated, variance)
        freedom = max(len(self.counts) - self._size, 1)
        inflation = max(1.0, chi2 / freedom)
        matrix = gram + np.diag(inflation * self._precision)
        held = (self.parameters <= self._low) | (self.parameters >= self._high)
        where = [self.scale_index(p) for p in range(len(self.phases))]
        held[where] = False
        free = np.flatnonzero(~held & (np.diag(matrix) > 0))
        size = np.sqrt(np.diag(matrix)[free])
        scaled = matrix[np.ix_(free, free)] / np.outer(size, size)
        scaled[np.diag_indices_from(scaled)] += 1e-12
        inverse = np.linalg.inv(scaled) / np.outer(size, size)
        place = [int(np.searchsorted(free, w)) for w in where]
        per_phase = np.stack([self._rows[w] * self.parameters[w] for w in where])
        own = [
            self.parameters[b : b + phase.count].copy()
            for phase, b in zip(self.phases, self._starts, strict=False)
        ]
        return Refined(
            shared=self.parameters[:SHARED].copy(),
            own=own,
            scales=self.parameters[where].copy(),
            scale_covariance=inverse[np.ix_(place, place)],
            calculated=calculated,
            background=self.parameters[self._smooth_start :] @ self._smooth,
            per_phase=per_phase,
            chi2=chi2,
            freedom=freedom,
            r_wp=float(np.sqrt(chi2 / (self.counts @ (self.counts / variance)))),
            passes=passes,
        )


def make_models(reflections: Sequence[ReflectionList]) -> list[PhaseModel]:
    """Return models of phases ready for a refinement.

    Args:
        reflections: Reflections of each phase.

    Returns:
        One model a phase.
    """
    return [PhaseModel(lines, Texture.of(lines)) for lines in reflections]
