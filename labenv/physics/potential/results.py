"""What a potential says of a structure: a number with its worth, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

RelaxationStatus = Literal["converged", "unconverged", "invalid"]


@dataclass(frozen=True)
class SinglePoint:
    """Energy and forces of one structure as it stands.

    Attributes:
        energy_ev_per_atom: On the potential's own scale, eV per atom; None if invalid.
        max_force_ev_a: Largest force on an atom, eV/angstrom; None if invalid.
        fault: Why the structure could not be judged, empty if it was.
    """

    energy_ev_per_atom: float | None
    max_force_ev_a: float | None
    fault: str = ""


@dataclass(frozen=True)
class Relaxation:
    """Outcome of a relaxation; only a converged one carries an energy worth using.

    Attributes:
        status: "converged"; "unconverged" when the steps ran out with forces left; "invalid" when
            the potential failed or the structure was none.
        model_id: Potential that relaxed.
        energy_ev_per_atom: Final energy, eV per atom; None if invalid.
        max_force_ev_a: Largest force left on an atom, eV/angstrom; None if invalid.
        max_residual_ev_a: Largest entry of the forces with those on the cell, which convergence is
            judged by, eV/angstrom; None if invalid.
        volume_change: Final volume over initial one, less 1; None if invalid.
        steps: Steps taken.
        structure: Final structure, a pymatgen dictionary; None if invalid.
        message: What went wrong, empty if converged.
    """

    status: RelaxationStatus
    model_id: str
    energy_ev_per_atom: float | None
    max_force_ev_a: float | None
    max_residual_ev_a: float | None
    volume_change: float | None
    steps: int
    structure: dict[str, Any] | None
    message: str = ""

    @property
    def converged(self) -> bool:
        """Whether the energy is that of a relaxed structure."""
        return self.status == "converged"

    def final_structure(self) -> Structure | None:
        """Return the final structure, None if the relaxation was invalid."""
        from pymatgen.core.structure import Structure

        return None if self.structure is None else Structure.from_dict(self.structure)


def invalid_relaxation(model_id: str, message: str, steps: int = 0) -> Relaxation:
    """Return the outcome of a relaxation that gave nothing.

    Args:
        model_id: Potential asked.
        message: What went wrong.
        steps: Steps taken before.

    Returns:
        An invalid relaxation.
    """
    return Relaxation("invalid", model_id, None, None, None, None, steps, None, message)
