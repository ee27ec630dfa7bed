"""The crystal structure library: cited phases, and the reader of users' CIF files."""

from labenv.physics.structures.cif import phase_from_cif
from labenv.physics.structures.library import PhaseLibrary, phase_library
from labenv.physics.structures.phase import CrystalPhase, Site

__all__ = ["CrystalPhase", "PhaseLibrary", "Site", "phase_from_cif", "phase_library"]
