"""Checks with a bad wire between driver and device; the device itself is only asked what it is."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labenv_instruments.conformance.check import CheckFailed, CheckSkipped, check, require
from labenv_instruments.conformance.proxy import Meddling, MeddlingProxy
from labenv_instruments.conformance.shown import disagreements
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from labenv_instruments.conformance.bench import Bench
    from labenv_instruments.wire.driver import WireDriver
    from labenv_schemas.measurement import InstrumentIdentity

_TRIES = 3
_PAUSE_S = 0.05
_SPARE_S = 0.5
_TIMES = 3.0  # a driver may connect, ask and ask once more
_AT_REST = 10.0  # times the usual scatter is no scatter any more


@dataclass
class Wire:
    """A driver that reaches its device through a proxy, and what the device said undisturbed."""

    instrument: WireDriver
    proxy: MeddlingProxy
    identity: InstrumentIdentity
    readings: Mapping[str, str]
    times: float

    def questions(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """Return what can be asked without moving anything; a wrong answer fails the check."""
        return {"connect": self._who, "readings": self._what}

    async def right_again(self, after: str) -> None:
        """See that everything is answered rightly, though the connection may need a second try.

        Args:
            after: What happened before.

        Raises:
            CheckFailed: If a request fails as if something else had been answered.
        """
        self.proxy.leave_alone()
        for name, ask in self.questions().items():
            for again in range(_TRIES):
                try:
                    await ask()
                    break
                except InstrumentError as error:
                    if not error.retryable or again == _TRIES - 1:
                        raise CheckFailed(f"{after}, {name} failed with: {error}") from error
                    await asyncio.sleep(_PAUSE_S)
                except CheckFailed as error:
                    raise CheckFailed(f"{after}, {error}") from error

    async def _who(self) -> None:
        found = await self.instrument.connect()
        require(
            (found.model, found.serial) == (self.identity.model, self.identity.serial),
            f"connect told of {found.model!r} {found.serial!r}, which is not the device's answer",
        )

    async def _what(self) -> None:
        wrong = disagreements(self.readings, await self.instrument.readings(), times=self.times)
        require(not wrong, f"readings told what the device did not answer: {wrong}")


@asynccontextmanager
async def _wired(bench: Bench) -> AsyncGenerator[Wire]:
    async with (
        bench.proxied() as (proxy, port),
        bench.connected(bench.instrument(port)) as instrument,
    ):
        identity = await instrument.connect()
        times = _AT_REST * max(1.0, bench.speed)  # a stage drifts as fast as its time passes
        yield Wire(instrument, proxy, identity, await instrument.readings(), times)
        proxy.leave_alone()


@check()
async def timeouts(bench: Bench) -> str:
    """A call to a deaf device ends with an error: within the time-out for each request it makes."""
    longest_s, allowed_s = 0.0, _TIMES * bench.timeout_s + _SPARE_S
    async with bench.proxied() as (proxy, port):
        proxy.deaf = True
        instrument = bench.instrument(port)
        took_s = await _ends(instrument.connect(), "connecting to a deaf device", allowed_s)
        await instrument.close()
        longest_s = max(longest_s, took_s)
    async with _wired(bench) as wire:
        for name, ask in wire.questions().items():
            wire.proxy.deaf, sent = True, wire.proxy.requests
            took_s = await _ends(
                ask(), f"{name} of a device that fell silent", allowed_s, wire.proxy, sent
            )
            longest_s = max(longest_s, took_s)
        began_s = time.monotonic()
        await wire.instrument.close()
        closing_s = time.monotonic() - began_s
        require(
            closing_s <= allowed_s,
            f"closing took {closing_s:.1f} s with a deaf device; {allowed_s:.1f} s are allowed",
        )
    return (
        f"given up after {longest_s:.2f} s at the latest, with a time-out of {bench.timeout_s:g} s"
    )


@check()
async def late_reply(bench: Bench) -> str:
    """A reply that comes late, but in time, is waited for."""
    return await _got_over(bench, Meddling.LATE, 0.4 * bench.timeout_s)


@check()
async def split_reply(bench: Bench) -> str:
    """A reply that comes in pieces is put together."""
    return await _got_over(bench, Meddling.SPLIT)


@check()
async def garbled_reply(bench: Bench) -> str:
    """A garbled reply is an error and never a number, and the next request is answered."""
    return await _noticed(bench, Meddling.GARBLED)


@check()
async def reconnect(bench: Bench) -> str:
    """After the connection was cut the next requests are answered, over a new one."""
    told = await _noticed(bench, Meddling.CUT)
    async with _wired(bench) as wire:
        wire.proxy.cut()
        await asyncio.sleep(_PAUSE_S)
        await wire.right_again("after the connection was cut between two requests")
        wire.proxy.away = True
        wire.proxy.cut()
        await asyncio.sleep(_PAUSE_S)
        allowed_s = _TIMES * bench.timeout_s + _SPARE_S
        await _ends(wire.instrument.connect(), "connecting to a device that is gone", allowed_s)
        await wire.right_again("after the device had been gone")
    return f"{told}; also between requests, and after the device had been gone"


@check()
async def sequence(bench: Bench) -> str:
    """A reply that comes after its time-out is never taken for the answer to the next request."""
    asked = 0
    async with _wired(bench) as wire:
        for kind, delay_s in ((Meddling.LATE, 1.3 * bench.timeout_s), (Meddling.DOUBLED, 0.0)):
            late = kind is Meddling.LATE
            after = "after a late reply" if late else "after a reply that came twice"
            for name, ask in wire.questions().items():
                done = wire.proxy.meddled
                wire.proxy.meddle(kind, delay_s)
                try:
                    await ask()
                except InstrumentError:
                    pass
                except CheckFailed as error:
                    raise CheckFailed(f"{after} to {name}, {error}") from error
                asked += wire.proxy.meddled - done
                await wire.right_again(f"{after} to {name}")
                if late:  # by now it has come, if anybody still listens
                    await asyncio.sleep(0.5 * bench.timeout_s)
                await wire.right_again(f"{after} to {name}")
    return f"{_counted(asked)}; every next request got its own answer"


async def _got_over(bench: Bench, kind: Meddling, delay_s: float = 0.0) -> str:
    async with _wired(bench) as wire:
        for name, ask in wire.questions().items():
            wire.proxy.meddle(kind, delay_s)
            try:
                await ask()
            except InstrumentError as error:
                raise CheckFailed(f"{name} failed on a {kind} reply: {error}") from error
        return f"{_counted(wire.proxy.meddled)} and got over"


async def _noticed(bench: Bench, kind: Meddling) -> str:
    async with _wired(bench) as wire:
        noticed = 0
        for name, ask in wire.questions().items():
            wire.proxy.meddle(kind)
            try:
                await ask()
            except InstrumentError:
                noticed += 1
            except CheckFailed as error:
                raise CheckFailed(f"on a {kind} reply, {error}") from error
            await wire.right_again(f"after a {kind} reply to {name}")
        told = f"{noticed} told as errors, the others asked again"
        return f"{_counted(wire.proxy.meddled)}: {told}"


def _counted(meddled: int) -> str:
    if not meddled:
        raise CheckSkipped("neither connect() nor readings() asks the device anything")
    return f"{meddled} {'reply' if meddled == 1 else 'replies'} disturbed"


async def _ends(
    step: Awaitable[object],
    what: str,
    allowed_s: float,
    proxy: MeddlingProxy | None = None,
    sent: int = 0,
) -> float:
    """See that a step ends with an `InstrumentError` in time; return how long it took, s."""
    began_s = time.monotonic()
    task = asyncio.ensure_future(step)
    done, _ = await asyncio.wait({task}, timeout=allowed_s)
    took_s = time.monotonic() - began_s
    if not done:
        task.cancel()
        await asyncio.wait({task}, timeout=1.0)
        raise CheckFailed(f"{what} had not ended after {allowed_s:.1f} s")
    error = task.exception()
    if error is None:
        if proxy is not None and proxy.requests == sent:
            return 0.0  # nothing was asked
        raise CheckFailed(f"{what} succeeded, though nothing was answered")
    require(
        isinstance(error, InstrumentError),
        f"{what} raised {type(error).__name__} ({error}), not InstrumentError",
    )
    require(
        took_s <= allowed_s, f"{what} ended after {took_s:.1f} s; {allowed_s:.1f} s are allowed"
    )
    return took_s


__all__ = [
    "garbled_reply",
    "late_reply",
    "reconnect",
    "sequence",
    "split_reply",
    "timeouts",
]
