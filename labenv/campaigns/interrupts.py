"""Ctrl-C and SIGTERM, remembered until they are honoured.

Python raises `KeyboardInterrupt` wherever the program happens to be, also where nobody can pass it
on: in a finaliser, in a callback from compiled code, in a library that catches everything. So the
first signal is raised at once *and* remembered; a campaign looks at what is remembered between its
experiments. The second signal ends the process on the spot, which loses nothing: a campaign
survives a kill.
"""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType
    from typing import Any

_SHOW_CURSOR = b"\x1b[?25h"
_active: list[Interrupts] = []


class Interrupts:
    """Remembers the first signal that asked the process to stop.

    Attributes:
        number: The signal; None if none has come.
    """

    def __init__(self) -> None:
        self.number: int | None = None

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that stopped for the signal: 130 or 143."""
        return 128 + (signal.SIGINT if self.number is None else self.number)

    def check(self) -> None:
        """Honour a signal that was swallowed where it was raised.

        Raises:
            KeyboardInterrupt: If a signal has come.
        """
        if self.number is not None:
            raise KeyboardInterrupt

    def take(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal.

        Args:
            number: The signal.
            frame: Where it came; it changes nothing.

        Raises:
            KeyboardInterrupt: The first time; the second time the process ends.
        """
        del frame
        if self.number is None:
            self.number = number
            raise KeyboardInterrupt
        with suppress(OSError):
            os.write(2, _SHOW_CURSOR if os.isatty(2) else b"")
            os.write(2, b"labenv: stopped at once; a campaign can be resumed\n")
        os._exit(128 + number)


@contextmanager
def heeded_interrupts() -> Generator[Interrupts]:
    """Remember Ctrl-C and SIGTERM while the block runs; an outer block's memory is shared.

    A signal that the process ignores (`nohup`) or that someone else handles (a notebook, a test
    runner) is left to them, and so are all signals outside the main thread.

    Yields:
        What to `Interrupts.check` at moments that are good for stopping.
    """
    if _active:
        yield _active[-1]
        return
    interrupts = Interrupts()
    before = _take_over(interrupts)
    _active.append(interrupts)
    try:
        yield interrupts
    finally:
        _active.remove(interrupts)
        for number, handler in before.items():
            signal.signal(number, handler)


def _take_over(interrupts: Interrupts) -> dict[int, Any]:
    """Handle the signals that nobody else handles.

    Args:
        interrupts: What is to handle them.

    Returns:
        Each of these signals with who handled it before.
    """
    before: dict[int, Any] = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if handler in (signal.default_int_handler, signal.SIG_DFL):
            with suppress(ValueError):  # not the main thread
                signal.signal(number, interrupts.take)
                before[number] = handler
    return before
