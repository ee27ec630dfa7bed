"""Energies of crystal structures by a machine-learned potential, CHGNet's r2SCAN model.

Precomputed energies of the structure library need nothing installed: `PotentialTable`,
`formation_from_oxides`. Structures that are not in it go to `chgnet_source`, which needs the extra
``labenv[mlip]`` and imports torch at its first question. Energies of different potentials, or of a
potential and of experiment, never share a hull.
"""

from labenv.physics.potential.relaxation import RelaxationSettings
from labenv.physics.potential.results import Relaxation, SinglePoint
from labenv.physics.potential.source import EnergySource, chgnet_source

__all__ = ["EnergySource", "Relaxation", "RelaxationSettings", "SinglePoint", "chgnet_source"]
