"""Arrays that grow at the end without ever being copied, in memory or in files.

Rows lie in chunks of a fixed number of rows. A chunk that is full is never written again, so
branches share it. Chunks beyond a given number go to files that are mapped into memory, where the
system writes them out when memory is short.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

T = TypeVar("T", bound=np.generic)
CHUNK_ROWS = 4096


class Spill:
    """A folder of its own for chunks that do not stay in memory.

    Args:
        folder: Where the folder is made; the system's place for temporary files by default.
        keep_rows: Rows of every array that stay in memory.
    """

    def __init__(self, folder: Path | None = None, *, keep_rows: int = 16 * CHUNK_ROWS) -> None:
        self.keep_rows = keep_rows
        self._folder = tempfile.TemporaryDirectory(prefix="labenv-replay-", dir=folder)
        self._number = 0

    def chunk(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[np.generic]:
        """Return a new chunk in a file.

        Args:
            shape: Its shape.
            dtype: Of its numbers.

        Returns:
            A mapped array of zeros.
        """
        self._number += 1
        place = Path(self._folder.name) / f"{self._number}.bin"
        return np.memmap(place, dtype=dtype, mode="w+", shape=shape)

    def close(self) -> None:
        """Delete the files; arrays that lie in them must not be used any more."""
        self._folder.cleanup()


class GrowingArray(Generic[T]):
    """Rows of one shape and type.

    Args:
        dtype: Of the numbers.
        row_shape: Shape of a row; () for numbers.
        spill: Where chunks go that do not stay in memory; None keeps all there.
    """

    def __init__(
        self, dtype: type[T], row_shape: tuple[int, ...] = (), spill: Spill | None = None
    ) -> None:
        self._dtype, self._row_shape, self._spill = np.dtype(dtype), row_shape, spill
        self._chunks: list[NDArray[T]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Size of the rows, bytes."""
        return self._count * self._dtype.itemsize * int(np.prod(self._row_shape, dtype=np.int64))

    def extend(self, rows: NDArray[np.generic]) -> None:
        """Add rows at the end; costs what the new rows cost.

        Args:
            rows: Shape (M, *row_shape).

        Raises:
            ValueError: If rows have another shape.
        """
        if rows.shape[1:] != self._row_shape:
            raise ValueError(f"rows have shape {rows.shape[1:]}, not {self._row_shape}")
        at = 0
        while at < len(rows):
            place = self._count % CHUNK_ROWS
            if place == 0 and self._count == len(self._chunks) * CHUNK_ROWS:
                self._chunks.append(self._new_chunk())
            taken = min(CHUNK_ROWS - place, len(rows) - at)
            self._chunks[-1][place : place + taken] = rows[at : at + taken]
            self._count += taken
            at += taken

    def read(self, start: int = 0, stop: int | None = None) -> NDArray[T]:
        """Return a copy of some rows.

        Args:
            start: First row.
            stop: Row after the last; the end by default.

        Returns:
            Shape (stop - start, *row_shape).

        Raises:
            IndexError: If there are no such rows.
        """
        stop = self._count if stop is None else stop
        if not 0 <= start <= stop <= self._count:
            raise IndexError(f"rows {start} to {stop} of {self._count}")
        found = np.empty((stop - start, *self._row_shape), self._dtype)
        at = start
        while at < stop:
            number, place = divmod(at, CHUNK_ROWS)
            taken = min(CHUNK_ROWS - place, stop - at)
            found[at - start : at - start + taken] = self._chunks[number][place : place + taken]
            at += taken
        return found

    def shorten(self, count: int) -> None:
        """Forget the last rows.

        Args:
            count: How many rows stay.

        Raises:
            IndexError: If there are fewer.
        """
        if not 0 <= count <= self._count:
            raise IndexError(f"{count} rows of {self._count}")
        chunks = -(-count // CHUNK_ROWS)
        whole = count // CHUNK_ROWS
        if count % CHUNK_ROWS and self._count >= (whole + 1) * CHUNK_ROWS:
            # That chunk was full, so a branch may share it.
            kept = self._chunks[whole][: count % CHUNK_ROWS].copy()
            self._chunks[whole] = self._new_chunk(whole)
            self._chunks[whole][: len(kept)] = kept
        del self._chunks[chunks:]
        self._count = count

    def branch(self, count: int) -> GrowingArray[T]:
        """Return an array with the same first rows, which then grows on its own.

        Args:
            count: How many rows it has.

        Returns:
            The branch; it shares the chunks that are full.

        Raises:
            IndexError: If there are fewer rows.
        """
        if not 0 <= count <= self._count:
            raise IndexError(f"{count} rows of {self._count}")
        other: GrowingArray[T] = GrowingArray(self._dtype.type, self._row_shape, self._spill)
        whole = count // CHUNK_ROWS
        other._chunks = self._chunks[:whole]
        other._count = whole * CHUNK_ROWS
        other.extend(self.read(whole * CHUNK_ROWS, count))
        return other

    def _new_chunk(self, number: int | None = None) -> NDArray[T]:
        shape = (CHUNK_ROWS, *self._row_shape)
        number = len(self._chunks) if number is None else number
        if self._spill is not None and number * CHUNK_ROWS >= self._spill.keep_rows:
            return self._spill.chunk(shape, self._dtype)  # type: ignore[return-value]
        return np.zeros(shape, self._dtype)


__all__ = ["CHUNK_ROWS", "GrowingArray", "Spill"]
