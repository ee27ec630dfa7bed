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


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _extend(
    gram: NDArray[np.float64],
    right: NDArray[np.float64],
    chosen: NDArray[np.int64],
    i: int,
    factor: NDArray[np.float64],
    forward: NDArray[np.float64],
) -> bool:
    """Add the i-th of the chosen unknowns to a factorisation of those before it.

    Args:
        gram: Normal matrix, shape (k, k).
        right: Right-hand side, shape (k,).
        chosen: Indices of the unknowns that are free, shape (k,).
        i: Which is new.
        factor: Lower Cholesky factor, its diagonal inverted, shape (k, k); gets a row.
        forward: The factor's inverse times the right-hand side, shape (k,); gets a number.

    Returns:
        Whether the unknown is independent of those before it.
    """
    new = chosen[i]
    row, square, total = factor[i], 0.0, right[new]
    for j in range(i):
        value, other = gram[new, chosen[j]], factor[j]
        for k in range(j):
            value -= row[k] * other[k]
        value *= other[j]
        row[j] = value
        square += value * value
        total -= value * forward[j]
    left = gram[new, new] - square
    if not left > 1e-11 * gram[new, new]:
        return False
    row[i] = 1.0 / np.sqrt(left)
    forward[i] = total * row[i]
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _substitute_back(
    size: int,
    factor: NDArray[np.float64],
    forward: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Fill in the solution for the chosen unknowns."""
    for i in range(size):
        out[i] = forward[i]
    for i in range(size - 1, -1, -1):
        row, value = factor[i], out[i] * factor[i, i]
        out[i] = value
        for k in range(i):
            out[k] -= row[k] * value


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _steepest(
    gram: NDArray[np.float64],
    right: NDArray[np.float64],
    norm: NDArray[np.float64],
    held: NDArray[np.bool_],
    x: NDArray[np.float64],
    slope: NDArray[np.float64],
) -> tuple[int, float]:
    """Return which unknown that is not held would gain most by rising from 0, and its slope."""
    count = gram.shape[0]
    for i in range(count):
        slope[i] = right[i]
    for c in range(count):
        if x[c] != 0.0:
            value, row = x[c], gram[c]
            for i in range(count):
                slope[i] -= row[i] * value
    best, gain = -1, 0.0
    for i in range(count):
        if not held[i] and slope[i] * norm[i] > gain:
            best, gain = i, slope[i] * norm[i]
    return best, gain


@njit(cache=True, nogil=True, error_model="numpy")
def _leave(
    gone: int, chosen: NDArray[np.int64], size: int, passive: NDArray[np.bool_]
) -> tuple[int, int]:
    """Take an unknown from the chosen.

    Returns:
        How many are left, and how many of them stand before it.
    """
    place = 0
    while chosen[place] != gone:
        place += 1
    for i in range(place, size - 1):
        chosen[i] = chosen[i + 1]
    passive[gone] = False
    return size - 1, place


@njit(cache=True, nogil=True, error_model="numpy")
def solve_nonnegative(  # noqa: C901 - one active-set loop
    gram: NDArray[np.float64],
    right: NDArray[np.float64],
    passive: NDArray[np.bool_],
    x: NDArray[np.float64],
) -> None:
    """Minimise x'Gx/2 - b'x with x ≥ 0.

    The factorisation grows by a row with each unknown that becomes free, and is made anew from
    the row on of one that leaves.

    Args:
        gram: Normal matrix, shape (k, k), symmetric and positive semi-definite.
        right: Right-hand side, shape (k,).
        passive: Which unknowns start positive (a warm start), shape (k,); updated.
        x: Solution, shape (k,); overwritten.
    """
    count = gram.shape[0]
    factor, room = np.empty((count, count)), np.empty((4, count))
    forward, trial, norm, slope = room[0], room[1], room[2], room[3]
    chosen = np.empty(count, dtype=np.int64)
    held = np.empty(count, dtype=np.bool_)
    banned = np.zeros(count, dtype=np.bool_)  # just left, or nearly dependent on others
    dependent = np.zeros(count, dtype=np.bool_)
    scale, size, done = 0.0, 0, 0
    for i in range(count):
        x[i], norm[i] = 0.0, 1.0 / np.sqrt(gram[i, i] + 1e-300)
        scale = max(scale, abs(right[i]) * norm[i])
        if passive[i]:
            chosen[size] = i
            size += 1
    warm = True
    for _ in range(_MAX_PASSES):
        while done < size and _extend(gram, right, chosen, done, factor, forward):
            done += 1
        if done < size:
            # nearly dependent on those before it: given up, for good
            gone = chosen[done]
            dependent[gone], x[gone] = True, 0.0
            size, done = _leave(gone, chosen, size, passive)
            continue
        _substitute_back(size, factor, forward, trial)
        step, blocking = 1.0, -1
        for i in range(size):
            c = chosen[i]
            if trial[i] <= 0.0:
                if warm:
                    blocking = c
                elif x[c] / (x[c] - trial[i] + 1e-300) < step:
                    step, blocking = x[c] / (x[c] - trial[i] + 1e-300), c
        if warm and blocking >= 0:
            kept = 0
            for i in range(size):
                if trial[i] > 0.0:
                    chosen[kept] = chosen[i]
                    kept += 1
                else:
                    passive[chosen[i]] = False
            size, done = kept, 0
            continue
        warm = False
        for i in range(size):
            c = chosen[i]
            x[c] += step * (trial[i] - x[c])
        if blocking >= 0:
            x[blocking] = 0.0
            size, done = _leave(blocking, chosen, size, passive)
            banned[blocking] = step <= 1e-12
            continue
        for i in range(count):
            held[i] = passive[i] or banned[i] or dependent[i]
        best, gain = _steepest(gram, right, norm, held, x, slope)
        if best < 0 or gain <= 1e-10 * scale:
            return
        passive[best] = True
        chosen[size] = best
        size += 1
        banned[:] = False
