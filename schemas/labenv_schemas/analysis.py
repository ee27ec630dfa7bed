"""What was concluded from a measurement, with uncertainties."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from labenv_schemas.base import Model

AnalysisStatus = Literal["ok", "poor_fit", "unidentified"]

_ROUNDING = 1e-6


class PhaseFraction(Model):
    """One crystalline phase in a powder."""

    name: str = Field(description="Slug of the structure library, such as 'anatase'.")
    formula: str = Field(description="Chemical formula of the phase.")
    weight_fraction: float = Field(
        ge=0.0, le=1.0, description="Mass of the phase over the mass of all phases found."
    )
    uncertainty: float = Field(ge=0.0, description="Standard uncertainty of the weight fraction.")


class ResidualPeak(Model):
    """A peak that no fitted phase explains."""

    two_theta_deg: float = Field(description="Scattering angle 2θ, degrees.")
    height: float = Field(description="Net height above fit and background, in the scan's unit.")
    significance: float = Field(ge=0.0, description="Height over its counting uncertainty.")


class PhaseAnalysis(Model):
    """Phase fractions from a diffractogram by full-pattern fitting."""

    kind: Literal["phase_fractions"] = Field(
        default="phase_fractions", description="Kind of analysis."
    )
    status: AnalysisStatus = Field(description="Whether the answer can be relied on.")
    phases: tuple[PhaseFraction, ...] = Field(default=(), description="Phases found.")
    goodness_of_fit: float = Field(ge=0.0, description="sqrt(chi²/degrees of freedom).")
    r_wp: float = Field(ge=0.0, description="Weighted profile residual, 0 to 1.")
    residual_peaks: tuple[ResidualPeak, ...] = Field(
        default=(), description="Peaks that no phase explains."
    )
    warnings: tuple[str, ...] = Field(default=(), description="What a reader must know.")
    method: str = Field(default="", description="How it was done.")

    @model_validator(mode="after")
    def _at_most_one(self) -> PhaseAnalysis:
        total = sum(phase.weight_fraction for phase in self.phases)
        if total > 1.0 + _ROUNDING:
            raise ValueError(
                f"the weight fractions add up to {total:.6g}; one powder has 1 at most"
            )
        return self

    def weight_fraction(self, name: str) -> float:
        """Return the weight fraction of a phase by its slug.

        Args:
            name: Slug of the structure library.

        Returns:
            The fraction, 0 if the phase was not found.
        """
        return sum(phase.weight_fraction for phase in self.phases if phase.name == name)


class ScalarAnalysis(Model):
    """One number concluded from a measurement, such as a critical temperature."""

    kind: Literal["scalar"] = Field(default="scalar", description="Kind of analysis.")
    quantity: str = Field(description="What the number is.")
    value: float = Field(description="The number, in `unit`.")
    uncertainty: float = Field(ge=0.0, description="Standard uncertainty, in `unit`.")
    unit: str = Field(description="Unit of the number.")
    status: AnalysisStatus = Field(default="ok", description="Whether it can be relied on.")
    warnings: tuple[str, ...] = Field(default=(), description="What a reader must know.")


Analysis = Annotated[PhaseAnalysis | ScalarAnalysis, Field(discriminator="kind")]
