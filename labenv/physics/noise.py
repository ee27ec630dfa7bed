"""Counting statistics: Poisson counts whose row depends on its own generator alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from labenv.physics.checks import all_between
from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EXACT_BELOW = 30.0
"""Means up to this are drawn exactly; above it by a corrected normal quantile."""


def poisson_counts(
    mean: NDArray[np.float64], generators: Sequence[np.random.Generator]
) -> NDArray[np.float64]:
    """Draw Poisson counts, one generator a row.

    Means up to `EXACT_BELOW` are drawn by numpy's exact sampler. Above, the asymptotic expansion
    of the Poisson quantile turns normal deviates into counts; its distribution differs from
    Poisson's by less than 1e-3 in total variation, which no scan of 10⁴ points can tell.

    Args:
        mean: Expected counts, shape (N, M).
        generators: N generators; row i uses the i-th only, so batching changes nothing.

    Returns:
        Counts, whole numbers as float64, shape (N, M).

    Raises:
        SimulatorError: If a mean is negative or not finite, or the generators do not number N.

    Source:
        Giles 2016, doi:10.1145/2699466 (normal approximation of the inverse Poisson distribution).
    """
    if mean.ndim != 2 or len(generators) != len(mean):
        raise SimulatorError(f"means of shape {mean.shape} need as many generators as rows")
    if not all_between(mean, 0.0):
        raise SimulatorError("expected counts must be finite and not negative")
    counts, deviates = np.empty(mean.shape), np.empty(mean.shape[1])
    for row, generator in enumerate(generators):
        generator.standard_normal(out=deviates)
        if _from_normal(mean[row], deviates, counts[row]) <= EXACT_BELOW:
            low = mean[row] <= EXACT_BELOW
            counts[row, low] = generator.poisson(mean[row, low])
    return counts


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _from_normal(
    mean: NDArray[np.float64], deviates: NDArray[np.float64], out: NDArray[np.float64]
) -> float:
    """Return the lowest mean; fill counts from normal deviates, of no use below `EXACT_BELOW`."""
    lowest, least = np.inf, np.float32(EXACT_BELOW)
    one, two, sixth = np.float32(1.0), np.float32(2.0), np.float32(1.0 / 6.0)
    last = np.float32(1.0 / 72.0)
    for i in range(mean.shape[0]):
        lowest = min(lowest, mean[i])
        z = np.float32(deviates[i])
        root = np.sqrt(max(np.float32(mean[i]), least))
        square = z * z
        # a few standard deviations, for which single precision does
        change = root * z + sixth * (square - one) - last * z * (two + square) / root
        out[i] = max(0.0, np.floor(mean[i] + change + 0.5))
    return float(lowest)
