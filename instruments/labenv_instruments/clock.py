"""Lab time: virtual, which jumps from event to event, or the wall's, at any speed.

Lab time is seconds since the campaign began. It is never the wall clock's time of day.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol, runtime_checkable

from labenv_schemas.errors import ConfigError


@runtime_checkable
class Clock(Protocol):
    """Tells lab time and waits for it."""

    @property
    def now_s(self) -> float:
        """Lab time, s."""
        ...

    def set_s(self, lab_time_s: float) -> None:
        """Put the clock forward to a lab time, as a resumed lab does."""
        ...

    async def sleep_until_s(self, lab_time_s: float) -> None:
        """Return when lab time has reached a moment; at once if it already has."""
        ...


class VirtualClock:
    """Lab time that passes only when the lab waits for it, and then at once."""

    def __init__(self) -> None:
        self._now_s = 0.0

    @property
    def now_s(self) -> float:
        """Lab time, s."""
        return self._now_s

    def set_s(self, lab_time_s: float) -> None:
        """Put the clock forward; it never runs backwards.

        Args:
            lab_time_s: Lab time to show, s.
        """
        self._now_s = max(self._now_s, lab_time_s)

    async def sleep_until_s(self, lab_time_s: float) -> None:
        """Jump to a moment.

        Args:
            lab_time_s: The moment, s.
        """
        self.set_s(lab_time_s)


class WallClock:
    """Lab time that follows the wall, from when the clock was made.

    Args:
        speed: Lab seconds per wall second.

    Raises:
        ConfigError: If the speed is not above 0.
    """

    def __init__(self, speed: float = 1.0) -> None:
        if not speed > 0.0:
            raise ConfigError(f"the speed of a clock must be above 0, not {speed}")
        self._speed = speed
        self._origin_s = time.monotonic()
        self._offset_s = 0.0

    @property
    def now_s(self) -> float:
        """Lab time, s."""
        return self._offset_s + (time.monotonic() - self._origin_s) * self._speed

    def set_s(self, lab_time_s: float) -> None:
        """Put the clock forward; it never runs backwards.

        Args:
            lab_time_s: Lab time to show, s.
        """
        self._offset_s += max(0.0, lab_time_s - self.now_s)

    async def sleep_until_s(self, lab_time_s: float) -> None:
        """Wait on the wall clock.

        Args:
            lab_time_s: The moment, s.
        """
        left_s = lab_time_s - self.now_s
        if left_s > 0.0:
            await asyncio.sleep(left_s / self._speed)
            self.set_s(lab_time_s)  # timers may be early by their resolution

    def __getstate__(self) -> dict[str, float]:
        return {"_speed": self._speed, "_offset_s": self.now_s}

    def __setstate__(self, state: dict[str, float]) -> None:
        self.__dict__.update(state)
        self._origin_s = time.monotonic()


__all__ = ["Clock", "VirtualClock", "WallClock"]
