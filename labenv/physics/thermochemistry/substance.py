"""Gibbs energies of condensed phases and gases from tabulated enthalpy, entropy and heat capacity.

The energies stand on one scale: the enthalpy of formation at 298.15 K plus the substance's own
enthalpy increment, minus temperature times absolute entropy. Differences between substances that
balance in elements are reaction energies; no other difference means anything.

A substance is a row of a data file, where every number carries its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from labenv_schemas.errors import ConfigError, ProposalError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

GAS_CONSTANT_J_MOL_K = 8.314462618  # CODATA 2018, exact
STANDARD_PRESSURE_PA = 1.0e5  # of the JANAF tables; the NBS tables use the same
REFERENCE_K = 298.15
GAS_ELEMENTS: tuple[str, ...] = ("O", "C", "H", "N")  # exchanged with the gas around a powder


def cation_amounts(elements: Mapping[str, float]) -> dict[str, float]:
    """Return the atoms that no gas of a furnace takes away, called cations here.

    Phosphorus and boron are among them.

    Args:
        elements: Atoms per formula unit.

    Returns:
        Those of elements other than `GAS_ELEMENTS`, in the same order.
    """
    return {e: n for e, n in elements.items() if e not in GAS_ELEMENTS}


class GibbsSource(Protocol):
    """Anything with a Gibbs energy on the scale of this package."""

    @property
    def name(self) -> str:
        """Name inside its chemical system."""
        ...

    @property
    def elements(self) -> Mapping[str, float]:
        """Atoms per formula unit."""
        ...

    @property
    def uncertainty_j_mol(self) -> float:
        """One standard deviation of the Gibbs energy, J/mol."""
        ...

    @property
    def sources(self) -> tuple[str, ...]:
        """Citations of the numbers."""
        ...

    @property
    def estimate(self) -> bool:
        """Whether the numbers are an estimate and no table's."""
        ...

    def gibbs_j_mol(self, temperature_k: ArrayLike) -> Floats:
        """Return the standard Gibbs energy at each temperature, J/mol."""
        ...


@dataclass(frozen=True)
class HeatCapacity:
    """Heat capacity of one temperature interval, as in the NIST tables.

    ``Cp = A + B t + C t^2 + D t^3 + E / t^2`` with t in thousands of kelvin and Cp in J/(mol K).

    Attributes:
        t_min_k: Lower bound, K.
        t_max_k: Upper bound, K.
        coefficients: A, B, C, D, E.
        transition_j_mol: Enthalpy taken up at the lower bound, J/mol.
    """

    t_min_k: float
    t_max_k: float
    coefficients: tuple[float, float, float, float, float]
    transition_j_mol: float = 0.0

    def enthalpy_j_mol(self, temperature_k: Floats) -> Floats:
        """Return the enthalpy gained between the lower bound and each temperature, J/mol."""
        a, b, c, d, e = self.coefficients

        def integral(t: Floats) -> Floats:
            return 1000.0 * (a * t + b * t**2 / 2 + c * t**3 / 3 + d * t**4 / 4 - e / t)

        return integral(temperature_k / 1000.0) - integral(np.array(self.t_min_k / 1000.0))

    def entropy_j_mol_k(self, temperature_k: Floats) -> Floats:
        """Return the entropy gained between the lower bound and each temperature, J/(mol K)."""
        a, b, c, d, e = self.coefficients

        def integral(t: Floats) -> Floats:
            return a * np.log(t) + b * t + c * t**2 / 2 + d * t**3 / 3 - e / (2 * t**2)

        return integral(temperature_k / 1000.0) - integral(np.array(self.t_min_k / 1000.0))


@dataclass(frozen=True)
class Substance:
    """One phase or gas with its thermochemistry.

    Attributes:
        name: Name inside its chemical system, such as ``"rutile"``.
        elements: Atoms per formula unit.
        enthalpy_j_mol: Standard enthalpy of formation at 298.15 K, J/mol.
        entropy_j_mol_k: Standard entropy at 298.15 K, J/(mol K).
        heat_capacity: Adjoining intervals, the first beginning at 298.15 K.
        uncertainty_j_mol: One standard deviation of the Gibbs energy, J/mol.
        sources: Citations of the numbers.
        estimate: Whether the numbers are our estimate and no table's.
    """

    name: str
    elements: Mapping[str, float]
    enthalpy_j_mol: float
    entropy_j_mol_k: float
    heat_capacity: tuple[HeatCapacity, ...]
    uncertainty_j_mol: float
    sources: tuple[str, ...]
    estimate: bool = False

    @property
    def t_max_k(self) -> float:
        """Highest temperature the heat capacity holds for, K."""
        return self.heat_capacity[-1].t_max_k

    def enthalpy_and_entropy(self, temperature_k: ArrayLike) -> tuple[Floats, Floats]:
        """Return enthalpy and entropy at each temperature.

        Args:
            temperature_k: Temperatures, K, any shape.

        Returns:
            Enthalpy, J/mol, and entropy, J/(mol K), both of the temperatures' shape.

        Raises:
            ProposalError: If a temperature lies outside the range of the heat capacity.
        """
        t = np.asarray(temperature_k, dtype=np.float64)
        if t.size and not bool(np.all((t >= REFERENCE_K - 1e-9) & (t <= self.t_max_k + 1e-9))):
            raise ProposalError(
                f"{self.name}: thermochemistry holds from {REFERENCE_K} K to {self.t_max_k} K; "
                f"asked for {float(np.min(t)):.2f} K to {float(np.max(t)):.2f} K"
            )
        enthalpy = np.full(t.shape, self.enthalpy_j_mol)
        entropy = np.full(t.shape, self.entropy_j_mol_k)
        for interval in self.heat_capacity:
            reached = t >= interval.t_min_k
            inside = np.clip(t, interval.t_min_k, interval.t_max_k)
            jump = np.where(reached, interval.transition_j_mol, 0.0)
            enthalpy = enthalpy + jump + interval.enthalpy_j_mol(inside)
            entropy = entropy + jump / interval.t_min_k + interval.entropy_j_mol_k(inside)
        return enthalpy, entropy

    def gibbs_j_mol(self, temperature_k: ArrayLike) -> Floats:
        """Return the standard Gibbs energy at each temperature.

        Args:
            temperature_k: Temperatures, K, any shape.

        Returns:
            Gibbs energy, J/mol, of the temperatures' shape.
        """
        enthalpy, entropy = self.enthalpy_and_entropy(temperature_k)
        return enthalpy - np.asarray(temperature_k, dtype=np.float64) * entropy


def read_substance(row: Mapping[str, Any], sources: Mapping[str, str]) -> Substance:
    """Build a substance from one row of a data file.

    Args:
        row: The table of a phase or gas, keys as in `labenv/physics/data/*.toml`.
        sources: Citations by key.

    Returns:
        The substance.

    Raises:
        ConfigError: If a key is missing, a source is not listed, or intervals do not adjoin.
    """
    try:
        intervals = tuple(
            HeatCapacity(
                t_min_k=float(item["t_min_k"]),
                t_max_k=float(item["t_max_k"]),
                coefficients=(
                    float(item["A"]),
                    float(item.get("B", 0.0)),
                    float(item.get("C", 0.0)),
                    float(item.get("D", 0.0)),
                    float(item.get("E", 0.0)),
                ),
                transition_j_mol=float(item.get("transition_j_mol", 0.0)),
            )
            for item in row["heat_capacity"]
        )
        substance = Substance(
            name=str(row["name"]),
            elements={str(k): float(v) for k, v in row["elements"].items()},
            enthalpy_j_mol=float(row["enthalpy_j_mol"]),
            entropy_j_mol_k=float(row["entropy_j_mol_k"]),
            heat_capacity=intervals,
            uncertainty_j_mol=float(row["uncertainty_j_mol"]),
            sources=tuple(sources[key] for key in row["source"]),
            estimate=bool(row.get("estimate", False)),
        )
    except KeyError as cause:
        raise ConfigError(f"{row.get('name', 'unnamed substance')}: missing {cause}") from cause
    bounds = [REFERENCE_K] + [interval.t_max_k for interval in intervals]
    for interval, begin in zip(intervals, bounds, strict=False):
        if interval.t_min_k != begin or interval.t_max_k <= begin:
            raise ConfigError(
                f"{substance.name}: heat capacity interval {interval.t_min_k}-{interval.t_max_k} K "
                f"must begin at {begin} K and end above it"
            )
    return substance
