"""What the suite asks devices for: small safe requests of every kind, and such as pass a limit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from labenv_instruments.limits import DeviceLimits
from labenv_schemas.base import Model, parse
from labenv_schemas.errors import ConfigError
from labenv_schemas.proposal import Heat, Measure, Mix, Operation, Regrind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Of each kind, the first that device and limits allow is used.
_SAFE: Mapping[str, tuple[dict[str, Any], ...]] = {
    "dose": ({"precursors": [{"substance": "BaCO3", "mass": "100 mg"}]},),
    "mix": ({"duration": "1 min"},),
    "press": ({"pressure": "10 MPa"}, {"pressure": "50 MPa"}),
    "heat": (
        {"segments": [{"target": "60 degC", "rate": "5 K/min", "hold": "1 min"}]},
        {"segments": [{"target": "100 degC", "rate": "5 K/min", "hold": "1 min"}]},
        {"segments": [{"target": "300 degC", "rate": "5 K/min", "hold": "1 min"}]},
    ),
    "regrind": ({"duration": "1 min"},),
    "measure": (
        {"two_theta_min_deg": 20, "two_theta_max_deg": 30, "step_deg": 0.05, "scan_time": "1 min"},
        {"two_theta_min_deg": 20, "two_theta_max_deg": 30, "step_deg": 0.05, "scan_time": "10 min"},
        {},
    ),
    "measure_resistance": (
        {
            "temperature_min": "290 K",
            "temperature_max": "300 K",
            "step": "2 K",
            "fine_below": "300 K",
            "current": "100 uA",
        },
        {},
    ),
    "measure_magnetisation": (
        {"temperature_min": "95 K", "temperature_max": "105 K", "step": "2 K", "field": "1 mT"},
        {},
    ),
    "weigh": ({"repeats": 3}, {}),
    "measure_density": ({"purges": 3}, {}),
    "measure_composition": ({"live_time": "1 min"}, {}),
}

# What no device of the kind can do; kinds whose every request some device could do are left out.
_ABSURD: Mapping[str, tuple[dict[str, Any], ...]] = {
    "dose": ({"precursors": [{"substance": "BaCO3", "mass": "10 kg"}]},),
    "press": ({"pressure": "2 GPa"},),
    "heat": ({"segments": [{"target": "3999 K"}]},),
    "measure": ({"two_theta_max_deg": 150, "scan_time": "1 ms"},),
    "measure_resistance": ({"current": "1 kA"}, {"field": "1000 T"}),
    "measure_magnetisation": ({"field": "1000 T"},),
}


class _Asked(Model):
    operation: Operation


def parse_operation(data: object) -> Operation:
    """Read an operation that somebody wrote for the suite.

    Args:
        data: Plain data, or its JSON text such as ``'{"op": "weigh"}'``.

    Returns:
        The operation.

    Raises:
        ConfigError: If it is none.
    """
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except ValueError as cause:
            raise ConfigError(f"the request {data!r} is no JSON: {cause}") from None
    return parse(_Asked, {"operation": data}, ConfigError).operation


def parse_limits(words: Iterable[str]) -> DeviceLimits:
    """Read limits as they are written on a command line.

    Args:
        words: Such as ``"max_temperature=300degC"`` and ``"atmospheres=air,argon"``.

    Returns:
        The limits.

    Raises:
        ConfigError: If one is unknown or has no value with a unit.
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(
                f"{word!r} is no limit; write name=value, such as max_temperature=300degC"
            )
        key = name.strip().replace("-", "_")
        found[key] = tuple(value.split(",")) if key == "atmospheres" else value
    return parse(DeviceLimits, found, ConfigError)


def safe_candidates(op: str) -> Iterator[Operation]:
    """Return small harmless requests of a kind, the smallest first."""
    for one in _SAFE.get(op, ()):
        yield parse_operation({"op": op, **one})


def absurd_requests(ops: Iterable[str]) -> list[Operation]:
    """Return requests that no device of these kinds can do."""
    return [parse_operation({"op": op, **one}) for op in sorted(ops) for one in _ABSURD.get(op, ())]


def beyond_limits(ops: Iterable[str], limits: DeviceLimits) -> list[Operation]:
    """Return requests that pass the limits given, each a little and each one only.

    Args:
        ops: Kinds of operations that the device does.
        limits: What it may be asked for here.

    Returns:
        The requests; none for limits that its operations do not touch.
    """
    found: list[dict[str, Any]] = []
    known = set(ops)
    if "heat" in known:
        found += _hot(limits)
    if "measure_resistance" in known and limits.max_current_a is not None:
        current = f"{1.1 * limits.max_current_a} A"
        found.append({"op": "measure_resistance", "current": current})
    for op in sorted(known & {"measure_resistance", "measure_magnetisation"}):
        found += [{"op": op, **one} for one in _cold(limits)]
    if "dose" in known and limits.max_dose_kg is not None:
        dose = {"substance": "BaCO3", "mass": f"{1.1 * limits.max_dose_kg} kg"}
        found.append({"op": "dose", "precursors": [dose]})
    return [parse_operation(one) for one in found]


def _hot(limits: DeviceLimits) -> Iterator[dict[str, Any]]:
    if limits.max_temperature_k is not None:
        target = f"{limits.max_temperature_k + 1.0} K"
        yield {"op": "heat", "segments": [{"target": target, "rate": "1 K/min"}]}
    if limits.max_ramp_k_per_s is not None:
        rate = f"{1.1 * limits.max_ramp_k_per_s} K/s"
        yield {"op": "heat", "segments": [{"target": "60 degC", "rate": rate}]}
    gases = {"air", "oxygen", "argon", "vacuum"} - set(limits.atmospheres or ())
    if limits.atmospheres is not None and gases:
        segment = {"target": "60 degC", "rate": "1 K/min"}
        yield {"op": "heat", "segments": [segment], "atmosphere": min(gases)}


def _cold(limits: DeviceLimits) -> Iterator[dict[str, Any]]:
    if limits.max_field_t is not None:
        yield {"field": f"{1.1 * limits.max_field_t} T"}
    if limits.max_temperature_k is not None:
        yield {"temperature_max": f"{limits.max_temperature_k + 1.0} K"}
    if limits.min_temperature_k is not None:
        yield {"temperature_min": f"{0.9 * limits.min_temperature_k} K"}


def asked_time_s(operation: Operation) -> float | None:
    """Return how long an operation must take at the least, lab s; None where nobody said.

    Of a firing the ramps are left out, since a furnace may be warm when it begins.
    """
    if isinstance(operation, Heat):
        return sum(segment.hold_s for segment in operation.segments)
    if isinstance(operation, Measure):
        return operation.scan_time_s
    if isinstance(operation, (Mix, Regrind)):
        return operation.duration_s
    return None


def described(operation: Operation) -> str:
    """Return an operation in one line, only what was not left at its default."""
    data = operation.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    data.pop("op", None)
    return f"{operation.op} {json.dumps(data, ensure_ascii=False)}" if data else operation.op


__all__ = [
    "absurd_requests",
    "asked_time_s",
    "beyond_limits",
    "described",
    "parse_limits",
    "parse_operation",
    "safe_candidates",
]
