"""One firing of a mixture, integrated in several ways: nominal, within its uncertainty, in time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from labenv.physics.energy import books
from labenv.physics.furnace_program import HeatProgram, heat_program
from labenv.physics.kinetics import (
    PowderState,
    StepControl,
    draw_parameters,
    join_powders,
    mill,
    new_powder,
    react,
)
from labenv.physics.networks.generation import Surroundings
from labenv.physics.prediction_reasons import LEFT_OVER
from labenv.physics.thermochemistry import stable_assemblage
from labenv_schemas.errors import ProposalError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.physics.energy import EnergyBook
    from labenv.physics.kinetics import ReactionResult
    from labenv.physics.reactions import ReactionSystem
    from labenv.physics.thermochemistry.sources import Source
    from labenv.physics.thermochemistry.tables import TabulatedSubstance

    Floats = NDArray[np.float64]

Stage = Literal["heating", "hold", "cooling"]
PATH_MOMENTS = 48
NOTHING_LEFT = 1e-4  # of the mass weighed in, below which there is no sample
SMALLEST_K, LARGEST_K, LARGEST_MOL = 298.0, 1790.0, 1e12
LONGEST_S, SLOWEST_K_PER_S = 1e8, 1e-5
CONTROL = StepControl(tolerance=5e-4, temperature_k=10.0)  # many products compete on the ramp
# Where reactions run back and forth at their equilibrium, fine steps do not come to an end.
COARSER = (StepControl(tolerance=3e-3, temperature_k=20.0), StepControl(tolerance=2e-2))


@dataclass(frozen=True)
class Firing:
    """What is fired and how.

    Attributes:
        amounts_mol: Formula units of each precursor, by name or formula; only ratios matter.
        temperature_k: Temperature held, K.
        hold_s: How long, s.
        rate_k_per_s: Heating rate, K/s.
        surroundings: The gas.
        particle_radius_m: Of the powders, m.
        mill_s: Ball milling before, s.
        draws: Samples of the kinetic uncertainty.
        seed: Of the draws.
        source: Where the energies come from.
    """

    amounts_mol: Mapping[str, float]
    temperature_k: float
    hold_s: float
    rate_k_per_s: float = 5.0 / 60.0
    surroundings: Surroundings = field(default_factory=Surroundings)
    particle_radius_m: float = 0.5e-6
    mill_s: float = 6.0 * 3600.0
    draws: int = 64
    seed: int = 0
    source: Source = "combined"


@dataclass(frozen=True)
class PathEvent:
    """A phase that appears or goes while the furnace runs."""

    time_s: float
    temperature_k: float
    stage: Stage
    event: str
    phase: str


class Course(NamedTuple):
    """What happens while the furnace runs.

    Attributes:
        events: In order of time.
        held_mol: Amounts at the end of the hold, mol, shape (P,).
        held: Weight fractions there, zeros where nothing is left, shape (P,).
    """

    events: tuple[PathEvent, ...]
    held_mol: Floats
    held: Floats


class FiringRun:
    """One firing, to be integrated in several ways.

    Args:
        firing: Precursors, temperature, time, gas.
        system: What `generate_system` makes of them, P phases.
        weighed: The precursors.

    Attributes:
        coarse: Whether some integration had to be done in coarse steps.
    """

    def __init__(
        self, firing: Firing, system: ReactionSystem, weighed: Sequence[TabulatedSubstance]
    ) -> None:
        amounts = np.zeros((1, len(system.phases)))
        for substance, n in zip(weighed, firing.amounts_mol.values(), strict=True):
            amounts[0, system.phase_index(substance.name)] += n
        amounts /= float(np.sum(amounts))
        powder = new_powder(system, amounts, firing.particle_radius_m)
        if firing.mill_s > 0.0:
            powder = mill(system, powder, np.array([firing.mill_s]))
        self.firing, self.system, self.powder = firing, system, powder
        self.program = heat_program([(firing.temperature_k, firing.rate_k_per_s, firing.hold_s)])
        self.gas = np.array(list(firing.surroundings.pressures_pa(weighed).values()))
        self.coarse = False

    def shares(self, amounts_mol: Floats) -> Floats:
        """Return weight fractions, zeros where next to nothing is left, shape (N, P)."""
        mass_kg = self.system.molar_mass_kg_mol
        start_kg = float(self.powder.amounts_mol[0] @ mass_kg)
        left = amounts_mol @ mass_kg > NOTHING_LEFT * start_kg
        return np.where(left[:, None], self.system.mass_fractions(amounts_mol), 0.0)

    def nominal(self) -> tuple[ReactionResult, EnergyBook]:
        """Return what the nominal rates give, with its books."""
        result = self._react(self.powder, self.program, ledger=True)
        return result, books(self.system, self.powder, self.program, result)

    def spread(self) -> Floats:
        """Return the tenth and ninetieth percentile of each weight fraction, shape (2, P)."""
        firing, system = self.firing, self.system
        seeds = np.random.SeedSequence(firing.seed).spawn(firing.draws)
        generators = [np.random.default_rng(seed) for seed in seeds]
        # what the rules get wrong they get wrong for all reactions alike, half of it
        common = np.array([generator.standard_normal() for generator in generators])[:, None]
        own = np.log(draw_parameters(system, generators))
        sigma = np.array([reaction.sigma_ln for reaction in system.reactions])
        factors = np.exp(np.sqrt(0.5) * (own + sigma * common))
        result = self._react(_repeat(self.powder, firing.draws), self.program, factors)
        return np.asarray(np.quantile(self.shares(result.powder.amounts_mol), [0.1, 0.9], axis=0))

    def course(self) -> Course:
        """Return what appears and goes, from firings broken off at a series of moments."""
        system, time, temperature = self.system, self.program.time_s[0], self.program.temperature_k
        heated_s = abs(self.firing.temperature_k - temperature[0, 0]) / self.firing.rate_k_per_s
        held_s = min(heated_s + self.firing.hold_s, float(time[-1]))
        moments = np.linspace(0.0, float(time[-1]), PATH_MOMENTS + 1)[1:]
        moments = np.unique([*moments, held_s])
        knots = np.minimum(time[None, :], moments[:, None])
        broken = HeatProgram(knots, np.interp(knots, time, temperature[0]))
        result = self._react(_repeat(self.powder, moments.size), broken)
        amounts = result.powder.amounts_mol
        fractions = self.shares(amounts)
        there = self.shares(self.powder.amounts_mol)[0] > LEFT_OVER
        events: list[PathEvent] = []
        for moment, row in zip(moments, fractions, strict=True):
            here = row > LEFT_OVER
            at_k = float(np.interp(moment, time, temperature[0]))
            stage: Stage = (
                "cooling" if moment > held_s else "heating" if moment <= heated_s else "hold"
            )
            for p in np.flatnonzero(here != there):
                event = "appears" if here[p] else "is used up"
                events.append(PathEvent(float(moment), at_k, stage, event, system.phase_names[p]))
            there = here
        at = int(np.searchsorted(moments, held_s))
        return Course(tuple(events), amounts[at], fractions[at])

    def balance(self, amounts_mol: Floats) -> Floats:
        """Return weight fractions at equilibrium of some amounts, at the temperature held."""
        system = self.system
        if not self.shares(amounts_mol[None])[0].any():
            return np.zeros(len(system.phases))
        found = stable_assemblage(
            system.phases,
            [gas for gas, gone in zip(system.gases, system.vapours, strict=True) if not gone],
            amounts_mol,
            self.firing.temperature_k,
            np.maximum(self.gas, system.bed_pa)[~system.vapours],
        )
        return np.maximum(system.mass_fractions(np.maximum(found, 0.0)), 0.0)

    def _react(
        self,
        powder: PowderState,
        program: HeatProgram,
        factors: Floats | None = None,
        *,
        ledger: bool = False,
    ) -> ReactionResult:
        """Fire powders, with coarser steps where fine ones do not come to an end.

        Returns:
            What `react` gives.

        Raises:
            SimulatorError: If even coarse steps do not.
        """
        for control in (CONTROL, *COARSER):
            try:
                result = react(
                    self.system,
                    powder,
                    program,
                    self.gas,
                    factors,
                    control=replace(control, ledger=ledger),
                )
            except SimulatorError:
                self.coarse = True
            else:
                return result
        names = " + ".join(self.firing.amounts_mol)
        raise SimulatorError(
            f"{names} at {_celsius(self.firing.temperature_k)}: the reactions could not be "
            "integrated to the end, even in coarse steps; try a shorter hold, another temperature "
            "or gas"
        )


def check_firing(firing: Firing) -> None:
    """Refuse a firing that cannot be.

    Args:
        firing: The firing.

    Raises:
        ProposalError: If an amount, time, temperature, rate or size cannot be.
    """
    if not firing.amounts_mol:
        raise ProposalError("name at least one precursor")
    bad = {k: n for k, n in firing.amounts_mol.items() if not 0.0 < n < LARGEST_MOL}
    if bad:
        raise ProposalError(f"amounts must be above 0 and below {LARGEST_MOL:g} mol, got {bad}")
    if not SMALLEST_K <= firing.temperature_k <= LARGEST_K:
        raise ProposalError(
            f"the rates hold from {_celsius(SMALLEST_K)} to {_celsius(LARGEST_K)}; asked for "
            f"{_celsius(firing.temperature_k)}"
        )
    if not (0.0 <= firing.hold_s < LONGEST_S and SLOWEST_K_PER_S <= firing.rate_k_per_s < np.inf):
        raise ProposalError(
            f"the hold must be from 0 to {LONGEST_S:g} s and the heating rate at least "
            f"{SLOWEST_K_PER_S:g} K/s, got {firing.hold_s:g} s and {firing.rate_k_per_s:g} K/s"
        )
    if firing.draws < 2 or not 0.0 <= firing.mill_s < np.inf:
        raise ProposalError("there must be 2 draws at least, and milling lasts 0 s or longer")
    if not 1e-9 <= firing.particle_radius_m <= 1e-2:
        raise ProposalError(
            f"particles are between 1 nm and 1 cm in radius, not {firing.particle_radius_m:g} m"
        )


def _celsius(temperature_k: float) -> str:
    return f"{temperature_k - 273.15:.0f} degC ({temperature_k:.0f} K)"


def _repeat(powder: PowderState, count: int) -> PowderState:
    return join_powders([powder] * count)


__all__ = ["CONTROL", "NOTHING_LEFT", "Course", "Firing", "FiringRun", "PathEvent", "check_firing"]
