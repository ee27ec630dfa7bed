"""Which reactions phases may have with one another.

Every reaction conserves the cations exactly; the gas gives or takes the rest. Considered are

- one phase into one, two or three others (decomposition, oxidation, reduction, transformation);
- two phases in contact into each compound between them, or into pairs of compounds that the line
  between them crosses;
- an oxide and a substance without oxygen that was weighed in, which takes its oxygen (thermite),
  and an oxide and a lower one, or its metal, that was weighed in, into those between them;
- three phases into the compound that their triangle holds: the precursors, and those that are most
  stable with and without other compounds as rich as it.

Of the many that balance, those are kept that lower the energy most at some temperature.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.physics.thermochemistry import GAS_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from labenv.physics.networks.grand_potential import GrandPotential

    Floats = NDArray[np.float64]

_TINY = 1e-9
_BEST_OF_PAIR = 2  # double products kept for a pair at each temperature
_LEAST_DRIVE_J_MOL_ATOM = 20.0


class Candidate(NamedTuple):
    """A reaction by positions of phases; coefficients per mole as written."""

    reactants: tuple[tuple[int, float], ...]
    products: tuple[tuple[int, float], ...]


def drive_j_mol_atom(potential: GrandPotential, reaction: Candidate) -> Floats:
    """Return the energy a reaction lowers, J per mole of the reactants' atoms, shape (K,).

    Args:
        potential: The phases.
        reaction: The reaction.

    Returns:
        Positive where the reaction goes forward.
    """
    change = sum(n * potential.energy_j_mol[p] for p, n in reaction.products) - sum(
        n * potential.energy_j_mol[p] for p, n in reaction.reactants
    )
    atoms = sum(n * potential.atoms[p] for p, n in reaction.reactants)
    return np.asarray(-change / atoms)


def enumerate_reactions(potential: GrandPotential, precursors: tuple[int, ...]) -> list[Candidate]:
    """Return the reactions of a set of phases.

    Args:
        potential: The phases.
        precursors: Positions of those that are weighed in.

    Returns:
        Reactions, each once and in one direction.
    """
    # contacts first: what decomposes into phases that react with one another is their reverse
    every = _pairs(potential)
    if len(potential.cations) >= 3:
        every += _triples(potential, precursors)
    every += _exchanges(potential, precursors)
    every += _alone(potential)
    return merged([
        [
            reaction
            for reaction in every
            if np.max(np.abs(drive_j_mol_atom(potential, reaction))) >= _LEAST_DRIVE_J_MOL_ATOM
        ]
    ])


def merged(lists: Iterable[Iterable[Candidate]]) -> list[Candidate]:
    """Return the reactions of several lists, each once, in the direction it is first found in.

    Args:
        lists: Of reactions between the same phases.

    Returns:
        Reactions that differ in the phases of a side.
    """
    found: dict[frozenset[tuple[int, int]], Candidate] = {}
    for reaction in (reaction for one in lists for reaction in one):
        sides = frozenset(
            [(p, -1) for p, _ in reaction.reactants] + [(p, 1) for p, _ in reaction.products]
        )
        turned = frozenset((p, -side) for p, side in sides)
        if sides not in found and turned not in found:
            found[sides] = reaction
    return list(found.values())


def _alone(potential: GrandPotential) -> list[Candidate]:
    counts = potential.counts
    share = counts / counts.sum(axis=1, keepdims=True)
    found: list[Candidate] = []
    for a, b in combinations(range(len(counts)), 2):
        if np.abs(share[a] - share[b]).max() < _TINY:
            found.append(Candidate(((a, 1.0),), ((b, counts[a].sum() / counts[b].sum()),)))
    for a in range(len(counts)):
        if np.count_nonzero(counts[a]) < 2:
            continue
        same = frozenset(b for b in range(len(counts)) if np.abs(share[a] - share[b]).max() < _TINY)
        for k in range(potential.temperature_k.size):
            amounts = potential.least(counts[a], k, same)
            if np.isfinite(amounts).all():
                parts = tuple((int(p), float(amounts[p])) for p in np.flatnonzero(amounts > 1e-7))
                if 2 <= len(parts) <= 3:
                    found.append(Candidate(((a, 1.0),), _exact(potential, a, parts)))
    return [reaction for reaction in found if reaction.products]


def _exact(
    potential: GrandPotential, a: int, parts: tuple[tuple[int, float], ...]
) -> tuple[tuple[int, float], ...]:
    """Return the parts with coefficients solved to rounding, none if they do not balance."""
    index = [p for p, _ in parts]
    solution, *_ = np.linalg.lstsq(potential.counts[index].T, potential.counts[a], rcond=None)
    balanced = np.abs(potential.counts[index].T @ solution - potential.counts[a]).max() < _TINY
    if not balanced or (solution < 1e-7).any():
        return ()
    return tuple(zip(index, map(float, solution), strict=True))


def _pairs(potential: GrandPotential) -> list[Candidate]:
    counts = potential.counts
    found: list[Candidate] = []
    for a, b in combinations(range(len(counts)), 2):
        base = counts[[a, b]].T
        if np.linalg.matrix_rank(base, tol=_TINY) < 2:
            continue
        amounts = np.linalg.lstsq(base, counts.T, rcond=None)[0]
        made = (amounts > 1e-7).all(axis=0)
        made &= np.abs(base @ amounts - counts.T).max(axis=0) < _TINY
        found += [
            Candidate(((a, float(amounts[0, c])), (b, float(amounts[1, c]))), ((int(c), 1.0),))
            for c in np.flatnonzero(made)
            if c not in {a, b}
        ]
        if len(potential.cations) >= 3:
            found += _double_products(potential, a, b)
    return found


def _exchanges(potential: GrandPotential, precursors: tuple[int, ...]) -> list[Candidate]:
    """Return the reactions in which a reducing precursor takes over an oxide's oxygen.

    None of them needs the gas: oxygen balances between the solids.
    """
    elements = [phase.elements for phase in potential.phases]
    share = potential.counts / potential.counts.sum(axis=1, keepdims=True)
    gas = set(GAS_ELEMENTS) - {"O"}
    plain = [p for p, e in enumerate(elements) if not gas & e.keys()]
    oxygen = np.array([e.get("O", 0.0) for e in elements]) / potential.counts.sum(axis=1)

    def as_(p: int, less: bool) -> list[int]:
        """Return the phases of the same cations with less, or more, oxygen."""
        sign = -1.0 if less else 1.0
        alike = [q for q in plain if _alike(share, p, q)]
        return [q for q in alike if sign * (oxygen[q] - oxygen[p]) > _TINY]

    found: list[Candidate] = []
    weighed = [p for p in precursors if p in plain]
    for b, a in product(plain, plain):
        # what has less oxygen was weighed in, or may come of what was
        here = any(oxygen[p] < oxygen[b] + _TINY and _alike(share, p, b) for p in weighed)
        if here and _alike(share, a, b) and oxygen[a] > oxygen[b] + _TINY:
            found += _meeting(potential, oxygen, a, b, as_(b, less=False))
    for b in (p for p in precursors if p in plain and oxygen[p] == 0.0):
        for a in (p for p in plain if oxygen[p] > 0.0 and not (share[p] * share[b]).any()):
            for c, d in product(as_(a, less=True), as_(b, less=False)):
                cations = potential.counts.sum(axis=1)
                needed = (oxygen[a] - oxygen[c]) / oxygen[d]  # cations of b for each of a
                found.append(
                    Candidate(
                        ((a, 1.0 / cations[a]), (b, needed / cations[b])),
                        ((c, 1.0 / cations[c]), (d, needed / cations[d])),
                    )
                )
    return found


def _alike(share: Floats, p: int, q: int) -> bool:
    """Return whether two phases have the same cations in the same ratio."""
    return bool(np.abs(share[p] - share[q]).max() < _TINY)


def _meeting(
    potential: GrandPotential, oxygen: Floats, a: int, b: int, between: list[int]
) -> list[Candidate]:
    """Return the reactions of an oxide and what has less oxygen into those between the two."""
    cations, found = potential.counts.sum(axis=1), list[Candidate]()
    for c in between:
        x = (oxygen[c] - oxygen[b]) / (oxygen[a] - oxygen[b])
        if _TINY < x < 1.0 - _TINY:
            reactants = ((a, float(x / cations[a])), (b, float((1.0 - x) / cations[b])))
            found.append(Candidate(reactants, ((c, float(1.0 / cations[c])),)))
    return found


def _double_products(potential: GrandPotential, a: int, b: int) -> list[Candidate]:
    """Return the pairs of products of a pair that lower the energy most, at each temperature."""
    counts = potential.counts
    involved = (counts[a] > 0) | (counts[b] > 0)
    inside = [
        c for c in range(len(counts)) if c not in {a, b} and not (counts[c][~involved] > 0).any()
    ]
    pairs = np.array(list(combinations(inside, 2)), dtype=np.int64).reshape(-1, 2)
    if not len(pairs):
        return []
    width = counts.shape[1]
    # a x + (1 - x) b = c y + d z, with x the share of a
    system = np.empty((len(pairs), width, 3))
    system[:, :, 0] = counts[pairs[:, 0]]
    system[:, :, 1] = counts[pairs[:, 1]]
    system[:, :, 2] = counts[b] - counts[a]
    right = np.broadcast_to(counts[b], (len(pairs), width))
    solution = np.einsum("nij,nj->ni", np.linalg.pinv(system), right)
    left = np.abs(np.einsum("nij,nj->ni", system, solution) - right).max(axis=1)
    sound = (left < 1e-7) & (solution > 1e-4).all(axis=1) & (solution[:, 2] < 1.0 - 1e-4)
    made: list[Candidate] = []
    for (c, d), (y, z, x) in zip(pairs[sound], solution[sound], strict=True):
        made.append(
            Candidate(
                ((a, float(x)), (b, float(1.0 - x))), ((int(c), float(y)), (int(d), float(z)))
            )
        )
    if not made:
        return []
    drive = np.array([drive_j_mol_atom(potential, reaction) for reaction in made])
    best = {
        int(i)
        for k in range(drive.shape[1])
        for i in np.argsort(-drive[:, k])[:_BEST_OF_PAIR]
        if drive[i, k] > _LEAST_DRIVE_J_MOL_ATOM
    }
    return [made[i] for i in sorted(best)]


def _triples(potential: GrandPotential, precursors: tuple[int, ...]) -> list[Candidate]:
    counts = potential.counts
    share = counts / counts.sum(axis=1, keepdims=True)
    found: list[Candidate] = []
    for d in range(len(counts)):
        if np.count_nonzero(counts[d]) < 3:
            continue
        same = frozenset(b for b in range(len(counts)) if np.abs(share[d] - share[b]).max() < _TINY)
        trios = {tuple(sorted(t)) for t in combinations(precursors, 3) if not set(t) & same}
        # made from what is most stable beside it, and from what its simpler compounds would be
        rich = np.flatnonzero(np.count_nonzero(counts, axis=1) >= np.count_nonzero(counts[d]))
        for k in range(potential.temperature_k.size):
            for without in (same, same | frozenset(int(b) for b in rich)):
                amounts = potential.least(counts[d], k, without)
                if np.isfinite(amounts).all():
                    trios.add(tuple(int(p) for p in np.flatnonzero(amounts > 1e-7)))
        for trio in trios:
            if len(trio) != 3:
                continue
            amounts, *_ = np.linalg.lstsq(counts[list(trio)].T, counts[d], rcond=None)
            balanced = np.abs(counts[list(trio)].T @ amounts - counts[d]).max() < _TINY
            if balanced and (amounts > 1e-7).all():
                parts = tuple(zip(trio, map(float, amounts), strict=True))
                found.append(Candidate(parts, ((d, 1.0),)))
    return found


__all__ = ["Candidate", "drive_j_mol_atom", "enumerate_reactions", "merged"]
