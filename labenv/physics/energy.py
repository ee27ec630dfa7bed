"""Books of energy: what heat a firing takes from the furnace, step by step, and whether it adds up.

At constant pressure the first law for a powder that exchanges gas is

    H(end) - H(start) = heat from the furnace - enthalpy that gases carry out

with the enthalpy ``H = G - T dG/dT`` of each substance by the tables that drive its reactions, on
their scale (elements at 298.15 K have enthalpy zero). Gases leave, and those taken up come, at the
furnace's temperature, as they are counted: taken up is out below zero.

Each step of the integrator is booked as heating at constant composition to the step's mean
temperature (sensible heat), and reaction there (heat of reaction, J per mole of reaction as
written, times its extent). The books close if the extents of the reactions, the stoichiometry and
the amounts that the integrator gives belong together; `EnergyBook.residual` says how well. What
they cannot find is an error in the tables themselves, nor heat that a furnace loses elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.thermochemistry.substance import REFERENCE_K, Substance
from labenv.physics.thermochemistry.tables import TabulatedSubstance
from labenv_schemas.errors import ProposalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from labenv.physics.furnace_program import HeatProgram
    from labenv.physics.kinetics import ReactionResult
    from labenv.physics.kinetics_powder import PowderState
    from labenv.physics.reactions import ReactionSystem
    from labenv.physics.thermochemistry import GibbsSource

    Floats = NDArray[np.float64]

_GRID_STEP_K = 2.0
_DIFFERENCE_K = 5.0


@dataclass(frozen=True)
class EnergyBook:
    """The energy of N firings of at most L steps; rows beyond a sample's last step are zero.

    Attributes:
        temperature_k: Mean temperature of each step, at which it is booked, K, shape (N, L).
        sensible_j: Heat that the powder took up without reacting, from one step to the next, J,
            shape (N, L + 1); the last until the furnace is opened.
        reaction_j: Heat that reactions took up in each step, J, shape (N, L).
        gas_out_j: Enthalpy that gases carried out in each step, less what they brought, J,
            shape (N, L).
        heat_by_reaction_j: Heat that each reaction took up in all, J, shape (N, R).
        enthalpy_start_j: Of the powder before, J, shape (N,).
        enthalpy_end_j: Of the powder after, J, shape (N,).
        mass_kg: Of the powder before, kg, shape (N,).
    """

    temperature_k: Floats
    sensible_j: Floats
    reaction_j: Floats
    gas_out_j: Floats
    heat_by_reaction_j: Floats
    enthalpy_start_j: Floats
    enthalpy_end_j: Floats
    mass_kg: Floats

    @property
    def heat_j(self) -> Floats:
        """Heat from the furnace in all, J, shape (N,); below 0 where the powder gave more off."""
        return np.asarray(self.sensible_j.sum(axis=1) + self.reaction_j.sum(axis=1))

    @property
    def heat_j_g(self) -> Floats:
        """Heat from the furnace per gram weighed in, J/g, shape (N,)."""
        return self.heat_j / (1000.0 * self.mass_kg)

    @property
    def residual(self) -> Floats:
        """What the first law leaves open, as a share of all that was exchanged, shape (N,)."""
        open_j = self.enthalpy_end_j - self.enthalpy_start_j - self.heat_j
        open_j += self.gas_out_j.sum(axis=1)
        turned = np.abs(self.sensible_j).sum(axis=1) + np.abs(self.reaction_j).sum(axis=1)
        turned += np.abs(self.enthalpy_start_j) + np.abs(self.enthalpy_end_j)
        return np.asarray(open_j / np.maximum(turned, np.finfo(np.float64).tiny))


def enthalpy_j_mol(source: GibbsSource, temperature_k: ArrayLike) -> Floats:
    """Return a substance's enthalpy by its Gibbs energy, J/mol.

    Args:
        source: The substance.
        temperature_k: Temperatures, K, any shape; below 298.15 K the value there.

    Returns:
        ``G - T dG/dT``, of the temperatures' shape.
    """
    t = np.maximum(np.asarray(temperature_k, dtype=np.float64), REFERENCE_K)
    if isinstance(source, Substance | TabulatedSubstance):
        return source.enthalpy_and_entropy(t)[0]
    t = np.maximum(t, REFERENCE_K + _DIFFERENCE_K)
    upper, lower = source.gibbs_j_mol(t + _DIFFERENCE_K), source.gibbs_j_mol(t - _DIFFERENCE_K)
    return source.gibbs_j_mol(t) - t * (upper - lower) / (2.0 * _DIFFERENCE_K)


class EnthalpyTable:
    """Enthalpies of substances on a grid of temperature, straight between its points.

    Args:
        substances: S of them.
        t_min_k: Lowest temperature, K.
        t_max_k: Highest, K.
    """

    def __init__(self, substances: Sequence[GibbsSource], t_min_k: float, t_max_k: float) -> None:
        count = int(np.ceil((t_max_k - t_min_k) / _GRID_STEP_K)) + 1
        self._grid = np.linspace(t_min_k, t_max_k, count)
        self._values = np.array([enthalpy_j_mol(s, self._grid) for s in substances]).T

    def at(self, temperature_k: Floats) -> Floats:
        """Return the enthalpies, J/mol, shape (..., S), at temperatures of shape (...)."""
        step = self._grid[1] - self._grid[0]
        place = np.clip((temperature_k - self._grid[0]) / step, 0.0, self._grid.size - 1.0)
        k = np.minimum(place.astype(np.int64), self._grid.size - 2)
        share = (place - k)[..., None]
        return np.asarray(self._values[k] * (1.0 - share) + self._values[k + 1] * share)


def books(
    system: ReactionSystem, before: PowderState, programs: HeatProgram, result: ReactionResult
) -> EnergyBook:
    """Keep the books of a firing.

    Args:
        system: The chemical system.
        before: The powders as they went into the furnace, N of them.
        programs: Their furnace programmes, N rows or one for all.
        result: What `react` gave, with ``StepControl(ledger=True)``.

    Returns:
        The books.

    Raises:
        ProposalError: If the firing kept no ledger, or shapes do not fit.
    """
    ledger = result.ledger
    if ledger is None:
        raise ProposalError("books of energy need a firing with StepControl(ledger=True)")
    if len(ledger.count) != len(before) or len(programs.temperature_k) not in {1, len(before)}:
        raise ProposalError("powders, programmes and ledger must have the same number of rows")
    table = EnthalpyTable(
        (*system.phases, *system.gases), min(system.t_min_k, REFERENCE_K), system.t_max_k
    )
    split, shape = len(system.phases), ledger.begin_k.shape
    taken = np.arange(shape[1]) < ledger.count[:, None]
    start_k = np.broadcast_to(programs.temperature_k[:, 0], (len(before),))
    end_k = np.broadcast_to(programs.temperature_k[:, -1], (len(before),))
    mean_k = 0.5 * (ledger.begin_k + ledger.end_k)
    last = np.maximum(ledger.count - 1, 0)[:, None]
    if shape[1]:
        mean_k = np.where(taken, mean_k, np.take_along_axis(mean_k, last, axis=1))
        mean_k = np.where(ledger.count[:, None] > 0, mean_k, start_k[:, None])
    amounts = np.concatenate(
        [before.amounts_mol[:, None], ledger.extent_mol @ system.stoichiometry], axis=1
    ).cumsum(axis=1)  # before each step and after the last
    way_k = np.column_stack([start_k, mean_k, end_k])
    enthalpy = table.at(way_k)  # (N, L + 2, P + G)
    rise = np.diff(enthalpy[:, :, :split], axis=1)
    heats = enthalpy[:, 1:-1, :split] @ system.stoichiometry.T
    heats += enthalpy[:, 1:-1, split:] @ system.gas_stoichiometry.T
    by_reaction = ledger.extent_mol * heats
    gas = ledger.extent_mol @ system.gas_stoichiometry
    return EnergyBook(
        temperature_k=np.where(taken, mean_k, 0.0),
        sensible_j=np.asarray((amounts * rise).sum(axis=2)),
        reaction_j=np.asarray(by_reaction.sum(axis=2)),
        gas_out_j=np.asarray((gas * enthalpy[:, 1:-1, split:]).sum(axis=2)),
        heat_by_reaction_j=np.asarray(by_reaction.sum(axis=1)),
        enthalpy_start_j=_enthalpy(before.amounts_mol, table.at(start_k)[:, :split]),
        enthalpy_end_j=_enthalpy(result.powder.amounts_mol, table.at(end_k)[:, :split]),
        mass_kg=np.asarray(before.amounts_mol @ system.molar_mass_kg_mol),
    )


def _enthalpy(amounts: Floats, enthalpy: Floats) -> Floats:
    return np.asarray((amounts * enthalpy).sum(axis=1))


__all__ = ["EnergyBook", "EnthalpyTable", "books", "enthalpy_j_mol"]
