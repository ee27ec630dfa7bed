"""Structures that a policy writes: a pymatgen structure, its dictionary, or the text of a CIF."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from labenv.physics.potential.sanity import fault_of_lattice
from labenv.physics.structures.cif import phase_from_cif
from labenv_schemas.errors import LabEnvError, ProposalError

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

_LONGEST_TEXT = 200_000


def read_structure(given: object) -> Structure:
    """Read a proposed structure.

    Args:
        given: A structure, the dictionary of its ``as_dict``, or the text of a CIF file.

    Returns:
        A new structure without site properties, charges or spins.

    Raises:
        ProposalError: If it is none; the message says what is wrong.
    """
    from pymatgen.core.structure import Structure

    try:
        if isinstance(given, str):
            found = _from_cif(given)
        elif isinstance(given, Mapping):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = Structure.from_dict(dict(given))
        elif isinstance(given, Structure):
            found = given.copy()
        else:
            raise ProposalError(
                "a structure is a pymatgen structure, its dictionary or the text of a CIF, not a "
                f"{type(given).__name__}; actions of the action space go to step()"
            )
        fault = fault_of_lattice(found) if len(found) else "it has no atoms"
        if fault:
            raise ProposalError(f"the structure cannot be used: {fault}")
        found.remove_oxidation_states()
        return Structure(found.lattice, found.species_and_occu, found.frac_coords)
    except LabEnvError as fault:
        raise ProposalError(str(fault)) from fault
    except Exception as cause:
        message = f"the structure cannot be read: {type(cause).__name__}: {cause}"
        raise ProposalError(message) from cause


def _from_cif(text: str) -> Structure:
    if len(text) > _LONGEST_TEXT:
        raise ProposalError(f"a CIF of {len(text)} characters; {_LONGEST_TEXT} are read")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proposal.cif"
        path.write_text(text, encoding="utf-8")
        phase = phase_from_cif(path)
    return phase.structure()
