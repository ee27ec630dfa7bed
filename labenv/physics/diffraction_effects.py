"""What real powders add to the pattern of an ideal mixture: particles, glass and fluorescence.

`PatternBasis` mixes ideal powders. `RealPowder` says what else a sample does, and `mean_counts`
adds it on the same absolute scale, without a free factor:

* microabsorption: a phase in particles of diameter D is seen τ = ⟨exp(-(μ - μ̄) s)⟩ times, averaged
  over the paths s through a sphere (Brindley 1945);
* an amorphous part: the coherent scattering of its atoms, Σ f², times a structure factor of one or
  a few broad halos; what it weighs is missing in the lines;
* fluorescence: photons that the sample's elements send out when the beam's energy lies above one of
  their edges, less what air and the detector's energy window keep out. In symmetric reflection it
  is the same at all angles.

Scale. The atoms of a powder scatter as much whether their pattern is lines or a halo, so that

    diffuse = C · 16π/λ³ · (1 + p cos²2θ) · Σ(w_i/A_i f_i²) S(q) / (m_u μ̄)     per degree · 180/π,

C being the instrument's brightness; comparing this with I₀ Ω r_e² (1 + cos²2θ)/2 · Σ(…)/(2 μ̄) gives
the photons I₀ Ω that fluorescence is counted from.

Not modelled: Compton scattering, secondary fluorescence, absorption of a rough surface.

Source:
    Brindley 1945, doi:10.1080/14786444508520918 (microabsorption); Warren 1969, X-ray Diffraction
    (absolute scale, glasses); Jenkins & Snyder 1996, Introduction to X-ray Powder Diffractometry
    (fluorescence); Elam, Ravel & Sieber 2002, doi:10.1016/S0969-806X(01)00227-4 (edges, yields).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.checks import all_between
from labenv.physics.fluorescence import Detection, Glow
from labenv.physics.reflections import AMU_KG_PER_A3
from labenv.physics.scattering import HC_EV_A, mass_attenuation_m2_per_kg, scattering_factor
from labenv_schemas.errors import SimulatorError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.physics.diffraction import DiffractometerSpec, PatternBasis, SampleBatch, ScanBatch

    Floats = NDArray[np.float64]

ELECTRON_RADIUS_M = 2.8179403205e-15
"""Classical electron radius, m (CODATA 2022)."""

_ALL = 1.0 + 1e-6
_MOST_OPAQUE = 20.0  # (μ - μ̄) D beyond which a particle's colour is all that matters


@dataclass(frozen=True)
class AmorphousPart:
    """A glass or gel.

    Its structure factor is 1 - exp(-(q/`free_from_per_a`)⁴), which goes over to that of atoms that
    do not see each other, plus halos.

    Attributes:
        formula: Its composition.
        density_kg_m3: Its density, kg/m³.
        halos: Of each, where it stands in q = 4π sinθ/λ (1/Å), its full width (1/Å) and height over
            the scattering of independent atoms.
        free_from_per_a: q above which atoms scatter independently, 1/Å.
    """

    formula: str
    density_kg_m3: float
    halos: tuple[tuple[float, float, float], ...] = ((1.9, 0.8, 1.0),)
    free_from_per_a: float = 3.2

    def structure_factor(self, q_per_a: Floats) -> Floats:
        """Return S(q), shape of `q_per_a` (1/Å)."""
        total = 1.0 - np.exp(-((q_per_a / self.free_from_per_a) ** 4))
        for place, width, height in self.halos:
            total = total + height * np.exp(-4.0 * np.log(2.0) * ((q_per_a - place) / width) ** 2)
        return np.asarray(total, dtype=np.float64)


SILICA_GLASS = AmorphousPart("SiO2", 2200.0, ((1.53, 0.65, 1.2), (2.8, 1.2, 0.2)))
"""Silica glass; positions from Mozzi & Warren 1969, doi:10.1107/S0021889869006868, widths and
heights estimated."""


def particle_factor(opacity: Floats) -> Floats:
    """Return how much of a particle's diffraction is seen, Brindley's τ for spheres.

    τ = (1/V) ∫ exp(-(μ - μ̄) s) dV with s the whole chord through the volume element, which has the
    closed form 3 (2 - (x² + 2x + 2) e⁻ˣ) / x³ of x = (μ - μ̄) D.

    Args:
        opacity: x, any shape; negative where a particle absorbs less than its surroundings.

    Returns:
        τ, same shape; 1 at x = 0.
    """
    x = np.clip(np.asarray(opacity, dtype=np.float64), -_MOST_OPAQUE, _MOST_OPAQUE)
    near = np.abs(x) < 0.02
    safe = np.where(near, 1.0, x)
    closed = 3.0 * (2.0 - (safe * (safe + 2.0) + 2.0) * np.exp(-safe)) / safe**3
    series = 1.0 - 0.75 * x + 0.3 * x * x
    return np.asarray(np.where(near, series, closed), dtype=np.float64)


def diffuse_pattern(formula: str, spec: DiffractometerSpec) -> Floats:
    """Return what the atoms of a compound scatter if none sees another, before absorption.

    Args:
        formula: The compound.
        spec: The instrument.

    Returns:
        Intensity per degree and unit weight fraction, on the scale of `line_pattern`, (points,).
    """
    wavelength_a = spec.k_alpha_a[0]
    angle = np.radians(spec.two_theta_deg)
    inverse_2d = np.sin(0.5 * angle) / wavelength_a
    squares = np.zeros_like(angle)
    for element, fraction, mass_u in _mass_fractions(formula):
        amplitude = np.abs(scattering_factor(element, inverse_2d, wavelength_a))
        squares += fraction / mass_u * amplitude**2
    polarisation = 1.0 + spec.in_plane * np.cos(angle) ** 2
    scale = 16.0 * np.pi / wavelength_a**3 * np.radians(1.0) / AMU_KG_PER_A3
    return np.asarray(scale * polarisation * squares, dtype=np.float64)


@lru_cache(maxsize=1024)
def _mass_fractions(formula: str) -> tuple[tuple[str, float, float], ...]:
    """Return elements, their mass fractions and their atoms' masses (u)."""
    amounts = parse_formula(formula).amounts
    masses = {e: 1e3 * parse_formula(e).molar_mass_kg_per_mol for e in amounts}
    total = sum(masses[e] * amount for e, amount in amounts.items())
    return tuple((e, masses[e] * n / total, masses[e]) for e, n in amounts.items())


class RealPowder:
    """A basis of patterns with what real powders add.

    powder = RealPowder(basis, amorphous=(SILICA_GLASS,))
    mean = powder.mean_counts(sample, scan, particle_size_m=10e-6, amorphous_fractions=glass)
    """

    def __init__(
        self,
        basis: PatternBasis,
        amorphous: Sequence[AmorphousPart] = (),
        detection: Detection | None = None,
    ) -> None:
        """Compute what depends on phases and instrument alone.

        Args:
            basis: The patterns of the crystalline phases, P of them.
            amorphous: Amorphous parts that may be there, A of them.
            detection: Filter, air and energy window, for fluorescence; None for no fluorescence.
        """
        self.basis = basis
        self.amorphous = tuple(amorphous)
        spec = basis.spec
        wavelength_a = spec.k_alpha_a[0]
        formulas = [*(phase.formula for phase in basis.phases), *(p.formula for p in amorphous)]
        compounds = [{e: w for e, w, _ in _mass_fractions(formula)} for formula in formulas]
        glass = compounds[len(basis.phases) :]
        glass_mu = np.array([mass_attenuation_m2_per_kg(c, wavelength_a) for c in glass])
        self._mu = np.concatenate([basis.attenuation_m2_kg, glass_mu])
        self._density = np.array([
            *(p.density_kg_m3 for p in basis.phases),
            *(p.density_kg_m3 for p in amorphous),
        ])
        q_per_a = 4.0 * np.pi * np.sin(np.radians(spec.two_theta_deg) / 2.0) / wavelength_a
        halos = [diffuse_pattern(p.formula, spec) * p.structure_factor(q_per_a) for p in amorphous]
        self._halos = np.reshape(halos, (len(halos), spec.points))
        self._glow: list[tuple[float, Glow]] = []
        if detection is not None:
            beam_ev = HC_EV_A / wavelength_a
            white_ev = beam_ev * detection.white_ratio
            for share, exciting_ev in ((1.0, beam_ev), (detection.white_share, white_ev)):
                if share > 0.0:
                    self._glow.append((share, Glow(compounds, beam_ev, exciting_ev, detection)))

    def mean_counts(
        self,
        sample: SampleBatch,
        scan: ScanBatch,
        particle_size_m: float | Floats = 0.0,
        amorphous_fractions: Floats | None = None,
    ) -> Floats:
        """Return the expected counts of N scans.

        Args:
            sample: What lies in the beam; the weight fractions count the amorphous parts in, so a
                row with those of `amorphous_fractions` sums to 1 (less, if some part is unknown).
            scan: How it is scanned.
            particle_size_m: Diameter of particles, m, a number or shape (N, P); 0 for powders too
                fine for microabsorption. Amorphous parts are fine.
            amorphous_fractions: Weight fractions of the amorphous parts, shape (N, A); None for
                none.

        Returns:
            Expected counts per step, shape (N, points).

        Raises:
            SimulatorError: If shapes disagree, a value is negative or not finite, or the fractions
                of a row sum to more than 1.
        """
        crystals = np.asarray(sample.weight_fractions, dtype=np.float64)
        count, phases = crystals.shape
        glass = np.zeros((count, len(self.amorphous)))
        if amorphous_fractions is not None:
            glass = np.asarray(amorphous_fractions, dtype=np.float64)
        sizes = np.asarray(particle_size_m, dtype=np.float64)
        if glass.shape != (count, len(self.amorphous)) or sizes.shape not in {(), crystals.shape}:
            raise SimulatorError(
                f"{count} samples of {phases} phases and {len(self.amorphous)} amorphous parts, "
                f"but amorphous fractions {glass.shape}, particle sizes {sizes.shape}"
            )
        everything = np.concatenate([crystals, glass], axis=1)
        whole = everything.sum(axis=1)
        if not (all_between(everything, 0.0) and all_between(sizes, 0.0) and whole.max() < _ALL):
            raise SimulatorError(
                "a weight fraction or particle size is negative or not finite, or the fractions of "
                "a sample sum to more than 1"
            )
        shares = everything / np.maximum(whole, 1e-12)[:, None]
        opacity = shares @ self._mu
        seen = crystals * self._particle_factors(shares, sizes)[:, :phases]
        # the basis divides by the attenuation of what it is given; the light crosses all of it
        given = seen @ self._mu[:phases] / np.maximum(seen.sum(axis=1), 1e-12)
        bright = scan.brightness * np.maximum(given, 1e-9) / np.maximum(opacity, 1e-9)
        mean = self.basis.mean_counts(
            replace(sample, weight_fractions=seen), replace(scan, brightness=bright)
        )
        photons = scan.seconds_per_step * scan.brightness * self.basis.spec.counts_per_second
        if glass.size:
            mean += (photons / np.maximum(opacity, 1e-9))[:, None] * (glass @ self._halos)
        for share, glow in self._glow:
            per_step = share * self._beam_per_brightness() * glow.photons(shares)
            mean += (photons * np.minimum(whole, 1.0) * per_step)[:, None]
        return mean

    def _particle_factors(self, shares: Floats, sizes: Floats) -> Floats:
        """Return τ of every phase and amorphous part, shape (N, P + A)."""
        linear_per_m = self._mu * self._density
        volumes = shares / self._density
        mean_per_m = volumes @ linear_per_m / np.maximum(volumes.sum(axis=1), 1e-12)
        diameters = np.zeros_like(shares)
        diameters[:, : len(self.basis.phases)] = sizes
        return particle_factor((linear_per_m - mean_per_m[:, None]) * diameters)

    def _beam_per_brightness(self) -> float:
        """Return I₀ Ω / 4π over the instrument's brightness, for fluorescence."""
        spec = self.basis.spec
        cell = 1e-30 / (spec.k_alpha_a[0] ** 3 * ELECTRON_RADIUS_M**2)
        return float(16.0 * np.radians(1.0) * (1.0 + spec.in_plane) * 0.5 * cell)
