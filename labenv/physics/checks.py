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
