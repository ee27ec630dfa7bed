"""The chemical systems that structures are sought in, and the hull of what is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from labenv.physics.potential.elements import element_structure
from labenv.physics.potential.hull import ReferenceHull, table_of
from labenv.physics.structures.library import phase_library
from labenv_schemas.errors import ConfigError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

    from labenv.physics.potential.source import EnergySource

DEFAULT_SYSTEMS = ("Ba-Ti-O", "Sr-Ti-O", "Ca-Ti-O", "Ni-Ti-O", "Mg-Al-O", "Bi-Fe-O")


@dataclass(frozen=True)
class ChemicalSystem:
    """Elements that may be combined, in the order in which actions name them.

    Attributes:
        name: Such as ``Ba-Ti-O``.
        elements: Its symbols.
    """

    name: str
    elements: tuple[str, ...]

    @classmethod
    def parse(cls, name: object) -> ChemicalSystem:
        """Read a system.

        Args:
            name: Symbols joined by hyphens, 1 to 5 different ones.

        Returns:
            The system.

        Raises:
            ConfigError: If it is none.
        """
        symbols = tuple(name.split("-")) if isinstance(name, str) else ()
        try:
            pure = all(list(parse_formula(symbol).elements) == [symbol] for symbol in symbols)
        except ValueError:
            pure = False
        if not (pure and 1 <= len(symbols) <= 5 and len(set(symbols)) == len(symbols)):
            raise ConfigError(
                f"a chemical system is written as Ba-Ti-O, 1 to 5 different elements, not {name!r}"
            )
        return cls("-".join(symbols), symbols)


@cache
def reference_hull(elements: frozenset[str]) -> ReferenceHull:
    """Return the hull of the precomputed energies of chgnet, built once per process.

    Args:
        elements: Of the system.

    Returns:
        The hull.
    """
    return ReferenceHull(elements)


_HULLS: dict[tuple[str, frozenset[str]], ReferenceHull] = {}


def hull_by(source: EnergySource, elements: frozenset[str]) -> ReferenceHull:
    """Return the hull of known phases by a potential that has no precomputed energies.

    Args:
        source: Potential.
        elements: Of the system.

    Returns:
        Over the library's ordered phases and the elements, as they stand; computed once per process
        for each model.
    """
    key = (source.model_id, elements)
    if key not in _HULLS:
        _HULLS[key] = ReferenceHull(elements, table_of(source, _known_structures(elements)))
    return _HULLS[key]


def _known_structures(elements: frozenset[str]) -> dict[str, Structure]:
    structures: dict[str, Structure] = {}
    for phase in phase_library().search(sorted(elements)):
        crystal = phase.structure()
        if crystal.is_ordered:
            structures[phase.name] = crystal.get_primitive_structure()
    for symbol in sorted(elements):
        found = element_structure(symbol)
        if found is not None:
            structures[f"element-{symbol}"] = found[0]
    return structures
