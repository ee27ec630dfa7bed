"""One crystalline phase: its published structure, checked against its published density."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.structures.symmetry import expand, lattice_matrix, operations
from labenv_schemas.errors import SimulatorError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pymatgen.core.structure import Structure

_DENSITY_TOLERANCE = 0.015  # typing errors and wrong origins move a density by far more
_SAME_PLACE_A = 0.05
_KG_M3_PER_U_A3 = 1660.53906660  # CODATA 2018 atomic mass constant over 1 cubic angstrom


@dataclass(frozen=True)
class Site:
    """One site of an asymmetric unit.

    Attributes:
        element: Element symbol without charge; deuterium is ``D``.
        x: Fraction of the cell along a.
        y: Fraction of the cell along b.
        z: Fraction of the cell along c.
        occupancy: Share of the site's images that hold the element, above 0 and at most 1.
        b_iso_a2: Refined displacement parameter B, square angstrom; `None` for a usual one of the
            element.
    """

    element: str
    x: float
    y: float
    z: float
    occupancy: float = 1.0
    b_iso_a2: float | None = field(default=None, repr=False)

    @property
    def position(self) -> tuple[float, float, float]:
        """Fractional coordinates."""
        return (self.x, self.y, self.z)


@dataclass(frozen=True)
class CrystalPhase:
    """A crystal structure as published, small and picklable.

    Attributes:
        name: Unique name, as chemists write it: ``anatase``, ``BaTiO3-tetragonal``.
        formula: Formula as chemists write it: ``La(OH)3``.
        space_group: Hermann-Mauguin symbol with its setting, such as ``I4_1/amd:2``.
        lattice: a, b, c in angstrom; alpha, beta, gamma in degrees.
        sites: The asymmetric unit; every site of the cell where `expanded`.
        density_kg_m3: Published X-ray density, kg/m3, independent of `sites`.
        sites_per_cell: Number of distinct positions in the cell.
        source: Publication of the structure.
        aliases: Further names.
        expanded: Whether `sites` lists the whole cell, `space_group` being information only.
        density_source: Where `density_kg_m3` was published.
        note: What a user of the structure should know.
    """

    name: str
    formula: str
    space_group: str
    lattice: tuple[float, float, float, float, float, float]
    sites: tuple[Site, ...]
    density_kg_m3: float
    sites_per_cell: int
    source: str
    aliases: tuple[str, ...] = ()
    expanded: bool = False
    density_source: str = ""
    note: str = field(default="", compare=False)

    @property
    def elements(self) -> frozenset[str]:
        """Symbols of the elements on the sites, deuterium as ``D``."""
        return frozenset(site.element for site in self.sites)

    @property
    def volume_a3(self) -> float:
        """Volume of the cell, cubic angstrom."""
        return abs(float(np.linalg.det(lattice_matrix(self.lattice))))

    def cell_contents(self) -> tuple[tuple[Site, NDArray[np.float64]], ...]:
        """Return every site of the asymmetric unit with its images in the cell.

        Returns:
            Pairs of a site and the fractional coordinates of its images, shape (multiplicity, 3).

        Raises:
            SimulatorError: If the space group is unknown or leaves its origin open.
        """
        matrix = lattice_matrix(self.lattice)
        if self.expanded:
            return tuple((site, np.array([site.position])) for site in self.sites)
        rotations, translations = operations(self.space_group)
        return tuple(
            (site, expand(rotations, translations, site.position, matrix)) for site in self.sites
        )

    def structure(self) -> Structure:
        """Build the crystal and check it against what was published.

        Returns:
            A pymatgen structure of the whole cell; deuterium stays ``D``, which scatters X-rays as
            hydrogen does.

        Raises:
            SimulatorError: If the number of sites differs from the published one, the density by
                more than 1.5 %, or the composition from the formula.
        """
        from pymatgen.core.lattice import Lattice
        from pymatgen.core.structure import Structure

        species, positions, vibrations = self._occupied_positions()
        self._check(species)
        built = Structure(Lattice(lattice_matrix(self.lattice)), species, positions)
        if any(b_iso_a2 is not None for b_iso_a2 in vibrations):
            built.add_site_property("b_iso", vibrations)
        return built

    def _occupied_positions(
        self,
    ) -> tuple[list[dict[str, float]], NDArray[np.float64], list[float | None]]:
        """Return what stands at each distinct position, the positions (n, 3), and their B."""
        matrix = lattice_matrix(self.lattice)
        vibrations: list[float | None] = []
        species: list[dict[str, float]] = []
        positions = np.empty((0, 3))
        for site, images in self.cell_contents():
            for image in images:
                offsets = positions - image
                offsets -= np.round(offsets)
                near = np.flatnonzero(np.linalg.norm(offsets @ matrix, axis=1) < _SAME_PLACE_A)
                if near.size:
                    here = species[int(near[0])]
                    here[site.element] = here.get(site.element, 0.0) + site.occupancy
                else:
                    species.append({site.element: site.occupancy})
                    vibrations.append(site.b_iso_a2)
                    positions = np.vstack([positions, image])
        return species, positions, vibrations

    def _check(self, species: list[dict[str, float]]) -> None:
        if len(species) != self.sites_per_cell:
            message = (
                f"phase {self.name!r}: the structure has {len(species)} sites in its cell, "
                f"{self.sites_per_cell} are published; check the space group's setting and origin"
            )
            raise SimulatorError(message)
        overfull = max(sum(here.values()) for here in species)
        if overfull > 1.0 + 1e-3:
            message = f"phase {self.name!r}: a site is occupied {overfull:.3f} times"
            raise SimulatorError(message)
        contents: dict[str, float] = {}
        for here in species:
            for element, occupancy in here.items():
                contents[element] = contents.get(element, 0.0) + occupancy
        self._check_composition(contents)
        self._check_density(contents)

    def _check_composition(self, contents: dict[str, float]) -> None:
        expected = parse_formula(self.formula)
        total, formula_total = sum(contents.values()), sum(expected.amounts.values())
        for element in sorted(contents.keys() | expected.elements):
            found = contents.get(element, 0.0) / total
            wanted = expected.amounts.get(element, 0.0) / formula_total
            if abs(found - wanted) > 2e-3:
                message = (
                    f"phase {self.name!r}: {found:.4f} of the atoms in the cell are {element}, "
                    f"{wanted:.4f} in its formula {self.formula}"
                )
                raise SimulatorError(message)

    def _check_density(self, contents: dict[str, float]) -> None:
        mass_u = sum(
            amount * parse_formula(element).molar_mass_kg_per_mol * 1e3
            for element, amount in contents.items()
        )
        density_kg_m3 = mass_u / self.volume_a3 * _KG_M3_PER_U_A3
        if abs(density_kg_m3 / self.density_kg_m3 - 1.0) > _DENSITY_TOLERANCE:
            message = (
                f"phase {self.name!r}: the structure has a density of {density_kg_m3:.0f} kg/m3, "
                f"{self.density_kg_m3:.0f} is published; check coordinates, setting and origin"
            )
            raise SimulatorError(message)
