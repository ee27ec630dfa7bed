"""Relax the structure library with a potential and keep the energies.

    python -m labenv.physics.potential.precompute                        # chgnet, the first column
    python -m labenv.physics.potential.precompute --potential diep       # a second opinion

Only what is missing or whose structure changed is computed; the file is written as it goes, so the
run may be stopped and started again. Phases with shared or partly empty sites are listed as
skipped.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labenv.physics.potential.cache import structure_key, write_json
from labenv.physics.potential.elements import element_structure
from labenv.physics.potential.relaxation import RelaxationSettings
from labenv.physics.potential.second_opinion import RECIPES, make_backend
from labenv.physics.potential.source import EnergySource, light_hydrogen
from labenv.physics.potential.table import ELEMENT_PREFIX, FILE_NAME
from labenv.physics.structures.library import phase_library
from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pymatgen.core.structure import Structure

    from labenv.physics.potential.results import Relaxation

DATA = Path(__file__).parent.parent / "data" / FILE_NAME
SHORT_ABOVE_ATOMS = 120
SHORT = RelaxationSettings(max_steps=40, max_atoms=400)
FULL = RelaxationSettings(max_steps=500, max_atoms=SHORT_ABOVE_ATOMS)
_SAVE_EVERY_S = 20.0
_LOG = logging.getLogger("labenv.precompute")


def subjects() -> Iterator[tuple[str, str, Structure | None, str]]:
    """Yield name, formula, primitive cell and source of every phase and reference element.

    Yields:
        The cell is None where it cannot be relaxed; the last text then says why.
    """
    library, pure = phase_library(), set[str]()
    elements: set[str] = set()
    for phase in library:
        elements |= phase.elements
        if len(phase.elements) == 1:
            pure |= phase.elements
        try:
            whole = light_hydrogen(phase.structure())
        except SimulatorError as fault:
            yield phase.name, phase.formula, None, str(fault)
            continue
        if not whole.is_ordered:
            yield phase.name, phase.formula, None, "sites are shared or partly empty"
            continue
        yield phase.name, phase.formula, whole.get_primitive_structure(), phase.source
    for symbol in sorted(elements - pure - {"D"}):
        found = element_structure(symbol)
        if found is None:
            yield ELEMENT_PREFIX + symbol, symbol, None, "no simple reference structure is known"
        else:
            yield ELEMENT_PREFIX + symbol, symbol, *found


def precompute(source: EnergySource, path: Path) -> dict[str, int]:
    """Fill one column of the file.

    Args:
        source: The potential.
        path: JSON file, made if there is none.

    Returns:
        Numbers of phases by what became of them.
    """
    # Small cells first: a run that is stopped early has the elements, which every hull needs.
    everything = sorted(subjects(), key=lambda one: len(one[2] or ()))
    old = read(path)["phases"]
    fresh: dict[str, Any] = {}
    skipped = {name: text for name, _, structure, text in everything if structure is None}
    known = {name for name, *_ in everything}
    counts = {"kept": 0, "converged": 0, "unconverged": 0, "invalid": 0, "skipped": len(skipped)}
    merge(path, fresh, skipped, known)
    saved_s = time.monotonic()
    for name, formula, structure, _ in everything:
        if structure is None:
            continue
        key = structure_key(structure, "")
        entry = old.get(name)
        if entry and entry["structure"] == key and source.model_id in entry["results"]:
            counts["kept"] += 1
            continue
        found = source.relax(structure, SHORT if len(structure) > SHORT_ABOVE_ATOMS else FULL)
        counts[found.status] += 1
        _LOG.info("%s %s %s %s", name, found.status, found.energy_ev_per_atom, found.message)
        fresh[name] = _entry(formula, structure, key, source.model_id, found)
        if time.monotonic() - saved_s > _SAVE_EVERY_S:
            merge(path, fresh, skipped, known)
            saved_s = time.monotonic()
    merge(path, fresh, skipped, known)
    return counts


def _entry(
    formula: str, structure: Structure, key: str, model_id: str, found: Relaxation
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "energy_ev_per_atom": _rounded(found.energy_ev_per_atom, 6),
        "volume_change": _rounded(found.volume_change, 4),
        "max_force_ev_a": _rounded(found.max_force_ev_a, 4),
        "converged": found.converged,
        "steps": found.steps,
    }
    if found.message:
        result["message"] = found.message
    amounts = structure.composition.get_el_amt_dict()
    return {
        "formula": formula,
        "structure": key,
        "composition": {element: float(amount) for element, amount in amounts.items()},
        "results": {model_id: result},
    }


def read(path: Path) -> dict[str, Any]:
    """Return the file's content, empty if there is no file."""
    if not path.exists():
        return {"phases": {}, "skipped": {}}
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def merge(
    path: Path, fresh: dict[str, Any], skipped: dict[str, str], known: set[str] | None = None
) -> None:
    """Write new results into the file beside those of other potentials.

    Args:
        path: JSON file.
        fresh: New entries; results of a structure that has changed since are dropped.
        skipped: Why, by name.
        known: All names there are; entries of others are dropped. None keeps all.
    """
    data = read(path)
    phases: dict[str, Any] = data["phases"]
    for name, entry in fresh.items():
        before = phases.get(name)
        results = entry["results"]
        if before and before["structure"] == entry["structure"]:
            results = {**before["results"], **results}
        phases[name] = {**entry, "results": dict(sorted(results.items()))}
    kept = {
        name: phases[name]
        for name in sorted(phases)
        if name not in skipped and (known is None or name in known)
    }
    content = {
        "about": "Energies by machine-learned potentials, each on its own scale; written by "
        "python -m labenv.physics.potential.precompute. Only energies of one potential compare.",
        "phases": kept,
        "skipped": dict(sorted(skipped.items())),
    }
    write_json(path, content, indent=1)


def _rounded(number: float | None, digits: int) -> float | None:
    return None if number is None else round(number, digits)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--potential", default="chgnet", choices=["chgnet", *RECIPES])
    parser.add_argument("--output", type=Path, default=DATA)
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    counts = precompute(EnergySource(make_backend(given.potential)), given.output)
    _LOG.info("%s", counts)


if __name__ == "__main__":
    main()
