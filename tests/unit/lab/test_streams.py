"""Named streams are functions of their names and independent of each other."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from labenv.lab.streams import draw_rows, stream


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


def test_rows_draw_what_their_generators_draw() -> None:
    seeds = [0, 9, 10, -3, 2**62 - 1, *range(2**40, 2**40 + 2000)]
    keys = np.stack([np.arange(len(seeds)) % 700, np.arange(len(seeds)) % 13], axis=1)
    drawn = draw_rows("dosing_balance", seeds, keys, (9, 2, 1))
    for row, seed in enumerate(seeds):
        generator = stream(seed, "dosing_balance", *keys[row].tolist())
        np.testing.assert_array_equal(drawn.normals[row], generator.standard_normal(9))
        np.testing.assert_array_equal(drawn.uniforms[row], generator.random(2))
        assert drawn.words[row, 0] == generator.bit_generator.random_raw()
    assert np.abs(drawn.normals).max() > 3.7  # the tail, which has a branch of its own


def test_rows_of_no_experiments_draw_nothing() -> None:
    drawn = draw_rows("machine", [], np.zeros((0, 2), dtype=np.int64), (1, 1, 1))
    assert drawn.normals.shape == drawn.uniforms.shape == drawn.words.shape == (0, 1)


@pytest.mark.parametrize(("name", "keys"), [("x" * 41, 2), ("é", 2), ("x", 3)])
def test_rows_that_do_not_fit_a_block_are_refused(name: str, keys: int) -> None:
    with pytest.raises(ValueError, match="drawn by rows"):
        draw_rows(name, [1], np.zeros((1, keys), dtype=np.int64), (1, 0, 0))
