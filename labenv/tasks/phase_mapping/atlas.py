"""Maps: a grid, the hidden truth on it, what measured points say of it, and the score.

The rule of the map: every cell takes the label of the nearest measured point, with the whole range
of compositions as long as `TEMPERATURE_WEIGHT` ranges of temperature; of points in one place the
longest hold counts, of equal holds the latest. A cell's agreement is that of two sets of labels,
the size of what they share over that of what either holds (Jaccard); a map's is the mean.

The hidden truth is made of one of two things, both quenched and in air:

- ``firing``: what the longest hold of the settings gives with the episode's own rates, at the true
  temperature;
- ``equilibrium``: the assemblage of least Gibbs energy, liquid where all phases of a melting limit
  are dominant above its temperature. Short firings do not reach it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from labenv.lab.bench import MELTED_SHARE
from labenv.physics.thermochemistry import stable_assemblage
from labenv.tasks.phase_mapping.measuring import dominant
from labenv.tasks.phase_mapping.systems import mapped_system

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.tasks.phase_mapping.measuring import Conditions, Reading
    from labenv.tasks.phase_mapping.systems import MappedSystem

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

Truth = Literal["firing", "equilibrium"]
TEMPERATURE_WEIGHT = 0.5  # regions of a phase diagram are taller than wide


@dataclass(frozen=True)
class MapGrid:
    """Cells of a map; cell number = composition * T + temperature.

    Attributes:
        compositions: C values of x, ends included.
        temperatures: T temperatures.
        range_k: Lowest and highest, K.
    """

    compositions: int
    temperatures: int
    range_k: tuple[float, float]

    @cached_property
    def x(self) -> Floats:
        """Composition of each cell, shape (C * T,)."""
        return np.repeat(np.linspace(0.0, 1.0, self.compositions), self.temperatures)

    @cached_property
    def temperature_k(self) -> Floats:
        """Temperature of each cell, K, shape (C * T,)."""
        return np.tile(np.linspace(*self.range_k, self.temperatures), self.compositions)

    def distances(self, x: Floats, temperature_k: Floats) -> Floats:
        """Return how far points are from the cells.

        Args:
            x: Compositions, shape (N,).
            temperature_k: Temperatures, K, shape (N,).

        Returns:
            Distances in the measure of the map's rule, shape (C * T, N).
        """
        low, high = self.range_k
        across = self.x[:, None] - x
        along = TEMPERATURE_WEIGHT * (self.temperature_k[:, None] - temperature_k) / (high - low)
        return np.hypot(across, along)

    def cell_of(self, x: float, temperature_k: float) -> int:
        """Return the nearest cell's number."""
        return int(np.argmin(self.distances(np.array([x]), np.array([temperature_k]))[:, 0]))


def drawn_map(grid: MapGrid, readings: Sequence[Reading]) -> Bools | None:
    """Return the map that readings make.

    Args:
        grid: The cells.
        readings: In order of time.

    Returns:
        Labels of each cell, shape (cells, L); None without a reading.
    """
    if not readings:
        return None
    order = sorted(range(len(readings)), key=lambda i: (-readings[i].point.hold_s, -i))
    ordered = [readings[i] for i in order]
    x = np.array([r.point.x for r in ordered])
    temperature_k = np.array([r.point.temperature_k for r in ordered])
    nearest = np.argmin(np.round(grid.distances(x, temperature_k), 9), axis=1)
    labels = np.array([r.label for r in ordered], dtype=np.bool_)
    return np.asarray(labels[nearest])


def agreement(one: Bools, other: Bools) -> Floats:
    """Return the agreement of sets of labels, cell by cell.

    Args:
        one: Labels, shape (..., L).
        other: Labels, broadcasting against them.

    Returns:
        0 to 1, shape (...).
    """
    shared = (one & other).sum(axis=-1)
    return np.asarray(shared / np.maximum((one | other).sum(axis=-1), 1))


def hidden_map(
    mapped: MappedSystem, grid: MapGrid, kind: Truth, hold_s: float, conditions: Conditions
) -> Bools:
    """Return the truth.

    Args:
        mapped: The system.
        grid: The cells.
        kind: Firing or equilibrium.
        hold_s: Hold of the firing, s.
        conditions: Hidden ones of the episode.

    Returns:
        Labels of each cell, shape (cells, L).
    """
    if kind == "equilibrium":
        return equilibrium_map(mapped.name, grid)
    holds = np.full(len(grid.x), hold_s)
    fired = mapped.fire(grid.x, grid.temperature_k, holds, conditions.factors)
    shares = mapped.label_shares(mapped.system.mass_fractions(fired.powder.amounts_mol))
    return _with_liquid(dominant(shares), fired.liquid_share > MELTED_SHARE)


@lru_cache(maxsize=32)
def equilibrium_map(name: str, grid: MapGrid) -> Bools:
    """Return the equilibrium map of a system, made once per process.

    Args:
        name: Of the pair.
        grid: The cells.

    Returns:
        Labels of each cell, shape (cells, L), not writable.
    """
    mapped = mapped_system(name)
    system, gas = mapped.system, np.maximum(mapped.gas_pa, mapped.system.bed_pa)
    amounts = np.array([
        stable_assemblage(system.phases, system.gases, row, at_k, gas)
        for row, at_k in zip(mapped.amounts_mol(grid.x), grid.temperature_k.tolist(), strict=True)
    ])
    fractions = system.mass_fractions(np.maximum(amounts, 0.0))
    there = dominant(fractions, 0.1)
    melted = np.zeros(len(there), dtype=np.bool_)
    for limit in system.melting:
        members = [system.phase_index(phase) for phase in limit.phases]
        melted |= there[:, members].all(axis=1) & (grid.temperature_k >= limit.temperature_k)
    labels = _with_liquid(dominant(mapped.label_shares(fractions)), melted)
    labels.flags.writeable = False
    return labels


def _with_liquid(labels: Bools, melted: Bools) -> Bools:
    labels[melted] = False
    labels[melted, -1] = True
    return labels


__all__ = [
    "TEMPERATURE_WEIGHT",
    "MapGrid",
    "Truth",
    "agreement",
    "drawn_map",
    "equilibrium_map",
    "hidden_map",
]
