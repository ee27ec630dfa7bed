"""Reads the text of a unit, as laboratories spell it, into a scale factor and an offset to SI.

Pint knows the units. What reaches it is first brought to its spelling (°C, ℃, hrs, Oe) and then
held to a small alphabet and to single-digit exponents, so that no text can keep it busy. The
units of nearly every recipe are in a table, because loading pint takes half a second.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pint

_LONGEST = 40  # characters

# SI unit -> spelling after `_spell` -> (factor, offset). A test holds every entry to pint.
COMMON_UNITS: dict[str, dict[str, tuple[float, float]]] = {
    "K": {"K": (1.0, 0.0), "kelvin": (1.0, 0.0), "degC": (1.0, 273.15)},
    "K/s": {
        "K/s": (1.0, 0.0),
        "K/min": (1 / 60, 0.0),
        "degC/min": (1 / 60, 0.0),
        "K/h": (1 / 3600, 0.0),
        "degC/h": (1 / 3600, 0.0),
    },
    "s": {
        "s": (1.0, 0.0),
        "min": (60.0, 0.0),
        "minute": (60.0, 0.0),
        "minutes": (60.0, 0.0),
        "h": (3600.0, 0.0),
        "hour": (3600.0, 0.0),
        "hours": (3600.0, 0.0),
        "d": (86_400.0, 0.0),
        "day": (86_400.0, 0.0),
        "days": (86_400.0, 0.0),
    },
    "kg": {"kg": (1.0, 0.0), "g": (1e-3, 0.0), "mg": (1e-6, 0.0)},
    "mol": {"mol": (1.0, 0.0), "mmol": (1e-3, 0.0)},
    "Pa": {
        "Pa": (1.0, 0.0),
        "kPa": (1e3, 0.0),
        "MPa": (1e6, 0.0),
        "bar": (1e5, 0.0),
        "mbar": (100.0, 0.0),
        "atm": (101_325.0, 0.0),
    },
    "T": {"T": (1.0, 0.0), "mT": (1e-3, 0.0)},
    "m": {"m": (1.0, 0.0), "mm": (1e-3, 0.0), "um": (1e-6, 0.0), "nm": (1e-9, 0.0)},
}

_SUPERSCRIPTS = str.maketrans("⁻¹²³⁴", "-1234")
_SPELLINGS = (
    (re.compile(r"℃"), "degC"),
    (re.compile(r"℉"), "degF"),
    (re.compile(r"(?:[°º˚]|\bdeg(?:rees?|s)?[ _.]*)\s*(?:C\b|celsius\b)", re.I), "degC"),
    (re.compile(r"(?:[°º˚]|\bdeg(?:rees?|s)?[ _.]*)\s*(?:F\b|fahrenheit\b)", re.I), "degF"),
    (re.compile(r"[°º˚]\s*K\b"), "K"),
    (re.compile(r"\bcelsius\b|\bcentigrade\b", re.I), "degC"),
    (re.compile(r"\bfahrenheit\b", re.I), "degF"),
    (re.compile(r"[µμ]"), "u"),
    (re.compile(r"[ÅÅ]|\bangstroem\b"), "angstrom"),
    (re.compile(r"\bhrs?\b"), "h"),
    (re.compile(r"\bmins\b"), "min"),
    (re.compile(r"\bsecs?\b"), "s"),
    (re.compile(r"\b([mu]?)Torr\b"), r"\1torr"),
    (re.compile(r"[·⋅×]"), "*"),
    (re.compile(r"[⁻¹²³⁴]+"), lambda match: "^" + match.group().translate(_SUPERSCRIPTS)),
    (re.compile(r"\s+per\s+"), "/"),
    (re.compile(r"\s*([/*^])\s*"), r"\1"),
    (re.compile(r"\^"), "**"),
    (re.compile(r"(?<=[A-Za-z])(-?[1-4])(?![0-9A-Za-z])"), r"**\1"),  # s-1, cm2
)
_WORDS = {
    *("kelvin", "hours", "hour", "hrs", "minutes", "minute", "mins", "min", "seconds", "second"),
    *("secs", "sec", "days", "day", "weeks", "week", "bar", "torr", "atm", "gram", "grams"),
    *("tesla", "gauss", "oersted", "mole", "moles", "mol", "pascal", "meter", "metre"),
}  # known whatever their case
# What laboratories write for one unit and dictionaries of units take for another.
_TWO_MEANINGS = {
    "gr": "'gr', which is grams to some and grains to others",
    "gm": "'gm', which is grams to some and gigametres to others",
    "kgr": "'kgr', which is no unit but kilograms to some",
    "mgr": "'mgr', which is no unit but milligrams to some",
}
_SAFE = re.compile(r"(?:[A-Za-z_%/()]|\*(?!\*)|\*\*-?[1-4](?![0-9A-Za-z*])|(?<=H)2(?=O)| )+")


class AmbiguousUnitError(ValueError):
    """A spelling that stands for two units, which no reader should choose between."""


@lru_cache(maxsize=1024)
def scale_to_si(unit_text: str, unit: str) -> tuple[float, float]:
    """Return what carries a number in one unit into another.

    Args:
        unit_text: The unit as a person wrote it, such as ``°C`` or ``K min⁻¹``.
        unit: The unit wanted, such as ``"K"`` or ``"K/s"``.

    Returns:
        Factor and offset: the number wanted is ``number * factor + offset``.

    Raises:
        AmbiguousUnitError: If the text stands for two units; the message says which.
        ValueError: If the text is no unit, or one of another dimension.
    """
    if len(unit_text) > _LONGEST:
        raise ValueError("the unit is too long to be one")
    text = _spell(unit_text, unit)
    if text.lower() in _TWO_MEANINGS:
        raise AmbiguousUnitError(_TWO_MEANINGS[text.lower()])
    known = COMMON_UNITS.get(unit, {}).get(text)
    if known is not None:
        return known
    if _SAFE.fullmatch(text) is None or "delta" in text:
        raise ValueError("not a unit")
    return _ask_pint(text, unit)


def _spell(unit_text: str, unit: str) -> str:
    text = unit_text.strip()
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    text = re.sub(r"\b[A-Za-z]{3,}\b", _lower_word, text)
    if unit in {"K", "K/s"}:  # a bare C would be the coulomb
        text = re.sub(r"^[Cc](?=/|$| s| m| h)", "degC", text)
        text = re.sub(r"^F(?=/|$)", "degF", text)
    elif unit == "T":
        # An oersted is a unit of H; instruments report it for the field in vacuum: 1 Oe is 1e-4 T.
        text = re.sub(r"^([kmu]?)(?:Oe|oersteds?|G|gauss)$", r"\1field_oersted", text)
    return text


def _lower_word(match: re.Match[str]) -> str:
    word = match.group()
    return word.lower() if word.lower() in _WORDS else word


def _ask_pint(text: str, unit: str) -> tuple[float, float]:
    registry = _registry()
    try:
        parsed = registry.parse_units(text, as_delta=unit != "K")
        if unit == "K":
            zero = registry.Quantity(0.0, parsed).to("K").magnitude
            # From far away, so that the offset costs the factor no digits.
            far = registry.Quantity(1e6, parsed).to("K").magnitude
            return (float(far) - float(zero)) / 1e6, float(zero)
        return float(registry.Quantity(1.0, parsed).to(unit).magnitude), 0.0
    except Exception:  # noqa: BLE001 - pint raises many kinds, tokenizer errors among them
        raise ValueError("not a unit") from None


@cache
def _registry() -> pint.UnitRegistry[Any]:
    import pint

    registry: pint.UnitRegistry[Any] = pint.UnitRegistry(cache_folder=None)
    registry.define("field_oersted = 1e-4 * tesla")
    return registry
