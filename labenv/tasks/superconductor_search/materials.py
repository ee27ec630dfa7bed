"""What the phases of a fired bar conduct and where they superconduct.

Critical temperatures come from `labenv.physics.superconductivity`; a phase that it does not know
stays normal. Normal resistivities matter little to a transition's temperature and are rough.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.physics.structures.library import phase_library
from labenv.physics.superconductivity import (
    CriticalTemperature,
    critical_temperature,
    ybco_tc,
    ybco_tc_uncertainty,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.physics.reactions import ReactionSystem

    Floats = NDArray[np.float64]

YBCO = ("YBa2Cu3O6", "YBa2Cu3O7")
# A ceramic of about 1 mΩ cm at 300 K and a third of it at 100 K, as Cava et al., Phys. Rev. Lett.
# 58 (1987) 1676, show; the Debye temperature is near 400 K. All estimates.
YBCO_RESIDUAL_OHM_M, YBCO_PHONON_OHM_M, YBCO_DEBYE_K = 1.5e-6, 4.5e-5, 400.0
# A semiconductor below y = 6.4: Cava et al., Nature 329 (1987) 423; the energy is an estimate.
SEMICONDUCTING_BELOW_Y, YBCO_ACTIVATION_K = 6.4, 400.0
# Every other oxide here is an insulator or semiconductor: 0.1 ohm m at 300 K, an estimate.
OTHER_RESIDUAL_OHM_M, OTHER_ACTIVATION_K = 1e-3, 1400.0
OTHER_DENSITY_KG_M3 = 5500.0  # estimate, for phases without a published crystal structure
INTRINSIC_SPREAD_K = 0.5  # of Tc in a homogeneous ceramic, an estimate


class TransportRow(NamedTuple):
    """What one phase conducts; see `labenv.physics.resistivity.TransportPhases`."""

    residual_ohm_m: float
    electron_phonon_ohm_m: float
    debye_k: float
    activation_k: float
    tc_k: float
    tc_spread_k: float


@lru_cache(maxsize=256)
def density_kg_m3(structure: str) -> float:
    """Return the density of a crystal.

    Args:
        structure: Slug in the structure library.

    Returns:
        kg/m^3, an estimate if the library does not have it.
    """
    library = phase_library()
    return library.get(structure).density_kg_m3 if structure in library else OTHER_DENSITY_KG_M3


@lru_cache(maxsize=256)
def other_row(name: str) -> TransportRow:
    """Return what a phase other than YBa2Cu3Oy conducts.

    Args:
        name: Name or formula.

    Returns:
        The row; without a critical temperature if none is known.
    """
    known = critical_temperature(name)
    if isinstance(known, CriticalTemperature) and known.tc_k > 0.0:
        metal = (YBCO_RESIDUAL_OHM_M, YBCO_PHONON_OHM_M, YBCO_DEBYE_K, 0.0)
        return TransportRow(*metal, known.tc_k, known.uncertainty_k)
    return TransportRow(OTHER_RESIDUAL_OHM_M, 0.0, 300.0, OTHER_ACTIVATION_K, 0.0, 0.0)


def ybco_row(oxygen: float, curve_deviate: float) -> TransportRow:
    """Return what YBa2Cu3Oy conducts.

    Args:
        oxygen: y.
        curve_deviate: How far the laboratory's material lies off the published curve of Tc, in
            standard uncertainties.

    Returns:
        The row.
    """
    tc = float(ybco_tc(oxygen))
    shifted = max(tc + curve_deviate * float(ybco_tc_uncertainty(oxygen)), 0.0) if tc > 0.0 else 0.0
    activation = YBCO_ACTIVATION_K if oxygen < SEMICONDUCTING_BELOW_Y else 0.0
    return TransportRow(
        YBCO_RESIDUAL_OHM_M,
        YBCO_PHONON_OHM_M,
        YBCO_DEBYE_K,
        activation,
        shifted,
        INTRINSIC_SPREAD_K if shifted > 0.0 else 0.0,
    )


def volume_shares(system: ReactionSystem, amounts_mol: Floats) -> Floats:
    """Return the volume share of each phase.

    Args:
        system: The chemical system.
        amounts_mol: Shape (P,).

    Returns:
        Shape (P,), adding up to 1.
    """
    densities = np.array([density_kg_m3(structure) for structure in system.structures])
    volume = amounts_mol * system.molar_mass_kg_mol / densities
    return np.asarray(volume / volume.sum())
