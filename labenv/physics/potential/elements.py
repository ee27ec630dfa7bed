"""Structures of the elements, for hulls and reactions, where the structure library has none.

Crystals are those of ASE's table of reference states at room temperature (after Ashcroft and Mermin
1976, Solid State Physics); the gases are their molecules in an empty box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

CRYSTAL_SOURCE = "ASE reference states, after Ashcroft and Mermin 1976, Solid State Physics"
MOLECULE_SOURCE = "Huber and Herzberg 1979, Constants of Diatomic Molecules"
# Bond lengths in angstrom; Huber and Herzberg 1979.
MOLECULES_A = {"H": 0.741, "N": 1.098, "O": 1.208, "F": 1.412, "Cl": 1.988}
_BOX_A = 9.0
# Further crystals: space group, a, b, c (angstrom), gamma (degrees), sites, source.
_Cell = tuple[str, tuple[float, float, float], float, list[tuple[float, float, float]], str]
_CELLS: dict[str, _Cell] = {
    "B": (
        "R-3m:H",
        (4.908, 4.908, 12.567),
        120.0,
        [(0.1177, 0.2354, 0.8927), (0.1961, 0.3922, 0.0245)],
        "alpha boron, Decker and Kasper 1959, Acta Crystallographica 12, 503; rounded",
    ),
    "In": (
        "I4/mmm",
        (3.253, 3.253, 4.947),
        90.0,
        [(0.0, 0.0, 0.0)],
        "Wyckoff 1963, Crystal Structures",
    ),
    "Mn": (
        "I-43m",
        (8.913, 8.913, 8.913),
        90.0,
        [(0.0, 0.0, 0.0), (0.317, 0.317, 0.317), (0.356, 0.356, 0.042), (0.089, 0.089, 0.278)],
        "alpha manganese, Wyckoff 1963, Crystal Structures",
    ),
    "P": (
        "Cmce",
        (3.3136, 10.478, 4.3763),
        90.0,
        [(0.0, 0.1017, 0.0806)],
        "black phosphorus, Brown and Rundqvist 1965, Acta Crystallographica 19, 684",
    ),
    "Sn": (
        "I4_1/amd",
        (5.831, 5.831, 3.182),
        90.0,
        [(0.0, 0.0, 0.0)],
        "white tin, Wyckoff 1963, Crystal Structures",
    ),
}
_SITES = {"B": 36, "In": 2, "Mn": 58, "P": 8, "Sn": 4}  # in the conventional cell
_SIMPLE = {"fcc", "bcc", "hcp", "diamond", "sc", "rhombohedral"}


def element_structure(symbol: str) -> tuple[Structure, str] | None:
    """Return the structure of a pure element.

    Args:
        symbol: Such as ``Ba``.

    Returns:
        Structure and source, or None where no table has it.

    Raises:
        SimulatorError: If a typed cell does not have its published number of sites.
    """
    from ase.data import atomic_numbers, reference_states
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure

    if symbol in MOLECULES_A:
        half = MOLECULES_A[symbol] / _BOX_A / 2.0
        places = [[0.5 - half, 0.5, 0.5], [0.5 + half, 0.5, 0.5]]
        return Structure(Lattice.cubic(_BOX_A), [symbol, symbol], places), MOLECULE_SOURCE
    if symbol in _CELLS:
        return _typed(symbol)
    state: Any = reference_states[atomic_numbers[symbol]]
    if state is None or state.get("symmetry") not in _SIMPLE:
        return None
    from ase.build import bulk
    from pymatgen.io.ase import AseAtomsAdaptor

    try:
        crystal: Any = bulk(symbol)
    except (ValueError, KeyError):  # the table has no basis or angle for some
        return None
    return AseAtomsAdaptor.get_structure(crystal), CRYSTAL_SOURCE


def _typed(symbol: str) -> tuple[Structure, str]:
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure

    group, (a, b, c), gamma, sites, source = _CELLS[symbol]
    lattice = Lattice.from_parameters(a, b, c, 90.0, 90.0, gamma)
    crystal = Structure.from_spacegroup(group, lattice, [symbol] * len(sites), sites)
    if len(crystal) != _SITES[symbol]:
        message = f"the cell of {symbol} has {len(crystal)} sites, {_SITES[symbol]} are published"
        raise SimulatorError(message)
    return crystal.get_primitive_structure(), source
