"""The non-negative solver against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from labenv.analysis.batch_kernel import gram_rows
from labenv.analysis.least_squares import solve_nonnegative


def solve(matrix: np.ndarray, values: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    count = matrix.shape[1]
    x = np.empty(count)
    passive = np.zeros(count, dtype=bool) if start is None else start.copy()
    solve_nonnegative(matrix.T @ matrix, matrix.T @ values, passive, x)
    return x


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), columns=st.integers(1, 25))
def test_agrees_with_scipy_from_cold_and_warm_starts(seed: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.random((60, columns))
    values = rng.normal(size=60)
    expected, _ = nnls(matrix, values)
    assert_allclose(solve(matrix, values), expected, atol=1e-7)
    warm = rng.random(columns) > 0.5
    assert_allclose(solve(matrix, values, warm), expected, atol=1e-7)


def test_equal_columns_do_not_stop_the_solver() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((40, 4))
    matrix = np.hstack([matrix, matrix])
    values = matrix[:, :4] @ np.array([1.0, 0.0, 2.0, 3.0])
    x = solve(matrix, values)
    assert (x >= 0).all()
    assert_allclose(matrix @ x, values, atol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_blocked_normal_matrix_is_the_plain_product(size: int) -> None:
    rows = np.random.default_rng(size).normal(size=(size, 101))
    out = np.full((size, size), np.nan)
    gram_rows(rows, size, size, out)
    lower = np.tril_indices(size)
    assert_allclose(out[lower], (rows @ rows.T)[lower], rtol=1e-12, atol=1e-12)
