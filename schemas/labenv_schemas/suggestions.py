"""Guesses what a writer meant by a word that the vocabulary does not have."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST_WORD = 60

# What people and models write, and what it may be called here; tried where no name is spelt alike.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    "temperature": ("target",),
    "setpoint": ("target",),
    "time": ("duration", "hold", "scan_time", "lab_time"),
    "dwell": ("hold",),
    "soak": ("hold",),
    "ramp": ("rate",),
    "heating_rate": ("rate",),
    "speed": ("rate",),
    "gas": ("atmosphere",),
    "steps": ("segments", "operations"),
    "program": ("segments",),
    "reagents": ("precursors",),
    "materials": ("precursors",),
    "name": ("substance",),
    "compound": ("substance",),
    "formula": ("substance",),
    "moles": ("amount",),
    "weight": ("mass",),
    "type": ("op", "kind"),
    "action": ("op",),
    "operation": ("op",),
    "reason": ("rationale",),
    "calcine": ("heat",),
    "sinter": ("heat",),
    "anneal": ("heat",),
    "fire": ("heat",),
    "furnace": ("heat",),
    "weigh": ("dose",),
    "mill": ("mix",),
    "grind": ("regrind", "mix"),
    "pelletize": ("press",),
    "pelletise": ("press",),
    "xrd": ("measure",),
    "scan": ("measure",),
    "characterize": ("measure",),
    "resistance": ("measure_resistance",),
    "resistivity": ("resistance", "measure_resistance"),
    "magnetisation": ("measure_magnetisation",),
    "squid": ("magnetisation", "measure_magnetisation"),
    "susceptibility": ("magnetisation", "measure_magnetisation"),
    "tga": ("mass", "weigh"),
    "mass": ("weigh",),
    "density": ("measure_density",),
    "pycnometry": ("density", "measure_density"),
    "eds": ("measure_composition",),
    "edx": ("eds", "measure_composition"),
    "composition": ("eds", "measure_composition"),
    "diffraction": ("xrd", "measure"),
    "o2": ("oxygen",),
    "n2": ("nitrogen",),
    "ar": ("argon",),
    "co2": ("carbon_dioxide",),
    "al2o3": ("alumina",),
    "zro2": ("zirconia",),
    "pt": ("platinum",),
    "mgo": ("magnesia",),
}


def meant(word: str, options: Sequence[str], *, cutoff: float = 0.75) -> str | None:
    """Return the name that a misspelt word or a synonym probably stands for.

    Args:
        word: What was written.
        options: The names there are, in any case.
        cutoff: How much alike two spellings must be, 0 to 1.

    Returns:
        One of the options, or None if no guess is good.
    """
    plain, spelt = _plain(word), {_plain(option): option for option in reversed(options)}
    longer = [option for option in spelt if len(plain) > 3 and option.startswith(plain)]
    if len(longer) == 1:
        return spelt[longer[0]]  # cut short, not misspelt
    for near in difflib.get_close_matches(plain, spelt, n=1, cutoff=cutoff):
        return spelt[near]
    for synonym in difflib.get_close_matches(plain, _SYNONYMS, n=3, cutoff=0.8):
        for option in _SYNONYMS[synonym]:
            if option in options:
                return option
    contained = [near for near in spelt if len(near) > 2 and near in plain]
    return spelt[max(contained, key=len)] if contained else None


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(" ", "_")[:_LONGEST_WORD]
