"""What one device may be asked for in one laboratory, below what its maker allows.

They stand in the lab file and hold below every policy: the laboratory refuses a plan that passes
them before anything moves, and the driver refuses it again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from labenv_schemas.base import Model
from labenv_schemas.characterisation import MeasureMagnetisation, MeasureResistance
from labenv_schemas.errors import ProposalError
from labenv_schemas.proposal import Dose, GasMixture, Heat
from labenv_schemas.units import FieldT, HeatingRateKPerS, MassKg, Quantity, TemperatureK

if TYPE_CHECKING:
    from collections.abc import Collection

    from labenv_schemas.proposal import Operation

_CurrentA = Annotated[float, Quantity("A", "Current", "10 mA")]
_Gas = Literal["air", "oxygen", "nitrogen", "argon", "carbon_dioxide", "vacuum", "mixture"]
_VoltageV = Annotated[float, Quantity("V", "Voltage", "10 V")]
_COLD = ("max_field", "max_temperature", "min_temperature", "max_ramp")
_CONCERNED: dict[str, tuple[str, ...]] = {
    "heat": ("max_temperature", "max_ramp", "atmospheres"),
    "measure_resistance": ("max_current", "max_voltage", *_COLD),
    "measure_magnetisation": _COLD,
    "dose": ("max_dose",),
}


class DeviceLimits(Model):
    """Limits of one device; what is left out is not limited beyond the device's own range."""

    max_temperature_k: TemperatureK | None = Field(
        default=None, validation_alias="max_temperature", serialization_alias="max_temperature",
        description="Highest temperature, with unit.",
    )  # fmt: skip
    min_temperature_k: TemperatureK | None = Field(
        default=None, validation_alias="min_temperature", serialization_alias="min_temperature",
        description="Lowest temperature of a cryostat, with unit.",
    )  # fmt: skip
    max_ramp_k_per_s: HeatingRateKPerS | None = Field(
        default=None, validation_alias="max_ramp", serialization_alias="max_ramp",
        description="Fastest change of temperature, with unit.",
    )  # fmt: skip
    max_current_a: _CurrentA | None = Field(
        default=None, gt=0.0, validation_alias="max_current", serialization_alias="max_current",
        description="Largest current through a sample, with unit.",
    )  # fmt: skip
    max_voltage_v: _VoltageV | None = Field(
        default=None, gt=0.0, validation_alias="max_voltage", serialization_alias="max_voltage",
        description="Largest compliance voltage, with unit.",
    )  # fmt: skip
    max_field_t: FieldT | None = Field(
        default=None, gt=0.0, validation_alias="max_field", serialization_alias="max_field",
        description="Largest magnetic field, with unit.",
    )  # fmt: skip
    max_dose_kg: MassKg | None = Field(
        default=None, gt=0.0, validation_alias="max_dose", serialization_alias="max_dose",
        description="Most of one substance in a vial, with unit.",
    )  # fmt: skip
    atmospheres: tuple[_Gas, ...] | None = Field(
        default=None,
        min_length=1,
        description="Gases that are connected: names of atmospheres, and 'mixture' for mixtures.",
    )

    @model_validator(mode="after")
    def _leave_room(self) -> DeviceLimits:
        low_k, high_k = self.min_temperature_k, self.max_temperature_k
        if low_k is not None and high_k is not None and low_k >= high_k:
            raise ValueError("min_temperature is not below max_temperature; nothing is allowed")
        return self

    def idle(self, operations: Collection[str]) -> tuple[str, ...]:
        """Return the limits that hold nothing back where only some operations are done.

        Args:
            operations: Those of the device; without any it is set by hand, and all may matter.

        Returns:
            Names of limits, as a lab file writes them.
        """
        concerned = {name for op in operations for name in _CONCERNED.get(op, ())}
        given = self.model_dump(exclude_none=True, by_alias=True)
        return tuple(name for name in given if operations and name not in concerned)

    def check(self, operation: Operation, station: str) -> None:
        """Refuse an operation that passes a limit.

        Args:
            operation: What is asked for.
            station: Name of the station, for the message.

        Raises:
            ProposalError: If it passes one; the message names it and says what to write.
        """
        if isinstance(operation, Heat):
            self._check_heat(operation, station)
        elif isinstance(operation, MeasureResistance):
            _at_most(operation.current_a, self.max_current_a, "a current", "A", station)
            self._check_cold(operation, abs(operation.field_t), station)
        elif isinstance(operation, MeasureMagnetisation):
            self._check_cold(operation, abs(operation.field_t), station)
        elif isinstance(operation, Dose):
            for dose in operation.precursors:
                what = f"a dose of {dose.substance}"
                _at_most(dose.mass_kg or 0.0, self.max_dose_kg, what, "kg", station)

    def _check_heat(self, heat: Heat, station: str) -> None:
        _at_most(heat.peak_k, self.max_temperature_k, "a temperature", "K", station)
        fastest = max(segment.rate_k_per_s for segment in heat.segments)
        fastest = max(fastest, heat.cooling_rate_k_per_s or 0.0)
        limit = None if self.max_ramp_k_per_s is None else 60.0 * self.max_ramp_k_per_s
        _at_most(60.0 * fastest, limit, "a ramp", "K/min", station)
        gas = "mixture" if isinstance(heat.atmosphere, GasMixture) else heat.atmosphere
        if self.atmospheres is not None and gas not in self.atmospheres:
            raise ProposalError(
                f"{station} is not connected to the gas '{gas}'; it has "
                f"{', '.join(self.atmospheres) or 'none'}"
            )

    def _check_cold(
        self, run: MeasureResistance | MeasureMagnetisation, field_t: float, station: str
    ) -> None:
        _at_most(field_t, self.max_field_t, "a field", "T", station)
        _at_most(run.temperature_max_k, self.max_temperature_k, "a temperature", "K", station)
        if self.min_temperature_k is not None and run.temperature_min_k < self.min_temperature_k:
            raise ProposalError(
                f"{station} is limited to temperatures of {self.min_temperature_k:g} K and more in "
                f"this lab, not {run.temperature_min_k:g} K; raise the lowest temperature"
            )


def _at_most(value: float, limit: float | None, what: str, unit: str, station: str) -> None:
    if limit is not None and value > limit * (1.0 + 1e-9):
        celsius = f" ({limit - 273.15:.0f} degC)" if unit == "K" else ""
        raise ProposalError(
            f"{station} is limited to {what} of {limit:g} {unit}{celsius} in this lab, not "
            f"{value:g} {unit}; stay below that"
        )


__all__ = ["DeviceLimits"]
