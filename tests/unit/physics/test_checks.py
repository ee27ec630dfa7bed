"""The one look over an array's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.physics.checks import ABOVE_ZERO, all_between, distinct_rows


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_one_value_that_is_not_finite_is_found_wherever_it_stands(
    bad: float, kind: type[np.float64 | np.float32]
) -> None:
    for place in range(35):
        values = np.ones((5, 7), dtype=kind)
        assert all_between(values)
        values.flat[place] = bad
        assert not all_between(values)


def test_limits_are_allowed_themselves() -> None:
    values = np.array([0.0, 1.0])
    assert all_between(values, 0.0, 1.0)
    assert not all_between(values, ABOVE_ZERO)
    assert not all_between(values, 0.0, 0.999)
    assert all_between(np.array([5e-324]), ABOVE_ZERO)


def test_parts_of_arrays_and_empty_ones() -> None:
    values = np.arange(12.0).reshape(3, 4)
    assert all_between(values[:, 1:3], 1.0, 10.0)
    assert not all_between(values.T, 0.0, 10.0)
    assert all_between(np.empty((0, 3)), 1.0)


@pytest.mark.parametrize("kinds", [1, 3, 8, 9, 40])
def test_rows_that_differ_are_found(kinds: int) -> None:
    rng = np.random.default_rng(kinds)
    values = rng.integers(0, 1000, (kinds, 3))[rng.integers(0, kinds, 200)].astype(float)
    rows, which = distinct_rows(values)
    assert np.array_equal(rows[which], values)
    assert len(rows) == len(np.unique(values, axis=0))


def test_no_rows_differ_where_there_are_none() -> None:
    rows, which = distinct_rows(np.empty((0, 2)))
    assert rows.shape == (0, 2)
    assert which.shape == (0,)
