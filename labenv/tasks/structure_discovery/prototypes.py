"""Structures from numbers: a prototype, an element for each of its places, a volume and a strain.

The prototypes are crystals of the structure library. The cell starts at the size at which the
shortest bond has the share of its covalent radii (Cordero et al. 2008, Dalton Transactions 2832)
that it has in the prototype; the action scales and strains it from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.structures.library import phase_library
from labenv_schemas.errors import ProposalError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pymatgen.core.structure import Structure

# Names in the structure library: one of each type, cells of at most 28 atoms.
PROTOTYPES = (
    "MgO",
    "ZnO",
    "CeO2",
    "rutile",
    "anatase",
    "Cu2O",
    "CuO",
    "PbO-litharge",
    "BaO2",
    "MgB2",
    "corundum",
    "La2O3",
    "BaTiO3-cubic",
    "BaTiO3-tetragonal",
    "CaTiO3",
    "ilmenite",
    "BiFeO3",
    "spinel",
    "LiCoO2",
    "Nb3Sn",
    "BaTi2O5",
    "Ba2TiO4",
)
MOST_PLACES = 3
SCALES = (0.91, 0.94, 0.97, 1.0, 1.03, 1.06, 1.09)  # of the cell's edges
STRAINS = (-0.06, -0.03, 0.0, 0.03, 0.06)  # of c against a and b, at constant volume
_BOND_CUTOFF_A = 4.0


@cache
def prototype(name: str) -> tuple[Structure, tuple[str, ...]]:
    """Return a prototype's primitive cell and the elements on its places.

    Args:
        name: Of `PROTOTYPES`.

    Returns:
        The cell, not to be changed, and the elements in the order of its composition.
    """
    cell = phase_library().get(name).structure().get_primitive_structure()
    return cell, tuple(str(element) for element in cell.composition.elements)


@dataclass(frozen=True)
class DiscoverySpace:
    """What an action means: prototype, elements of its places, scale, strain.

    Attributes:
        elements: Elements of a system, that is, values of a place.
    """

    elements: int

    @property
    def levels(self) -> tuple[int, ...]:
        """Number of values of each part of an action."""
        places = (self.elements,) * MOST_PLACES
        return (len(PROTOTYPES), *places, len(SCALES), len(STRAINS))

    def action(
        self, name: str, places: tuple[int, ...], scale: int = 3, strain: int = 2
    ) -> NDArray[np.int64]:
        """Return an action.

        Args:
            name: Of `PROTOTYPES`.
            places: Index of the element on each place of the prototype.
            scale: Index into `SCALES`.
            strain: Index into `STRAINS`.

        Returns:
            Shape (6,).
        """
        filled = (*places, *(0,) * (MOST_PLACES - len(places)))
        return np.array([PROTOTYPES.index(name), *filled, scale, strain], dtype=np.int64)

    def read(self, action: object) -> NDArray[np.int64]:
        """Check an action.

        Args:
            action: Integers, shape (6,).

        Returns:
            The same, of a fixed type.

        Raises:
            ProposalError: If it is not of the space.
        """
        given = np.asarray(action)
        levels = np.array(self.levels)
        whole = given.shape == levels.shape and np.issubdtype(given.dtype, np.integer)
        if not whole or np.any(given < 0) or np.any(given >= levels):
            raise ProposalError(
                f"an action is {len(levels)} whole numbers below {self.levels} (prototype, element "
                f"of each place, scale, strain), not {action!r}"
            )
        return given.astype(np.int64)

    def build(self, action: NDArray[np.int64], elements: tuple[str, ...]) -> Structure:
        """Return the structure that an action means.

        Args:
            action: As `read` returns it.
            elements: Of the system.

        Returns:
            A new structure, before any relaxation; places beyond the prototype's are ignored.
        """
        from pymatgen.core.lattice import Lattice
        from pymatgen.core.structure import Structure

        which, *places, scale, strain = (int(value) for value in action)
        cell, slots = prototype(PROTOTYPES[which])
        chosen = {slot: elements[places[index]] for index, slot in enumerate(slots)}
        species = [chosen[str(site.specie)] for site in cell]
        same = Structure(cell.lattice, species, cell.frac_coords)
        factor = SCALES[scale] * _shortest_bond(cell) / _shortest_bond(same)
        along_c = (1.0 + STRAINS[strain]) ** (2.0 / 3.0)
        stretch = np.array([along_c**-0.5, along_c**-0.5, along_c]) * factor
        matrix = np.asarray(cell.lattice.matrix) * stretch
        return Structure(Lattice(matrix), species, cell.frac_coords)


def _shortest_bond(structure: Structure) -> float:
    """Return the smallest distance of two atoms over the sum of their covalent radii."""
    from ase.data import covalent_radii

    centers, others, _, distances = structure.get_neighbor_list(_BOND_CUTOFF_A)
    radii = np.array([covalent_radii[site.specie.Z] for site in structure])
    return float(np.min(distances / (radii[centers] + radii[others])))
