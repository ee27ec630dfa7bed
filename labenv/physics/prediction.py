"""What a firing gives: phases and their spread, the path, and what limits it.

`predict` fires a mixture once as the rules say, many times within the uncertainty of the kinetics,
and up to a series of moments for the path, one of which is the end of the hold. What it cannot know
it says: mixtures whose elements have no compound in the tables are outside its domain, and mixtures
whose metals may share a crystal are flagged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from labenv.physics.networks.generation import generate_system
from labenv.physics.networks.solid_solutions import DomainFlag, domain_flags
from labenv.physics.prediction_reasons import limit, metals_in, on_cooling, outside_domain
from labenv.physics.prediction_run import (
    CONTROL,
    NOTHING_LEFT,
    Firing,
    FiringRun,
    PathEvent,
    check_firing,
)
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import ConfigError, UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.physics.reactions import ReactionSystem
    from labenv.physics.thermochemistry.tables import TabulatedSubstance

    Floats = NDArray[np.float64]

Status = Literal["ok", "unknown_substance", "outside_domain"]
ZERO_C_K = 273.15
SHOWN = 0.005  # weight fraction below which a phase is not named


@dataclass(frozen=True)
class PredictedPhase:
    """One phase of a prediction; fractions of zero where nothing is left of the powder.

    Attributes:
        name: The phase.
        weight_fraction: Of what is taken out of the furnace, by the nominal rates.
        low: Tenth percentile over the kinetic uncertainty, or the nominal share where that is less.
        high: Ninetieth percentile, or the nominal share where that is more.
        held: Weight fraction at the end of the hold, before cooling.
        equilibrium: At equilibrium of what was weighed in at the temperature held.
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


NO_OTHERS = Others()


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
    others: Others = NO_OTHERS
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
    check_firing(firing)
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
    around, run = firing.surroundings, FiringRun(firing, system, weighed)
    nominal, book = run.nominal()
    course = run.course()
    spread = run.spread()
    left = float(nominal.powder.amounts_mol[0] @ system.molar_mass_kg_mol)
    change = left / float(book.mass_kg[0]) - 1.0
    after = run.shares(nominal.powder.amounts_mol)[0]
    balance = run.balance(run.powder.amounts_mol[0])
    # vapours that leave change what the rest tends to
    tends_to = balance if around.vessel == "covered" else run.balance(course.held_mol)
    rows = np.array([after, *spread, course.held, balance])
    phases = tuple(
        PredictedPhase(
            name=system.phase_names[p],
            weight_fraction=float(after[p]),
            low=min(float(spread[0, p]), float(after[p])),
            high=max(float(spread[1, p]), float(after[p])),
            held=float(course.held[p]),
            equilibrium=float(balance[p]),
            estimate=system.phases[p].estimate,
        )
        for p in np.argsort(-after, kind="stable")
        if (rows[[0, 3], p] > SHOWN).any() or (rows[[2, 4], p] > 10.0 * SHOWN).any()
    )
    shown = [system.phases[system.phase_index(phase.name)] for phase in phases]
    tabulated = substance_table(firing.source).within({
        e for p in system.phases for e in p.elements
    })
    metals = set[str]().union(*(metals_in(substance) for substance in weighed))
    return Prediction(
        "ok",
        phases=phases,
        others=_others(phases, after, course.held, balance),
        path=course.events,
        limited_by=limit(system, weighed, course.held, tends_to, firing.temperature_k, around),
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
    left = [
        float(all_.sum()) - some for all_, some in zip((after, held, balance), named, strict=True)
    ]
    return Others(*(max(0.0, rest) for rest in left))


def _main_product(
    system: ReactionSystem, phases: Sequence[PredictedPhase], weighed: Sequence[TabulatedSubstance]
) -> str | None:
    by_name = {phase.name: phase for phase in system.phases}
    metals = [metals_in(substance) for substance in weighed]
    given = {substance.name for substance in weighed}
    new = [p.name for p in phases if p.name not in given and p.weight_fraction > SHOWN]
    united = [n for n in new if not any(metals_in(by_name[n]) <= own for own in metals)]
    return next(iter(united or new), None)


def _notes(
    phases: Sequence[PredictedPhase], liquid: float, temperature_k: float, coarse: bool
) -> tuple[str, ...]:
    notes: list[str] = []
    if liquid > 0.0:
        notes.append(
            f"a liquid forms below {temperature_k - ZERO_C_K:.0f} degC; what it does is rough here"
        )
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
    "CONTROL",
    "DomainFlag",
    "Firing",
    "Others",
    "PathEvent",
    "PredictedPhase",
    "Prediction",
    "predict",
    "predict_at",
]
