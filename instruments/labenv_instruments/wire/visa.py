"""Lines through a VISA library: GPIB, USB, serial and whatever else PyVISA opens.

VISA calls block, so each device has a thread of its own which does one call after the other.
Nothing here relies on the library to end a call: a call that does not come back within its time is
given up with its thread, which is a daemon so that it cannot keep the process alive. After a
failure or a cancellation the VISA session is closed before anything else is asked.

`clear` is never called: pyvisa-py 0.8 does not return from it once a peer on a socket has closed.
Its socket sessions also wait without limit to write, look up names without limit, keep a processor
busy from a peer's closing to the time-out, and cannot be interrupted; that is why ``+tcp`` does not
go this way, though ``visa://TCPIP::host::port::SOCKET`` may.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

from labenv_schemas.errors import ConfigError, InstrumentError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_BEYOND_TIMEOUT_S: Final = 1.0  # opening, closing and the library's own rounding
_CLOSING_S: Final = 0.5


class VisaLine:
    """Lines to one VISA resource.

    Args:
        resource: Its name, such as ``"GPIB0::24::INSTR"``.
        name: What to call the device in messages.
        timeout_s: Longest wait for opening and for what is not answered, s.
    """

    def __init__(self, resource: str, name: str, timeout_s: float = 2.0) -> None:
        self.name = name
        self._resource_name = resource
        self._timeout_s = timeout_s
        self._resource: Any = None  # used by the thread alone
        self._thread: _Thread | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Open the resource, if that is not so."""
        await self._call(lambda: self._opened(self._timeout_s), self._timeout_s)

    async def exchange(self, message: bytes, timeout_s: float) -> bytes:
        """Send a line and return the line that answers it, without its end.

        Args:
            message: The line, with its end.
            timeout_s: Longest wait, s.

        Returns:
            The reply.
        """

        def work() -> bytes:
            resource = self._opened(timeout_s)
            resource.write_raw(message)
            reply: bytes = resource.read_raw()
            return reply.rstrip(b"\r\n")

        return await self._call(work, timeout_s)

    async def send(self, message: bytes) -> None:
        """Send a line that is not answered.

        Args:
            message: The line, with its end.
        """

        def work() -> None:
            self._opened(self._timeout_s).write_raw(message)

        await self._call(work, self._timeout_s)

    def drop(self) -> None:
        """Have the session closed before anything else is asked."""
        if self._thread is not None:
            self._thread.submit(self._shut)

    async def close(self) -> None:
        """Close the session and end the thread; never raises, twice is fine."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        closing = thread.submit(self._shut)
        thread.finish()
        with contextlib.suppress(TimeoutError, asyncio.CancelledError):
            async with asyncio.timeout(_CLOSING_S):
                await asyncio.shield(asyncio.wrap_future(closing))
        if closing.done():
            thread.join()

    async def _call(self, work: Callable[[], T], timeout_s: float) -> T:
        async with self._lock:
            if self._thread is None:
                self._thread = _Thread(self.name)
            call = self._thread.submit(lambda: self._guarded(work))
            try:
                async with asyncio.timeout(2.0 * timeout_s + _BEYOND_TIMEOUT_S):
                    return await asyncio.wrap_future(call)
            except TimeoutError:
                self._thread.finish()  # it is left alone until the library lets it go
                self._thread, self._resource = None, None
                raise InstrumentError(
                    f"{self.name}: the VISA library did not return in time", retryable=True
                ) from None
            except BaseException:  # cancelled: its reply may still come
                self.drop()
                raise

    def _guarded(self, work: Callable[[], T]) -> T:
        """Do some work in the thread; close the session if anything goes wrong.

        Returns:
            What the work returns.

        Raises:
            ConfigError: If there is no PyVISA, or no library for such a resource.
            InstrumentError: In place of whatever VISA raises.
        """
        try:
            return work()
        except ConfigError:
            raise
        except Exception as cause:
            self._shut()
            raise InstrumentError(
                f"{self.name} ({self._resource_name}) did not answer: {cause}", retryable=True
            ) from cause

    def _opened(self, timeout_s: float) -> Any:  # noqa: ANN401 - PyVISA's classes by resource
        if self._resource is None:
            self._resource = _resource_manager().open_resource(
                self._resource_name,
                open_timeout=round(1e3 * self._timeout_s),
                read_termination="\n",
                write_termination="\n",
            )
        self._resource.timeout = max(1, round(1e3 * timeout_s))
        return self._resource

    def _shut(self) -> None:
        resource, self._resource = self._resource, None
        if resource is not None:
            with contextlib.suppress(Exception):
                resource.close()


class _Thread:
    """A thread that does one thing after the other until it is told to finish."""

    def __init__(self, name: str) -> None:
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._go, name=f"visa {name}", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        promise: Future[T] = Future()
        self._work.put((promise, work))
        return promise

    def finish(self) -> None:
        self._work.put(None)

    def join(self) -> None:
        self._thread.join(_CLOSING_S)

    def _go(self) -> None:
        while (item := self._work.get()) is not None:
            promise, work = item
            if not promise.set_running_or_notify_cancel():
                continue
            try:
                promise.set_result(work())
            except BaseException as cause:  # noqa: BLE001 - handed to whoever asked
                promise.set_exception(cause)


@cache
def _resource_manager() -> Any:  # noqa: ANN401 - PyVISA is optional
    """Return the one manager: to look for VISA libraries takes longer than a measurement.

    Raises:
        ConfigError: If there is no PyVISA, or no library that it can use.
    """
    try:
        import pyvisa
    except ImportError:
        raise ConfigError(
            "addresses of 'visa' need PyVISA; write: pip install 'labenv[instruments]'"
        ) from None
    try:
        return pyvisa.ResourceManager()
    except (OSError, ValueError) as cause:
        raise ConfigError(f"no VISA library can be used ({cause})") from None


__all__ = ["VisaLine"]
