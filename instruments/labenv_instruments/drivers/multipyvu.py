"""Resistance of a bar in a cryostat of Quantum Design, through MultiPyVu's server.

The driver has its own client of the server's protocol; MultiPyVu must run beside MultiVu, and no
other client may be connected to it. What is asked is checked here, since the server takes 2000 K.
A state is never believed alone (`_multipyvu_control`).

Safe state: the bridge drives nothing, the magnet is on its way to zero field at its ramp rate (a
magnet is not let go at once) and the temperature is held where it is. A finished run ends there
too, with the field already zero.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from labenv_instruments.drivers._multipyvu_client import MultiPyVuClient
from labenv_instruments.drivers._multipyvu_commands import (
    BRIDGES,
    OE_PER_T,
    CryostatCommands,
    Reading,
)
from labenv_instruments.drivers._multipyvu_control import (
    STILL_OE,
    CryostatControl,
    field_tolerance_oe,
    moving_field,
    moving_temperature,
)
from labenv_instruments.drivers._multipyvu_frames import DEFAULT_PORT
from labenv_instruments.twin import ensure
from labenv_instruments.wire import Connection, WireDriver
from labenv_schemas.characterisation import MeasureResistance
from labenv_schemas.errors import ConfigError, InstrumentError
from labenv_schemas.measurement import QualityFlag, ResistanceCurve, Unmeasured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.instrument import InstrumentRequest
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MIN_CURRENT_A, MAX_CURRENT_A = 1e-8, 8e-3  # of the resistivity option's bridges
RANGE_OHM = 1e10  # readings are cut off there

_MAX_RATE_K_PER_MIN, _MIN_RATE_K_PER_MIN = 20.0, 0.01  # of MultiPyVu's own client
_MAX_FIELD_RATE_OE_PER_S = 200.0
_FREED_S = 0.3  # of wall time


class _Model(NamedTuple):
    min_k: float
    max_k: float
    max_field_t: float


# Ranges of the makers' data sheets; a magnet other than the smallest on sale is stated in the lab
# file and checked by the device itself.
MODELS: dict[str, _Model] = {
    "PPMS": _Model(1.9, 400.0, 9.0),
    "DYNACOOL": _Model(1.8, 400.0, 9.0),
    "MPMS3": _Model(1.8, 400.0, 7.0),
    "VERSALAB": _Model(50.0, 400.0, 3.0),
}


class MultiPyVuCryostat(WireDriver):
    """Reads a bar's resistance while it warms from temperature to temperature."""

    kind = "multipyvu"
    role = "cryostat"
    operations = frozenset({"measure_resistance"})
    default_port = DEFAULT_PORT
    option_help: ClassVar[Mapping[str, str]] = {
        "flavor": f"{', '.join(MODELS)}; the server must say the same; what it says by default",
        "bridge": "number of the resistance bridge, 1 to 3; 1 by default",
        "rate": "change of temperature, K/min, 0.01 to 20; 10 by default",
        "field_rate": "change of field, Oe/s, up to 200; 100 by default",
        "contact_distance_mm": "distance of the voltage contacts by the caliper, mm",
        "cross_section_mm2": "cross section of the bars by the caliper, mm²",
    }

    @property
    def channel_units(self) -> Mapping[str, str]:
        """Unit of every channel."""
        return {
            "temperature_k": "K",
            "resistance_ohm": "ohm",
            "field_t": "T",
            "current_a": "A",
            "contact_distance_m": "m",
            "cross_section_m2": "m^2",
        }

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse what no cryostat of the maker does.

        Args:
            operation: A `MeasureResistance`.
        """
        if not isinstance(operation, MeasureResistance):
            return
        check_model(operation, "the cryostat", _Model(1.8, 400.0, 9.0))
        ensure(
            MIN_CURRENT_A <= operation.current_a <= MAX_CURRENT_A,
            f"the bridge gives {1e6 * MIN_CURRENT_A:g} uA to {1e3 * MAX_CURRENT_A:g} mA, not "
            f"{operation.current_a:g} A; 1 mA suits most bars",
        )

    def check_request(self, operation: Operation) -> None:
        """Refuse what this model cannot do and what this lab does not allow.

        Args:
            operation: What is asked for.
        """
        super().check_request(operation)
        flavor = self._client.flavor or self._flavor
        if isinstance(operation, MeasureResistance) and flavor in MODELS:
            check_model(operation, f"the {flavor}", MODELS[flavor])

    # ------------------------------------------------------------------------- the life cycle

    async def open_device(self) -> tuple[str, str, bool]:
        """Be accepted by the server and read once.

        Returns:
            The flavor of MultiVu, its version in the place of a serial number, which the protocol
            does not tell, and whether the server simulates.

        Raises:
            InstrumentError: If another flavor answers than the address says.
        """
        try:
            await self._client.start()
        except InstrumentError as cause:
            if not cause.retryable:
                raise
            await asyncio.sleep(_FREED_S)  # it may still have the last client
            await self._client.start()
        flavor = self._client.flavor
        if self._flavor not in {"", flavor}:
            raise InstrumentError(f"{self._name} is a {flavor}, not a {self._flavor}")
        if flavor not in MODELS:
            raise InstrumentError(
                f"{self._name} is a {flavor}; this driver knows {', '.join(MODELS)}"
            )
        await self._device.temperature()
        said = self._client.multivu_version or "unknown"
        return f"Quantum Design {flavor}", f"MultiVu {said}", self._client.simulated

    async def set_up(self, request: InstrumentRequest) -> None:
        """See that nothing is at fault and the chamber can be closed.

        Args:
            request: The operation.
        """
        self._check_ramp()
        await self._client.start()
        moving_temperature(self._name, await self._device.temperature())
        moving_field(self._name, await self._device.field())
        self._control.check_chamber(await self._device.chamber())

    async def carry_out(self, request: InstrumentRequest) -> tuple[MeasurementBase, ...]:
        """Cool, and read at every temperature while warming.

        Args:
            request: A `MeasureResistance`.

        Returns:
            The curve; or that nobody knows, where a simulated cryostat says so.

        Raises:
            InstrumentError: If the cryostat fails.
        """
        run = request.operation
        if not isinstance(run, MeasureResistance):
            raise InstrumentError(f"{self.kind} does not do '{run.op}'")
        await self._control.close_chamber()
        target_oe = OE_PER_T * run.field_t
        if target_oe or abs((await self._device.field()).value) > STILL_OE:
            await self._control.go_to_field(target_oe)
        await self._device.drive_bridge(run.current_a)
        temperatures, resistances = list[float](), list[float]()
        for target_k in run.temperatures_k():
            await self._control.go_to(float(target_k))
            seen = await self._control.read(run.current_a)
            if isinstance(seen, str):
                await self._finish(target_oe)
                return (Unmeasured(technique="resistance", reason=seen, **self.stamp(request)),)
            temperatures.append(seen[0])
            resistances.append(seen[1])
        await self._finish(target_oe)
        ohm = np.array(resistances)
        return (
            ResistanceCurve(
                temperature_k=np.array(temperatures),
                resistance_ohm=np.clip(ohm, -RANGE_OHM, RANGE_OHM),
                field_t=run.field_t,
                current_a=run.current_a,
                contact_distance_m=self._lengths[0],
                cross_section_m2=self._lengths[1],
                flags=_flags(ohm),
                **self.stamp(request),
            ),
        )

    async def make_safe(self) -> None:
        """Stop the current, send the field to zero and hold the temperature; see that it is so.

        Raises:
            InstrumentError: If one of them does not happen; the others are done all the same.
        """
        control = self._control
        first: InstrumentError | None = None
        for step in (control.stop_bridge, control.drop_field, control.hold_temperature):
            try:
                await step()
            except InstrumentError as cause:
                first = first or cause
        if first is not None:
            raise first

    async def release(self) -> None:
        """Say good-bye to the server and close."""
        await self._client.close()

    async def readings(self) -> dict[str, str]:
        """Return temperature, field and the states."""
        temperature, field = await self._device.temperature(), await self._device.field()
        return {
            "temperature": f"{temperature.value:.3f} K ({temperature.state})",
            "field": f"{field.value / OE_PER_T:.4f} T ({field.state})",
            "chamber": await self._device.chamber(),
        }

    # ------------------------------------------------------------------------- temperature

    async def go_to_temperature(self, target_k: float) -> Reading:
        """Go to a temperature and wait until it is really there.

        Args:
            target_k: K, within the model's range.

        Returns:
            What is read there.

        Raises:
            ProposalError: If it lies out of range; nothing is sent then.
            InstrumentError: If the cryostat fails or does not arrive in time.
        """
        model = MODELS.get(self._client.flavor or self._flavor, _Model(1.8, 400.0, 9.0))
        low = max(model.min_k, self.limits.min_temperature_k or 0.0)
        high = min(model.max_k, self.limits.max_temperature_k or model.max_k)
        ensure(
            low <= target_k <= high,
            f"{self._name} goes from {low:g} K to {high:g} K, not to {target_k:g} K",
        )
        return await self._control.go_to(target_k)

    # ------------------------------------------------------------------------- field

    async def go_to_field(self, target_t: float) -> Reading:
        """Go to a field and wait until it is really there.

        Args:
            target_t: T, within the model's range.

        Returns:
            What is read there, Oe.

        Raises:
            ProposalError: If it lies out of range; nothing is sent then.
            InstrumentError: If the magnet fails or does not arrive in time.
        """
        model = MODELS.get(self._client.flavor or self._flavor, _Model(1.8, 400.0, 9.0))
        high = min(model.max_field_t, self.limits.max_field_t or model.max_field_t)
        ensure(
            abs(target_t) <= high,
            f"{self._name} goes to {high:g} T, not to {target_t:g} T",
        )
        return await self._control.go_to_field(OE_PER_T * target_t)

    async def _finish(self, target_oe: float) -> None:
        await self._control.stop_bridge()
        self._control.check_chamber(await self._device.chamber())
        if target_oe:
            now = await self._device.field()
            if abs(now.value - target_oe) > field_tolerance_oe(target_oe):
                raise InstrumentError(
                    f"{self._name} is at {now.value:g} Oe ({now.state}) at the end of a run in "
                    f"{target_oe:g} Oe"
                )
            await self._control.go_to_field(0.0)

    # ------------------------------------------------------------------------- options

    def _check_address(self) -> None:
        super()._check_address()
        self._name = f"{self.kind} at {self.address.host}:{self.port}"
        self._flavor = self.option("flavor", "").upper()
        if self._flavor not in {"", *MODELS}:
            raise self._bad_option("flavor", f"there are {', '.join(MODELS)}")
        self._bridge = int(self._positive("bridge", "1", BRIDGES[-1]))
        if self.option("bridge", "1") not in {str(n) for n in BRIDGES}:
            raise self._bad_option("bridge", "MultiPyVu reads bridges 1 to 3")
        self._rate = self._positive("rate", "10", _MAX_RATE_K_PER_MIN)
        if self._rate < _MIN_RATE_K_PER_MIN:
            raise self._bad_option("rate", "write 0.01 to 20 K/min")
        self._field_rate = self._positive("field_rate", "100", _MAX_FIELD_RATE_OE_PER_S)
        given = [("contact_distance_mm", 1e-3), ("cross_section_mm2", 1e-6)]
        self._lengths = [
            scale * self._positive(name, "", 1e4) if name in self.address.options else None
            for name, scale in given
        ]

    def _positive(self, name: str, default: str, largest: float) -> float:
        text = self.option(name, default)
        if re.fullmatch(r"\d+\.?\d*([eE][-+]?\d+)?", text) is None:
            raise self._bad_option(name, "write a number above 0")
        value = float(text)
        if not 0.0 < value <= largest:
            raise self._bad_option(name, f"write a number above 0, up to {largest:g}")
        return value

    def _bad_option(self, name: str, remedy: str) -> ConfigError:
        return ConfigError(f"address {self.address}: {name}={self.option(name, '')!r}; {remedy}")

    def _check_ramp(self) -> None:
        limit = self.limits.max_ramp_k_per_s
        if limit is not None and self._rate > 60.0 * limit * (1.0 + 1e-9):
            raise ConfigError(
                f"{self._name} would ramp at {self._rate:g} K/min, and this lab allows "
                f"{60.0 * limit:g} K/min; write rate={60.0 * limit:g} in its address"
            )

    @property
    def _client(self) -> MultiPyVuClient:
        if self._session is None:
            connection = Connection(
                self.address.host, self.port, timeout_s=self.timeout_s, name=self._name
            )
            self._session = MultiPyVuClient(connection, self.timeout_s)
        return self._session

    @property
    def _device(self) -> CryostatCommands:
        return CryostatCommands(self._client, self._name, self._bridge)

    @property
    def _control(self) -> CryostatControl:
        return CryostatControl(self._device, self._name, self._rate, self._field_rate, self.wait)

    _session: MultiPyVuClient | None = None


def check_model(run: MeasureResistance, name: str, model: _Model) -> None:
    """Refuse temperatures and fields beyond a model's.

    Args:
        run: What is asked for.
        name: What to call the model.
        model: Its range.
    """
    low, high = run.temperature_min_k, run.temperature_max_k
    ensure(
        low >= model.min_k and high <= model.max_k,
        f"{name} goes from {model.min_k:g} K to {model.max_k:g} K, not from {low:g} K to {high:g} "
        "K",
    )
    ensure(
        abs(run.field_t) <= model.max_field_t,
        f"{name} goes to {model.max_field_t:g} T, not {run.field_t:g} T; lower the field",
    )


def _flags(ohm: np.ndarray) -> tuple[QualityFlag, ...]:
    if not (np.abs(ohm) > RANGE_OHM).any():
        return ()
    message = f"readings beyond {RANGE_OHM:g} ohm are cut off there"
    return (QualityFlag(code="out_of_range", message=message),)


__all__ = ["MODELS", "MultiPyVuCryostat"]
