"""Resistance of a bar in a cryostat of Quantum Design, through MultiPyVu's server.

The driver has its own client of the server's protocol; MultiPyVu must run beside MultiVu, and no
other client may be connected to it. What is asked is checked here, since the server takes 2000 K.
A state is never believed alone: a fault state is not "settled", and after a new set point an old
"Stable" goes on for a while, so the reading must be at the set point and the state must have moved
since, or had the time to.

Safe state: the bridge drives nothing, the magnet is on its way to zero field at its ramp rate (a
magnet is not let go at once) and the temperature is held where it is. A finished run ends there
too, with the field already zero.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from labenv_instruments.drivers._multipyvu_client import MultiPyVuClient
from labenv_instruments.drivers._multipyvu_commands import (
    BRIDGES,
    CHAMBER_AT_WORK,
    CHAMBER_CLOSED,
    CHAMBER_UNSURE,
    FIELD_MOVING,
    FIELD_SETTLED,
    OE_PER_T,
    TEMPERATURE_MOVING,
    CryostatCommands,
    Reading,
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
OVERLOAD_OHM = 1e30  # no bridge reads that; it is a sentinel

_MAX_RATE_K_PER_MIN, _MIN_RATE_K_PER_MIN = 20.0, 0.01  # of MultiPyVu's own client
_MAX_FIELD_RATE_OE_PER_S = 200.0
_SETTLING_S = 1800.0  # beyond twice the ramp's own time; a cryostat may fill its pot meanwhile
_TAKING_UP_S = 10.0  # within which a new set point shows in the state
_PURGING_S = 900.0
_POLL_S, _LONGEST_POLL_S = 5.0, 60.0
_READS = 3
_CURRENT_SHARE = 0.05
_STILL_OE = 10.0


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
        _moving_temperature(self._name, await self._device.temperature())
        _moving_field(self._name, await self._device.field())
        self._check_chamber(await self._device.chamber())

    async def carry_out(self, request: InstrumentRequest) -> tuple[MeasurementBase, ...]:
        """Cool, and read at every temperature while warming.

        Args:
            request: A `MeasureResistance`.

        Returns:
            The curve.
        """
        run = request.operation
        if not isinstance(run, MeasureResistance):
            raise InstrumentError(f"{self.kind} does not do '{run.op}'")
        await self._close_chamber()
        target_oe = OE_PER_T * run.field_t
        if target_oe or abs((await self._device.field()).value) > _STILL_OE:
            await self._go_to_field(target_oe)
        await self._device.drive_bridge(run.current_a)
        temperatures, resistances = list[float](), list[float]()
        for target_k in run.temperatures_k():
            await self._go_to(float(target_k))
            seen = await self._read(run.current_a)
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
        first: InstrumentError | None = None
        for step in (self._stop_bridge, self._drop_field, self._hold_temperature):
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
        return await self._go_to(target_k)

    async def _go_to(self, target_k: float) -> Reading:
        start = await self._device.temperature()
        await self._device.set_temperature(target_k, self._rate)
        taken = await self._device.temperature_setpoint_k()
        if abs(taken - target_k) > 1e-3:
            raise InstrumentError(f"{self._name} goes to {taken:g} K when told {target_k:g} K")
        ramp_s = 60.0 * abs(start.value - target_k) / self._rate
        allowed_s, waited_s, moved = 2.0 * ramp_s + _SETTLING_S, 0.0, False
        now = start
        while waited_s < allowed_s:
            left_s = 60.0 * abs(now.value - target_k) / self._rate
            step_s = min(max(left_s, _POLL_S), _LONGEST_POLL_S, allowed_s - waited_s)
            await self.wait(step_s)
            waited_s += step_s
            now = await self._device.temperature()
            moving = _moving_temperature(self._name, now)
            moved = moved or moving
            there = abs(now.value - target_k) <= max(0.1, 0.002 * target_k)
            if there and not moving and (moved or waited_s >= ramp_s + _TAKING_UP_S):
                return now
        raise InstrumentError(
            f"{self._name} is at {now.value:g} K and says {now.state!r} {waited_s:.0f} s after it "
            f"was told to go to {target_k:g} K"
        )

    async def _read(self, current_a: float) -> tuple[float, float] | str:
        """Read the resistance between two readings of the temperature that agree.

        Returns:
            Temperature, K, and resistance, ohm; or why a simulated bridge cannot tell.
        """
        before = await self._device.temperature()
        for _ in range(_READS):
            ohm = await self._device.resistance_ohm()
            if isinstance(ohm, str):
                return ohm
            self._check_resistance(ohm, await self._device.current_a(), current_a)
            after = await self._device.temperature()
            _moving_temperature(self._name, after)
            if abs(after.value - before.value) <= max(0.05, 0.001 * after.value):
                return 0.5 * (before.value + after.value), ohm
            before = after
        raise InstrumentError(
            f"{self._name}: the temperature does not stay while the resistance is read; last "
            f"{before.value:g} K ({before.state})"
        )

    def _check_resistance(self, ohm: float, driven_a: float, current_a: float) -> None:
        if abs(driven_a - current_a) > _CURRENT_SHARE * current_a:
            raise InstrumentError(
                f"{self._name}: bridge {self._bridge} drives {1e6 * driven_a:g} uA, not "
                f"{1e6 * current_a:g} uA; is the sample there and are its contacts closed?"
            )
        if abs(ohm) >= OVERLOAD_OHM:
            raise InstrumentError(
                f"{self._name}: bridge {self._bridge} is overloaded ({ohm:g} ohm); see to the "
                "contacts or lower the current"
            )

    async def _hold_temperature(self) -> None:
        now = await self._device.temperature()
        if not 1.0 <= now.value <= 410.0:
            raise InstrumentError(
                f"{self._name} reads {now.value:g} K, which no sample has; its set point is left"
            )
        await self._device.set_temperature(now.value, self._rate)
        taken = await self._device.temperature_setpoint_k()
        if abs(taken - now.value) > 1e-3:
            raise InstrumentError(f"{self._name} still goes to {taken:g} K")

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
        return await self._go_to_field(OE_PER_T * target_t)

    async def _go_to_field(self, target_oe: float) -> Reading:
        now = await self._device.field()
        await self._device.set_field(target_oe, self._field_rate)
        ramp_s = abs(now.value - target_oe) / self._field_rate
        allowed_s, waited_s, moved = 2.0 * ramp_s + _SETTLING_S, 0.0, False
        while waited_s < allowed_s:
            left_s = abs(now.value - target_oe) / self._field_rate
            step_s = min(max(left_s, _POLL_S), _LONGEST_POLL_S, allowed_s - waited_s)
            await self.wait(step_s)
            waited_s += step_s
            now = await self._device.field()
            moving = _moving_field(self._name, now)
            moved = moved or moving
            there = abs(now.value - target_oe) <= _field_tolerance_oe(target_oe)
            if there and not moving and (moved or waited_s >= ramp_s + _TAKING_UP_S):
                return now
        raise InstrumentError(
            f"{self._name} is at {now.value:g} Oe and says {now.state!r} {waited_s:.0f} s after it "
            f"was told to go to {target_oe:g} Oe"
        )

    async def _drop_field(self) -> None:
        now = await self._device.field()
        if abs(now.value) <= _STILL_OE and now.state in FIELD_SETTLED:
            return
        await self._device.set_field(0.0, self._field_rate)
        _moving_field(self._name, await self._device.field())

    # ------------------------------------------------------------------------- chamber and bridge

    async def _close_chamber(self) -> None:
        state = await self._device.chamber()
        self._check_chamber(state)
        if state not in CHAMBER_CLOSED and state != CHAMBER_AT_WORK:
            await self._device.purge_and_seal()
        waited_s = 0.0
        while (state := await self._device.chamber()) not in CHAMBER_CLOSED:
            self._check_chamber(state)
            if waited_s >= _PURGING_S:
                raise InstrumentError(f"{self._name}: the chamber is {state!r}, not purged")
            await self.wait(_POLL_S)
            waited_s += _POLL_S

    def _check_chamber(self, state: str) -> None:
        if state not in CHAMBER_CLOSED | CHAMBER_UNSURE | {CHAMBER_AT_WORK}:
            raise InstrumentError(f"{self._name}: the chamber is {state!r}; close it")

    async def _stop_bridge(self) -> None:
        await self._device.stop_bridge()
        if await self._device.bridge_is_on():
            raise InstrumentError(f"{self._name}: bridge {self._bridge} does not switch off")

    async def _finish(self, target_oe: float) -> None:
        await self._stop_bridge()
        self._check_chamber(await self._device.chamber())
        if target_oe:
            now = await self._device.field()
            if abs(now.value - target_oe) > _field_tolerance_oe(target_oe):
                raise InstrumentError(
                    f"{self._name} is at {now.value:g} Oe ({now.state}) at the end of a run in "
                    f"{target_oe:g} Oe"
                )
            await self._go_to_field(0.0)

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


def _moving_temperature(name: str, now: Reading) -> bool:
    if now.state in TEMPERATURE_MOVING:
        return True
    if now.state != "Stable":
        raise InstrumentError(f"{name} reports {now.state!r} for its temperature, {now.value:g} K")
    return False


def _moving_field(name: str, now: Reading) -> bool:
    if now.state in FIELD_MOVING:
        return True
    if now.state not in FIELD_SETTLED:
        raise InstrumentError(f"{name} reports {now.state!r} for its field, {now.value:g} Oe")
    return False


def _field_tolerance_oe(target_oe: float) -> float:
    return _STILL_OE + 1e-3 * abs(target_oe)


def _flags(ohm: np.ndarray) -> tuple[QualityFlag, ...]:
    if not (np.abs(ohm) > RANGE_OHM).any():
        return ()
    message = f"readings beyond {RANGE_OHM:g} ohm are cut off there"
    return (QualityFlag(code="out_of_range", message=message),)


__all__ = ["MODELS", "MultiPyVuCryostat"]
