"""Compiled loops over the rows of a batch of powders; `kinetics_powder` is their face.

A row is a dozen phases, so calls of array functions would cost far more than the arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@njit(cache=True, nogil=True, error_model="numpy")
def fill_segregation_weights(amounts: Floats, cation: Floats, weights: Floats) -> None:
    """Fill in what a mole of each phase adds to the segregation of its powder's cations.

    Args:
        amounts: Amounts, mol, shape (N, P).
        cation: Cations per mole of each phase, then their shares by kind, shape (P, 1 + kinds).
        weights: Filled, 1/mol, shape (N, P); zero where only one kind of cation is present.
    """
    rows, phases = amounts.shape
    kinds = cation.shape[1] - 1
    overall = np.empty(kinds)
    for n in range(rows):
        total = 0.0
        overall[:] = 0.0
        for p in range(phases):
            cations = amounts[n, p] * cation[p, 0]
            total += cations
            for k in range(kinds):
                overall[k] += cations * cation[p, 1 + k]
        widest = 0.0
        for k in range(kinds):
            overall[k] /= total
            widest += 2.0 * overall[k] * (1.0 - overall[k])
        widest *= total
        for p in range(phases):
            distance = 0.0
            for k in range(kinds):
                distance += abs(cation[p, 1 + k] - overall[k])
            weights[n, p] = cation[p, 0] * distance / widest if widest > 0.0 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def renew_rows(
    amounts: Floats, cation: Floats, weights: Floats, radius: Floats, segregation: Floats
) -> None:
    """Start contacts anew: absent phases get the mean radius of those present.

    Args:
        amounts: Amounts, mol, shape (N, P).
        cation: As for `fill_segregation_weights`.
        weights: As `fill_segregation_weights` fills them, shape (N, P).
        radius: Particle radii, m, shape (N, P); changed in place.
        segregation: Filled, shape (N,).
    """
    rows, phases = amounts.shape
    for n in range(rows):
        total, logarithm, mixed = 0.0, 0.0, 0.0
        for p in range(phases):
            cations = amounts[n, p] * cation[p, 0]
            total += cations
            logarithm += cations * np.log(radius[n, p])
            mixed += weights[n, p] * amounts[n, p]
        mean = np.exp(logarithm / total)
        for p in range(phases):
            if amounts[n, p] <= 0.0:
                radius[n, p] = mean
        segregation[n] = mixed
