"""Chemical formulas as laboratories write them: hydrates, isotopes, charges, groups, subscripts.

Readers made for crystal databases misread several of these without a word (``CuSO4.5H2O`` as O5.5
H2, ``D2O`` as H2O, ``NaN`` as sodium nitride), so the vocabulary has its own reader, which refuses
what it cannot know: placeholders (``A2D2O7``), undefined contents (``O7-x``) and ambiguous dots.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from labenv_schemas.formula_reader import atomic_masses, read_formula

_LONGEST = 200  # characters
_MISSING = {"", "nan", "<na>", "nat", "none", "null", "n/a", "-", "–", "?"}
_DEUTERIUM_MASS = 2.01410177812  # u; AME2020, Wang et al., Chin. Phys. C 45 (2021) 030003


class Formula:
    """An immutable chemical formula: amounts per formula unit, and a charge.

    Two formulas are equal if amounts and charge are, however they are written.
    """

    __slots__ = ("_amounts", "_charge", "_key", "_text")

    def __init__(self, text: str, amounts: dict[str, float], charge: int = 0) -> None:
        for element, amount in amounts.items():
            if element != "D" and element not in atomic_masses():
                raise ValueError(f"{element!r} is not an element")
            if not (math.isfinite(amount) and amount > 0):
                raise ValueError(f"the amount of {element} must be positive, not {amount}")
        self._text = text
        self._amounts = {element: float(amount) for element, amount in amounts.items()}
        self._charge = charge
        self._key = (tuple(sorted((e, round(a, 9)) for e, a in self._amounts.items())), charge)

    @property
    def text(self) -> str:
        """The formula as given."""
        return self._text

    @property
    def amounts(self) -> dict[str, float]:
        """Element symbol (``D`` for deuterium) to amount per formula unit; a copy."""
        return dict(self._amounts)

    @property
    def charge(self) -> int:
        """Net charge, in elementary charges."""
        return self._charge

    @property
    def elements(self) -> frozenset[str]:
        """Symbols of the elements present."""
        return frozenset(self._amounts)

    @property
    def molar_mass_kg_per_mol(self) -> float:
        """Mass of one mole of formula units, kg/mol, from IUPAC 2016 standard atomic weights."""
        return sum(_atomic_mass(e) * a for e, a in self._amounts.items()) * 1e-3

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Formula({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def same_composition(self, other: Formula, tolerance: float = 1e-6) -> bool:
        """Say whether two formulas hold the same elements in the same proportions.

        Args:
            other: The formula to compare with.
            tolerance: Largest difference of an atomic fraction.

        Returns:
            True for ``TiO2`` and ``Ti2O4``.
        """
        if self.elements != other.elements:
            return False
        theirs = other.amounts
        our_total, their_total = sum(self._amounts.values()), sum(theirs.values())
        return all(
            abs(amount / our_total - theirs[element] / their_total) <= tolerance
            for element, amount in self._amounts.items()
        )


def parse_formula(text: object) -> Formula:
    """Read a chemical formula.

    Args:
        text: Such as ``BaTiO3``, ``Fe₂O₃``, ``CuSO4·5H2O``, ``Ca(OH)2`` or ``SO4^2-``.

    Returns:
        The formula.

    Raises:
        ValueError: If a value is missing, a symbol is no element, a content is undefined, brackets
            do not close, or a dot or charge can be read in two ways; the message says what to
            write.
    """
    if isinstance(text, Formula):
        return text
    if not isinstance(text, str):
        if str(text).strip().lower() in _MISSING:  # None, NaN of any library, pandas.NA
            raise ValueError("the formula is missing")
        raise ValueError(f"{str(text)[:60]!r} is not a formula; write text such as 'BaTiO3'")
    given = text.strip()
    if given.lower() in _MISSING:
        raise ValueError(f"the formula is missing ({text[:60]!r}); sodium nitride is Na3N")
    if len(given) > _LONGEST:
        raise ValueError(f"the formula is longer than {_LONGEST} characters")
    return _read(given)


@lru_cache(maxsize=4096)
def _read(given: str) -> Formula:
    return Formula(given, *read_formula(given))


def _atomic_mass(element: str) -> float:
    return _DEUTERIUM_MASS if element == "D" else atomic_masses()[element]


def _checked(value: Any) -> str:  # noqa: ANN401 - any input may arrive
    return parse_formula(value).text


FormulaText = Annotated[
    str,
    BeforeValidator(_checked),
    WithJsonSchema({
        "type": "string",
        "description": "Chemical formula.",
        "examples": ["BaTiO3", "CuSO4·5H2O"],
    }),
]
