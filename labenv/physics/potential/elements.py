"""Structures of the elements, for hulls and reactions, where the structure library has none.

Crystals are those of ASE's table of reference states at room temperature (after Ashcroft and Mermin
1976, Solid State Physics); the gases are their molecules in an empty box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

CRYSTAL_SOURCE = "ASE reference states, after Ashcroft and Mermin 1976, Solid State Physics"
MOLECULE_SOURCE = "Huber and Herzberg 1979, Constants of Diatomic Molecules"
# Bond lengths in angstrom; Huber and Herzberg 1979.
MOLECULES_A = {"H": 0.741, "N": 1.098, "O": 1.208, "F": 1.412, "Cl": 1.988}
_BOX_A = 9.0
_SIMPLE = {"fcc", "bcc", "hcp", "diamond", "sc", "rhombohedral"}


def element_structure(symbol: str) -> tuple[Structure, str] | None:
    """Return the structure of a pure element.

    Args:
        symbol: Such as ``Ba``.

    Returns:
        Structure and source, or None where neither table has a simple one.
    """
    from ase.data import atomic_numbers, reference_states
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure

    if symbol in MOLECULES_A:
        half = MOLECULES_A[symbol] / _BOX_A / 2.0
        places = [[0.5 - half, 0.5, 0.5], [0.5 + half, 0.5, 0.5]]
        return Structure(Lattice.cubic(_BOX_A), [symbol, symbol], places), MOLECULE_SOURCE
    state: Any = reference_states[atomic_numbers[symbol]]
    if state is None or state.get("symmetry") not in _SIMPLE:
        return None
    from ase.build import bulk
    from pymatgen.io.ase import AseAtomsAdaptor

    return AseAtomsAdaptor.get_structure(bulk(symbol)), CRYSTAL_SOURCE
