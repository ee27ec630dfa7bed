"""Shapes and strengths of diffraction lines: widths, pseudo-Voigt, texture, polarisation, shift.

Widths follow Thompson, Cox & Hastings: a Gaussian part from the instrument (Caglioti) and a
Lorentzian part from crystallite size and strain combine to one pseudo-Voigt.

Source:
    Caglioti, Paoletti & Ricci 1958, doi:10.1016/0029-554X(58)90029-X; Scherrer 1918; Stokes &
    Wilson 1944, doi:10.1088/0959-5309/56/3/303 (strain); Thompson, Cox & Hastings 1987,
    doi:10.1107/S0021889887087090; March 1932 and Dollase 1986, doi:10.1107/S0021889886089458.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHERRER_K = 0.9
"""Shape factor that relates the full width at half maximum to the crystallite size."""

_FOUR_LN2 = 4.0 * np.log(2.0)
_GAUSS_REACH = 2.6  # half-widths beyond which the Gaussian part (< 1e-8) is not evaluated


def two_theta_deg(d_a: NDArray[np.float64], wavelength_a: float) -> NDArray[np.float64]:
    """Return scattering angles by Bragg's law.

    Args:
        d_a: Plane spacings, Å, shape (n,).
        wavelength_a: Wavelength, Å.

    Returns:
        Two-theta, degrees, shape (n,); NaN where the spacing is under half the wavelength.
    """
    with np.errstate(invalid="ignore"):
        return np.degrees(2.0 * np.arcsin(wavelength_a / (2.0 * d_a)))


def lorentz_polarisation(
    two_theta: NDArray[np.float64], in_plane: float = 1.0
) -> NDArray[np.float64]:
    """Return (1 + p cos²2θ) / (sin²θ cosθ), a powder in Bragg-Brentano geometry.

    Args:
        two_theta: Scattering angles, degrees.
        in_plane: Light polarised in the plane of scattering over that across it: p = 1 for a tube
            with a β filter, cos²2α after a monochromator at 2α, some 0.02 for a synchrotron.

    Returns:
        The factor, same shape.
    """
    theta = np.radians(two_theta) / 2.0
    factor = (1.0 + in_plane * np.cos(2.0 * theta) ** 2) / (np.sin(theta) ** 2 * np.cos(theta))
    return np.asarray(factor, dtype=np.float64)


def caglioti_deg2(
    two_theta: NDArray[np.float64], u: float, v: float, w: float
) -> NDArray[np.float64]:
    """Return the squared Gaussian width U tan²θ + V tanθ + W, degrees², floored at (0.005°)²."""
    tangent = np.tan(np.radians(two_theta) / 2.0)
    return np.maximum(u * tangent**2 + v * tangent + w, 2.5e-5)


def scherrer_deg(
    two_theta: NDArray[np.float64], size_m: float, wavelength_a: float
) -> NDArray[np.float64]:
    """Return the Lorentzian width from crystallite size, degrees 2θ.

    Args:
        two_theta: Scattering angles, degrees.
        size_m: Volume-weighted crystallite size, m.
        wavelength_a: Wavelength, Å.

    Returns:
        Full width at half maximum, degrees, same shape.
    """
    cosine = np.cos(np.radians(two_theta) / 2.0)
    return np.degrees(SCHERRER_K * wavelength_a * 1e-10 / (size_m * cosine))


def strain_deg(two_theta: NDArray[np.float64], strain: float) -> NDArray[np.float64]:
    """Return the Lorentzian width 4 ε tanθ from microstrain, degrees 2θ."""
    return np.degrees(4.0 * strain * np.tan(np.radians(two_theta) / 2.0))


def combine_widths(
    gauss_deg2: NDArray[np.float64], lorentz_deg: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return width and mixing of the pseudo-Voigt that stands for a Gaussian and a Lorentzian part.

    Args:
        gauss_deg2: Squared Gaussian full width, degrees².
        lorentz_deg: Lorentzian full width, degrees.

    Returns:
        Full width at half maximum (degrees) and Lorentzian share η in [0, 1].
    """
    g, h = np.sqrt(gauss_deg2), lorentz_deg
    # Horner's scheme in g and h: powers of arrays are slow
    fifth = g * (g * (g * (g * (g + 2.69269 * h) + 2.42843 * h * h) + 4.47163 * h * h * h))
    square = h * h
    fifth += square * square * (0.07842 * g + h)
    width = fifth**0.2
    ratio = lorentz_deg / width
    return width, ratio * (1.36603 + ratio * (0.11116 * ratio - 0.47719))


def march_dollase(cos2: NDArray[np.float64], r: float) -> NDArray[np.float64]:
    """Return the March-Dollase texture factor (r² cos²α + sin²α / r)^(-3/2).

    Args:
        cos2: Squared cosines between plane normals and the preferred plane's normal.
        r: March coefficient; 1 is no texture, below 1 plates lie flat.

    Returns:
        Intensity factors, same shape; their mean over all directions is 1.
    """
    return (r * r * cos2 + (1.0 - cos2) / r) ** -1.5


def shift_deg(
    two_theta: NDArray[np.float64], zero_deg: float, displacement_m: float, radius_m: float
) -> NDArray[np.float64]:
    """Return how far lines appear from their true angle, degrees.

    Args:
        two_theta: Scattering angles, degrees.
        zero_deg: Zero error of the goniometer, degrees.
        displacement_m: Sample surface above (+) the axis, m; lines move to lower angles below it:
            Δ2θ = -2 s cosθ / R with s counted away from the focusing circle.
        radius_m: Goniometer radius, m.

    Returns:
        Shift of the line position, degrees, same shape.
    """
    cosine = np.cos(np.radians(two_theta) / 2.0)
    shift = zero_deg - np.degrees(2.0 * displacement_m / radius_m) * cosine
    return np.asarray(shift, dtype=np.float64)


@njit(cache=True, nogil=True)
def add_peaks(  # noqa: PLR0913 - a flat numeric kernel
    start: float,
    step: float,
    centre: NDArray[np.float64],
    fwhm: NDArray[np.float64],
    eta: NDArray[np.float64],
    area: NDArray[np.float64],
    reach: float,
    out: NDArray[np.float64],
) -> None:
    """Add pseudo-Voigt peaks of given areas to a pattern on a uniform grid.

    Args:
        start: First grid angle, degrees.
        step: Grid step, degrees.
        centre: Peak positions, degrees, shape (n,).
        fwhm: Full widths at half maximum, degrees, shape (n,).
        eta: Lorentzian shares, shape (n,).
        area: Areas, intensity × degree, shape (n,).
        reach: Half-window in units of the width; tails beyond are cut.
        out: Pattern to add to, shape (m,).
    """
    points = out.shape[0]
    for j in range(centre.shape[0]):
        width = fwhm[j]
        low = max(0, int(np.ceil((centre[j] - reach * width - start) / step)))
        high = min(points - 1, int(np.floor((centre[j] + reach * width - start) / step)))
        gauss_peak = (1.0 - eta[j]) * area[j] * np.sqrt(_FOUR_LN2 / np.pi) / width
        lorentz_peak = eta[j] * area[j] * 2.0 / (np.pi * width)
        for i in range(low, high + 1):
            x = (start + i * step - centre[j]) / width
            square = x * x
            value = lorentz_peak / (1.0 + 4.0 * square)
            if square < _GAUSS_REACH * _GAUSS_REACH:
                value += gauss_peak * np.exp(-_FOUR_LN2 * square)
            out[i] += value
