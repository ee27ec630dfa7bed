"""Chemical formulas as laboratories write them: hydrates, isotopes, charges, groups, subscripts.

Readers made for crystal databases misread several of these without a word (``CuSO4.5H2O`` as O5.5
H2, ``D2O`` as H2O, ``NaN`` as sodium nitride), so the vocabulary has its own reader, which refuses
what it cannot know: placeholders (``A2D2O7``), undefined contents (``O7-x``) and ambiguous dots.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_HYDRATE_DOTS = "·•∙⋅*"
_MISSING = {"", "nan", "none", "null", "n/a", "na?", "-"}
_DEUTERIUM_MASS = 2.01410177812  # u; AME2020, Wang et al., Chin. Phys. C 45 (2021) 030003
_TOKEN = re.compile(r"([A-Z][a-z]?)|([(\[{])|([)\]}])|(\d+/\d+|\d*\.?\d+)|(.)", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Formula:
    """An immutable chemical formula: amounts per formula unit, and a charge.

    Attributes:
        text: The formula as given.
        amounts: Element symbol (``D`` for deuterium) to amount per formula unit.
        charge: Net charge, in elementary charges.
    """

    __slots__ = ("_key", "amounts", "charge", "text")

    def __init__(self, text: str, amounts: dict[str, float], charge: int = 0) -> None:
        self.text = text
        self.amounts = dict(amounts)
        self.charge = charge
        self._key = (tuple(sorted((e, round(a, 9)) for e, a in amounts.items())), charge)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def elements(self) -> frozenset[str]:
        """Symbols of the elements present."""
        return frozenset(self.amounts)

    @property
    def molar_mass_kg_per_mol(self) -> float:
        """Mass of one mole of formula units, kg/mol, from standard atomic weights (ase.data)."""
        return sum(_atomic_mass(e) * a for e, a in self.amounts.items()) * 1e-3

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
        ours, theirs = sum(self.amounts.values()), sum(other.amounts.values())
        return all(
            abs(a / ours - other.amounts[e] / theirs) <= tolerance for e, a in self.amounts.items()
        )


def parse_formula(text: object) -> Formula:
    """Read a chemical formula.

    Args:
        text: Such as ``BaTiO3``, ``Fe₂O₃``, ``CuSO4·5H2O``, ``Ca(OH)2``, ``Li0.5CoO2``, ``SO4^2-``.

    Returns:
        The formula.

    Raises:
        ValueError: If a value is missing, a symbol is no element, a content is undefined, brackets do
            not close, or a dot or charge can be read in two ways; the message says what to write.
    """
    if isinstance(text, Formula):
        return text
    if text is None or (isinstance(text, float) and math.isnan(text)):
        raise ValueError("the formula is missing")
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a formula; write text such as 'BaTiO3'")
    given = text.strip()
    if given.lower() in _MISSING:
        raise ValueError(f"the formula is missing ({text!r}); sodium nitride is Na3N")
    if len(given) > 200:
        raise ValueError("the formula is longer than 200 characters")
    return _read(given)


@cache
def _read(given: str) -> Formula:
    plain, charge = _split_charge(given.translate(_SUBSCRIPTS).replace(" ", ""), given)
    amounts: dict[str, Fraction] = {}
    for multiple, part in _split_hydrate(plain, given):
        for element, amount in _read_group(part, given).items():
            amounts[element] = amounts.get(element, Fraction(0)) + multiple * amount
    amounts = {element: amount for element, amount in amounts.items() if amount > 0}
    if not amounts:
        raise ValueError(f"{given!r} holds no atoms")
    return Formula(given, {element: float(amount) for element, amount in amounts.items()}, charge)


def _split_charge(text: str, given: str) -> tuple[str, int]:
    superscript = re.search(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]*[⁺⁻]$", text)
    if superscript:
        text = text[: superscript.start()] + "^" + superscript.group().translate(_SUPERSCRIPTS)
    caret = re.fullmatch(r"(.+?)\^\{?(?:(\d*)([+-])|([+-])(\d+))\}?", text)
    if caret:
        number = caret.group(2) or caret.group(5) or "1"
        return caret.group(1), int(number) * (
            -1 if "-" in (caret.group(3) or caret.group(4)) else 1
        )
    prefix = re.fullmatch(r"(.+?)([+-])(\d+)", text)
    if prefix:  # Fe+3
        return prefix.group(1), int(prefix.group(3)) * (-1 if prefix.group(2) == "-" else 1)
    suffix = re.fullmatch(r"(.+?)(\d*)([+-])", text)
    if not suffix:
        return text, 0
    body, digits, sign = suffix.group(1), suffix.group(2), -1 if suffix.group(3) == "-" else 1
    if not digits:
        return body, sign
    if re.fullmatch(r"[A-Z][a-z]?", body) or body[-1] in ")]}":  # Fe2+, [Fe(CN)6]4-
        return body, sign * int(digits)
    if len(digits) == 1:  # NH4+, NO3-: the digit counts atoms
        return body + digits, sign
    raise ValueError(
        f"{given!r}: the charge can be read in two ways; write it after a caret, as in SO4^2-"
    )


def _split_hydrate(text: str, given: str) -> list[tuple[Fraction, str]]:
    for dot in _HYDRATE_DOTS:
        text = text.replace(dot, "·")
    ascii_dot = re.fullmatch(r"(.*?)\.(\d+(?:\.\d+)?)?(H2O|D2O|NH3)", text)
    if ascii_dot and "·" not in text:
        body, count, guest = ascii_dot.groups()
        before = re.search(r"(\d+)$", body)
        if before is None or (len(before.group()) == 1 and before.group() not in "01"):
            text = f"{body}·{count or ''}{guest}"
        elif before.group() != "0":
            raise ValueError(
                f"{given!r}: the dot can be a decimal point or a hydrate; write "
                f"{body}·{count or ''}{guest} for the hydrate, or put {guest} in brackets"
            )
    parts: list[tuple[Fraction, str]] = []
    for part in text.split("·"):
        match = re.fullmatch(r"(\d+/\d+|\d*\.?\d+)?(.+)", part)
        if match is None:
            raise ValueError(f"{given!r}: nothing stands on one side of the dot")
        parts.append((Fraction(match.group(1) or 1), match.group(2)))
    return parts


def _read_group(text: str, given: str) -> dict[str, Fraction]:
    stack: list[dict[str, Fraction]] = [{}]
    brackets: list[str] = []
    pending: dict[str, Fraction] | None = None  # what a following number multiplies

    def settle(multiple: Fraction) -> None:
        nonlocal pending
        for element, amount in (pending or {}).items():
            stack[-1][element] = stack[-1].get(element, Fraction(0)) + multiple * amount
        pending = None

    for symbol, opening, closing, number, other in _TOKEN.findall(text):
        if number:
            if pending is None:
                raise ValueError(f"{given!r}: the number {number} follows no element or bracket")
            settle(Fraction(number))
            continue
        settle(Fraction(1))
        if symbol:
            pending = {_element(symbol, given): Fraction(1)}
        elif opening:
            brackets.append(_CLOSING[opening])
            stack.append({})
        elif closing:
            if not brackets or brackets.pop() != closing:
                raise ValueError(f"{given!r}: the bracket {closing!r} closes nothing")
            pending = stack.pop()
        else:
            raise ValueError(_unreadable(other, given))
    settle(Fraction(1))
    if brackets:
        raise ValueError(f"{given!r}: a bracket is not closed")
    return stack[0]


def _unreadable(character: str, given: str) -> str:
    if character in "xyzδ±+-−–~<>" or character.islower():
        return f"{given!r}: {character!r} leaves a content undefined; write numbers, as in YBa2Cu3O6.95"
    return f"{given!r}: {character!r} is not part of a formula"


def _element(symbol: str, given: str) -> str:
    if symbol == "D" or symbol in _atomic_masses():
        return symbol
    raise ValueError(f"{given!r}: {symbol!r} is not an element; if it stands for one, write which")


@cache
def _atomic_masses() -> dict[str, float]:
    from ase.data import atomic_masses_iupac2016, chemical_symbols

    return dict(zip(chemical_symbols[1:], map(float, atomic_masses_iupac2016[1:]), strict=True))


def _atomic_mass(element: str) -> float:
    return _DEUTERIUM_MASS if element == "D" else _atomic_masses()[element]


def _checked(value: Any) -> str:  # noqa: ANN401 - any input may arrive
    return parse_formula(value).text


FormulaText = Annotated[
    str,
    BeforeValidator(_checked),
    WithJsonSchema({
        "type": "string",
        "description": "chemical formula",
        "examples": ["BaTiO3", "CuSO4·5H2O"],
    }),
]
