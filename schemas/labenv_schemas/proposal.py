"""What a policy asks for: precursors and amounts, operations in order, measurements at the end."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from labenv_schemas.base import Model, parse
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


class GasMixture(Model):
    """A flowing gas by the partial pressures that matter to the chemistry; the rest is inert."""

    o2_pa: PressurePa = Field(default=0.5, alias="o2", description="Oxygen.")
    co2_pa: PressurePa = Field(default=0.1, alias="co2", description="Carbon dioxide.")

    @model_validator(mode="after")
    def _below_two_bar(self) -> GasMixture:
        total = self.o2_pa + self.co2_pa
        if total > 2 * ATMOSPHERE_PA:
            raise ValueError(f"the gas pressures add up to {total:.3g} Pa; the furnaces hold 2 atm")
        return self


class PrecursorDose(Model):
    """One substance from the shelf, by mass or by amount."""

    substance: str = Field(
        min_length=1,
        max_length=80,
        description="Name of a substance on the lab's shelf, such as 'BaCO3' or 'TiO2 (anatase)'.",
    )
    mass_kg: MassKg | None = Field(default=None, alias="mass", gt=0)
    amount_mol: AmountMol | None = Field(default=None, alias="amount", gt=0)

    @model_validator(mode="after")
    def _one_of_mass_and_amount(self) -> PrecursorDose:
        if (self.mass_kg is None) == (self.amount_mol is None):
            raise ValueError(f"give either the mass or the amount of {self.substance}, not both")
        return self


class Dose(Model):
    """Weigh precursors into a vial on the dosing balance."""

    op: Literal["dose"] = "dose"
    precursors: tuple[PrecursorDose, ...] = Field(min_length=1, max_length=12)


class Mix(Model):
    """Mix the powder: by hand in a mortar or in a planetary ball mill."""

    op: Literal["mix"] = "mix"
    method: Literal["mortar", "ball_mill"] = "ball_mill"
    duration_s: DurationS = Field(alias="duration", gt=0, le=7 * 86_400)


class Press(Model):
    """Press the powder into a pellet, which brings grains closer together."""

    op: Literal["press"] = "press"
    pressure_pa: PressurePa = Field(alias="pressure", gt=0, le=2e9)


class HeatSegment(Model):
    """Go to a temperature at a rate and stay there."""

    target_k: TemperatureK = Field(alias="target", le=4000.0)
    rate_k_per_s: HeatingRateKPerS = Field(default=5.0 / 60.0, alias="rate")
    hold_s: DurationS = Field(default=0.0, alias="hold", le=60 * 86_400)

    @model_validator(mode="after")
    def _plausible(self) -> HeatSegment:
        if self.target_k < _LOWEST_TARGET_K:
            raise ValueError(
                f"a furnace cannot go to {self.target_k:g} K; if Celsius was meant, write "
                f"'{self.target_k:g} degC'"
            )
        return self


class Heat(Model):
    """Fire the sample through a furnace program, then cool to room temperature."""

    op: Literal["heat"] = "heat"
    segments: tuple[HeatSegment, ...] = Field(min_length=1, max_length=16)
    atmosphere: AtmosphereName | GasMixture = "air"
    crucible: Literal["alumina", "zirconia", "platinum", "magnesia"] = "alumina"
    cooling: Literal["furnace", "quench"] = Field(
        default="furnace", description="Cool at the furnace's own rate, or take the sample out hot."
    )

    @property
    def peak_k(self) -> float:
        """Highest programmed temperature, K."""
        return max(segment.target_k for segment in self.segments)

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

    op: Literal["regrind"] = "regrind"
    duration_s: DurationS = Field(default=900.0, alias="duration", gt=0, le=7 * 86_400)


class Measure(Model):
    """Take a powder diffraction scan."""

    op: Literal["measure"] = "measure"
    technique: Literal["xrd"] = "xrd"
    two_theta_min_deg: float = Field(default=10.0, ge=5.0, le=150.0)
    two_theta_max_deg: float = Field(default=70.0, ge=5.0, le=150.0)
    step_deg: float = Field(default=0.03, ge=0.005, le=0.2)
    scan_time_s: DurationS = Field(default=480.0, alias="scan_time", gt=0, le=7 * 86_400)

    @model_validator(mode="after")
    def _enough_points(self) -> Measure:
        if (self.two_theta_max_deg - self.two_theta_min_deg) / self.step_deg < 100:
            raise ValueError(
                f"the scan from {self.two_theta_min_deg:g} to {self.two_theta_max_deg:g} degrees in "
                f"steps of {self.step_deg:g} has fewer than 100 points; widen it or step finer"
            )
        return self


Operation = Annotated[Dose | Mix | Press | Heat | Regrind | Measure, Field(discriminator="op")]


class Proposal(Model):
    """A typed experiment plan: everything from the shelf to the measurement."""

    operations: tuple[Operation, ...] = Field(min_length=1, max_length=40)
    rationale: str | None = Field(
        default=None, max_length=20_000, description="Why; for the record."
    )

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
        return Proposal.from_json(data)
    return parse(Proposal, data)
