"""Blind phase identification: which phases of a library a scan shows, and how sure that is.

The phases that alone explain most of a scan are refined, the best is kept; then what is left over
is searched again, and so on. A phase stays only where a refinement without it is clearly worse and
its own strong lines are seen; where two structures explain a scan equally well, both are named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from labenv.analysis.identification_evidence import LineEvidence, line_evidence
from labenv.analysis.identification_screen import Screen
from labenv.analysis.refinement import Refined, Refinement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.analysis.pattern_model import PhaseModel
    from labenv.analysis.scan import Scan

Confidence = Literal["high", "medium", "low"]

LEAST_FRACTION = 0.006
"""Apparent weight fraction below which a phase is not reported."""

_MOST_PHASES = 7
_MOST_STARTS = 2
_WELL_EXPLAINED = 0.15  # misfit from which other phases are tried to start with
_TRIED_FIRST, _TRIED_EACH_TIME = 6, 4
_LEVELS = (5, 6)
_CELL = 0.006  # spread of the relative change of 1/d² about the one found in the screening
_WORTH_KEEPING = 1.015  # without a phase, χ² must rise beyond this part
_CLEARLY_WORSE = 1.10
_CLEAR_RISE = 2.0  # where lines of unknown phases are about
_SAME = 1.05  # χ² of an equally good explanation, relative
_LEAST_SHARE = 0.5
# presence of lines, and by how much their agreement may be less, in the end and on the way
_LAST_AGREEMENT, _FIRST_AGREEMENT = (0.72, 0.12), (0.55, 1.0)
_FEW_LINES, _FEW_COST = 4, 0.12
_CHANGE_COST = 0.15  # in agreement, for a change of the cell of one per cent
_MOST_CHANGE = 0.016
_LEAST_SIGMAS = 6.0
_ROUGH_FIT = 1.8
_STRETCH_COST = 0.03  # in ln χ², for a change of spacings of one per cent


@dataclass
class State:
    """Phases held, by name and stretch of the screening, and their refinement."""

    names: tuple[str, ...]
    stretches: tuple[float, ...]
    refined: Refined
    parameters: NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """A phase found.

    Attributes:
        name: Its name in the library.
        evidence: What its lines say.
        rise: χ² without the phase over χ² with it.
        stretch: Mean relative change of its spacings against the structure.
        alternatives: Phases that in its place explain the scan about as well.
        confidence: ``high``, ``medium`` or ``low``.
    """

    name: str
    evidence: LineEvidence
    rise: float
    stretch: float
    alternatives: tuple[str, ...]
    confidence: Confidence


@dataclass
class Identifier:
    """A search of one scan among candidate phases.

    Attributes:
        scan: The scan.
        models: Candidate phases by name.
    """

    scan: Scan
    models: dict[str, PhaseModel]

    def __post_init__(self) -> None:
        """Lay out the screening."""
        self._screen = Screen(self.scan, self.models)
        self._priors = replace(self.scan.priors, cell=_CELL)

    def run(self) -> tuple[State, list[Found]]:
        """Search.

        Returns:
            The phases with their last refinement, and what is known of each.
        """
        outcomes: list[tuple[State, list[float]]] = []
        for first in self._firsts()[:_MOST_STARTS]:
            outcomes.append(self._search(first))
            if self._misfit(outcomes[-1][0]) < _WELL_EXPLAINED:
                break
        state, rises = min(outcomes, key=lambda outcome: self._cost(outcome[0]))
        return state, self._found(state, rises)

    def _search(self, state: State) -> tuple[State, list[float]]:
        """Return what a first phase leads to, and by how much χ² rises without each phase."""
        tabu: set[str] = set()
        while len(state.names) < _MOST_PHASES:
            new = self._extended(state, tabu)
            if new is None:
                break
            state = self._pruned(new, tabu)
        return self._without_unneeded(self._final(state))

    def _misfit(self, state: State) -> float:
        """Return the part of the lines' weighted amplitude missed beyond noise."""
        refined = state.refined
        variance = np.maximum(refined.calculated, 1.0)
        net = float(((self.scan.counts - refined.background) ** 2 / variance).sum())
        return float(np.sqrt(max(refined.chi2 - refined.freedom, 0.0) / max(net, 1.0)))

    def refine(
        self, names: Sequence[str], stretches: Sequence[float], start: State | None = None
    ) -> State:
        """Refine phases.

        Args:
            names: The phases.
            stretches: What change of spacings to expect of each.
            start: A state to take the parameters of phases held by both from.

        Returns:
            The state.
        """
        scan = self.scan
        models = [self.models[name] for name in names]
        work = Refinement(scan.counts, scan.optics, models, self._priors, stretches=stretches)
        work.start(scan.background)
        if start is None:
            work.run(6, work.coarse_indices())
        else:
            self._continue(work, start)
        refined = work.run(12, _LEVELS)
        return State(tuple(names), tuple(stretches), refined, work.parameters.copy())

    def _continue(self, work: Refinement, start: State) -> None:
        """Take over what another refinement found for its phases; the others stay as they are."""
        terms = work.background_terms + 1
        smooth = start.parameters[len(start.parameters) - terms :]
        shared = len(start.refined.shared)
        work.parameters[:shared] = start.refined.shared
        work.parameters[_LEVELS[0]], work.parameters[_LEVELS[1]] = 0.0, 1.0
        work.parameters[len(work.parameters) - terms :] = smooth
        names = [id(model) for model in work.phases]
        own = {id(self.models[n]): values for n, values in zip(start.names, start.refined.own)}  # noqa: B905
        for index, key in enumerate(names):
            if key in own:
                begin = work.scale_index(index)
                work.parameters[begin : begin + len(own[key])] = own[key]

    def _firsts(self) -> list[State]:
        """Return phases to start with, best first, refined alone."""
        trials = [
            self.refine([match.name], [match.stretch])
            for match, _ in self._screen.first_matches(_TRIED_FIRST)
        ]
        return sorted(trials, key=self._cost)

    def _cost(self, state: State) -> float:
        """Return ln χ², with a price on changed cells."""
        changes = [abs(self._stretch(state, i)) * 100.0 for i in range(len(state.names))]
        return float(np.log(state.refined.chi2)) + _STRETCH_COST * sum(changes)

    def _stretch(self, state: State, index: int) -> float:
        k = self.models[state.names[index]].cell_count
        return float(-0.5 * np.mean(state.refined.own[index][1 : 1 + k]))

    def _extended(self, state: State, tabu: set[str]) -> State | None:
        """Return the state with the best further phase that the scan supports, or None."""
        held = {*state.names, *tabu}
        trials: list[State] = []
        for match in self._screen.matches(state.refined, held, _TRIED_EACH_TIME):
            trial = self.refine(
                [*state.names, match.name], [*state.stretches, match.stretch], state
            )
            if self._supported(trial, len(state.names), self._rise(state, trial)):
                trials.append(trial)
        return min(trials, key=self._cost) if trials else None

    def _rise(self, without: State, state: State) -> float:
        return without.refined.chi2 / max(state.refined.chi2, 1e-30)

    def _supported(
        self, state: State, index: int, rise: float, *, in_the_end: bool = False
    ) -> bool:
        """Return whether a phase's lines are seen, as high as fitted, and needed."""
        agreement, allowance = _LAST_AGREEMENT if in_the_end else _FIRST_AGREEMENT
        scales = state.refined.scales
        change = self._change(state, index)
        small = scales[index] < LEAST_FRACTION * scales.sum()
        if small or rise < _WORTH_KEEPING or change > _MOST_CHANGE:
            return False
        models = [self.models[name] for name in state.names]
        evidence = line_evidence(self.scan, state.refined, models, index)
        if evidence.seen < min(2, evidence.lines) and rise < _CLEARLY_WORSE:
            return False
        needed = agreement + _CHANGE_COST * 100.0 * change
        needed += _FEW_COST * (evidence.own < _FEW_LINES)
        return (
            evidence.share > _LEAST_SHARE
            and evidence.significance > _LEAST_SIGMAS
            and evidence.presence > needed
            and evidence.agreement > needed - allowance
        )

    def _change(self, state: State, index: int) -> float:
        """Return the largest relative change of a phase's axes."""
        k = self.models[state.names[index]].cell_count
        return float(0.5 * np.abs(state.refined.own[index][1 : 1 + k]).max())

    def _pruned(self, state: State, tabu: set[str]) -> State:
        """Return the state without phases that a later one has made needless."""
        for index in sorted(
            range(len(state.names) - 1), key=lambda i: float(state.refined.scales[i])
        ):
            fewer = self._dropped(state, index)
            if not self._supported(state, index, self._rise(fewer, state)):
                tabu.add(state.names[index])
                return self._pruned(fewer, tabu)
        return state

    def _dropped(self, state: State, index: int) -> State:
        keep = [i for i in range(len(state.names)) if i != index]
        if not keep:
            return state
        return self.refine(
            [state.names[i] for i in keep], [state.stretches[i] for i in keep], state
        )

    def _final(self, state: State) -> State:
        """Return the state refined to the end, the surface on two levels where that helps."""
        scan = self.scan
        models = [self.models[name] for name in state.names]
        work = Refinement(scan.counts, scan.optics, models, self._priors, stretches=state.stretches)
        work.start(scan.background)
        self._continue(work, state)
        refined = work.run(25, _LEVELS)
        if refined.goodness_of_fit > _ROUGH_FIT:
            before = work.parameters.copy()
            work.parameters[list(_LEVELS)] = 0.5 * scan.priors.width_deg, 0.5
            uneven = work.run(25)
            if uneven.chi2 < 0.93 * refined.chi2:
                refined = uneven
            else:
                work.parameters = before
        return State(state.names, state.stretches, refined, work.parameters.copy())

    def _without_unneeded(self, state: State) -> tuple[State, list[float]]:
        """Return the state of needed phases, and by how much χ² rises without each."""
        while True:
            rises = [
                self._rise(self._final(self._dropped(state, i)), state)
                if len(state.names) > 1
                else np.inf
                for i in range(len(state.names))
            ]
            weak = [
                i
                for i in range(len(rises))
                if len(rises) > 1 and not self._supported(state, i, rises[i], in_the_end=True)
            ]
            if not weak:
                return state, rises
            worst = min(weak, key=lambda i: rises[i])
            state = self._final(self._dropped(state, worst))

    def _found(self, state: State, rises: list[float]) -> list[Found]:
        models = [self.models[name] for name in state.names]
        found: list[Found] = []
        for i, name in enumerate(state.names):
            evidence = line_evidence(self.scan, state.refined, models, i)
            alternatives = self._alternatives(state, i)
            stretch = self._stretch(state, i)
            confidence = _confidence(evidence, rises[i], stretch, alternatives)
            found.append(Found(name, evidence, rises[i], stretch, alternatives, confidence))
        return found

    def _alternatives(self, state: State, index: int) -> tuple[str, ...]:
        """Return names of phases that in a phase's place explain the scan about as well."""
        name = state.names[index]
        names: list[str] = []
        for match in self._screen.alike(state.refined, index, {*state.names}, 2):
            others = [
                (n, s) for n, s in zip(state.names, state.stretches, strict=True) if n != name
            ]
            trial = self.refine(
                [*(n for n, _ in others), match.name],
                [*(s for _, s in others), match.stretch],
                state,
            )
            trial = self._final(trial)
            if trial.refined.chi2 < _SAME * state.refined.chi2:
                names.append(match.name)
        return tuple(names)


def _confidence(
    evidence: LineEvidence, rise: float, stretch: float, alternatives: tuple[str, ...]
) -> Confidence:
    most = evidence.seen >= max(3.0, 0.6 * evidence.own)
    good = most and evidence.agreement > 0.8 and evidence.significance > 10.0
    if good and rise > 1.3 and abs(stretch) < 0.006 and not alternatives:
        return "high"
    if evidence.seen >= 2 and evidence.agreement > 0.7 and (rise > 1.04 or good):
        return "medium" if not alternatives or rise > _CLEARLY_WORSE else "low"
    return "low"


def doubted(found: Found, *, unknown: bool) -> Found:
    """Return a phase found in a scan that is badly explained as a whole, with less confidence.

    Args:
        found: The phase.
        unknown: Whether most of the scan is unexplained, not some of it.

    Returns:
        The phase; less sure unless its lines are many and as fitted.
    """
    evidence = found.evidence
    if not unknown:
        clear = found.rise > _CLEAR_RISE or found.confidence != "high"
        return found if clear else replace(found, confidence="medium")
    many = evidence.own >= 6 and evidence.seen >= 5 and abs(found.stretch) < 0.004
    clear = many and evidence.agreement > 0.8 and found.confidence == "high"
    return replace(found, confidence="medium" if clear else "low")
