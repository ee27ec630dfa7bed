"""Relaxation of atoms and cell, believed only if it converged to something sane."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.potential.results import Relaxation, invalid_relaxation
from labenv.physics.potential.sanity import fault_of

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure


@dataclass(frozen=True)
class RelaxationSettings:
    """When a relaxation ends and when it is given up.

    Attributes:
        force_limit_ev_a: Converged below this, eV/angstrom, atoms and cell alike.
        max_steps: Steps at most.
        max_atoms: Largest cell taken.
        giving_up_force_ev_a: A larger force is no solid's, eV/angstrom.
        least_volume_ratio: A cell that shrinks below this share of its volume is given up.
        most_volume_ratio: A cell that grows beyond this multiple of its volume is given up.
    """

    force_limit_ev_a: float = 0.05
    max_steps: int = 300
    max_atoms: int = 200
    giving_up_force_ev_a: float = 150.0
    least_volume_ratio: float = 0.4
    most_volume_ratio: float = 2.0


def relax(
    structure: Structure,
    calculator: Any,  # noqa: ANN401 - ASE publishes no types
    model_id: str,
    settings: RelaxationSettings,
) -> Relaxation:
    """Relax atoms and cell with FIRE (Bitzek et al. 2006, Physical Review Letters 97, 170201).

    Args:
        structure: Start; it is not changed.
        calculator: ASE calculator with energy, forces and stress.
        model_id: Name of the potential, for the record.
        settings: Limits.

    Returns:
        The outcome, whatever happened: nothing that a proposed structure does raises.
    """
    fault = fault_of(structure, settings.max_atoms)
    if fault:
        return invalid_relaxation(model_id, fault)
    run = _Run(structure, calculator, model_id, settings)
    try:
        return run.outcome()
    except (ValueError, RuntimeError, ArithmeticError, np.linalg.LinAlgError) as cause:
        # What a potential raises on an exploding cell: atoms without neighbours, singular cells.
        message = f"the potential failed after {run.steps} steps: {cause}"
        return invalid_relaxation(model_id, message, run.steps)


class _Run:
    """One relaxation under way."""

    def __init__(
        self,
        structure: Structure,
        calculator: Any,  # noqa: ANN401 - ASE publishes no types
        model_id: str,
        settings: RelaxationSettings,
    ) -> None:
        from pymatgen.io.ase import AseAtomsAdaptor

        self.steps = 0
        self._settings = settings
        self._model_id = model_id
        self._volume_a3 = float(structure.volume)
        self._atoms: Any = AseAtomsAdaptor.get_atoms(structure)
        self._atoms.calc = calculator

    def outcome(self) -> Relaxation:
        from ase import filters, optimize

        make_movable: Any = filters.UnitCellFilter
        make_optimizer: Any = optimize.FIRE
        settings, movable = self._settings, make_movable(self._atoms)
        optimizer = make_optimizer(movable, logfile=None)
        fault = self._fault(movable)
        if not fault:
            for _ in optimizer.irun(fmax=settings.force_limit_ev_a, steps=settings.max_steps):
                self.steps = int(optimizer.nsteps)
                fault = self._fault(movable)
                if fault:
                    break
        if fault:
            return invalid_relaxation(self._model_id, fault, self.steps)
        return self._judged(movable)

    def _fault(self, movable: Any) -> str:  # noqa: ANN401
        settings = self._settings
        forces = np.asarray(movable.get_forces(), dtype=np.float64)
        ratio = float(self._atoms.get_volume()) / self._volume_a3
        if not (np.isfinite(forces).all() and np.isfinite(self._atoms.get_potential_energy())):
            return f"a force or the energy is not finite after {self.steps} steps"
        largest = float(np.max(np.linalg.norm(self._atoms.get_forces(), axis=1)))
        if largest > settings.giving_up_force_ev_a:
            return f"a force of {largest:.0f} eV/angstrom after {self.steps} steps"
        if not settings.least_volume_ratio <= ratio <= settings.most_volume_ratio:
            return f"the cell went to {ratio:.2f} times its volume after {self.steps} steps"
        return ""

    def _judged(self, movable: Any) -> Relaxation:  # noqa: ANN401
        """Return the outcome, judged by the forces that are left, not by what the run reports."""
        from pymatgen.io.ase import AseAtomsAdaptor

        final: Any = AseAtomsAdaptor.get_structure(self._atoms)
        fault = fault_of(final, self._settings.max_atoms)
        if fault:
            return invalid_relaxation(self._model_id, f"after relaxing, {fault}", self.steps)
        limit = self._settings.force_limit_ev_a
        residual = float(np.max(np.linalg.norm(movable.get_forces(), axis=1)))
        converged = residual <= limit
        return Relaxation(
            status="converged" if converged else "unconverged",
            model_id=self._model_id,
            energy_ev_per_atom=float(self._atoms.get_potential_energy()) / len(final),
            max_force_ev_a=float(np.max(np.linalg.norm(self._atoms.get_forces(), axis=1))),
            max_residual_ev_a=residual,
            volume_change=float(final.volume) / self._volume_a3 - 1.0,
            steps=self.steps,
            structure=_plain(final),
            message=""
            if converged
            else f"forces of {residual:.2f} eV/angstrom are left after {self.steps} steps, "
            f"{limit} is converged",
        )


def _plain(structure: Structure) -> dict[str, Any]:
    from pymatgen.core.structure import Structure

    bare = Structure(structure.lattice, structure.species, structure.frac_coords)
    plain: dict[str, Any] = json.loads(json.dumps(bare.as_dict(verbosity=0)))
    return plain
