"""The state of a batch of powders and what mixing, milling, regrinding and pressing do to it.

Every function is pure: it takes a `PowderState` and returns a new one. All arrays have a leading
axis of N samples. Bringing powders together again renews the contact: product layers are broken
off, so diffusion starts anew, and what was out of reach comes into reach.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.checks import ABOVE_ZERO, all_between
from labenv_schemas.errors import ProposalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from labenv.physics.reactions import ReactionSystem

    Floats = NDArray[np.float64]

# Mixing follows a first-order approach to a limit that the method sets (Danckwerts 1952,
# doi:10.1007/BF03184936, for the measure; limits and times are calibrated to the practice that a
# dry-mixed powder needs regrinding and a ball-milled one hardly does). Lengths in m, times in s.
UNMIXED_CONTACT = 0.25  # poured together
MIX_LIMIT, MIX_TIME_S = 0.86, 600.0  # mortar or tumbler
MILL_LIMIT, MILL_TIME_S = 0.985, 7200.0  # ball mill
REGRIND_GAIN, REGRIND_LIMIT = 0.6, 0.93  # each regrind closes this share of the gap to its limit
GRIND_LIMIT_M = 0.15e-6  # radius below which milling gains nothing
GRIND_TIME_S = 14400.0
MORTAR_LIMIT_M = 1.5e-6  # radius to which a mortar breaks a fired cake
MILL_CRYSTALLITE_M = 40e-9  # crystallite size that long milling tends to
PRESS_GAIN, PRESS_HALF_PA = 0.5, 1.0e8  # pressing raises the contact area by up to this share
INITIAL_CRYSTALLITE_M = 120e-9


@dataclass(frozen=True)
class PowderState:
    """N powders of one chemical system with P phases and G gases.

    Attributes:
        amounts_mol: Amount of each phase, mol, shape (N, P).
        reference_mol: Amount each phase had when its product layers began, mol, shape (N, P).
        particle_radius_m: Radius of the particles of each phase, m, shape (N, P).
        crystallite_m: Size of the coherent crystallites of each phase, m, shape (N, P).
        contact: Share of the mixture that is in reach of its partners, 0 to 1, shape (N,).
        packing: Factor of pressing on the contact area, at least 1, shape (N,).
        segregation: How unmixed the cations were at the last mixing, 0 to 1, shape (N,).
        reach_used: Segregation undone since then by reactions that need contact, less what has
            come into reach by long ways, shape (N,); contact times segregation is all there is.
        gas_released_mol: Gas given off since the powder was made, mol, shape (N, G); negative
            where gas was taken up.
        liquid_share: Largest share of the cations that ever was in a liquid, shape (N,).
    """

    amounts_mol: Floats
    reference_mol: Floats
    particle_radius_m: Floats
    crystallite_m: Floats
    contact: Floats
    packing: Floats
    segregation: Floats
    reach_used: Floats
    gas_released_mol: Floats
    liquid_share: Floats

    def __len__(self) -> int:
        return int(self.amounts_mol.shape[0])

    def rows(self, index: slice | NDArray[np.int64] | NDArray[np.bool_]) -> PowderState:
        """Return the samples that `index` selects, as a state of their own."""
        return PowderState(**{f.name: getattr(self, f.name)[index].copy() for f in fields(self)})


def join_powders(states: Sequence[PowderState]) -> PowderState:
    """Join states of one chemical system into one batch.

    Args:
        states: Batches of any sizes.

    Returns:
        One batch with all samples in order.
    """
    return PowderState(**{
        f.name: np.concatenate([getattr(state, f.name) for state in states])
        for f in fields(PowderState)
    })


def new_powder(
    system: ReactionSystem,
    amounts_mol: ArrayLike,
    particle_radius_m: ArrayLike = 0.5e-6,
    contact: ArrayLike = UNMIXED_CONTACT,
) -> PowderState:
    """Make a batch of freshly dosed powders.

    Args:
        system: The chemical system; its order of phases is the order of columns.
        amounts_mol: Amounts, mol, shape (N, P).
        particle_radius_m: Radii, m, shape (N, P), (N, 1) or a scalar.
        contact: Mixedness to begin with, 0 to 1, shape (N,) or a scalar.

    Returns:
        The batch.

    Raises:
        ProposalError: If amounts are negative, a powder is empty, or a radius is not above zero.
    """
    amounts = np.array(amounts_mol, dtype=np.float64)
    if amounts.ndim != 2 or amounts.shape[1] != len(system.phases):
        raise ProposalError(
            f"amounts need shape (samples, {len(system.phases)}), got {amounts.shape}"
        )
    if not all_between(amounts, 0.0):
        raise ProposalError("amounts must be finite and at least 0 mol")
    if (amounts.sum(axis=1) <= 0.0).any():
        raise ProposalError("a powder needs at least one phase with an amount above 0 mol")
    count = amounts.shape[0]
    radius = np.empty_like(amounts)
    radius[:] = np.asarray(particle_radius_m, dtype=np.float64)
    if not all_between(radius, ABOVE_ZERO):
        raise ProposalError("particle radii must be finite and above 0 m")
    size = np.where(amounts > 0.0, INITIAL_CRYSTALLITE_M, system.constants["nucleus_m"])
    state = PowderState(
        amounts_mol=amounts,
        reference_mol=amounts.copy(),
        particle_radius_m=radius,
        crystallite_m=np.minimum(size, 2.0 * radius),
        contact=np.zeros(count) + np.asarray(contact, dtype=np.float64),
        packing=np.ones(count),
        segregation=np.zeros(count),
        reach_used=np.zeros(count),
        gas_released_mol=np.zeros((count, len(system.gases))),
        liquid_share=np.zeros(count),
    )
    if not all_between(state.contact, ABOVE_ZERO, 1.0):
        raise ProposalError("contact must lie above 0 and at most 1")
    return _renew(system, state)


def segregation_weights(system: ReactionSystem, amounts_mol: Floats) -> Floats:
    """Return what a mole of each phase adds to the segregation of its powder's cations.

    Segregation is the mean distance of the phases' cation ratios from the powder's, 0 for one
    composition and 1 for pure precursors of different cations (an intensity of segregation as
    Danckwerts defined it, in the first power). While cations stay, it is linear in the amounts.

    Args:
        system: The chemical system.
        amounts_mol: Amounts, mol, shape (N, P).

    Returns:
        Weights, 1/mol, shape (N, P); zero where only one kind of cation is present.
    """
    from labenv.physics.powder_kernel import fill_segregation_weights

    weights = np.empty_like(amounts_mol)
    fill_segregation_weights(amounts_mol, system.tables.cation, weights)
    return weights


def _renew(system: ReactionSystem, state: PowderState) -> PowderState:
    # Product layers start anew; phases not there yet get the mean radius of those present.
    from labenv.physics.powder_kernel import renew_rows

    weights = segregation_weights(system, state.amounts_mol)
    radius, segregation = state.particle_radius_m.copy(), np.empty(len(state))
    renew_rows(state.amounts_mol, system.tables.cation, weights, radius, segregation)
    return replace(
        state,
        reference_mol=state.amounts_mol.copy(),
        particle_radius_m=radius,
        packing=np.ones(len(state)),
        segregation=segregation,
        reach_used=np.zeros(len(state)),
    )


def mix(system: ReactionSystem, state: PowderState, duration_s: ArrayLike) -> PowderState:
    """Mix by mortar or tumbler: contact improves toward the limit of dry mixing.

    Args:
        system: The chemical system.
        state: The powders.
        duration_s: Time, s, shape (N,) or a scalar, at least 0.

    Returns:
        The mixed powders.
    """
    time = _duration(state, duration_s)
    gain = (MIX_LIMIT - state.contact) * -np.expm1(-time / MIX_TIME_S)
    return _renew(system, replace(state, contact=state.contact + np.maximum(0.0, gain)))


def mill(system: ReactionSystem, state: PowderState, duration_s: ArrayLike) -> PowderState:
    """Ball-mill: contact improves, particles and crystallites shrink, with diminishing returns.

    Args:
        system: The chemical system.
        state: The powders.
        duration_s: Time, s, shape (N,) or a scalar, at least 0.

    Returns:
        The milled powders.
    """
    time = _duration(state, duration_s)
    gain = (MILL_LIMIT - state.contact) * -np.expm1(-time / MILL_TIME_S)
    keep = np.exp(-time / GRIND_TIME_S)[:, None]
    radius = GRIND_LIMIT_M + (state.particle_radius_m - GRIND_LIMIT_M) * keep
    radius = np.minimum(radius, state.particle_radius_m)
    size = MILL_CRYSTALLITE_M + (state.crystallite_m - MILL_CRYSTALLITE_M) * keep
    return _renew(
        system,
        replace(
            state,
            contact=state.contact + np.maximum(0.0, gain),
            particle_radius_m=radius,
            crystallite_m=np.minimum(np.minimum(size, state.crystallite_m), 2.0 * radius),
        ),
    )


def regrind(system: ReactionSystem, state: PowderState) -> PowderState:
    """Grind a fired cake in a mortar: layers are broken, contact renewed, lumps broken up.

    Args:
        system: The chemical system.
        state: The powders.

    Returns:
        The reground powders.
    """
    gain = REGRIND_GAIN * np.maximum(0.0, REGRIND_LIMIT - state.contact)
    radius = np.minimum(state.particle_radius_m, MORTAR_LIMIT_M)
    return _renew(system, replace(state, contact=state.contact + gain, particle_radius_m=radius))


def press(state: PowderState, pressure_pa: ArrayLike) -> PowderState:
    """Press a pellet: more contact area, until the pellet is broken up again.

    Args:
        state: The powders.
        pressure_pa: Uniaxial pressure, Pa, shape (N,) or a scalar, at least 0.

    Returns:
        The pressed powders.

    Raises:
        ProposalError: If a pressure is negative or not finite.
    """
    pressure = np.broadcast_to(np.asarray(pressure_pa, dtype=np.float64), (len(state),))
    if not all_between(pressure, 0.0):
        raise ProposalError("a pressing pressure must be finite and at least 0 Pa")
    factor = 1.0 + PRESS_GAIN * pressure / (pressure + PRESS_HALF_PA)
    return replace(state, packing=np.maximum(state.packing, factor))


def _duration(state: PowderState, duration_s: ArrayLike) -> Floats:
    time = np.asarray(duration_s, dtype=np.float64)
    if time.shape != (len(state),):
        time = np.broadcast_to(time, (len(state),))
    if not all_between(time, 0.0):
        raise ProposalError("a mixing or milling time must be finite and at least 0 s")
    return time
