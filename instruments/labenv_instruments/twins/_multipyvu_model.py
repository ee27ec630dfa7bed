"""What a cryostat does between two questions: temperature and field follow their set points.

Times are those of MultiPyVu's own scaffolding where it has them: a new set point shows in the state
a second later, and the old "Stable" stands until then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_LAG_S: Final = 1.0
_ITERATING_S: Final = 5.0
_PURGING_S: Final = 60.0
_SETTLING: Final = 8.0  # time constants until "Stable"; 0.3 % of the overshoot is left then


@dataclass(slots=True)
class TemperatureControl:
    """The sample's temperature.

    Attributes:
        target_k: Where it goes.
        rate_k_per_min: How fast.
        approach: 0 settles fast, by going beyond and coming back; 1 does not go beyond.
    """

    target_k: float = 300.0
    rate_k_per_min: float = 1.0
    approach: int = 0
    _start_k: float = 300.0
    _since_s: float = -1e9

    def go_to(self, target_k: float, rate_k_per_min: float, approach: int, now_s: float) -> None:
        """Take a new set point up.

        Args:
            target_k: K.
            rate_k_per_min: K/min.
            approach: 0 or 1.
            now_s: Lab time, s.
        """
        self._start_k = self.value_k(now_s)
        self.target_k, self.rate_k_per_min, self.approach = target_k, rate_k_per_min, approach
        self._since_s = now_s

    def value_k(self, now_s: float) -> float:
        """Return the temperature at a moment, K."""
        passed_s = now_s - self._since_s - _LAG_S
        if passed_s <= 0.0:
            return self._start_k
        change_k = self.target_k - self._start_k
        if passed_s < self._ramp_s:
            return self._start_k + math.copysign(self.rate_k_per_min / 60.0 * passed_s, change_k)
        u = (passed_s - self._ramp_s) / self._constant_s
        beyond_k = 0.0 if self.approach else min(0.5, 0.02 * abs(change_k))
        return max(self.target_k + math.copysign(beyond_k * u * math.exp(-u), change_k), 0.1)

    def state(self, now_s: float) -> str:
        """Return what the controller says of it."""
        passed_s = now_s - self._since_s - _LAG_S
        if passed_s <= 0.0:
            return "Stable"  # of the old set point
        if passed_s < self._ramp_s:
            return "Tracking"
        return "Near" if passed_s < self._ramp_s + _SETTLING * self._constant_s else "Stable"

    def settled_s(self) -> float:
        """Return the lab time at which it is stable, s."""
        return self._since_s + _LAG_S + self._ramp_s + _SETTLING * self._constant_s

    @property
    def _ramp_s(self) -> float:
        return 60.0 * abs(self.target_k - self._start_k) / self.rate_k_per_min

    @property
    def _constant_s(self) -> float:
        return 1.5 + 5.0 * min(1.0, abs(self.target_k - self._start_k) / 20.0)


@dataclass(slots=True)
class Magnet:
    """The field.

    Attributes:
        target_oe: Where it goes.
        rate_oe_per_s: How fast.
        driven: Whether the supply keeps driving it; else it ends in persistent mode.
    """

    target_oe: float = 0.0
    rate_oe_per_s: float = 1.0
    driven: bool = True
    _start_oe: float = 0.0
    _since_s: float = -1e9

    def go_to(self, target_oe: float, rate_oe_per_s: float, driven: bool, now_s: float) -> None:
        """Take a new set point up.

        Args:
            target_oe: Oe.
            rate_oe_per_s: Oe/s.
            driven: Whether it is to be driven on.
            now_s: Lab time, s.
        """
        self._start_oe = self.value_oe(now_s)
        self.target_oe, self.rate_oe_per_s, self.driven = target_oe, rate_oe_per_s, driven
        self._since_s = now_s

    def value_oe(self, now_s: float) -> float:
        """Return the field at a moment, Oe."""
        passed_s = now_s - self._since_s - _LAG_S
        if passed_s <= 0.0:
            return self._start_oe
        if passed_s >= self._ramp_s:
            return self.target_oe
        change_oe = self.target_oe - self._start_oe
        return self._start_oe + math.copysign(self.rate_oe_per_s * passed_s, change_oe)

    def state(self, now_s: float) -> str:
        """Return what the magnet's controller says of it."""
        passed_s = now_s - self._since_s - _LAG_S
        if 0.0 < passed_s < self._ramp_s:
            return "Ramping"
        if 0.0 < passed_s < self._ramp_s + _ITERATING_S:
            return "Iterate"
        return "Holding (driven)" if self.driven and self._since_s >= 0.0 else "Stable"

    def settled_s(self) -> float:
        """Return the lab time at which it holds, s."""
        return self._since_s + _LAG_S + self._ramp_s + _ITERATING_S

    @property
    def _ramp_s(self) -> float:
        return abs(self.target_oe - self._start_oe) / self.rate_oe_per_s


CHAMBER_ENDS: Final = (
    "Sealed (condition unknown)",
    "Purged and Sealed",
    "Vented and Sealed",
    "Pumping Continuously",
    "Flooding Continuously",
    "HiVac",
)
"""In what each mode of the chamber ends: seal, purge, vent, pump, flood, high vacuum."""


@dataclass(slots=True)
class Chamber:
    """The sample chamber."""

    _mode: int = 1
    _since_s: float = -1e9

    def go_to(self, mode: int, now_s: float) -> None:
        """Take a new mode up.

        Args:
            mode: Index in `CHAMBER_ENDS`.
            now_s: Lab time, s.
        """
        self._mode, self._since_s = mode, now_s

    def state(self, now_s: float) -> str:
        """Return what the chamber's controller says of it."""
        if now_s < self.settled_s():
            at_work = {1: "Performing Purge/Seal", 2: "Performing Vent/Seal", 5: "Pre-HiVac"}
            return at_work.get(self._mode, CHAMBER_ENDS[self._mode])
        return CHAMBER_ENDS[self._mode]

    def settled_s(self) -> float:
        """Return the lab time at which it is done, s."""
        return self._since_s + _PURGING_S


__all__ = ["CHAMBER_ENDS", "Chamber", "Magnet", "TemperatureControl"]
