"""The watchdog is replaced when it is gone, and lets nobody wait for it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

import pytest

from labenv_instruments.clock import WallClock
from labenv_instruments.twins.eurotherm import EurothermTwin
from labenv_instruments.watchdog import Watchdog

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals")


def course(work: Any, dead_man_s: float = 1.0) -> None:
    async def whole() -> None:
        twin = EurothermTwin(clock=WallClock(), options={"model": "3216"})
        address = await twin.start()
        dog = Watchdog([address], dead_man_s)
        dog.start(asyncio.get_running_loop())
        try:
            async with asyncio.timeout(30.0):
                await work(dog)
        finally:
            await asyncio.to_thread(dog.dismiss)
            await twin.close()

    asyncio.run(whole())


async def replaced(dog: Watchdog, before: int | None) -> None:
    while dog.pid == before:  # noqa: ASYNC110 - it has no event for it
        await asyncio.sleep(0.05)


def test_a_killed_watchdog_is_replaced() -> None:
    async def work(dog: Watchdog) -> None:
        for _ in range(2):
            before = dog.pid
            assert before is not None
            os.kill(before, signal.SIGKILL)
            await replaced(dog, before)
        assert dog.pid is not None
        os.kill(dog.pid, 0)  # it lives

    course(work)


def test_a_watchdog_that_acted_while_we_stood_still_is_replaced() -> None:
    async def work(dog: Watchdog) -> None:
        before = dog.pid
        await asyncio.sleep(2.0)  # it has imported and listens
        time.sleep(2.5)  # noqa: ASYNC251 - the loop hangs, longer than the dead man's time
        await replaced(dog, before)

    course(work)


def test_a_watchdog_that_is_stopped_does_not_delay_the_end() -> None:
    async def work(dog: Watchdog) -> None:
        assert dog.pid is not None
        os.kill(dog.pid, signal.SIGSTOP)
        began_s = time.monotonic()
        await asyncio.to_thread(dog.dismiss)
        assert time.monotonic() - began_s < 8.0
        assert dog.pid is None

    course(work, dead_man_s=30.0)
