"""Arrays in the vocabulary: one-dimensional, float64, finite, read-only, lists on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue


def to_finite_vector(value: object) -> NDArray[np.float64]:
    """Return a read-only float64 vector.

    Args:
        value: A sequence of numbers, shape (n,).

    Returns:
        The numbers, shape (n,), not writable; a copy, so that nobody else can change them.

    Raises:
        ValueError: If the values are not real numbers, not one-dimensional, or not all finite; the
            message gives the index of the first that is not.
    """
    vector = _as_float64(value)
    if vector.ndim != 1:
        raise ValueError(f"expected one dimension, got shape {vector.shape}")
    finite = np.isfinite(vector)
    if not finite.all():
        index = int(np.argmin(finite))
        raise ValueError(f"value {vector[index]} at index {index} is not finite")
    vector.flags.writeable = False
    return vector


def _as_float64(value: object) -> NDArray[np.float64]:
    # Text, truth values, complex numbers, dates and masked gaps would turn into numbers in silence.
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise ValueError("some values are masked")
    if isinstance(value, (str, bytes, dict, set)) or value is None:
        raise ValueError("not a list of numbers")
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and _has_no_text(array):  # gaps as None, or very large integers
            return np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("not a list of numbers") from None
    if array.dtype.kind not in "iuf":
        raise ValueError("not a list of numbers")
    return np.array(array, dtype=np.float64)


def _has_no_text(array: NDArray[Any]) -> bool:
    return not any(isinstance(item, (str, bytes, bool, complex)) for item in array.flat)


class _FiniteVector:
    """The annotation that makes a field hold a finite, read-only float64 vector."""

    def __get_pydantic_core_schema__(
        self,
        source: Any,  # noqa: ANN401 - the annotated type, which this replaces
        handler: GetCoreSchemaHandler,
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            to_finite_vector,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda vector: vector.tolist(),
                return_schema=core_schema.list_schema(core_schema.float_schema()),
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "array", "items": {"type": "number"}}


FloatVector = Annotated[NDArray[np.float64], _FiniteVector()]
