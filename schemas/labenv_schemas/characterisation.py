"""Measurements besides diffraction that a plan may ask for; none of them uses the sample up.

The bar, chip or pinch that an instrument takes goes back into the vial afterwards. Each is an
operation of its own; ``{"measure": "resistance"}``, ``{"op": "measure", "measure": "resistance"}``
and ``{"op": "measure", "technique": "resistance"}`` are read as `MeasureResistance`, and so on for
the names in `TECHNIQUES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from labenv_schemas.base import Model
from labenv_schemas.suggestions import meant
from labenv_schemas.units import DurationS, FieldT, MassKg, Quantity, TemperatureK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

MOST_TEMPERATURES = 20_000
COARSE_STEPS = 6  # above `fine_below` a step is this many times wider

_CurrentA = Annotated[float, Quantity("A", "Electric current", "1 mA", gt=0)]
_StepK = Annotated[float, Quantity("K", "Difference of temperature", "1 K", gt=0)]

TECHNIQUES: Mapping[str, str] = {
    "resistance": "measure_resistance",
    "magnetisation": "measure_magnetisation",
    "mass": "weigh",
    "density": "measure_density",
    "eds": "measure_composition",
}
DIFFRACTION = "xrd"  # the technique of the operation "measure" itself


class MeasureResistance(Model):
    """Measure the resistance of a pressed bar with four contacts while it warms in a cryostat."""

    op: Literal["measure_resistance"] = Field(
        default="measure_resistance", description="Kind of operation."
    )
    temperature_min_k: TemperatureK = Field(
        default=4.0,
        validation_alias="temperature_min",
        serialization_alias="temperature_min",
        description="Lowest temperature.",
    )
    temperature_max_k: TemperatureK = Field(
        default=301.0,
        validation_alias="temperature_max",
        serialization_alias="temperature_max",
        description="Temperature at which the run ends; readings are below it.",
    )
    step_k: _StepK = Field(
        default=1.0,
        validation_alias="step",
        serialization_alias="step",
        description="Between two readings.",
    )
    fine_below_k: TemperatureK = Field(
        default=120.0,
        validation_alias="fine_below",
        serialization_alias="fine_below",
        description=f"Above it steps are {COARSE_STEPS} times wider.",
    )
    current_a: _CurrentA = Field(
        default=1e-3,
        validation_alias="current",
        serialization_alias="current",
        description="Excitation current.",
    )
    field_t: FieldT = Field(
        default=0.0,
        validation_alias="field",
        serialization_alias="field",
        description="Magnetic field across the bar.",
    )

    @model_validator(mode="after")
    def _some_temperatures(self) -> MeasureResistance:
        _check_range(self.temperature_min_k, self.temperature_max_k, self.step_k)
        return self

    def temperatures_k(self) -> NDArray[np.float64]:
        """Return the temperatures of the stage at which it reads, K, shape (n,)."""
        low, high, step = self.temperature_min_k, self.temperature_max_k, self.step_k
        middle = min(max(low, self.fine_below_k), high)
        fine, coarse = np.arange(low, middle, step), np.arange(middle, high, COARSE_STEPS * step)
        return np.concatenate([fine, coarse])


class MeasureMagnetisation(Model):
    """Measure the moment of a chip against temperature in one field."""

    op: Literal["measure_magnetisation"] = Field(
        default="measure_magnetisation", description="Kind of operation."
    )
    temperature_min_k: TemperatureK = Field(
        default=5.0,
        validation_alias="temperature_min",
        serialization_alias="temperature_min",
        description="Lowest temperature.",
    )
    temperature_max_k: TemperatureK = Field(
        default=110.5,
        validation_alias="temperature_max",
        serialization_alias="temperature_max",
        description="Temperature at which the run ends; readings are below it.",
    )
    step_k: _StepK = Field(
        default=1.5,
        validation_alias="step",
        serialization_alias="step",
        description="Between two readings.",
    )
    field_t: FieldT = Field(
        default=1e-3,
        validation_alias="field",
        serialization_alias="field",
        description="Magnetic field.",
    )
    cooled_in_field: bool = Field(
        default=False, description="Whether the chip is cooled in the field, else without."
    )
    chip_kg: MassKg = Field(
        default=6e-6,
        validation_alias="chip",
        serialization_alias="chip",
        gt=0,
        description="Mass of the chip.",
    )

    @model_validator(mode="after")
    def _some_temperatures(self) -> MeasureMagnetisation:
        _check_range(self.temperature_min_k, self.temperature_max_k, self.step_k)
        return self

    def temperatures_k(self) -> NDArray[np.float64]:
        """Return the temperatures at which it reads, K, shape (n,)."""
        return np.arange(self.temperature_min_k, self.temperature_max_k, self.step_k)


class Weigh(Model):
    """Weigh the sample as it is; before and after a firing it tells the change of mass."""

    op: Literal["weigh"] = Field(default="weigh", description="Kind of operation.")
    repeats: int = Field(default=1, ge=1, le=1000, description="Weighings that are averaged.")


class MeasureDensity(Model):
    """Measure the density of the sample without its open pores, in helium."""

    op: Literal["measure_density"] = Field(
        default="measure_density", description="Kind of operation."
    )
    purges: int = Field(default=10, ge=1, le=1000, description="Fillings with helium.")


class MeasureComposition(Model):
    """Measure which elements are in the sample by X-rays in an electron microscope (EDS)."""

    op: Literal["measure_composition"] = Field(
        default="measure_composition", description="Kind of operation."
    )
    live_time_s: DurationS = Field(
        default=1200.0,
        validation_alias="live_time",
        serialization_alias="live_time",
        gt=0,
        le=7 * 86_400.0,
        description="Time of counting.",
    )


Characterisation = (
    MeasureResistance | MeasureMagnetisation | Weigh | MeasureDensity | MeasureComposition
)


def spelt_out(operation: Any) -> Any:  # noqa: ANN401 - any input may arrive
    """Return an operation's plain data with a measurement's technique turned into its `op`.

    Args:
        operation: Anything.

    Returns:
        The same, unless it is a dict that asks for one of `TECHNIQUES`.
    """
    if not isinstance(operation, dict):
        return operation
    rest = dict(operation)
    if rest.get("op", "measure") == "measure" and isinstance(rest.get("measure"), str):
        named = rest.pop("measure")
        if rest.get("technique", named) != named:  # two techniques: the model says that one is odd
            return operation
        rest |= {"op": "measure", "technique": named}
    technique = rest.get("technique")
    if rest.get("op") == "measure" and isinstance(technique, str) and technique in TECHNIQUES:
        return {**{k: v for k, v in rest.items() if k != "technique"}, "op": TECHNIQUES[technique]}
    return rest if rest.get("op") == "measure" else operation


def known_technique(given: Any) -> Any:  # noqa: ANN401 - any input may arrive
    """Return the technique of the operation ``measure`` if it is diffraction.

    Args:
        given: What was asked for.

    Returns:
        The same.

    Raises:
        ValueError: If no instrument of the laboratory does it; the message lists those there are.
    """
    if given == DIFFRACTION:
        return given
    names = (DIFFRACTION, *TECHNIQUES)
    guess = meant(str(given), names)
    hint = f"; did you mean {{measure: {guess}}}?" if guess else ""
    written = ", ".join(f"{{measure: {name}}}" for name in names)
    raise ValueError(f"the laboratory has no {str(given)[:60]!r}; it has {written}{hint}")


def _check_range(low_k: float, high_k: float, step_k: float) -> None:
    if high_k - low_k < 4.0 * step_k:
        raise ValueError(
            f"from {low_k:g} K to {high_k:g} K in steps of {step_k:g} K there are fewer than 4 "
            "readings; widen the range or step finer"
        )
    if (high_k - low_k) / step_k > MOST_TEMPERATURES:
        raise ValueError(
            f"from {low_k:g} K to {high_k:g} K in steps of {step_k:g} K there are more than "
            f"{MOST_TEMPERATURES} readings; step wider"
        )


__all__ = [
    "TECHNIQUES",
    "Characterisation",
    "MeasureComposition",
    "MeasureDensity",
    "MeasureMagnetisation",
    "MeasureResistance",
    "Weigh",
    "known_technique",
    "spelt_out",
]
