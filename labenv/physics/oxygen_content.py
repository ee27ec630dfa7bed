"""Oxygen content y of YBa2Cu3Oy: equilibrium with the gas, and exchange with it while fired.

Equilibrium: oxygen sits on two sublattices of the basal plane, with site fractions c + x and c - x,
c = (y - 6)/2; the order parameter x above zero is the orthorhombic phase. Neighbouring oxygen atoms
of the two sublattices repel each other, in a mean field, with one energy; it and six coefficients
are fitted to published compositions and transitions. The model is solved once on a grid.

Exchange: the mean oxygen content of a grain tends to equilibrium at the rate of the slowest
diffusion mode of a sphere, ``pi^2 D / R^2`` with D the chemical diffusivity.

Left out: reactions at the surface, which limit the release of oxygen into inert gas (1.7 eV: Tu,
Yeh, Park & Tsuei, Phys. Rev. B 39 (1989) 304); the pores of a pellet; and the decomposition of
YBa2Cu3Oy at low pressure (below 40 Pa of oxygen at 850 degC: Ahn, Beyers and others, Physica C,
1989), which is not y's business.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv_schemas.errors import ProposalError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

EQUILIBRIUM_UNCERTAINTY = 0.03
"""Standard uncertainty of the equilibrium y, an estimate: data sets differ by 0.02 to 0.05."""
DIFFUSION_SIGMA_LN = 0.7
"""Standard deviation of ln D: a factor of 2, which tracer data of different samples span."""
LOWEST_K, HIGHEST_K = 573.15, 1323.15
LOWEST_PA, HIGHEST_PA = 1.0, 1.0e7

_R = 8.314462618  # J/(mol K), CODATA 2018
_BOLTZMANN_EV_K = 8.617333262e-5  # CODATA 2018
# Tracer diffusion of oxygen in polycrystals, 300-850 degC, the same from 3 to 100 kPa:
# Rothman, Routbort & Baker, Phys. Rev. B 40 (1989) 8852.
_TRACER_M2_S, _TRACER_EV = 1.4e-8, 0.97
_SLICES = 64  # of each straight piece of a programme; fixed, so that rows do not depend on others
_STEP_LN_PA = 0.25
# Fitted. With four neighbours it is 0.103 eV a pair; theory has 0.09 eV: Sterne & Wille, Physica C
# 162 (1989) 223.
_REPULSION_J_MOL = 39742.6


class _Tables(NamedTuple):
    """Equilibrium y and the thermodynamic factor of diffusion on (1/T, ln p), shape (K, L)."""

    inverse_k: Floats  # increasing
    ln_pa: Floats
    content: Floats
    factor: Floats


def equilibrium_oxygen(temperature_k: ArrayLike, o2_pa: ArrayLike) -> Floats:
    """Return the oxygen content of YBa2Cu3Oy in equilibrium with the gas.

    Args:
        temperature_k: Temperature, K, any shape. The data span 573 to 1323 K; below, the value at
            573 K is given, for exchange is frozen there.
        o2_pa: Oxygen pressure, Pa, broadcast; 1 Pa to 10 MPa, clipped outside (an atmosphere
            without oxygen still holds a little).

    Returns:
        y, from 6 to 7, falling with temperature and rising with pressure.

    Raises:
        ProposalError: If a temperature or pressure is not finite, or not above zero (a pressure of
            zero is allowed).

    Source:
        Compositions: the assessment of Rudnyi, Kuzmenko & Voronin, J. Phys. Chem. Ref. Data 27
        (1998) 855, as distributed in Rudnyi's TDLIB (2000). It rests on the thermogravimetry and
        manometry of Kishio et al., Jpn. J. Appl. Phys. 26 (1987) L1228, Lindemer et al., J. Am.
        Ceram. Soc. 72 (1989) 1775, and others; between 673 and 1223 K and 10 Pa and 1 bar this
        model departs from it by 0.010 (root mean square) and 0.027 at most. Transitions, which
        that assessment has 40 to 65 K too low below 1 bar: Jorgensen et al., Phys. Rev. B 36
        (1987) 3608. Form: Bragg-Williams, as Degterov & Voronin.
    """
    return _look_up(_tables().content, *_checked(temperature_k, o2_pa))


def chemical_diffusivity(temperature_k: ArrayLike, o2_pa: ArrayLike) -> Floats:
    """Return the chemical diffusivity of oxygen in the plane, at equilibrium with the gas.

    Args:
        temperature_k: Temperature, K, any shape.
        o2_pa: Oxygen pressure, Pa, broadcast.

    Returns:
        Tracer diffusivity times the thermodynamic factor d ln a(O) / d ln (y - 6), m^2/s.

    Raises:
        ProposalError: If an input is not finite or not above zero.

    Source:
        Tracer: Rothman, Routbort & Baker, Phys. Rev. B 40 (1989) 8852, 0.97 eV. Factor: from the
        equilibrium model.
    """
    temperature, ln_pa = _checked(temperature_k, o2_pa)
    tracer = _TRACER_M2_S * np.exp(-_TRACER_EV / (_BOLTZMANN_EV_K * temperature))
    return tracer * _look_up(_tables().factor, temperature, ln_pa)


def anneal_oxygen(
    y0: ArrayLike,
    time_s: Floats,
    temperature_k: Floats,
    o2_pa: ArrayLike,
    grain_radius_m: ArrayLike,
    diffusivity_factor: ArrayLike = 1.0,
) -> Floats:
    """Carry the oxygen content along a furnace programme of straight pieces.

    Args:
        y0: Oxygen content at the start, 6 to 7, scalar or shape (N,).
        time_s: Times of the knots, s, never falling, shape (N, S).
        temperature_k: Temperatures there, K, shape (N, S).
        o2_pa: Oxygen pressure there, Pa, scalar, (N,) or (N, S).
        grain_radius_m: Half the distance over which oxygen diffuses, m, scalar or (N,): the grain's
            radius in a powder or porous pellet, nearer the pellet's in a dense one.
        diffusivity_factor: Multiplies the diffusivity, to carry its uncertainty, scalar or (N,).

    Returns:
        Oxygen content at every knot, shape (N, S); a row does not depend on the others.

    Raises:
        ProposalError: If shapes differ, times fall, or a number is not finite or out of range.
    """
    time, temperature = np.asarray(time_s, float), np.asarray(temperature_k, float)
    if time.ndim != 2 or time.shape != temperature.shape:
        raise ProposalError(
            f"times {time.shape} and temperatures {temperature.shape} must both be (N, S)"
        )
    if not np.isfinite(time).all() or (np.diff(time, axis=1) < 0.0).any():
        raise ProposalError("times must be finite and never fall")
    samples = time.shape[0]
    y = np.broadcast_to(_in_range(y0, 6.0, 7.0, "y0"), (samples,)).copy()
    radius = _in_range(grain_radius_m, 1e-9, 1.0, "grain_radius_m")
    factor = _in_range(diffusivity_factor, 1e-9, 1e9, "diffusivity_factor")
    pressure = np.asarray(o2_pa, float)
    pressure = np.broadcast_to(pressure[:, None] if pressure.ndim == 1 else pressure, time.shape)
    _checked(temperature, pressure)
    rate_of_d = np.pi**2 * factor / radius**2
    contents = np.empty(time.shape)
    contents[:, 0] = y
    middles = (np.arange(_SLICES) + 0.5) / _SLICES
    for knot in range(1, time.shape[1]):
        step = np.diff(time[:, knot - 1 : knot + 1], axis=1)[:, 0] / _SLICES
        t_a, t_b = temperature[:, knot - 1], temperature[:, knot]
        p_a, p_b = pressure[:, knot - 1], pressure[:, knot]
        for share in middles:
            hot, ln_pa = _checked(t_a + share * (t_b - t_a), p_a + share * (p_b - p_a))
            target = _look_up(_tables().content, hot, ln_pa)
            tracer = _TRACER_M2_S * np.exp(-_TRACER_EV / (_BOLTZMANN_EV_K * hot))
            rate = rate_of_d * tracer * _look_up(_tables().factor, hot, ln_pa)
            y = target + (y - target) * np.exp(-rate * step)
        contents[:, knot] = y
    return contents


def is_orthorhombic(temperature_k: ArrayLike, y: ArrayLike) -> NDArray[np.bool_]:
    """Return whether YBa2Cu3Oy is orthorhombic, its chain oxygen ordered, at the temperature.

    Args:
        temperature_k: Temperature, K, any shape.
        y: Oxygen content between 6 and 7, broadcast.

    Returns:
        True where the ordered state has the lower Gibbs energy.

    Raises:
        ProposalError: If an input is out of range.

    Source:
        As `equilibrium_oxygen`.
    """
    temperature = _in_range(temperature_k, 1.0, 1e4, "temperature_k")
    c = _in_range(y, 6.0, 7.0, "y") / 2.0 - 3.0
    return np.asarray(_REPULSION_J_MOL * c * (1.0 - c) > _R * temperature)


def _potential(z: Floats, temperature: Floats) -> Floats:
    """Return the oxygen potential over the gas at 1 bar, J per mole of O, at z = y - 6."""
    c, x = z / 2.0, _order(z / 2.0, temperature)
    t, log = temperature, np.log
    mixing = log(z / (1.0 - z)) + 0.5 * log((c + x) * (c - x) / ((1.0 - c - x) * (1.0 - c + x)))
    first, second = 28348.3 - 29.0652 * t, -38447.8 + 53.5786 * t
    shape = first * (1.0 - 2.0 * z) + second * (1.0 - z) * (1.0 - 3.0 * z)
    return -94944.9 + 93.1502 * t + _R * t * mixing + shape + _REPULSION_J_MOL * c


def _order(c: Floats, temperature: Floats) -> Floats:
    """Return the order parameter x of least Gibbs energy by bisection; zero if tetragonal."""
    drive = 2.0 * _REPULSION_J_MOL / (_R * temperature)
    limit = np.minimum(c, 1.0 - c)
    low, high = 1e-6 * limit, limit * (1.0 - 1e-12)

    def slope(x: Floats) -> Floats:
        return np.log((c + x) * (1.0 - c + x) / ((1.0 - c - x) * (c - x))) - drive * x

    ordered = slope(low) < 0.0
    for _ in range(50):
        x = 0.5 * (low + high)
        below = slope(x) < 0.0
        low, high = np.where(below, x, low), np.where(below, high, x)
    return np.where(ordered, low, 0.0)


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    inverse = np.linspace(1.0 / HIGHEST_K, 1.0 / LOWEST_K, 121)
    ln_pa = np.arange(np.log(LOWEST_PA), np.log(HIGHEST_PA) + _STEP_LN_PA, _STEP_LN_PA)
    logit = np.linspace(-9.0, 10.0, 600)
    z = np.broadcast_to(1.0 / (1.0 + np.exp(-logit)), (len(inverse), len(logit)))
    temperature = np.broadcast_to(1.0 / inverse[:, None], z.shape)
    ln_p = np.log(1e5) + 2.0 * _potential(z, temperature) / (_R * temperature)
    ln_p = np.maximum.accumulate(ln_p, axis=1)  # the assessed potential rises; guard its rounding
    content, factor = (np.empty((len(inverse), len(ln_pa))) for _ in range(2))
    for row in range(len(inverse)):
        content[row] = 6.0 + np.interp(ln_pa, ln_p[row], z[row])
        ln_a = np.gradient(0.5 * ln_p[row], np.log(z[row]))
        factor[row] = np.interp(ln_pa, ln_p[row], np.clip(ln_a, 1.0, 50.0))
    return _Tables(inverse, ln_pa, content, factor)


def _look_up(table: Floats, temperature: Floats, ln_pa: Floats) -> Floats:
    """Return the bilinear interpolation in 1/T and ln p, clipped to the table."""
    tables = _tables()
    rows, columns = table.shape
    i = (1.0 / temperature - tables.inverse_k[0]) / (tables.inverse_k[1] - tables.inverse_k[0])
    j = (ln_pa - tables.ln_pa[0]) / _STEP_LN_PA
    i, j = np.clip(i, 0.0, rows - 1.000001), np.clip(j, 0.0, columns - 1.000001)
    i0, j0 = i.astype(np.int64), j.astype(np.int64)
    u, v = i - i0, j - j0
    left = table[i0, j0] * (1.0 - v) + table[i0, j0 + 1] * v
    right = table[i0 + 1, j0] * (1.0 - v) + table[i0 + 1, j0 + 1] * v
    return np.asarray(left * (1.0 - u) + right * u)


def _checked(temperature_k: ArrayLike, o2_pa: ArrayLike) -> tuple[Floats, Floats]:
    temperature = _in_range(temperature_k, 1.0, 1e4, "temperature_k")
    pressure = _in_range(o2_pa, 0.0, 1e9, "o2_pa")
    hot, gas = np.broadcast_arrays(temperature, pressure)
    return hot, np.log(np.maximum(gas, LOWEST_PA))


def _in_range(values: ArrayLike, low: float, high: float, what: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if not bool(((array >= low) & (array <= high)).all()):  # a nan compares false
        raise ProposalError(f"{what} must be finite and from {low:g} to {high:g}")
    return array
