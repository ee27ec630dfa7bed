"""Says why a text is no formula, and what its writer may have meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNDEFINED = "xyznmδεη"
# Elements that a formula typed in one case is likely to hold: no short-lived ones.
_LIKELY = frozenset([
    *("H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne", "Na", "Mg", "Al", "Si", "P", "S"),
    *("Cl", "Ar", "K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga"),
    *("Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Ru", "Rh", "Pd", "Ag"),
    *("Cd", "In", "Sn", "Sb", "Te", "I", "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Sm", "Eu"),
    *("Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Hf", "Ta", "W", "Re", "Os", "Ir", "Pt"),
    *("Au", "Hg", "Tl", "Pb", "Bi", "Th", "U"),
])
_LONGEST_GUESS = 40  # characters
_ISOTOPES_SPAN = 0.15  # isotopes in use (13C, 18O, 6Li) lie within this share of the atomic weight


def isotope_hint(text: str, masses: Mapping[str, float]) -> str:
    """Return a message about a number in front that may count nucleons and not formula units.

    Args:
        text: A formula of one part.
        masses: Element symbol to atomic weight, u.

    Returns:
        The message; empty where the number is far from the weight of the atom it stands before.
    """
    match = re.match(r"\[?(\d+)\]?([A-Z][a-z]?)", text, re.ASCII)
    if match is None or match[2] not in masses or match[2] == "H":  # 2H2O: waters; 2H is D
        return ""
    number, symbol = match.groups()
    if abs(int(number) - masses[symbol]) > max(1.0, _ISOTOPES_SPAN * masses[symbol]):
        return ""
    plain = text.replace("[", "", 1).replace("]", "", 1) if text.startswith("[") else text
    rest = plain.removeprefix(number)
    return (
        f"the isotope {symbol}-{number}, or {number} of {rest}? isotopes other than D have no "
        f"place in a formula; write {rest}"
    )


def why_unreadable(character: str, given: str) -> str:
    """Return a message about a character that has no place in a formula.

    Args:
        character: The first that could not be read.
        given: The whole text.

    Returns:
        The message, with a suggestion if the letters only have the wrong case.
    """
    if character == ",":
        if re.search(r"\d,\d", given):
            return f"{given!r}: write contents with a decimal point, as in Ba0.5Sr0.5TiO3"
        return f"{given!r}: how much of each? write the contents, as in Ba0.5Sr0.5TiO3"
    if character in "+-–/" and re.search(r"[+–/-]\s*\d*\.?\d*\s*[A-Z]", given):
        return f"{given!r}: {character!r} joins several substances; write one formula"
    if character.islower() and character not in _UNDEFINED:
        return not_an_element(character, given)
    if character in _UNDEFINED or character in "±+-–~<>":
        return (
            f"{given!r}: {character!r} leaves a content undefined; write numbers, as in "
            "YBa2Cu3O6.95"
        )
    return f"{given!r}: {character!r} is not part of a formula"


def not_an_element(symbol: str, given: str) -> str:
    """Return a message about a symbol that is no element's.

    Args:
        symbol: The symbol.
        given: The whole text.

    Returns:
        The message, with a suggestion if the letters only have the wrong case.
    """
    guesses = " or ".join(_in_right_case(given))
    hint = f"; did you mean {guesses}?" if guesses else ""
    return f"{given!r}: {symbol!r} is not an element; if it stands for one, write which{hint}"


def _in_right_case(given: str) -> list[str]:
    letters = [character for character in given if character.isalpha()]
    if len(given) > _LONGEST_GUESS or not letters:
        return []
    wrong_case = all(letter.islower() for letter in letters) or (
        len(letters) > 2 and all(letter.isupper() for letter in letters)
    )
    if not wrong_case and not given[0].islower() and not re.match(r"[A-Z][a-z]{2}", given):
        return []
    guess = _fewest_symbols(given)
    if guess is None:
        return []
    carbonate = re.sub(r"Co(?=\d)", "CO", guess)  # baco3
    return [carbonate] if carbonate == guess else [carbonate, guess]


def _fewest_symbols(given: str) -> str | None:
    # Splits letters into the fewest element symbols, whatever their case; all else stays.
    best: list[tuple[int, str] | None] = [(0, "")]
    for end in range(1, len(given) + 1):
        options: list[tuple[int, str]] = []
        for length in (2, 1):
            before = best[end - length] if end >= length else None
            piece = given[end - length : end]
            if before is None:
                continue
            if piece.isalpha() and piece.capitalize() in _LIKELY:
                options.append((before[0] + 1, before[1] + piece.capitalize()))
            elif length == 1 and not piece.isalpha():
                options.append((before[0], before[1] + piece))
        best.append(min(options, key=lambda option: option[0]) if options else None)
    final = best[-1]
    return final[1] if final is not None else None
