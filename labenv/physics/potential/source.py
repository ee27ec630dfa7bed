"""Energies of structures by a potential: checked, cached, batched, relaxed.

>>> from labenv.physics.potential import chgnet_source
>>> source = chgnet_source()                                    # doctest: +SKIP
>>> source.energies([phase_library().get("MgO").structure()])   # doctest: +SKIP
array([-7.3...])
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.potential.backends import Backend, ChgnetBackend, chgnet_version
from labenv.physics.potential.cache import ResultCache, structure_key
from labenv.physics.potential.relaxation import RelaxationSettings, relax
from labenv.physics.potential.results import Relaxation, SinglePoint, invalid_relaxation
from labenv.physics.potential.sanity import fault_of, fault_of_contents
from labenv_schemas.errors import ProposalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pymatgen.core.structure import Structure


class EnergySource:
    """A potential with its checks and its memory.

    Pickles with its cache and without its model, which is loaded again where it is used.

    Args:
        backend: The potential.
        cache: Where answers are kept; None for a new one in memory.
    """

    def __init__(self, backend: Backend, cache: ResultCache | None = None) -> None:
        self._backend = backend
        self.cache = ResultCache() if cache is None else cache

    @property
    def model_id(self) -> str:
        """Name and version of the potential."""
        return self._backend.model_id

    def single_points(self, structures: Sequence[Structure]) -> list[SinglePoint]:
        """Judge structures as they stand.

        Args:
            structures: Any number; those not seen before are run together.

        Returns:
            One result each, in order; what cannot be judged has a fault in place of an energy.

        Raises:
            ConfigError: If the potential is not installed.
        """
        plain = [light_hydrogen(structure) for structure in structures]
        faults = [fault_of_contents(structure) for structure in plain]
        keys = [
            fault or structure_key(structure, self.model_id)
            for structure, fault in zip(plain, faults, strict=True)
        ]
        results = {fault: SinglePoint(None, None, fault) for fault in faults if fault}
        waiting: dict[str, Structure] = {}
        for key, structure in zip(keys, plain, strict=True):
            if key in results or key in waiting:
                continue
            known = self.cache.get(key)
            if isinstance(known, SinglePoint):
                results[key] = known
            elif fault := fault_of(structure):
                results[key] = SinglePoint(None, None, fault)
            else:
                waiting[key] = structure
        if waiting:
            found = self._backend.predict(list(waiting.values()))
            for key, point in zip(waiting, found, strict=True):
                results[key] = point
                self.cache.put(key, point)
        return [results[key] for key in keys]

    def energies(self, structures: Sequence[Structure]) -> NDArray[np.float64]:
        """Return energies of structures as they stand.

        Args:
            structures: Any number.

        Returns:
            eV per atom on the potential's own scale, shape (n,).

        Raises:
            ProposalError: If one cannot be judged; the message says which and why.
        """
        points = self.single_points(structures)
        for index, point in enumerate(points):
            if point.energy_ev_per_atom is None:
                raise ProposalError(f"structure {index}: {point.fault}")
        return np.array([point.energy_ev_per_atom for point in points], dtype=np.float64)

    def relax(self, structure: Structure, settings: RelaxationSettings | None = None) -> Relaxation:
        """Relax atoms and cell.

        Args:
            structure: Start; it is not changed.
            settings: Limits; None for the defaults.

        Returns:
            The outcome; bad structures give an invalid one and never raise.
        """
        settings = settings or RelaxationSettings()
        structure = light_hydrogen(structure)
        fault = fault_of_contents(structure, settings.max_atoms)
        if fault:
            return invalid_relaxation(self.model_id, fault)
        key = structure_key(structure, self.model_id, repr(dataclasses.astuple(settings)))
        known = self.cache.get(key)
        if isinstance(known, Relaxation):
            return known
        fault = fault_of(structure, settings.max_atoms)
        if fault:
            return invalid_relaxation(self.model_id, fault)
        with self._backend.quiet():
            found = relax(structure, self._backend.calculator(), self.model_id, settings)
        self.cache.put(key, found)
        return found

    def save(self) -> None:
        """Write the cache into its file, if it has one."""
        self.cache.save()


@cache
def chgnet_source() -> EnergySource:
    """Return the energies that labenv stands on, shared by the whole process.

    Returns:
        CHGNet with its r2SCAN weights, loaded at the first question that needs it.

    Raises:
        ConfigError: If chgnet is not installed.
    """
    chgnet_version()
    return EnergySource(ChgnetBackend())


def light_hydrogen(structure: Structure) -> Structure:
    """Return the structure with deuterium as hydrogen, which has the same electrons.

    Args:
        structure: Any structure.

    Returns:
        The same object if there is no deuterium in it.
    """
    if not any(str(element) == "D" for element in structure.composition.elements):
        return structure
    light: Structure = structure.copy()
    light.replace_species({"D": "H"})
    return light
