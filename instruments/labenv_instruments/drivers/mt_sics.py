"""A Mettler-Toledo balance over MT-SICS, with a Quantos powder dosing unit where there is one.

Dosing never trusts the dosing unit alone. Every portion is weighed by the balance, by two commands
that must agree with each other and with what the dosing unit says it let fall. Too little is topped
up a few times; too much cannot be mended, and is an error that says what is in the vial. From the
first portion on a failure is not `retryable`: doing it again would fill a second dose on the first.

A substance comes from its own dosing head, whose name (the ``Substance`` on its RFID tag) must be
the shelf's name. MT-SICS has no command that changes heads, so the driver writes ``HEAD name`` on
the balance's display, releases the pin, and waits until a person or a robot has mounted that head.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from labenv_instruments.drivers import _mt_sics_client as sics
from labenv_instruments.drivers._mt_sics_client import BalanceBusyError, MtSicsClient
from labenv_instruments.drivers.analytical_balance import AnalyticalBalance
from labenv_instruments.drivers.dosing_balance import DosingBalance
from labenv_instruments.wire import Connection, WireDriver
from labenv_schemas.characterisation import Weigh
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError
from labenv_schemas.measurement import MassReading
from labenv_schemas.proposal import Dose

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from labenv_instruments.instrument import InstrumentRequest
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation, PrecursorDose

T = TypeVar("T")

POLL_S: Final = 1.0
DOSING_POLL_S: Final = 2.0
READINGS_AGREE_KG: Final = 0.05e-6  # of two stable readings of one load, one after the other
DEVICES_AGREE_KG: Final = 0.5e-6  # of the balance and the dosing unit on one portion
SMALLEST_PORTION_KG: Final = 0.1e-6  # of the dosing unit, by the public drivers
_STOPPING_POLLS = 10
_DEFAULTS = {
    "tolerance_mg": "1",
    "tolerance_percent": "0.5",
    "top_ups": "2",
    "settle_s": "60",
    "dose_timeout_s": "900",
    "head_timeout_s": "300",
    "uncertainty_mg": "0.02",
    "container_g": "0",
}


class MettlerBalance(WireDriver):
    """Weighs samples, and powders into a vial."""

    kind = "mt_sics"
    operations = frozenset({"dose", "weigh"})
    role = "dosing_balance"
    default_port = 8001
    option_help: ClassVar[Mapping[str, str]] = {
        "tolerance_mg": "a dose may be off by so much, mg, or by",
        "tolerance_percent": "so much of it, %, whichever is more",
        "top_ups": "how often too small a dose is topped up",
        "settle_s": "longest wait for a stable reading, s",
        "dose_timeout_s": "longest time of one portion, s",
        "head_timeout_s": "longest wait for a dosing head to be mounted, s",
        "uncertainty_mg": "standard uncertainty of one reading, mg",
        "container_g": "mass of the crucible that a sample is weighed in, g",
    }

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as the base
        super().__init__(*args, **options)
        self._numbers = {name: self._number(name, text) for name, text in _DEFAULTS.items()}
        self._connection = Connection(
            self.address.host, self.port, timeout_s=self.timeout_s, name=f"balance {self.address}"
        )
        self._client = MtSicsClient(self._connection, f"balance {self._station}")
        self._serial = ""
        self._in_vial: dict[str, float] = {}
        self._falling = ""

    @property
    def channel_units(self) -> Mapping[str, str]:
        """Unit of every channel in the measurements."""
        return DosingBalance.units

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse doses and numbers of weighings that the balance cannot do.

        Args:
            operation: A `Dose` or a `Weigh`.
        """
        DosingBalance.check(operation)
        AnalyticalBalance.check(operation)

    def _number(self, name: str, default: str) -> float:
        text = self.option(name, default)
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0.0 <= value < math.inf:
            raise ConfigError(
                f"address {self.address}: {name}={text!r} is no number; give "
                f"{self.option_help[name]}, such as {name}={default}"
            )
        return value

    # ------------------------------------------------------------------------- life cycle

    async def open_device(self) -> tuple[str, str, bool]:
        """Ask for the balance's data (``I2``), software (``I3``) and serial number (``I4``).

        Returns:
            Model, serial number, and whether a twin answers.
        """
        model, software = await self._client.text("I2"), await self._client.text("I3")
        self._serial = await self._client.text("I4")
        return model, self._serial, "twin" in software

    async def set_up(self, request: InstrumentRequest) -> None:
        """Cancel what the balance may be at and see that it is the one that was found.

        Args:
            request: The operation.

        Raises:
            InstrumentError: If another balance answers.
            ProposalError: If a dose is not by mass or its substance cannot be told to the device.
        """
        operation = request.operation
        if isinstance(operation, Dose):
            for dose in operation.precursors:
                if dose.mass_kg is None:
                    raise ProposalError(f"the balance doses by mass; give that of {dose.substance}")
                if not dose.substance.isascii() or '"' in dose.substance:
                    raise ProposalError(
                        f"the balance cannot be told of {dose.substance!r}; name the substance in "
                        "plain letters, without quotes"
                    )
        serial = await self._client.cancel()
        if serial != self._serial:
            raise InstrumentError(
                f"balance {self._station}: serial number {serial} answers where {self._serial} was"
            )

    async def carry_out(self, request: InstrumentRequest) -> tuple[MeasurementBase, ...]:
        """Dose or weigh.

        Args:
            request: What was set up.

        Returns:
            One reading a substance, or the mean reading of the sample.

        Raises:
            InstrumentError: If the balance fails or a dose is wrong; not `retryable` once powder
                may have fallen, and then with what is in the vial.
        """
        operation = request.operation
        if isinstance(operation, Weigh):
            return (await self._weigh(request, operation.repeats),)
        if not isinstance(operation, Dose):  # `operations` has no other kind
            raise InstrumentError(f"{self.kind} cannot carry out {operation.op!r}")
        self._in_vial, self._falling = {}, ""
        try:
            for dose in operation.precursors:
                await self._dose(dose, request.sample_id)
        except InstrumentError as cause:
            if not self._in_vial and not self._falling:
                raise
            raise InstrumentError(f"{cause}; in the vial: {self._contents()}") from cause
        return tuple(
            self._reading(request, mass_kg, 1, substance)
            for substance, mass_kg in self._in_vial.items()
        )

    async def make_safe(self) -> None:
        """Stop dosing and see that it has stopped; a balance alone is always safe.

        Raises:
            InstrumentError: If dosing goes on.
        """
        for attempt in (1, 2, 3):
            try:
                await self._stopped()
            except InstrumentError as cause:  # the reply may be lost: stopping twice does no harm
                if attempt == 3 or not cause.retryable:
                    raise
            else:
                return

    async def _stopped(self) -> None:
        if await self._client.stop_dosing():
            for _ in range(_STOPPING_POLLS):
                if await self._portion_done():
                    break
                await self.wait(0.5)
            else:
                raise InstrumentError(f"balance {self._station} goes on dosing")
        await self._client.cancel()

    async def release(self) -> None:
        """Let the connection go."""
        await self._connection.close()

    async def readings(self) -> dict[str, str]:
        """Return the net weight as shown now."""
        weight = await self._client.weight("SI")
        if weight is None:
            return {"net weight": "not ready"}
        state = "stable" if weight.stable else "moving"
        return {"net weight": f"{weight.kg * 1e3:.5f} g, {state}"}

    # ------------------------------------------------------------------------- weighing

    async def _weigh(self, request: InstrumentRequest, repeats: int) -> MassReading:
        """Return the mean of some stable net weights, the crucible's mass tared away.

        Source:
            MT-SICS: ``TA`` presets a tare, ``TAC`` clears it.
        """
        container_g = self._numbers["container_g"]
        await self._until(self._tared(f"TA {container_g:.5f} g" if container_g else "TAC"), "tare")
        total_kg = 0.0
        for _ in range(repeats):
            total_kg += await self._stable_kg()
        return self._reading(request, total_kg / repeats, repeats, None)

    def _tared(self, command: str) -> Callable[[], Awaitable[bool | None]]:
        async def tare() -> bool | None:
            return await self._client.do(command) or None

        return tare

    def _reading(
        self, request: InstrumentRequest, mass_kg: float, repeats: int, substance: str | None
    ) -> MassReading:
        return MassReading(
            mass_kg=mass_kg,
            standard_uncertainty_kg=self._numbers["uncertainty_mg"] * 1e-6 / math.sqrt(repeats),
            substance=substance,
            **self.stamp(request),
        )

    async def _stable_kg(self) -> float:
        """Return a stable net weight that ``SI`` and ``S`` agree on."""

        async def agreed() -> float | None:
            one = await self._client.weight("SI")
            if one is None or not one.stable:
                return None
            other = await self._client.weight("S")
            if other is None or not other.stable:
                return None
            return other.kg if abs(other.kg - one.kg) <= READINGS_AGREE_KG else None

        return await self._until(
            agreed, "show a stable weight; are its doors shut and is nothing in touch with the pan?"
        )

    async def _until(self, ask: Callable[[], Awaitable[T | None]], what: str) -> T:
        """Ask until there is an answer, as long as a stable weight may take."""
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
                    f"balance {self._station} did not, within {waited_s:g} s, {what}{why}"
                )
            await self.wait(POLL_S)
            waited_s += POLL_S

    # ------------------------------------------------------------------------- dosing

    async def _dose(self, dose: PrecursorDose, sample_id: str) -> None:
        """Let a substance fall into the vial until the balance shows its mass."""
        substance, wanted_kg = dose.substance, dose.mass_kg or 0.0
        await self._close_door()
        await self._mount(substance)
        await self._stable_kg()
        await self._until(lambda: self._client.weight("T"), "tare")
        begun_kg = await self._stable_kg()
        if abs(begun_kg) > DEVICES_AGREE_KG:
            raise InstrumentError(
                f"balance {self._station} shows {begun_kg * 1e6:.3f} mg after taring, not 0"
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
                f"balance {self._station} mis-dosed {substance}: {shown_kg * 1e6:.3f} mg where "
                f"{wanted_kg * 1e6:.3f} mg were asked for, {what} by more than the tolerance of "
                f"{allowed_kg * 1e6:.3f} mg; look after the dosing head and discard the vial"
            )

    async def _portion(
        self, substance: str, portion_kg: float, before_kg: float, sample_id: str
    ) -> float:
        """Let a portion fall; return what the balance shows then, which both devices vouch for."""
        await self._told(sics.TARGET_MG, f"{portion_kg * 1e6:.4f}")
        await self._told(sics.TOLERANCE_PERCENT, "0.5")
        await self._told(sics.SAMPLE_NAME, sample_id[-20:])
        self._client.ended.clear()
        self._falling = f"and up to {portion_kg * 1e6:.3f} mg or more of {substance}, unweighed"
        await self._until(self._begun(sics.START_DOSING), "begin to dose")
        said_kg = await self._fallen_kg()
        shown_kg = await self._stable_kg()
        self._falling = ""
        self._in_vial[substance] = shown_kg
        if abs(shown_kg - before_kg - said_kg) > DEVICES_AGREE_KG:
            raise InstrumentError(
                f"the dosing unit says that {said_kg * 1e6:.3f} mg of {substance} fell, but the "
                f"balance went from {before_kg * 1e6:.3f} mg to {shown_kg * 1e6:.3f} mg; one of "
                "them is wrong, so discard the vial and weigh a known mass"
            )
        return shown_kg

    async def _fallen_kg(self) -> float:
        """Wait for the end of a portion; return its mass by the dosing unit's own record."""
        waited_s, longest_s = 0.0, self._numbers["dose_timeout_s"]
        while not await self._portion_done():
            if waited_s >= longest_s:
                raise InstrumentError(f"a portion was not dosed within {longest_s:g} s")
            await self.wait(DOSING_POLL_S)
            waited_s += DOSING_POLL_S
        ended = self._client.ended.get(sics.START_DOSING, "A")
        if ended != "A":
            why = sics.DOSING_CODES.get(ended, f"code {ended}")
            raise InstrumentError(f"balance {self._station} gave up dosing: {why}")
        text = await self._client.record(sics.DOSE_DATA, field="Content")
        try:
            mass_kg = float(text or "") * 1e-6
        except ValueError:
            mass_kg = math.nan
        if not math.isfinite(mass_kg):
            raise InstrumentError(f"the dosing unit says that {text!r} mg fell, which is no mass")
        return mass_kg

    async def _portion_done(self) -> bool:
        """Return whether no portion is under way: its record can be read, or there is none."""
        try:
            await self._client.record(sics.DOSE_DATA, field="Content")
        except BalanceBusyError:
            return False
        except InstrumentError:
            if not self._connection.is_open:
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
        """Have the substance's head mounted, and lock it."""
        head = await self._head()
        if head != substance:
            await self._until(self._tared(f'D "HEAD {substance}"'), "show a text")
            await self._until(self._begun(sics.HEAD_PIN, sics.PIN_RELEASED), "release its head")
            waited_s, longest_s = 0.0, self._numbers["head_timeout_s"]
            while (head := await self._head()) != substance:
                if waited_s >= longest_s:
                    raise InstrumentError(
                        f"balance {self._station} has {head or 'no dosing head'} mounted, not the "
                        f"head of {substance} that its display asked for {longest_s:g} s ago"
                    )
                await self.wait(DOSING_POLL_S)
                waited_s += DOSING_POLL_S
        await self._until(self._begun(sics.HEAD_PIN, sics.PIN_LOCKED), "lock its head")

    async def _head(self) -> str | None:
        async def head() -> str | None:
            return await self._client.record(sics.HEAD_DATA, field="Substance") or "no dosing head"

        return await self._until(head, "tell its dosing head")

    async def _told(self, setting: str, value: str) -> None:
        async def told() -> bool | None:
            await self._client.set(setting, value)
            return True

        await self._until(told, f"take the setting {setting!r}")

    def _begun(self, action: str, argument: str = "") -> Callable[[], Awaitable[bool | None]]:
        async def begin() -> bool | None:
            await self._client.begin(action, argument)
            return True

        return begin

    def _contents(self) -> str:
        weighed = ", ".join(f"{kg * 1e6:.3f} mg of {name}" for name, kg in self._in_vial.items())
        return " ".join(part for part in (weighed, self._falling) if part)
