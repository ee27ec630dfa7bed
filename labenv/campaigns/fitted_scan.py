"""A diffractogram with the pattern that was fitted to it, for the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from labenv_schemas.analysis import PhaseAnalysis


@dataclass(frozen=True)
class PhaseLines:
    """Where a fitted phase has its lines.

    Attributes:
        name: Slug of the structure library.
        formula: Chemical formula.
        two_theta_deg: Positions of the stronger lines, degrees, shape (n,).
    """

    name: str
    formula: str
    two_theta_deg: NDArray[np.float64]


@dataclass(frozen=True)
class FittedScan:
    """A scan, its fit and what the fit found; all arrays have shape (n,).

    Attributes:
        two_theta_deg: Scattering angle, degrees.
        observed: Measured intensity, in `unit`.
        fitted: Fitted intensity, background included.
        background: Background of the fit.
        unit: Unit of the intensities.
        recorded: The analysis that the reward came from.
        refined: The analysis that belongs to the curves.
        lines: Lines of the phases found, most abundant phase first.
    """

    two_theta_deg: NDArray[np.float64]
    observed: NDArray[np.float64]
    fitted: NDArray[np.float64]
    background: NDArray[np.float64]
    unit: str
    recorded: PhaseAnalysis
    refined: PhaseAnalysis
    lines: tuple[PhaseLines, ...] = ()
