"""Arrays as compressed blobs that come back bit for bit.

Counts are whole numbers and are packed as the smallest integers that hold them; anything else goes
as the differences of successive bit patterns with their bytes sorted by significance, which makes
an axis of equal steps nearly vanish under zlib. Either way the digest of the original bytes is
kept, checked on reading, and is the array's key: equal arrays are stored once.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from numpy.typing import NDArray

DTYPE = "<f8"
_INTEGERS = ("<u1", "<u2", "<u4", "<i4")
_DELTA = "delta"


@dataclass(frozen=True, slots=True)
class PackedArray:
    """A float64 array ready for a blob column.

    Attributes:
        digest: SHA-256 of dtype, shape and the little-endian bytes, hexadecimal.
        dtype: Of the array: ``<f8``.
        shape: Lengths of the axes, such as ``"2001"`` or ``"10,20"``.
        encoding: An integer dtype or ``delta``.
        data: Compressed bytes.
    """

    digest: str
    dtype: str
    shape: str
    encoding: str
    data: bytes


def digest_of(array: NDArray[np.float64]) -> str:
    """Return the key of an array.

    Args:
        array: Float64, any shape.

    Returns:
        SHA-256 of dtype, shape and bytes, hexadecimal.
    """
    header = f"{DTYPE}|{_shape_text(array.shape)}|".encode()
    return hashlib.sha256(header + array.astype(DTYPE, copy=False).tobytes()).hexdigest()


def pack(array: NDArray[np.float64]) -> PackedArray:
    """Compress an array.

    Args:
        array: Float64, any shape, finite.

    Returns:
        The packed array.

    Raises:
        ValueError: If it is not float64 or not finite.
    """
    if array.dtype != np.float64:
        raise ValueError(f"arrays are kept as float64, not {array.dtype}")
    if not np.isfinite(array).all():
        raise ValueError("an array with numbers that are not finite cannot be kept")
    flat = np.ascontiguousarray(array, dtype=DTYPE).reshape(-1)
    encoding = _integer_encoding(flat)
    if encoding is None:
        encoding = _DELTA
        bits = flat.view("<i8")
        steps = np.diff(bits, prepend=np.zeros(1, dtype="<i8"))
        raw = steps.view(np.uint8).reshape(-1, 8).T.tobytes()
    else:
        raw = flat.astype(encoding).tobytes()
    return PackedArray(
        digest=digest_of(array),
        dtype=DTYPE,
        shape=_shape_text(array.shape),
        encoding=encoding,
        data=zlib.compress(raw),
    )


def unpack(packed: PackedArray) -> NDArray[np.float64]:
    """Restore an array.

    Args:
        packed: What `pack` returned.

    Returns:
        The array, bit for bit, read-only.

    Raises:
        StoreError: If the bytes are damaged.
    """
    try:
        shape = tuple(int(length) for length in packed.shape.split(",")) if packed.shape else ()
        raw = zlib.decompress(packed.data)
        array = _decode(raw, packed.encoding, math.prod(shape)).reshape(shape)
    except (ValueError, TypeError, zlib.error) as error:
        raise StoreError(f"array {packed.digest[:12]} in the store is damaged: {error}") from None
    if packed.dtype != DTYPE or digest_of(array) != packed.digest:
        raise StoreError(
            f"array {packed.digest[:12]} in the store is damaged: its checksum differs; restore "
            "the store from a backup"
        )
    array.flags.writeable = False
    return array


def _decode(raw: bytes, encoding: str, size: int) -> NDArray[np.float64]:
    if encoding == _DELTA:
        steps = np.frombuffer(raw, dtype=np.uint8).reshape(8, size).T.copy().view("<i8")
        with np.errstate(over="ignore"):
            return np.cumsum(steps.reshape(-1), dtype="<i8").view("<f8").astype(np.float64)
    if encoding not in _INTEGERS:
        raise ValueError(f"unknown encoding {encoding!r}")
    return np.frombuffer(raw, dtype=encoding).astype(np.float64)


def _integer_encoding(flat: NDArray[np.float64]) -> str | None:
    """Return the smallest integer dtype that holds every number exactly, or None."""
    if flat.size == 0:
        return None
    low, high = flat.min(), flat.max()
    for encoding in _INTEGERS:
        limits = np.iinfo(encoding)
        if low >= limits.min and high <= limits.max:
            restored = flat.astype(encoding).astype(DTYPE)
            return encoding if restored.tobytes() == flat.tobytes() else None  # -0.0 differs
    return None


def _shape_text(shape: tuple[int, ...]) -> str:
    return ",".join(str(length) for length in shape)
