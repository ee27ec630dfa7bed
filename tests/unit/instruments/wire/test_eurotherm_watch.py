"""How long a firing has lasted, as far as a driver without a clock can know."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from labenv_instruments.drivers import _eurotherm_watch as watch

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest


class Wall:
    """A wall clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


def passed(wall: Wall, pauses: Iterable[tuple[float, float, float]]) -> list[tuple[float, float]]:
    """Return least and most after each pause of (lab s, wall s it took, wall s after it)."""

    async def whole() -> list[tuple[float, float]]:
        took_s = 0.0

        async def wait(_: float) -> None:
            wall.now_s += took_s

        clock = watch.PassedTime(wait)
        seen: list[tuple[float, float]] = []
        for lab_s, took, after_s in pauses:
            took_s = took
            await clock.pause(lab_s)
            wall.now_s += after_s
            seen.append((clock.least_s, clock.most_s))
        return seen

    return asyncio.run(whole())


seconds = st.floats(0.0, 1e4)


@given(st.lists(st.tuples(seconds, seconds, seconds), min_size=1, max_size=12))
def test_what_was_waited_is_at_most_least_and_most_never_runs_backwards(
    pauses: list[tuple[float, float, float]],
) -> None:
    wall, real = Wall(), watch.time
    watch.time = wall  # type: ignore[assignment]  # hypothesis does not reset a monkeypatch
    try:
        seen = passed(wall, pauses)
    finally:
        watch.time = real
    waited_s = 0.0
    before_s = 0.0
    for (lab_s, _, _), (least_s, most_s) in zip(pauses, seen, strict=True):
        waited_s += lab_s
        assert waited_s <= least_s * (1.0 + 1e-9) + 1e-6
        assert least_s <= most_s + 1e-6
        assert most_s >= before_s + lab_s - 1e-6
        before_s = most_s


def test_a_slow_first_wait_in_virtual_time_does_not_let_time_run_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The machine stood still while the first wait ended; only the second shows virtual time."""
    wall = Wall()
    monkeypatch.setattr(watch, "time", wall)
    first, second = passed(wall, [(15.0, 0.001, 0.01), (15.0, 0.0, 0.0)])
    assert first[1] > 100.0
    assert second[1] >= first[1] + 15.0
