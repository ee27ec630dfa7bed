"""Densities and volume shares of a fired bar's phases; what they conduct is physics' to say.

A phase of which `labenv.physics.superconductivity` knows no critical temperature stays normal.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.structures.library import phase_library
from labenv.physics.transport_properties import TransportRow, other_row, ybco_row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.physics.reactions import ReactionSystem

    Floats = NDArray[np.float64]

YBCO = ("YBa2Cu3O6", "YBa2Cu3O7")
OTHER_DENSITY_KG_M3 = 5500.0  # estimate, for phases without a published crystal structure


@lru_cache(maxsize=256)
def density_kg_m3(structure: str) -> float:
    """Return the density of a crystal.

    Args:
        structure: Slug in the structure library.

    Returns:
        kg/m^3, an estimate if the library does not have it.
    """
    library = phase_library()
    return library.get(structure).density_kg_m3 if structure in library else OTHER_DENSITY_KG_M3


def volume_shares(system: ReactionSystem, amounts_mol: Floats) -> Floats:
    """Return the volume share of each phase.

    Args:
        system: The chemical system.
        amounts_mol: Shape (P,).

    Returns:
        Shape (P,), adding up to 1.
    """
    densities = np.array([density_kg_m3(structure) for structure in system.structures])
    volume = amounts_mol * system.molar_mass_kg_mol / densities
    return np.asarray(volume / volume.sum())


__all__ = ["YBCO", "TransportRow", "density_kg_m3", "other_row", "volume_shares", "ybco_row"]
