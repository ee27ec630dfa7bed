"""A resistance measured against temperature with a current source and a temperature controller.

Two devices stand for the cryostat: a Lake Shore 336 leads the stage from temperature to
temperature, and a source with a voltmeter reads the bar at each while the current is reversed. What
differs between sources is in their drivers; this is the order of things, and what makes both safe.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from labenv_instruments.drivers._lakeshore_client import (
    LakeShore336Client,
    Settling,
    parsed_loop,
    parsed_range,
    positive,
)
from labenv_instruments.drivers.lakeshore_336 import HIGHEST_K, LOWEST_K, LakeShore336, limited_ramp
from labenv_instruments.twin import ensure
from labenv_instruments.wire.address import Address
from labenv_instruments.wire.driver import WireDriver
from labenv_instruments.wire.scpi import open_session
from labenv_schemas.characterisation import MeasureResistance
from labenv_schemas.errors import ConfigError, InstrumentError
from labenv_schemas.measurement import QualityFlag, ResistanceCurve, Unmeasured

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from labenv_instruments.instrument import InstrumentRequest
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

SMALLEST_A = 1e-9
_SAFETY_TRIES = 3
_DRIFT_K = 0.5  # a reading during which the stage moved by more says nothing of one temperature


@dataclass(frozen=True, slots=True)
class Geometry:
    """Of the bar, as a caliper gives it; None where nobody said.

    Attributes:
        contact_distance_m: Of the voltage contacts, m.
        cross_section_m2: Of the bar, m².
    """

    contact_distance_m: float | None
    cross_section_m2: float | None


class ResistanceRun(WireDriver):
    """A current source and voltmeter on a bar whose temperature a Lake Shore 336 leads.

    Attributes:
        largest_a: Largest current of the source, A; more is refused.
        geometry: Of the bar: from the address until something else is put here.
        thermometer: Of the stage.
    """

    role = "cryostat"
    operations = frozenset({"measure_resistance"})
    largest_a: ClassVar[float]
    largest_compliance_v: ClassVar[float]
    units: ClassVar[Mapping[str, str]] = {
        "temperature_k": "K",
        "resistance_ohm": "ohm",
        "field_t": "T",
        "current_a": "A",
        "contact_distance_m": "m",
        "cross_section_m2": "m^2",
    }
    option_help: ClassVar[Mapping[str, str]] = {
        "thermometer": "HOST:PORT of the Lake Shore 336 that leads the stage; required",
        "thermometer_input": "its input on the stage, A to D; A by default",
        "output": "its output to the stage's heater, 1 to 4; 1 by default",
        "heater_range": "of that output: 1 low, 2 medium, 3 high; 3 by default",
        "ramp_k_per_min": "rate of the set point, K/min; 10 by default",
        "tolerance_k": "how near the stage must come to a temperature, K; 0.1 by default",
        "compliance_v": "largest voltage of the source, V; 10 by default",
        "contact_distance_mm": "of the voltage contacts, mm",
        "cross_section_mm2": "of the bar, mm²",
    }

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as the base
        super().__init__(*args, **options)
        try:
            self._read_options()
        except ValueError as cause:
            raise ConfigError(f"address {self.address}: {cause}") from None
        self.session = open_session(
            self.address, self.port, f"{self.kind} at {self._place}", self.timeout_s
        )

    # ------------------------------------------------------------------------- what a source adds

    @abstractmethod
    async def open_source(self) -> tuple[str, str, bool]:
        """Connect and ask the source what it is; as `open_device`."""

    @abstractmethod
    async def set_source_up(self, current_a: float) -> None:
        """Set the source up for a current, with its output off.

        Args:
            current_a: The current, A.
        """

    @abstractmethod
    async def resistance_ohm(self, current_a: float) -> float | None:
        """Measure once, with the current in both directions, and leave the output off.

        Args:
            current_a: The current, A.

        Returns:
            The resistance, ohm; None if the source reached its compliance.

        Raises:
            InstrumentError: If the voltmeter overflows otherwise, or a reading cannot be right.
        """

    @abstractmethod
    async def source_off(self) -> None:
        """Stop, turn the output off, and see that it is."""

    # ------------------------------------------------------------------------- the life cycle

    @property
    def channel_units(self) -> Mapping[str, str]:
        """Unit of every channel in the measurements."""
        return self.units

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse temperatures, currents and fields that source and controller do not have.

        Args:
            operation: A `MeasureResistance`.
        """
        if not isinstance(operation, MeasureResistance):
            return
        low, high = operation.temperature_min_k, operation.temperature_max_k
        ensure(
            low >= LOWEST_K and high <= HIGHEST_K,
            f"the controller goes from {LOWEST_K:g} K to {HIGHEST_K:g} K, not from {low:g} K to "
            f"{high:g} K",
        )
        ensure(
            SMALLEST_A <= operation.current_a <= cls.largest_a,
            f"the source gives {SMALLEST_A:g} A to {cls.largest_a:g} A, not "
            f"{operation.current_a:g} A; 1 mA suits most bars",
        )
        ensure(
            operation.field_t == 0.0,
            f"there is no magnet at this source, so no {operation.field_t:g} T; leave it out",
        )

    async def open_device(self) -> tuple[str, str, bool]:
        """Connect to source and controller.

        Returns:
            The source's model, its serial number, and whether it says that it is simulated.
        """
        await self.thermometer.open()
        return await self.open_source()

    async def set_up(self, request: InstrumentRequest) -> None:
        """Set the source up, with its output off.

        Args:
            request: The plan.
        """
        await self.source_off()
        await self.set_source_up(_plan(request).current_a)

    async def carry_out(self, request: InstrumentRequest) -> tuple[MeasurementBase, ...]:
        """Go from temperature to temperature and measure at each.

        Args:
            request: The plan.

        Returns:
            The curve. Where the source was in compliance there is no reading; the curve then
            carries a flag, and if it was so everywhere there is no curve but the reason.

        Raises:
            InstrumentError: If the stage drifts while it is being measured, or a device fails.
        """
        plan = _plan(request)
        read: list[tuple[float, float]] = []
        beyond = 0
        for target_k in plan.temperatures_k():
            before_k = await self._go_to(float(target_k), plan.step_k)
            resistance_ohm = await self.resistance_ohm(plan.current_a)
            after_k = await self.thermometer.reading_k()
            if abs(after_k - before_k) > _DRIFT_K:
                raise InstrumentError(
                    f"{self.thermometer.session.name}: the stage went from {before_k:g} K to "
                    f"{after_k:g} K while it was being measured"
                )
            if resistance_ohm is None:
                beyond += 1
            else:
                read.append((0.5 * (before_k + after_k), resistance_ohm))
        await self.make_safe()
        return (self._measured_from(request, plan, read, beyond),)

    async def make_safe(self) -> None:
        """Turn source and heaters off, each though the other cannot be told.

        Raises:
            InstrumentError: If one of them is not off.
        """
        # At the same time: a deaf source must not use up the time in which heaters can be told.
        failures = await asyncio.gather(
            _persistently(self.source_off), _persistently(self.thermometer.heaters_off)
        )
        if any(failures):
            raise InstrumentError("; ".join(filter(None, failures)))

    async def release(self) -> None:
        """Let both connections go."""
        await self.session.close()
        await self.thermometer.session.close()

    async def readings(self) -> dict[str, str]:
        """Return the stage's temperature and set point.

        Returns:
            Each with its unit.
        """
        look = await self.thermometer.look()
        return {
            "stage": f"{look.temperature_k:.4g} K",
            "set point": f"{look.setpoint_k:.4g} K" + (", ramping" if look.ramping else ""),
        }

    # ------------------------------------------------------------------------- for this file

    @property
    def _place(self) -> str:
        port = "" if self.address.transport == "visa" else f":{self.port}"
        return f"{self.address.host}{port}"

    @property
    def compliance_v(self) -> float:
        """Largest voltage that the source may reach: the address's, or the lab's if lower, V."""
        most = self.limits.max_voltage_v
        return self._compliance_v if most is None else min(self._compliance_v, most)

    def _read_options(self) -> None:
        place = self.option("thermometer", "")
        host, _, port = place.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise ValueError(
                f"thermometer={place!r} names no Lake Shore 336; write one like "
                f"'thermometer=10.0.0.6:{LakeShore336.default_port}'"
            )
        loop = parsed_loop(self.option("thermometer_input", "A"), self.option("output", "1"))
        where = Address("lakeshore_336", "tcp", host.strip("[]"), int(port))
        session = open_session(where, int(port), f"lakeshore_336 at {place}", self.timeout_s)
        self.thermometer = LakeShore336Client(session, *loop)
        self.settling = Settling(
            tolerance_k=positive(self.option("tolerance_k", "0.1"), "tolerance_k")
        )
        self._heater_range = parsed_range(self.option("heater_range", "3"))
        self._ramp = positive(self.option("ramp_k_per_min", "10"), "ramp_k_per_min")
        self._compliance_v = positive(self.option("compliance_v", "10"), "compliance_v")
        if self._compliance_v > self.largest_compliance_v:
            raise ValueError(
                f"compliance_v={self._compliance_v:g} is beyond the source's "
                f"{self.largest_compliance_v:g} V"
            )
        self.geometry = Geometry(
            self._length("contact_distance_mm", 1e-3), self._length("cross_section_mm2", 1e-6)
        )

    def _length(self, name: str, unit: float) -> float | None:
        text = self.option(name, "")
        return positive(text, name) * unit if text else None

    async def _go_to(self, target_k: float, step_k: float) -> float:
        rate = limited_ramp(self._ramp, self.limits)
        tolerance_k = min(self.settling.tolerance_k, 0.25 * step_k)
        await self.thermometer.go_to(target_k, rate, self._heater_range)
        settling = replace(self.settling, tolerance_k=tolerance_k)
        return await self.thermometer.settle(target_k, settling, self.wait)

    def _measured_from(
        self,
        request: InstrumentRequest,
        plan: MeasureResistance,
        read: list[tuple[float, float]],
        beyond: int,
    ) -> MeasurementBase:
        limit_ohm = self.compliance_v / plan.current_a
        if not read:
            return Unmeasured(
                technique="resistance",
                reason=f"the source was at its {self.compliance_v:g} V at every temperature: the "
                f"contacts are open, or the bar has more than {limit_ohm:.3g} ohm; ask for less "
                f"current than {plan.current_a:g} A",
                **self.stamp(request),
            )
        flags: tuple[QualityFlag, ...] = ()
        if beyond:
            flags = (
                QualityFlag(
                    code="compliance",
                    message=f"{beyond} of {beyond + len(read)} readings were left out: the source "
                    f"was at its {self.compliance_v:g} V, so more than {limit_ohm:.3g} ohm there",
                ),
            )
        columns = np.array(read, dtype=np.float64)
        return ResistanceCurve(
            temperature_k=columns[:, 0].copy(),
            resistance_ohm=columns[:, 1].copy(),
            field_t=0.0,
            current_a=plan.current_a,
            contact_distance_m=self.geometry.contact_distance_m,
            cross_section_m2=self.geometry.cross_section_m2,
            flags=flags,
            **self.stamp(request),
        )


async def _persistently(step: Callable[[], Awaitable[None]]) -> str:
    """Do what makes a device safe, several times if need be.

    Returns:
        Why it failed the last time; empty if it did not.
    """
    failure = ""
    for _ in range(_SAFETY_TRIES):
        try:
            await step()
        except InstrumentError as cause:
            failure = str(cause)
        else:
            return ""
    return failure


def _plan(request: InstrumentRequest) -> MeasureResistance:
    if not isinstance(request.operation, MeasureResistance):
        raise InstrumentError(f"'{request.operation.op}' is no measurement of resistance")
    return request.operation


__all__ = ["Geometry", "ResistanceRun"]
