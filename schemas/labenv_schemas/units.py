"""Units at the edge: text with a unit becomes an SI number once, and a bare number is refused.

Any unit that pint knows is understood, with the spellings laboratories use (°C, h, bar, Oe). Inside
labenv a number is in SI and its name says so; crystallographic ångström and degrees 2θ are the two
exceptions.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

if TYPE_CHECKING:
    import pint


class InNamedUnit(float):
    """A number that was given under a name stating its unit, such as ``target_k=1373.15``."""

    __slots__ = ()


_SPELLINGS = (
    (re.compile(r"[°º]\s*C\b|℃|\bdeg\s*C\b|\bcelsius\b|\bCelsius\b"), "degC"),
    (re.compile(r"[°º]\s*F\b|℉|\bdeg\s*F\b"), "degF"),
    (re.compile(r"[µμ]"), "u"),
    (re.compile(r"Å|Å|\bangstroem\b"), "angstrom"),
    # An oersted is a unit of H; instruments report it for μ0·H in vacuum, where 1 Oe is 1e-4 T.
    (re.compile(r"\bk(Oe|G)\b"), "(0.1 tesla)"),
    (re.compile(r"\b(Oe|oersted|Oersted|G|gauss)\b"), "(1e-4 tesla)"),
    (re.compile(r"\bhrs?\b"), "hour"),
    (re.compile(r"\bmins\b"), "minute"),
    (re.compile(r"\bsecs?\b"), "second"),
    (re.compile(r"\bmmol\b"), "millimole"),
    (re.compile(r"−"), "-"),
)
_NUMBER = re.compile(r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)$", re.DOTALL)

_EXAMPLES = {
    "K": "'900 degC' or '1173 K'",
    "K/s": "'5 K/min'",
    "s": "'6 h' or '30 min'",
    "kg": "'2.5 g'",
    "mol": "'0.01 mol'",
    "Pa": "'1 bar' or '40 Pa'",
    "T": "'0.5 T' or '200 Oe'",
    "m": "'0.5 um'",
}


@cache
def _registry() -> pint.UnitRegistry[Any]:
    import pint

    return pint.UnitRegistry(cache_folder=None)


@cache
def _scale(unit_text: str, unit: str) -> tuple[float, float]:
    """Return (factor, offset) that carry a number in `unit_text` into `unit`."""
    registry = _registry()
    text = unit_text
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    if unit == "K":
        text = "degC" if text.strip() in {"C", "c"} else text
    elif unit == "K/s":
        text = re.sub(r"\bdegC\b|\bC\b", "delta_degC", text)
        text = re.sub(r"\bdegF\b", "delta_degF", text)
    parsed = registry.Quantity(0.0, "kelvin") if not text.strip() else None
    if parsed is not None:
        raise ValueError("no unit")
    if unit == "K":
        quantity = registry.Quantity
        zero = quantity(0.0, registry.parse_units(text)).to("kelvin").magnitude
        one = quantity(1.0, registry.parse_units(text)).to("kelvin").magnitude
        return float(one - zero), float(zero)
    parsed_unit = registry.parse_expression(text)
    factor = registry.Quantity(1.0, "dimensionless") * parsed_unit
    return float(factor.to(unit).magnitude), 0.0


def parse_quantity(value: object, unit: str) -> float:
    """Convert a quantity with a unit to a number in `unit`.

    Args:
        value: Text such as ``"5 K/min"``, ``{"value": 5, "unit": "K/min"}``, a pint quantity, or a
            number marked as given under a name that states its unit.
        unit: The SI unit wanted: ``"K"``, ``"K/s"``, ``"s"``, ``"kg"``, ``"mol"``, ``"Pa"``, ...

    Returns:
        The number in `unit`, finite.

    Raises:
        ValueError: If the number has no unit, is not finite, or the unit is unknown or of another
            dimension. The message says what to write.
    """
    example = _EXAMPLES.get(unit, f"a number with a unit of {unit}")
    if isinstance(value, InNamedUnit):
        return _finite(float(value), value)
    if isinstance(value, dict):
        if set(value) != {"value", "unit"}:
            raise ValueError(f"{value!r} is not a quantity; write {example}")
        value = f"{value['value']} {value['unit']}"
    elif isinstance(value, bool) or value is None:
        raise ValueError(f"{value!r} is not a quantity; write {example}")
    elif isinstance(value, (int, float)):
        _finite(float(value), value)
        raise ValueError(f"{value!r} has no unit; write {example}")
    elif not isinstance(value, str):
        value = str(value)  # a pint or ase quantity prints its unit
    match = _NUMBER.match(value)
    if match is None:
        raise ValueError(f"{value!r} is not a finite number with a unit; write {example}")
    number, unit_text = float(match.group(1)), match.group(2).strip()
    if not unit_text:
        raise ValueError(f"{value!r} has no unit; write {example}")
    try:
        factor, offset = _scale(unit_text, unit)
    except Exception:  # noqa: BLE001 - pint raises many kinds, tokenizer errors among them
        raise ValueError(
            f"{value!r}: {unit_text!r} is not a unit of {unit}; write {example}"
        ) from None
    return _finite(number * factor + offset, value)


def _finite(number: float, given: object) -> float:
    if not math.isfinite(number):
        raise ValueError(f"{given!r} is not a finite number")
    return number


def _quantity_type(unit: str, description: str, example: str, **limits: float) -> Any:  # noqa: ANN401
    return Annotated[
        float,
        BeforeValidator(lambda value: parse_quantity(value, unit)),
        Field(**limits),  # type: ignore[arg-type]
        PlainSerializer(lambda number: f"{number!r} {unit}", return_type=str),
        WithJsonSchema({
            "type": "string",
            "description": f"{description}, with its unit",
            "pattern": r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*\S.*$",
            "examples": [example],
        }),
    ]


if TYPE_CHECKING:
    TemperatureK = float
    HeatingRateKPerS = float
    DurationS = float
    MassKg = float
    AmountMol = float
    PressurePa = float
    FieldT = float
    LengthM = float
else:
    TemperatureK = _quantity_type("K", "temperature", "1100 degC", gt=0)
    HeatingRateKPerS = _quantity_type("K/s", "heating or cooling rate", "5 K/min", gt=0)
    DurationS = _quantity_type("s", "duration", "6 h", ge=0)
    MassKg = _quantity_type("kg", "mass", "2.5 g", ge=0)
    AmountMol = _quantity_type("mol", "amount of substance", "0.01 mol", gt=0)
    PressurePa = _quantity_type("Pa", "pressure", "1 bar", ge=0)
    FieldT = _quantity_type("T", "magnetic flux density", "0.5 T")
    LengthM = _quantity_type("m", "length", "0.5 um", gt=0)
