"""What phases without a known structure do to a diffractogram: a smooth rise of the background.

The atoms of a powder scatter as much whether their pattern is lines or a halo (Warren 1969). Where
no structure is known the places of the lines are not either, so the intensity is spread as that of
atoms which do not see each other; over the usual range that falls off as the instrument's own
background does, and it is added as a factor on that.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.lab.operation_arrays import ScanGrid

    Floats = NDArray[np.float64]


def diffuse_levels(compositions: Sequence[Mapping[str, float]], grid: ScanGrid) -> Floats:
    """Return how bright compounds are without lines.

    Args:
        compositions: Atoms per formula unit, P of them; an empty one is dark.
        grid: Of the scan.

    Returns:
        Intensity of each pure, over the nominal background and averaged over the grid, at the
        nominal brightness; absorbed by itself, shape (P,).

    Source:
        Warren 1969, X-ray Diffraction, chapter 10.
    """
    formulas = ("".join(f"{e}{n:.9g}" for e, n in each.items() if n) for each in compositions)
    return np.array([_level(formula, grid) if formula else 0.0 for formula in formulas])


@lru_cache(maxsize=1024)
def _level(formula: str, grid: ScanGrid) -> float:
    from labenv.physics.diffraction import DiffractometerSpec
    from labenv.physics.diffraction_effects import diffuse_pattern
    from labenv.physics.scattering import mass_attenuation_m2_per_kg
    from labenv_schemas.formula import parse_formula

    spec = DiffractometerSpec(start_deg=grid.start_deg, step_deg=grid.step_deg, points=grid.points)
    amounts = parse_formula(formula).amounts
    masses = {e: n * parse_formula(e).molar_mass_kg_per_mol for e, n in amounts.items()}
    total = sum(masses.values())
    shares = {e: mass / total for e, mass in masses.items()}
    attenuation = mass_attenuation_m2_per_kg(shares, spec.k_alpha_a[0])
    bright = float(np.mean(diffuse_pattern(formula, spec))) * spec.counts_per_second / attenuation
    return bright / float(np.mean(spec.background().sum(axis=0)))


__all__ = ["diffuse_levels"]
