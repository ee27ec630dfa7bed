"""What asking the potential costs: loading, cached, batched, and how far it is from experiment.

    python benchmarks/potential_energy.py

Needs the extra ``labenv[mlip]``. Ratios matter more than times: the machine is whatever it is.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING

from labenv.physics.potential import EnergySource, chgnet_source
from labenv.physics.potential.backends import ChgnetBackend
from labenv.physics.potential.reactions import NoSolidReactionError, formation_from_oxides
from labenv.physics.structures.library import phase_library
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Callable

# Gibbs energy of formation from the oxides at 298 K, kJ/mol: US Bureau of Mines tables (Pankratz
# 1982-1987, Bulletins 672, 674, 677, 682, 689).
MEASURED_KJ_PER_MOL = {
    "BaTiO3-tetragonal": -163.7,
    "SrTiO3": -138.9,
    "CaTiO3": -82.9,
    "BaZrO3": -132.1,
    "spinel": -25.2,
}


def seconds(what: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    what()
    return time.perf_counter() - start


def speed(count: int) -> None:
    """Print the cost of single points, one by one, batched and cached."""
    base = phase_library().get("rutile").structure().get_primitive_structure()
    cells = []
    for index in range(count):
        cell = base.copy()
        cell.scale_lattice(base.volume * (1.0 + 0.002 * index))
        cells.append(cell)
    backend = ChgnetBackend()
    first = seconds(lambda: EnergySource(backend).energies(cells[:1]))
    alone, together = EnergySource(backend), EnergySource(backend)
    one_by_one = seconds(lambda: [alone.energies([cell]) for cell in cells])
    batched = seconds(lambda: together.energies(cells))
    cached = seconds(lambda: together.energies(cells))
    print(f"loading and first energy  {first:8.2f} s")
    print(f"{count} one by one          {1e3 * one_by_one / count:8.2f} ms each")
    print(f"{count} batched             {1e3 * batched / count:8.2f} ms each")
    print(f"{count} cached              {1e3 * cached / count:8.2f} ms each")
    print(f"batched is {one_by_one / batched:.1f} times faster than one by one")
    print(f"cached is {one_by_one / cached:.0f} times faster than one by one")
    start = cells[-1]
    fresh = seconds(lambda: chgnet_source().relax(start))
    again = seconds(lambda: chgnet_source().relax(start))
    print(f"relaxation {fresh:.2f} s, cached {1e3 * again:.2f} ms")


def accuracy() -> None:
    """Print precomputed reaction energies beside measured ones."""
    errors: list[float] = []
    for name, measured in MEASURED_KJ_PER_MOL.items():
        try:
            phase, found = phase_library().get(name), formation_from_oxides(name)
        except (LookupError, NoSolidReactionError) as cause:
            print(f"{name:20s} {cause}")
            continue
        atoms = sum(parse_formula(phase.formula).amounts.values())
        ours, spread = found.energy_j_per_mol / 1e3, found.uncertainty_j_per_mol / 1e3
        errors.append(abs(ours - measured) / atoms)
        print(f"{name:20s} {ours:8.1f} +- {spread:5.1f} kJ/mol, measured {measured:8.1f}")
    print(f"mean error {statistics.mean(errors):.2f} kJ per mol of atoms")


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Cost and accuracy of the potential.")
    parser.add_argument("--structures", type=int, default=32)
    given = parser.parse_args()
    accuracy()
    speed(given.structures)


if __name__ == "__main__":
    main()
