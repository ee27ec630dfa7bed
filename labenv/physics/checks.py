"""One quick look over the numbers of an array.

For the arrays of one sample, which are small, the array functions' own overhead is the cost of a
check; this is one compiled call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ABOVE_ZERO = float(np.nextafter(0.0, 1.0))
"""The least number above 0, for a limit that is not allowed itself."""

_FEW = 8


def all_between(
    values: NDArray[np.float64 | np.float32], low: float = -np.inf, high: float = np.inf
) -> bool:
    """Return whether all values are finite, at least `low` and at most `high`.

    Args:
        values: Any shape.
        low: Least value allowed.
        high: Greatest value allowed.

    Returns:
        Whether that is so; true of no values.
    """
    from labenv.physics.checks_kernel import flat_between

    return bool(flat_between(values.ravel(), low, high))


def distinct_rows(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the rows that differ, and which of them each row is.

    Args:
        values: Finite numbers, shape (N, C).

    Returns:
        The different rows, shape (K, C), and their index for each row, shape (N,).
    """
    code = np.full(len(values), -1, dtype=np.intp)
    kinds: list[int] = []
    left = 0
    while (
        len(values) and len(kinds) < _FEW
    ):  # mostly there are one to three, found faster than by sorting
        code[(values == values[left]).all(axis=1)] = len(kinds)
        kinds.append(left)
        left = int(np.argmin(code))
        if code[left] >= 0:
            return values[kinds], code
    found, which = np.unique(values, axis=0, return_inverse=True)
    return found, which.reshape(-1)
