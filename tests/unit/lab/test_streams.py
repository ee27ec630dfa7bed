"""Named streams are functions of their names and independent of each other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from labenv.lab.streams import stream


def test_equal_names_give_equal_numbers():
    one = stream(7, "balance", 3).random(5)
    np.testing.assert_array_equal(one, stream(7, "balance", 3).random(5))
    np.testing.assert_array_equal(one, stream(7, "balance", int(np.int64(3))).random(5))


@pytest.mark.parametrize(
    "other",
    [
        (8, "balance", 3),
        (7, "balance", 4),
        (7, "balanc", "e", 3),
        (7, "balance", "3"),
        (7, 3, "balance"),
    ],
)
def test_any_difference_gives_other_numbers(other):
    assert stream(7, "balance", 3).random() != stream(*other).random()


def test_a_numpy_integer_is_an_integer():
    assert stream(np.int64(7), "a", np.int32(3)).random() == stream(7, "a", 3).random()


def test_streams_are_uncorrelated():
    rows = np.array([stream(0, "x", i).standard_normal(400) for i in range(60)])
    correlation = np.corrcoef(rows)[~np.eye(60, dtype=bool)]
    assert abs(correlation).max() < 0.3
    assert abs(correlation.mean()) < 0.01
    assert abs(rows.mean()) < 0.03
    assert abs(rows.std() - 1.0) < 0.03


def test_a_stream_pickles_in_mid_course():
    generator = stream(1, "a")
    generator.random(3)
    copy = pickle.loads(pickle.dumps(generator))
    np.testing.assert_array_equal(generator.random(4), copy.random(4))


def test_a_stream_refuses_to_be_asked_for_more_words_than_it_has():
    from labenv.lab.streams import _NamedSeed

    with pytest.raises(ValueError, match="8 words"):
        _NamedSeed(bytes(32)).generate_state(9)
