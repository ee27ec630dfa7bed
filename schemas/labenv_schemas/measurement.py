"""What an instrument returned: arrays, conditions, identity, time, quality, provenance. Never truth."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, field_validator, model_validator

from labenv_schemas.arrays import FloatVector
from labenv_schemas.base import Model
from labenv_schemas.units import FieldT, MassKg, TemperatureK


def _to_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no time zone; write UTC as ...+00:00")
    return moment.astimezone(UTC)


UtcDatetime = Annotated[datetime, AfterValidator(_to_utc)]


class InstrumentIdentity(Model):
    """Which device measured, and with what software."""

    station: str
    model: str
    serial: str
    driver: str
    driver_version: str
    simulated: bool


class QualityFlag(Model):
    """Something about a measurement that its reader must know."""

    code: str
    message: str


class MeasurementBase(Model):
    """What every measurement carries."""

    instrument: InstrumentIdentity | None = None
    sample_id: str | None = None
    measured_at: UtcDatetime | None = Field(default=None, description="Wall clock, UTC.")
    lab_time_s: float | None = Field(default=None, description="Lab clock at the end, s.")
    flags: tuple[QualityFlag, ...] = ()
    provenance: dict[str, str] = Field(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self.__dict__, other.__dict__
        return all(_same(value, theirs[name]) for name, value in mine.items())

    __hash__ = None  # type: ignore[assignment]  # arrays do not hash


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 - field values of any kind
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)


class Radiation(Model):
    """Wavelengths of the tube, Å, and the intensity of Kα2 relative to Kα1."""

    k_alpha1_a: float = Field(default=1.5405929, gt=0.1, lt=10.0)
    k_alpha2_a: float | None = Field(default=1.5444274, gt=0.1, lt=10.0)
    k_alpha2_ratio: float = Field(default=0.5, ge=0.0, le=1.0)
    anode: str | None = "Cu"


class Diffractogram(MeasurementBase):
    """Counts against scattering angle.

    `two_theta_deg` (n,) increases; `counts` (n,) are detector counts, or whatever `intensity_unit`
    says if the file held no counts.
    """

    kind: Literal["diffractogram"] = "diffractogram"
    two_theta_deg: FloatVector
    counts: FloatVector
    intensity_unit: Literal["counts", "counts_per_second", "arbitrary"] = "counts"
    counting_time_s: float | None = Field(default=None, gt=0, description="Seconds per step.")
    radiation: Radiation = Field(default_factory=Radiation)
    goniometer_radius_m: float | None = Field(default=None, gt=0)

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

    kind: Literal["resistance_curve"] = "resistance_curve"
    temperature_k: FloatVector
    resistance_ohm: FloatVector
    field_t: FieldT = Field(default=0.0, alias="field")
    current_a: float | None = None

    @model_validator(mode="after")
    def _consistent(self) -> ResistanceCurve:
        if self.temperature_k.shape != self.resistance_ohm.shape:
            raise ValueError("temperature and resistance differ in length")
        return self


class MagnetisationCurve(MeasurementBase):
    """Magnetic moment against temperature and field, each (n,)."""

    kind: Literal["magnetisation_curve"] = "magnetisation_curve"
    temperature_k: FloatVector
    field_t: FloatVector
    moment_a_m2: FloatVector

    @model_validator(mode="after")
    def _consistent(self) -> MagnetisationCurve:
        if not self.temperature_k.shape == self.field_t.shape == self.moment_a_m2.shape:
            raise ValueError("temperature, field and moment differ in length")
        return self


class MassReading(MeasurementBase):
    """One stable reading of a balance."""

    kind: Literal["mass"] = "mass"
    mass_kg: MassKg = Field(alias="mass")
    standard_uncertainty_kg: MassKg = Field(alias="standard_uncertainty")
    substance: str | None = None


class TemperatureReading(MeasurementBase):
    """Highest thermocouple reading of a firing."""

    kind: Literal["temperature"] = "temperature"
    temperature_k: TemperatureK = Field(alias="temperature")
    standard_uncertainty_k: float = Field(ge=0)


class Spectrum(MeasurementBase):
    """Intensity against any axis, both (n,), such as an EDS spectrum."""

    kind: Literal["spectrum"] = "spectrum"
    technique: str
    axis: FloatVector
    axis_unit: str
    intensity: FloatVector
    intensity_unit: str

    @field_validator("axis_unit", "intensity_unit")
    @classmethod
    def _stated(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("every channel has a unit; write 'counts' or '1' for none")
        return value


Measurement = Annotated[
    Diffractogram
    | ResistanceCurve
    | MagnetisationCurve
    | MassReading
    | TemperatureReading
    | Spectrum,
    Field(discriminator="kind"),
]
