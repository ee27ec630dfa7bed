"""Column types that keep promises: UTC, finite, plain JSON.

Each refuses on the way in what it could not give back unchanged: a moment without a time zone, a
NaN (which SQLite would turn into NULL and JSON could not be read with), a value JSON cannot say.
"""

from __future__ import annotations

import json
import math
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import DateTime, Float, LargeBinary, String, Text
from sqlalchemy.types import TypeDecorator, TypeEngine

if TYPE_CHECKING:
    from sqlalchemy import Dialect


class UtcDateTime(TypeDecorator[datetime]):
    """A moment; on SQLite text such as ``2026-03-01T12:00:00.000000Z``, which sorts by time."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the column type: text on SQLite."""
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(27))
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:  # noqa: ANN401
        """Return the moment in UTC.

        Raises:
            ValueError: If it has no time zone.
        """
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} has no time zone; the store keeps UTC")
        moment = value.astimezone(UTC)
        if dialect.name == "sqlite":
            return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")
        return moment

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:  # noqa: ANN401
        """Return the moment in UTC.

        Raises:
            ValueError: If what is stored has no time zone.
        """
        if value is None:
            return None
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if moment.tzinfo is None:
            raise ValueError(f"{value!r} in the store has no time zone")
        return moment.astimezone(UTC)


class FiniteFloat(TypeDecorator[float]):
    """A double that is never NaN or infinite."""

    impl = Float(53)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> float | None:  # noqa: ANN401
        """Return the number.

        Raises:
            ValueError: If it is no number, or not finite.
        """
        if value is None:
            return None
        if isinstance(value, (bool, str)):
            raise ValueError(f"{value!r} is not a number")
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"{number} is not finite; write no value and the reason why")
        return number

    def process_result_value(self, value: Any, dialect: Dialect) -> float | None:  # noqa: ANN401
        """Return the number."""
        return None if value is None else float(value)


class FreeText(TypeDecorator[str]):
    """Words for people. A NUL, which PostgreSQL cannot hold, becomes its symbol ``␀``."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the text without NUL."""
        return None if value is None else value.replace("\x00", "␀")

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ANN401
        """Return the text."""
        return None if value is None else str(value)


class FiniteJson(TypeDecorator[Any]):
    """Plain JSON as text, finite numbers only; the same text on every database."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ANN401
        """Return JSON text."""
        return None if value is None else to_json(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ANN401
        """Return plain data."""
        return None if value is None else from_json(value)


class CompressedJson(TypeDecorator[Any]):
    """Plain JSON, compressed: for what only labenv reads back."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> bytes | None:  # noqa: ANN401
        """Return compressed JSON."""
        return None if value is None else zlib.compress(to_json(value).encode())

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ANN401
        """Return plain data.

        Raises:
            ValueError: If it is damaged.
        """
        if value is None:
            return None
        try:
            return from_json(zlib.decompress(value))
        except zlib.error as error:
            raise ValueError(f"compressed data in the store is damaged: {error}") from None


def to_json(value: object) -> str:
    """Return plain data as JSON text.

    Args:
        value: Dicts with text keys, lists, text, numbers, booleans and None; numpy scalars too.

    Returns:
        ASCII text with sorted keys, so that equal data give equal text.

    Raises:
        ValueError: If a number is not finite, a key is not text or a value is no JSON; the message
            names the place.
    """
    try:
        return json.dumps(
            value, allow_nan=False, sort_keys=True, separators=(",", ":"), default=_scalar
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(_explain(value) or f"not JSON: {error}") from None


def from_json(text: str | bytes) -> Any:  # noqa: ANN401 - any JSON
    """Read JSON text, refusing NaN and infinity.

    Args:
        text: What `to_json` wrote, or another program.

    Returns:
        Plain data.

    Raises:
        ValueError: If it is not JSON, or holds NaN or an infinity.
    """
    return json.loads(text, parse_constant=_refuse_constant)


def _scalar(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not JSON")


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a finite number")


def _explain(value: object) -> str | None:
    try:
        return _fault(value, "")
    except RecursionError:  # something that contains itself
        return None


def _fault(value: object, place: str) -> str | None:
    # Where the first thing is that JSON cannot hold, and what it is.
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"{place or 'top level'}: key {key!r} is not text"
            fault = _fault(item, f"{place}.{key}" if place else key)
            if fault:
                return fault
        return None
    if isinstance(value, (list, tuple)):
        faults = (_fault(item, f"{place}[{index}]") for index, item in enumerate(value))
        return next((fault for fault in faults if fault), None)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return f"{place or 'value'}: {value} is not finite; write null and a reason"
    if value is None or isinstance(value, (str, int, float)):
        return None
    return f"{place or 'value'}: {type(value).__name__} is not JSON"
