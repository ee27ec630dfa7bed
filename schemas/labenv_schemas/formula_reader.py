"""The grammar of chemical formulas: from text to amounts and a charge.

First the typography goes (subscripts, LaTeX, spaces, state symbols), then the charge, then the
parts of an adduct such as a hydrate, then groups and elements. A dot that can be read in two ways
is refused with both readings named: ``CuSO4.5H2O`` holds five waters, ``CoO1.5H2O`` may hold any.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

from labenv_schemas.formula_hints import isotope_hint, not_an_element, why_unreadable

_LARGEST_AMOUNT = 1_000_000
_FRACTIONS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅛": "1/8"}
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋ₓ", "0123456789+-x")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_PLAIN = {
    **{0xFF01 + i: 0x21 + i for i in range(94)},  # full-width forms
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"), None),  # invisible
    **dict.fromkeys(map(ord, "•∙⋅●"), "·"),
    ord("−"): "-",
    ord("⁄"): "/",
}
_GUEST = r"(?:H2O|D2O|NH3)"
_GUEST_AFTER_DOT = re.compile(rf"\.(?:\d+(?:[./]\d+)?)?{_GUEST}(?![a-z\d])", re.ASCII)
_COUNT = r"\d+/\d+|\d*\.?\d+"
_TOKEN = re.compile(rf"([A-Z][a-z]?)|([(\[{{])|([)\]}}])|({_COUNT})|(.)", re.DOTALL | re.ASCII)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def read_formula(given: str) -> tuple[dict[str, float], int]:
    """Read a formula's text.

    Args:
        given: Not empty, and of bounded length.

    Returns:
        Element symbol (``D`` for deuterium) to amount per formula unit, and the charge in
        elementary charges.

    Raises:
        ValueError: If it is not a formula or can be read in two ways; the message says what to
            write.
    """
    text, charge = _split_charge(_plain(given), given)
    if re.fullmatch(r"\d+[A-Z][a-z]?", text, re.ASCII):
        raise ValueError(f"{given!r}: an isotope or a number of atoms? write atoms as in C60")
    total: dict[str, Fraction] = {}
    parts = _adduct_parts(text, given)
    if len(parts) == 1 and (hint := isotope_hint(text, atomic_masses())):
        raise ValueError(f"{given!r}: {hint}")
    for part in parts:
        match = re.fullmatch(rf"({_COUNT})?(.+)", part, re.ASCII)
        if match is None:
            raise ValueError(f"{given!r}: nothing stands on one side of the dot")
        multiple = _amount(match.group(1) or "1", given)
        if multiple == 0 and "." not in part:
            raise ValueError(_nothing_of(match.group(2), given))
        for element, amount in _Tally(given).read(match.group(2)).items():
            total[element] = total.get(element, Fraction(0)) + multiple * amount
    amounts = {element: float(amount) for element, amount in total.items() if amount > 0}
    if not amounts:
        raise ValueError(f"{given!r} holds no atoms")
    if max(amounts.values()) > _LARGEST_AMOUNT:
        raise ValueError(f"{given!r}: more than {_LARGEST_AMOUNT} atoms of one element")
    return amounts, charge


def _plain(given: str) -> str:
    # Brings typography to one form and takes out the spaces that mean nothing.
    text = given.translate(_PLAIN)
    text = re.sub(r"<sub>(.*?)</sub>", r"\1", text)
    text = re.sub(r"<sup>(.*?)</sup>", r"^\1", text)
    text = re.sub(r"_\{([^{}]*)\}|_(?=\d)", r"\1", text.replace("$", ""))
    text = re.sub(rf"(\d*)([{''.join(_FRACTIONS)}])", _mixed_number, text.translate(_SUBSCRIPTS))
    text = re.sub(r"\s*\((?:s|l|g|aq|cr)\)\s*$", "", text).strip()
    # "CuSO4 5H2O" and "CuSO4 x 5H2O"
    text = re.sub(rf"(?:\s+[x×]\s*|\s*×\s*)(?=[\d./]*\s*{_GUEST}$)", "·", text)
    text = re.sub(rf"(?<=[\w)\]}}])\s+(?=(?:{_COUNT})\s*{_GUEST}$)", "·", text)
    if re.search(r"\d\s+[\d.]*\d", text):
        raise ValueError(f"{given!r}: a space parts two numbers; write the formula without spaces")
    return re.sub(r"\s+", "", text)


def _mixed_number(match: re.Match[str]) -> str:
    number = Fraction(int(match.group(1) or 0)) + Fraction(_FRACTIONS[match.group(2)])
    return str(number)


def _split_charge(text: str, given: str) -> tuple[str, int]:
    superscript = re.search(r"[⁰¹²³⁴⁵⁶⁷⁸⁹]*[⁺⁻]$", text)
    if superscript:
        text = text[: superscript.start()] + "^" + superscript.group().translate(_SUPERSCRIPTS)
    caret = re.fullmatch(r"(.+?)\^\{?(?:(\d*)([+-])|([+-])(\d+))\}?", text)
    if caret:
        body, before, after = caret.group(1), caret.group(2), caret.group(5)
        return body, _charge(before or after or "1", caret.group(3) or caret.group(4), given)
    prefix = re.fullmatch(r"(.*[A-Za-z)\]])([+-])(\d+)", text)
    if prefix:  # Fe+3
        return prefix.group(1), _charge(prefix.group(3), prefix.group(2), given)
    suffix = re.fullmatch(r"(.+?)(\d*)([+-])", text)
    if not suffix:
        return text, 0
    body, digits, sign = suffix.groups()
    if not digits or re.fullmatch(r"[A-Z][a-z]?", body) or body[-1] in ")]}":
        return body, _charge(digits or "1", sign, given)  # Na+, Fe2+, [Fe(CN)6]4-
    if len(digits) == 1:  # NH4+, NO3-: the digit counts atoms
        return body + digits, _charge("1", sign, given)
    raise ValueError(
        f"{given!r}: the charge can be read in two ways; write it after a caret, as in SO4^2-"
    )


def _charge(digits: str, sign: str, given: str) -> int:
    if len(digits) > 2:
        raise ValueError(f"{given!r}: a charge of {digits[:10]} is not possible")
    return -int(digits) if sign == "-" else int(digits)


def _adduct_parts(text: str, given: str) -> list[str]:
    text = re.sub(r"\.(?=[A-Z(\[{])", "·", text.replace("*", "·"))  # no decimal point
    searched = 0
    while match := _GUEST_AFTER_DOT.search(text, searched):
        start, searched = match.start(), match.end()
        number_before = re.search(r"\d+$", text[:start], re.ASCII)
        digits = number_before.group() if number_before else ""
        if digits == "0":  # Li0.5H2O is odd, but clear
            continue
        body_decides = re.search(r"[1-9]\d*\.\d", text[:start], re.ASCII) is None
        if len(digits) > 1 or digits == "1" or not body_decides:
            raise ValueError(_two_readings(given, text[:start], match.group()[1:]))
        text = text[:start] + "·" + text[start + 1 :]
    unclear = re.search(r"(?<=[A-Za-z)\]}])\.(?=\d)", text, re.ASCII)
    if unclear:
        raise ValueError(_two_readings(given, text[: unclear.start()], text[unclear.end() :]))
    return text.split("·")


def _two_readings(given: str, before: str, after: str) -> str:
    return (
        f"{given!r}: a dot can be a decimal point or join two parts; write {before}·{after} for "
        "two parts, or put brackets around them; write decimals as in O0.5"
    )


def _nothing_of(what: str, given: str) -> str:
    return f"{given!r}: 0 of {what}; leave out what is not there"


def _amount(digits: str, given: str) -> Fraction:
    try:
        return Fraction(digits)
    except ZeroDivisionError:
        raise ValueError(f"{given!r}: {digits} divides by zero") from None


class _Tally:
    """Adds up the elements of one part, bracket by bracket."""

    def __init__(self, given: str) -> None:
        self.given = given
        self.levels: list[dict[str, Fraction]] = [{}]
        self.brackets: list[str] = []
        self.waiting: dict[str, Fraction] | None = None  # what a number that follows multiplies
        self.nothing = ""  # what a 0 stands after; other faults of the text are told first

    def read(self, text: str) -> dict[str, Fraction]:
        for symbol, opening, closing, number, other in _TOKEN.findall(text):
            if number:
                self._multiply(number)
                continue
            self._settle(Fraction(1))
            if symbol:
                self.waiting = {_element(symbol, self.given): Fraction(1)}
            elif opening:
                self.brackets.append(_CLOSING[opening])
                self.levels.append({})
            elif closing:
                self._close(closing)
            else:
                raise ValueError(why_unreadable(other, self.given))
        self._settle(Fraction(1))
        if self.brackets:
            raise ValueError(f"{self.given!r}: a bracket is not closed")
        if self.nothing:
            raise ValueError(_nothing_of(self.nothing, self.given))
        return self.levels[0]

    def _multiply(self, number: str) -> None:
        if self.waiting is None:
            raise ValueError(f"{self.given!r}: the number {number} follows no element or bracket")
        amount = _amount(number, self.given)
        if amount == 0 and "." not in number:  # 0.0 is what the end of a series is printed as
            self.nothing = self.nothing or ", ".join(self.waiting)
        self._settle(amount)

    def _settle(self, multiple: Fraction) -> None:
        level = self.levels[-1]
        for element, amount in (self.waiting or {}).items():
            level[element] = level.get(element, Fraction(0)) + multiple * amount
        self.waiting = None

    def _close(self, closing: str) -> None:
        if not self.brackets or self.brackets.pop() != closing:
            raise ValueError(f"{self.given!r}: the bracket {closing!r} closes nothing")
        self.waiting = self.levels.pop()


def _element(symbol: str, given: str) -> str:
    if symbol == "D" or symbol in atomic_masses():
        return symbol
    raise ValueError(not_an_element(symbol, given))


@cache
def atomic_masses() -> dict[str, float]:
    """Return the standard atomic weights.

    Returns:
        Element symbol to weight, u.

    Source:
        IUPAC 2016, Meija et al., Pure Appl. Chem. 88 (2016) 265, as ase.data has them.
    """
    from ase.data import atomic_masses_iupac2016, chemical_symbols

    return dict(zip(chemical_symbols[1:], map(float, atomic_masses_iupac2016[1:]), strict=True))
