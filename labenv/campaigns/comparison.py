"""Simulated beside published outcomes of recipes that were replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labenv.campaigns.plan_text import plan_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_schemas.analysis import PhaseFraction
    from labenv_schemas.campaign import Recipe
    from labenv_schemas.outcome import Outcome

DETECTION_LIMIT = 0.02
"""Weight fraction above which a laboratory diffractogram shows a phase.

Source:
    About 1 to 2 % by weight for laboratory powder diffraction; Madsen et al., J. Appl. Cryst. 34
    (2001) 409, doi:10.1107/S0021889801007476.
"""


@dataclass(frozen=True)
class RecipeComparison:
    """One recipe: what its authors found and what the lab found.

    Attributes:
        name: Of the recipe.
        citation: Of the publication.
        plan: The proposal in one line.
        rationale: What of the plan is published and what is assumed.
        statement: What the authors found.
        published: Phase to reported weight fraction; None if only named, 0 if reported absent.
        status: Of the outcome.
        simulated: Phases measured in the simulated lab.
        agrees: Whether the named phases are present and the absent ones absent; None if the
            experiment gave no analysis.
        verdict: The same in words.
        differences: Phase to simulated minus published fraction, where one was reported.
    """

    name: str
    citation: str
    plan: str
    rationale: str
    statement: str
    published: dict[str, float | None]
    status: str
    simulated: tuple[PhaseFraction, ...]
    agrees: bool | None
    verdict: str
    differences: dict[str, float]

    @property
    def published_text(self) -> str:
        """The published phases in words."""
        return ", ".join(_published(name, value) for name, value in self.published.items())

    @property
    def simulated_text(self) -> str:
        """The simulated phases in words, those above the detection limit; else why none."""
        if self.status == "invalid":
            return "not run"
        if self.agrees is None:
            return "not measured"
        seen = [phase for phase in self.simulated if phase.weight_fraction >= DETECTION_LIMIT]
        return ", ".join(f"{p.name} {p.weight_fraction:.3f}" for p in seen) or "nothing crystalline"

    @property
    def difference_text(self) -> str:
        """The differences in words."""
        return ", ".join(f"{name} {value:+.3f}" for name, value in self.differences.items()) or "–"


def compare(recipe: Recipe, outcome: Outcome) -> RecipeComparison:
    """Set an outcome beside what a recipe's authors report.

    A published name matches a measured phase by the name of its structure or by its formula, so
    ``BaTiO3`` stands for both polymorphs.

    Args:
        recipe: The published recipe.
        outcome: What its replay gave, with analyses.

    Returns:
        The comparison.
    """
    analysis = outcome.phase_analysis
    published = dict(recipe.published.phases)
    if outcome.status != "ok" or analysis is None:
        agrees, verdict = None, outcome.message or "nothing was measured"
        simulated: tuple[PhaseFraction, ...] = ()
    else:
        simulated = tuple(sorted(analysis.phases, key=lambda phase: -phase.weight_fraction))
        agrees, verdict = _judge(published, simulated)
    return RecipeComparison(
        name=recipe.name,
        citation=recipe.citation,
        plan=plan_text(recipe.proposal),
        rationale=" ".join((recipe.proposal.rationale or "").split()),
        statement=recipe.published.statement,
        published=published,
        status=outcome.status,
        simulated=simulated,
        agrees=agrees,
        verdict=verdict,
        differences={
            name: _amount(name, simulated) - value
            for name, value in published.items()
            if value is not None and simulated
        },
    )


def _judge(
    published: Mapping[str, float | None], simulated: tuple[PhaseFraction, ...]
) -> tuple[bool, str]:
    missing = [
        name
        for name, value in published.items()
        if value != 0.0 and _amount(name, simulated) < DETECTION_LIMIT
    ]
    unwanted = [
        name
        for name, value in published.items()
        if value == 0.0 and _amount(name, simulated) >= DETECTION_LIMIT
    ]
    alone = any(value == 1.0 for value in published.values())
    extra = [
        phase.name
        for phase in simulated
        if alone
        and phase.weight_fraction >= DETECTION_LIMIT
        and not any(_same(name, phase) for name in published)
    ]
    faults: list[str] = []
    if missing:
        faults.append(f"missing {', '.join(missing)}")
    if unwanted or extra:
        faults.append(f"has {', '.join(unwanted + extra)}")
    return not faults, "; ".join(faults) or "yes"


def _amount(name: str, simulated: tuple[PhaseFraction, ...]) -> float:
    return sum(phase.weight_fraction for phase in simulated if _same(name, phase))


def _same(name: str, phase: PhaseFraction) -> bool:
    return name in {phase.name, phase.formula}


def _published(name: str, value: float | None) -> str:
    if value is None:
        return name
    if value == 0.0:
        return f"no {name}"
    if value == 1.0:
        return f"{name} alone"
    return f"{name} {value:g}"
