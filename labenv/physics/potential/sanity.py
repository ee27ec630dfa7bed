"""Which structures a potential may be asked about: faults are found before it is run.

A machine-learned potential answers nonsense with confidence where it was not trained, raises on an
atom without neighbours, and may write files when its neighbour search fails. None of that gets past
these checks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

MAX_ATOMS = 200
HEAVIEST_ATOMIC_NUMBER = 94
LONGEST_EDGE_A = 60.0
NEIGHBOUR_CUTOFF_A = 5.9  # just inside the 6 A of the potential's graph
CLOSEST_A = 0.5
# A bond is about the sum of the covalent radii; the most compressed known ones are above 0.8 of it.
OVERLAP_SHARE = 0.55


def fault_of(structure: Structure, max_atoms: int = MAX_ATOMS) -> str:
    """Return why a potential cannot judge a structure.

    Args:
        structure: Any structure.
        max_atoms: Largest cell taken.

    Returns:
        A sentence, or an empty text if nothing is wrong.
    """
    return fault_of_contents(structure, max_atoms) or _fault_of_distances(structure)


def fault_of_lattice(structure: Structure) -> str:
    """Return why a cell is no cell; see `fault_of`.

    Args:
        structure: Any structure.

    Returns:
        A sentence, or an empty text if nothing is wrong.
    """
    matrix = np.asarray(structure.lattice.matrix, dtype=np.float64)
    if not (np.isfinite(matrix).all() and np.isfinite(structure.frac_coords).all()):
        return "the cell or a coordinate is not a finite number"
    if max(structure.lattice.abc) > LONGEST_EDGE_A:
        return f"a cell edge exceeds {LONGEST_EDGE_A:.0f} angstrom"
    if abs(float(np.linalg.det(matrix))) / max(len(structure), 1) < 1.0:
        return "the cell has less than 1 cubic angstrom per atom"
    return ""


def fault_of_contents(structure: Structure, max_atoms: int = MAX_ATOMS) -> str:
    """Return what is wrong with a structure apart from its distances; see `fault_of`.

    Args:
        structure: Any structure.
        max_atoms: Largest cell taken.

    Returns:
        A sentence, or an empty text if nothing is wrong.
    """
    if not 1 <= len(structure) <= max_atoms:
        return f"the cell has {len(structure)} atoms; 1 to {max_atoms} are taken"
    if not structure.is_ordered:
        return "a site is shared by several elements or partly empty; give an ordered cell"
    heaviest = max(site.specie.Z for site in structure)
    if heaviest > HEAVIEST_ATOMIC_NUMBER:
        return f"the potential knows no element of atomic number {heaviest}"
    return fault_of_lattice(structure)


def _fault_of_distances(structure: Structure) -> str:
    from ase.data import covalent_radii

    centers, others, _, distances = structure.get_neighbor_list(NEIGHBOUR_CUTOFF_A)
    isolated = sorted(set(range(len(structure))) - set(centers.tolist()))
    if isolated:
        site = structure[isolated[0]]
        return (
            f"{site.specie} atom {isolated[0]} has no neighbour within {NEIGHBOUR_CUTOFF_A} "
            "angstrom; isolated atoms cannot be judged"
        )
    radii = np.array([covalent_radii[site.specie.Z] for site in structure])
    limits = np.maximum(OVERLAP_SHARE * (radii[centers] + radii[others]), CLOSEST_A)
    worst = int(np.argmin(distances - limits))
    if distances[worst] < limits[worst]:
        first, second = structure[int(centers[worst])], structure[int(others[worst])]
        return (
            f"{first.specie} and {second.specie} are {distances[worst]:.2f} angstrom apart; "
            f"closer than {limits[worst]:.2f} they overlap"
        )
    return ""


def all_finite(*numbers: float) -> bool:
    """Return whether every number is finite."""
    return all(math.isfinite(number) for number in numbers)
