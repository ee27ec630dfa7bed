"""One process drives a bench at a time, and whoever wants to stop it can find that process."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from io import TextIOWrapper


class BenchLock:
    """A lock in a file, which the system lets go when the process ends, however it ends.

    Args:
        hand: Address of the bench's hand, which tells one bench from another.
    """

    def __init__(self, hand: str) -> None:
        self._place = _folder() / f"{hashlib.sha256(hand.encode()).hexdigest()[:16]}.pid"
        self._file: TextIOWrapper | None = None

    def take(self) -> None:
        """Take the lock.

        Raises:
            InstrumentError: If another process has it.
        """
        file = self._place.open("a+", encoding="ascii")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            holder = self.holder()
            who = "another process" if holder is None else f"process {holder}"
            raise InstrumentError(
                f"{who} drives these devices already; wait for it, or end it with 'labenv stop'"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Let the lock go; twice is fine."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def holder(self) -> int | None:
        """Return the process that has the lock.

        Returns:
            Its number; None if nobody has it.
        """
        try:
            with self._place.open("r+", encoding="ascii") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    text = file.read().strip()
                    return int(text) if text.isdigit() else None
        except OSError:
            return None
        return None


def _folder() -> Path:
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder = place / f"labenv-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


__all__ = ["BenchLock"]
