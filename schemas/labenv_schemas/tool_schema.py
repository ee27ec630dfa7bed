"""Makes a model's JSON Schema small and plain enough to be a language model's tool schema.

What pydantic writes is right but wordy, and shows a default of 0.0833 where the reader wants
``"5 K/min"``. The schema describes the wire form: quantities are text with a unit, and an absent
field is left out.
"""

from __future__ import annotations

from typing import Any

from labenv_schemas.places import TAG_FIELDS
from labenv_schemas.units import friendly

_UNIT_KEY = "x-unit"  # written by `units.Quantity`, removed here
_LIMITS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """Rewrite a model's schema in place.

    Args:
        schema: An object schema as pydantic makes it, wire names as properties.

    Returns:
        The same schema: no titles, no null variants, tags required, defaults and limits of
        quantities as text with a unit.
    """
    schema.pop("title", None)
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    required: list[str] = list(schema.get("required", []))
    for name, given in properties.items():
        field = given
        if given.get("default", ...) is None:  # absent and null mean the same
            field = _without_null(given)
            del field["default"]
        field.pop("title", None)
        if name in TAG_FIELDS and "const" in field:
            field.pop("default", None)
            if name not in required:
                required.append(name)
        _state_unit(field)
        properties[name] = field
    if required:
        schema["required"] = [name for name in properties if name in required]
    return schema


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    variants = [variant for variant in field.get("anyOf", []) if variant != {"type": "null"}]
    rest = {key: value for key, value in field.items() if key != "anyOf"}
    if len(variants) == 1:
        return {**variants[0], **rest}
    return {**rest, "anyOf": variants} if variants else rest


def _state_unit(field: dict[str, Any]) -> None:
    unit = field.pop(_UNIT_KEY, None)
    if unit is None:
        return
    limits = {key: field.pop(key) for key in _LIMITS if key in field}
    # That a mass is not negative goes without saying.
    words = [
        f"{text} {friendly(limits[key], unit)}" for key, text in _LIMITS.items() if limits.get(key)
    ]
    if words:
        field["description"] = f"{field['description'].rstrip('.')}; {', '.join(words)}."
    if "default" in field:
        field["default"] = friendly(field["default"], unit)
