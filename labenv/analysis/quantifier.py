"""Phase fractions of many scans at once, from one instrument and one set of candidate phases.

    quantifier = PhaseQuantifier(phases, spec)
    result = quantifier.run_batch(counts)           # counts (N, points) on spec.two_theta_deg
    result.weight_fractions, result.uncertainties   # (N, P)

Each scan is fitted by a non-negative sum of the phases' patterns at a few crystallite sizes and a
smooth background; the sample displacement is found by shifting the scan until it fits. The first
passes share one normal matrix among all scans; the last re-weights by the counting variance of
the scan itself and gives the covariance. A row's result does not depend on the batch it came in.

What is not modelled: texture, microabsorption, cell changes. `labenv.analysis.refinement` does, at
a thousand times the cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.batch_kernel import quantify_scans
from labenv.physics.checks import all_between
from labenv.physics.diffraction import DiffractometerSpec, line_pattern
from labenv.physics.reflection_cache import reflections_of
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.physics.structures.phase import CrystalPhase

FIT_SIZES_M = (15e-9, 60e-9, 400e-9)
"""Crystallite sizes whose patterns are mixed to stand for any size in between, m."""

BIN_DEG = 0.06
"""Width of the bins in which a scan's points are summed up, degrees; lines are 0.12 or wider."""

_FEWEST_BINS = 64

MODEL_ERROR = 0.015
"""Standard uncertainty from mixing three sizes, relative to sqrt(w (1 - w)); measured in tests."""


@dataclass(frozen=True)
class QuantifiedBatch:
    """Results for N scans and P candidate phases.

    Attributes:
        weight_fractions: Of the crystalline part, shape (N, P); rows sum to 1, or to 0 where no
            line was found.
        uncertainties: Standard uncertainties of the weight fractions, shape (N, P).
        crystalline_scale: Sum of the phases' coefficients, 1 for a fully crystalline powder on an
            instrument of the spec's brightness, shape (N,).
        goodness_of_fit: sqrt(χ² / degrees of freedom), shape (N,).
        r_wp: Weighted profile residual of the bins, shape (N,).
        misfit: Part of the lines' weighted intensity that the fit leaves unexplained beyond
            counting noise, shape (N,); 0 is perfect.
        shift_deg: Fitted shift of the lines at 2θ = 0, degrees, shape (N,).
    """

    weight_fractions: NDArray[np.float64]
    uncertainties: NDArray[np.float64]
    crystalline_scale: NDArray[np.float64]
    goodness_of_fit: NDArray[np.float64]
    r_wp: NDArray[np.float64]
    misfit: NDArray[np.float64]
    shift_deg: NDArray[np.float64]


class PhaseQuantifier:
    """Fits scans of one instrument with one set of phases; built once, used for any number."""

    def __init__(
        self,
        phases: Sequence[CrystalPhase],
        spec: DiffractometerSpec | None = None,
        background_terms: int = 6,
    ) -> None:
        """Compute the design matrix.

        Args:
            phases: Candidate phases, P of them.
            spec: The instrument; scans must lie on its grid.
            background_terms: Chebyshev terms of the background.

        Raises:
            ConfigError: If there is no phase, or the cell of one is too large.
        """
        if not phases:
            raise ConfigError("a quantification needs at least one candidate phase")
        self.phases = tuple(phases)
        self.spec = spec or DiffractometerSpec()
        angle = self.spec.two_theta_deg
        lines = [reflections_of(p, self.spec.k_alpha_a[0], float(angle[-1]) + 2.0) for p in phases]
        columns = [line_pattern(x, self.spec, size) for x in lines for size in FIT_SIZES_M]
        unit = 2.0 * (angle - angle[0]) / (angle[-1] - angle[0]) - 1.0
        smooth = np.polynomial.chebyshev.chebvander(unit, background_terms - 2).T
        smooth = np.vstack([smooth, 10.0 / np.maximum(angle, 1.0)])
        every = max(1, int(BIN_DEG / self.spec.step_deg + 1e-6))
        self._every = every if angle.size >= _FEWEST_BINS * every else 1
        design = np.ascontiguousarray(self._binned(np.vstack([np.stack(columns), smooth])))
        # columns of like size keep the normal matrix well conditioned
        norm = np.abs(design).max(axis=1)
        design = (design / norm[:, None]).astype(np.float32)
        typical = self._binned(self.spec.background()).sum(axis=0)
        weights = typical.mean() / typical
        weighted = (design * weights).astype(np.float32)
        bound = len(columns)
        full = weighted.astype(np.float64) @ design.astype(np.float64).T
        inverse = np.linalg.inv(full[bound:, bound:])
        elimination = inverse @ full[bound:, :bound]
        gram = full[:bound, :bound] - full[:bound, bound:] @ elimination
        unit_scale = 1.0 / (norm[:bound] * self.spec.counts_per_second)
        attenuation = np.array([x.attenuation_m2_kg for x in lines])
        cosine = self._binned(np.cos(np.radians(angle) / 2.0)[None])[0] / self._every
        self._tables = (
            design, weighted, gram, elimination, inverse, weights.astype(np.float32), unit_scale,
            attenuation, cosine.astype(np.float32),
        )  # fmt: skip

    def _binned(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows of values a point, shape (k, points), summed up in bins, shape (k, M)."""
        bins = values.shape[1] // self._every
        parts = values[:, : bins * self._every].reshape(len(values), bins, self._every)
        return np.asarray(parts.sum(axis=2))

    def run_batch(
        self,
        counts: NDArray[np.float64 | np.float32],
        seconds_per_step: float | NDArray[np.float64] = 1.0,
    ) -> QuantifiedBatch:
        """Quantify N scans.

        Args:
            counts: Counts, shape (N, points) on the spec's grid.
            seconds_per_step: Counting time, s, scalar or shape (N,); scales `crystalline_scale`
                only.

        Returns:
            Fractions with uncertainties and quality of fit, row by row.

        Raises:
            ConfigError: If the shape does not fit the grid or a count is not finite.
        """
        scans = np.ascontiguousarray(np.atleast_2d(counts), dtype=np.float64)
        if scans.ndim != 2 or scans.shape[1] != self.spec.points:
            raise ConfigError(
                f"scans of shape {scans.shape} do not lie on the grid of {self.spec.points} points"
            )
        if not all_between(scans):
            raise ConfigError("a scan holds counts that are not finite")
        number, phases = len(scans), len(self.phases)
        fractions, errors = np.zeros((number, phases)), np.zeros((number, phases))
        quality = np.zeros((number, 5))
        bin_deg = self._every * self.spec.step_deg
        quality[:, 4] = 1.0 / bin_deg
        quantify_scans(*self._tables, scans, fractions, errors, quality)
        seconds = np.broadcast_to(np.asarray(seconds_per_step, dtype=np.float64), (number,))
        systematic = MODEL_ERROR * np.sqrt(fractions * (1.0 - fractions))
        return QuantifiedBatch(
            weight_fractions=fractions,
            uncertainties=np.hypot(errors, systematic),
            crystalline_scale=quality[:, 0] / seconds,
            goodness_of_fit=quality[:, 1],
            r_wp=quality[:, 2],
            misfit=quality[:, 3],
            shift_deg=quality[:, 4] * bin_deg,
        )
