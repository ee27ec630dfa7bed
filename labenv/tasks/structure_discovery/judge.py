"""What a proposed structure earns: only a sane, converged, new one earns anything.

Each composition has one account that holds the best score of its structures so far, and a proposal
earns what it adds. So neither a structure seen before, nor a slightly worse polymorph, nor the same
crystal in a larger cell earns a thing.

Energies above the hull are per atom, so a crystal with one defect in a large cell lies as near to
the hull as one likes, and so does a block of one phase grown on another. Neither is a discovery.
A composition that is not one of the known phases' therefore earns by two rules more:

* it must differ. The *distance* of two compositions is the share of the atoms that would have to be
  exchanged to turn one into the other. Within `SAME` of a known phase (an element too), or of what
  has earned in the episode, nothing is earned; from `APART` on all; in between in proportion;
* it must be nearly stable: the score falls to 0 within `NEW_WINDOW_EV_PER_ATOM` above the hull.

Points `SAME` apart are limited in number, hence so is the sum of all rewards, however many
proposals there are. What is paid on purpose: every known phase once, as far as a proposal of its
composition is stable, whether or not it is the known crystal; and a composition far from all of
them on or below the potential's hull, even where the potential may be wrong. What is not paid
though it might be real: a compound that the tables lack within `SAME` of one that they have, as in
long series of ordered defects (Magnéli phases) or intergrowths.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pymatgen.core.structure import Structure

    from labenv.physics.potential.hull import HullDistance, ReferenceHull
    from labenv.physics.potential.results import Relaxation

Status = Literal["new", "duplicate", "unconverged", "invalid"]
STATUSES: tuple[Status, ...] = ("new", "duplicate", "unconverged", "invalid")
WINDOW_EV_PER_ATOM = 0.1  # nine in ten known metastable crystals: Sun et al. 2016, Sci. Adv. 2
NEW_WINDOW_EV_PER_ATOM = 0.025  # kT in the room; half of known metastable ones lie within 0.015
BEST_SCORE = 2.0
SAME, APART = 0.05, 0.10  # distances of compositions; one defect in a cell of 20 atoms is SAME


@dataclass(frozen=True)
class Verdict:
    """What became of a proposal.

    Attributes:
        status: "new" if a converged structure was not seen before in the episode.
        reward: What it adds to the score of its composition.
        score: What a composition with this distance from the hull, and from other compositions,
            is worth; 0 if there is none.
        energy_above_hull_ev_per_atom: Negative for a find, None if there is none.
        formula: Reduced formula, empty if there is none.
        message: What went wrong.
    """

    status: Status
    reward: float = 0.0
    score: float = 0.0
    energy_above_hull_ev_per_atom: float | None = None
    formula: str = ""
    message: str = ""


def score_of(energy_above_hull_ev_per_atom: float, *, known: bool = True) -> float:
    """Return the score of a compound: 1 on the hull, 0 at the window's end, 2 at most below.

    Args:
        energy_above_hull_ev_per_atom: Negative below the hull.
        known: Whether a phase of its composition is known; the window is narrower otherwise.

    Returns:
        From 0 to 2.
    """
    narrow = not known and energy_above_hull_ev_per_atom > 0.0
    window = NEW_WINDOW_EV_PER_ATOM if narrow else WINDOW_EV_PER_ATOM
    share = 1.0 - energy_above_hull_ev_per_atom / window
    return min(max(share, 0.0), BEST_SCORE)


def composition_distance(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return the share of atoms to exchange between two compositions.

    Args:
        one: Atomic fractions.
        other: Atomic fractions.

    Returns:
        From 0 to 1, half the sum of absolute differences.
    """
    return 0.5 * sum(abs(one.get(e, 0.0) - other.get(e, 0.0)) for e in one.keys() | other.keys())


@dataclass
class Judge:
    """The books of one episode.

    Attributes:
        hull: Of the episode's system.
        accounts: Best score by composition.
        seen: Relaxed structures by composition.
        earned: Atomic fractions of the compositions that have earned.
    """

    hull: ReferenceHull
    accounts: dict[str, float] = field(default_factory=dict)
    seen: dict[str, list[Structure]] = field(default_factory=dict)
    earned: dict[str, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up what is known."""
        self._known = self.hull.known_compositions()

    @property
    def total(self) -> float:
        """Sum of the accounts, which is the sum of all rewards."""
        return sum(self.accounts.values())

    def judge(self, relaxed: Relaxation) -> Verdict:
        """Book the outcome of a relaxation.

        Args:
            relaxed: By the potential of the hull.

        Returns:
            The verdict; nothing that is not converged and sane earns anything.
        """
        final = relaxed.final_structure()
        if not relaxed.converged or final is None or relaxed.energy_ev_per_atom is None:
            status: Status = "unconverged" if relaxed.status == "unconverged" else "invalid"
            return Verdict(status, message=relaxed.message)
        formula = str(final.composition.reduced_formula)
        try:
            place = self.hull.distance(
                final.composition.get_el_amt_dict(), relaxed.energy_ev_per_atom
            )
        except SimulatorError as failure:
            return Verdict("invalid", formula=formula, message=str(failure))
        return self._book(final, formula, place)

    def _book(self, final: Structure, formula: str, place: HullDistance) -> Verdict:
        energy = place.energy_above_hull_ev_per_atom
        fractions = {
            str(element): float(share)
            for element, share in final.composition.fractional_composition.items()
        }
        novelty, near = self._novelty(formula, fractions)
        known = formula in self._known
        score = 0.0 if len(fractions) == 1 else novelty * score_of(energy, known=known)
        message = f"{novelty:.0%} credit: too like {near} in composition" if novelty < 1.0 else ""
        others = self.seen.setdefault(formula, [])
        if any(_matcher_fits(final, other) for other in others):
            return Verdict("duplicate", 0.0, score, energy, formula, message)
        others.append(final)
        before = self.accounts.get(formula, 0.0)
        self.accounts[formula] = max(before, score)
        if self.accounts[formula] > 0.0:
            self.earned[formula] = fractions
        return Verdict("new", max(score - before, 0.0), score, energy, formula, message)

    def _novelty(self, formula: str, fractions: Mapping[str, float]) -> tuple[float, str]:
        """Return the share of its score that a composition earns, and the one that is nearest."""
        if formula in self._known:
            return 1.0, formula
        sites = {**self._known, **self.earned}
        sites.pop(formula, None)
        distance, near = min(
            (composition_distance(fractions, site), name) for name, site in sites.items()
        )
        return min(max((distance - SAME) / (APART - SAME), 0.0), 1.0), near


def _matcher_fits(one: Structure, other: Structure) -> bool:
    from pymatgen.analysis.structure_matcher import StructureMatcher

    return bool(StructureMatcher().fit(one, other))
