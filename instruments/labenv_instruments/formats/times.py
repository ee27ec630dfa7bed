"""Times as measurement files write them; a zone that is not written is never invented."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

from labenv_schemas.measurement import QualityFlag

_ISO = re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?$")
_CLOCK = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?\s*(?P<half>[apAP][mM])?$"
)
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_NAME = r"(?P<name>[A-Za-z]{3})[a-z]*"
_NAMED_MONTH = re.compile(rf"^{_DAY}[- ]{_NAME}[- ]{_YEAR}\s+{_CLOCK}")
_MONTH_FIRST = re.compile(rf"^{_NAME}\.?\s+{_DAY},?\s+{_YEAR}\s+{_CLOCK}")
_YEAR_FIRST = re.compile(rf"^{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}[T ]+{_CLOCK}")
_DOTTED = re.compile(rf"^{_DAY}\.{_MONTH}\.{_YEAR}\s+{_CLOCK}")
_SLASHED = re.compile(rf"^{_MONTH}/{_DAY}/(?P<year>\d{{2}}|\d{{4}})\s+{_CLOCK}")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Moment(NamedTuple):
    """A time of a file.

    Attributes:
        text: ISO 8601, with the offset only if the file states one.
        utc: The same in UTC; none if the file states no zone.
        order_assumed: Whether month and day could also be the other way round.
    """

    text: str
    utc: datetime | None
    order_assumed: bool = False


def moment_of(text: str | None) -> Moment | None:
    """Read a time in any of the ways in which instruments write it.

    Args:
        text: Such as "2024-11-14T12:53:32-08:00", "04-Mar-2010 20:59:14" or "7/1/2018 3:55 PM";
            with slashes the month comes first, as the makers of these files write it.

    Returns:
        The time; none if there is none, or it cannot be understood.
    """
    text = " ".join((text or "").split())
    if not text or text.startswith("0001-01-01"):
        return None
    if _ISO.match(text):
        return _iso(text)
    for pattern in (_NAMED_MONTH, _MONTH_FIRST, _YEAR_FIRST, _DOTTED, _SLASHED):
        found = pattern.match(text)
        if found:
            return _local(found.groupdict(), slashed=pattern is _SLASHED)
    return None


def order_flags(moment: Moment | None) -> list[QualityFlag]:
    """Say that the order of month and day was assumed, if it was.

    Args:
        moment: A time.

    Returns:
        One flag or none.
    """
    if moment is None or not moment.order_assumed:
        return []
    message = f"the date was read month first, as {moment.text[:10]}; the file does not say so"
    return [QualityFlag(code="date_order_assumed", message=message)]


def _iso(text: str) -> Moment | None:
    try:
        moment = datetime.fromisoformat(text.replace(" ", "T", 1).replace(" ", ""))
        if moment.tzinfo is None:
            return Moment(moment.isoformat(), None)
        return Moment(moment.isoformat(), moment.astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def _local(parts: dict[str, str | None], *, slashed: bool) -> Moment | None:
    name = parts.get("name")
    if name is not None and name.lower() not in _MONTHS:
        return None
    month = _MONTHS.index(name.lower()) + 1 if name is not None else int(parts["month"] or 0)
    day, year, hour = (int(parts[key] or 0) for key in ("day", "year", "hour"))
    if slashed and month > 12 >= day:
        month, day = day, month
        doubtful = False
    else:
        doubtful = slashed and day <= 12 and day != month
    if year < 100:
        year += 1900 if year >= 70 else 2000
    half = (parts.get("half") or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        moment = datetime(  # the file states no zone
            year, month, day, hour, int(parts["minute"] or 0), int(parts["second"] or 0)
        )
    except ValueError:
        return None
    return Moment(moment.isoformat(), None, doubtful)
