"""Says what is wrong with a plan so that its writer, person or language model, can mend it at once.

Such as ``operations[2].segments[0]: unknown field 'temprature'; did you mean 'target'?``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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
_NOT_OF_THE_KIND = {
    "tuple_type": "is not a list",
    "list_type": "is not a list",
    "string_type": "is not text; if it is meant as text, put it in quotes",
    "int_type": "is not a whole number",
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
    "float_type": "is not a number, or too large a one",
    "float_parsing": "is not a number",
    "bool_type": "is neither true nor false",
    "bool_parsing": "is neither true nor false",
}


class Fault(NamedTuple):
    """Something wrong in a writer's data.

    Attributes:
        path: Keys and indices that lead to it.
        place: Where to mend it, such as ``operations[2].target``; empty for the whole.
        message: What is wrong and what to write.
    """

    path: tuple[int | str, ...]
    place: str
    message: str

    def __str__(self) -> str:
        """Return place and message."""
        return f"{self.place}: {self.message}" if self.place else self.message


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
    return "\n".join(first_lines([str(fault) for fault in explain(error, root, data)]))


def explain(
    error: ValidationError, root: type[BaseModel] | None, data: object = None
) -> list[Fault]:
    """Return what is wrong, fault by fault.

    Args:
        error: What pydantic raised.
        root: The model that was validated.
        data: What was validated.

    Returns:
        The faults in the order found.
    """
    found: list[Fault] = []
    faults = error.errors(include_url=False)
    for fault in faults:
        location = fault["loc"]
        if fault["type"] == "too_short" and any(_is_in(other["loc"], location) for other in faults):
            continue  # pydantic counts only the items that passed
        if fault["type"] == "extra_forbidden":  # its place is the model that lacks the field
            location = location[:-1]
        place = follow(root, location, data)
        if fault["type"] in _LIMITS and isinstance(place.written, str):
            fault["input"] = place.written  # rather than what it was converted to
        path = place.path
        if fault["type"] == "extra_forbidden":
            path = (*path, fault["loc"][-1])
        found.append(Fault(path, str(place), _message(fault, place.spot)))
    return found


def first_lines(lines: Sequence[str]) -> list[str]:
    """Return the first of some lines, each once, and how many more there are.

    Args:
        lines: Of any number.

    Returns:
        At most 21 lines.
    """
    different = list(dict.fromkeys(lines))
    shown = different[:_MOST_LINES]
    if len(different) > _MOST_LINES:
        shown.append(f"and {len(different) - _MOST_LINES} more faults")
    return shown


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
        return _not_an_object(given, spot)
    if kind in _NOT_OF_THE_KIND:
        return f"{_shown(given)} {_NOT_OF_THE_KIND[kind]}"
    return _wrong_length(fault, spot) or _in_pydantics_words(fault)


def _wrong_length(fault: ErrorDetails, spot: Spot) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in _LENGTHS:
        name, words = _LENGTHS[kind]
        limit = context.get(name)
        items = "item" if limit == 1 else "items"
        return f"{words} {limit} {items}; there are {context.get('actual_length')}"
    if kind == "string_too_short":
        purpose = f"; it is for: {spot.purpose}" if spot.purpose else ""
        least = context.get("min_length", 1)
        some = f"{least} character{'s' if least != 1 else ''}"
        return f"{_shown(fault.get('input'))} is too short; write at least {some}{purpose}"
    return ""


def _in_pydantics_words(fault: ErrorDetails) -> str:
    kind, given = fault["type"], fault.get("input")
    message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    if kind in {"value_error", "json_invalid"} or not isinstance(given, (str, int, float)):
        return message
    return f"{message} (given: {_shown(given)})"


def _wrong_tag(kind: str, context: Mapping[str, Any], spot: Spot) -> str:
    field = str(context.get("discriminator", "")).strip("'")
    if kind == "union_tag_invalid":
        return f"{field} {_not_among(context.get('tag'), spot.tags)}"
    return f"{field!r} is missing; it is one of {', '.join(spot.tags)}"


def _not_an_object(given: object, spot: Spot) -> str:
    message = f"{_shown(given)} is not an object with named fields"
    if spot.model is None:
        return message
    fields = [wire_name(own, field) for own, field in spot.model.model_fields.items()]
    if isinstance(given, str) and "name" in fields:
        return f"{message}; write {{name: {given}}}"
    return f"{message}; its fields are {', '.join(fields)}"


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
