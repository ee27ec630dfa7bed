"""Correction of weight fractions for the absorption of single particles.

In a mixture, particles that absorb more than their surroundings are seen too weakly. For spheres of
diameter D the intensity of phase p is multiplied by τ_p ≈ exp(-3/4 (μ_p - μ̄) D), which follows
Brindley's table within 2 % for |μ_p - μ̄| D below 0.6.

Source:
    Brindley 1945, doi:10.1080/14786444508520918.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_EXPONENT = 1.0


def correct_fractions(
    apparent: NDArray[np.float64],
    attenuation_m2_kg: NDArray[np.float64],
    density_kg_m3: NDArray[np.float64],
    particle_size_m: float,
) -> NDArray[np.float64]:
    """Return weight fractions corrected for microabsorption.

    Args:
        apparent: Weight fractions as the line intensities give them, shape (P,), summing to 1.
        attenuation_m2_kg: Mass attenuation coefficients, m²/kg, shape (P,).
        density_kg_m3: Densities, kg/m³, shape (P,).
        particle_size_m: Particle diameter of every phase, m; 0 for no correction.

    Returns:
        Corrected fractions, shape (P,), summing to 1.
    """
    if particle_size_m <= 0.0 or apparent.sum() <= 0.0:
        return apparent
    linear_per_m = attenuation_m2_kg * density_kg_m3
    fractions = apparent / apparent.sum()
    for _ in range(30):
        volumes = fractions / density_kg_m3
        mean_per_m = float((volumes * linear_per_m).sum() / volumes.sum())
        exponent = 0.75 * (linear_per_m - mean_per_m) * particle_size_m
        raised = apparent * np.exp(np.clip(exponent, -_MOST_EXPONENT, _MOST_EXPONENT))
        fractions = 0.5 * (fractions + raised / raised.sum())
    return np.asarray(fractions / fractions.sum(), dtype=np.float64)
