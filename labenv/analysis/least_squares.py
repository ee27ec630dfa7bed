"""Small dense least squares for many patterns: non-negative solve on normal equations, in numba.

`solve_nonnegative` is Lawson & Hanson's active-set method applied to the normal equations
G x = b with x ≥ 0, which suits a shared design matrix: G is formed once, b per pattern.

Source:
    Lawson & Hanson 1974, Solving Least Squares Problems, chapter 23, doi:10.1137/1.9781611971217.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_PASSES = 200


@njit(cache=True, nogil=True)
def solve_subset(
    gram: NDArray[np.float64],
    right: NDArray[np.float64],
    chosen: NDArray[np.int64],
    size: int,
    factor: NDArray[np.float64],
    out: NDArray[np.float64],
) -> bool:
    """Solve G_cc x_c = b_c by Cholesky for the first `size` entries of `chosen`.

    Args:
        gram: Normal matrix, shape (k, k).
        right: Right-hand side, shape (k,).
        chosen: Indices of the unknowns that are free, shape (k,).
        size: How many of them count.
        factor: Work space, shape (k, k); holds the lower Cholesky factor on return.
        out: Solution for the chosen unknowns in their order, shape (k,).

    Returns:
        Whether the matrix was positive definite.
    """
    for i in range(size):
        for j in range(i + 1):
            total = gram[chosen[i], chosen[j]]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                if total <= 1e-11 * gram[chosen[i], chosen[i]]:
                    return False
                factor[i, i] = np.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    for i in range(size):
        total = right[chosen[i]]
        for k in range(i):
            total -= factor[i, k] * out[k]
        out[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        total = out[i]
        for k in range(i + 1, size):
            total -= factor[k, i] * out[k]
        out[i] = total / factor[i, i]
    return True


@njit(cache=True, nogil=True)
def solve_nonnegative(  # noqa: C901 - one active-set loop
    gram: NDArray[np.float64],
    right: NDArray[np.float64],
    passive: NDArray[np.bool_],
    x: NDArray[np.float64],
) -> None:
    """Minimise x'Gx/2 - b'x with x ≥ 0.

    Args:
        gram: Normal matrix, shape (k, k), positive semi-definite.
        right: Right-hand side, shape (k,).
        passive: Which unknowns start positive (a warm start), shape (k,); updated.
        x: Solution, shape (k,); overwritten.
    """
    count = gram.shape[0]
    factor = np.empty((count, count))
    chosen = np.empty(count, dtype=np.int64)
    trial = np.empty(count)
    banned = np.zeros(count, dtype=np.bool_)  # just left, or nearly dependent on others
    dependent = np.zeros(count, dtype=np.bool_)
    for i in range(count):
        x[i] = 0.0
    warm = True
    for _ in range(_MAX_PASSES):
        size = 0
        for i in range(count):
            if passive[i]:
                chosen[size] = i
                size += 1
        if not solve_subset(gram, right, chosen, size, factor, trial):
            # nearly dependent columns: give up the weakest of the chosen, for good
            worst = -1
            for i in range(size):
                c = chosen[i]
                if worst < 0 or x[c] <= x[worst]:
                    worst = c
            if worst < 0:
                return
            passive[worst], dependent[worst], x[worst] = False, True, 0.0
            continue
        step, blocking = 1.0, -1
        for i in range(size):
            c = chosen[i]
            if trial[i] <= 0.0:
                if warm:
                    passive[c] = False
                    blocking = c
                elif x[c] / (x[c] - trial[i] + 1e-300) < step:
                    step, blocking = x[c] / (x[c] - trial[i] + 1e-300), c
        if blocking >= 0 and warm:
            continue
        warm = False
        for i in range(size):
            c = chosen[i]
            x[c] += step * (trial[i] - x[c])
        if blocking >= 0:
            x[blocking], passive[blocking] = 0.0, False
            banned[blocking] = step <= 1e-12
            continue
        best, gain = -1, 0.0
        for i in range(count):
            if not (passive[i] or banned[i] or dependent[i]):
                slope = right[i]
                for j in range(size):
                    slope -= gram[i, chosen[j]] * x[chosen[j]]
                slope /= np.sqrt(gram[i, i] + 1e-300)
                if slope > gain:
                    best, gain = i, slope
        scale = 0.0
        for i in range(count):
            scale = max(scale, abs(right[i]) / np.sqrt(gram[i, i] + 1e-300))
        if best < 0 or gain <= 1e-10 * scale:
            return
        passive[best] = True
        for i in range(count):
            banned[i] = False
