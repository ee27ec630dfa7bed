"""A tube furnace with gas supply and a vacuum pump."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from labenv_instruments.trusted import trusted
from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.measurement import TemperatureReading
from labenv_schemas.proposal import ATMOSPHERE_PA, ROOM_TEMPERATURE_K, GasMixture, Heat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import HeatSegment, Operation

MAX_TEMPERATURE_K = 1773.15
MAX_VACUUM_TEMPERATURE_K = 1673.15  # a hot alumina tube under vacuum bends
MAX_HEATING_K_PER_S = 20.0 / 60.0  # faster, an alumina tube cracks
MAX_COOLING_K_PER_S = 10.0 / 60.0  # the furnace cannot lose heat faster under control
MIN_RATE_K_PER_S = 0.1 / 60.0
MAX_PROGRAM_S = 21 * 86_400.0
READING_UNCERTAINTY_K = 1.0


class TubeFurnace(InProcessTwin):
    """Fires one sample at a time; reports its control thermocouple beside the sample."""

    kind = "tube_furnace"
    operations = frozenset({"heat"})
    model = "labenv tube furnace twin"
    units: ClassVar[Mapping[str, str]] = {"temperature_k": "K", "standard_uncertainty_k": "K"}

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse programmes, gases and coolings that the furnace cannot do.

        Args:
            operation: A `Heat`.
        """
        if not isinstance(operation, Heat):
            return
        start_k, total_s = ROOM_TEMPERATURE_K, 0.0
        for number, segment in enumerate(operation.segments, start=1):
            _check_segment(f"segment {number}", segment, start_k)
            total_s += abs(segment.target_k - start_k) / segment.rate_k_per_s + segment.hold_s
            start_k = segment.target_k
        cooling_k_per_s = operation.cooling_rate_k_per_s
        if cooling_k_per_s is not None:
            _check_cooling(cooling_k_per_s)
            total_s += (start_k - ROOM_TEMPERATURE_K) / cooling_k_per_s
        ensure(
            total_s <= MAX_PROGRAM_S,
            f"the programme takes {total_s / 86_400:.3g} days; the furnace may be booked for "
            f"{MAX_PROGRAM_S / 86_400:g} days, so shorten the holds or raise the rates",
        )
        _check_gas(operation)

    def perform(self, sample: SampleView, operation: Heat) -> tuple[MeasurementBase, ...]:
        """Fire the sample.

        Args:
            sample: The sample.
            operation: The programme.

        Returns:
            The thermocouple's highest reading.
        """
        reading = trusted(
            TemperatureReading,
            temperature_k=sample.fire(operation),
            standard_uncertainty_k=READING_UNCERTAINTY_K,
            **self.stamp(sample),
        )
        return (reading,)


def _check_segment(place: str, segment: HeatSegment, start_k: float) -> None:
    target_k, rate_k_per_s = segment.target_k, segment.rate_k_per_s
    heating = target_k >= start_k
    limit = MAX_HEATING_K_PER_S if heating else MAX_COOLING_K_PER_S
    if (
        ROOM_TEMPERATURE_K <= target_k <= MAX_TEMPERATURE_K
        and MIN_RATE_K_PER_S <= rate_k_per_s <= limit
    ):
        return  # before any message is put together
    ensure(
        target_k <= MAX_TEMPERATURE_K,
        f"{place} asks for {_celsius(target_k)}; the furnace goes to "
        f"{_celsius(MAX_TEMPERATURE_K)}, so lower the target",
    )
    ensure(
        target_k >= ROOM_TEMPERATURE_K,
        f"{place} asks for {_celsius(target_k)}; the furnace does not cool below "
        f"{_celsius(ROOM_TEMPERATURE_K)}, so raise the target",
    )
    ensure(
        MIN_RATE_K_PER_S <= rate_k_per_s <= limit,
        f"{place} {'heats' if heating else 'cools'} at {rate_k_per_s * 60:.3g} K/min; the furnace "
        f"{'heats' if heating else 'cools'} at {MIN_RATE_K_PER_S * 60:g} to {limit * 60:g} K/min",
    )


def _check_cooling(rate_k_per_s: float) -> None:
    ensure(
        MIN_RATE_K_PER_S <= rate_k_per_s <= MAX_COOLING_K_PER_S,
        f"cooling at {rate_k_per_s * 60:.3g} K/min; under control the furnace cools at "
        f"{MIN_RATE_K_PER_S * 60:g} to {MAX_COOLING_K_PER_S * 60:g} K/min, so write such a rate, "
        f"or 'furnace' for its own rate, or 'quench'",
    )


def _check_gas(heat: Heat) -> None:
    gas = heat.atmosphere
    if isinstance(gas, GasMixture):
        total_pa = gas.o2_pa + gas.co2_pa
        ensure(
            total_pa <= ATMOSPHERE_PA,
            f"O2 and CO2 add up to {total_pa / ATMOSPHERE_PA:.3g} atm; gas flows through the "
            f"furnace at 1 atm, so lower the partial pressures",
        )
        return
    if gas != "vacuum":
        return
    ensure(
        heat.peak_k <= MAX_VACUUM_TEMPERATURE_K,
        f"under vacuum the tube holds {_celsius(MAX_VACUUM_TEMPERATURE_K)}, not "
        f"{_celsius(heat.peak_k)}; lower the target or write 'argon'",
    )
    ensure(
        heat.cooling != "quench",
        "a sample cannot be taken hot out of a vacuum; write cooling 'furnace' or another "
        "atmosphere",
    )


def _celsius(temperature_k: float) -> str:
    return f"{temperature_k - 273.15:.0f} degC"
