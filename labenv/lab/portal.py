"""An event loop in a thread of its own, for a laboratory whose methods are called from anywhere.

Drivers are asynchronous; a laboratory is called from scripts, from trainers, and from notebooks
that run a loop already. What must happen in time, such as a watchdog's heartbeat, happens here
whatever the caller does.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from concurrent.futures import Future

R = TypeVar("R")
_CLOSING_S = 30.0


class Portal:
    """Runs coroutines in its own loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, name="labenv-devices", daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        """Whether coroutines can be run."""
        return self._thread.is_alive() and not self._loop.is_closed()

    def submit(self, work: Coroutine[Any, Any, R]) -> Future[R]:
        """Begin a coroutine.

        Args:
            work: The coroutine.

        Returns:
            What it will give; cancelling it cancels the coroutine.

        Raises:
            InstrumentError: If the portal is closed.
        """
        if not self.is_open:
            work.close()
            raise InstrumentError("the laboratory's connections are closed")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine to its end.

        Args:
            work: The coroutine.

        Returns:
            Its result.

        Raises:
            BaseException: Whatever it raised; an interrupt of the caller cancels it first.
        """
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what still runs, let it end, and stop; twice is fine."""
        if not self.is_open:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSING_S)

    def _live(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()


__all__ = ["Portal"]
