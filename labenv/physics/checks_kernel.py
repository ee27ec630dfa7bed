"""The compiled loop of `labenv.physics.checks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import njit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def flat_between(values: NDArray[np.float64 | np.float32], low: float, high: float) -> bool:
    """Return whether all of a flat array's values are finite and from `low` to `high`."""
    good = True
    for i in range(values.shape[0]):  # without a way out, so that it runs on vectors
        value = values[i]
        good &= (value >= low) & (value <= high) & (value - value == 0.0)
    return good
