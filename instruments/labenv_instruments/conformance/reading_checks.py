"""Checks that only ask: who the device is, what it shows, what its driver refuses."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.conformance.bench import request_of
from labenv_instruments.conformance.check import CheckFailed, CheckSkipped, check, require
from labenv_instruments.conformance.requests import (
    absurd_requests,
    asked_time_s,
    beyond_limits,
    described,
    parse_operation,
)
from labenv_instruments.conformance.shown import (
    disagreements,
    implausible,
    known_unit,
    read_shown,
    same_dimension,
)
from labenv_instruments.instrument import InstrumentState
from labenv_instruments.limits import DeviceLimits
from labenv_schemas.errors import InstrumentError, LabEnvError, ProposalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labenv_instruments.conformance.bench import Bench, Run
    from labenv_instruments.wire.driver import WireDriver
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

_FOREIGN: tuple[dict[str, object], ...] = (  # no device does all of these
    {"op": "mix", "duration": "1 min"},
    {"op": "measure"},
    {"op": "weigh"},
)
_NO_NAME = {"", "?", "unknown", "none", "null", "n/a"}
_LARGEST_SKEW_S = 5.0
_MANY_SIGMA = 5.0
_SERIES = 5
# Endings of channel names, and the unit that they promise.
_PROMISED = {"_k": "K", "_kg": "kg", "_t": "T", "_ohm": "ohm", "_s": "s", "_m": "m", "_m2": "m^2",
             "_m3": "m^3", "_deg": "degree"}  # fmt: skip
_EXEMPT = {"moment_a_m2": "A*m^2", "density_kg_m3": "kg/m^3",
           "standard_uncertainty_kg_m3": "kg/m^3"}  # fmt: skip


@check()
async def identity(bench: Bench) -> str:
    """The device says what it is, and says the same after reconnecting."""
    async with bench.connected() as instrument:
        first = await instrument.connect()
    bench.identity = first
    for what, said in (("model", first.model), ("serial number", first.serial)):
        require(
            said.strip().lower() not in _NO_NAME,
            f"the {what} is {said!r}; a device must be told from another",
        )
    require(
        first.driver == bench.driver_class.kind,
        f"the identity names driver {first.driver!r}, not {bench.driver_class.kind!r}",
    )
    async with bench.connected() as instrument:
        second = await instrument.connect()
    require(
        (first.model, first.serial) == (second.model, second.serial),
        f"it was {first.model} {first.serial} and after reconnecting {second.model} "
        f"{second.serial}",
    )
    told = ", simulated" if first.simulated else ""
    return f"{first.model}, serial {first.serial}{told}; the same after reconnecting"


@check()
async def life_cycle(bench: Bench) -> str:
    """Steps out of order are typed errors, and closing twice is safe."""
    instrument = bench.instrument()
    requests = bench.safe_requests()
    if requests:
        await _refused(instrument.prepare(requests[0]), InstrumentError, "prepare before connect")
    await _refused(instrument.run(), InstrumentError, "run before connect")
    async with bench.connected(instrument):
        _in_state(instrument, InstrumentState.IDLE, "connect")
        await _refused(instrument.run(), InstrumentError, "run with nothing prepared")
        await _refused(instrument.result(), InstrumentError, "result with nothing run")
        foreign = next(one for one in _FOREIGN if one["op"] not in bench.driver_class.operations)
        asked = instrument.prepare(request_of(parse_operation(foreign)))
        await _refused(asked, ProposalError, f"a request to {foreign['op']}")
        await instrument.close()
        _in_state(instrument, InstrumentState.DISCONNECTED, "close")
        await instrument.close()
        await instrument.connect()
        _in_state(instrument, InstrumentState.IDLE, "connecting again")
    return "every step out of order is a typed error; closing twice and connecting again work"


@check()
async def units(bench: Bench) -> str:
    """Every channel has a unit that pint knows, and measurements carry those channels."""
    async with bench.connected() as instrument:
        channels, readings = dict(instrument.channel_units), await instrument.readings()
    for name, unit in channels.items():
        require(known_unit(unit), f"channel {name} has the unit {unit!r}, which is no unit")
        promised = _promised(name)
        require(
            promised is None or same_dimension(unit, promised),
            f"channel {name} has the unit {unit!r}, but its name promises {promised}",
        )
    for name, text in readings.items():
        seen = read_shown(text)
        if seen is not None and not (seen.unit == "" and seen.value.is_integer()):
            require(known_unit(seen.unit), f"reading {name!r} is {text!r}; its unit is missing")
    runs = await bench.measured_runs()
    for measurement in _measurements(runs):
        for name, _ in _numbers(measurement):
            require(
                name in channels, f"channel {name} of a {_kind(measurement)} is in no channel_units"
            )
    looked = f", and all channels of {len(runs)} runs" if runs else ""
    return f"{len(channels)} channels and {len(readings)} readings with units{looked}"


@check()
async def limits(bench: Bench) -> str:
    """Requests beyond the device's limits and those given are refused before anything is sent."""
    ops = bench.driver_class.operations
    own, given = absurd_requests(ops), beyond_limits(ops, bench.limits)
    if not own and not given:
        raise CheckSkipped(
            f"no limit is known of what {bench.driver_class.kind} does; give --limit"
        )
    for operations, within in ((own, DeviceLimits()), (given, bench.limits)):
        try:
            await _all_refused(bench, operations, within)
        except CheckSkipped:  # no proxy: the driver is asked, and nothing can be sent
            for operation in operations:
                _refuses(bench.instrument(limits=within), operation)
    return f"{len(own)} requests beyond the device and {len(given)} beyond the limits given refused"


@check()
async def ranges(bench: Bench) -> str:
    """What the device shows and measures is finite and physically plausible."""
    async with bench.connected() as instrument:
        readings, channels = await instrument.readings(), dict(instrument.channel_units)
    looked = 0
    for name, text in readings.items():
        seen = read_shown(text)
        if seen is not None:
            wrong = implausible(seen.value, seen.unit)
            require(not wrong, f"reading {name!r}: {wrong}")
            looked += 1
    for measurement in _measurements(await bench.measured_runs()):
        for name, values in _numbers(measurement):
            for value in {float(values.min()), float(values.max())}:
                wrong = implausible(value, channels.get(name, ""))
                require(not wrong, f"channel {name} of a {_kind(measurement)}: {wrong}")
            require("uncertainty" not in name or bool((values >= 0.0).all()), f"{name} is negative")
            looked += 1
    if not looked:
        raise CheckSkipped("the device shows no number without being moved; --actuate measures")
    return f"{looked} readings and channels within what is plausible"


@check()
async def repeatability(bench: Bench) -> str:
    """Two readings of a device at rest agree, and two measurements agree within uncertainty."""
    async with bench.connected() as instrument:
        before = await instrument.readings()
        for _ in range(4):
            after = await instrument.readings()
            wrong = disagreements(before, after, times=1.0)
            require(not wrong, f"at rest, {wrong}")
    runs = await bench.measured_runs()
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    for one, other in pairs:
        require(
            len(one.measured) == len(other.measured),
            f"{one.operation.op} gave {len(one.measured)} and then {len(other.measured)} "
            "measurements",
        )
        for first, second in zip(one.measured, other.measured, strict=True):
            wrong = _measured_apart(first, second)
            require(not wrong, f"two runs of {described(one.operation)}: {wrong}")
    if not pairs and not any(read_shown(text) for text in before.values()):
        raise CheckSkipped("the device shows no number without being moved; --actuate measures")
    return f"5 rounds of readings and {len(pairs)} pairs of measurements agree"


@check()
async def clock(bench: Bench) -> str:
    """The device's clock agrees with this computer's, and operations take the time asked for."""
    async with bench.connected() as instrument:
        readings = await instrument.readings()
    found: list[str] = []
    for name, text in readings.items():
        with suppress(ValueError):
            shown = datetime.fromisoformat(text)
            _near_now(f"reading {name!r}", shown, datetime.now(UTC), datetime.now(UTC))
            found.append(f"{name} agrees")
    for run in await bench.measured_runs():
        for measurement in run.measured:
            if measurement.measured_at is not None:
                what = f"a {_kind(measurement)}"
                _near_now(what, measurement.measured_at, run.began_at, run.ended_at)
        asked_s = asked_time_s(run.operation)
        if asked_s:
            require(
                run.lab_s >= 0.95 * asked_s,
                f"{described(run.operation)} was over after {run.lab_s:.3g} s; {asked_s:g} s were "
                "asked for",
            )
            found.append(f"{run.operation.op} took {run.lab_s:.0f} s")
    if not found:
        more = "" if bench.actuate else "; --actuate looks at both"
        raise CheckSkipped(f"the device shows no time and takes none{more}")
    return "; ".join(dict.fromkeys(found))


def _promised(name: str) -> str | None:
    if name in _EXEMPT:
        return _EXEMPT[name]
    return next((unit for end, unit in _PROMISED.items() if name.endswith(end)), None)


async def _refused(step: object, kind: type[LabEnvError], what: str) -> None:
    try:
        await step  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    except kind:
        return
    except Exception as error:
        raise CheckFailed(
            f"{what} raised {type(error).__name__} ({error}), not {kind.__name__}"
        ) from error
    raise CheckFailed(f"{what} was accepted; it must raise {kind.__name__}")


def _in_state(instrument: WireDriver, state: InstrumentState, after: str) -> None:
    require(instrument.state is state, f"after {after} it is {instrument.state}, not {state}")


async def _all_refused(bench: Bench, operations: list[Operation], within: DeviceLimits) -> None:
    """See that requests are refused; the proxy keeps whatever is sent from the device."""
    async with bench.proxied() as (proxy, port):
        instrument = bench.instrument(port, limits=within)
        async with bench.connected(instrument):
            for operation in operations:
                _refuses(instrument, operation)
                sent, proxy.deaf = proxy.requests, True
                await _refused(
                    instrument.prepare(request_of(operation)), ProposalError, described(operation)
                )
                require(
                    proxy.requests == sent,
                    f"{described(operation)} was refused only after something had been sent",
                )
                require(
                    instrument.state is InstrumentState.IDLE,
                    f"after refusing {described(operation)} it is {instrument.state}, not idle",
                )
                proxy.deaf = False


def _refuses(instrument: WireDriver, operation: Operation) -> None:
    try:
        instrument.check_request(operation)
    except ProposalError as refusal:
        require(len(str(refusal)) > 20, f"{described(operation)} is refused with {str(refusal)!r}")
    else:
        raise CheckFailed(f"{described(operation)} was accepted; it must raise ProposalError")


def _measurements(runs: list[Run]) -> Iterator[MeasurementBase]:
    return (measurement for run in runs for measurement in run.measured)


def _kind(measurement: MeasurementBase) -> str:
    return str(getattr(measurement, "kind", type(measurement).__name__))


def _numbers(measurement: MeasurementBase) -> Iterator[tuple[str, np.ndarray]]:
    """Return the channels of a measurement; a missing value is none."""
    for name, value in measurement:
        if isinstance(value, np.ndarray) and value.size:
            yield name, value
        elif isinstance(value, float) and name != "lab_time_s":
            yield name, np.array([value])


def _measured_apart(first: MeasurementBase, second: MeasurementBase) -> str:
    """Return by how much two measurements differ beyond their uncertainty; empty if they do not."""
    one, other = dict(_numbers(first)), dict(_numbers(second))
    stated = [value for name, value in one.items() if "uncertainty" in name]
    for name, value in one.items():
        if "uncertainty" in name:
            continue
        again = other.get(name)
        if again is None or again.shape != value.shape:
            return f"{name} has not the same number of values"
        apart = float(np.median(np.abs(value - again)))
        allowed = _allowed(name, value, again, stated)
        if apart > allowed:
            return f"{name} differs by {apart:.3g}, more than the {allowed:.3g} of its uncertainty"
    return ""


def _allowed(name: str, one: np.ndarray, other: np.ndarray, stated: list[np.ndarray]) -> float:
    if name == "counts":  # as events that are counted scatter
        return _MANY_SIGMA * math.sqrt(max(float(np.mean(one + other)), 1.0))
    if stated:
        return _MANY_SIGMA * math.sqrt(2.0) * float(stated[0].max()) + 1e-12
    relative = 0.05 * float(np.median(np.abs(one) + np.abs(other))) / 2.0
    return max(relative, _MANY_SIGMA * (_scatter(one) + _scatter(other))) + 1e-12


def _scatter(values: np.ndarray) -> float:
    """Return the noise on a series that is smooth without it; 0 where it is too short to tell."""
    if values.ndim != 1 or values.size < _SERIES:
        return 0.0
    return float(np.std(np.diff(values, 2))) / math.sqrt(6.0)  # of white noise, per value


def _near_now(what: str, shown: datetime, began: datetime, ended: datetime) -> None:
    if shown.tzinfo is None:
        raise CheckFailed(f"the time of {what}, {shown.isoformat()}, has no zone")
    early, late = (began - shown).total_seconds(), (shown - ended).total_seconds()
    skew_s = max(early, late)
    require(
        skew_s <= _LARGEST_SKEW_S,
        f"the time of {what} is {skew_s:.0f} s {'behind' if early > late else 'ahead of'} this "
        f"computer's clock; {_LARGEST_SKEW_S:g} s are allowed",
    )


__all__ = ["clock", "identity", "life_cycle", "limits", "ranges", "repeatability", "units"]
