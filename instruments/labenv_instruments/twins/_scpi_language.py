"""The words of SCPI as simulated instruments read and write them: headers, parameters, errors.

Headers are taken in their long or their short form and in any case, never in between; a header
without a colon before it goes on from the path of the one before. (SCPI-1999, volume 1, chapter 6,
and volume 2, chapter 21, for the errors.)
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OVERFLOW: Final = 9.9e37
TEXTS: Final = {
    -101: "Invalid character",
    -104: "Data type error",
    -108: "Parameter not allowed",
    -109: "Missing parameter",
    -113: "Undefined header",
    -221: "Settings conflict",
    -222: "Parameter data out of range",
    -224: "Illegal parameter value",
    -230: "Data corrupt or stale",
    -241: "Hardware missing",
    -350: "Queue overflow",
}


class ScpiError(Exception):
    """An error that the instrument puts in its queue.

    Args:
        code: Its number.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"{code}, {TEXTS[code]}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Entry:
    """What a header does.

    Attributes:
        do: Takes the parameters of a command; None if there is only a query.
        ask: Takes those of a query; None if there is only a command.
    """

    do: Callable[[str], None] | None = None
    ask: Callable[[str], str] | None = None


def as_number(text: str) -> float:
    """Read a parameter that is a number.

    Args:
        text: The parameter.

    Returns:
        The number.

    Raises:
        ScpiError: If it is missing or none.
    """
    if not text:
        raise ScpiError(-109)
    try:
        value = float(text)
    except ValueError:
        raise ScpiError(-104) from None
    if not math.isfinite(value):
        raise ScpiError(-104)
    return value


def shown(value: float) -> str:
    """Return a number as these instruments write it, with six digits after the point."""
    return f"{value:+.6E}"


def elements(text: str, known: Mapping[str, str]) -> tuple[str, ...]:
    """Read a list of words.

    Args:
        text: Such as ``"VOLT, CURR"``.
        known: Names by the pattern of their words, in the order in which they are put out.

    Returns:
        The names of those in the list, in that order.

    Raises:
        ScpiError: If a word is none of them, or there is none.
    """
    words = [word.strip().upper() for word in text.split(",") if word.strip()]
    if not words:
        raise ScpiError(-109)
    matched = {word: name for word in words for pattern, name in known.items()
               if compiled(pattern).fullmatch(word)}  # fmt: skip
    if set(words) - set(matched):
        raise ScpiError(-224)
    return tuple(name for name in known.values() if name in matched.values())


def resolved(header: str, path: str) -> tuple[str, str]:
    """Find the whole path of a header.

    Args:
        header: In capitals, without parameters.
        path: Of the header before it in the line, with a colon at its end.

    Returns:
        The header with its path, and the path for the one after it.
    """
    if header.startswith(("*", ":*")):
        return header.removeprefix(":"), path
    full = header[1:] if header.startswith(":") else path + header
    return full, full[: full.rfind(":") + 1]


def short_form(word: str) -> str:
    """Return the short form of a word whose capitals are its short form."""
    return "".join(letter for letter in word if letter.isupper() or letter.isdigit())


def compiled(pattern: str) -> re.Pattern[str]:
    """Return what matches a header, in capitals.

    Args:
        pattern: Such as ``"[SOURce:]CURRent[:LEVel]"``: capitals are the short form, what is in
            brackets may be left out.

    Returns:
        The regular expression.
    """
    parts: list[str] = []
    for piece in re.findall(r"[\[\]:*]|[A-Za-z0-9]+", pattern):
        if piece == "[":
            parts.append("(?:")
        elif piece == "]":
            parts.append(")?")
        elif piece in {":", "*"}:
            parts.append(re.escape(piece))
        else:
            short = short_form(piece)
            rest = piece.upper().removeprefix(short)
            parts.append(f"{short}(?:{rest})?" if rest else short)
    return re.compile("".join(parts))


__all__ = [
    "OVERFLOW",
    "TEXTS",
    "Entry",
    "ScpiError",
    "as_number",
    "compiled",
    "elements",
    "resolved",
    "short_form",
    "shown",
]
