"""Counting statistics: Poisson counts whose row depends on its own generator alone.

A scan of two thousand points needs as many normal deviates. They come from a counter: the row's
generator gives one 64-bit key, and the i-th pair of deviates is a mix of the key and of i, put
through a table of the normal distribution's quantiles. So a row's counts can be drawn anywhere in a
batch, by any thread, without the interpreter.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from labenv.physics.checks import all_between
from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Singles = NDArray[np.float32]

EXACT_BELOW = 30.0
"""Means up to this are drawn exactly; above it by a corrected normal quantile."""

_CELLS = 4096  # of the table of quantiles
_TAIL = 16  # of its cells at either end, which the second table divides into as many again


def poisson_counts(
    mean: NDArray[np.float64],
    generators: Sequence[np.random.Generator],
    out: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Draw Poisson counts, one generator a row.

    Means up to `EXACT_BELOW` are drawn by numpy's exact sampler. Above, the asymptotic expansion
    of the Poisson quantile turns normal deviates into counts; its distribution differs from
    Poisson's by less than 1e-3 in total variation, which no scan of 10⁴ points can tell.

    Args:
        mean: Expected counts, shape (N, M).
        generators: N generators; row i uses the i-th only, so batching changes nothing.
        out: Where to put the counts, which may be `mean`; None for a new array.

    Returns:
        Counts, whole numbers as float64, shape (N, M).

    Raises:
        SimulatorError: If a mean is negative or not finite, or the generators do not number N.

    Source:
        Giles 2016, doi:10.1145/2699466 (normal approximation of the inverse Poisson distribution);
        Steele, Lea & Flood 2014, doi:10.1145/2660193.2660195 (mixing a counter).
    """
    if mean.ndim != 2 or len(generators) != len(mean):
        raise SimulatorError(f"means of shape {mean.shape} need as many generators as rows")
    if not all_between(mean, 0.0):
        raise SimulatorError("expected counts must be finite and not negative")
    keys = np.array([generator.bit_generator.random_raw() for generator in generators], np.uint64)
    return poisson_counts_by_keys(mean, keys, lambda row: generators[row], out)


def poisson_counts_by_keys(
    mean: NDArray[np.float64],
    keys: NDArray[np.uint64],
    generator: Callable[[int], np.random.Generator],
    out: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Draw Poisson counts of means that have been checked; see `poisson_counts`.

    Args:
        mean: Expected counts, finite and not negative, shape (N, M).
        keys: The first raw word of each row's generator, shape (N,).
        generator: Gives a row's generator after that word; asked for rows of low means only.
        out: Where to put the counts, which may be `mean`; None for a new array.

    Returns:
        Counts, whole numbers as float64, shape (N, M).
    """
    few = np.zeros(len(mean), dtype=np.int64)
    _count_low(mean, few)
    exact: list[tuple[int, NDArray[np.bool_], NDArray[np.int64]]] = []
    for row in np.flatnonzero(few).tolist():
        low = mean[row] <= EXACT_BELOW
        exact.append((row, low, generator(row).poisson(mean[row, low])))
    counts = np.empty(mean.shape) if out is None else out
    _draw_rows(keys, mean, _quantiles(), counts)
    for row, low, drawn in exact:
        counts[row, low] = drawn
    return counts


@lru_cache(maxsize=1)
def _quantiles() -> Singles:
    """Return normal quantiles at the edges of equal cells, for the whole and for the low tail."""
    quantile = NormalDist().inv_cdf
    fine = 1.0 / (_CELLS * (_CELLS // _TAIL))
    whole = [quantile(max(i, 0.01) / _CELLS) for i in range(_CELLS // 2)]
    whole = [*whole, 0.0, *[-value for value in reversed(whole)]]
    # the outermost cell of all, of one in a million, ends where half of it is further out
    tail = [quantile(max(i, 0.25) * fine) for i in range(_CELLS + 1)]
    return np.array([*whole, *tail], dtype=np.float32)


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_deviates(key: np.uint64, table: Singles, words: NDArray[np.uint32], out: Singles) -> None:
    """Fill in normal deviates, two for each count of a counter that starts at the key.

    Args:
        key: The key.
        table: As `_quantiles` makes it.
        words: Room, shape (M + 1,).
        out: Result, shape (M,).
    """
    half = (out.shape[0] + 1) // 2
    low, high = words[:half], words[half:]
    for i in range(half):
        bits = key + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
        low[i] = np.uint32(bits)
        high[i] = np.uint32(bits >> np.uint64(32))
    share, edge = np.float32(2.0**-20), table[_CELLS - _TAIL]
    for i in range(out.shape[0]):
        word = words[i]
        cell = np.uint64(word >> np.uint32(20))
        part = np.float32(np.int32(word & np.uint32(0xFFFFF))) * share
        begin = table[cell]
        out[i] = begin + part * (table[cell + np.uint64(1)] - begin)
    for i in range(out.shape[0]):
        if abs(out[i]) > edge:
            out[i] = _tail_deviate(words[i], table)


@njit(cache=True, nogil=True, error_model="numpy")
def _tail_deviate(word: np.uint32, table: Singles) -> float:
    """Return the deviate of a word in the outer cells, by the second table."""
    upper = word >= np.uint32(0x80000000)
    depth = np.uint32(0xFFFFFFFF) - word if upper else word
    cell = np.int64(depth >> np.uint32(12)) + _CELLS + 1
    part = np.float32(np.int32(depth & np.uint32(0xFFF))) * np.float32(2.0**-12)
    value = table[cell] + part * (table[cell + 1] - table[cell])
    return float(-value if upper else value)


@njit(cache=True, nogil=True, error_model="numpy")
def _draw_rows(
    keys: NDArray[np.uint64],
    mean: NDArray[np.float64],
    table: Singles,
    counts: NDArray[np.float64],
) -> None:
    """Fill counts, of no use where the mean is up to `EXACT_BELOW`."""
    deviates = np.empty(mean.shape[1], dtype=np.float32)
    words = np.empty(mean.shape[1] + 1, dtype=np.uint32)
    for row in range(mean.shape[0]):
        _fill_deviates(keys[row], table, words, deviates)
        _from_normal(mean[row], deviates, counts[row])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _from_normal(mean: NDArray[np.float64], deviates: Singles, out: NDArray[np.float64]) -> None:
    """Fill counts from normal deviates."""
    least = np.float32(EXACT_BELOW)
    one, two, sixth = np.float32(1.0), np.float32(2.0), np.float32(1.0 / 6.0)
    last = np.float32(1.0 / 72.0)
    for i in range(mean.shape[0]):
        z, expected = deviates[i], np.float32(mean[i])
        root = np.sqrt(expected if expected > least else least)
        square = z * z
        # a few standard deviations, for which single precision does
        change = root * z + sixth * (square - one) - last * z * (two + square) / root
        out[i] = np.floor(mean[i] + change + 0.5)


@njit(cache=True, nogil=True, error_model="numpy")
def _count_low(mean: NDArray[np.float64], low: NDArray[np.int64]) -> None:
    """Fill in how many means of each row are up to `EXACT_BELOW`."""
    for row in range(mean.shape[0]):
        number = 0
        for i in range(mean.shape[1]):
            number += 1 if mean[row, i] <= EXACT_BELOW else 0
        low[row] = number
