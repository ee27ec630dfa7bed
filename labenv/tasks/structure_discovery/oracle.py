"""The best that is known of a system: what a policy is measured against.

The oracle proposes the crystals of the structure library; within the action space, those that one
of the prototypes can stand for. It reads what no policy is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv.physics.potential.table import ELEMENT_PREFIX, potential_table
from labenv.physics.structures.library import phase_library
from labenv.tasks.structure_discovery.judge import score_of
from labenv.tasks.structure_discovery.prototypes import PROTOTYPES, DiscoverySpace, prototype
from labenv.tasks.structure_discovery.systems import reference_hull

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from pymatgen.core.structure import Structure

    from labenv.tasks.structure_discovery.systems import ChemicalSystem


def known_compounds(system: ChemicalSystem) -> dict[str, float]:
    """Return the compounds of a system that the potential puts within the window of the score.

    Args:
        system: Elements.

    Returns:
        Energy above the hull of the most stable structure of each composition, eV/atom, by its name
        in the structure library; elements are left out.
    """
    best = (min(polymorphs) for polymorphs in _polymorphs(system).values())
    return {name: above for above, name in sorted(best)}


def oracle_score(system: ChemicalSystem) -> float:
    """Return the score of proposing every known compound of a system.

    Args:
        system: Elements.

    Returns:
        The sum over compositions; a find beyond what is known scores more.
    """
    return sum(score_of(above) for above in known_compounds(system).values())


def oracle_actions(system: ChemicalSystem) -> list[NDArray[np.int64]]:
    """Return actions that lead to known compounds.

    Args:
        system: Elements.

    Returns:
        One action for each composition of which a prototype can stand for a known crystal.
    """
    space, found = DiscoverySpace(len(system.elements)), []
    for polymorphs in _polymorphs(system).values():
        actions = (_action(name, system, space) for _, name in sorted(polymorphs))
        found += [action for action in actions if action is not None][:1]
    return found


def _polymorphs(system: ChemicalSystem) -> dict[str, list[tuple[float, str]]]:
    """Return energy above the hull and name of the crystals that score, by formula."""
    hull = reference_hull(frozenset(system.elements))
    found: dict[str, list[tuple[float, str]]] = {}
    for energy in potential_table().within(system.elements):
        if len(energy.elements) == 1 or energy.phase.startswith(ELEMENT_PREFIX):
            continue
        above = hull.distance(energy.composition, energy.energy_ev_per_atom)
        if score_of(above.energy_above_hull_ev_per_atom) > 0.0:
            formula = phase_library().get(energy.phase).formula
            found.setdefault(formula, []).append((
                above.energy_above_hull_ev_per_atom,
                energy.phase,
            ))
    return found


def _action(name: str, system: ChemicalSystem, space: DiscoverySpace) -> NDArray[np.int64] | None:
    target = phase_library().get(name).structure().get_primitive_structure()
    for candidate in PROTOTYPES:
        places = _mapping(candidate, target, system)
        if places is not None:
            return space.action(candidate, places)
    return None


def _mapping(name: str, target: Structure, system: ChemicalSystem) -> tuple[int, ...] | None:
    """Return the elements on a prototype's places that make it the target, None if none do."""
    from pymatgen.analysis.structure_matcher import StructureMatcher

    cell, slots = prototype(name)
    if len(cell) != len(target) or len(slots) != len(target.composition):
        return None
    mapping = StructureMatcher().get_best_electronegativity_anonymous_mapping(cell, target)
    if not mapping:
        return None
    chosen = {str(one): str(other) for one, other in mapping.items()}
    return tuple(system.elements.index(chosen[slot]) for slot in slots)
