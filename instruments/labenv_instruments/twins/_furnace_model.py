"""A tube furnace and its controller: heat in, heat out, a setpoint programme, what was followed.

Between two corners of the setpoint everything has a closed form: under control the temperature
follows it as a damped oscillator (proportional and integral action with the ramp fed forward,
which leaves a small overshoot at a corner), and at the limits of the heater it falls or rises
exponentially. So time passes in steps of minutes to hours and each is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

ROOM_C: Final = 25.0
FULL_POWER_RISE_K: Final = 5000.0  # above room at full power, if nothing melted
LOSS_TIME_S: Final = 4200.0  # cools from 1200 to 65 degC in 4 h, as the lab's timing has it
OPEN_LOSS_TIME_S: Final = 900.0
HOTTEST_C: Final = 1750.0  # the heating element breaks
_FREQUENCY = 0.05  # rad/s, of the closed loop
_DAMPING = 0.7
_SETTLED_K, _SETTLED_K_PER_S = 1e-4, 1e-6
_FINE_S, _COARSE_S = 10.0, 60.0
_FOLLOWED_WITHIN_K = 10.0


class Phase(Enum):
    """What the programmer does."""

    RESET = auto()
    RUN = auto()
    HOLD = auto()
    HOLDBACK = auto()
    COMPLETE = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a programme: go to a temperature at a rate, then stay.

    Attributes:
        target_c: Where to, degC.
        rate_k_per_s: How fast; infinite for a jump.
        dwell_s: How long to stay, s.
        segment: Its number on the display.
    """

    target_c: float
    rate_k_per_s: float
    dwell_s: float = 0.0
    segment: int = 1


@dataclass(slots=True)
class Conditions:
    """What is wrong with the furnace at the moment."""

    stuck: bool = False
    door_open: bool = False
    sensor_broken: bool = False


@dataclass(slots=True)
class Run:
    """A programme under way, and the path that was taken.

    Attributes:
        steps: What was asked for.
        start_c: Temperature when it began, degC.
        free_from: Number of the step from which falling behind does not matter, as when cooling.
        path: (time since the start in s, degC) at every corner and wherever it went astray.
        done_s: For how long each step has moved and stayed, s.
        stray_k: Farthest from the setpoint, K.
        held_s: For how long the setpoint stood still though it should have moved, s.
        reached: Number of the step at hand.
    """

    steps: tuple[Step, ...]
    start_c: float
    free_from: int
    path: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    done_s: list[list[float]] = field(default_factory=list[list[float]])
    stray_k: float = 0.0
    held_s: float = 0.0
    reached: int = 0

    @property
    def followed(self) -> bool:
        """Whether the furnace did what the programme says, and without a pause."""
        return self.stray_k <= _FOLLOWED_WITHIN_K and self.held_s < 1.0


class Furnace:
    """The furnace with its controller.

    Attributes:
        now_s: Until when it has lived.
        temperature_c: Of the thermocouple, degC.
        setpoint_c: Working setpoint, degC.
        base_setpoint_c: Setpoint while no programme runs, degC.
        manual: Whether the output is set by hand.
        manual_share: Output then, 0 to 1.
        output: Output of the controller, 0 to 1.
        holdback_k: The setpoint waits while the temperature is so far below; 0 never waits.
        resets_at_end: Whether the programmer resets itself when it has finished.
        run: The last programme that ran.
    """

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s
        self.temperature_c = ROOM_C
        self.setpoint_c = self.base_setpoint_c = ROOM_C - 5.0
        self.manual, self.manual_share, self.output = False, 0.0, 0.0
        self.holdback_k = 0.0
        self.resets_at_end = True
        self.conditions = Conditions()
        self.phase = Phase.RESET
        self.run: Run | None = None
        self.index = 0
        self._ended = False
        self._speed = 0.0  # of the temperature, K/s

    # ------------------------------------------------------------------------- the programmer

    def start(self, steps: tuple[Step, ...], free_from: int) -> None:
        """Begin a programme at the present temperature, or go on with one that was held."""
        if self.phase is Phase.HOLD:
            self.phase = Phase.RUN
            return
        if self.phase in {Phase.RUN, Phase.HOLDBACK} or not steps:
            return
        self.run = Run(steps, self.temperature_c, free_from, [(0.0, self.temperature_c)])
        self.run.done_s = [[0.0, 0.0] for _ in steps]
        self.setpoint_c, self.index, self.phase = self.temperature_c, 0, Phase.RUN
        self._speed = 0.0

    def hold(self) -> None:
        """Stop the programme's clock."""
        if self.phase in {Phase.RUN, Phase.HOLDBACK}:
            self.phase = Phase.HOLD

    def reset(self) -> None:
        """Give the programme up and go back to the base setpoint."""
        self._ended = self._ended or self.phase in {Phase.RUN, Phase.HOLD, Phase.HOLDBACK}
        self.phase, self.setpoint_c = Phase.RESET, self.base_setpoint_c

    def take_ended(self) -> Run | None:
        """Return the programme that has ended since this was asked last, if one has."""
        ended, self._ended = self._ended, False
        return self.run if ended else None

    @property
    def complete(self) -> bool:
        """Whether the last programme went to its end."""
        return self.run is not None and self.index >= len(self.run.steps)

    @property
    def step_left_s(self) -> float:
        """Time left in the step at hand, s."""
        if self.run is None or self.phase in {Phase.RESET, Phase.COMPLETE} or self.complete:
            return 0.0
        step, (_, stayed_s) = self.run.steps[self.index], self.run.done_s[self.index]
        return abs(step.target_c - self.setpoint_c) / step.rate_k_per_s + step.dwell_s - stayed_s

    @property
    def program_left_s(self) -> float:
        """Time left in the programme, s."""
        if self.run is None or self.phase in {Phase.RESET, Phase.COMPLETE} or self.complete:
            return 0.0
        left_s, from_c = self.step_left_s, self.run.steps[self.index].target_c
        for step in self.run.steps[self.index + 1 :]:
            left_s += abs(step.target_c - from_c) / step.rate_k_per_s + step.dwell_s
            from_c = step.target_c
        return left_s

    # ------------------------------------------------------------------------- time

    def advance(self, now_s: float) -> None:
        """Live on until a moment."""
        while self.now_s < now_s:
            left_s = now_s - self.now_s
            if self.phase is Phase.RUN:
                left_s = min(left_s, self._until_corner_s())
            slope = self._slope() if self.phase is Phase.RUN else 0.0
            lasted_s = self._live(left_s, slope) if left_s > 0.0 else 0.0
            self.now_s += lasted_s
            self._take_note(lasted_s, slope)
            if lasted_s <= 0.0 and self.phase is not Phase.RUN:
                break

    def _slope(self) -> float:
        if self.run is None or self.complete:
            return 0.0
        step = self.run.steps[self.index]
        difference = step.target_c - self.setpoint_c
        return math.copysign(step.rate_k_per_s, difference) if difference else 0.0

    def _until_corner_s(self) -> float:
        if self.run is None or self.complete:
            return 0.0
        step, (_, stayed_s) = self.run.steps[self.index], self.run.done_s[self.index]
        if step.target_c != self.setpoint_c:
            return abs(step.target_c - self.setpoint_c) / step.rate_k_per_s
        return step.dwell_s - stayed_s

    def _take_note(self, lasted_s: float, slope: float) -> None:
        """Keep the programmer's clock and the path."""
        run = self.run
        if run is None or self.phase in {Phase.RESET, Phase.COMPLETE}:
            return
        stray_k = self.temperature_c - self.setpoint_c
        if self.index < run.free_from or stray_k < 0.0:
            run.stray_k = max(run.stray_k, abs(stray_k))
        run.path.append((run.path[-1][0] + lasted_s, self.temperature_c))
        if self.phase is Phase.RUN:
            run.done_s[self.index][0 if slope else 1] += lasted_s
            self._pass_corners(run)
        else:
            run.held_s += lasted_s
        if self.phase in {Phase.RUN, Phase.HOLDBACK}:
            waits = 0.0 < self.holdback_k < self.setpoint_c - self.temperature_c
            self.phase = Phase.HOLDBACK if waits else Phase.RUN

    def _pass_corners(self, run: Run) -> None:
        step = run.steps[self.index]
        if abs(step.target_c - self.setpoint_c) < 1e-9 * max(1.0, abs(step.target_c)):
            self.setpoint_c = step.target_c
        stayed_s = run.done_s[self.index][1]
        if self.setpoint_c != step.target_c or stayed_s < step.dwell_s - 1e-6:
            return
        self.index += 1
        run.reached = self.index
        if self.index < len(run.steps):
            return
        self._ended = True
        self.phase = Phase.COMPLETE
        if self.resets_at_end:
            self.reset()

    def _live(self, longest_s: float, slope: float) -> float:
        """Return for how long the temperature and the setpoint went on, s."""
        if not math.isfinite(slope):  # a jump
            self.setpoint_c = self.run.steps[self.index].target_c if self.run else self.setpoint_c
            return 0.0
        share = self._forced_share()
        if share is not None:
            lasted_s = min(longest_s, _COARSE_S) if self.phase is not Phase.RESET else longest_s
            self._drift(lasted_s, share)
            self.output = 0.0 if self.conditions.sensor_broken else self._wanted(slope)
            self.output = self.manual_share if self.manual else self.output
        else:
            lasted_s = self._controlled(longest_s, slope)
        if slope:
            moved_c = self.setpoint_c + slope * lasted_s
            target_c = self.run.steps[self.index].target_c if self.run else moved_c
            self.setpoint_c = min(moved_c, target_c) if slope > 0.0 else max(moved_c, target_c)
        return lasted_s

    def _forced_share(self) -> float | None:
        """Return the share of heat that flows whatever the controller wants; None if it decides."""
        if self.conditions.stuck:
            return 1.0
        if self.conditions.door_open or self.conditions.sensor_broken:
            return 0.0
        return self.manual_share if self.manual else None

    def _wanted(self, slope: float) -> float:
        """Return the output that the controller would set, 0 to 1, when it does not decide."""
        behind_k = self.setpoint_c - self.temperature_c
        return min(1.0, max(0.0, self._needed(slope + 0.01 * behind_k)))

    def _needed(self, speed: float) -> float:
        loss_k = self.temperature_c - ROOM_C
        return (LOSS_TIME_S * speed + loss_k) / FULL_POWER_RISE_K

    def _drift(self, lasted_s: float, share: float) -> None:
        loss_s = OPEN_LOSS_TIME_S if self.conditions.door_open else LOSS_TIME_S
        ends_c = ROOM_C + share * FULL_POWER_RISE_K
        left = math.exp(-lasted_s / loss_s)
        self.temperature_c = min(HOTTEST_C, ends_c + (self.temperature_c - ends_c) * left)
        self._speed = (ends_c - self.temperature_c) / loss_s

    def _controlled(self, longest_s: float, slope: float) -> float:
        behind_k, relative = self.temperature_c - self.setpoint_c, self._speed - slope
        settled = abs(behind_k) < _SETTLED_K and abs(relative) < _SETTLED_K_PER_S
        before_c = self.temperature_c
        if settled and self._within_limits(slope, longest_s):
            self.temperature_c = self.setpoint_c + slope * longest_s
            self._speed = slope
            self.output = self._needed(slope)
            return longest_s
        lasted_s = min(longest_s, _COARSE_S if abs(behind_k) < 5.0 else _FINE_S)
        later_k, later_relative = _oscillated(behind_k, relative, lasted_s)
        self.temperature_c = self.setpoint_c + slope * lasted_s + later_k
        speed = slope + later_relative
        output = self._needed(speed)
        if 0.0 <= output <= 1.0:
            self._speed, self.output = speed, output
        else:
            self.temperature_c = before_c
            self.output = min(1.0, max(0.0, output))
            if self.phase is Phase.RESET and output < 0.0:  # nothing to wait for but the cold
                lasted_s = longest_s
            self._drift(lasted_s, self.output)
        return lasted_s

    def _within_limits(self, slope: float, lasted_s: float) -> bool:
        first = self._needed(slope)
        last = first + slope * lasted_s / FULL_POWER_RISE_K
        return min(first, last) >= 0.0 and max(first, last) <= 1.0


def _oscillated(offset_k: float, speed: float, lasted_s: float) -> tuple[float, float]:
    """Return offset and its rate of change after a time, for a damped oscillator."""
    decay, wave = _DAMPING * _FREQUENCY, _FREQUENCY * math.sqrt(1.0 - _DAMPING**2)
    fade = math.exp(-decay * lasted_s)
    cosine, sine = math.cos(wave * lasted_s), math.sin(wave * lasted_s)
    swing = (speed + decay * offset_k) / wave
    later_k = fade * (offset_k * cosine + swing * sine)
    later = fade * ((swing * wave) * cosine - offset_k * wave * sine) - decay * later_k
    return later_k, later


__all__ = ["HOTTEST_C", "ROOM_C", "Conditions", "Furnace", "Phase", "Run", "Step"]
