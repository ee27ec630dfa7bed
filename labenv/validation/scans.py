"""Reactions predicted beside real diffractograms of their products.

Of each scan only the precursors, the temperature and the time are given to the simulator, as the
file's name has them: ``Cr2O3-2PbO_500C_60min.xrdml``. What the powder holds is found by the
project's own analysis among the known phases of its elements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labenv.physics.thermochemistry import cation_amounts
from labenv_schemas.errors import ConfigError, MeasurementFileError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from labenv.physics.prediction import Prediction
    from labenv.physics.thermochemistry.sources import Source

_NAME = re.compile(r"(?P<mixture>.+)_(?P<celsius>\d+)C_(?P<minutes>\d+)min$")
_TERM = re.compile(r"(?P<count>\d*\.?\d*)(?P<formula>[A-Z(].*)")
_TRACE = 0.02
_HALF = 0.5  # where nothing was found to form, less than this may be predicted
_SAME_RATIO, _SOLUTION = 0.02, 0.2  # of the cations' shares


@dataclass(frozen=True)
class ReactionScan:
    """One scan with what was predicted and what was found.

    Attributes:
        name: The file's name.
        precursors: What was weighed in.
        prediction: What the simulator expects.
        found: Phases the analysis finds, with weight fractions, largest first.
        status: The analysis' status.
        by_source: What the simulator expects by each single source of energies.
    """

    name: str
    precursors: tuple[str, ...]
    prediction: Prediction
    found: tuple[tuple[str, float], ...]
    status: str
    by_source: Mapping[Source, Prediction]

    @property
    def predicted(self) -> tuple[tuple[str, float], ...]:
        """Phases expected, with weight fractions, largest first."""
        return listed(self.prediction)

    @property
    def agrees(self) -> bool:
        """Whether the main product is the same, or nothing much has reacted in either."""
        return self.agrees_by(self.prediction)

    def agrees_by(self, prediction: Prediction) -> bool:
        """Return whether a prediction has the main product that was found."""
        if not self.found or not prediction.phases:
            return False
        ours, share = main_product(listed(prediction), self.precursors)
        theirs, _ = main_product(self.found, self.precursors)
        if theirs is None:
            return share < _HALF
        return ours is not None and same_phase(ours, theirs)


def main_product(
    phases: Sequence[tuple[str, float]], precursors: Sequence[str]
) -> tuple[str | None, float]:
    """Return the phase with most weight of those that unite metals of several precursors.

    Args:
        phases: Names and weight fractions, largest first.
        precursors: What was weighed in.

    Returns:
        Its name, `None` if there is none, and the weight fraction of all such phases.
    """
    metals = [set(cation_amounts(parse_formula(name).amounts)) for name in precursors]
    united = [(n, w) for n, w in phases if not any(set(_cations(n)) <= own for own in metals)]
    return (united[0][0] if united else None), sum(w for _, w in united)


def listed(prediction: Prediction) -> tuple[tuple[str, float], ...]:
    """Return the phases of a prediction that a scan could show, with weight fractions.

    Args:
        prediction: The prediction.

    Returns:
        Names and weight fractions, largest first.
    """
    return tuple(
        (p.name, p.weight_fraction) for p in prediction.phases if p.weight_fraction > _TRACE
    )


def read_name(stem: str) -> tuple[dict[str, float], float, float]:
    """Read precursors, temperature and time from a file's name.

    Args:
        stem: Such as ``"Cr2O3-2PbO_500C_60min"``.

    Returns:
        Amounts in mol, temperature in K, time in s.

    Raises:
        ConfigError: If the name is of another form.
    """
    whole = _NAME.fullmatch(stem)
    if whole is None:
        raise ConfigError(f"{stem!r}: not named as Cr2O3-2PbO_500C_60min")
    amounts: dict[str, float] = {}
    for word in whole["mixture"].split("-"):
        term = _TERM.fullmatch(word)
        if term is None:
            raise ConfigError(f"{stem!r}: {word!r} is no precursor with an amount")
        amounts[term["formula"]] = float(term["count"] or 1.0)
    return amounts, float(whole["celsius"]) + 273.15, 60.0 * float(whole["minutes"])


def same_phase(one: str, other: str) -> bool:
    """Return whether two names stand for the same compound.

    Oxygen is left out of the comparison, as real oxides of one compound differ in it; members of
    one solid solution count as one: cations within a fifth, and as much oxygen for them.

    Args:
        one: Name of a phase, of the tables or the structure library.
        other: Another.

    Returns:
        Whether they do.
    """
    first, second = _cations(one), _cations(other)
    if not first or set(first) != set(second):
        return one == other
    apart = max(abs(first[e] - second[e]) for e in first)
    as_oxidised = abs(_oxygen(one) - _oxygen(other)) < _SAME_RATIO
    return apart < _SAME_RATIO or (apart < _SOLUTION and as_oxidised)


def _oxygen(name: str) -> float:
    amounts = _amounts(name)
    return amounts.get("O", 0.0) / sum(cation_amounts(amounts).values())


def _amounts(name: str) -> dict[str, float]:
    from labenv.physics.structures.library import phase_library
    from labenv.physics.thermochemistry.sources import substance_table

    table = substance_table()
    if name in table.substances:
        return dict(table.substances[name].elements)
    return dict(parse_formula(phase_library().get(name).formula).amounts)


def _cations(name: str) -> dict[str, float]:
    kept = cation_amounts(_amounts(name))
    total = sum(kept.values()) or 1.0
    return {e: n / total for e, n in kept.items()}


def judge_scan(path: Path) -> ReactionScan:
    """Predict one reaction and analyse its scan.

    Args:
        path: The scan.

    Returns:
        Both.

    Raises:
        ConfigError: If the file's name is of another form, or it holds no diffractogram.
    """
    from labenv.analysis import identify
    from labenv.physics.prediction import Firing, predict
    from labenv.physics.thermochemistry.sources import SOURCES
    from labenv_instruments.formats import read_measurement
    from labenv_schemas.measurement import Diffractogram

    amounts, temperature_k, hold_s = read_name(path.stem)
    firing = Firing(amounts, temperature_k, hold_s)
    by_source: dict[Source, Prediction] = {
        source: predict(replace(firing, source=source, draws=2)) for source in SOURCES
    }
    prediction = predict(firing)
    elements = {e for name in amounts for e in parse_formula(name).amounts} | {"O"}
    try:
        scan = read_measurement(path)
        if not isinstance(scan, Diffractogram):
            raise ConfigError(f"{path.name} is no diffractogram")
        analysis = identify(scan, sorted(elements))
    except (ConfigError, MeasurementFileError) as fault:
        return ReactionScan(path.name, tuple(amounts), prediction, (), str(fault), by_source)
    found = sorted(((p.name, p.weight_fraction) for p in analysis.phases), key=lambda p: -p[1])
    return ReactionScan(
        path.name, tuple(amounts), prediction, tuple(found), str(analysis.status), by_source
    )


def judge_scans(folder: Path) -> tuple[ReactionScan, ...]:
    """Predict and analyse all reaction scans of a folder.

    Args:
        folder: Where they lie.

    Returns:
        One result a scan, by name.

    Raises:
        ConfigError: If there is none.
    """
    paths = sorted(path for path in folder.glob("*.xrdml") if _NAME.fullmatch(path.stem))
    if not paths:
        raise ConfigError(f"{folder} holds no scan named as Cr2O3-2PbO_500C_60min.xrdml")
    return tuple(judge_scan(path) for path in paths)


__all__ = ["ReactionScan", "judge_scan", "judge_scans", "read_name", "same_phase"]
