"""Named random streams: every stochastic part of the lab owns one, and none can disturb another.

A stream is the function of a seed and of names, so the numbers that experiment 7's diffractometer
draws depend on neither the order of execution nor on what other instruments drew::

    stream(seed, "conditions")
    stream(seed, "dosing_balance", experiment_index)
    stream(seed, "powder_diffractometer", experiment_index, operation_index)
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.random.bit_generator import ISeedSequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_DIGEST_BYTES = 32  # PCG64 takes 256 bits: its state and its increment
_PERSON = b"labenv.stream"
_LONGEST_NAME = 40  # with a seed and two numbers it fits a block of the hash


class _NamedSeed(ISeedSequence):
    """Hands a digest to the bit generator as its seed, ten times quicker than NumPy's own."""

    def __init__(self, digest: bytes) -> None:
        self._digest = digest

    def generate_state(
        self,
        n_words: int,
        dtype: Any = np.uint32,  # noqa: ANN401 - NumPy's own signature
    ) -> NDArray[Any]:
        """Return the first words of the digest.

        Args:
            n_words: How many words the bit generator wants.
            dtype: Kind of word.

        Returns:
            The words, shape (n_words,).

        Raises:
            ValueError: If more is wanted than a digest holds.
        """
        words = np.frombuffer(self._digest, dtype=dtype)
        if n_words > words.size:
            raise ValueError(f"a named seed has {words.size} words of {dtype}, not {n_words}")
        return words[:n_words]


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator that belongs to a seed and names.

    Args:
        seed: The episode's seed, any integer of up to 127 bits.
        names: What the stream is for, such as ``"dosing_balance", 7``.

    Returns:
        A new generator at the start of its stream.
    """
    parts = [name if isinstance(name, str) else f"#{int(name)}" for name in names]
    key = "\x1f".join([f"{int(seed)}", *parts])
    digest = blake2b(key.encode(), digest_size=_DIGEST_BYTES, person=_PERSON).digest()
    # NumPy takes any ISeedSequence; its type stubs name one class only.
    bits = np.random.PCG64(_NamedSeed(digest))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    return np.random.Generator(bits)


class Draws(NamedTuple):
    """The first numbers of N streams.

    Attributes:
        normals: Standard normal deviates, shape (N, n).
        uniforms: Then uniform ones from 0 to 1, shape (N, u).
        words: Then 64 raw bits each, shape (N, w).
    """

    normals: NDArray[np.float64]
    uniforms: NDArray[np.float64]
    words: NDArray[np.uint64]


def draw_rows(
    name: str,
    seeds: Sequence[int] | NDArray[np.int64],
    keys: NDArray[np.int64],
    sizes: tuple[int, int, int],
) -> Draws:
    """Return what ``stream(seed, name, *row_of_keys)`` gives first, for many rows in one call.

    Args:
        name: Name of the streams.
        seeds: Episode seeds of up to 63 bits, N.
        keys: Numbers that follow the name, shape (N, K) with K up to 2.
        sizes: How many normal deviates, uniform deviates and raw words to draw, in this order.

    Returns:
        The draws, the same bits that a generator gives by ``standard_normal``, ``random`` and
        ``bit_generator.random_raw``.

    Raises:
        ValueError: If the name is too long or not ASCII, or there are too many keys.
    """
    from labenv.lab.stream_kernel import draw_streams

    keys = np.ascontiguousarray(keys, dtype=np.int64)
    if len(name) > _LONGEST_NAME or not name.isascii() or keys.shape[1] > 2:
        raise ValueError(f"streams {name!r} with {keys.shape[1]} numbers cannot be drawn by rows")
    rows = np.ascontiguousarray(seeds, dtype=np.int64)
    drawn = Draws(
        np.empty((len(rows), sizes[0])),
        np.empty((len(rows), sizes[1])),
        np.empty((len(rows), sizes[2]), dtype=np.uint64),
    )
    letters = np.frombuffer(name.encode(), dtype=np.uint8)
    draw_streams(_first_state(), letters, rows, keys, *drawn)
    return drawn


@lru_cache(maxsize=1)
def _first_state() -> NDArray[np.uint64]:
    from labenv.lab.stream_kernel import first_state

    return first_state(_DIGEST_BYTES, _PERSON)


__all__ = ["Draws", "draw_rows", "stream"]
