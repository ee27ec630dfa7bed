"""The streams of `labenv.lab.streams` for many rows at once, compiled: the same draws, bit for bit.

A batch of a thousand experiments opens thousands of streams and takes a handful of numbers from
each; to make a NumPy generator for each costs more than the weighing that it is for. Here the name
is hashed, the bit generator seeded and the numbers drawn without the interpreter.

Source:
    Saarinen & Aumasson 2015, RFC 7693 (BLAKE2b); O'Neill 2014, HMC-CS-2014-0905 (PCG);
    Marsaglia & Tsang 2000, doi:10.18637/jss.v005.i08 (ziggurat, with NumPy's tables, as numba has
    them).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from numba.np.random import _constants as ziggurat  # noqa: PLC2701 - NumPy exports them nowhere

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Words = NDArray[np.uint64]

_tables: Any = ziggurat
_KI, _WI, _FI = _tables.ki_double, _tables.wi_double, _tables.fi_double
_TAIL, _INVERSE_TAIL = float(_tables.ziggurat_nor_r), float(_tables.ziggurat_nor_inv_r)

_IV = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
)  # fmt: skip
_SIGMA = np.array(
    [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ],
    dtype=np.int64,
)
_ROUNDS = 12
BLOCK = 128  # bytes of a name that one block of the hash takes
_MULTIPLIER_HIGH, _MULTIPLIER_LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


def first_state(digest_bytes: int, person: bytes) -> Words:
    """Return the state with which a hash begins, shape (8,).

    Args:
        digest_bytes: Length of the digest.
        person: What sets these hashes apart from others, 16 bytes at most.
    """
    state = _IV.copy()
    state[0] ^= np.uint64(0x01010000 ^ digest_bytes)
    state[6:] ^= np.frombuffer(person.ljust(16, b"\0"), dtype="<u8")
    return state


@njit(cache=True, nogil=True, error_model="numpy")
def _mix(  # noqa: PLR0913 - as the RFC has it
    v: Words, a: int, b: int, c: int, d: int, x: np.uint64, y: np.uint64
) -> None:
    v[a] += v[b] + x
    t = v[d] ^ v[a]
    v[d] = (t >> _HALF) | (t << _HALF)
    v[c] += v[d]
    t = v[b] ^ v[c]
    v[b] = (t >> np.uint64(24)) | (t << np.uint64(40))
    v[a] += v[b] + y
    t = v[d] ^ v[a]
    v[d] = (t >> np.uint64(16)) | (t << np.uint64(48))
    v[c] += v[d]
    t = v[b] ^ v[c]
    v[b] = (t >> np.uint64(63)) | (t << _ONE)


@njit(cache=True, nogil=True, error_model="numpy")
def _hash(first: Words, message: Words, length: int, v: Words, digest: Words) -> None:
    """Fill in the first words of the hash of a message of one block."""
    for i in range(8):
        v[i], v[8 + i] = first[i], _IV[i]
    v[12] ^= np.uint64(length)
    v[14] = ~v[14]
    for turn in range(_ROUNDS):
        t = turn % 10
        for i in range(4):
            x, y = message[int(_SIGMA[t, 2 * i])], message[int(_SIGMA[t, 2 * i + 1])]
            _mix(v, i, 4 + i, 8 + i, 12 + i, x, y)
        for i in range(4):
            b, c, d = 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4
            x, y = message[int(_SIGMA[t, 8 + 2 * i])], message[int(_SIGMA[t, 9 + 2 * i])]
            _mix(v, i, b, c, d, x, y)
    for i in range(digest.shape[0]):
        digest[i] = first[i] ^ v[i] ^ v[8 + i]


@njit(cache=True, nogil=True, error_model="numpy")
def _put_number(value: int, text: NDArray[np.uint8], at: int) -> int:
    """Write a number in decimals.

    Returns:
        Where it ends.
    """
    if value < 0:
        text[at] = 45
        at += 1
    rest = np.uint64(abs(value))
    digits, copy = 1, rest // np.uint64(10)
    while copy > np.uint64(0):
        digits, copy = digits + 1, copy // np.uint64(10)
    for k in range(digits):
        text[at + digits - 1 - k] = np.uint8(np.uint64(48) + rest % np.uint64(10))
        rest //= np.uint64(10)
    return at + digits


@njit(cache=True, nogil=True, error_model="numpy")
def _step(state: Words) -> None:
    """Move a generator on: state times the multiplier plus increment, in 128 bits."""
    high, low = state[0], state[1]
    a, b = low >> _HALF, low & _LOW
    c, d = _MULTIPLIER_LOW >> _HALF, _MULTIPLIER_LOW & _LOW
    bd, ad = b * d, a * d
    middle = ad + (bd >> _HALF)
    other = b * c + (middle & _LOW)
    upper = a * c + (middle >> _HALF) + (other >> _HALF)
    upper += low * _MULTIPLIER_HIGH + high * _MULTIPLIER_LOW
    product = (other << _HALF) | (bd & _LOW)
    state[1] = product + state[3]
    carry = _ONE if state[1] < product else np.uint64(0)
    state[0] = upper + state[2] + carry


@njit(cache=True, nogil=True, error_model="numpy")
def _seed(digest: Words, state: Words) -> None:
    """Set a generator's state (high, low) and increment (high, low) from a digest."""
    state[0] = state[1] = np.uint64(0)
    state[2] = (digest[2] << _ONE) | (digest[3] >> np.uint64(63))
    state[3] = (digest[3] << _ONE) | _ONE
    _step(state)
    low = state[1] + digest[1]
    state[0] += digest[0] + (_ONE if low < digest[1] else np.uint64(0))
    state[1] = low
    _step(state)


@njit(cache=True, nogil=True, error_model="numpy")
def _next(state: Words) -> np.uint64:
    _step(state)
    word, turn = state[0] ^ state[1], state[0] >> np.uint64(58)
    return np.uint64((word >> turn) | (word << ((np.uint64(64) - turn) & np.uint64(63))))


@njit(cache=True, nogil=True, error_model="numpy")
def _uniform(state: Words) -> float:
    return float(_next(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _normal(state: Words) -> float:
    while True:
        word = _next(state)
        cell = np.int64(word & np.uint64(0xFF))
        part = (word >> np.uint64(9)) & np.uint64(0x000FFFFFFFFFFFFF)
        below = (word >> np.uint64(8)) & _ONE != np.uint64(0)
        value = float(float(part) * _WI[cell])
        if below:
            value = -value
        if part < _KI[cell]:
            return value
        if cell == 0:
            while True:
                x = -_INVERSE_TAIL * math.log1p(-_uniform(state))
                y = -math.log1p(-_uniform(state))
                if y + y > x * x:
                    return -(_TAIL + x) if (part >> np.uint64(8)) & _ONE else _TAIL + x
        elif (_FI[cell - 1] - _FI[cell]) * _uniform(state) + _FI[cell] < math.exp(
            -0.5 * value * value
        ):
            return value


@njit(cache=True, nogil=True, error_model="numpy")
def draw_streams(  # noqa: PLR0913 - a flat numeric kernel
    first: Words,
    name: NDArray[np.uint8],
    seeds: Ints,
    keys: Ints,
    normals: Floats,
    uniforms: Floats,
    words: Words,
) -> None:
    """Draw from the stream of each row: normal deviates, then uniform ones, then raw words.

    Args:
        first: As `first_state` makes it.
        name: The stream's name, in bytes.
        seeds: Shape (N,).
        keys: Whole numbers after the name, shape (N, K).
        normals: Result, shape (N, n).
        uniforms: Result, shape (N, u).
        words: Result, shape (N, w).
    """
    message, v = np.zeros(BLOCK // 8, dtype=np.uint64), np.empty(16, dtype=np.uint64)
    digest, state = np.empty(4, dtype=np.uint64), np.empty(4, dtype=np.uint64)
    text = message.view(np.uint8)
    for row in range(seeds.shape[0]):
        message[:] = np.uint64(0)
        at = _put_number(seeds[row], text, 0)
        text[at] = 31
        at += 1
        for i in range(name.shape[0]):
            text[at + i] = name[i]
        at += name.shape[0]
        for k in range(keys.shape[1]):
            text[at], text[at + 1] = 31, 35
            at = _put_number(keys[row, k], text, at + 2)
        _hash(first, message, at, v, digest)
        _seed(digest, state)
        for i in range(normals.shape[1]):
            normals[row, i] = _normal(state)
        for i in range(uniforms.shape[1]):
            uniforms[row, i] = _uniform(state)
        for i in range(words.shape[1]):
            words[row, i] = _next(state)
