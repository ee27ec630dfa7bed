"""Magnetic moment against temperature and field: paramagnets and superconductors, and the meter.

SI throughout: susceptibilities are volume susceptibilities M/H (dimensionless) or, where the name
says so, molar ones in m^3/mol. A moment in emu is 1e-3 A m^2; a molar susceptibility in cgs,
emu/(mol Oe), is 4π·1e-6 m^3/mol; 1 Oe is 1e-4 T of μ0 H.

Left out: vortices. The shielding curve (cooled without field) holds below the lower critical field,
which small fields of 1 mT are for most materials; the curve cooled in the field is the shielding
curve times a share that pinning leaves, an input. Intergranular currents, which make a sintered
body shield as a whole, are not in it: grains shield one by one.

Cost: a run from 5 K to 100 K in one field takes about two hours (`RUN_COST_S`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv_schemas.errors import ProposalError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

RUN_COST_S = 7200.0
MU_0 = 1.25663706212e-6  # T m/A, CODATA 2018
SPHERE = 1.0 / 3.0
MOLAR_CGS_TO_SI = 4.0e-6 * np.pi
# μ0 N_A μ_B^2 / (3 k_B): molar Curie constant of one Bohr magneton, m^3 K/mol; CODATA 2018
_CURIE_OF_ONE = MU_0 * 6.02214076e23 * 9.2740100783e-24**2 / (3.0 * 1.380649e-23)
# Pascal's constants of ions, -1e-6 emu/mol: Bain & Berry, J. Chem. Educ. 85 (2008) 532.
_PASCAL = {
    "O": 12.0,  # O2-
    "Y": 12.0,  # Y3+
    "Ba": 26.5,  # Ba2+
    "Sr": 19.0,  # Sr2+
    "La": 20.0,  # La3+
    "Cu": 11.0,  # Cu2+
    "Mg": 5.0,  # Mg2+
    "Ca": 10.4,  # Ca2+
    "Ti": 5.0,  # Ti4+
    "Fe": 10.0,  # Fe3+
    "Co": 10.0,  # Co3+
    "Ni": 12.0,  # Ni2+
    "Zn": 15.0,  # Zn2+
    "Li": 1.0,  # Li+
    "Na": 6.8,  # Na+
    "K": 14.9,  # K+
    "F": 9.1,  # F-
    "Cl": 23.4,  # Cl-
}


@dataclass(frozen=True)
class MagneticPhases:
    """P phases of N samples; every array has shape (N, P) or broadcasts to it.

    Attributes:
        tc_k: Mean critical temperature, K; 0 for none.
        tc_spread_k: Its standard deviation within the sample, K.
        penetration_depth_m: Penetration depth at 0 K, m; its geometric mean over directions.
        grain_radius_m: Radius of the grains, taken as spheres, m.
        curie_k: Volume Curie constant C of χ = C/(T - θ) + χ0, K; 0 for none.
        weiss_k: Weiss temperature θ, K; below 0 for antiferromagnets.
        constant_susceptibility: χ0: diamagnetic core plus Pauli, volume, SI.
    """

    tc_k: Floats
    tc_spread_k: Floats
    penetration_depth_m: Floats
    grain_radius_m: Floats
    curie_k: Floats
    weiss_k: Floats
    constant_susceptibility: Floats


@dataclass(frozen=True)
class MagnetometerSetup:
    """A SQUID magnetometer.

    Attributes:
        floor_a_m2: Standard deviation of one reading of nothing, A m^2 (1e-8 emu: makers' figure
            for a modern SQUID at low field; older ones 1e-7 emu).
        relative_noise: Standard deviation of one reading over the reading.
        gain_sd: Standard deviation of a run's scale, from the sample's size and place.
        field_offset_t: Standard deviation of the remanent field that is not known, T.
        thermometer_sd_k: Standard deviation of one reading of the temperature, K.
        field_cooled: Whether the sample was cooled in the field.
        pinned_share: Share of the shielding moment that remains, with the sign kept, when the
            sample is cooled in the field.
    """

    floor_a_m2: float = 1e-11
    relative_noise: float = 2e-3
    gain_sd: float = 0.01
    field_offset_t: float = 5e-6
    thermometer_sd_k: float = 0.02
    field_cooled: bool = False
    pinned_share: float = 0.3


class MagneticReadings(NamedTuple):
    """A run, every array of shape (N, T).

    Attributes:
        temperature_k: What the thermometer said, K.
        mean_a_m2: Moment without noise, A m^2.
        reading_a_m2: Reading, A m^2.
    """

    temperature_k: Floats
    mean_a_m2: Floats
    reading_a_m2: Floats


def curie_weiss(
    temperature_k: ArrayLike, moment_bohr: ArrayLike, weiss_k: ArrayLike = 0.0
) -> Floats:
    """Return the molar susceptibility of independent moments.

    Args:
        temperature_k: Temperature, K, above the Weiss temperature, any shape.
        moment_bohr: Effective moment, Bohr magnetons per formula unit, broadcast.
        weiss_k: Weiss temperature, K, broadcast.

    Returns:
        m^3/mol; in cgs this is ``(μ_eff/2.828)^2 / (T - θ)`` emu/mol.

    Raises:
        ProposalError: If an input is not finite or T is not above θ and 0.

    Source:
        Ashcroft & Mermin, Solid State Physics (1976), chapter 31.
    """
    temperature, moment, weiss = (
        np.asarray(v, dtype=np.float64) for v in (temperature_k, moment_bohr, weiss_k)
    )
    if not all(bool(np.isfinite(v).all()) for v in (temperature, moment, weiss)):
        raise ProposalError("temperature, moment and Weiss temperature must be finite")
    if bool((temperature <= np.maximum(weiss, 0.0)).any()):
        raise ProposalError("Curie-Weiss holds above the Weiss temperature and above 0 K only")
    return np.asarray(_CURIE_OF_ONE * moment**2 / (temperature - weiss))


def effective_moment(molar_susceptibility: ArrayLike, temperature_k: ArrayLike) -> Floats:
    """Return the effective moment, ``2.828 sqrt(χ T)`` in cgs.

    Args:
        molar_susceptibility: Susceptibility without core and Pauli parts, m^3/mol, at least 0.
        temperature_k: Temperature (less the Weiss temperature), K, broadcast.

    Returns:
        Bohr magnetons.

    Raises:
        ProposalError: If a product is negative or not finite.
    """
    product = np.asarray(molar_susceptibility, float) * np.asarray(temperature_k, float)
    if not bool((np.isfinite(product) & (product >= 0.0)).all()):
        raise ProposalError("susceptibility times temperature must be finite and not negative")
    return np.asarray(np.sqrt(product / _CURIE_OF_ONE))


def core_susceptibility(amounts: dict[str, float]) -> float:
    """Return the diamagnetic susceptibility of closed shells by Pascal's constants.

    Args:
        amounts: Atoms of each element per formula unit, taken as the usual ions.

    Returns:
        m^3/mol, below zero; good to 10 %. Constants not listed here are taken as 15e-6 emu/mol, an
        estimate.

    Source:
        Bain & Berry, J. Chem. Educ. 85 (2008) 532.
    """
    total = sum(n * _PASCAL.get(element, 15.0) for element, n in amounts.items())
    return float(-1e-6 * total * MOLAR_CGS_TO_SI)


def external_susceptibility(susceptibility: ArrayLike, demagnetising: ArrayLike) -> Floats:
    """Return M over the applied field: ``χ / (1 + N χ)``.

    Args:
        susceptibility: Volume susceptibility M/H of the material, at least -1, any shape.
        demagnetising: Demagnetising factor N, 0 to below 1 (sphere 1/3), broadcast.

    Returns:
        Dimensionless: a perfect diamagnetic sphere gives -1.5.

    Raises:
        ProposalError: If an input is out of range.

    Source:
        Osborn, Phys. Rev. 67 (1945) 351.
    """
    chi, n = np.asarray(susceptibility, float), np.asarray(demagnetising, float)
    if not bool((np.isfinite(chi) & (chi >= -1.0 - 1e-9)).all()):
        raise ProposalError("susceptibility must be finite and at least -1")
    if not bool(((n >= 0.0) & (n < 1.0)).all()):
        raise ProposalError("a demagnetising factor is at least 0 and below 1")
    return np.asarray(chi / (1.0 + n * chi))


def penetration_depth(depth_0_m: ArrayLike, reduced: ArrayLike) -> Floats:
    """Return the two-fluid penetration depth, ``λ0 / sqrt(1 - (T/Tc)^4)``.

    Args:
        depth_0_m: Depth at 0 K, m, any shape.
        reduced: T/Tc, broadcast; infinite depth from 1 on.

    Returns:
        Metres.

    Source:
        Gorter & Casimir, Physica 1 (1934) 306.
    """
    rest = 1.0 - np.asarray(reduced, float) ** 4
    root = np.sqrt(np.where(rest > 0.0, rest, 1.0))
    return np.where(rest > 0.0, np.asarray(depth_0_m, float) / root, np.inf)


def small_sphere_factor(radius_m: ArrayLike, depth_m: ArrayLike) -> Floats:
    """Return how much of a perfect sphere's diamagnetism a small sphere has.

    Args:
        radius_m: Radius R, m, above 0, any shape.
        depth_m: Penetration depth λ, m, above 0, broadcast.

    Returns:
        ``1 - 3 (λ/R) coth(R/λ) + 3 (λ/R)^2``: towards 1 for large spheres, R^2/(15 λ^2) for small.

    Source:
        Shoenberg, Proc. R. Soc. A 175 (1940) 49.
    """
    with np.errstate(divide="ignore"):
        u = np.asarray(radius_m, float) / np.asarray(depth_m, float)
    safe = np.clip(u, 0.05, 700.0)
    full = 1.0 - 3.0 / (safe * np.tanh(safe)) + 3.0 / safe**2
    large = 1.0 - 3.0 / np.maximum(u, 1.0)
    small = u**2 / 15.0 - 2.0 * u**4 / 315.0
    return np.asarray(np.where(u < 0.05, small, np.where(u > 700.0, large, full)))


def shielding_susceptibility(phases: MagneticPhases, temperature_k: Floats) -> Floats:
    """Return the external susceptibility of each phase's grains, spheres in the applied field.

    Args:
        phases: N samples of P phases.
        temperature_k: Temperatures, K, shape (N, T).

    Returns:
        From -1.5 to 0, shape (N, P, T), averaged over the spread of critical temperatures.
    """
    from scipy.special import ndtri

    quantiles = ndtri((np.arange(15) + 0.5) / 15.0)  # 15 equal parts of the spread
    t = temperature_k[:, None, :]
    radius = phases.grain_radius_m[..., None]
    total = np.zeros((*np.broadcast_shapes(phases.tc_k.shape, (len(t), 1)), t.shape[2]))
    for quantile in quantiles:
        tc = np.maximum(phases.tc_k + quantile * phases.tc_spread_k, 1e-6)[..., None]
        depth = penetration_depth(phases.penetration_depth_m[..., None], t / tc)
        total += np.where(t < tc, small_sphere_factor(radius, depth), 0.0)
    known = phases.tc_k[..., None] > 0.0
    full = external_susceptibility(-1.0, SPHERE)
    return np.asarray(np.where(known, full * total / len(quantiles), 0.0))


def moment_curve(
    phases: MagneticPhases,
    volume_m3: Floats,
    temperature_k: Floats,
    field_t: float,
    setup: MagnetometerSetup,
    generators: Sequence[np.random.Generator],
) -> MagneticReadings:
    """Measure the moment of N samples at T temperatures each, in one field.

    Args:
        phases: N samples of P phases.
        volume_m3: Volume of each phase in the sample, without pores, m^3, shape (N, P).
        temperature_k: Temperatures, K, shape (N, T), above every Weiss temperature.
        field_t: Applied field μ0 H, T.
        setup: The magnetometer.
        generators: One a sample; row i draws from the i-th alone.

    Returns:
        Mean and noisy readings.

    Raises:
        ProposalError: If a number is out of range.
        SimulatorError: If the generators do not number N.
    """
    if len(generators) != len(temperature_k):
        raise SimulatorError("as many generators as samples are needed")
    _check(phases, volume_m3, temperature_k, field_t)
    t = temperature_k[:, None, :]
    screening = shielding_susceptibility(phases, temperature_k)
    screening = screening * (setup.pinned_share if setup.field_cooled else 1.0)
    normal = phases.curie_k[..., None] / (t - phases.weiss_k[..., None])
    chi = screening + normal + phases.constant_susceptibility[..., None]
    per_tesla = np.einsum("np,npt->nt", volume_m3, np.broadcast_to(chi, screening.shape)) / MU_0
    reading, thermometer = np.empty(per_tesla.shape), np.empty(per_tesla.shape)
    for row, generator in enumerate(generators):
        gain, offset = generator.standard_normal(2)
        noise = generator.standard_normal((3, per_tesla.shape[1]))
        seen = per_tesla[row] * (field_t + setup.field_offset_t * offset)
        scale = 1.0 + setup.gain_sd * gain + setup.relative_noise * noise[0]
        reading[row] = seen * scale + setup.floor_a_m2 * noise[1]
        thermometer[row] = temperature_k[row] + setup.thermometer_sd_k * noise[2]
    return MagneticReadings(thermometer, per_tesla * field_t, reading)


def _check(phases: MagneticPhases, volume: Floats, temperature_k: Floats, field_t: float) -> None:
    if temperature_k.ndim != 2 or not bool(
        (np.isfinite(temperature_k) & (temperature_k > 0.0)).all()
    ):
        raise ProposalError("temperatures must be finite, above 0 K and of shape (samples, T)")
    if not abs(field_t) < 50.0:
        raise ProposalError(f"the field must be finite and below 50 T, got {field_t}")
    if volume.ndim != 2 or not bool(((volume >= 0.0) & (volume < 1.0)).all()):
        raise ProposalError("volumes must be finite, not negative and of shape (samples, phases)")
    for name, low in (
        *(("tc_k", 0.0), ("tc_spread_k", 0.0), ("curie_k", 0.0), ("weiss_k", -1e5)),
        *(("penetration_depth_m", 1e-12), ("grain_radius_m", 1e-12)),
        ("constant_susceptibility", -1.0),
    ):
        values = np.asarray(getattr(phases, name), dtype=np.float64)
        if values.ndim != 2 or not bool(((values >= low) & (values < 1e6)).all()):
            raise ProposalError(f"{name} must be of shape (samples, phases), {low:g} or more")
    if bool((temperature_k[:, None, :] <= phases.weiss_k[..., None])[...].any()):
        raise ProposalError("Curie-Weiss holds above the Weiss temperature only")
