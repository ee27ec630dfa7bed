"""An event loop in a thread of its own, for a laboratory whose methods are called from anywhere.

Drivers are asynchronous; a laboratory is called from scripts, from trainers, and from notebooks
that run a loop already. What must happen in time, such as a watchdog's heartbeat, happens here
whatever the caller does.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent import futures
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Coroutine

R = TypeVar("R")
_CLOSING_S = 30.0


class Job(Generic[R]):
    """A coroutine that runs in a portal.

    Unlike the future of `asyncio.run_coroutine_threadsafe`, it is done when the coroutine has
    ended, also after a cancellation: a device is safe then.

    Attributes:
        future: What it gave; for waiting and reading only.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, R]) -> None:
        self.future: Future[R] = Future()
        self._loop = loop
        self._task: asyncio.Task[R] | None = None
        loop.call_soon_threadsafe(self._begin, work)

    def cancel(self) -> None:
        """Cancel it, without waiting for its end."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _begin(self, work: Coroutine[Any, Any, R]) -> None:
        task = self._loop.create_task(work)
        task.add_done_callback(self._end)
        self._task = task

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _end(self, task: asyncio.Task[R]) -> None:
        if task.cancelled():
            self.future.set_exception(InstrumentError("the operation was stopped"))
        elif (error := task.exception()) is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(task.result())


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

    def submit(self, work: Coroutine[Any, Any, R]) -> Job[R]:
        """Begin a coroutine.

        Args:
            work: The coroutine.

        Returns:
            The job.

        Raises:
            InstrumentError: If the portal is closed.
        """
        if not self.is_open:
            work.close()
            raise InstrumentError("the laboratory's connections are closed")
        return Job(self._loop, work)

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine to its end.

        Args:
            work: The coroutine.

        Returns:
            Its result.

        Raises:
            BaseException: Whatever it raised; an interrupt of the caller cancels it first.
        """
        job = self.submit(work)
        try:
            return job.future.result()
        except BaseException:
            if not job.future.done():
                job.cancel()
                futures.wait([job.future], _CLOSING_S)
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
            self._loop.run_until_complete(asyncio.sleep(0.01))  # transports close a little later
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()


__all__ = ["Job", "Portal"]
