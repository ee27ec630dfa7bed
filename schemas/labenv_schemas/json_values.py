"""Free-form options: plain JSON that every reader and every store can hold."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

_DEEPEST = 20
_LARGEST_INTEGER = 2**63  # what a 64-bit column holds


def to_plain_json(value: object, place: str = "", depth: int = 0) -> Any:  # noqa: ANN401 - is JSON
    """Return a value as plain JSON data.

    Args:
        value: Dicts, lists, text, numbers (numpy scalars too), truth values and None.
        place: What to call the value in messages.
        depth: How deep it already lies within others.

    Returns:
        The same in dicts, lists, str, int, float, bool and None.

    Raises:
        ValueError: If a number is not finite or an integer does not fit 64 bits, if a key is not
            text, if it nests deeper than 20, or if there is no JSON for it.
    """
    if depth > _DEEPEST:
        raise ValueError(f"{place} nests deeper than {_DEEPEST}")
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError(f"{place or 'the object'} has a key that is not text")
        return {
            key: to_plain_json(item, f"{place}.{key}".lstrip("."), depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [
            to_plain_json(item, f"{place}[{index}]", depth + 1) for index, item in enumerate(value)
        ]
    return _scalar(value, place)


def _scalar(value: object, place: str) -> Any:  # noqa: ANN401 - is JSON
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, (bool, str)):
        return plain
    if isinstance(plain, int):
        if not -_LARGEST_INTEGER <= plain < _LARGEST_INTEGER:
            raise ValueError(f"{place}: the integer does not fit 64 bits")
        return plain
    if isinstance(plain, float):
        if not math.isfinite(plain):
            raise ValueError(f"{place}: {plain} is not a finite number")
        return plain
    raise ValueError(f"{place}: {type(value).__name__} has no form in JSON")


JsonObject = Annotated[dict[str, Any], BeforeValidator(to_plain_json)]
