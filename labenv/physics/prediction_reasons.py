"""Why a firing gives what it gives: what limits it, what cooling changes, what to know besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.networks.rates import Mobility
from labenv.physics.thermochemistry import cation_amounts
from labenv.physics.thermochemistry.sources import substance_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.physics.networks import Surroundings
    from labenv.physics.reactions import ReactionSystem
    from labenv.physics.thermochemistry import GibbsSource
    from labenv.physics.thermochemistry.tables import TabulatedSubstance

    Floats = NDArray[np.float64]

POOR_IN_O2_PA = 200.0  # below which the gas brings it slowly
LEFT_OVER = 0.02  # weight fraction from which a phase counts as there
NEAR = 0.03  # of the mass in other phases than at equilibrium, which is next to nothing
SAME = 0.003  # which cannot be told from none


def metals_in(substance: GibbsSource) -> set[str]:
    """Return the elements of a substance that do not leave as gas of the furnace."""
    return set(cation_amounts(substance.elements))


def limit(
    system: ReactionSystem,
    weighed: Sequence[TabulatedSubstance],
    held: Floats,
    balance: Floats,
    temperature_k: float,
    surroundings: Surroundings,
) -> str:
    """Return what keeps a powder from equilibrium at the end of the hold.

    Args:
        system: The chemical system, P phases.
        weighed: The precursors.
        held: Weight fractions at the end of the hold, shape (P,).
        balance: Weight fractions at equilibrium, shape (P,).
        temperature_k: Temperature held, K.
        surroundings: The gas.

    Returns:
        In a phrase.
    """
    if not held.any():
        return "nothing: all of it has evaporated"
    if (off := _distance(held - balance)) < NEAR:
        return _next_to_nothing(system, held, balance, off)
    o2_pa = surroundings.o2_pa
    oxygen = np.array([p.elements.get("O", 0.0) for p in system.phases]) / system.molar_mass_kg_mol
    if o2_pa < POOR_IN_O2_PA and float((balance - held) @ oxygen) > 0.5:
        return f"the gas: at equilibrium it would be oxidised, but {o2_pa:g} Pa of O2 bring little"
    if _distance(_by_cations(system, held - balance)) < NEAR:
        return (
            f"gas exchange or a change of form, still under way: {_change(system, held, balance)}"
        )
    left = [s for s in weighed if held[system.phase_index(s.name)] > LEFT_OVER]
    stable = [s for s in left if balance[system.phase_index(s.name)] > LEFT_OVER]
    onset_k = Mobility(substance_table()).contact_onset_k(weighed)
    names = ", ".join(s.name for s in left)
    if left and len(left) > len(stable) and temperature_k < onset_k:
        mobile = f"below about {onset_k - 273.15:.0f} degC ({onset_k:.0f} K)"
        given = {system.phase_index(s.name) for s in weighed}
        if sum(share for p, share in enumerate(held) if p not in given) < LEFT_OVER:
            return f"diffusion: no partner is mobile {mobile}"
        return (
            f"diffusion: partners are hardly mobile {mobile}; {names} left over; fire longer or "
            "hotter"
        )
    if left and len(left) > len(stable):
        return f"diffusion through the product: {names} left over; fire longer, hotter, or regrind"
    return "the last step: intermediates have not reacted with one another yet"


def on_cooling(system: ReactionSystem, held: Floats, after: Floats) -> str:
    """Return what changed between the end of the hold and room temperature.

    Args:
        system: The chemical system, P phases.
        held: Weight fractions at the end of the hold, shape (P,).
        after: Afterwards, shape (P,).

    Returns:
        In a phrase, empty if next to nothing changed.
    """
    if not after.any() or not held.any() or _distance(after - held) < LEFT_OVER:
        return ""
    return _change(system, held, after)


def _next_to_nothing(system: ReactionSystem, held: Floats, balance: Floats, off: float) -> str:
    if off < SAME:
        return (
            "nothing: at the end of the hold the mixture is at equilibrium for this temperature "
            "and gas"
        )
    change = _change(system, held, balance, SAME)
    return f"little: at the end of the hold the mixture is next to equilibrium, but for {change}"


def _change(system: ReactionSystem, before: Floats, after: Floats, least: float = LEFT_OVER) -> str:
    change = after - before
    lost = [int(p) for p in np.argsort(change) if change[p] < -0.5 * least]
    won = [int(p) for p in np.argsort(-change) if change[p] > 0.5 * least]
    gone, come = (", ".join(system.phase_names[p] for p in some) for some in (lost, won))
    return f"{gone or 'several'} to {come or 'several'} ({_percent(_distance(change))} wt %)"


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= NEAR else 1}f}"


def _distance(change: Floats) -> float:
    return 0.5 * float(np.sum(np.abs(change)))


def _by_cations(system: ReactionSystem, change: Floats) -> Floats:
    """Return changes of weight fractions summed over phases that differ in gas elements only."""
    share = np.round(system.tables.cation[:, 1:], 6)
    _, group = np.unique(share, axis=0, return_inverse=True)
    return np.asarray(np.bincount(group.ravel(), weights=change), dtype=np.float64)


def outside_domain(system: ReactionSystem, weighed: Sequence[TabulatedSubstance]) -> str:
    """Return why the tables cannot speak about a mixture, empty if they can."""
    cations = [metals_in(substance) for substance in weighed]
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


__all__ = ["LEFT_OVER", "limit", "metals_in", "on_cooling", "outside_domain"]
