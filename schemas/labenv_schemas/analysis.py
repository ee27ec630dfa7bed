"""What was concluded from a measurement, with uncertainties."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from labenv_schemas.base import Model

AnalysisStatus = Literal["ok", "poor_fit", "unidentified"]


class PhaseFraction(Model):
    """One crystalline phase in a powder."""

    name: str = Field(description="Slug of the structure library, such as 'anatase'.")
    formula: str
    weight_fraction: float = Field(ge=0.0, le=1.0)
    uncertainty: float = Field(ge=0.0, description="Standard uncertainty of the weight fraction.")


class ResidualPeak(Model):
    """A peak that no fitted phase explains."""

    two_theta_deg: float
    height: float = Field(description="Net height above fit and background, in the scan's unit.")
    significance: float = Field(ge=0.0, description="Height over its counting uncertainty.")


class PhaseAnalysis(Model):
    """Phase fractions from a diffractogram by full-pattern fitting."""

    kind: Literal["phase_fractions"] = "phase_fractions"
    status: AnalysisStatus
    phases: tuple[PhaseFraction, ...] = ()
    goodness_of_fit: float = Field(ge=0.0, description="sqrt(chi²/degrees of freedom).")
    r_wp: float = Field(ge=0.0, description="Weighted profile residual, 0 to 1.")
    residual_peaks: tuple[ResidualPeak, ...] = ()
    warnings: tuple[str, ...] = ()
    method: str = ""

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

    kind: Literal["scalar"] = "scalar"
    quantity: str
    value: float
    uncertainty: float = Field(ge=0.0)
    unit: str
    status: AnalysisStatus = "ok"
    warnings: tuple[str, ...] = ()


Analysis = Annotated[PhaseAnalysis | ScalarAnalysis, Field(discriminator="kind")]
