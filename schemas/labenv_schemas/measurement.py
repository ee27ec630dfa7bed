"""What an instrument returned: arrays, conditions, identity, time, quality, never truth."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from labenv_schemas.arrays import FloatVector
from labenv_schemas.base import KeepsNone, Model
from labenv_schemas.units import FieldT, MassKg, Quantity, TemperatureK


def _not_a_number(moment: Any) -> Any:  # noqa: ANN401 - any input may arrive
    # Pydantic would guess seconds or milliseconds from the size of a number.
    is_text = isinstance(moment, str)
    if isinstance(moment, datetime) or (is_text and re.match(r"\d{4}-\d\d-\d\d[T ]", moment)):
        return moment
    raise ValueError(f"{moment!r} is not a date with time; write it as 2025-01-31T12:00:00+00:00")


def _to_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone; write UTC as ...+00:00")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{moment.isoformat()} is out of range in UTC") from None


UtcDatetime = Annotated[datetime, BeforeValidator(_not_a_number), AfterValidator(_to_utc)]


class InstrumentIdentity(Model):
    """Which device measured, and with what software."""

    station: str = Field(description="Station of the lab.")
    model: str = Field(description="Maker's name of the device.")
    serial: str = Field(description="Serial number.")
    driver: str = Field(description="Identity of the driver.")
    driver_version: str = Field(description="Version of the driver.")
    simulated: bool = Field(description="Whether a twin stood in for the device.")


class QualityFlag(Model):
    """Something about a measurement that its reader must know."""

    code: str = Field(description="Short and stable, such as 'saturated'.")
    message: str = Field(description="In words.")


class MeasurementBase(Model):
    """What every measurement carries."""

    instrument: InstrumentIdentity | None = Field(default=None, description="What measured.")
    sample_id: str | None = Field(default=None, description="What was measured.")
    measured_at: UtcDatetime | None = Field(default=None, description="Wall clock, UTC.")
    lab_time_s: float | None = Field(default=None, description="Lab clock at the end, s.")
    flags: tuple[QualityFlag, ...] = Field(default=(), description="What a reader must know.")
    provenance: dict[str, str] = Field(
        default_factory=dict, description="Where it came from, such as the file and its format."
    )

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return all(_same(value, theirs[name]) for name, value in mine.items())

    __hash__ = None  # type: ignore[assignment]  # arrays do not hash

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        self._freeze()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        copy = super().__deepcopy__(memo)
        copy._freeze()  # noqa: SLF001 - of the same class
        return copy

    def _freeze(self) -> None:
        # Numpy forgets that an array was read-only when it pickles or copies it.
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - field values of any kind
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)


class Radiation(KeepsNone, Model):
    """Wavelengths of the tube, and the intensity of Kα2 relative to Kα1."""

    # Cu Kα: Hölzer et al., Phys. Rev. A 56 (1997) 4554, as in the International Tables.
    k_alpha1_a: float = Field(default=1.5405929, gt=0.1, lt=10.0, description="Kα1, Å.")
    k_alpha2_a: float | None = Field(
        default=1.5444274, gt=0.1, lt=10.0, description="Kα2, Å; null for monochromatic light."
    )
    k_alpha2_ratio: float = Field(default=0.5, ge=0.0, le=1.0, description="Kα2 over Kα1.")
    anode: str | None = Field(default="Cu", description="Element of the anode; null if unknown.")


class Diffractogram(MeasurementBase):
    """Counts against scattering angle.

    `two_theta_deg` (n,) increases; `counts` (n,) are detector counts, or whatever `intensity_unit`
    says if the file held no counts.
    """

    kind: Literal["diffractogram"] = Field(
        default="diffractogram", description="Kind of measurement."
    )
    two_theta_deg: FloatVector = Field(description="Scattering angles 2θ, degrees, increasing.")
    counts: FloatVector = Field(description="Intensity at each angle.")
    intensity_unit: Literal["counts", "counts_per_second", "arbitrary"] = Field(
        default="counts", description="Unit of the intensities."
    )
    counting_time_s: float | None = Field(default=None, gt=0, description="Seconds per step.")
    radiation: Radiation = Field(default_factory=Radiation, description="Light of the tube.")
    goniometer_radius_m: float | None = Field(
        default=None, gt=0, description="Sample to detector, m."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Diffractogram:
        if self.two_theta_deg.shape != self.counts.shape:
            raise ValueError(f"{self.two_theta_deg.size} angles but {self.counts.size} intensities")
        if self.two_theta_deg.size < 2:
            raise ValueError("a diffractogram has at least two points")
        if not (np.diff(self.two_theta_deg) > 0).all():
            raise ValueError("two_theta_deg must increase")
        if self.two_theta_deg[0] < -1.0 or self.two_theta_deg[-1] > 180.0:
            raise ValueError("two_theta_deg must lie between 0 and 180 degrees")
        return self


class ResistanceCurve(MeasurementBase):
    """Resistance against temperature: `temperature_k` (n,), `resistance_ohm` (n,)."""

    kind: Literal["resistance_curve"] = Field(
        default="resistance_curve", description="Kind of measurement."
    )
    temperature_k: FloatVector = Field(description="Temperatures, K.")
    resistance_ohm: FloatVector = Field(description="Resistance at each temperature, Ω.")
    field_t: FieldT = Field(
        default=0.0,
        validation_alias="field",
        serialization_alias="field",
        description="Magnetic field.",
    )
    current_a: float | None = Field(default=None, description="Excitation current, A.")
    contact_distance_m: float | None = Field(
        default=None, gt=0, description="Distance of the voltage contacts, m."
    )
    cross_section_m2: float | None = Field(
        default=None, gt=0, description="Cross section of the bar, m²."
    )

    @model_validator(mode="after")
    def _consistent(self) -> ResistanceCurve:
        _check_axis(self.temperature_k, self.resistance_ohm)
        return self


class MagnetisationCurve(MeasurementBase):
    """Magnetic moment against temperature and field, each (n,)."""

    kind: Literal["magnetisation_curve"] = Field(
        default="magnetisation_curve", description="Kind of measurement."
    )
    temperature_k: FloatVector = Field(description="Temperatures, K.")
    field_t: FloatVector = Field(description="Magnetic fields, T.")
    moment_a_m2: FloatVector = Field(description="Magnetic moment, A·m².")
    sample_volume_m3: float | None = Field(
        default=None, gt=0, description="Volume of the sample without pores, as measured, m³."
    )
    cooled_in_field: bool | None = Field(
        default=None, description="Whether it was cooled in the field; null if not told."
    )

    @model_validator(mode="after")
    def _consistent(self) -> MagnetisationCurve:
        _check_axis(self.temperature_k, self.field_t, self.moment_a_m2)
        return self


def _check_axis(temperature_k: FloatVector, *channels: FloatVector) -> None:
    sizes = [temperature_k.size, *(channel.size for channel in channels)]
    if len(set(sizes)) > 1:
        raise ValueError(f"temperature and the other channels differ in length: {sizes}")
    if (temperature_k <= 0).any():
        raise ValueError("temperature_k holds values at or below 0 K; were they in degC?")


class MassReading(MeasurementBase):
    """One stable reading of a balance, which may be a little below zero when it is empty."""

    kind: Literal["mass"] = Field(default="mass", description="Kind of measurement.")
    mass_kg: Annotated[float, Quantity("kg", "Mass", "2.5 g")] = Field(
        validation_alias="mass", serialization_alias="mass", description="The reading."
    )
    standard_uncertainty_kg: MassKg = Field(
        validation_alias="standard_uncertainty",
        serialization_alias="standard_uncertainty",
        description="Standard uncertainty of the reading.",
    )
    substance: str | None = Field(default=None, description="What was weighed.")


class TemperatureReading(MeasurementBase):
    """Highest thermocouple reading of a firing."""

    kind: Literal["temperature"] = Field(default="temperature", description="Kind of measurement.")
    temperature_k: TemperatureK = Field(
        validation_alias="temperature",
        serialization_alias="temperature",
        description="The reading.",
    )
    standard_uncertainty_k: float = Field(ge=0, description="Standard uncertainty, K.")


class DensityReading(MeasurementBase):
    """Density without open pores, by gas displacement."""

    kind: Literal["density"] = Field(default="density", description="Kind of measurement.")
    density_kg_m3: float = Field(gt=0, description="The reading, kg/m³.")
    standard_uncertainty_kg_m3: float = Field(ge=0, description="Standard uncertainty, kg/m³.")


class CompositionReading(MeasurementBase):
    """Mass fractions of the elements that the method sees, adding up to 1 over those."""

    kind: Literal["composition"] = Field(default="composition", description="Kind of measurement.")
    technique: str = Field(default="eds", description="Such as 'eds'.")
    elements: tuple[str, ...] = Field(min_length=1, description="Symbols of what is seen.")
    mass_fraction: FloatVector = Field(description="Mass fraction of each.")
    standard_uncertainty: FloatVector = Field(description="Standard uncertainty of each.")
    blind_to: tuple[str, ...] = Field(
        default=(), description="Elements that the method cannot see, whether there or not."
    )

    @model_validator(mode="after")
    def _consistent(self) -> CompositionReading:
        sizes = [len(self.elements), self.mass_fraction.size, self.standard_uncertainty.size]
        if len(set(sizes)) > 1:
            raise ValueError(f"elements, fractions and uncertainties differ in number: {sizes}")
        return self


class Unmeasured(MeasurementBase):
    """An honest "unknown" in the place of a measurement that nobody can answer for."""

    kind: Literal["unmeasured"] = Field(default="unmeasured", description="Kind of measurement.")
    technique: str = Field(description="What was asked for.")
    reason: str = Field(min_length=1, description="Why there is no number.")


class Spectrum(MeasurementBase):
    """Intensity against any axis, both (n,), such as an EDS spectrum."""

    kind: Literal["spectrum"] = Field(default="spectrum", description="Kind of measurement.")
    technique: str = Field(description="Such as 'eds'.")
    axis: FloatVector = Field(description="Where the intensities stand.")
    axis_unit: str = Field(description="Unit of the axis, such as 'keV'.")
    intensity: FloatVector = Field(description="Intensity at each place of the axis.")
    intensity_unit: str = Field(description="Unit of the intensities, such as 'counts'.")

    @field_validator("axis_unit", "intensity_unit")
    @classmethod
    def _stated(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("every channel has a unit; write 'counts' or '1' for none")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Spectrum:
        if self.axis.shape != self.intensity.shape:
            raise ValueError(f"{self.axis.size} axis values but {self.intensity.size} intensities")
        return self


def is_characterisation(measurement: MeasurementBase) -> bool:
    """Return whether a measurement says something besides a diffractogram and the dosing.

    Args:
        measurement: Any.

    Returns:
        False for diffractograms, readings of thermocouples and weighed-in precursors.
    """
    if isinstance(measurement, MassReading):
        return measurement.substance is None
    return not isinstance(measurement, (Diffractogram, TemperatureReading))


Measurement = Annotated[
    Diffractogram
    | ResistanceCurve
    | MagnetisationCurve
    | MassReading
    | TemperatureReading
    | DensityReading
    | CompositionReading
    | Unmeasured
    | Spectrum,
    Field(discriminator="kind"),
]
