"""The one look over an array's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.physics.checks import ABOVE_ZERO, all_between


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
