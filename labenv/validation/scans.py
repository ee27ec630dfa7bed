"""Reactions predicted beside real diffractograms of their products.

Of each scan only the precursors, the temperature and the time are given to the simulator, as the
file's name has them: ``Cr2O3-2PbO_500C_60min.xrdml``. What the powder holds is found by the
project's own analysis among the known phases of its elements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labenv_schemas.errors import ConfigError, MeasurementFileError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from pathlib import Path

    from labenv.physics.prediction import Prediction

_NAME = re.compile(r"(?P<mixture>.+)_(?P<celsius>\d+)C_(?P<minutes>\d+)min$")
_TERM = re.compile(r"(?P<count>\d*\.?\d*)(?P<formula>[A-Z(].*)")
_TRACE = 0.05


@dataclass(frozen=True)
class ReactionScan:
    """One scan with what was predicted and what was found.

    Attributes:
        name: The file's name.
        prediction: What the simulator expects.
        found: Phases the analysis finds, with weight fractions, largest first.
        status: The analysis' status.
    """

    name: str
    prediction: Prediction
    found: tuple[tuple[str, float], ...]
    status: str

    @property
    def predicted(self) -> tuple[tuple[str, float], ...]:
        """Phases expected, with weight fractions, largest first."""
        return tuple(
            (p.name, p.weight_fraction)
            for p in self.prediction.phases
            if p.weight_fraction > _TRACE
        )

    @property
    def agrees(self) -> bool:
        """Whether the phase with the most weight is the same, by composition of its cations."""
        if not self.found or not self.predicted:
            return False
        return same_phase(self.predicted[0][0], self.found[0][0])


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
    """Return whether two names stand for the same compound: the same ratio of its cations.

    Oxygen is left out of the comparison, as real oxides of one compound differ in it.

    Args:
        one: Name of a phase, of the tables or the structure library.
        other: Another.

    Returns:
        Whether they do.
    """
    first, second = _cations(one), _cations(other)
    if not first or set(first) != set(second):
        return one == other
    return all(abs(first[e] - second[e]) < 0.02 for e in first)


def _cations(name: str) -> dict[str, float]:
    from labenv.physics.structures.library import phase_library
    from labenv.physics.thermochemistry.sources import substance_table

    library, table = phase_library(), substance_table()
    if name in table.substances:
        amounts = dict(table.substances[name].elements)
    else:
        amounts = dict(parse_formula(library.get(name).formula).amounts)
    kept = {e: n for e, n in amounts.items() if e not in {"O", "C", "H", "N"}}
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
    from labenv_instruments.formats import read_measurement
    from labenv_schemas.measurement import Diffractogram

    amounts, temperature_k, hold_s = read_name(path.stem)
    prediction = predict(Firing(amounts, temperature_k, hold_s))
    elements = {e for name in amounts for e in parse_formula(name).amounts} | {"O"}
    try:
        scan = read_measurement(path)
        if not isinstance(scan, Diffractogram):
            raise ConfigError(f"{path.name} is no diffractogram")
        analysis = identify(scan, sorted(elements))
    except (ConfigError, MeasurementFileError) as fault:
        return ReactionScan(path.name, prediction, (), str(fault))
    found = sorted(((p.name, p.weight_fraction) for p in analysis.phases), key=lambda p: -p[1])
    return ReactionScan(path.name, prediction, tuple(found), str(analysis.status))


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
