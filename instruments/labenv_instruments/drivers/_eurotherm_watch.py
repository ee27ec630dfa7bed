"""Whether a furnace does what its controller says: a programme ends also in a cold tube."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, NamedTuple

from labenv_instruments.drivers._eurotherm_models import ENDED, State
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from labenv_instruments.drivers._eurotherm_program import Program

SENSOR_BREAK: Final = 1 << 5
LOOP_BREAK: Final = 1 << 6
OUT_OF_RANGE: Final = 1 << 10
MANUAL: Final = 1 << 4
REACHED_WITHIN_K: Final = 10.0  # of the programme's peak, or it was not reached
_LOWEST_C, _HIGHEST_C = -60.0, 2500.0  # no thermocouple of a tube furnace shows more or less
_JUMP_K, _JUMP_K_PER_S = 40.0, 1.0  # nothing heats or cools faster
_BEHIND_K, _BEHIND_S = 60.0, 1800.0
_RISE_K = 15.0  # with no output; overshoot stays below
_OVER_K = 30.0  # above the programme's peak; a tuned controller overshoots by less
_OFF_PERCENT, _ON_PERCENT = 0.05, 1.0
_FROZEN_S, _FROZEN_LOOKS, _FROZEN_SETPOINT_K = 900.0, 20, 30.0
_OVERRUN_SHARE, _OVERRUN_S = 0.1, 1800.0
_STILL_FALLS_S, _STILL_FALLS_K = 7200.0, 1.0
_VIRTUAL = 1e5  # lab seconds a second; no clock on the wall is sped up so much
_SPED_UP, _LATE = 1.5, 1.5


class Look(NamedTuple):
    """What the controller shows at a moment; degC and per cent."""

    pv_c: float
    target_c: float
    output_percent: float
    setpoint_c: float
    state: State
    status: int


def check_look(look: Look, where: str) -> None:
    """Refuse a reading that cannot be relied on.

    Args:
        look: What the controller shows.
        where: What to call it in the message.

    Raises:
        InstrumentError: If the thermocouple or the loop is broken, or the reading is out of range.
    """
    if look.status & SENSOR_BREAK:
        raise InstrumentError(f"{where}: the thermocouple is broken (status bit 5); replace it")
    if look.status & OUT_OF_RANGE or not _LOWEST_C < look.pv_c < _HIGHEST_C:
        raise InstrumentError(
            f"{where}: the temperature is out of range ({look.pv_c:.1f} degC, status "
            f"{look.status:04X}h); check the thermocouple and its type"
        )
    if look.status & LOOP_BREAK:
        raise InstrumentError(
            f"{where}: the control loop is broken (status bit 6): the output has no effect on the "
            "temperature; check door, heater, fuse and thermocouple"
        )


class _Steadiness:
    """Readings that jump, stand still or rise without heat."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._last: tuple[float, Look] | None = None
        self._same_since_s, self._same_looks, self._same_setpoint_c = 0.0, 0, 0.0
        self._lowest_off_c: float | None = None

    def check(self, elapsed_s: float, look: Look) -> None:
        """Compare a look with those before it.

        Raises:
            InstrumentError: If the reading jumped, is frozen, or rises with the output at zero.
        """
        if self._last is None:
            self._same_since_s, self._same_setpoint_c = elapsed_s, look.setpoint_c
        else:
            self._check_jump(elapsed_s, look)
            self._check_frozen(elapsed_s, look)
        self._check_rise(look)
        self._last = (elapsed_s, look)

    def _check_jump(self, elapsed_s: float, look: Look) -> None:
        if self._last is None:
            return
        then_s, last = self._last
        if abs(look.pv_c - last.pv_c) > _JUMP_K + _JUMP_K_PER_S * (elapsed_s - then_s):
            raise InstrumentError(
                f"{self._where}: the temperature went from {last.pv_c:.1f} to {look.pv_c:.1f} degC "
                f"in {elapsed_s - then_s:.0f} s, which no furnace does; check thermocouple and unit"
            )

    def _check_frozen(self, elapsed_s: float, look: Look) -> None:
        if self._last is None or look.pv_c != self._last[1].pv_c:
            self._same_since_s, self._same_looks = elapsed_s, 0
            self._same_setpoint_c = look.setpoint_c
            return
        self._same_looks += 1
        lasted_s = elapsed_s - self._same_since_s
        moved = abs(look.setpoint_c - self._same_setpoint_c) > _FROZEN_SETPOINT_K
        long = lasted_s >= _FROZEN_S and self._same_looks >= _FROZEN_LOOKS
        if look.output_percent > _ON_PERCENT and (long or (moved and self._same_looks >= 3)):
            raise InstrumentError(
                f"{self._where}: the reading has stood at {look.pv_c:.2f} degC for "
                f"{lasted_s:.0f} s with {look.output_percent:.0f} % output; "
                "the sensor or the converter is stuck"
            )

    def _check_rise(self, look: Look) -> None:
        if look.output_percent > _OFF_PERCENT:
            self._lowest_off_c = None
            return
        lowest_c = self._lowest_off_c
        self._lowest_off_c = look.pv_c if lowest_c is None else min(lowest_c, look.pv_c)
        if look.pv_c > self._lowest_off_c + _RISE_K:
            raise InstrumentError(
                f"{self._where}: the temperature rose from {self._lowest_off_c:.0f} to "
                f"{look.pv_c:.0f} degC with no output: the heater is stuck on; cut its power"
            )


class PassedTime:
    """Lab time that has passed, as far as a driver can know.

    It waits for lab time, and exchanges with the device take wall time. On the wall's clock, also a
    sped-up one, lab time passes in both; in virtual time only while waiting, which then takes no
    time at all. So there is a least and a most, unless there is a clock that tells.

    Args:
        wait: Waits for lab time, s.
        lab_clock: Returns the lab time, s, if anybody knows it.
    """

    def __init__(
        self,
        wait: Callable[[float], Awaitable[None]],
        lab_clock: Callable[[], float] | None = None,
    ) -> None:
        self._wait, self._lab_clock = wait, lab_clock
        self._began_lab_s = 0.0 if lab_clock is None else lab_clock()
        self._began_s = time.monotonic()
        self._waited_s = self._fastest = self._floor_s = 0.0

    async def pause(self, lab_s: float) -> None:
        """Wait.

        Args:
            lab_s: For how long, s.
        """
        before_s, began_s = self.most_s, time.monotonic()
        await self._wait(lab_s)
        took_s = max(time.monotonic() - began_s, 1e-9)
        self._floor_s = before_s + lab_s
        self._waited_s += lab_s
        self._fastest = max(self._fastest, lab_s / took_s)

    @property
    def least_s(self) -> float:
        """The least that has passed, s."""
        if self._lab_clock is not None:
            return self._lab_clock() - self._began_lab_s
        if self._fastest > _VIRTUAL:
            return self._waited_s
        return max(self._waited_s, time.monotonic() - self._began_s)

    @property
    def most_s(self) -> float:
        """The most that has passed, s; it never runs backwards, though what is known may."""
        if self._lab_clock is not None:
            return self._lab_clock() - self._began_lab_s
        return max(self._floor_s, self._most_by_speed_s())

    def _most_by_speed_s(self) -> float:
        if self._fastest > _VIRTUAL:
            return self._waited_s
        # A wait may last longer than it should, never shorter, so the fastest tells the speed; on
        # a sped-up clock even that one was late by a share of a millisecond, which is much there.
        late = _LATE if self._fastest > _SPED_UP else 1.0
        return max(self.least_s, late * self._fastest * (time.monotonic() - self._began_s))


class FiringWatch:
    """Follows one firing.

    Args:
        program: What was set.
        start_c: Temperature when it began, degC.
        poll_s: How long passes between looks, s.
        where: What to call the furnace in messages.

    Attributes:
        highest_c: Highest temperature seen, degC.
        expected_s: How long the programme takes if nothing holds it up, s.
    """

    def __init__(self, program: Program, start_c: float, poll_s: float, where: str) -> None:
        self.highest_c = start_c
        self.expected_s = program.expected_s(start_c)
        self._program, self._poll_s, self._where = program, poll_s, where
        self._steady = _Steadiness(where)
        self._behind_since_s: float | None = None
        self._at_peak_s = self._last_s = 0.0

    @property
    def longest_s(self) -> float:
        """After so long it is given up, s."""
        return self.expected_s * (1.0 + _OVERRUN_SHARE) + _OVERRUN_S

    def look(self, elapsed_s: float, most_s: float, look: Look) -> bool:
        """Take note of what the controller shows.

        Args:
            elapsed_s: Time since the programme began, at least, s.
            most_s: The same, at most, s.
            look: What it shows.

        Returns:
            Whether the programme has ended.

        Raises:
            InstrumentError: If something is wrong with the furnace or its reading.
        """
        check_look(look, self._where)
        self._steady.check(most_s, look)
        self.highest_c = max(self.highest_c, look.pv_c)
        if look.pv_c > self._program.peak_c + _OVER_K:
            raise InstrumentError(
                f"{self._where}: {look.pv_c:.0f} degC where the programme goes to "
                f"{self._program.peak_c:.0f} degC at most: the heater does not obey; the "
                "sample was fired hotter than asked for"
            )
        if look.pv_c >= self._program.peak_c - REACHED_WITHIN_K:
            self._at_peak_s += most_s - self._last_s
        self._last_s = most_s
        if look.state in ENDED:
            self._check_followed(most_s)
            return True
        if look.status & MANUAL:
            raise InstrumentError(
                f"{self._where}: somebody switched the controller to manual while a programme ran"
            )
        self._check_behind(elapsed_s, look)
        if elapsed_s > self.longest_s:
            raise InstrumentError(
                f"{self._where}: the programme, of {self.expected_s:.0f} s, has not ended after "
                f"{elapsed_s:.0f} s; it is in {look.state.name.lower()} at {look.pv_c:.0f} degC"
            )
        return False

    def _check_behind(self, elapsed_s: float, look: Look) -> None:
        """Refuse a lag; on the way down a furnace can do nothing about it.

        Raises:
            InstrumentError: If it has lagged for too long.
        """
        if look.setpoint_c - look.pv_c <= _BEHIND_K:
            self._behind_since_s = None
            return
        if self._behind_since_s is None:
            self._behind_since_s = elapsed_s
        if elapsed_s - self._behind_since_s > _BEHIND_S:
            raise InstrumentError(
                f"{self._where}: {look.pv_c:.0f} degC for {_BEHIND_S:.0f} s and more where the "
                f"setpoint is {look.setpoint_c:.0f} degC, with {look.output_percent:.0f} % output; "
                "check door, heater and fuse"
            )

    def _check_followed(self, elapsed_s: float) -> None:
        """See that a programme that ended has run its time, and that the furnace was hot.

        Raises:
            InstrumentError: If not.
        """
        slack_s = 0.05 * self.expected_s + 3.0 * self._poll_s + 30.0
        if elapsed_s < self.expected_s - slack_s:
            raise InstrumentError(
                f"{self._where}: the programme, of {self.expected_s:.0f} s, ended after "
                f"{elapsed_s:.0f} s; somebody reset it or the controller lost it"
            )
        peak_c = self._program.peak_c
        if self.highest_c < peak_c - REACHED_WITHIN_K - self._missed_k():
            raise InstrumentError(
                f"{self._where}: the programme is complete, but the furnace reached only "
                f"{self.highest_c:.0f} degC of {peak_c:.0f} degC; check door, heater and fuse"
            )
        held_s = self._program.peak_hold_s
        if self._at_peak_s < 0.8 * held_s - 2.0 * self._poll_s - 30.0:
            raise InstrumentError(
                f"{self._where}: the programme is complete, but the furnace was within "
                f"{REACHED_WITHIN_K:g} K of {peak_c:.0f} degC for {self._at_peak_s:.0f} s only, "
                f"not for {held_s:.0f} s"
            )

    def _missed_k(self) -> float:
        """Return how far a peak may go unseen between two looks, K."""
        if self._program.peak_hold_s > self._poll_s:
            return 0.0
        fastest = max(stage.rate_k_per_min for stage in self._program.stages)
        return fastest / 60.0 * self._poll_s


class CoolingWatch:
    """Follows a furnace whose heater is off."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._steady = _Steadiness(where)
        self._marks: tuple[float, float] | None = None

    def look(self, elapsed_s: float, look: Look) -> None:
        """Take note of what the controller shows.

        Args:
            elapsed_s: Time since the heater is off, s.
            look: What it shows.

        Raises:
            InstrumentError: If the furnace does not cool, or the reading is not to be relied on.
        """
        check_look(look, self._where)
        self._steady.check(elapsed_s, look)
        if look.state not in ENDED or look.output_percent > _ON_PERCENT:
            raise InstrumentError(
                f"{self._where}: somebody switched the heater on while the furnace cooled "
                f"({look.state.name.lower()}, {look.output_percent:.0f} % output)"
            )
        if self._marks is None or look.pv_c <= self._marks[1] - _STILL_FALLS_K:
            self._marks = (elapsed_s, look.pv_c)
        elif elapsed_s - self._marks[0] > _STILL_FALLS_S:
            raise InstrumentError(
                f"{self._where}: has stood at {look.pv_c:.0f} degC for {_STILL_FALLS_S / 3600:g} h "
                "with no output: the heater is stuck on, or the reading is stuck"
            )


__all__ = ["CoolingWatch", "FiringWatch", "Look", "PassedTime", "check_look"]
