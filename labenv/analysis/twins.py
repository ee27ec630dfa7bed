"""Whether two structures are one, such as a user's CIF and a library phase.

Of two equal patterns any split fits a scan as well as any other, so one of them is to be fitted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.profiles import lorentz_polarisation, two_theta_deg
from labenv.physics.reflection_cache import reflections_of
from labenv_schemas.errors import ConfigError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.physics.reflections import ReflectionList
    from labenv.physics.structures.phase import CrystalPhase

_WAVELENGTH_A = 1.5405929
_TOP_DEG = 100.0
_HIGHEST_DEG = 160.0
_SAME_COMPOSITION = 5e-3
_SAME_SPACING = 0.005  # relative; tetragonal and cubic BaTiO3 differ by 0.01
_SAME_DENSITY = 3.0 * _SAME_SPACING
_SAME_PATTERN = 0.99
_BLUR = 0.015  # relative width of lines where heights are compared
_WEAK, _STRONG = 0.03, 0.1  # of the strongest line


def same_structure(one: CrystalPhase, other: CrystalPhase) -> bool:
    """Return whether no scan of a powder can tell two structures apart.

    Args:
        one: A structure.
        other: Another, in any setting of its cell.

    Returns:
        Whether composition, density, spacings of the strong lines and their heights agree.
    """
    formulas = parse_formula(one.formula), parse_formula(other.formula)
    if not formulas[0].same_composition(formulas[1], _SAME_COMPOSITION):
        return False
    try:
        lists = [reflections_of(phase, _WAVELENGTH_A, _TOP_DEG) for phase in (one, other)]
    except ConfigError:  # too large a cell: said where it is fitted
        return False
    ratio = lists[0].density_kg_m3 / lists[1].density_kg_m3
    if abs(ratio - 1.0) > _SAME_DENSITY:
        return False
    heights = [line_heights(lines) for lines in lists]
    heights = [height / height.max() for height in heights]
    places = [np.log(lines.d_a) for lines in lists]
    if not (_found(places, heights) and _found(places[::-1], heights[::-1])):
        return False
    places[0] = places[0] + np.log(ratio) / 3.0  # a warmer crystal is still the same
    return _correlation(places, heights) > _SAME_PATTERN


def line_heights(lines: ReflectionList) -> NDArray[np.float64]:
    """Return the relative areas of lines at their wavelength; 0 for those no detector gets to.

    Args:
        lines: n lines.

    Returns:
        Areas, shape (n,).
    """
    angle = two_theta_deg(lines.d_a, lines.wavelength_a)
    seen = np.where(np.isfinite(angle) & (angle < _HIGHEST_DEG), angle, np.nan)
    return np.nan_to_num(lines.unit_intensity * lorentz_polarisation(seen))


def _found(places: list[NDArray[np.float64]], heights: list[NDArray[np.float64]]) -> bool:
    """Return whether each strong line of the first has a line of the second at its place."""
    strong, seen = places[0][heights[0] > _STRONG], places[1][heights[1] > _WEAK]
    return bool((np.abs(strong[:, None] - seen).min(axis=1) < _SAME_SPACING).all())


def _correlation(places: list[NDArray[np.float64]], heights: list[NDArray[np.float64]]) -> float:
    """Return the cosine between two patterns of Gaussian lines over the logarithm of d."""

    def overlap(i: int, j: int) -> float:
        apart = (places[i][:, None] - places[j]) / (2.0 * _BLUR)
        return float(heights[i] @ np.exp(-(apart**2)) @ heights[j])

    return overlap(0, 1) / float(np.sqrt(overlap(0, 0) * overlap(1, 1)))
