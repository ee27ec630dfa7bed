"""Bragg reflections of a crystal: where they are and how strong, on an absolute scale.

A `ReflectionList` holds, for each set of planes that stays together under every change of cell the
crystal system allows, the spacing, the sum of |F|² over its members, and what texture and cell
refinement need. The Lorentz-polarisation factor depends on the instrument and is applied at
synthesis (`labenv.physics.profiles`).

Scale. The intensity of a line of phase p in a flat, infinitely thick powder is

    I = K · (w_p / ρ_p) · Σ|F|² · LP(θ) / V_p² / (μ/ρ)_mixture,

so `unit_intensity` = Σ|F|² / (ρ V²) times LP is the line's intensity per unit weight fraction, and
fitted coefficients of such columns are proportional to weight fractions, which is the ZMV rule.

Source:
    Hill & Howard 1987, doi:10.1107/S0021889887086199 (ZMV); Cromer & Liberman 1970,
    doi:10.1063/1.1674266 (dispersion in F).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.scattering import (
    default_b_iso_a2,
    ion_of,
    mass_attenuation_m2_per_kg,
    scattering_factor,
)
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pymatgen.core.structure import Structure

AMU_KG_PER_A3 = 1660.53906660
"""One atomic mass unit per cubic ångström, kg/m³ (CODATA 2018)."""

_MAX_WORK = 60_000_000
"""Reciprocal points times atoms that may be summed; some 3 s and what a 35 Å oxide cell needs."""

_WEAK = 1e-5
"""Lines weaker than this part of the strongest are dropped."""


@dataclass(frozen=True)
class ReflectionList:
    """Reflections of one phase for one wavelength; `n` lines, `m` single planes, `k` cell terms.

    Attributes:
        hkl: Representative Miller indices, shape (n, 3).
        d_a: Plane spacings, Å, shape (n,), descending.
        f_squared: Sum of |F|² over the line's planes, electrons² per cell, shape (n,).
        cell_terms: Coefficients c with 1/d² = c @ `cell_values`, shape (n, k).
        cell_values: Independent reciprocal-metric values, 1/Å², shape (k,).
        term_matrix: The terms as rows over (h², k², l², hk, kl, hl), shape (k, 6).
        member_hkl: Every single plane (one of each Friedel pair), shape (m, 3).
        member_line: Line that each plane belongs to, shape (m,).
        member_share: Part of its line's |F|² that each plane holds, shape (m,).
        reciprocal_a: Reciprocal lattice vectors as rows (no 2π), 1/Å, shape (3, 3).
        volume_a3: Cell volume, Å³.
        density_kg_m3: Density, kg/m³.
        attenuation_m2_kg: Mass attenuation coefficient at the wavelength, m²/kg.
        wavelength_a: Wavelength, Å.
    """

    hkl: NDArray[np.int32]
    d_a: NDArray[np.float64]
    f_squared: NDArray[np.float64]
    cell_terms: NDArray[np.float64]
    cell_values: NDArray[np.float64]
    term_matrix: NDArray[np.float64]
    member_hkl: NDArray[np.int32]
    member_line: NDArray[np.int32]
    member_share: NDArray[np.float64]
    reciprocal_a: NDArray[np.float64]
    volume_a3: float
    density_kg_m3: float
    attenuation_m2_kg: float
    wavelength_a: float

    @property
    def unit_intensity(self) -> NDArray[np.float64]:
        """Σ|F|² / (ρ V²) of each line, per unit weight fraction, e² Å⁻⁶ m³/kg, shape (n,)."""
        return self.f_squared / (self.density_kg_m3 * self.volume_a3**2)

    def cos2_to_axis(self, axis_hkl: Sequence[int]) -> NDArray[np.float64]:
        """Return cos² of the angle between each plane's normal and that of `axis_hkl`.

        Args:
            axis_hkl: Miller indices of the preferred plane.

        Returns:
            Squared cosines, shape (m,), in [0, 1].

        Raises:
            ConfigError: If the axis is (0 0 0).
        """
        axis = np.asarray(axis_hkl, dtype=np.float64) @ self.reciprocal_a
        length = float(np.linalg.norm(axis))
        if length == 0.0:
            raise ConfigError("a preferred-orientation plane cannot be (0 0 0)")
        normals = self.member_hkl @ self.reciprocal_a
        cosine = (normals @ axis) / (np.linalg.norm(normals, axis=1) * length)
        return np.asarray(np.clip(cosine**2, 0.0, 1.0), dtype=np.float64)

    def line_mean(self, per_member: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the intensity-weighted mean over each line's planes: (m,) to (n,)."""
        return _sum_by(self.member_line, per_member * self.member_share, len(self.d_a))


def compute_reflections(
    structure: Structure, wavelength_a: float, two_theta_max_deg: float = 120.0
) -> ReflectionList:
    """Compute the reflections of a crystal up to a scattering angle.

    Form factors lie half-way from atoms to ions in oxides and halides, with anomalous dispersion;
    isotropic vibration from the site property ``b_iso`` (Å²) where the structure has one, else
    typical values by element.

    Args:
        structure: pymatgen structure, ordered or disordered.
        wavelength_a: Wavelength, Å.
        two_theta_max_deg: Highest angle, degrees, at most 170.

    Returns:
        The reflections, strongest 1e-5 and up, spacings descending.

    Raises:
        ConfigError: If the cell is too large to compute or no reflection lies in the range; the
            message says what to change.
    """
    d_min_a = wavelength_a / (2.0 * np.sin(np.radians(min(two_theta_max_deg, 170.0) / 2.0)))
    matrix = np.asarray(structure.lattice.matrix, dtype=np.float64)
    reciprocal = np.asarray(np.linalg.inv(matrix).T, dtype=np.float64)
    volume_a3 = float(structure.volume)
    points = 2.1 * volume_a3 / d_min_a**3
    if points * len(structure) > _MAX_WORK:
        raise ConfigError(
            f"cell of {volume_a3:.0f} Å³ with {len(structure)} sites has about {points:.0f} "
            f"reflections down to {d_min_a:.2f} Å, too many to compute; "
            "use the primitive cell or a smaller angular range"
        )
    hkl = _half_sphere(reciprocal, d_min_a)
    if len(hkl) == 0:
        raise ConfigError(
            f"no reflection below {two_theta_max_deg:g}° at {wavelength_a:g} Å: "
            f"the largest spacing of this cell is too small; widen the angular range"
        )
    f_squared = 2.0 * np.abs(_structure_factor(structure, hkl, reciprocal, wavelength_a)) ** 2
    return _collect(structure, hkl, f_squared, reciprocal, wavelength_a)


def _half_sphere(reciprocal: NDArray[np.float64], d_min_a: float) -> NDArray[np.int32]:
    """Return one of each Friedel pair of indices with d ≥ d_min, shape (m, 3)."""
    direct = np.linalg.inv(reciprocal).T
    limits = np.floor(np.linalg.norm(direct, axis=1) / d_min_a).astype(int)
    axes = [np.arange(-limit, limit + 1) for limit in limits]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    h, k, last = grid.T
    half = (last > 0) | ((last == 0) & ((k > 0) | ((k == 0) & (h > 0))))
    grid = grid[half]
    inside = _inverse_d2(grid, reciprocal) <= 1.0 / d_min_a**2
    return np.asarray(grid[inside], dtype=np.int32)


def _sum_by(
    group: NDArray[np.int32] | NDArray[np.intp], values: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    return np.asarray(np.bincount(group, weights=values, minlength=count), dtype=np.float64)


def _inverse_d2(hkl: NDArray[np.int32], reciprocal: NDArray[np.float64]) -> NDArray[np.float64]:
    vectors = hkl @ reciprocal
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors), dtype=np.float64)


def _structure_factor(
    structure: Structure,
    hkl: NDArray[np.int32],
    reciprocal: NDArray[np.float64],
    wavelength_a: float,
) -> NDArray[np.complex128]:
    half_inverse_d = 0.5 * np.linalg.norm(hkl @ reciprocal, axis=1)
    total = np.zeros(len(hkl), dtype=np.complex128)
    phases: dict[tuple[str, float], Any] = {}
    for site in structure:
        wave = np.exp(2j * np.pi * (hkl @ np.asarray(site.frac_coords, dtype=np.float64)))
        for species, occupancy in site.species.items():
            element = str(getattr(species, "element", species))
            given = site.properties.get("b_iso")
            b_iso = default_b_iso_a2(element) if given is None else float(given)
            key = (element, b_iso)
            phases[key] = phases.get(key, np.zeros_like(wave)) + occupancy * wave
    elements = {element for element, _ in phases}
    for (element, b_iso), wave in phases.items():
        ion = ion_of(element, elements)
        factor = scattering_factor(element, half_inverse_d, wavelength_a, ion)
        total += factor * np.exp(-b_iso * half_inverse_d**2) * wave
    return total


def _term_matrix(structure: Structure) -> NDArray[np.float64]:
    """Return the independent terms of 1/d² as rows over (h², k², l², hk, kl, hl), shape (k, 6)."""
    a, b, c = structure.lattice.abc
    angles = np.asarray(structure.lattice.angles)
    right = np.abs(angles - 90.0) < 1e-3
    same_ab, same_bc = abs(a - b) < 1e-4 * a, abs(b - c) < 1e-4 * b
    squares = np.eye(6)[:3]
    if right.all():
        if same_ab and same_bc:
            return np.ones((1, 3)) @ squares
        if not same_ab:
            return squares
        return np.stack([squares[0] + squares[1], squares[2]])
    if same_ab and right[:2].all() and abs(angles[2] - 120.0) < 1e-3:
        return np.stack([squares[0] + squares[1] + np.eye(6)[3], squares[2]])
    if right.sum() == 2:
        return np.vstack([squares, np.eye(6)[(4, 5, 3)[int(np.argmin(right))]]])
    return np.eye(6)


def index_monomials(hkl: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (h², k², l², hk, kl, hl) of indices, shape (n, 6)."""
    h, k, m = hkl.T
    products = [h * h, k * k, m * m, h * k, k * m, h * m]
    return np.asarray(np.stack(products, axis=1), dtype=np.float64)


def _collect(
    structure: Structure,
    hkl: NDArray[np.int32],
    f_squared: NDArray[np.float64],
    reciprocal: NDArray[np.float64],
    wavelength_a: float,
) -> ReflectionList:
    """Group single planes into lines, drop what is too weak, sort by spacing.

    Returns:
        The lines.
    """
    term_matrix = _term_matrix(structure)
    terms = np.rint(index_monomials(hkl.astype(np.float64)) @ term_matrix.T).astype(np.int64)
    values = np.linalg.lstsq(terms.astype(np.float64), _inverse_d2(hkl, reciprocal), rcond=None)[0]
    unique, line = np.unique(terms, axis=0, return_inverse=True)
    line = line.reshape(-1)
    inverse_d2 = unique @ values
    total = _sum_by(line, f_squared, len(unique))
    # 1/sin²θ stands in for the Lorentz factor when judging which lines are too weak to matter
    strength = total / inverse_d2
    kept = np.flatnonzero(strength > _WEAK * strength.max())
    kept = kept[np.argsort(inverse_d2[kept])]
    new_index = np.full(len(unique), -1)
    new_index[kept] = np.arange(len(kept))
    member_line = new_index[line]
    used = member_line >= 0
    member_hkl, member_line = hkl[used], member_line[used]
    share = f_squared[used] / total[line[used]]
    first = np.zeros(len(kept), dtype=int)
    first[member_line[::-1]] = np.arange(len(member_line))[::-1]
    composition = structure.composition.get_el_amt_dict()
    mass_fractions = {
        element: float(structure.composition.get_wt_fraction(element)) for element in composition
    }
    mass_amu = float(structure.composition.weight)
    volume_a3 = float(structure.volume)
    return ReflectionList(
        hkl=member_hkl[first],
        d_a=1.0 / np.sqrt(inverse_d2[kept]),
        f_squared=total[kept],
        cell_terms=unique[kept].astype(np.float64),
        cell_values=np.asarray(values, dtype=np.float64),
        term_matrix=term_matrix,
        member_hkl=member_hkl,
        member_line=member_line.astype(np.int32),
        member_share=share,
        reciprocal_a=reciprocal,
        volume_a3=volume_a3,
        density_kg_m3=AMU_KG_PER_A3 * mass_amu / volume_a3,
        attenuation_m2_kg=mass_attenuation_m2_per_kg(mass_fractions, wavelength_a),
        wavelength_a=wavelength_a,
    )
