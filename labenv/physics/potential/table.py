"""Energies of the structure library computed beforehand; reading them needs no potential.

``python -m labenv.physics.potential.precompute`` writes the file. An energy counts only where the
relaxation converged and the structure in the library still is the one that was relaxed.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FILE_NAME = "potential_r2scan.json"
PRIMARY = "chgnet"
ELEMENT_PREFIX = "element-"
# r2SCAN itself is within a few per cent of measured volumes; the potential errs by more where it
# was hardly trained, as on white tin. Set between the lone-pair oxide PbO (12 %) and that.
LARGEST_VOLUME_ERROR = 0.15


@dataclass(frozen=True)
class TabledEnergy:
    """One phase as one potential sees it, relaxed.

    Attributes:
        phase: Name in the structure library, or ``element-Ba`` for a reference element.
        composition: Atoms of each element in the cell that was relaxed.
        model_id: Potential.
        energy_ev_per_atom: eV per atom on the potential's own scale.
        volume_change: Relaxed volume over published one, less 1.
    """

    phase: str
    composition: dict[str, float]
    model_id: str
    energy_ev_per_atom: float
    volume_change: float

    @property
    def atoms(self) -> float:
        """Atoms in the cell."""
        return sum(self.composition.values())

    @property
    def trusted(self) -> bool:
        """Whether the potential keeps the crystal near its published volume."""
        return abs(self.volume_change) <= LARGEST_VOLUME_ERROR

    @property
    def elements(self) -> frozenset[str]:
        """Symbols of its elements."""
        return frozenset(self.composition)


class PotentialTable:
    """The energies of one potential, by phase.

    Args:
        energies: Of one model.

    Raises:
        SimulatorError: If an energy is not finite, or two models are mixed.
    """

    def __init__(self, energies: Iterable[TabledEnergy]) -> None:
        self._by_phase: dict[str, TabledEnergy] = {}
        for energy in energies:
            if not math.isfinite(energy.energy_ev_per_atom):
                raise SimulatorError(
                    f"phase {energy.phase!r} has the energy {energy.energy_ev_per_atom} eV/atom; "
                    "an energy that is not finite is refused, for it would empty the hull silently"
                )
            self._by_phase[energy.phase] = energy
        models = {energy.model_id for energy in self}
        if len(models) > 1:
            raise SimulatorError(
                f"energies of {', '.join(sorted(models))} are on different scales; a table holds "
                "those of one potential"
            )
        self.model_id = next(iter(models), "")

    def __iter__(self) -> Iterator[TabledEnergy]:
        return iter(self._by_phase.values())

    def __len__(self) -> int:
        return len(self._by_phase)

    def __contains__(self, phase: object) -> bool:
        return phase in self._by_phase

    def get(self, phase: str) -> TabledEnergy | None:
        """Return the energy of a phase by its library name, None if there is none."""
        return self._by_phase.get(phase)

    def within(self, elements: Iterable[str]) -> list[TabledEnergy]:
        """Return the energies of a chemical system and its subsystems."""
        allowed = frozenset(elements)
        return [energy for energy in self if energy.elements <= allowed]


@cache
def potential_table(model: str = PRIMARY) -> PotentialTable:
    """Return the precomputed energies of one potential.

    Args:
        model: Beginning of its id, such as ``chgnet``, ``diep`` or ``7net``.

    Returns:
        The converged ones; empty if the file has none of that model.

    Raises:
        SimulatorError: If the file is damaged.
    """
    data = read_data()
    try:
        return PotentialTable(
            TabledEnergy(
                phase=name,
                composition=dict(entry["composition"]),
                model_id=model_id,
                energy_ev_per_atom=float(result["energy_ev_per_atom"]),
                volume_change=float(result["volume_change"]),
            )
            for name, entry in data["phases"].items()
            for model_id, result in entry["results"].items()
            if model_id.startswith(model) and result["converged"]
        )
    except (KeyError, TypeError, AttributeError) as cause:
        message = f"{FILE_NAME} is damaged ({cause!r}); run the precompute module again"
        raise SimulatorError(message) from cause


def read_data() -> dict[str, Any]:
    """Return the file of precomputed energies as plain data.

    Returns:
        ``phases`` by name, and ``skipped`` with the reason by name.

    Raises:
        SimulatorError: If the file is missing or no JSON.
    """
    path = files("labenv.physics") / "data" / FILE_NAME
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise SimulatorError(f"{FILE_NAME} cannot be read: {cause}") from cause
    return data
