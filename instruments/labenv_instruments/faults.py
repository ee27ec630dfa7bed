"""What goes wrong in a laboratory, on demand: scripted, or random with a seed.

A fault is tied to the requests that a twin gets, so that a run with the same requests fails the
same way. Faults of the wire disturb one reply; faults of the device last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


class FaultKind(StrEnum):
    """Kinds of faults."""

    LATE_REPLY = "late_reply"
    SPLIT_REPLY = "split_reply"
    GARBLED = "garbled"
    DROPPED = "dropped"
    SILENT = "silent"
    STALE_REPLY = "stale_reply"
    BUSY = "busy"
    WRONG_UNIT = "wrong_unit"
    OVERRANGE = "overrange"
    STALE_READING = "stale_reading"
    SENSOR_BREAK = "sensor_break"
    STUCK_HEATER = "stuck_heater"
    DOOR_OPEN = "door_open"
    MISDOSE = "misdose"
    LOST_SAMPLE = "lost_sample"
    NOT_EXPORTED = "not_exported"
    HALF_WRITTEN = "half_written"


WIRE_FAULTS = frozenset({
    FaultKind.LATE_REPLY,
    FaultKind.SPLIT_REPLY,
    FaultKind.GARBLED,
    FaultKind.DROPPED,
    FaultKind.SILENT,
    FaultKind.STALE_REPLY,
})
"""Faults of a reply, which any twin can have."""

HARMLESS = frozenset({FaultKind.SPLIT_REPLY})
"""Faults that a driver must get over without anybody's noticing."""

FOR_EVER = 2**62


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        kind: What goes wrong.
        after_requests: How many requests go well before it, counted from when the twin started.
        lasts_requests: For how many requests it lasts.
        delay_s: How late a late reply is, s of wall time.
    """

    kind: FaultKind
    after_requests: int = 0
    lasts_requests: int = 1
    delay_s: float = 3.0


@dataclass(slots=True)
class FaultPlan:
    """The faults of one twin, and which of them came to pass.

    Attributes:
        faults: What is to go wrong.
        requests: How many requests came so far.
        fired: Number of the request and kind of what went wrong, in order.
    """

    faults: list[Fault] = field(default_factory=list[Fault])
    requests: int = 0
    fired: list[tuple[int, FaultKind]] = field(default_factory=list[tuple[int, FaultKind]])

    @classmethod
    def random(
        cls, seed: int, kinds: Collection[FaultKind], count: int, within_requests: int
    ) -> FaultPlan:
        """Return faults of random kinds at random requests.

        Args:
            seed: Decides them.
            kinds: From which they are drawn.
            count: How many.
            within_requests: They come within so many requests.

        Returns:
            The plan.

        Raises:
            ConfigError: If there are no kinds to draw from, or a number is not above 0.
        """
        if not kinds or count < 0 or within_requests < 1:
            raise ConfigError("random faults need kinds, a count and a number of requests above 0")
        rng = np.random.default_rng(seed)
        names = sorted(kinds)
        return cls([
            Fault(names[int(rng.integers(len(names)))], int(rng.integers(within_requests)))
            for _ in range(count)
        ])

    def add(self, fault: Fault) -> None:
        """Let a fault come, counted in requests from now on.

        Args:
            fault: Which.
        """
        after = self.requests + fault.after_requests
        self.faults.append(Fault(fault.kind, after, fault.lasts_requests, fault.delay_s))

    def begin_request(self) -> None:
        """Count a request."""
        self.requests += 1

    def active(self, kind: FaultKind) -> Fault | None:
        """Return the fault of a kind that holds for the request at hand, and take note of it.

        Args:
            kind: What may go wrong here.

        Returns:
            The fault, or None if all is well.
        """
        number = self.requests - 1
        for fault in self.faults:
            begin = fault.after_requests
            if fault.kind is kind and begin <= number < begin + fault.lasts_requests:
                if (number, kind) not in self.fired[-8:]:
                    self.fired.append((number, kind))
                return fault
        return None

    def first_active(self, kinds: Iterable[FaultKind]) -> Fault | None:
        """Return the first fault of some kinds that holds for the request at hand."""
        return next((found for kind in kinds if (found := self.active(kind))), None)

    def clear(self) -> None:
        """Let nothing go wrong any more."""
        self.faults.clear()


def parse_kind(text: str) -> FaultKind:
    """Return the kind that a text names.

    Args:
        text: Such as ``"sensor_break"``; dashes count as underscores.

    Returns:
        The kind.

    Raises:
        ConfigError: If there is no such kind.
    """
    try:
        return FaultKind(text.replace("-", "_"))
    except ValueError:
        known = ", ".join(kind.value for kind in FaultKind)
        raise ConfigError(f"there is no fault {text!r}; there are {known}") from None


__all__ = [
    "FOR_EVER",
    "HARMLESS",
    "WIRE_FAULTS",
    "Fault",
    "FaultKind",
    "FaultPlan",
    "parse_kind",
]
