"""Units at the edge: text with a unit becomes an SI number once, and a bare number is refused.

Any unit that pint knows is understood, with the spellings laboratories use (°C, h, bar, Oe).
Inside labenv a number is in SI and its name says so; crystallographic ångström and degrees 2θ are
the two exceptions.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic_core import core_schema

from labenv_schemas.unit_text import AmbiguousUnitError, scale_to_si

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

_LONGEST = 100  # characters of a quantity
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(.*)", re.DOTALL | re.ASCII)
# Full-width forms, as East Asian keyboards type them, and the signs that stand for a minus.
_PLAIN = {**{0xFF01 + i: 0x21 + i for i in range(94)}, 0x3000: 0x20, 0x2212: 0x2D, 0xFE63: 0x2D}
_PATTERN = r"^ *[-+]?[0-9.]+([eE][-+]?[0-9]+)? *[^ 0-9.eE,]"
_LIMITS = {"exclusiveMinimum": "gt", "minimum": "ge", "exclusiveMaximum": "lt", "maximum": "le"}

_KINDS = {
    "K": ("temperature", "'900 degC' or '1173 K'"),
    "K/s": ("rate", "'5 K/min' or '300 degC/h'"),
    "s": ("time", "'6 h' or '30 min'"),
    "kg": ("mass", "'2.5 g' or '40 mg'"),
    "mol": ("amount", "'0.01 mol' or '10 mmol'"),
    "Pa": ("pressure", "'1 bar' or '40 Pa'"),
    "T": ("magnetic field", "'0.5 T' or '200 Oe'"),
    "m": ("length", "'0.5 um' or '2 mm'"),
}
_FRIENDLY = {
    "K/s": ("K/min", "K/h"),
    "s": ("min", "h", "d"),
    "kg": ("g", "mg"),
    "mol": ("mmol",),
    "Pa": ("MPa",),
}
_SLIPS = (
    (re.compile(r"[+-]?[\d.]*,\d"), "has a comma (use a decimal point, no thousands separator)"),
    (re.compile(r"[+-]?[\d.]+\s*(?:[-–—~]|to\b|\.\.)\s*[\d.]"), "is a range, not one number"),
    (re.compile(r"[+-]?[\d.]+\s*(?:±|\+/?-|\(\d)"), "has an uncertainty beside the number"),
    (re.compile(r"[+-]?[\d.]+\s*[x×*·]\s*10"), "has a power of ten (use the form 1.1e3)"),
    (re.compile(r"[+-]?[\d.]+\s+\d|[+-]?\d+[_':]\d"), "has a separator within the number"),
)


class InNamedUnit(float):
    """A number that was given under a name stating its unit, such as ``target_k=1373.15``."""

    __slots__ = ()


def is_number(value: object) -> bool:
    """Say whether a value is a real number of any library's, and not a truth value.

    Args:
        value: Anything.

    Returns:
        True for int, float, numpy scalars, Decimal and Fraction.
    """
    return not isinstance(value, bool) and isinstance(value, (Real, Decimal))


def parse_quantity(value: object, unit: str) -> float:
    """Convert a quantity with a unit to a number in `unit`.

    Args:
        value: Text such as ``"5 K/min"``, ``{"value": 5, "unit": "K/min"}``, a pint quantity or
            another object that prints number and unit, a `timedelta`, or a number marked as given
            under a name that states its unit.
        unit: The SI unit wanted: ``"K"``, ``"K/s"``, ``"s"``, ``"kg"``, ``"mol"``, ``"Pa"``, ...

    Returns:
        The number in `unit`, finite.

    Raises:
        ValueError: If the number has no unit, is not finite, or the unit is unknown or of another
            dimension. The message says what to write.
    """
    if isinstance(value, InNamedUnit):
        return _finite(value, value, unit)
    if isinstance(value, timedelta) and unit == "s":
        return value.total_seconds()
    if hasattr(value, "magnitude") and hasattr(value, "to"):
        return _from_pint(value, unit)
    number, unit_text = _split(value, unit)
    finite = _finite(number, value, unit)
    try:
        factor, offset = scale_to_si(unit_text, unit)
    except AmbiguousUnitError as fault:
        raise ValueError(_refusal(value, f"has {fault}", unit)) from None
    except ValueError:
        raise ValueError(_refusal(value, _wrong_unit(unit_text, unit), unit)) from None
    return _finite(finite * factor + offset, value, unit)


def format_quantity(number: float, unit: str) -> str:
    """Write a number in an SI unit so that `parse_quantity` reads exactly that number back.

    Args:
        number: A finite number, in `unit`.
        unit: An SI unit.

    Returns:
        Such as ``"1373.15 K"``.
    """
    text = repr(float(number))
    return f"{text.removesuffix('.0')} {unit}"


def friendly(number: float, unit: str) -> str:
    """Write a number in the unit in which it is shortest, if that is exact.

    Args:
        number: A finite number, in `unit`.
        unit: An SI unit.

    Returns:
        Such as ``"5 K/min"`` for 0.0833 K/s; reading it gives the same number.
    """
    shortest = format_quantity(number, unit)
    for other in _FRIENDLY.get(unit, ()):
        factor, _ = scale_to_si(other, unit)
        digits = f"{number / factor:.6g}"
        if len(digits) < len(shortest.split()[0]) and float(digits) * factor == number:
            shortest = f"{digits} {other}"
    return shortest


def _split(value: object, unit: str) -> tuple[object, str]:
    if isinstance(value, dict):
        fields = {str(key): part for key, part in value.items()}
        number, text = fields.get("value"), fields.get("unit")
        if set(fields) != {"value", "unit"} or not isinstance(text, str):
            raise ValueError(_refusal(value, "is not a quantity", unit))
        value = f"{number} {text}" if isinstance(number, str) or is_number(number) else number
    if isinstance(value, str):
        return _split_text(value, unit)
    if is_number(value) and not hasattr(value, "unit"):
        _finite(value, value, unit)
        raise ValueError(_refusal(value, "has no unit", unit))
    if hasattr(value, "unit"):  # astropy and pymatgen quantities print their unit
        return _split_text(str(value), unit)
    raise ValueError(_refusal(value, "is not a quantity", unit))


def _split_text(given: str, unit: str) -> tuple[float, str]:
    if len(given) > _LONGEST:
        raise ValueError(_refusal(given, "is too long for a quantity", unit))
    text = re.sub(r"^\s*[–—]\s*(?=\d)", "-", given.translate(_PLAIN))
    for slip, reason in _SLIPS:
        if slip.match(text.strip()):
            raise ValueError(_refusal(given, reason, unit))
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(_refusal(given, "is not a finite number with a unit", unit))
    if not match.group(2).strip():
        raise ValueError(_refusal(given, "has no unit", unit))
    return float(match.group(1)), match.group(2)


def _wrong_unit(unit_text: str, unit: str) -> str:
    if re.search(r"[a-z]\s*\d+\s*[a-z]", unit_text):
        return "has more than one number"
    kind, _ = _KINDS.get(unit, ("quantity in " + unit, ""))
    return f"has {_shown(unit_text)}, which is not a unit of {kind}"


def _from_pint(quantity: Any, unit: str) -> float:  # noqa: ANN401 - pint's classes are generic
    try:
        magnitude = quantity.to(unit).magnitude
    except Exception:  # noqa: BLE001 - pint raises many kinds
        kind, _ = _KINDS.get(unit, ("quantity in " + unit, ""))
        raise ValueError(_refusal(str(quantity), f"is not a {kind}", unit)) from None
    if not is_number(magnitude):
        raise ValueError(_refusal(str(quantity), "is not one number", unit))
    return _finite(magnitude, str(quantity), unit)


def _finite(number: Any, given: object, unit: str) -> float:  # noqa: ANN401 - any library's
    try:
        result = float(number)
    except (OverflowError, ValueError):  # too large, or a signalling NaN
        result = math.inf
    if not math.isfinite(result):
        raise ValueError(_refusal(given, "is not a finite number", unit))
    return result + 0.0  # no negative zero


def _refusal(given: object, reason: str, unit: str) -> str:
    _, example = _KINDS.get(unit, ("", f"a number and a unit, such as '1 {unit}'"))
    return f"{_shown(given)} {reason}; write {example}"


def _shown(given: object) -> str:
    if isinstance(given, float):
        return repr(float(given))
    try:
        text = repr(given)
    except ValueError:  # an integer of more digits than Python prints
        return "the number"
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass(frozen=True)
class Quantity:
    """The annotation that makes a float field read and write its unit.

    Attributes:
        unit: SI unit of the number in Python.
        description: What the number is, for JSON Schema.
        example: What a person would write.
        gt: Exclusive lower limit, in `unit`.
        ge: Inclusive lower limit, in `unit`.
    """

    unit: str
    description: str
    example: str
    gt: float | None = None
    ge: float | None = None

    def __get_pydantic_core_schema__(
        self, source: type[float], handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        unit = self.unit
        # The field's own limits are already in what the handler makes of the float.
        number = handler(source)
        if number["type"] == "float":
            own = {"gt": self.gt, "ge": self.ge}
            limits = {name: limit for name, limit in own.items() if limit is not None}
            number = cast("core_schema.FloatSchema", {**limits, **number, "allow_inf_nan": False})
        return core_schema.no_info_before_validator_function(
            lambda value: parse_quantity(value, unit),
            number,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda number: format_quantity(number, unit),
                return_schema=core_schema.str_schema(),
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        number = handler(schema)  # carries the limits, of the type and of the field
        limits = {_LIMITS.get(key, key): value for key, value in number.items() if key != "type"}
        return {
            "type": "string",
            "description": f"{self.description}, with its unit",
            "pattern": _PATTERN,
            "examples": [self.example],
            "x-unit": self.unit,
            **{key: value for key, value in limits.items() if key in _LIMITS.values()},
        }


TemperatureK = Annotated[float, Quantity("K", "Temperature", "1100 degC", gt=0)]
HeatingRateKPerS = Annotated[float, Quantity("K/s", "Heating or cooling rate", "5 K/min", gt=0)]
DurationS = Annotated[float, Quantity("s", "Duration", "6 h", ge=0)]
MassKg = Annotated[float, Quantity("kg", "Mass", "2.5 g", ge=0)]
AmountMol = Annotated[float, Quantity("mol", "Amount of substance", "0.01 mol", gt=0)]
PressurePa = Annotated[float, Quantity("Pa", "Pressure", "1 bar", ge=0)]
FieldT = Annotated[float, Quantity("T", "Magnetic flux density", "0.5 T")]
LengthM = Annotated[float, Quantity("m", "Length", "0.5 um", gt=0)]
