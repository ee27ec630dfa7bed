"""Checks that move the device, within the limits given: what it does, and how it stops."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from labenv_instruments.conformance.bench import SAFE_WITHIN_S, PaceWatch
from labenv_instruments.conformance.check import CheckFailed, CheckSkipped, check, require
from labenv_instruments.conformance.proxy import Meddling
from labenv_instruments.instrument import InstrumentState
from labenv_schemas.errors import InstrumentError, LabEnvError

if TYPE_CHECKING:
    from labenv_instruments.conformance.bench import Bench
    from labenv_instruments.wire.driver import WireDriver

_AT_WAIT = 2  # of an operation, when it is well under way
_GRACE_S = 2.0


@check(actuates=True)
async def operation(bench: Bench) -> str:
    """Small requests are carried out, and the device is safe after each."""
    runs = await bench.runs()
    async with bench.connected() as instrument:
        require(
            await bench.is_safe(instrument) is not False,
            "the device still drives something after an operation was finished",
        )
    for run in runs:
        for measurement in run.measured:
            require(
                measurement.sample_id is not None and measurement.instrument is not None,
                f"a measurement of {run.operation.op} does not say what was measured, or by what",
            )
    counts = {run.operation.op: len(run.measured) for run in runs}
    return "; ".join(f"{op} done twice, {count} measurements" for op, count in counts.items())


@check(actuates=True)
async def cancel(bench: Bench) -> str:
    """A cancelled run ends soon, leaves the device safe and no task, and the next can begin."""
    at: list[str] = []
    if await _cancelled_waiting(bench):
        at.append("while it waited")
    if await _cancelled_asking(bench):
        at.append("while it waited for a reply")
    if not at:
        raise CheckSkipped("the operation was over before it could be cancelled")
    return f"cancelled {' and '.join(at)}: safe, and ready for the next"


@check(actuates=True)
async def safe_state(bench: Bench) -> str:
    """Aborting makes the device safe from any state, also by a driver that did not start it."""
    request = bench.some_request()
    async with bench.connected() as instrument:
        await instrument.abort()
        _idle(instrument, "aborting when idle")
        await instrument.prepare(request)
        await instrument.abort()
        await instrument.abort()
        _idle(instrument, "aborting when prepared, twice")
    told = "from idle and prepared"
    try:
        claims_safe = await _abandoned(bench)
    except CheckSkipped as reason:
        return f"{told}; not from a broken run: {reason}"
    if claims_safe is None:
        return f"{told}; the operation was over before it could be broken off"
    async with bench.connected() as second:
        require(
            not claims_safe or await bench.is_safe(second) is not False,
            "cut off from the device, the driver says that it is safe; it still drives something",
        )
        await second.abort()
        _idle(second, "aborting what another driver had started")
        require(
            await bench.is_safe(second) is not False,
            "the device still drives something after a second driver aborted what the first one, "
            "cut off, had started",
        )
    return f"{told}; and by a second driver after the first was cut off in the middle"


async def _cancelled_waiting(bench: Bench) -> bool:
    """Cancel a run while it waits for lab time; return whether it was under way."""
    reached = asyncio.Event()

    async def stay() -> None:
        reached.set()
        await asyncio.Event().wait()

    watch = PaceWatch(bench.own_pace, _AT_WAIT, stay)
    async with bench.connected(bench.instrument(pace=watch)) as instrument:
        return await _cancelled(bench, instrument, reached)


async def _cancelled_asking(bench: Bench) -> bool:
    """Cancel a run while it waits for a reply that does not come in time."""
    try:
        async with bench.proxied() as (proxy, port):
            reached = asyncio.Event()

            async def hold() -> None:
                proxy.meddle(Meddling.LATE, 0.8 * bench.timeout_s)
                asyncio.get_running_loop().call_later(0.2 * bench.timeout_s, reached.set)

            watch = PaceWatch(bench.own_pace, _AT_WAIT, hold)
            async with bench.connected(bench.instrument(port, pace=watch)) as instrument:
                return await _cancelled(bench, instrument, reached)
    except CheckSkipped:
        return False


async def _cancelled(bench: Bench, instrument: WireDriver, reached: asyncio.Event) -> bool:
    await instrument.prepare(bench.some_request())
    others = asyncio.all_tasks()
    running = asyncio.ensure_future(instrument.run())
    waiting = asyncio.ensure_future(reached.wait())
    try:
        await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        if not reached.is_set():
            running.cancel()
    if running.done():
        await running  # an error is one of the operation, and is told as such
        return False
    running.cancel()
    done, _ = await asyncio.wait({running}, timeout=SAFE_WITHIN_S + _GRACE_S)
    require(bool(done), f"a cancelled run had not ended after {SAFE_WITHIN_S + _GRACE_S:g} s")
    if not running.cancelled():
        error = running.exception()
        how = "ended as if nothing had been said" if error is None else f"raised {error}"
        raise CheckFailed(f"a cancelled run {how}; it must raise CancelledError")
    require(instrument.safe, "the driver says that the device is not safe after a cancelled run")
    require(
        await bench.is_safe(instrument) is not False,
        "the device still drives something after a cancelled run",
    )
    await asyncio.sleep(0)
    left = {task for task in asyncio.all_tasks() - others - {waiting} if not _of_suite(task)}
    require(not left, f"a cancelled run left tasks behind: {left}")
    await instrument.abort()
    await instrument.prepare(bench.some_request())
    await instrument.abort()
    return True


async def _abandoned(bench: Bench) -> bool | None:
    """Start a run and cut its driver off for good; return whether it then says it is safe.

    None says that the run was over before it could be cut off.
    """
    async with bench.proxied() as (proxy, port):

        async def cut() -> None:
            proxy.away = True
            proxy.cut()

        watch = PaceWatch(bench.own_pace, _AT_WAIT, cut)
        async with bench.connected(bench.instrument(port, pace=watch)) as first:
            await first.prepare(bench.some_request())
            try:
                await first.run()
            except InstrumentError:
                if not proxy.away:  # it failed by itself, which is the operation's failure
                    raise
                return first.safe
            except LabEnvError as error:
                raise CheckFailed(
                    f"cut off from the device, run raised {type(error).__name__} ({error}), not "
                    "InstrumentError"
                ) from error
            require(not proxy.away, "cut off from the device, run ended as if all were well")
            return None


def _idle(instrument: WireDriver, after: str) -> None:
    require(
        instrument.state is InstrumentState.IDLE,
        f"after {after} it is {instrument.state}, not idle",
    )
    require(instrument.safe, f"after {after} the driver says that the device is not safe")


def _of_suite(task: asyncio.Task[object]) -> bool:
    """Return whether a task is the proxy's, of which there are new ones after a reconnection."""
    return "MeddlingProxy" in repr(task.get_coro())


__all__ = ["cancel", "operation", "safe_state"]
