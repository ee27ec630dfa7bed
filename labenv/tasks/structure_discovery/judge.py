"""What a proposed structure earns: only a sane, converged, new one earns anything.

Each composition has one account that holds the best score of its structures so far, and a proposal
earns what it adds. So neither a structure seen before, nor a slightly worse polymorph, nor the same
crystal in a larger cell earns a thing, and the sum of all rewards is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from labenv_schemas.errors import SimulatorError

if TYPE_CHECKING:
    from pymatgen.core.structure import Structure

    from labenv.physics.potential.hull import HullDistance, ReferenceHull
    from labenv.physics.potential.results import Relaxation

Status = Literal["new", "duplicate", "unconverged", "invalid"]
STATUSES: tuple[Status, ...] = ("new", "duplicate", "unconverged", "invalid")
WINDOW_EV_PER_ATOM = 0.1  # nine in ten known metastable crystals: Sun et al. 2016, Sci. Adv. 2
BEST_SCORE = 2.0


@dataclass(frozen=True)
class Verdict:
    """What became of a proposal.

    Attributes:
        status: "new" if a converged structure was not seen before in the episode.
        reward: What it adds to the score of its composition.
        score: `score_of` its distance from the hull, 0 if it has none.
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


def score_of(energy_above_hull_ev_per_atom: float) -> float:
    """Return the score of a compound: 1 on the hull, 0 at 0.1 eV/atom above, 2 at most below.

    Args:
        energy_above_hull_ev_per_atom: Negative below the hull.

    Returns:
        From 0 to 2.
    """
    share = 1.0 - energy_above_hull_ev_per_atom / WINDOW_EV_PER_ATOM
    return min(max(share, 0.0), BEST_SCORE)


@dataclass
class Judge:
    """The books of one episode.

    Attributes:
        hull: Of the episode's system.
        accounts: Best score by composition.
        seen: Relaxed structures by composition.
    """

    hull: ReferenceHull
    accounts: dict[str, float] = field(default_factory=dict)
    seen: dict[str, list[Structure]] = field(default_factory=dict)

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
        score = 0.0 if len(final.composition) == 1 else score_of(energy)
        others = self.seen.setdefault(formula, [])
        if any(_matcher_fits(final, other) for other in others):
            return Verdict("duplicate", 0.0, score, energy, formula)
        others.append(final)
        before = self.accounts.get(formula, 0.0)
        self.accounts[formula] = max(before, score)
        return Verdict("new", max(score - before, 0.0), score, energy, formula)


def _matcher_fits(one: Structure, other: Structure) -> bool:
    from pymatgen.analysis.structure_matcher import StructureMatcher

    return bool(StructureMatcher().fit(one, other))
