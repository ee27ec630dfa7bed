"""A connection never waits for ever and never takes a reply for another request's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from labenv_instruments.clock import VirtualClock
from labenv_instruments.faults import Fault, FaultKind, FaultPlan
from labenv_instruments.wire.connection import Connection, line_ending
from labenv_instruments.wire_twin import WireTwin
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LINE = line_ending(b"\n")


class Echo(WireTwin):
    driver = "echo"
    safe = True

    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        return await reader.readuntil(b"\n")

    async def answer(self, request: bytes) -> bytes | None:
        return b"re:" + request


def course(
    work: Callable[[Connection, Echo], Awaitable[Any]], *faults: Fault, timeout_s: float = 0.1
) -> Any:
    async def whole() -> Any:
        twin = Echo(clock=VirtualClock(), faults=FaultPlan(list(faults)))
        await twin.start()
        port = twin._server.sockets[0].getsockname()[1]
        connection = Connection("127.0.0.1", port, timeout_s=timeout_s, name="echo")
        try:
            async with asyncio.timeout(10.0):
                return await work(connection, twin)
        finally:
            await connection.close()
            await twin.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(whole())


def test_a_reply_comes_back() -> None:
    async def work(connection: Connection, _: Echo) -> None:
        assert await connection.exchange(b"a\n", LINE) == b"re:a"
        assert await connection.exchange(b"b\n", LINE) == b"re:b"
        assert connection.opened == 1

    course(work)


def test_many_at_once_keep_their_replies_apart() -> None:
    async def work(connection: Connection, _: Echo) -> None:
        sent = [f"{n}".encode() for n in range(50)]
        replies = await asyncio.gather(*(connection.exchange(s + b"\n", LINE) for s in sent))
        assert replies == [b"re:" + s for s in sent]

    course(work)


def test_a_split_reply_is_put_together() -> None:
    async def work(connection: Connection, twin: Echo) -> None:
        assert await connection.exchange(b"abc\n", LINE) == b"re:abc"
        assert twin.faults.fired == [(0, FaultKind.SPLIT_REPLY)]

    course(work, Fault(FaultKind.SPLIT_REPLY))


@pytest.mark.parametrize("kind", [FaultKind.LATE_REPLY, FaultKind.SILENT, FaultKind.DROPPED])
def test_a_lost_reply_is_an_error_and_the_next_is_its_own(kind: FaultKind) -> None:
    async def work(connection: Connection, _: Echo) -> None:
        with pytest.raises(InstrumentError, match=r"echo (did not answer|closed)") as caught:
            await connection.exchange(b"first\n", LINE)
        assert caught.value.retryable
        for n in range(4):
            request = f"next{n}".encode()
            assert await connection.exchange(request + b"\n", LINE) == b"re:" + request
            await asyncio.sleep(0.05)

    course(work, Fault(kind, delay_s=0.15))


def test_what_was_not_asked_for_is_thrown_away() -> None:
    class Chatty(Echo):
        async def answer(self, request: bytes) -> bytes | None:
            return b"re:" + request + b"and more\n"

    async def whole() -> None:
        twin = Chatty(clock=VirtualClock())
        await twin.start()
        connection = Connection("127.0.0.1", twin._server.sockets[0].getsockname()[1])
        assert await connection.exchange(b"a\n", LINE) == b"re:a"
        assert await connection.exchange(b"b\n", LINE) == b"re:b"
        assert connection.late >= len(b"and more\n")
        await connection.close()
        await twin.close()

    asyncio.run(whole())


def test_a_cancelled_exchange_does_not_leave_its_reply_behind() -> None:
    async def work(connection: Connection, _: Echo) -> None:
        first = asyncio.ensure_future(connection.exchange(b"first\n", LINE, timeout_s=5.0))
        await asyncio.sleep(0.03)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await asyncio.sleep(0.15)
        assert await connection.exchange(b"second\n", LINE) == b"re:second"

    course(work, Fault(FaultKind.LATE_REPLY, delay_s=0.1))


def test_nobody_there_is_an_error_with_the_remedy() -> None:
    async def whole() -> None:
        connection = Connection("127.0.0.1", 1, timeout_s=0.5, name="furnace-1")
        with pytest.raises(InstrumentError, match=r"furnace-1 cannot be reached.*switched on"):
            await connection.open()
        await connection.close()

    asyncio.run(whole())


def test_a_peer_that_closed_is_reached_again() -> None:
    async def work(connection: Connection, twin: Echo) -> None:
        assert await connection.exchange(b"a\n", LINE) == b"re:a"
        port = twin._server.sockets[0].getsockname()[1]
        await twin.close()
        with pytest.raises(InstrumentError):
            await connection.exchange(b"b\n", LINE)
        await twin.start(port=port)
        assert await connection.exchange(b"c\n", LINE) == b"re:c"

    course(work)
