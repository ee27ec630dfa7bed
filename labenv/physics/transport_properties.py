"""What phases conduct, and what is known of their superconductivity and magnetism.

Critical temperatures come from `labenv.physics.superconductivity`. An oxide whose ions all have
closed shells is an insulator without moments, whatever the tables say. Of everything else nothing
is known here, and `PhaseElectrons.known` says so. Normal resistivities are rough estimates: they
matter little to a transition's temperature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from labenv.physics.magnetometry import core_susceptibility
from labenv.physics.superconductivity import (
    CriticalTemperature,
    critical_temperature,
    find_superconductor,
    ybco_tc,
    ybco_tc_uncertainty,
)
from labenv_schemas.formula import parse_formula

# A ceramic of about 1 mΩ cm at 300 K and a third of it at 100 K, as Cava et al., Phys. Rev. Lett.
# 58 (1987) 1676, show; the Debye temperature is near 400 K. All estimates.
YBCO_RESIDUAL_OHM_M, YBCO_PHONON_OHM_M, YBCO_DEBYE_K = 1.5e-6, 4.5e-5, 400.0
# A semiconductor below y = 6.4: Cava et al., Nature 329 (1987) 423; the energy is an estimate.
SEMICONDUCTING_BELOW_Y, YBCO_ACTIVATION_K = 6.4, 400.0
# Every other oxide here is an insulator or semiconductor: 0.1 ohm m at 300 K, an estimate.
OTHER_RESIDUAL_OHM_M, OTHER_ACTIVATION_K, OTHER_DEBYE_K = 1e-3, 1400.0, 300.0
INTRINSIC_SPREAD_K = 0.5  # of Tc in a homogeneous ceramic, an estimate
YBCO = ("YBa2Cu3O6", "YBa2Cu3O7")  # ends of the solid solution, as the networks name them
YBCO_PENETRATION_DEPTH_M = 2.5e-7
"""Geometric mean of about 150 nm in the plane and 800 nm across: Bonn & Hardy, in Physical
Properties of High Temperature Superconductors V (1996); an estimate for a ceramic."""

# Ions with closed shells (noble-gas or filled d shell, with or without an s pair), and their
# charge: Shannon, Acta Cryst. A 32 (1976) 751 lists them. A crystal of such ions alone has filled
# bands: Ashcroft & Mermin, Solid State Physics (1976), chapter 19.
CLOSED_SHELL_CHARGE = {
    **dict.fromkeys(("H", "Li", "Na", "K", "Rb", "Cs"), 1),
    **dict.fromkeys(("Be", "Mg", "Ca", "Sr", "Ba", "Zn", "Cd", "Pb"), 2),
    **dict.fromkeys(("B", "Al", "Ga", "In", "Sc", "Y", "La", "Bi"), 3),
    **dict.fromkeys(("C", "Si", "Ge", "Sn", "Ti", "Zr", "Hf"), 4),
    **dict.fromkeys(("N", "P", "V", "Nb", "Ta"), 5),
    **dict.fromkeys(("Mo", "W"), 6),
    **dict.fromkeys(("F", "Cl"), -1),
    "O": -2,
}


class TransportRow(NamedTuple):
    """What one phase conducts; see `labenv.physics.resistivity.TransportPhases`."""

    residual_ohm_m: float
    electron_phonon_ohm_m: float
    debye_k: float
    activation_k: float
    tc_k: float
    tc_spread_k: float


INSULATOR = TransportRow(OTHER_RESIDUAL_OHM_M, 0.0, OTHER_DEBYE_K, OTHER_ACTIVATION_K, 0.0, 0.0)


@dataclass(frozen=True)
class PhaseElectrons:
    """What is known of a phase's electrons.

    Attributes:
        row: What it conducts; that of an insulator where nothing is known.
        tc_known: Whether it is known to superconduct below `row.tc_k`, or not to.
        magnetism_known: Whether its normal susceptibility is known.
        estimated: Whether the normal resistivity is a guess.
        penetration_depth_m: Magnetic penetration depth at 0 K, m; None if unknown.
        critical_field_t: Upper critical field at 0 K, T; None if unknown.
        core_molar: Molar diamagnetic susceptibility of its ions, m^3/mol.
    """

    row: TransportRow
    tc_known: bool
    magnetism_known: bool
    estimated: bool
    penetration_depth_m: float | None = None
    critical_field_t: float | None = None
    core_molar: float = 0.0


def closed_shells(formula: str) -> bool:
    """Return whether a compound's charges balance with closed-shell ions alone.

    Args:
        formula: Chemical formula.

    Returns:
        True for an oxide, fluoride or chloride that does, such as BaTiO3; False for any other, also
        one that cannot be read.
    """
    try:
        amounts = parse_formula(formula).amounts
    except ValueError:
        return False
    if not {"O", "F", "Cl"} & set(amounts) or not set(amounts) <= set(CLOSED_SHELL_CHARGE):
        return False
    charge = sum(n * CLOSED_SHELL_CHARGE[element] for element, n in amounts.items())
    return abs(charge) < 1e-6


@lru_cache(maxsize=512)
def phase_electrons(formula: str) -> PhaseElectrons:
    """Return what is known of a phase.

    Args:
        formula: Chemical formula, or a name in the table of superconductors.

    Returns:
        The answer; for YBa2Cu3Oy see `ybco_electrons`.
    """
    try:
        core = core_susceptibility(parse_formula(formula).amounts)
    except ValueError:
        core = 0.0
    row = other_row(formula)
    found = find_superconductor(formula)
    if row.tc_k > 0.0:
        depth = None if found is None else found.penetration_depth_m
        field = None if found is None else found.critical_field_t
        return PhaseElectrons(row, True, False, True, depth, field, core)
    if closed_shells(formula):
        return PhaseElectrons(row, True, True, True, core_molar=core)
    known = isinstance(critical_temperature(formula), CriticalTemperature)
    return PhaseElectrons(row, known, False, True, core_molar=core)


def ybco_electrons(oxygen: float) -> PhaseElectrons:
    """Return what is known of YBa2Cu3Oy.

    Args:
        oxygen: y, 6 to 7.

    Returns:
        The answer; its upper critical field is that of the fully oxidised material, if known.
    """
    found = find_superconductor("YBa2Cu3O7")
    field = None if found is None else found.critical_field_t
    return PhaseElectrons(
        ybco_row(oxygen, 0.0), True, False, False, YBCO_PENETRATION_DEPTH_M, field
    )


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
    return INSULATOR


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


__all__ = [
    "INSULATOR",
    "YBCO",
    "YBCO_PENETRATION_DEPTH_M",
    "PhaseElectrons",
    "TransportRow",
    "closed_shells",
    "other_row",
    "phase_electrons",
    "ybco_electrons",
    "ybco_row",
]
