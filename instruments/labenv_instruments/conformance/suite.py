"""Running the checks, each in a thread and an event loop of its own.

A driver that blocks the loop or swallows its cancellation then spoils its own check and no other;
whatever a check does has an end.
"""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from labenv_instruments.conformance.actuating_checks import cancel, operation, safe_state
from labenv_instruments.conformance.bench import SAFE_WITHIN_S
from labenv_instruments.conformance.check import (
    Check,
    CheckFailed,
    CheckResult,
    CheckSkipped,
    DeviceUnreachableError,
    Verdict,
)
from labenv_instruments.conformance.reading_checks import (
    clock,
    identity,
    life_cycle,
    limits,
    ranges,
    repeatability,
    units,
)
from labenv_instruments.conformance.wire_checks import (
    garbled_reply,
    late_reply,
    reconnect,
    sequence,
    split_reply,
    timeouts,
)
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from labenv_instruments.conformance.bench import Bench

CHECKS: Final[tuple[Check, ...]] = (
    identity,
    life_cycle,
    units,
    limits,
    ranges,
    repeatability,
    clock,
    timeouts,
    late_reply,
    split_reply,
    garbled_reply,
    reconnect,
    sequence,
    operation,
    cancel,
    safe_state,
)
_TASKS_END_S = 0.3
_THREAD_ENDS_S = 3.0


def find_checks(names: Iterable[str] = ()) -> tuple[Check, ...]:
    """Return checks by name, in the suite's order.

    Args:
        names: Which; all if there are none.

    Returns:
        The checks.

    Raises:
        ConfigError: If there is no check of a name.
    """
    wanted = [name.strip().replace("-", "_") for name in names if name.strip()]
    known = {one.name: one for one in CHECKS}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ConfigError(f"there is no check {', '.join(unknown)}; there are {', '.join(known)}")
    return tuple(one for one in CHECKS if not wanted or one.name in wanted)


def run_checks(bench: Bench, checks: Iterable[Check] = CHECKS) -> Iterator[CheckResult]:
    """Run checks one after the other; once the device does not answer, the rest are skipped.

    Args:
        bench: The device.
        checks: Which.

    Yields:
        What came of each, as soon as it is known.
    """
    unreachable = ""
    for one in checks:
        if unreachable:
            yield _result(one, Verdict.SKIPPED, "the device does not answer", 0.0)
            continue
        result, unreachable = _judged(one, bench)
        yield result


def run_check(one: Check, bench: Bench) -> CheckResult:
    """Run one check to its end, in at most the time that the bench allows.

    Args:
        one: The check.
        bench: The device.

    Returns:
        What came of it; errors of the driver are findings and do not escape.

    Raises:
        ConfigError: If what was asked for cannot be, such as a request that the device refuses.
    """
    return _judged(one, bench)[0]


def _judged(one: Check, bench: Bench) -> tuple[CheckResult, str]:
    """Return what came of a check, and why nothing else can be found out, if so."""
    if one.actuates and not bench.actuate:
        return _result(one, Verdict.SKIPPED, "it moves the device; give --actuate", 0.0), ""
    began_s = time.monotonic()
    verdict, found, unreachable = _Course(one, bench).watched()
    return _result(one, verdict, found, time.monotonic() - began_s), unreachable


@dataclass
class _Course:
    """One check under way in its thread."""

    one: Check
    bench: Bench
    outcome: list[tuple[Verdict, str, str] | ConfigError] = field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]
    running: tuple[asyncio.AbstractEventLoop, asyncio.Task[None]] | None = None

    def watched(self) -> tuple[Verdict, str, str]:
        thread = threading.Thread(target=self._thread, name=f"check {self.one.name}", daemon=True)
        thread.start()
        try:
            thread.join(self.bench.limit_s + _THREAD_ENDS_S)
        except BaseException:  # interrupted: the device is made safe before anything else
            if self.running is not None:
                loop, task = self.running
                loop.call_soon_threadsafe(task.cancel)
                thread.join(SAFE_WITHIN_S + _THREAD_ENDS_S)
            raise
        if not self.outcome:
            return (
                Verdict.FAILED,
                f"it did not come back within {self.bench.limit_s:g} s: the driver blocks the "
                "event loop or swallows its cancellation",
                "",
            )
        found = self.outcome[0]
        if isinstance(found, ConfigError):
            raise found
        return found

    def _thread(self) -> None:
        asyncio.run(self._in_time())

    async def _in_time(self) -> None:
        task = asyncio.ensure_future(self._found())
        self.running = (asyncio.get_running_loop(), task)
        done, _ = await asyncio.wait({task}, timeout=self.bench.limit_s)
        if not done:
            task.cancel()
            await asyncio.wait({task}, timeout=1.0)
            message = f"it had not ended after {self.bench.limit_s:g} s"
            self.outcome.insert(0, (Verdict.FAILED, message, ""))

    async def _found(self) -> None:
        unreachable = ""
        try:
            verdict, found = Verdict.PASSED, await self.one.course(self.bench)
            left = asyncio.all_tasks() - {asyncio.current_task()} - self._own()
            if left:
                _, left = await asyncio.wait(left, timeout=_TASKS_END_S)
            if left:
                verdict, found = Verdict.FAILED, f"it left {len(left)} tasks behind: {left}"
        except CheckSkipped as reason:
            verdict, found = Verdict.SKIPPED, str(reason)
        except DeviceUnreachableError as error:
            verdict, found = Verdict.FAILED, str(error)
            unreachable = found if self.one.name == identity.name else ""
        except CheckFailed as error:
            verdict, found = Verdict.FAILED, str(error)
        except ConfigError as error:
            self.outcome.append(error)
            return
        except Exception as error:  # noqa: BLE001 - whatever a driver raises is a finding
            verdict, found = Verdict.FAILED, f"{type(error).__name__}: {error}"
        self.outcome.append((verdict, found, unreachable))

    def _own(self) -> set[asyncio.Task[object]]:
        """Return the task that watches over the time."""
        return {task for task in asyncio.all_tasks() if "_in_time" in repr(task.get_coro())}


def _result(one: Check, verdict: Verdict, found: str, took_s: float) -> CheckResult:
    return CheckResult(one.name, one.says, one.actuates, verdict, found, took_s)


__all__ = ["CHECKS", "find_checks", "run_check", "run_checks"]
