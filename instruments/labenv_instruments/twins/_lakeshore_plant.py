"""The stage of a closed-cycle cryostat with a heater, and the controller's loop around it.

One heat capacity, cooled through one conductance to a cold head, heated by the controller's output:
C dT/dt = P - G (T - T_head). The loop is the one the controller documents: output in per cent of
the range = P (e + I/1000 s ∫ e dt), held between 0 and 100 (Model 336 user's manual, section 2.7);
its derivative part is kept but not used. Capacity and conductance are of the size of a small cold
stage; they are not a product's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

HEAD_K: Final = 3.2
CAPACITY_J_PER_K: Final = 100.0
CONDUCTANCE_W_PER_K: Final = 0.15
FULL_POWER_W: Final = {0: 0.0, 1: 0.5, 2: 5.0, 3: 50.0}  # by range: off, low, medium, high
_STEP_S, _LONGEST_S = 1.0, 20_000.0  # beyond some time constants nothing but the ramp goes on


@dataclass(slots=True)
class Loop:
    """One output of the controller.

    Attributes:
        setpoint_k: Where the set point is now, K; it moves while it ramps.
        target_k: Where it goes, K.
        ramps: Whether the set point ramps.
        rate_k_per_min: How fast; 0 is at once.
        range_number: 0 off, 1 low, 2 medium, 3 high.
        p: Proportional gain, per cent per kelvin.
        i: Integral setting, 1000/s.
        d: Derivative setting, per cent; only kept.
        output_percent: Of the range.
    """

    setpoint_k: float = 295.0
    target_k: float = 295.0
    ramps: bool = False
    rate_k_per_min: float = 0.0
    range_number: int = 0
    p: float = 50.0
    i: float = 20.0
    d: float = 0.0
    output_percent: float = 0.0
    integral_k_s: float = 0.0

    @property
    def ramping(self) -> bool:
        """Whether the set point is on its way; the sensor may be anywhere."""
        return self.setpoint_k != self.target_k

    def set_target(self, target_k: float) -> None:
        """Take a new set point, at once or along the ramp.

        Args:
            target_k: It, K.
        """
        self.target_k = target_k
        if not self.ramps or self.rate_k_per_min == 0.0:
            self.setpoint_k = target_k

    def move(self, elapsed_s: float) -> None:
        """Let the set point ramp.

        Args:
            elapsed_s: For so long, s.
        """
        most_k = self.rate_k_per_min / 60.0 * elapsed_s
        away_k = self.target_k - self.setpoint_k
        self.setpoint_k = (
            self.target_k
            if abs(away_k) <= most_k
            else self.setpoint_k + math.copysign(most_k, away_k)
        )


@dataclass(slots=True)
class Stage:
    """The stage.

    Attributes:
        temperature_k: Of the stage, K.
        now_s: Lab time up to which it has been followed, s.
    """

    temperature_k: float = 295.0
    now_s: float = 0.0

    def follow(self, loop: Loop, until_s: float, *, heats: bool, sensed: bool) -> None:
        """Let stage and loop live on until a moment.

        Args:
            loop: The loop whose heater is on the stage.
            until_s: The moment, lab s.
            heats: Whether the heater's power reaches the stage.
            sensed: Whether the controller has a reading; without one it gives no power.
        """
        elapsed_s = until_s - self.now_s
        if elapsed_s <= 0.0:
            return
        self.now_s = until_s
        if elapsed_s > _LONGEST_S:
            loop.move(elapsed_s - _LONGEST_S)
            elapsed_s = _LONGEST_S
        steps = max(1, math.ceil(elapsed_s / _STEP_S))
        step_s = elapsed_s / steps
        decay = math.exp(-step_s * CONDUCTANCE_W_PER_K / CAPACITY_J_PER_K)
        full_w = FULL_POWER_W[loop.range_number]
        ramping = loop.ramping
        for _ in range(steps):
            if ramping:
                loop.move(step_s)
                ramping = loop.ramping
            power_w = self._output(loop, step_s, full_w if sensed else 0.0)
            steady_k = HEAD_K + (power_w if heats else 0.0) / CONDUCTANCE_W_PER_K
            self.temperature_k = steady_k + (self.temperature_k - steady_k) * decay

    def _output(self, loop: Loop, step_s: float, full_w: float) -> float:
        if full_w == 0.0:
            loop.output_percent = loop.integral_k_s = 0.0
            return 0.0
        error_k = loop.setpoint_k - self.temperature_k
        integral = loop.integral_k_s + error_k * step_s
        wanted = loop.p * (error_k + loop.i / 1000.0 * integral)
        loop.output_percent = min(max(wanted, 0.0), 100.0)
        if wanted == loop.output_percent:  # no winding up while the output is at its end
            loop.integral_k_s = integral
        return loop.output_percent / 100.0 * full_w


__all__ = ["FULL_POWER_W", "HEAD_K", "Loop", "Stage"]
