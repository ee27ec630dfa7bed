"""Moves a cryostat and believes it only when reading and state agree.

A fault state is not "settled", and after a new set point the old "Stable" goes on for a while: the
reading must be at the set point, and the state must have moved since or had the time to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labenv_instruments.drivers._multipyvu_commands import (
    CHAMBER_AT_WORK,
    CHAMBER_CLOSED,
    CHAMBER_UNSURE,
    FIELD_MOVING,
    FIELD_SETTLED,
    TEMPERATURE_MOVING,
    CryostatCommands,
    Reading,
)
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

OVERLOAD_OHM = 1e30  # no bridge reads that; it is a sentinel
STILL_OE = 10.0  # a field that counts as none

_SETTLING_S = 1800.0  # beyond twice the ramp's own time; a cryostat may fill its pot meanwhile
_TAKING_UP_S = 10.0  # within which a new set point shows in the state
_PURGING_S = 900.0
_POLL_S, _LONGEST_POLL_S = 5.0, 60.0
_READS = 3
_CURRENT_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class CryostatControl:
    """Temperature, field, chamber and bridge of one cryostat.

    Attributes:
        device: Its commands.
        name: What to call it in messages.
        rate_k_per_min: Of the temperature, K/min.
        field_rate_oe_per_s: Of the field, Oe/s.
        wait: Lets lab time pass, s.
    """

    device: CryostatCommands
    name: str
    rate_k_per_min: float
    field_rate_oe_per_s: float
    wait: Callable[[float], Awaitable[None]]

    async def go_to(self, target_k: float) -> Reading:
        """Go to a temperature and return what is read once it is really there, K.

        Args:
            target_k: K.

        Returns:
            That.

        Raises:
            InstrumentError: If it is not so.
        """
        start = await self.device.temperature()
        await self.device.set_temperature(target_k, self.rate_k_per_min)
        taken = await self.device.temperature_setpoint_k()
        if abs(taken - target_k) > 1e-3:
            raise InstrumentError(f"{self.name} goes to {taken:g} K when told {target_k:g} K")
        ramp_s = 60.0 * abs(start.value - target_k) / self.rate_k_per_min
        allowed_s, waited_s, moved = 2.0 * ramp_s + _SETTLING_S, 0.0, False
        now = start
        while waited_s < allowed_s:
            left_s = 60.0 * abs(now.value - target_k) / self.rate_k_per_min
            step_s = min(max(left_s, _POLL_S), _LONGEST_POLL_S, allowed_s - waited_s)
            await self.wait(step_s)
            waited_s += step_s
            now = await self.device.temperature()
            moving = moving_temperature(self.name, now)
            moved = moved or moving
            there = abs(now.value - target_k) <= max(0.1, 0.002 * target_k)
            if there and not moving and (moved or waited_s >= ramp_s + _TAKING_UP_S):
                return now
        raise InstrumentError(
            f"{self.name} is at {now.value:g} K and says {now.state!r} {waited_s:.0f} s after it "
            f"was told to go to {target_k:g} K"
        )

    async def read(self, current_a: float) -> tuple[float, float] | str:
        """Read the resistance between two readings of the temperature that agree.

        Returns:
            Temperature, K, and resistance, ohm; or why a simulated bridge cannot tell.

        Raises:
            InstrumentError: If the bridge shows no resistance or the temperature moves.
        """
        before = await self.device.temperature()
        for _ in range(_READS):
            ohm = await self.device.resistance_ohm()
            if isinstance(ohm, str):
                return ohm
            self._check_resistance(ohm, await self.device.current_a(), current_a)
            after = await self.device.temperature()
            moving_temperature(self.name, after)
            if abs(after.value - before.value) <= max(0.05, 0.001 * after.value):
                return 0.5 * (before.value + after.value), ohm
            before = after
        raise InstrumentError(
            f"{self.name}: the temperature does not stay while the resistance is read; last "
            f"{before.value:g} K ({before.state})"
        )

    def _check_resistance(self, ohm: float, driven_a: float, current_a: float) -> None:
        if abs(driven_a - current_a) > _CURRENT_SHARE * current_a:
            raise InstrumentError(
                f"{self.name}: bridge {self.device.bridge} drives {1e6 * driven_a:g} uA, not "
                f"{1e6 * current_a:g} uA; is the sample there and are its contacts closed?"
            )
        if abs(ohm) >= OVERLOAD_OHM:
            raise InstrumentError(
                f"{self.name}: bridge {self.device.bridge} is overloaded ({ohm:g} ohm); see to the "
                "contacts or lower the current"
            )

    async def hold_temperature(self) -> None:
        """Make the temperature that there is the set point, and see that it is.

        Raises:
            InstrumentError: If it is not so.
        """
        now = await self.device.temperature()
        if not 1.0 <= now.value <= 410.0:
            raise InstrumentError(
                f"{self.name} reads {now.value:g} K, which no sample has; its set point is left"
            )
        await self.device.set_temperature(now.value, self.rate_k_per_min)
        taken = await self.device.temperature_setpoint_k()
        if abs(taken - now.value) > 1e-3:
            raise InstrumentError(f"{self.name} still goes to {taken:g} K")

    async def go_to_field(self, target_oe: float) -> Reading:
        """Go to a field and return what is read once it is really there, Oe.

        Args:
            target_oe: Oe.

        Returns:
            That.

        Raises:
            InstrumentError: If it is not so.
        """
        now = await self.device.field()
        await self.device.set_field(target_oe, self.field_rate_oe_per_s)
        ramp_s = abs(now.value - target_oe) / self.field_rate_oe_per_s
        allowed_s, waited_s, moved = 2.0 * ramp_s + _SETTLING_S, 0.0, False
        while waited_s < allowed_s:
            left_s = abs(now.value - target_oe) / self.field_rate_oe_per_s
            step_s = min(max(left_s, _POLL_S), _LONGEST_POLL_S, allowed_s - waited_s)
            await self.wait(step_s)
            waited_s += step_s
            now = await self.device.field()
            moving = moving_field(self.name, now)
            moved = moved or moving
            there = abs(now.value - target_oe) <= field_tolerance_oe(target_oe)
            if there and not moving and (moved or waited_s >= ramp_s + _TAKING_UP_S):
                return now
        raise InstrumentError(
            f"{self.name} is at {now.value:g} Oe and says {now.state!r} {waited_s:.0f} s after it "
            f"was told to go to {target_oe:g} Oe"
        )

    async def drop_field(self) -> None:
        """Send the field to zero at its rate, unless it is there."""
        now = await self.device.field()
        if abs(now.value) <= STILL_OE and now.state in FIELD_SETTLED:
            return
        await self.device.set_field(0.0, self.field_rate_oe_per_s)
        moving_field(self.name, await self.device.field())

    # ------------------------------------------------------------------------- chamber and bridge

    async def close_chamber(self) -> None:
        """Purge and seal the chamber, unless it is closed.

        Raises:
            InstrumentError: If it is not so.
        """
        state = await self.device.chamber()
        self.check_chamber(state)
        if state not in CHAMBER_CLOSED and state != CHAMBER_AT_WORK:
            await self.device.purge_and_seal()
        waited_s = 0.0
        while (state := await self.device.chamber()) not in CHAMBER_CLOSED:
            self.check_chamber(state)
            if waited_s >= _PURGING_S:
                raise InstrumentError(f"{self.name}: the chamber is {state!r}, not purged")
            await self.wait(_POLL_S)
            waited_s += _POLL_S

    def check_chamber(self, state: str) -> None:
        """Refuse a chamber that is open or at fault.

        Args:
            state: What is read.

        Raises:
            InstrumentError: If it is not so.
        """
        if state not in CHAMBER_CLOSED | CHAMBER_UNSURE | {CHAMBER_AT_WORK}:
            raise InstrumentError(f"{self.name}: the chamber is {state!r}; close it")

    async def stop_bridge(self) -> None:
        """Let the bridge drive nothing, and see that it does.

        Raises:
            InstrumentError: If it is not so.
        """
        await self.device.stop_bridge()
        if await self.device.bridge_is_on():
            raise InstrumentError(f"{self.name}: bridge {self.device.bridge} does not switch off")


def moving_temperature(name: str, now: Reading) -> bool:
    """Tell whether the temperature still moves.

    Args:
        name: What to call the device.
        now: What is read.

    Returns:
        The answer.

    Raises:
        InstrumentError: If it is not so.
    """
    if now.state in TEMPERATURE_MOVING:
        return True
    if now.state != "Stable":
        raise InstrumentError(f"{name} reports {now.state!r} for its temperature, {now.value:g} K")
    return False


def moving_field(name: str, now: Reading) -> bool:
    """Tell whether the field still moves.

    Args:
        name: What to call the device.
        now: What is read.

    Returns:
        The answer.

    Raises:
        InstrumentError: If it is not so.
    """
    if now.state in FIELD_MOVING:
        return True
    if now.state not in FIELD_SETTLED:
        raise InstrumentError(f"{name} reports {now.state!r} for its field, {now.value:g} Oe")
    return False


def field_tolerance_oe(target_oe: float) -> float:
    """Return how far a field may be from its set point, Oe.

    Args:
        target_oe: Oe.

    Returns:
        That.
    """
    return STILL_OE + 1e-3 * abs(target_oe)


__all__ = ["CryostatControl", "field_tolerance_oe", "moving_field", "moving_temperature"]
