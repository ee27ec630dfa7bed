"""Weighing with patience, and powder dosing that believes nobody.

Every portion is weighed by the balance, by two commands that must agree with each other and with
what the dosing unit says it let fall. Too little is topped up a few times; too much is an error.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeVar

from labenv_instruments.drivers import _mt_sics_client as sics
from labenv_instruments.drivers._mt_sics_client import BalanceBusyError, MtSicsClient
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from labenv_instruments.wire.driver import Pace

T = TypeVar("T")

POLL_S: Final = 1.0
DOSING_POLL_S: Final = 2.0
READINGS_AGREE_KG: Final = 0.05e-6  # of two stable readings of one load, one after the other
READINGS_REPEAT_KG: Final = 0.5e-6  # of two weighings of one load, a tare between them
DEVICES_AGREE_KG: Final = 0.5e-6  # of the balance and the dosing unit on one portion
SMALLEST_PORTION_KG: Final = 0.1e-6  # of the dosing unit, by the public drivers
_STOPPING_POLLS = 10
_STABLE = "show a stable weight; are its doors shut and is nothing in touch with the pan?"


class PatientBalance:
    """A balance that is asked until it has an answer.

    Args:
        client: Its commands.
        pace: Awaited with the lab seconds to wait.
        numbers: The driver's options, by name.
    """

    def __init__(self, client: MtSicsClient, pace: Pace, numbers: Mapping[str, float]) -> None:
        self._client, self._pace, self._numbers = client, pace, numbers

    async def tare(self, command: str) -> None:
        """Carry out a tare command that is answered without a weight, such as ``TAC``."""
        await self._until(self._done(command), "tare")

    def _done(self, command: str) -> Callable[[], Awaitable[bool | None]]:
        async def done() -> bool | None:
            return await self._client.do(command) or None

        return done

    async def load_kg(self) -> float:
        """Tare what lies on the pan and see that the display then shows nothing.

        A display that stands still shows the last sample's mass, as stable as can be; no question
        tells it from a true one, but it does not follow a tare.

        Returns:
            What lies there, kg, by the tare.

        Raises:
            InstrumentError: If the display does not follow, or nothing lies there.
        """
        tare = await self._until(lambda: self._client.weight("T"), _STABLE)
        self.check_follows(await self.stable_kg(), 0.0)
        if tare.kg <= READINGS_REPEAT_KG:
            raise InstrumentError(
                f"{self._client.name} shows {tare.kg * 1e6:.2f} mg where a sample should lie; is "
                "it on the pan?"
            )
        return tare.kg

    def check_follows(self, shown_kg: float, expected_kg: float) -> None:
        """See that a net weight is what the tare makes of the load.

        Args:
            shown_kg: Net weight as read, kg.
            expected_kg: What it must be, kg.

        Raises:
            InstrumentError: If it is not.
        """
        if abs(shown_kg - expected_kg) > READINGS_REPEAT_KG:
            raise InstrumentError(
                f"{self._client.name} shows {shown_kg * 1e6:.2f} mg where its own tare makes it "
                f"{expected_kg * 1e6:.2f} mg: the display stands still, or the load changes",
                retryable=True,
            )

    async def stable_kg(self) -> float:
        """Return a stable net weight, kg, that ``SI`` and ``S`` agree on."""

        async def agreed() -> float | None:
            one = await self._client.weight("SI")
            if one is None or not one.stable:
                return None
            other = await self._client.weight("S")
            if other is None or not other.stable:
                return None
            return other.kg if abs(other.kg - one.kg) <= READINGS_AGREE_KG else None

        return await self._until(agreed, _STABLE)

    async def _until(self, ask: Callable[[], Awaitable[T | None]], what: str) -> T:
        """Ask until there is an answer, as long as a stable weight may take.

        Args:
            ask: Gives the answer, or None where there is none yet; may say that it is busy.
            what: What is waited for, after "did not".

        Returns:
            The answer.

        Raises:
            InstrumentError: If there is none in time.
        """
        waited_s = 0.0
        while True:
            try:
                answer = await ask()
            except BalanceBusyError as cause:
                answer, why = None, f" ({cause})"
            else:
                why = ""
            if answer is not None:
                return answer
            if waited_s >= self._numbers["settle_s"]:
                raise InstrumentError(
                    f"{self._client.name} did not, within {waited_s:g} s, {what}{why}"
                )
            await self._pace(POLL_S)
            waited_s += POLL_S


class PowderDosing(PatientBalance):
    """A balance with a dosing unit.

    Attributes:
        in_vial: What has been weighed into the vial, kg by substance.
        falling: What may have fallen since, in words.
    """

    def __init__(self, client: MtSicsClient, pace: Pace, numbers: Mapping[str, float]) -> None:
        super().__init__(client, pace, numbers)
        self.in_vial: dict[str, float] = {}
        self.falling = ""

    def begin(self) -> None:
        """Take an empty vial."""
        self.in_vial, self.falling = {}, ""

    async def dose(self, substance: str, wanted_kg: float, sample_id: str) -> None:
        """Let a substance fall into the vial until the balance shows its mass.

        Args:
            substance: Name on its dosing head.
            wanted_kg: Mass, kg.
            sample_id: Name on the vial, for the dosing unit's records.

        Raises:
            InstrumentError: If the balance then shows another mass, by more than the tolerance.
        """
        await self._close_door()
        await self._mount(substance)
        await self.stable_kg()
        await self._until(lambda: self._client.weight("T"), "tare")
        begun_kg = await self.stable_kg()
        if abs(begun_kg) > DEVICES_AGREE_KG:
            raise InstrumentError(
                f"{self._client.name} shows {begun_kg * 1e6:.3f} mg after taring, not 0"
            )
        allowed_kg = max(
            self._numbers["tolerance_mg"] * 1e-6,
            wanted_kg * self._numbers["tolerance_percent"] / 100,
        )
        shown_kg = 0.0
        for _ in range(1 + int(self._numbers["top_ups"])):
            portion_kg = wanted_kg - shown_kg
            if portion_kg < SMALLEST_PORTION_KG:
                break
            shown_kg = await self._portion(substance, portion_kg, shown_kg, sample_id)
            if shown_kg >= wanted_kg - allowed_kg:
                break
        if abs(shown_kg - wanted_kg) > allowed_kg:
            what = "too much" if shown_kg > wanted_kg else "too little"
            raise InstrumentError(
                f"{self._client.name} mis-dosed {substance}: {shown_kg * 1e6:.3f} mg where "
                f"{wanted_kg * 1e6:.3f} mg were asked for, {what} by more than the tolerance of "
                f"{allowed_kg * 1e6:.3f} mg; look after the dosing head and discard the vial"
            )

    async def _portion(
        self, substance: str, portion_kg: float, before_kg: float, sample_id: str
    ) -> float:
        """Let a portion fall.

        Returns:
            What the balance shows then, kg, which both devices vouch for.

        Raises:
            InstrumentError: If they do not agree.
        """
        await self._told(sics.TARGET_MG, f"{portion_kg * 1e6:.4f}")
        await self._told(sics.TOLERANCE_PERCENT, "0.5")
        await self._told(sics.SAMPLE_NAME, sample_id[-20:])
        self._client.ended.clear()
        self.falling = f"an unweighed part of {portion_kg * 1e6:.3f} mg of {substance}"
        await self._until(self._begun(sics.START_DOSING), "begin to dose")
        said_kg = await self._fallen_kg()
        shown_kg = await self.stable_kg()
        self.falling = ""
        self.in_vial[substance] = shown_kg
        if abs(shown_kg - before_kg - said_kg) > DEVICES_AGREE_KG:
            raise InstrumentError(
                f"the dosing unit says that {said_kg * 1e6:.3f} mg of {substance} fell, but "
                f"{self._client.name} went from {before_kg * 1e6:.3f} mg to {shown_kg * 1e6:.3f} "
                "mg; one of them is wrong, so discard the vial and weigh a known mass"
            )
        return shown_kg

    async def _fallen_kg(self) -> float:
        """Wait for the end of a portion.

        Returns:
            Its mass by the dosing unit's own record, kg.

        Raises:
            InstrumentError: If it takes too long or the unit gives up.
        """
        waited_s, longest_s = 0.0, self._numbers["dose_timeout_s"]
        while not await self._portion_done():
            if waited_s >= longest_s:
                raise InstrumentError(f"a portion was not dosed within {longest_s:g} s")
            await self._pace(DOSING_POLL_S)
            waited_s += DOSING_POLL_S
        ended = self._client.ended.get(sics.START_DOSING, "A")
        if ended != "A":
            why = sics.DOSING_CODES.get(ended, f"code {ended}")
            raise InstrumentError(f"{self._client.name} gave up dosing: {why}")
        text = await self._client.record(sics.DOSE_DATA, field="Content")
        try:
            mass_kg = float(text or "") * 1e-6
        except ValueError:
            mass_kg = math.nan
        if not math.isfinite(mass_kg):
            raise InstrumentError(f"the dosing unit says that {text!r} mg fell, which is no mass")
        return mass_kg

    async def _portion_done(self) -> bool:
        """Ask for the record of a portion, which can be read when none is under way.

        Returns:
            Whether none is.

        Raises:
            InstrumentError: If the answer was lost.
        """
        try:
            await self._client.record(sics.DOSE_DATA, field="Content")
        except BalanceBusyError:
            return False
        except InstrumentError:
            if not self._client.connection.is_open:
                raise
        return True

    async def _close_door(self) -> None:
        """Close the front door, against draughts and hands, and see that it is closed."""

        async def closed() -> bool | None:
            position = await self._client.ask(sics.DOOR_POSITION)
            if position == sics.DOOR_CLOSED:
                return True
            if position == sics.DOOR_OPEN:
                await self._client.begin(sics.DOOR, sics.DOOR_CLOSED)
            return None

        await self._until(closed, "close its front door")

    async def _mount(self, substance: str) -> None:
        """Have the substance's head mounted, and lock it.

        Raises:
            InstrumentError: If nobody mounts it.
        """
        head = await self._head()
        if head != substance:
            await self._until(self._done(f'D "HEAD {substance}"'), "show a text")
            await self._until(self._begun(sics.HEAD_PIN, sics.PIN_RELEASED), "release its head")
            waited_s, longest_s = 0.0, self._numbers["head_timeout_s"]
            while (head := await self._head()) != substance:
                if waited_s >= longest_s:
                    raise InstrumentError(
                        f"{self._client.name} has {head or 'no dosing head'} mounted, not the "
                        f"head of {substance} that its display asked for {longest_s:g} s ago"
                    )
                await self._pace(DOSING_POLL_S)
                waited_s += DOSING_POLL_S
        await self._until(self._begun(sics.HEAD_PIN, sics.PIN_LOCKED), "lock its head")

    async def _head(self) -> str | None:
        async def head() -> str | None:
            return await self._client.record(sics.HEAD_DATA, field="Substance") or "no dosing head"

        return await self._until(head, "tell its dosing head")

    async def _told(self, setting: str, value: str) -> None:
        async def told() -> bool | None:
            await self._client.change(setting, value)
            return True

        await self._until(told, f"take the setting {setting!r}")

    def _begun(self, action: str, argument: str = "") -> Callable[[], Awaitable[bool | None]]:
        async def begin() -> bool | None:
            await self._client.begin(action, argument)
            return True

        return begin

    async def stop(self) -> None:
        """Stop dosing, see that it has stopped, and cancel whatever else goes on.

        Raises:
            InstrumentError: If it goes on.
        """
        if await self._client.stop_dosing():
            for _ in range(_STOPPING_POLLS):
                if await self._portion_done():
                    break
                await self._pace(0.5)
            else:
                raise InstrumentError(f"{self._client.name} goes on dosing")
        await self._client.cancel()

    def contents(self) -> str:
        """Return what is in the vial, in words."""
        weighed = ", ".join(f"{kg * 1e6:.3f} mg of {name}" for name, kg in self.in_vial.items())
        return " and ".join(part for part in (weighed, self.falling) if part)


__all__ = ["PatientBalance", "PowderDosing"]
