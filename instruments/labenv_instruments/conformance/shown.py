"""What a device shows, read as numbers with units, and what such numbers may be.

The bounds are wide: a reading beyond them is no matter of the sample but of a broken sensor, an
overload sentinel or a wrong unit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Bounds:
    """What numbers of one dimension may be.

    Attributes:
        unit: In which the bounds are.
        low: Smallest that is plausible.
        high: Largest that is plausible.
        resting: By how much two readings of a device at rest may differ.
    """

    unit: str
    low: float
    high: float
    resting: float


BOUNDS = (
    Bounds("K", 0.0, 4000.0, 2.0),
    Bounds("K/s", -1e4, 1e4, 0.05),
    Bounds("kg", -1.0, 100.0, 1e-5),
    Bounds("T", -50.0, 50.0, 1e-3),
    Bounds("A", -1000.0, 1000.0, 1e-4),
    Bounds("V", -1e5, 1e5, 0.1),
    Bounds("ohm", -1e3, 1e15, 1e-2),
    Bounds("Pa", -1e5, 1e10, 1e3),
    Bounds("W", -1.0, 1e6, 1.0),
    Bounds("A*m^2", -10.0, 10.0, 1e-7),
    Bounds("kg/m^3", 0.0, 3e4, 50.0),
    Bounds("m", -1e3, 1e3, 1e-3),
    Bounds("s", -1.0, 1e9, 60.0),
    Bounds("dimensionless", -1e12, 1e12, 0.02),
)
_WORDS = re.compile(r"[,(;]| of ")
_RELATIVE = 0.05  # two readings of a device at rest


@dataclass(frozen=True, slots=True)
class Shown:
    """A reading that begins with a number.

    Attributes:
        value: As it is shown.
        unit: What follows it.
    """

    value: float
    unit: str


def read_shown(text: str) -> Shown | None:
    """Return number and unit of a reading; None where it does not begin with a number.

    Args:
        text: Such as ``"21.3 degC"``; words may follow the unit, as in ``"1.2 g, stable"``,
            ``"290 K (settled)"`` and ``"20 % of range 3"``.

    Returns:
        The reading.
    """
    first, _, rest = text.strip().partition(" ")
    try:
        return Shown(float(first), _WORDS.split(rest)[0].strip())
    except ValueError:
        return None


def known_unit(unit: str) -> bool:
    """Return whether pint knows a unit; an empty one is none."""
    return bool(unit.strip()) and _bounds_and_scale(unit) is not None


def same_dimension(unit: str, other: str) -> bool:
    """Return whether two known units are of one dimension."""
    registry = _registry()
    return bool(registry.Unit(unit).dimensionality == registry.Unit(other).dimensionality)


def implausible(value: float, unit: str) -> str:
    """Return why a number with a unit cannot be a reading; empty if it can.

    Args:
        value: The number.
        unit: Its unit; of one unknown nothing is said but that the number must be finite.

    Returns:
        Such as ``"9.9e+37 V lies beyond -1e+05 to 1e+05 V"``.
    """
    if not math.isfinite(value):
        return f"{value} {unit} is no number"
    bounds = _bounds_of(unit)
    if bounds is None:
        return "" if abs(value) < 9e36 else f"{value:g} {unit} is an overload, not a reading"
    number = _converted(value, unit, bounds.unit)
    if bounds.low <= number <= bounds.high:
        return ""
    return f"{value:g} {unit} lies beyond {bounds.low:g} to {bounds.high:g} {bounds.unit}"


def disagreement(before: str, after: str, *, times: float = 1.0) -> str:
    """Return how two readings of the same thing, taken at rest, disagree; empty if they do not.

    Args:
        before: The first, as shown.
        after: The second.
        times: How many times the usual difference is allowed.

    Returns:
        Such as ``"'21.3 degC' became '0.0 degC'"``.
    """
    one, other = read_shown(before), read_shown(after)
    told = f"{before!r} became {after!r}"
    if one is None or other is None:  # a state or a time may change
        return told if one is not None or other is not None else ""
    if one.unit != other.unit:
        return told
    bounds = _bounds_of(one.unit)
    if bounds is None or not (math.isfinite(one.value) and math.isfinite(other.value)):
        return ""
    first = _converted(one.value, one.unit, bounds.unit)
    second = _converted(other.value, other.unit, bounds.unit)
    # A temperature's distance from absolute zero says nothing of how steady it is.
    relative = 0.0 if bounds.unit == "K" else _RELATIVE * max(abs(first), abs(second))
    allowed = times * max(bounds.resting, relative)
    if abs(first - second) <= allowed:
        return ""
    return f"{told}, more than {allowed:.3g} {bounds.unit} apart"


def disagreements(before: Mapping[str, str], after: Mapping[str, str], *, times: float) -> str:
    """Return how two rounds of readings disagree, in words; empty if they do not."""
    if set(before) != set(after):
        return f"readings {sorted(before)} became {sorted(after)}"
    found = [
        f"{name}: {said}"
        for name in before
        if (said := disagreement(before[name], after[name], times=times))
    ]
    return "; ".join(found)


def _bounds_of(unit: str) -> Bounds | None:
    return _bounds_and_scale(unit) or None if unit.strip() else None


@cache
def _bounds_and_scale(unit: str) -> Bounds | tuple[()] | None:
    """Return the bounds of a unit's dimension, () where there are none, None for no unit."""
    registry = _registry()
    try:
        dimension = registry.Unit(unit).dimensionality
    except Exception:  # noqa: BLE001 - pint lets the tokenizer's and its own errors out
        return None
    for bounds in BOUNDS:
        if registry.Unit(bounds.unit).dimensionality == dimension:
            return bounds
    return ()


def _converted(value: float, unit: str, into: str) -> float:
    return float(_registry().Quantity(value, unit).to(into).magnitude)


@cache
def _registry() -> Any:  # noqa: ANN401 - pint publishes no complete types
    import pint

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True)


__all__ = [
    "BOUNDS",
    "Bounds",
    "Shown",
    "disagreement",
    "disagreements",
    "implausible",
    "known_unit",
    "read_shown",
    "same_dimension",
]
