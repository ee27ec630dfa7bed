"""A server on a real socket that answers what a test says, and notes what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable


@dataclass
class Call:
    method: str
    path: str
    body: Any
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def json(self, content: Any, status: int = 200) -> None:
        data = json.dumps(content).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n"
        await self.send(f"{head}content-length: {len(data)}\r\n\r\n".encode() + data)

    async def begin_stream(self) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        await self.send(head + b"transfer-encoding: chunked\r\n\r\n")

    async def event(self, content: Any) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        data = f"data: {text}\n\n".encode()
        await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def end_stream(self) -> None:
        await self.send(b"0\r\n\r\n")

    def drop(self) -> None:
        self.writer.transport.abort()


@dataclass
class ScriptedServer:
    answer: Callable[[Call], Awaitable[None]]
    url: str = ""
    calls: list[Call] = field(default_factory=list)
    connections: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def counts(self) -> Counter[str]:
        return Counter(call.path.partition("?")[0] for call in self.calls)

    def of(self, path: str) -> list[Any]:
        return [call.body for call in self.calls if call.path.partition("?")[0] == path]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                method, path, _ = head.split(" ", 2)
                length = 0
                for line in head.split("\r\n"):
                    if line.lower().startswith("content-length:"):
                        length = int(line.split(":")[1])
                body = json.loads(await reader.readexactly(length)) if length else None
                call = Call(method, path, body, writer)
                self.calls.append(call)
                work = asyncio.ensure_future(self.answer(call))
                closed = asyncio.ensure_future(reader.read(1))
                await asyncio.wait({work, closed}, return_when=asyncio.FIRST_COMPLETED)
                if not work.done():
                    work.cancel()
                    self.gone.set()
                    return
                closed.cancel()
                await asyncio.gather(closed, return_exceptions=True)
                if writer.transport.is_closing():
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def scripted(answer: Callable[[Call], Awaitable[None]]) -> AsyncGenerator[ScriptedServer]:
    server = ScriptedServer(answer)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()
