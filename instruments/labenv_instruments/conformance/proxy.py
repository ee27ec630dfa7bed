"""A man in the middle: a proxy between driver and device that delays, drops, splits and garbles.

It lets the driver of a real device be tested against a bad wire while the device itself is only
asked what it is asked anyway. What it disturbs is the next piece of data that the device sends,
which for devices that answer request by request is the next reply.
"""

from __future__ import annotations

import asyncio
import contextlib
from enum import StrEnum
from typing import Any

from labenv_instruments.wire_twin import garble

_PIECE = 2**16
_SPLIT_S = 0.02


class Meddling(StrEnum):
    """What is done to a reply."""

    LATE = "late"
    SPLIT = "split"
    DOUBLED = "doubled"
    GARBLED = "garbled"
    CUT = "cut"


class MeddlingProxy:
    """Passes everything on, both ways, until it is told otherwise.

    Args:
        host: Where the device is.
        port: Its TCP port.

    Attributes:
        deaf: While it is set, requests are taken and thrown away, and nothing is answered.
        away: While it is set, connections are closed as soon as they are made.
        requests: How many pieces of data came from the driver.
        meddled: How many replies were disturbed.
    """

    def __init__(self, host: str, port: int) -> None:
        self.deaf = False
        self.away = False
        self.requests = 0
        self.meddled = 0
        self._host, self._port = host, port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._next: tuple[Meddling, float] | None = None

    async def start(self) -> int:
        """Listen on loopback.

        Returns:
            The TCP port.
        """
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Drop every connection and stop; twice is fine."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await server.wait_closed()

    def meddle(self, kind: Meddling, delay_s: float = 0.0) -> None:
        """Disturb the next reply.

        Args:
            kind: How.
            delay_s: How late a late one is, s.
        """
        self._next = (kind, delay_s)

    def leave_alone(self) -> None:
        """Disturb nothing any more."""
        self.deaf = self.away = False
        self._next = None

    def cut(self) -> None:
        """Cut every connection there is."""
        for task in list(self._tasks):
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        device: asyncio.StreamWriter | None = None
        try:
            if self.away:
                return
            answers, device = await asyncio.open_connection(self._host, self._port)
            await _either(self._pass_requests(reader, device), self._pass_replies(answers, writer))
        except (OSError, asyncio.CancelledError):
            pass  # cut, or one side went away: the other is cut as well
        finally:
            writer.transport.abort()
            if device is not None:
                device.transport.abort()

    async def _pass_requests(
        self, reader: asyncio.StreamReader, device: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(_PIECE):
            self.requests += 1
            if not self.deaf:
                device.write(data)
                await device.drain()

    async def _pass_replies(
        self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await answers.read(_PIECE):
            if self.deaf:
                continue
            meddling, self._next = self._next, None
            if meddling is None:
                writer.write(data)
            else:
                self.meddled += 1
                if not await _disturbed(data, writer, *meddling):
                    return
            await writer.drain()


async def _disturbed(
    data: bytes, writer: asyncio.StreamWriter, kind: Meddling, delay_s: float
) -> bool:
    """Pass a reply on, disturbed.

    Returns:
        Whether the connection goes on.
    """
    if kind is Meddling.LATE:
        await asyncio.sleep(delay_s)
        writer.write(data)
    elif kind is Meddling.DOUBLED:
        writer.write(data + data)
    elif kind is Meddling.GARBLED:
        writer.write(garble(data))
    elif kind is Meddling.SPLIT:
        for piece in (data[:1], data[1 : len(data) // 2], data[max(1, len(data) // 2) :]):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(_SPLIT_S)
    else:
        writer.write(data[: len(data) // 2])
        await writer.drain()
        return False
    return True


async def _either(*courses: Any) -> None:  # noqa: ANN401 - coroutines
    """Run until one ends, then end the others."""
    tasks = [asyncio.ensure_future(course) for course in courses]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)


__all__ = ["Meddling", "MeddlingProxy"]
