"""Vocabulary models as plain data with SI numbers, for columns that people query.

The wire form of a model says ``"target": "1373.15 K"``; in a column ``"target_k": 1373.15`` is what
one can compare and sum. The vocabulary reads a bare number under a name that states its unit, so
``Model.model_validate`` restores an equal model from either, and this form bit for bit.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray


def plain(value: object, *, without: Collection[str] = ()) -> Any:  # noqa: ANN401 - any JSON
    """Return a model as dicts, lists and scalars under its Python field names.

    Args:
        value: A model, or anything that a model's field may hold except arrays.
        without: Fields of the outermost model to leave out.

    Returns:
        Plain data; moments become ISO 8601 text.

    Raises:
        ValueError: If the key of a dict is not text.
    """
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {name: plain(getattr(value, name)) for name in fields if name not in without}
    if isinstance(value, dict):
        odd = next((key for key in value if not isinstance(key, str)), None)
        if odd is not None:  # JSON would quietly make it text
            raise ValueError(f"key {odd!r} is not text")
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value


def arrays_in(model: BaseModel) -> dict[str, NDArray[np.float64]]:
    """Return the fields of a model that are arrays, by name."""
    return {
        name: value
        for name in type(model).model_fields
        if isinstance(value := getattr(model, name), np.ndarray)
    }
