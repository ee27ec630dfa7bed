"""Resistance against temperature: metals, mixtures of phases, superconductors, and the meter.

A sample is a mixture of phases. Each has a normal resistivity (residual, Bloch-Grüneisen, parallel
saturation, activation) and may superconduct below a Gaussian spread of critical temperatures. The
mixture is Bruggeman's symmetric effective medium of spheres, whose percolation threshold is 1/3:
above that share of superconducting volume the resistance is zero. Real ceramics, whose grains are
no spheres and whose grain boundaries may be weak, scatter between about 0.16 and 0.4.

Cost: a cryostat run from 300 K to 4 K takes about four hours (`RUN_COST_S`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv_schemas.errors import ProposalError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

RUN_COST_S = 14400.0
PERCOLATION_THRESHOLD = 1.0 / 3.0
LOW_TEMPERATURE_LIMIT = 124.431  # 120 ζ(5), of the integral to infinity
_GRID = np.geomspace(0.01, 20.0, 1500)  # T/Θ
_STEPS = 200  # at most; halving alone would do with 60


@dataclass(frozen=True)
class TransportPhases:
    """What P phases conduct, in N samples; every array has shape (N, P) or broadcasts to it.

    Attributes:
        residual_ohm_m: Residual resistivity, ohm m, above 0.
        electron_phonon_ohm_m: Bloch-Grüneisen A, ohm m; 0 for none.
        debye_k: Debye temperature of transport, K.
        saturation_ohm_m: Parallel resistivity, ohm m; infinite for none.
        activation_k: Energy over the Boltzmann constant that multiplies the resistivity by
            exp(E/T), K; 0 for a metal.
        tc_k: Mean critical temperature, K; 0 for none.
        tc_spread_k: Standard deviation of the critical temperature within the sample, K.
    """

    residual_ohm_m: Floats
    electron_phonon_ohm_m: Floats
    debye_k: Floats
    saturation_ohm_m: Floats
    activation_k: Floats
    tc_k: Floats
    tc_spread_k: Floats


@dataclass(frozen=True)
class ResistanceSetup:
    """Bar, contacts, source and voltmeter.

    Attributes:
        length_m: Distance of the voltage contacts, m.
        area_m2: Cross section, m^2.
        current_a: Current asked for, A.
        contact_ohm: Resistance of one contact with its lead, ohm; scalar or (N,).
        four_wire: Whether the voltage is taken at contacts of its own; else two contact
            resistances are in series with the sample.
        delta_mode: Whether the current is reversed and half the difference taken, which removes the
            thermal voltage.
        thermal_voltage_v: Standard deviation of a run's constant thermal voltage, V.
        voltage_noise_v: Standard deviation of one reading, V (10 nV: a nanovoltmeter, 1 s).
        relative_noise: Standard deviation of one reading over the reading.
        gain_sd: Standard deviation of a run's scale, from the bar's measured size.
        compliance_v: Greatest voltage of the source, V; it lowers the current if need be.
        cooling_w_k: Thermal conductance from sample to thermometer, W/K.
        thermometer_sd_k: Standard deviation of one reading of the temperature, K.
    """

    length_m: float = 4e-3
    area_m2: float = 4e-6
    current_a: float = 1e-3
    contact_ohm: float | Floats = 1.0
    four_wire: bool = True
    delta_mode: bool = True
    thermal_voltage_v: float = 1e-6
    voltage_noise_v: float = 1e-8
    relative_noise: float = 2e-4
    gain_sd: float = 0.02
    compliance_v: float = 20.0
    cooling_w_k: float = 2e-3
    thermometer_sd_k: float = 0.02


class ResistanceReadings(NamedTuple):
    """A run, every array of shape (N, T).

    Attributes:
        temperature_k: What the thermometer said, K.
        mean_ohm: Resistance without noise, as the wiring sees it, ohm.
        reading_ohm: Reading, ohm; below zero is possible near zero.
        current_a: Current that flowed, A.
        self_heating_k: How much warmer than the thermometer the sample was, K.
    """

    temperature_k: Floats
    mean_ohm: Floats
    reading_ohm: Floats
    current_a: Floats
    self_heating_k: Floats


def bloch_gruneisen(reduced: ArrayLike) -> Floats:
    """Return the universal function ``t^5 ∫(0..1/t) x^5 / ((e^x - 1)(1 - e^-x)) dx``.

    Args:
        reduced: Temperature over Debye temperature t, above 0, any shape.

    Returns:
        The function: 124.431 t^5 for small t, t/4 for large t; error below 1e-5 of it.

    Raises:
        ProposalError: If a t is not finite or not above zero.

    Source:
        Grüneisen, Ann. Phys. 408 (1933) 530; Ziman, Electrons and Phonons (1960), section 9.5.
    """
    t = np.asarray(reduced, dtype=np.float64)
    if not bool((np.isfinite(t) & (t > 0.0)).all()):
        raise ProposalError("T/Debye temperature must be finite and above zero")
    middle = np.exp(np.interp(np.log(t), np.log(_GRID), _log_table()))
    high = t / 4.0 * (1.0 - 1.0 / (18.0 * t**2))
    low = LOW_TEMPERATURE_LIMIT * t**5
    return np.where(t < _GRID[0], low, np.where(t > _GRID[-1], high, middle))


@lru_cache(maxsize=1)
def _log_table() -> Floats:
    nodes, weights = np.polynomial.legendre.leggauss(120)
    upper = np.minimum(1.0 / _GRID, 60.0)[:, None]  # beyond, the integrand is below 1e-17
    x = 0.5 * upper * (nodes + 1.0)
    integral = (0.5 * upper * weights * x**5 / (4.0 * np.sinh(0.5 * x) ** 2)).sum(axis=1)
    return np.asarray(5.0 * np.log(_GRID) + np.log(integral))


def normal_resistivity(phases: TransportPhases, temperature_k: Floats) -> Floats:
    """Return the resistivity of each phase were it normal.

    Args:
        phases: N samples of P phases.
        temperature_k: Temperatures, K, shape (N, T).

    Returns:
        Ohm m, shape (N, P, T).

    Raises:
        ProposalError: If a number is out of range.

    Source:
        Saturation: Wiesmann et al., Phys. Rev. Lett. 38 (1977) 782, after Fisk & Webb, Phys. Rev.
        Lett. 36 (1976) 1084.
    """
    _check(phases, temperature_k)
    t = temperature_k[:, None, :]
    phonons = phases.electron_phonon_ohm_m[..., None] * bloch_gruneisen(
        t / phases.debye_k[..., None]
    )
    ideal = (phases.residual_ohm_m[..., None] + phonons) * np.exp(
        np.minimum(phases.activation_k[..., None] / t, 60.0)
    )
    return np.asarray(ideal / (1.0 + ideal / phases.saturation_ohm_m[..., None]))


def superconducting_share(tc_k: Floats, tc_spread_k: Floats, temperature_k: Floats) -> Floats:
    """Return the share of each phase's volume that superconducts.

    Args:
        tc_k: Mean critical temperatures, K, shape (N, P); 0 for none.
        tc_spread_k: Their standard deviations within a sample, K, shape (N, P).
        temperature_k: Temperatures, K, shape (N, T).

    Returns:
        0 to 1, shape (N, P, T).
    """
    from scipy.special import ndtr

    below = tc_k[..., None] - temperature_k[:, None, :]
    spread = np.maximum(tc_spread_k, 1e-9)[..., None]
    return np.where(tc_k[..., None] > 0.0, ndtr(below / spread), 0.0)


def effective_resistivity(
    resistivity_ohm_m: Floats, volume_share: Floats, superconducting: Floats
) -> Floats:
    """Return the resistivity of a mixture by Bruggeman's symmetric effective medium.

    The root of ``Σ f (σ - s)/(σ + 2 s) = 0`` is bracketed in the logarithm of s.

    Args:
        resistivity_ohm_m: Normal resistivity of each phase, ohm m, above 0, shape (N, P, T).
        volume_share: Volume shares f, adding up to 1, shape (N, P).
        superconducting: Superconducting share of each phase's volume, shape (N, P, T).

    Returns:
        Ohm m, shape (N, T): zero from a superconducting share of 1/3 on, finite below it.

    Raises:
        ProposalError: If shares are negative or do not add up to 1.

    Source:
        Bruggeman, Ann. Phys. 416 (1935) 636; Kirkpatrick, Rev. Mod. Phys. 45 (1973) 574.
    """
    if not bool((volume_share >= 0.0).all() & (abs(volume_share.sum(axis=1) - 1.0) < 1e-6).all()):
        raise ProposalError("volume shares must not be negative and must add up to 1")
    share = volume_share[..., None] * (1.0 - superconducting)  # of what is normal, (N, P, T)
    perfect = np.einsum("np,npt->nt", volume_share, superconducting)
    log_rho = np.log(resistivity_ohm_m)
    scale = np.where(share > 1e-12, -log_rho, -np.inf).max(axis=1)  # ln of the best conductor
    scale = np.where(np.isfinite(scale), scale, 0.0)
    relative = -log_rho - scale[:, None, :]  # ln σ over the best's
    short = perfect >= PERCOLATION_THRESHOLD
    # the best conductor diluted by perfect ones: s rises as 1/(1 - 3 f), so this bracket holds it
    room = np.log(np.maximum(1.0 - 3.0 * perfect, 1e-12))
    low = np.min(np.where(share > 1e-12, relative, 0.0), axis=1)
    high = np.where(short, 0.0, -room) + 1e-9
    shares, ratios = (np.moveaxis(array, 1, 0)[:, ~short] for array in (share, relative))
    log_s = np.zeros(short.shape)
    log_s[~short] = _balance(shares, ratios, perfect[~short], low[~short], high[~short])
    return np.where(short, 0.0, np.exp(-(log_s + scale)))


def _balance(share: Floats, relative: Floats, perfect: Floats, low: Floats, high: Floats) -> Floats:
    """Return the root ln s of each cell by Newton's steps that stay within a halved bracket.

    Cells that have converged are left alone, so that no cell depends on its neighbours.
    """
    root, active = 0.5 * (low + high), np.arange(low.size)
    for _ in range(_STEPS):
        x = root[active]
        ratio = np.exp(np.clip(relative[:, active] - x, -700.0, 700.0))
        value = (share[:, active] * (ratio - 1.0) / (ratio + 2.0)).sum(axis=0) + perfect[active]
        slope = -(share[:, active] * 3.0 * ratio / (ratio + 2.0) ** 2).sum(axis=0)
        below = value > 0.0
        low[active] = np.where(below, x, low[active])
        high[active] = np.where(below, high[active], x)
        newton = x - value / np.minimum(slope, -1e-300)
        inside = (newton > low[active]) & (newton < high[active])
        root[active] = np.where(inside, newton, 0.5 * (low[active] + high[active]))
        active = active[abs(root[active] - x) > 1e-12 * (1.0 + abs(x))]
        if active.size == 0:
            break
    return root


def mixture_resistivity(
    phases: TransportPhases, volume_share: Floats, temperature_k: Floats
) -> Floats:
    """Return the resistivity of samples of several phases, some superconducting.

    Args:
        phases: N samples of P phases.
        volume_share: Volume shares, adding up to 1, shape (N, P).
        temperature_k: Temperatures, K, shape (N, T).

    Returns:
        Ohm m, shape (N, T).

    Raises:
        ProposalError: If a number is out of range.
    """
    normal = normal_resistivity(phases, temperature_k)
    shares = superconducting_share(phases.tc_k, phases.tc_spread_k, temperature_k)
    return effective_resistivity(normal, volume_share, np.broadcast_to(shares, normal.shape))


def resistance_curve(
    phases: TransportPhases,
    volume_share: Floats,
    temperature_k: Floats,
    setup: ResistanceSetup,
    generators: Sequence[np.random.Generator],
) -> ResistanceReadings:
    """Measure the resistance of N bars at T temperatures each.

    Args:
        phases: N samples of P phases.
        volume_share: Volume shares, adding up to 1, shape (N, P).
        temperature_k: Temperatures of the stage, K, shape (N, T).
        setup: Bar and instruments.
        generators: One a sample; row i draws from the i-th alone.

    Returns:
        Mean and noisy readings. The sample is warmer than the thermometer by current squared times
        resistance over the thermal conductance, which shifts a transition down.

    Raises:
        ProposalError: If a number is out of range.
        SimulatorError: If the generators do not number N.
    """
    if len(generators) != len(temperature_k):
        raise SimulatorError("as many generators as samples are needed")
    contact = np.broadcast_to(np.asarray(setup.contact_ohm, float), (len(temperature_k),))[:, None]
    shape = setup.length_m / setup.area_m2
    if min(setup.length_m, setup.area_m2, setup.current_a, setup.cooling_w_k) <= 0.0:
        raise ProposalError("length, area, current and thermal conductance must be above zero")
    cold = mixture_resistivity(phases, volume_share, temperature_k) * shape
    current = np.minimum(setup.current_a, setup.compliance_v / (cold + 2.0 * contact + 1e-30))
    heating = np.minimum(current**2 * (cold + 2.0 * contact) / setup.cooling_w_k, 50.0)
    resistance = mixture_resistivity(phases, volume_share, temperature_k + heating) * shape
    mean = resistance + (0.0 if setup.four_wire else 2.0 * contact)
    reading, thermometer = np.empty(mean.shape), np.empty(mean.shape)
    for row, generator in enumerate(generators):
        gain, thermal = generator.standard_normal(2)
        noise = generator.standard_normal((3, mean.shape[1]))
        seen = mean[row] * (1.0 + setup.gain_sd * gain + setup.relative_noise * noise[0])
        stray = setup.voltage_noise_v * noise[1] * (np.sqrt(0.5) if setup.delta_mode else 1.0)
        stray += 0.0 if setup.delta_mode else setup.thermal_voltage_v * thermal
        reading[row] = seen + stray / current[row]
        thermometer[row] = temperature_k[row] + setup.thermometer_sd_k * noise[2]
    return ResistanceReadings(thermometer, mean, reading, current, heating)


def _check(phases: TransportPhases, temperature_k: Floats) -> None:
    if temperature_k.ndim != 2 or not bool(
        (np.isfinite(temperature_k) & (temperature_k > 0.0)).all()
    ):
        raise ProposalError("temperatures must be finite, above 0 K and of shape (samples, T)")
    limits = {
        "residual_ohm_m": (1e-14, 1e12),
        "electron_phonon_ohm_m": (0.0, 1.0),
        "debye_k": (1.0, 1e4),
        "saturation_ohm_m": (1e-14, np.inf),
        "activation_k": (0.0, 1e6),
        "tc_k": (0.0, 1e3),
        "tc_spread_k": (0.0, 1e3),
    }
    for name, (low, high) in limits.items():
        values = np.asarray(getattr(phases, name), dtype=np.float64)
        if values.ndim != 2 or not bool(((values >= low) & (values <= high)).all()):
            raise ProposalError(f"{name} must be of shape (samples, phases), {low:g} to {high:g}")
