"""What a firing gives: phases and their spread, the path, and what limits it.

`predict` fires a mixture once as the rules say, many times within the uncertainty of the kinetics,
and up to a series of moments for the path, one of which is the end of the hold. What it cannot know
it says: mixtures whose elements have no compound in the tables are outside its domain, and mixtures
whose metals may share a crystal are flagged.
"""

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
from labenv.physics.networks.generation import Surroundings, generate_system
from labenv.physics.networks.solid_solutions import DomainFlag, domain_flags
from labenv.physics.prediction_reasons import (
    LEFT_OVER,
    limit,
    metals_in,
    on_cooling,
    outside_domain,
)
from labenv.physics.thermochemistry import stable_assemblage
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import ConfigError, ProposalError, SimulatorError, UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.physics.energy import EnergyBook
    from labenv.physics.kinetics import ReactionResult
    from labenv.physics.reactions import ReactionSystem
    from labenv.physics.thermochemistry.sources import Source
    from labenv.physics.thermochemistry.tables import TabulatedSubstance

    Floats = NDArray[np.float64]

Status = Literal["ok", "unknown_substance", "outside_domain"]
Stage = Literal["heating", "hold", "cooling"]
SHOWN = 0.005  # weight fraction below which a phase is not named
PATH_MOMENTS = 48
NOTHING_LEFT = 1e-4  # of the mass weighed in, below which there is no sample
LARGEST_K, LARGEST_MOL = 1790.0, 1e12
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
class PredictedPhase:
    """One phase of a prediction; fractions of zero where nothing is left of the powder.

    Attributes:
        name: The phase.
        weight_fraction: Of what is taken out of the furnace, by the nominal rates.
        low: Tenth percentile over the kinetic uncertainty.
        high: Ninetieth percentile.
        held: Weight fraction at the end of the hold, before cooling.
        equilibrium: At equilibrium at the temperature held.
        estimate: Whether its thermochemistry is an estimate.
    """

    name: str
    weight_fraction: float
    low: float
    high: float
    held: float
    equilibrium: float
    estimate: bool


class Others(NamedTuple):
    """What the phases that are not named make up together, as weight fractions."""

    weight_fraction: float = 0.0
    held: float = 0.0
    equilibrium: float = 0.0


@dataclass(frozen=True)
class PathEvent:
    """A phase that appears or goes while the furnace runs."""

    time_s: float
    temperature_k: float
    stage: Stage
    event: str
    phase: str


@dataclass(frozen=True)
class Prediction:
    """What a firing is expected to give.

    Attributes:
        status: ``"ok"``; ``"unknown_substance"`` where a precursor is not in the tables, or
            ``"outside_domain"`` where the tables cannot speak about the mixture.
        phases: By weight fraction, largest first; empty unless the status is ``"ok"``.
        others: What the phases too small to be named make up.
        path: In order of time.
        limited_by: What kept the mixture from equilibrium at the end of the hold, or that nothing
            did.
        on_cooling: What changed after the hold, empty if next to nothing.
        flags: Reasons to doubt the prediction, such as solid solutions.
        notes: What a reader must know, such as melts, estimates, or why there is no prediction.
        main_product: The phase with the largest weight fraction of those that unite metals of
            several precursors; where there is none, of those not weighed in; `None` if nothing
            formed.
        mass_change: Of the powder as a share of what was weighed in, below 0 for a loss.
        heat_j_g: Heat that the powder took from the furnace in all, J per gram weighed in.
    """

    status: Status
    phases: tuple[PredictedPhase, ...] = ()
    others: Others = Others()
    path: tuple[PathEvent, ...] = ()
    limited_by: str = ""
    on_cooling: str = ""
    flags: tuple[DomainFlag, ...] = ()
    notes: tuple[str, ...] = ()
    main_product: str | None = None
    mass_change: float = 0.0
    heat_j_g: float = 0.0

    @property
    def in_domain(self) -> bool:
        """Whether the tables can speak about the mixture."""
        return self.status == "ok"

    @property
    def residue(self) -> float:
        """What is left of the powder, as a share of the mass weighed in; 0 where nothing is."""
        left = 1.0 + self.mass_change
        return left if left > NOTHING_LEFT else 0.0


def predict(firing: Firing) -> Prediction:
    """Predict what a firing gives.

    Args:
        firing: Precursors, temperature, time, gas.

    Returns:
        The prediction; its status says where the tables have nothing to say.

    Raises:
        ProposalError: If an amount, time or temperature cannot be.
        SimulatorError: If the integration does not come to an end.
    """
    _check(firing)
    table = substance_table(firing.source)
    try:
        weighed = [table.get(name) for name in firing.amounts_mol]
    except (UnknownPluginError, ConfigError) as reason:
        return Prediction("unknown_substance", notes=(str(reason),))
    names = tuple(substance.name for substance in weighed)
    try:
        system = generate_system(names, firing.surroundings, firing.source)
    except (UnknownPluginError, ConfigError) as reason:
        return Prediction("outside_domain", notes=(str(reason),))
    outside = outside_domain(system, weighed)
    if outside:
        return Prediction("outside_domain", notes=(outside,))
    return _fired(firing, system, weighed)


def _fired(
    firing: Firing, system: ReactionSystem, weighed: Sequence[TabulatedSubstance]
) -> Prediction:
    run = _Run(firing, system, weighed)
    nominal, book = run.nominal()
    course = run.course()
    spread = run.spread()
    left = float(nominal.powder.amounts_mol[0] @ system.molar_mass_kg_mol)
    change = left / float(book.mass_kg[0]) - 1.0
    after = run.shares(nominal.powder.amounts_mol)[0]
    balance = run.balance(course.held_mol)
    rows = np.array([after, *spread, course.held, balance])
    phases = tuple(
        PredictedPhase(system.phase_names[p], *map(float, rows[:, p]), system.phases[p].estimate)
        for p in np.argsort(-after, kind="stable")
        if (rows[[0, 3], p] > SHOWN).any() or (rows[[2, 4], p] > 10.0 * SHOWN).any()
    )
    shown = [system.phases[system.phase_index(phase.name)] for phase in phases]
    tabulated = substance_table(firing.source).within({e for p in system.phases for e in p.elements})
    metals = set[str]().union(*(metals_in(substance) for substance in weighed))
    around = firing.surroundings
    return Prediction(
        "ok",
        phases=phases,
        others=_others(phases, after, course.held, balance),
        path=course.events,
        limited_by=limit(system, weighed, course.held, balance, firing.temperature_k, around),
        on_cooling=on_cooling(system, course.held, after),
        flags=domain_flags(metals, tabulated, shown),
        notes=_notes(phases, float(nominal.liquid_share[0]), firing.temperature_k, run.coarse),
        main_product=_main_product(system, phases, weighed),
        mass_change=change,
        heat_j_g=float(book.heat_j_g[0]),
    )


def _others(
    phases: Sequence[PredictedPhase], after: Floats, held: Floats, balance: Floats
) -> Others:
    named = [
        sum(p.weight_fraction for p in phases),
        sum(p.held for p in phases),
        sum(p.equilibrium for p in phases),
    ]
    left = [float(all_.sum()) - some for all_, some in zip((after, held, balance), named, strict=True)]
    return Others(*(max(0.0, rest) for rest in left))


class _Course(NamedTuple):
    """What happens while the furnace runs: events, and the powder at the end of the hold."""

    events: tuple[PathEvent, ...]
    held_mol: Floats
    held: Floats


class _Run:
    """One firing, to be integrated in several ways."""

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
        return np.asarray(
            np.quantile(self.shares(result.powder.amounts_mol), [0.1, 0.9], axis=0)
        )

    def course(self) -> _Course:
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
        return _Course(tuple(events), amounts[at], fractions[at])

    def balance(self, held_mol: Floats) -> Floats:
        """Return weight fractions at equilibrium of what is there at the end of the hold."""
        system = self.system
        if not self.shares(held_mol[None])[0].any():
            return np.zeros(len(system.phases))
        found = stable_assemblage(
            system.phases,
            [gas for gas, gone in zip(system.gases, system.vapours, strict=True) if not gone],
            held_mol,
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
        """Fire powders, with coarser steps where fine ones do not come to an end."""
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
            f"{names} at {self.firing.temperature_k:.0f} K: the reactions could not be integrated "
            "to the end, even in coarse steps; try a shorter hold, another temperature or gas"
        )


def _main_product(
    system: ReactionSystem, phases: Sequence[PredictedPhase], weighed: Sequence[TabulatedSubstance]
) -> str | None:
    by_name = {phase.name: phase for phase in system.phases}
    metals = [metals_in(substance) for substance in weighed]
    given = {substance.name for substance in weighed}
    new = [p.name for p in phases if p.name not in given and p.weight_fraction > SHOWN]
    united = [n for n in new if not any(metals_in(by_name[n]) <= own for own in metals)]
    return next(iter(united or new), None)


def _check(firing: Firing) -> None:
    if not firing.amounts_mol:
        raise ProposalError("name at least one precursor")
    bad = {k: n for k, n in firing.amounts_mol.items() if not 0.0 < n < LARGEST_MOL}
    if bad:
        raise ProposalError(f"amounts must be above 0 and below {LARGEST_MOL:g} mol, got {bad}")
    if not 273.15 <= firing.temperature_k <= LARGEST_K:
        raise ProposalError(
            f"the rates hold from 273 K to {LARGEST_K:g} K; asked for {firing.temperature_k:g} K"
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


def _repeat(powder: PowderState, count: int) -> PowderState:
    return join_powders([powder] * count)


def _notes(
    phases: Sequence[PredictedPhase], liquid: float, temperature_k: float, coarse: bool
) -> tuple[str, ...]:
    notes: list[str] = []
    if liquid > 0.0:
        notes.append(f"a liquid forms below {temperature_k:.0f} K; what it does is rough here")
    estimated = [p.name for p in phases if p.estimate]
    if estimated:
        notes.append(f"thermochemistry is an estimate for {', '.join(estimated)}")
    if coarse:
        notes.append("the reactions were integrated in coarse steps; shares are good to some 0.05")
    return tuple(notes)


def predict_at(firing: Firing, temperatures_k: Sequence[float]) -> tuple[Prediction, ...]:
    """Predict the same firing at several temperatures.

    Args:
        firing: The firing.
        temperatures_k: Temperatures held, K.

    Returns:
        One prediction a temperature.
    """
    return tuple(predict(replace(firing, temperature_k=float(t))) for t in temperatures_k)


__all__ = [
    "Firing",
    "Others",
    "PathEvent",
    "PredictedPhase",
    "Prediction",
    "predict",
    "predict_at",
]
