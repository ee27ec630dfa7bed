"""Energy above the convex hull of one potential's own energies.

The hull is made of the precomputed energies of the structure library and of reference elements, all
by the same potential. A structure below it is a find: its distance is negative, measured to the
hull without it. One too far below is no find but a failure of the potential.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labenv.physics.potential.source import EnergySource, chgnet_source, light_hydrogen
from labenv.physics.potential.table import PotentialTable, TabledEnergy, potential_table
from labenv_schemas.errors import ConfigError, ProposalError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pymatgen.core.structure import Structure

    from labenv.physics.potential.relaxation import RelaxationSettings

# New compounds reported by large searches lie tens of meV below older hulls (Merchant et al. 2023,
# Nature 624, 80); a binary or ternary 0.3 eV/atom below its neighbours is an estimate of what no
# overlooked solid reaches.
DEEPEST_EV_PER_ATOM = 0.3


@dataclass(frozen=True)
class HullDistance:
    """Where a composition's energy lies with respect to the hull of known phases.

    Attributes:
        energy_above_hull_ev_per_atom: Above 0 it decomposes, below 0 it is a find, eV per atom.
        decomposition: Share of the atoms in each phase of the hull below (or above) it.
        model_id: Potential of all energies.
    """

    energy_above_hull_ev_per_atom: float
    decomposition: dict[str, float]
    model_id: str


class ReferenceHull:
    """The convex hull of one chemical system by one potential.

    Args:
        elements: Of the system.
        table: Energies of one potential; None for the precomputed ones of chgnet.

    Raises:
        ConfigError: If the energy of a pure element is missing; all missing ones are listed.
    """

    def __init__(self, elements: Iterable[str], table: PotentialTable | None = None) -> None:
        table = potential_table() if table is None else table
        self.elements = frozenset(elements)
        self.model_id = table.model_id
        known = table.within(self.elements)
        have = {next(iter(energy.elements)) for energy in known if len(energy.elements) == 1}
        missing = sorted(self.elements - have)
        if missing:
            raise ConfigError(
                f"the hull of {'-'.join(sorted(self.elements))} lacks the energies of pure "
                f"{', '.join(missing)}; a hull needs every element of its system"
            )
        self._diagram = _diagram(known)

    def distance(self, amounts: Mapping[str, float], energy_ev_per_atom: float) -> HullDistance:
        """Return the distance of an energy from the hull at its composition.

        Args:
            amounts: Amount of each element, any scale.
            energy_ev_per_atom: By the same potential, relaxed.

        Returns:
            The distance, negative for a find.

        Raises:
            ProposalError: If the energy is not finite or an element is not of the system.
            SimulatorError: If it is so far below the hull that the potential must have failed.
        """
        from pymatgen.core.composition import Composition

        if not math.isfinite(energy_ev_per_atom):
            raise ProposalError(f"an energy of {energy_ev_per_atom} eV/atom has no place on a hull")
        strange = sorted(set(amounts) - self.elements)
        if strange or not amounts:
            raise ProposalError(
                f"{', '.join(strange) or 'nothing'} is not of {'-'.join(sorted(self.elements))}"
            )
        composition: Any = Composition(amounts).fractional_composition
        hull = self.energy_ev_per_atom(amounts)
        parts: Any = self._diagram.get_decomposition(composition)
        distance = energy_ev_per_atom - hull
        if distance < -DEEPEST_EV_PER_ATOM:
            raise SimulatorError(
                f"{composition.reduced_formula} came out {-distance:.2f} eV/atom below the hull; "
                f"more than {DEEPEST_EV_PER_ATOM} is a failure of the potential, not a find"
            )
        decomposition = {str(entry.name): float(share) for entry, share in parts.items()}
        return HullDistance(distance, decomposition, self.model_id)

    def energy_ev_per_atom(self, amounts: Mapping[str, float]) -> float:
        """Return the hull's energy at a composition, eV/atom; `amounts` of its elements."""
        from pymatgen.core.composition import Composition

        return float(self._diagram.get_hull_energy_per_atom(Composition(amounts)))

    def known_compositions(self) -> dict[str, dict[str, float]]:
        """Return the atomic fractions of every phase of the table, by reduced formula."""
        found: dict[str, dict[str, float]] = {}
        for entry in self._diagram.all_entries:
            atoms = float(entry.composition.num_atoms)
            fractions = {str(e): float(n) / atoms for e, n in entry.composition.items()}
            found[str(entry.composition.reduced_formula)] = fractions
        return found

    def stable_phases(self) -> tuple[str, ...]:
        """Return the names of the phases on the hull, elements included."""
        return tuple(sorted(str(entry.name) for entry in self._diagram.stable_entries))


def energy_above_hull(
    structure: Structure,
    *,
    source: EnergySource | None = None,
    table: PotentialTable | None = None,
    settings: RelaxationSettings | None = None,
) -> HullDistance:
    """Relax a structure and return its distance from the hull of its chemical system.

    Args:
        structure: Ordered; it is not changed.
        source: Potential; None for chgnet.
        table: Energies of the same potential; None for the precomputed ones.
        settings: Limits of the relaxation.

    Returns:
        The distance, negative for a find.

    Raises:
        ConfigError: If chgnet is not installed, an element's energy is missing, or potential and
            table are not the same.
        ProposalError: If the structure does not relax to something sane; the message says why.
    """
    source = chgnet_source() if source is None else source
    structure = light_hydrogen(structure)
    amounts = structure.composition.get_el_amt_dict()
    hull = ReferenceHull(amounts, table)
    if hull.model_id != source.model_id:
        raise ConfigError(
            f"energies of {source.model_id} and of {hull.model_id} never share a hull; compute the "
            "library with the same potential"
        )
    found = source.relax(structure, settings)
    if not found.converged or found.energy_ev_per_atom is None:
        raise ProposalError(f"{found.status}: {found.message}")
    return hull.distance(amounts, found.energy_ev_per_atom)


def table_of(source: EnergySource, structures: Mapping[str, Structure]) -> PotentialTable:
    """Return the energies of structures as they stand, as a table for `ReferenceHull`.

    Args:
        source: Potential.
        structures: By name; ordered.

    Returns:
        The table; what the potential cannot judge is left out.
    """
    plain = {name: light_hydrogen(structure) for name, structure in structures.items()}
    points = source.single_points(list(plain.values()))
    return PotentialTable(
        TabledEnergy(
            name,
            structure.composition.get_el_amt_dict(),
            source.model_id,
            point.energy_ev_per_atom,
            0.0,
        )
        for (name, structure), point in zip(plain.items(), points, strict=True)
        if point.energy_ev_per_atom is not None
    )


def _diagram(energies: Iterable[TabledEnergy]) -> Any:  # noqa: ANN401 - pymatgen's, untyped
    from pymatgen.analysis.phase_diagram import PDEntry, PhaseDiagram

    return PhaseDiagram([
        PDEntry(one.composition, one.energy_ev_per_atom * one.atoms, name=one.phase)
        for one in energies
    ])
