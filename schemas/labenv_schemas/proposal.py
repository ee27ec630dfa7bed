"""What a policy asks for: precursors and amounts, operations in order, measurements at the end."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from labenv_schemas.base import Model, parse
from labenv_schemas.characterisation import (
    MeasureComposition,
    MeasureDensity,
    MeasureMagnetisation,
    MeasureResistance,
    Weigh,
    known_technique,
    spelt_out,
)
from labenv_schemas.errors import ProposalError
from labenv_schemas.units import (
    AmountMol,
    DurationS,
    HeatingRateKPerS,
    MassKg,
    PressurePa,
    TemperatureK,
)

ATMOSPHERE_PA = 101_325.0
ROOM_TEMPERATURE_K = 298.15
_LOWEST_TARGET_K = 273.15
_LONGEST_TEXT = 500_000  # characters of a plan's JSON
_DAY_S = 86_400.0

AtmosphereName = Literal["air", "oxygen", "nitrogen", "argon", "carbon_dioxide", "vacuum"]

# Dry air of 2024: O2 20.95 %, CO2 422 ppm (NOAA Global Monitoring Laboratory, annual mean 2024).
# "nitrogen" and "argon" are bottled gases of 99.999 %, with a few ppm of oxygen left.
_PRESETS: dict[str, dict[str, float]] = {
    "air": {"O2": 0.2095 * ATMOSPHERE_PA, "CO2": 422e-6 * ATMOSPHERE_PA},
    "oxygen": {"O2": ATMOSPHERE_PA, "CO2": 1e-6 * ATMOSPHERE_PA},
    "nitrogen": {"O2": 5e-6 * ATMOSPHERE_PA, "CO2": 1e-6 * ATMOSPHERE_PA},
    "argon": {"O2": 5e-6 * ATMOSPHERE_PA, "CO2": 1e-6 * ATMOSPHERE_PA},
    "carbon_dioxide": {"O2": 5e-6 * ATMOSPHERE_PA, "CO2": ATMOSPHERE_PA},
    "vacuum": {"O2": 0.2, "CO2": 0.1},
}


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("the text holds a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("the text holds half a surrogate pair, which is no character; delete it")
    return text


def _word_or_model(value: Any) -> str:  # noqa: ANN401 - any input may arrive
    # Tells a preset's name from a model's fields, so that a fault names one of them only.
    return "model" if isinstance(value, (dict, Model)) else "word"


class GasMixture(Model):
    """A flowing gas by the partial pressures that matter to the chemistry; the rest is inert."""

    o2_pa: PressurePa = Field(
        default=0.5,
        validation_alias="o2",
        serialization_alias="o2",
        description="Pressure of oxygen.",
    )
    co2_pa: PressurePa = Field(
        default=0.1,
        validation_alias="co2",
        serialization_alias="co2",
        description="Pressure of carbon dioxide.",
    )

    @model_validator(mode="after")
    def _below_two_bar(self) -> GasMixture:
        total = self.o2_pa + self.co2_pa
        if total > 2 * ATMOSPHERE_PA:
            raise ValueError(f"the gas pressures add up to {total:.3g} Pa; the furnaces hold 2 atm")
        return self


class PrecursorDose(Model):
    """One substance from the shelf: give either its mass or its amount."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["mass"]}, {"required": ["amount"]}]}
    )

    substance: Annotated[str, AfterValidator(_storable)] = Field(
        min_length=1,
        max_length=80,
        description="Name of a substance on the lab's shelf, such as 'BaCO3' or 'TiO2 (anatase)'.",
    )
    mass_kg: MassKg | None = Field(
        default=None,
        validation_alias="mass",
        serialization_alias="mass",
        gt=0,
        le=10.0,
        description="Mass to weigh.",
    )
    amount_mol: AmountMol | None = Field(
        default=None,
        validation_alias="amount",
        serialization_alias="amount",
        gt=0,
        le=1000.0,
        description="Amount of formula units.",
    )

    @model_validator(mode="after")
    def _one_of_mass_and_amount(self) -> PrecursorDose:
        if self.mass_kg is None and self.amount_mol is None:
            raise ValueError(f"how much {self.substance}? give its mass or its amount")
        if self.mass_kg is not None and self.amount_mol is not None:
            raise ValueError(f"give either the mass or the amount of {self.substance}, not both")
        return self


class Dose(Model):
    """Weigh precursors into a vial on the dosing balance; the first operation of every plan."""

    op: Literal["dose"] = Field(default="dose", description="Kind of operation.")
    precursors: tuple[PrecursorDose, ...] = Field(
        min_length=1, max_length=12, description="What to weigh, each from its own bottle."
    )


class Mix(Model):
    """Mix the powder: by hand in a mortar or in a planetary ball mill."""

    op: Literal["mix"] = Field(default="mix", description="Kind of operation.")
    method: Literal["mortar", "ball_mill"] = Field(default="ball_mill", description="Tool.")
    duration_s: DurationS = Field(
        validation_alias="duration",
        serialization_alias="duration",
        gt=0,
        le=7 * _DAY_S,
        description="How long to mix.",
    )


class Press(Model):
    """Press the powder into a pellet, which brings grains closer together."""

    op: Literal["press"] = Field(default="press", description="Kind of operation.")
    pressure_pa: PressurePa = Field(
        validation_alias="pressure",
        serialization_alias="pressure",
        gt=0,
        le=2e9,
        description="Uniaxial pressure, such as '100 MPa'.",
    )


class HeatSegment(Model):
    """Go to a temperature at a rate and stay there."""

    target_k: TemperatureK = Field(
        validation_alias="target",
        serialization_alias="target",
        le=4000.0,
        description="Temperature to reach, 0 degC or above.",
    )
    rate_k_per_s: HeatingRateKPerS = Field(
        default=5.0 / 60.0,
        validation_alias="rate",
        serialization_alias="rate",
        ge=1e-5,
        le=1000.0,
        description="Rate of going there, up or down, as a positive number.",
    )
    hold_s: DurationS = Field(
        default=0.0,
        validation_alias="hold",
        serialization_alias="hold",
        le=60 * _DAY_S,
        description="How long to stay.",
    )

    @model_validator(mode="after")
    def _plausible(self) -> HeatSegment:
        if self.target_k < _LOWEST_TARGET_K:
            raise ValueError(
                f"a furnace cannot go to {self.target_k:g} K; if Celsius was meant, write "
                f"'{self.target_k:g} degC'"
            )
        return self


class ControlledCooling(Model):
    """Cool at a given rate for as long as the furnace can follow it."""

    rate_k_per_s: HeatingRateKPerS = Field(
        validation_alias="rate",
        serialization_alias="rate",
        ge=1e-5,
        le=1000.0,
        description="Cooling rate, as a positive number.",
    )


class Heat(Model):
    """Fire the sample through a furnace program, then cool to room temperature."""

    op: Literal["heat"] = Field(default="heat", description="Kind of operation.")
    segments: tuple[HeatSegment, ...] = Field(
        min_length=1, max_length=64, description="The program, from room temperature on."
    )
    atmosphere: Annotated[
        Annotated[AtmosphereName, Tag("word")] | Annotated[GasMixture, Tag("model")],
        Discriminator(_word_or_model),
    ] = Field(default="air", description="A gas by name, or a mixture by partial pressures.")
    crucible: Literal["alumina", "zirconia", "platinum", "magnesia"] = Field(
        default="alumina", description="What holds the powder."
    )
    cooling: Annotated[
        Annotated[Literal["furnace", "quench"], Tag("word")]
        | Annotated[ControlledCooling, Tag("model")],
        Discriminator(_word_or_model),
    ] = Field(
        default="furnace",
        description="Cool at the furnace's own rate, take the sample out hot, or cool at a rate.",
    )

    @property
    def peak_k(self) -> float:
        """Highest programmed temperature, K."""
        return max(segment.target_k for segment in self.segments)

    @property
    def cooling_rate_k_per_s(self) -> float | None:
        """The cooling rate asked for, K/s, or None for furnace cooling and quenching."""
        return self.cooling.rate_k_per_s if isinstance(self.cooling, ControlledCooling) else None

    def partial_pressures_pa(self) -> dict[str, float]:
        """Return the partial pressures of the gas.

        Returns:
            Gas formula to pressure, Pa; keys ``O2`` and ``CO2``.
        """
        if isinstance(self.atmosphere, GasMixture):
            return {"O2": self.atmosphere.o2_pa, "CO2": self.atmosphere.co2_pa}
        return dict(_PRESETS[self.atmosphere])


class Regrind(Model):
    """Grind the fired powder again, which renews the contacts between grains."""

    op: Literal["regrind"] = Field(default="regrind", description="Kind of operation.")
    duration_s: DurationS = Field(
        default=900.0,
        validation_alias="duration",
        serialization_alias="duration",
        gt=0,
        le=7 * _DAY_S,
        description="How long to grind.",
    )


class Measure(Model):
    """Take a powder diffraction scan with copper radiation."""

    op: Literal["measure"] = Field(default="measure", description="Kind of operation.")
    technique: Annotated[Literal["xrd"], BeforeValidator(known_technique)] = Field(
        default="xrd", description="Powder X-ray diffraction."
    )
    two_theta_min_deg: float = Field(
        default=10.0, ge=5.0, le=150.0, description="First angle 2θ, degrees."
    )
    two_theta_max_deg: float = Field(
        default=70.0, ge=5.0, le=150.0, description="Last angle 2θ, degrees."
    )
    step_deg: float = Field(default=0.03, ge=0.005, le=0.2, description="Step in 2θ, degrees.")
    scan_time_s: DurationS = Field(
        default=480.0,
        validation_alias="scan_time",
        serialization_alias="scan_time",
        gt=0,
        le=7 * _DAY_S,
        description="Time of the whole scan.",
    )

    @model_validator(mode="after")
    def _enough_points(self) -> Measure:
        first, last = self.two_theta_min_deg, self.two_theta_max_deg
        if last <= first:
            raise ValueError(f"the scan must end above {first:g} degrees; it ends at {last:g}")
        if (last - first) / self.step_deg < 100:
            raise ValueError(
                f"the scan from {first:g} to {last:g} degrees in steps of {self.step_deg:g} has "
                "fewer than 100 points; widen it or step finer"
            )
        return self


Operation = Annotated[
    Dose
    | Mix
    | Press
    | Heat
    | Regrind
    | Measure
    | MeasureResistance
    | MeasureMagnetisation
    | Weigh
    | MeasureDensity
    | MeasureComposition,
    Field(discriminator="op"),
]


class Proposal(Model):
    """A typed experiment plan: everything from the shelf to the measurement."""

    operations: tuple[Operation, ...] = Field(
        min_length=1, max_length=40, description="What to do, in order; 'dose' comes first, once."
    )
    rationale: Annotated[str, AfterValidator(_storable)] | None = Field(
        default=None, max_length=20_000, description="Why; for the record."
    )

    @field_validator("operations", mode="before")
    @classmethod
    def _techniques(cls, value: Any) -> Any:  # noqa: ANN401 - any input may arrive
        # `{"measure": "resistance"}` is what a person writes into a plan.
        return [spelt_out(one) for one in value] if isinstance(value, (list, tuple)) else value

    @model_validator(mode="after")
    def _sensible_order(self) -> Proposal:
        kinds = [operation.op for operation in self.operations]
        if kinds[0] != "dose":
            raise ValueError("a plan starts with 'dose': there is no sample before one is weighed")
        if kinds.count("dose") > 1:
            raise ValueError("a plan has one 'dose'; list all precursors in it")
        return self

    @property
    def furnace_time_s(self) -> float:
        """Programmed furnace time of all firings from room temperature, without cooling, s."""
        total = 0.0
        for operation in self.operations:
            if isinstance(operation, Heat):
                temperature_k = ROOM_TEMPERATURE_K
                for segment in operation.segments:
                    total += abs(segment.target_k - temperature_k) / segment.rate_k_per_s
                    total += segment.hold_s
                    temperature_k = segment.target_k
        return total


def parse_proposal(data: object) -> Proposal:
    """Read a proposal from plain data or JSON text.

    Args:
        data: A dict, JSON text, or a Proposal.

    Returns:
        The proposal.

    Raises:
        ProposalError: If it does not fit; the message names each fault by its place.
    """
    if isinstance(data, (str, bytes)):
        if len(data) > _LONGEST_TEXT:
            raise ProposalError(f"the plan is {len(data)} characters long; {_LONGEST_TEXT} at most")
        return Proposal.from_json(data)
    return parse(Proposal, data)
