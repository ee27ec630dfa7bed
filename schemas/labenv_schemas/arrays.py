"""Arrays in the vocabulary: one-dimensional, float64, finite, read-only, lists on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema


def to_finite_vector(value: object) -> NDArray[np.float64]:
    """Return a read-only float64 vector.

    Args:
        value: A sequence of numbers, shape (n,).

    Returns:
        The numbers, shape (n,), not writable.

    Raises:
        ValueError: If the values are not numbers, not one-dimensional, or not all finite; the
            message gives the index of the first that is not.
    """
    try:
        vector = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("not a list of numbers") from None
    if vector.ndim != 1:
        raise ValueError(f"expected one dimension, got shape {vector.shape}")
    finite = np.isfinite(vector)
    if not finite.all():
        index = int(np.argmin(finite))
        raise ValueError(f"value {vector[index]} at index {index} is not finite")
    vector.flags.writeable = False
    return vector


if TYPE_CHECKING:
    FloatVector = NDArray[np.float64]
else:
    FloatVector = Annotated[
        Any,
        BeforeValidator(to_finite_vector),
        PlainSerializer(lambda vector: vector.tolist(), return_type=list[float]),
        WithJsonSchema({"type": "array", "items": {"type": "number"}}),
    ]
