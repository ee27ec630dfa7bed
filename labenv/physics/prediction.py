"""What a firing gives: phases and their spread, the path, and what limits it.

`predict` fires a mixture once as the rules say, many times within the uncertainty of the kinetics,
and up to a series of moments for the path. What it cannot know it says: mixtures whose elements
have no compound in the tables are outside its domain.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

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
from labenv.physics.networks.rates import Mobility
from labenv.physics.thermochemistry import cation_amounts, stable_assemblage
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import ConfigError, ProposalError, UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from labenv.physics.reactions import ReactionSystem
    from labenv.physics.thermochemistry import GibbsSource
    from labenv.physics.thermochemistry.sources import Source
    from labenv.physics.thermochemistry.tables import TabulatedSubstance

    Floats = NDArray[np.float64]

POOR_IN_O2_PA = 200.0  # below which the gas brings it slowly
SHOWN = 0.005  # weight fraction below which a phase is not named
PATH_MOMENTS = 48
SEEN_ON_PATH = 0.02
LARGEST_K = 1790.0
CONTROL = StepControl(tolerance=5e-4, temperature_k=10.0)  # many products compete on the ramp


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
    """One phase of a prediction.

    Attributes:
        name: The phase.
        weight_fraction: By the nominal rates.
        low: Tenth percentile over the kinetic uncertainty.
        high: Ninetieth percentile.
        equilibrium: At equilibrium at the temperature held.
        estimate: Whether its thermochemistry is an estimate.
    """

    name: str
    weight_fraction: float
    low: float
    high: float
    equilibrium: float
    estimate: bool


@dataclass(frozen=True)
class PathEvent:
    """A phase that appears or goes while the furnace runs."""

    time_s: float
    temperature_k: float
    event: str
    phase: str


@dataclass(frozen=True)
class Prediction:
    """What a firing is expected to give.

    Attributes:
        in_domain: Whether the tables can speak about the mixture.
        phases: By weight fraction, largest first; empty outside the domain.
        path: In order of time.
        limited_by: What keeps the mixture from equilibrium, or that nothing does.
        notes: What a reader must know, such as melts, estimates, missing compounds.
        main_product: The phase with the largest weight fraction of those that unite metals of
            several precursors; where there is none, of those not weighed in; `None` if nothing
            formed.
        mass_change: Of the powder as a share of what was weighed in, below 0 for a loss.
        heat_j_g: Heat that the powder took from the furnace in all, J per gram weighed in.
    """

    in_domain: bool
    phases: tuple[PredictedPhase, ...]
    path: tuple[PathEvent, ...]
    limited_by: str
    notes: tuple[str, ...]

    main_product: str | None = None
    mass_change: float = 0.0
    heat_j_g: float = 0.0


def predict(firing: Firing) -> Prediction:
    """Predict what a firing gives.

    Args:
        firing: Precursors, temperature, time, gas.

    Returns:
        The prediction; `in_domain` false where the tables have nothing to say.

    Raises:
        ProposalError: If an amount, time or temperature cannot be.
    """
    _check(firing)
    table = substance_table(firing.source)
    try:
        weighed = [table.get(name) for name in firing.amounts_mol]
        names = tuple(substance.name for substance in weighed)
        system = generate_system(names, firing.surroundings, firing.source)
    except (UnknownPluginError, ConfigError) as reason:
        return Prediction(False, (), (), "", (str(reason),))
    outside = _outside_domain(system, weighed)
    if outside:
        return Prediction(False, (), (), "", (outside,))
    amounts = np.zeros((1, len(system.phases)))
    for substance, n in zip(weighed, firing.amounts_mol.values(), strict=True):
        amounts[0, system.phase_index(substance.name)] += n
    amounts /= float(np.sum(amounts))
    powder = new_powder(system, amounts, firing.particle_radius_m)
    if firing.mill_s > 0.0:
        powder = mill(system, powder, np.array([firing.mill_s]))
    program = heat_program([(firing.temperature_k, firing.rate_k_per_s, firing.hold_s)])
    gas = np.array(list(firing.surroundings.pressures_pa(weighed).values()))
    nominal = react(system, powder, program, gas, control=replace(CONTROL, ledger=True))
    book = books(system, powder, program, nominal)
    left_kg = float(nominal.powder.amounts_mol[0] @ system.molar_mass_kg_mol)
    after = system.mass_fractions(nominal.powder.amounts_mol)[0]
    spread = _spread(system, powder, program, gas, firing)
    balance = system.mass_fractions(
        stable_assemblage(
            system.phases,
            [g for g, held in zip(system.gases, ~system.vapours, strict=True) if held],
            amounts[0],
            firing.temperature_k,
            np.maximum(gas, system.bed_pa)[~system.vapours],
        )
    )
    phases = tuple(
        PredictedPhase(
            name=system.phase_names[p],
            weight_fraction=float(after[p]),
            low=float(spread[0, p]),
            high=float(spread[1, p]),
            equilibrium=max(0.0, float(balance[p])),
            estimate=system.phases[p].estimate,
        )
        for p in np.argsort(-after)
        if after[p] > SHOWN or spread[1, p] > 10.0 * SHOWN or balance[p] > 10.0 * SHOWN
    )
    return Prediction(
        in_domain=True,
        phases=phases,
        path=_path(system, powder, program, gas),
        limited_by=_limit(system, weighed, after, balance, firing),
        notes=_notes(system, phases, float(nominal.liquid_share[0]), firing.temperature_k),
        main_product=_main_product(system, phases, weighed),
        mass_change=left_kg / float(book.mass_kg[0]) - 1.0,
        heat_j_g=float(book.heat_j_g[0]),
    )


def _main_product(
    system: ReactionSystem, phases: Sequence[PredictedPhase], weighed: Sequence[TabulatedSubstance]
) -> str | None:
    by_name = {phase.name: phase for phase in system.phases}
    metals = [_metals(substance) for substance in weighed]
    given = {substance.name for substance in weighed}
    new = [p.name for p in phases if p.name not in given and p.weight_fraction > SHOWN]
    united = [n for n in new if not any(_metals(by_name[n]) <= own for own in metals)]
    return next(iter(united or new), None)


def _metals(substance: GibbsSource) -> set[str]:
    return set(cation_amounts(substance.elements))


def _check(firing: Firing) -> None:
    if not firing.amounts_mol:
        raise ProposalError("name at least one precursor")
    bad = {k: n for k, n in firing.amounts_mol.items() if not (np.isfinite(n) and n > 0.0)}
    if bad:
        raise ProposalError(f"amounts must be finite and above 0, got {bad}")
    if not 273.15 <= firing.temperature_k <= LARGEST_K:
        raise ProposalError(
            f"the rates hold from 273 K to {LARGEST_K:g} K; asked for {firing.temperature_k:g} K"
        )
    if not (0.0 <= firing.hold_s < 1e8 and firing.rate_k_per_s > 0.0 and firing.draws >= 2):
        raise ProposalError("hold must be at least 0 s, the heating rate above 0 K/s")


def _outside_domain(system: ReactionSystem, weighed: Sequence[TabulatedSubstance]) -> str:
    """Return why the tables cannot speak about a mixture, empty if they can."""
    cations = [_metals(substance) for substance in weighed]
    everything = set().union(*cations)
    if len(everything) < 2:
        return ""
    mixed = [
        phase
        for phase in system.phases
        if len(set(phase.elements) & everything) >= 2
        and not any(phase.name == s.name for s in weighed)
    ]
    if mixed or any(len(c) >= 2 for c in cations):
        return ""
    return (
        f"no compound of {' and '.join(sorted(everything))} with oxygen is in the tables, so that "
        "a reaction between them could not be seen"
    )


def _repeat(powder: PowderState, count: int) -> PowderState:
    return join_powders([powder] * count)


def _spread(
    system: ReactionSystem, powder: PowderState, program: HeatProgram, gas: Floats, firing: Firing
) -> Floats:
    """Return the tenth and ninetieth percentile of each weight fraction, shape (2, P)."""
    seeds = np.random.SeedSequence(firing.seed).spawn(firing.draws)
    generators = [np.random.default_rng(seed) for seed in seeds]
    # what the rules get wrong they get wrong for all reactions alike, half of it
    common = np.array([generator.standard_normal() for generator in generators])[:, None]
    own = np.log(draw_parameters(system, generators))
    sigma = np.array([reaction.sigma_ln for reaction in system.reactions])
    factors = np.exp(np.sqrt(0.5) * (own + sigma * common))
    result = react(system, _repeat(powder, firing.draws), program, gas, factors, control=CONTROL)
    fractions = system.mass_fractions(result.powder.amounts_mol)
    return np.asarray(np.quantile(fractions, [0.1, 0.9], axis=0))


def _path(
    system: ReactionSystem, powder: PowderState, program: HeatProgram, gas: Floats
) -> tuple[PathEvent, ...]:
    """Return what appears and goes, from firings broken off at a series of moments."""
    time, temperature = program.time_s[0], program.temperature_k[0]
    moments = np.linspace(0.0, float(time[-1]), PATH_MOMENTS + 1)[1:]
    knots = np.minimum(time[None, :], moments[:, None])
    broken = HeatProgram(knots, np.interp(knots, time, temperature))
    result = react(system, _repeat(powder, PATH_MOMENTS), broken, gas, control=CONTROL)
    fractions = system.mass_fractions(result.powder.amounts_mol)
    there = system.mass_fractions(powder.amounts_mol)[0] > SEEN_ON_PATH
    events: list[PathEvent] = []
    for moment, row in zip(moments, fractions, strict=True):
        here = row > SEEN_ON_PATH
        at_k = float(np.interp(moment, time, temperature))
        for p in np.flatnonzero(here != there):
            event = "appears" if here[p] else "is used up"
            events.append(PathEvent(float(moment), at_k, event, system.phase_names[p]))
        there = here
    return tuple(events)


def _limit(
    system: ReactionSystem,
    weighed: Sequence[TabulatedSubstance],
    after: Floats,
    balance: Floats,
    firing: Firing,
) -> str:
    temperature_k, o2_pa = firing.temperature_k, firing.surroundings.o2_pa
    if 0.5 * float(np.sum(np.abs(_by_cations(system, after - balance)))) < 0.03:
        return "nothing: the mixture is at equilibrium for this temperature and gas"
    oxygen = np.array([p.elements.get("O", 0.0) for p in system.phases]) / system.molar_mass_kg_mol
    if o2_pa < POOR_IN_O2_PA and float((balance - after) @ oxygen) > 0.5:
        return f"the gas: at equilibrium it would be oxidised, but {o2_pa:g} Pa of O2 bring little"
    left = [s for s in weighed if after[system.phase_index(s.name)] > SEEN_ON_PATH]
    stable = [s for s in left if balance[system.phase_index(s.name)] > SEEN_ON_PATH]
    mobility = Mobility(substance_table())
    onset_k = mobility.contact_onset_k(weighed)
    if left and len(left) > len(stable) and temperature_k < onset_k:
        return (
            f"diffusion: no partner is mobile below about {onset_k:.0f} K "
            f"({onset_k - 273.15:.0f} degC)"
        )
    if left and len(left) > len(stable):
        names = ", ".join(s.name for s in left)
        return f"diffusion through the product: {names} left over; fire longer, hotter, or regrind"
    return "the last step: intermediates have not reacted with one another yet"


def _by_cations(system: ReactionSystem, change: Floats) -> Floats:
    """Return changes of weight fractions summed over phases that differ in gas elements only."""
    share = np.round(system.tables.cation[:, 1:], 6)
    _, group = np.unique(share, axis=0, return_inverse=True)
    return np.asarray(np.bincount(group.ravel(), weights=change), dtype=np.float64)


def _notes(
    system: ReactionSystem, phases: Sequence[PredictedPhase], liquid: float, temperature_k: float
) -> tuple[str, ...]:
    notes: list[str] = []
    if liquid > 0.0:
        notes.append(f"a liquid forms below {temperature_k:.0f} K; what it does is rough here")
    estimated = [p.name for p in phases if p.estimate]
    if estimated:
        notes.append(f"thermochemistry is an estimate for {', '.join(estimated)}")
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


__all__ = ["Firing", "PathEvent", "PredictedPhase", "Prediction", "predict", "predict_at"]
