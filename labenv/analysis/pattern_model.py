"""The pattern of a mixture as a function of everything a real scan makes one refine, with slopes.

Per phase: scale, the independent cell parameters, size and strain widths, and texture as the
exponential of the second-order harmonics its crystal system allows (one term for hexagonal and
tetragonal phases, two for orthorhombic, three for monoclinic ones, none for cubic); it needs no
choice of a preferred plane and stays positive and normalised. Shared: displacement, zero,
instrument width, axial asymmetry.

Source:
    Thompson, Cox & Hastings 1987, doi:10.1107/S0021889887087090 (profile); Bunge 1982, Texture
    Analysis in Materials Science (harmonics); Howard 1982, doi:10.1107/S0021889882012783
    (asymmetry falls with cot 2θ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from labenv.physics.profiles import combine_widths, lorentz_polarisation
from labenv.physics.reflections import index_monomials

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.physics.reflections import ReflectionList

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SHARED = 7
"""Shared parameters: displacement, zero, squared Gaussian width, asymmetry, beam overflow, and the
height difference and share of a second surface level."""

_OVERFLOW_SHARPNESS = 5

_FOUR_LN2 = 4.0 * np.log(2.0)
_GAUSS_REACH2 = 2.6**2


@dataclass(frozen=True)
class Optics:
    """Wavelengths with their shares, and the grid of a scan.

    Attributes:
        lines: Pairs of wavelength (Å) and share of the intensity; shares sum to 1.
        start_deg: First angle, degrees.
        step_deg: Step, degrees.
        points: Number of points.
    """

    lines: tuple[tuple[float, float], ...]
    start_deg: float
    step_deg: float
    points: int


@dataclass(frozen=True)
class Texture:
    """Second-order texture of one phase: exponents of its lines and their mean over the sphere.

    Attributes:
        line_terms: Shares q of 1/d² that each independent cell term holds, less the last, (n, t).
        sphere_terms: The same for directions spread evenly over the sphere, (s, t).
    """

    line_terms: NDArray[np.float64]
    sphere_terms: NDArray[np.float64]

    @classmethod
    def of(cls, lines: ReflectionList) -> Texture:
        """Prepare the texture terms of a phase.

        Args:
            lines: Its reflections.

        Returns:
            Terms, t = number of cell terms less one.
        """
        kept = lines.cell_terms.shape[1] - 1
        shares = lines.cell_terms * lines.cell_values * lines.d_a[:, None] ** 2
        count = 200
        height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
        turn = np.pi * (1.0 + np.sqrt(5.0)) * np.arange(count)
        radius = np.sqrt(1.0 - height**2)
        directions = np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
        indices = directions @ np.linalg.inv(lines.reciprocal_a)
        sphere = index_monomials(indices) @ lines.term_matrix.T * lines.cell_values
        return cls(shares[:, :kept], sphere[:, :kept])

    def factors(self, t: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return intensity factors of the lines, (n,), and their logarithmic slopes, (n, t)."""
        if t.size == 0:
            return np.ones(len(self.line_terms)), np.zeros((len(self.line_terms), 0))
        weight = np.exp(self.sphere_terms @ t)
        centre = weight @ self.sphere_terms / weight.sum()
        factor = np.exp(self.line_terms @ t) / weight.mean()
        return factor, self.line_terms - centre


@dataclass(frozen=True)
class PhaseModel:
    """One phase of a refinement: its lines, its texture and where its parameters stand.

    Parameters in order: scale, cell strains (relative change of each reciprocal-metric value, k of
    them), size width (degrees), strain width (degrees), texture (k - 1).
    """

    lines: ReflectionList
    texture: Texture

    @property
    def cell_count(self) -> int:
        """Number of independent cell parameters."""
        return len(self.lines.cell_values)

    @property
    def count(self) -> int:
        """Number of parameters."""
        return 3 + self.cell_count + int(self.texture.line_terms.shape[1])

    def columns(
        self,
        shared: NDArray[np.float64],
        own: NDArray[np.float64],
        optics: Optics,
        floor: float,
        out: NDArray[np.float64],
    ) -> None:
        """Compute the phase's pattern and its slopes.

        Args:
            shared: Displacement shift at θ = 0 (degrees), zero (degrees), squared
                Gaussian width (degrees²),
                asymmetry (degrees), sinθ below which the beam is longer than the sample, and for a
                powder whose surface lies on two levels the distance of their shifts (degrees) and
                the share of the first.
            own: The phase's parameters.
            optics: Wavelengths and grid.
            floor: Intensity below which the tails of a line may be cut.
            out: Shape (SHARED + count, points), overwritten: slope by each shared parameter, then
                by each of the phase's own. The slope by the scale is the pattern at scale 1.
        """
        out[:] = 0.0
        lines, k = self.lines, self.cell_count
        stretch = lines.cell_terms * lines.cell_values
        inverse_d2 = stretch @ (1.0 + own[1 : 1 + k])
        factor, slopes = self.texture.factors(own[3 + k :])
        levels = ((1.0 - shared[6], shared[6], 1.0), (-shared[6], 1.0 - shared[6], -1.0))
        for wavelength, part in optics.lines:
            sine = 0.5 * wavelength * np.sqrt(np.maximum(inverse_d2, 1e-12))
            seen = np.flatnonzero(sine < 0.9848)
            theta = np.arcsin(sine[seen])
            cosine, tangent = np.cos(theta), np.tan(theta)
            angle = np.degrees(2.0 * theta)
            spill = (shared[4] / sine[seen]) ** _OVERFLOW_SHARPNESS
            area = lines.unit_intensity[seen] * factor[seen] * lorentz_polarisation(angle) * part
            area *= (1.0 + spill) ** (-1.0 / _OVERFLOW_SHARPNESS)
            gauss2 = np.full(len(seen), shared[2])
            lorentz = own[1 + k] / cosine + own[2 + k] * tangent
            width, eta, slopes_wide = _widths(gauss2, lorentz)
            by_width = np.empty((3, 2, len(seen)))
            by_width[0] = slopes_wide[0]
            by_width[1] = slopes_wide[1] / cosine
            by_width[2] = slopes_wide[1] * tangent
            by_centre = np.empty((4 + k, len(seen)))
            by_centre[0] = -cosine
            by_centre[1] = 1.0
            by_centre[3] = cosine * shared[5]
            by_centre[4:] = np.degrees(tangent) * (stretch[seen] / inverse_d2[seen, None]).T
            by_strength = np.zeros((2, len(seen)))
            by_strength[0] = -spill / (1.0 + spill) / max(shared[4], 1e-6)
            skew = np.maximum(1.0 / np.tan(2.0 * theta), 0.0)
            for offset, weight, sign in levels:
                if weight <= 0.0:
                    continue
                by_centre[2] = -cosine * offset
                by_strength[1] = sign / weight
                centre = angle - (shared[0] + shared[5] * offset) * cosine + shared[1]
                _add_lines(
                    optics.start_deg, optics.step_deg, centre, width, eta, area * weight,
                    shared[3] * skew, skew, own[0], by_centre, by_width, by_strength,
                    slopes[seen].T.copy(), floor, out,
                )  # fmt: skip


def _widths(
    gauss2: NDArray[np.float64], lorentz: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return width, mixing, and their slopes by Gaussian² and by Lorentzian width, (2, 2, n)."""
    width, eta = combine_widths(gauss2, lorentz)
    slopes = np.empty((2, 2, len(width)))
    change = 1e-5 * gauss2
    wide, mixed = combine_widths(gauss2 + change, lorentz)
    slopes[0] = (wide - width) / change, (mixed - eta) / change
    wide, mixed = combine_widths(gauss2, lorentz + 1e-6)
    slopes[1] = (wide - width) / 1e-6, (mixed - eta) / 1e-6
    return width, eta, slopes


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _add_lines(  # noqa: C901, PLR0913 - a flat numeric kernel
    start: float,
    step: float,
    centre: Floats,
    width: Floats,
    eta: Floats,
    area: Floats,
    skew: Floats,
    skew_slope: Floats,
    scale: float,
    by_centre: Floats,
    by_width: Floats,
    by_strength: Floats,
    by_texture: Floats,
    floor: float,
    out: Floats,
) -> None:
    """Add every line's pattern and slopes to the rows of `out`.

    Rows: the shared parameters, then scale, cell (k), size, strain, texture.
    """
    points = out.shape[1]
    cells, textures = by_centre.shape[0] - 4, by_texture.shape[0]
    shape, by_c, by_w, by_e = np.empty(points), np.empty(points), np.empty(points), np.empty(points)
    by_a = np.empty(points)
    for j in range(centre.shape[0]):
        h = width[j]
        gauss_peak = np.sqrt(_FOUR_LN2 / np.pi) / h
        lorentz_peak = 2.0 / (np.pi * h)
        height = area[j] * (eta[j] * lorentz_peak + (1.0 - eta[j]) * gauss_peak)
        reach = min(max(0.5 * np.sqrt(height * max(scale, 1e-30) / floor), 3.0), 40.0) * h
        low = max(0, int(np.ceil((centre[j] - reach - start) / step)))
        high = min(points, int(np.floor((centre[j] + reach - start) / step)) + 1)
        if high <= low:
            continue
        n = high - low
        # axial divergence: the low-angle side is wider by 1 + a, the other narrower, equal area
        a = min(max(skew[j] / h, -0.8), 0.8)
        for i in range(n):
            x = (start + (low + i) * step - centre[j]) / h
            side = 1.0 + a if x < 0.0 else 1.0 - a
            u = x / side
            square = u * u
            lorentz = lorentz_peak / (1.0 + 4.0 * square)
            l_slope = -8.0 * u / (1.0 + 4.0 * square) * lorentz
            gauss, g_slope = 0.0, 0.0
            if square < _GAUSS_REACH2:
                gauss = gauss_peak * np.exp(-_FOUR_LN2 * square)
                g_slope = -2.0 * _FOUR_LN2 * u * gauss
            value = eta[j] * lorentz + (1.0 - eta[j]) * gauss
            slope = eta[j] * l_slope + (1.0 - eta[j]) * g_slope  # by u
            shape[i] = value
            by_c[i] = -slope / (h * side)
            by_e[i] = lorentz - gauss
            by_a[i] = -slope * u / side * (1.0 if x < 0.0 else -1.0) / h
            by_w[i] = -(value + slope * u) / h - a * by_a[i]  # a itself goes as 1/h
        amount = area[j] * scale
        for i in range(n):
            out[7, low + i] += area[j] * shape[i]
        for r in range(2):
            factor = amount * by_centre[r, j]
            f_c, f_s = amount * by_centre[2 + r, j], amount * by_strength[r, j] * r
            for i in range(n):
                out[r, low + i] += factor * by_c[i]
                out[5 + r, low + i] += f_c * by_c[i] + f_s * shape[i]
        f_w, f_e = amount * by_width[0, 0, j], amount * by_width[0, 1, j]
        f_a, f_o = amount * skew_slope[j], amount * by_strength[0, j]
        for i in range(n):
            out[2, low + i] += f_w * by_w[i] + f_e * by_e[i]
            out[3, low + i] += f_a * by_a[i]
            out[4, low + i] += f_o * shape[i]
        for r in range(cells):
            factor = amount * by_centre[4 + r, j]
            for i in range(n):
                out[8 + r, low + i] += factor * by_c[i]
        for r in range(2):
            f_w, f_e = amount * by_width[1 + r, 0, j], amount * by_width[1 + r, 1, j]
            for i in range(n):
                out[8 + cells + r, low + i] += f_w * by_w[i] + f_e * by_e[i]
        for r in range(textures):
            factor = amount * by_texture[r, j]
            for i in range(n):
                out[10 + cells + r, low + i] += factor * shape[i]
