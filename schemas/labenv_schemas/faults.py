"""Says what is wrong with a plan so that its writer, person or language model, can mend it at once.

Such as ``operations[2].segments[0]: unknown field 'temprature'; did you mean 'target'?``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from labenv_schemas.places import as_model, follow, wire_name
from labenv_schemas.suggestions import meant
from labenv_schemas.units import friendly

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from labenv_schemas.places import Spot
    from labenv_schemas.units import Quantity

_MOST_LINES = 20
_LONGEST_VALUE = 80
_LIMITS = {
    "greater_than": ("gt", "must be above"),
    "greater_than_equal": ("ge", "must be at least"),
    "less_than": ("lt", "must be below"),
    "less_than_equal": ("le", "must be at most"),
}
_LENGTHS = {
    "too_short": ("min_length", "must have at least"),
    "too_long": ("max_length", "must have at most"),
}
_NOT_AN_OBJECT = {"model_type", "model_attributes_type", "dict_type"}
_NOT_A_LIST = {"tuple_type", "list_type"}


def describe(
    error: ValidationError, kind: type[BaseModel] | None = None, data: object = None
) -> str:
    """Return a validation error as one line a fault: place, what was wrong, what to write.

    Args:
        error: What pydantic raised.
        kind: The model that was validated; found by its name if omitted.
        data: What was validated, so that a place is called by the names used there.

    Returns:
        Lines such as ``operations[1].segments[0].target: 1100 has no unit; ...``.
    """
    root = kind or _model_named(error.title)
    lines: dict[str, None] = {}
    faults = error.errors(include_url=False)
    for fault in faults:
        location = fault["loc"]
        if fault["type"] == "too_short" and any(_is_in(other["loc"], location) for other in faults):
            continue  # pydantic counts only the items that passed
        if fault["type"] == "extra_forbidden":  # its place is the model that lacks the field
            location = location[:-1]
        place, spot, written = follow(root, location, data)
        if fault["type"] in _LIMITS and isinstance(written, str):
            fault["input"] = written  # rather than what it was converted to
        message = _message(fault, spot)
        lines[f"{place}: {message}" if place else message] = None
    shown = list(lines)[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        shown.append(f"and {len(lines) - _MOST_LINES} more faults")
    return "\n".join(shown)


def _is_in(location: tuple[int | str, ...], place: tuple[int | str, ...]) -> bool:
    return len(location) > len(place) and location[: len(place)] == place


def _model_named(name: str) -> type[BaseModel] | None:
    waiting = list(BaseModel.__subclasses__())
    while waiting:
        model = waiting.pop()
        if model.__name__ == name and model.__module__.startswith("labenv"):
            return model
        waiting.extend(model.__subclasses__())
    return None


def _message(fault: ErrorDetails, spot: Spot) -> str:
    kind, given = fault["type"], fault.get("input")
    context: Mapping[str, Any] = fault.get("ctx", {})
    if kind.startswith("union_tag"):
        return _wrong_tag(kind, context, spot)
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        limit = _amount(context.get(name), spot.quantity)
        return f"{_amount(given, spot.quantity)} {words} {limit}"
    if kind == "extra_forbidden":
        return _unknown_field(str(fault["loc"][-1]), spot)
    if kind == "missing":
        return "is missing" + (
            f"; write it as in {spot.quantity.example!r}" if spot.quantity else ""
        )
    if kind == "literal_error":
        return _not_among(given, spot.literals, _other_forms(spot))
    if kind in _NOT_AN_OBJECT:
        return f"{_shown(given)} is not an object with named fields"
    if kind in _NOT_A_LIST:
        return f"{_shown(given)} is not a list"
    if kind in _LENGTHS:
        name, words = _LENGTHS[kind]
        return f"{words} {context.get(name)} items; there are {context.get('actual_length')}"
    message = fault["msg"].removeprefix("Value error, ")
    if kind in {"value_error", "json_invalid"} or not isinstance(given, (str, int, float)):
        return message
    return f"{message} (given: {_shown(given)})"


def _wrong_tag(kind: str, context: Mapping[str, Any], spot: Spot) -> str:
    field = str(context.get("discriminator", "")).strip("'")
    if kind == "union_tag_invalid":
        return f"{field} {_not_among(context.get('tag'), spot.tags)}"
    return f"{field!r} is missing; it is one of {', '.join(spot.tags)}"


def _unknown_field(name: str, spot: Spot) -> str:
    if spot.model is None:
        return f"unknown field {_shown(name)}"
    fields = [wire_name(own, field) for own, field in spot.model.model_fields.items()]
    guess = meant(name, fields)
    hint = f"did you mean {guess!r}?" if guess else f"the fields are {', '.join(fields)}"
    return f"unknown field {_shown(name)}; {hint}"


def _not_among(given: object, options: Sequence[str], other_forms: str = "") -> str:
    guess = meant(str(given), options)
    hint = f"; did you mean {guess!r}?" if guess else ""
    return f"{_shown(given)} is not one of {', '.join(options)}{other_forms}{hint}"


def _other_forms(spot: Spot) -> str:
    # A model may stand in place of a word: name its fields.
    for sibling in spot.siblings:
        model = as_model(sibling)
        if model is not None:
            fields = [wire_name(name, field) for name, field in model.model_fields.items()]
            return f", nor an object with {', '.join(fields)}"
    return ""


def _amount(value: object, quantity: Quantity | None) -> str:
    if quantity is not None and isinstance(value, (int, float)):
        return friendly(value, quantity.unit)
    return f"{value:g}" if isinstance(value, float) else _shown(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."
