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
from typing import TYPE_CHECKING, Any, ClassVar

from labenv_instruments.drivers._mt_sics_client import MtSicsClient
from labenv_instruments.drivers._mt_sics_dosing import PowderDosing
from labenv_instruments.drivers.analytical_balance import AnalyticalBalance
from labenv_instruments.drivers.dosing_balance import DosingBalance
from labenv_instruments.wire import Connection, WireDriver
from labenv_schemas.characterisation import Weigh
from labenv_schemas.errors import ConfigError, InstrumentError, ProposalError
from labenv_schemas.measurement import MassReading
from labenv_schemas.proposal import Dose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.instrument import InstrumentRequest
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

_DEFAULTS = {
    "tolerance_mg": "1",
    "tolerance_percent": "0.5",
    "top_ups": "2",
    "settle_s": "60",
    "dose_timeout_s": "900",
    "head_timeout_s": "300",
    "dosing_uncertainty_mg": "0.02",
    "weighing_uncertainty_mg": "0.1",
    "container_g": "0",
}


class MettlerBalance(WireDriver):
    """Weighs samples, and powders into a vial."""

    kind = "mt_sics"
    operations = frozenset({"dose", "weigh"})
    role = "dosing_balance"
    default_port = 8001
    option_help: ClassVar[Mapping[str, str]] = {
        "tolerance_mg": "a dose may be off by so much, mg, or by; default 1",
        "tolerance_percent": "so much of it, %, whichever is more; default 0.5",
        "top_ups": "how often too small a dose is topped up; default 2",
        "settle_s": "longest wait for a stable reading, s; default 60",
        "dose_timeout_s": "longest time of one portion, s; default 900",
        "head_timeout_s": "longest wait for a dosing head to be mounted, s; default 300",
        "dosing_uncertainty_mg": "standard uncertainty of a dose as read, mg; default 0.02",
        "weighing_uncertainty_mg": "standard uncertainty of one weighing of a sample, mg; default "
        "0.1",
        "container_g": "mass of the crucible that a sample is weighed in, g; default 0",
    }

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as the base
        super().__init__(*args, **options)
        self._numbers = {name: self._number(name, text) for name, text in _DEFAULTS.items()}
        self._connection = Connection(
            self.address.host, self.port, timeout_s=self.timeout_s, name=f"balance {self.address}"
        )
        self._client = MtSicsClient(self._connection, f"balance {self._station}")
        self._serial = ""
        self._dosing = PowderDosing(self._client, self.wait, self._numbers)

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
        self._dosing.begin()
        try:
            for dose in operation.precursors:
                await self._dosing.dose(dose.substance, dose.mass_kg or 0.0, request.sample_id)
        except InstrumentError as cause:
            contents = self._dosing.contents()
            if not contents:
                raise
            raise InstrumentError(f"{cause}; in the vial: {contents}") from cause
        spread_kg = self._numbers["dosing_uncertainty_mg"] * 1e-6
        return tuple(
            self._reading(request, mass_kg, spread_kg, substance)
            for substance, mass_kg in self._dosing.in_vial.items()
        )

    async def make_safe(self) -> None:
        """Stop dosing and see that it has stopped; a balance alone is always safe.

        Raises:
            InstrumentError: If dosing goes on.
        """
        for attempt in (1, 2, 3):
            try:
                await self._dosing.stop()
            except InstrumentError as cause:  # the reply may be lost: stopping twice does no harm
                if attempt == 3 or not cause.retryable:
                    raise
            else:
                return

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
        load_kg = await self._dosing.load_kg()
        await self._dosing.tare(f"TA {container_g:.5f} g" if container_g else "TAC")
        total_kg = 0.0
        for _ in range(repeats):
            net_kg = await self._dosing.stable_kg()
            self._dosing.check_follows(net_kg, load_kg - container_g * 1e-3)
            total_kg += net_kg
        spread_kg = self._numbers["weighing_uncertainty_mg"] * 1e-6 / math.sqrt(repeats)
        return self._reading(request, total_kg / repeats, spread_kg, None)

    def _reading(
        self, request: InstrumentRequest, mass_kg: float, spread_kg: float, substance: str | None
    ) -> MassReading:
        return MassReading(
            mass_kg=mass_kg,
            standard_uncertainty_kg=spread_kg,
            substance=substance,
            **self.stamp(request),
        )
