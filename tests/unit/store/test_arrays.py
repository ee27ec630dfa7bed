from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from labenv.store.arrays import digest_of, pack, unpack
from labenv_schemas.errors import StoreError

FINITE = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(2**33), 2**33).map(float)


@given(
    npst.arrays(np.float64, npst.array_shapes(max_dims=3, min_side=0, max_side=9), elements=FINITE)
)
def test_any_array_comes_back_bit_for_bit(array):
    restored = unpack(pack(array))
    assert restored.shape == array.shape
    assert restored.dtype == np.float64
    assert restored.tobytes() == array.tobytes()


@given(npst.arrays(np.float64, st.integers(0, 50), elements=st.one_of(WHOLE, st.just(-0.0))))
def test_whole_numbers_come_back_bit_for_bit(array):
    assert unpack(pack(array)).tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("values", "encoding"),
    [
        ([0.0, 255.0], "<u1"),
        ([0.0, 256.0], "<u2"),
        ([0.0, 65536.0], "<u4"),
        ([-1.0, 1.0], "<i4"),
        ([0.0, 2.0**32], "delta"),
        ([0.0, 0.5], "delta"),
        ([0.0, -0.0], "delta"),
        ([], "delta"),
    ],
)
def test_the_smallest_encoding_is_chosen(values, encoding):
    assert pack(np.array(values, dtype=np.float64)).encoding == encoding


def test_a_scan_is_small():
    axis = np.linspace(10.0, 70.0, 4001)
    counts = np.random.default_rng(0).poisson(300.0, size=4001).astype(np.float64)
    assert len(pack(axis).data) < axis.nbytes / 4
    assert len(pack(counts).data) < counts.nbytes / 5


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match="not finite"):
        pack(np.array([0.0, bad]))


def test_other_dtypes_are_refused():
    with pytest.raises(ValueError, match="float32"):
        pack(np.zeros(3, dtype=np.float32))  # type: ignore[arg-type]


def test_shape_and_bytes_decide_the_key():
    array = np.arange(6.0)
    assert digest_of(array) == digest_of(array.copy())
    assert digest_of(array) != digest_of(array.reshape(2, 3))
    assert digest_of(np.array([0.0])) != digest_of(np.array([-0.0]))


def test_strided_arrays_are_kept_in_order():
    array = np.arange(12.0)[::-3]
    assert unpack(pack(array)).tolist() == [11.0, 8.0, 5.0, 2.0]


@pytest.mark.parametrize(
    "damage",
    [
        {"data": b"not zlib"},
        {"shape": "3"},
        {"encoding": "<f2"},
        {"encoding": "<u2"},
        {"digest": "0" * 64},
        {"dtype": "<f4"},
    ],
)
def test_damage_is_noticed(damage):
    packed = replace(pack(np.array([1.0, 2.0, 4.0, 8.0])), **damage)
    with pytest.raises(StoreError, match="damaged"):
        unpack(packed)


def test_restored_arrays_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        unpack(pack(np.arange(3.0)))[0] = 1.0
