"""The equilibrium that kinetics tends to: least Gibbs energy over amounts, under a gas.

A reference for tests, for planning and for the generator of reactions; it is not called while a
sample is fired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.thermochemistry.substance import (
    GAS_CONSTANT_J_MOL_K,
    STANDARD_PRESSURE_PA,
)
from labenv_schemas.errors import ProposalError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from labenv.physics.thermochemistry.substance import GibbsSource

    Floats = NDArray[np.float64]


def stable_assemblage(
    phases: Sequence[GibbsSource],
    gases: Sequence[GibbsSource],
    amounts_mol: ArrayLike,
    temperature_k: float,
    gas_pa: ArrayLike,
) -> Floats:
    """Return the equilibrium amounts of the condensed phases under a gas of fixed pressures.

    Pure phases and a gas large enough not to change make the minimum of the Gibbs energy a linear
    programme over amounts, with the gases exchanged freely.

    Args:
        phases: Condensed phases, P of them.
        gases: Gas species, G of them.
        amounts_mol: Amounts of the phases to start from, mol, shape (P,).
        temperature_k: Temperature, K.
        gas_pa: Partial pressure of each gas, Pa, shape (G,), each above zero.

    Returns:
        Amounts at equilibrium, mol, shape (P,).

    Raises:
        ProposalError: If a pressure is not above zero or the temperature is out of range.
        SimulatorError: If the linear programme has no solution.

    Source:
        White, Johnson & Dantzig, J. Chem. Phys. 28, 751 (1958), doi:10.1063/1.1744264.
    """
    from scipy.optimize import linprog

    start = np.asarray(amounts_mol, dtype=np.float64)
    pressure = np.asarray(gas_pa, dtype=np.float64)
    if not bool(np.all(pressure > 0.0)):
        raise ProposalError(f"gas pressures must be above 0 Pa for an equilibrium, got {pressure}")
    substances = [*phases, *gases]
    elements = sorted({element for substance in substances for element in substance.elements})
    balance = np.array([[s.elements.get(e, 0.0) for s in substances] for e in elements])
    energy = np.array([float(s.gibbs_j_mol(temperature_k)) for s in substances])
    energy[len(phases) :] += (
        GAS_CONSTANT_J_MOL_K * temperature_k * np.log(pressure / STANDARD_PRESSURE_PA)
    )
    # Shift by a combination of the elements, which leaves the minimum where it is and keeps the
    # numbers near those of reaction energies.
    shift: Floats = np.linalg.lstsq(balance.T, energy, rcond=None)[0]
    scale = float(np.sum(start)) or 1.0
    result = linprog(
        (energy - balance.T @ shift) / 1000.0,
        A_eq=balance,
        b_eq=balance[:, : len(phases)] @ (start / scale),
        bounds=[(0.0, None)] * len(phases) + [(None, None)] * len(gases),
        method="highs",
    )
    if result.x is None or not result.success:
        raise SimulatorError(f"no equilibrium at {temperature_k} K: {result.message}")
    return np.asarray(result.x[: len(phases)], dtype=np.float64) * scale


__all__ = ["stable_assemblage"]
