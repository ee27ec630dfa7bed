"""One TCP connection to a device: a request, its reply, and nothing that waits for ever.

A reply belongs to the request before it only if nothing went wrong in between. So one request is
under way at a time; what lies in the buffer before a request is thrown away and counted; and after
a time-out, a cancellation or an unreadable reply the connection is dropped, because a late reply
could not be told from the next one. The next request opens a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Framing = Callable[[asyncio.StreamReader], Awaitable[bytes]]

LONGEST_REPLY: Final = 2**20  # bytes; a device that sends more is not the one meant
_CLOSING_S = 0.5


class Connection:
    """A stream of requests and replies.

    Args:
        host: Name or number of the device.
        port: Its TCP port.
        timeout_s: Longest wait for a connection, and for a reply unless a request says otherwise.
        name: What to call the device in messages.

    Attributes:
        late: How many bytes came when no request was waiting for them.
        opened: How often a connection was made.
    """

    def __init__(self, host: str, port: int, *, timeout_s: float = 2.0, name: str = "") -> None:
        self.name = name or f"{host}:{port}"
        self.late = 0
        self.opened = 0
        self._host, self._port, self._timeout_s = host, port, timeout_s
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._lock = asyncio.Lock()

    @property
    def is_open(self) -> bool:
        """Whether a connection is held that the peer has not closed."""
        return self._streams is not None and not self._streams[0].at_eof()

    async def open(self) -> None:
        """Connect, if no connection is held.

        Raises:
            InstrumentError: If nobody answers there in time.
        """
        async with self._lock:
            await self._opened()

    async def exchange(
        self, request: bytes, framing: Framing, *, timeout_s: float | None = None
    ) -> bytes:
        """Send a request and wait for its reply.

        Args:
            request: What to send, with its line end or frame.
            framing: Reads one reply from the stream, such as `line_ending` gives.
            timeout_s: Longest wait for the whole reply, s; None for the connection's own.

        Returns:
            The reply as framed.

        Raises:
            InstrumentError: If the device closes, does not answer in time, or answers what the
                framing cannot read; `retryable`, since nothing is left of the exchange.
        """
        wait_s = self._timeout_s if timeout_s is None else timeout_s
        async with self._lock:
            reader, writer = await self._opened()
            await self._discard(reader)
            if reader.at_eof():
                reader, writer = await self._opened()
            try:
                writer.write(request)
                async with asyncio.timeout(wait_s):
                    await writer.drain()
                    return await framing(reader)
            except TimeoutError:
                self._drop()
                raise self._error(f"did not answer {_shown(request)} within {wait_s:g} s") from None
            except asyncio.IncompleteReadError as cause:
                self._drop()
                part = f" after {_shown(cause.partial)}" if cause.partial else ""
                raise self._error(
                    f"closed the connection{part} in place of an answer to {_shown(request)}"
                ) from None
            except (asyncio.LimitOverrunError, ValueError):
                self._drop()
                raise self._error(f"answered {_shown(request)} with what is no reply") from None
            except OSError as cause:
                self._drop()
                raise self._error(f"lost the connection ({cause})") from None
            except BaseException:  # cancelled: its reply may still come
                self._drop()
                raise

    async def send(self, request: bytes) -> None:
        """Send what is not answered.

        Args:
            request: What to send.

        Raises:
            InstrumentError: If the device does not take it in time.
        """

        async def nothing(_: asyncio.StreamReader) -> bytes:
            return b""

        await self.exchange(request, nothing)

    def drop(self) -> None:
        """Give the connection up at once, without waiting; the next request opens a new one."""
        self._drop()

    async def close(self) -> None:
        """Close the connection; twice is fine, and a deaf peer is not waited for."""
        streams, self._streams = self._streams, None
        if streams is None:
            return
        writer = streams[1]
        writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CLOSING_S):
                await writer.wait_closed()

    async def _opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is not None and self._streams[0].at_eof():
            self._drop()
        if self._streams is None:
            try:
                async with asyncio.timeout(self._timeout_s):
                    self._streams = await asyncio.open_connection(
                        self._host, self._port, limit=LONGEST_REPLY
                    )
            except TimeoutError:
                raise self._error(
                    f"did not accept a connection within {self._timeout_s:g} s; is it switched on?"
                ) from None
            except OSError as cause:
                why = cause.strerror or cause
                raise self._error(f"cannot be reached ({why}); is it switched on?") from None
            self.opened += 1
        return self._streams

    async def _discard(self, reader: asyncio.StreamReader) -> None:
        await asyncio.sleep(0)  # lets the loop hand over what the socket holds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):  # no wait: what is there, or nothing
                self.late += len(await reader.read(LONGEST_REPLY))

    def _drop(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].transport.abort()

    def _error(self, what: str) -> InstrumentError:
        return InstrumentError(f"{self.name} {what}", retryable=True)


def line_ending(end: bytes) -> Framing:
    """Return a framing for replies that end with `end`, which is cut off."""

    async def read(reader: asyncio.StreamReader) -> bytes:
        return (await reader.readuntil(end))[: -len(end)]

    return read


def _shown(data: bytes) -> str:
    text = data[:60].decode("ascii", "backslashreplace").strip()
    return repr(text + ("…" if len(data) > 60 else ""))


__all__ = ["LONGEST_REPLY", "Connection", "Framing", "line_ending"]
