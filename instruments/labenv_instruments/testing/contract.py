"""What every instrument must do, as tests to inherit.

    class TestMyFurnace(InstrumentContract):
        good = ({"op": "heat", "segments": [{"target": "900 degC"}]},)
        bad = ({"op": "heat", "segments": [{"target": "3000 degC"}]},)

        @pytest.fixture
        def new_instrument(self):
            return lambda **options: MyFurnace(**options)

The suite uses public methods only. An in-process twin is loaded with a `StillSample` and paced
with a clock of its own; a driver on a wire must bring a device or a simulator with a sample in it.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pytest
from pydantic import TypeAdapter

from labenv_instruments.instrument import Instrument, InstrumentRequest, InstrumentState
from labenv_instruments.still_sample import StillSample
from labenv_instruments.twin import InProcessTwin
from labenv_schemas.errors import InstrumentError, ProposalError
from labenv_schemas.measurement import Measurement
from labenv_schemas.proposal import Operation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping

    from labenv_schemas.measurement import MeasurementBase

_READER: TypeAdapter[Any] = TypeAdapter(Operation)
_WAIT_S = 30.0


class InstrumentContract:
    """The contract; override `new_instrument`, `good` and `bad`.

    Attributes:
        good: Operations, as plain data, that the instrument can do.
        bad: Operations that it must refuse before anything moves.
    """

    good: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    bad: ClassVar[tuple[Mapping[str, Any], ...]] = ()

    @pytest.fixture
    def new_instrument(self) -> Callable[..., Instrument]:
        """Return a function that makes the instrument; it takes a twin's options.

        Returns:
            The function.
        """
        raise NotImplementedError("override new_instrument")

    def test_it_names_itself_and_what_it_does(
        self, new_instrument: Callable[..., Instrument]
    ) -> None:
        """The driver has a kind, operations and good examples of each."""
        instrument = new_instrument()
        assert instrument.kind
        assert {request["op"] for request in self.good} == instrument.operations
        assert instrument.state is InstrumentState.DISCONNECTED

    def test_connecting_twice_tells_one_identity(
        self, new_instrument: Callable[..., Instrument]
    ) -> None:
        """Connecting again is safe, and the identity does not change."""

        async def course() -> None:
            instrument = new_instrument()
            first = await instrument.connect()
            assert first == await instrument.connect()
            assert instrument.identity == first
            assert first.driver == instrument.kind
            assert instrument.state is InstrumentState.IDLE
            assert instrument.safe
            await instrument.close()

        _finish(course())

    def test_a_good_request_gives_finite_measurements_with_units(
        self, new_instrument: Callable[..., Instrument]
    ) -> None:
        """Channels have units, numbers are finite, uncertainties not negative, JSON survives."""

        async def course() -> None:
            instrument = new_instrument()
            await instrument.connect()
            for request in self.good:
                for measurement in await _measure(instrument, request):
                    _check_measurement(measurement, instrument)
                assert instrument.state is InstrumentState.IDLE
                assert instrument.safe
            await instrument.close()

        _finish(course())

    def test_equal_samples_give_equal_measurements(
        self, new_instrument: Callable[..., Instrument]
    ) -> None:
        """A new instrument and an equal sample give the same numbers."""

        async def course() -> list[tuple[MeasurementBase, ...]]:
            instrument = new_instrument()
            await instrument.connect()
            found = [await _measure(instrument, request) for request in self.good]
            await instrument.close()
            return found

        assert _finish(course()) == _finish(course())

    def test_a_bad_request_is_refused_before_anything_moves(
        self, new_instrument: Callable[..., Instrument]
    ) -> None:
        """The sample is untouched, the device idle and safe, the message says something."""
        assert self.bad, "give at least one request that the instrument must refuse"

        async def course() -> None:
            instrument = new_instrument()
            await instrument.connect()
            for request in self.bad:
                sample = _load(instrument)
                with pytest.raises(ProposalError):  # as the interlocks ask, without a device
                    type(instrument).check(_request(request).operation)
                with pytest.raises(ProposalError) as caught:
                    await instrument.prepare(_request(request))
                assert len(str(caught.value)) > 20
                assert sample.done == []
                assert instrument.safe
                await instrument.abort()
            await _measure(instrument, self.good[0])
            await instrument.close()

        _finish(course())

    def test_an_operation_of_another_instrument_is_refused(
        self, new_instrument: Callable[..., Instrument]
    ) -> None:
        """Only its own operations are taken."""
        foreign = {"op": "dose", "precursors": [{"substance": "X", "mass": "1 g"}]}
        if "dose" in new_instrument().operations:
            foreign = {"op": "measure"}

        async def course() -> None:
            instrument = new_instrument()
            await instrument.connect()
            _load(instrument)
            with pytest.raises(ProposalError):
                await instrument.prepare(_request(foreign))
            await instrument.close()

        _finish(course())

    def test_steps_out_of_order_are_errors(self, new_instrument: Callable[..., Instrument]) -> None:
        """Running unprepared, asking for a result unrun, preparing unconnected: typed errors."""

        async def course() -> None:
            instrument = new_instrument()
            with pytest.raises(InstrumentError):
                await instrument.prepare(_request(self.good[0]))
            await instrument.connect()
            with pytest.raises(InstrumentError):
                await instrument.run()
            with pytest.raises(InstrumentError):
                await instrument.result()
            await instrument.close()

        _finish(course())

    def test_cancelling_leaves_it_safe_and_usable(
        self, new_instrument: Callable[..., Instrument]
    ) -> None:
        """A cancelled run ends in the safe state, leaves no task, and the next one works."""

        async def course() -> None:
            before = asyncio.all_tasks()
            instrument, begun = _paced(new_instrument)
            await instrument.connect()
            _load(instrument)
            await instrument.prepare(_request(self.good[0]))
            running = asyncio.ensure_future(instrument.run())
            await begun.wait()
            assert str(instrument.state) == "running"
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert instrument.safe
            await instrument.abort()
            assert instrument.state is InstrumentState.IDLE
            assert asyncio.all_tasks() == before
            await instrument.close()
            again = new_instrument()
            await again.connect()
            await _measure(again, self.good[0])
            await again.close()

        _finish(course())

    def test_closing_twice_is_safe_from_every_state(
        self, new_instrument: Callable[..., Instrument]
    ) -> None:
        """Before connecting, idle, prepared and done."""

        async def course() -> None:
            for steps in range(4):
                instrument = new_instrument()
                if steps > 0:
                    await instrument.connect()
                if steps > 1:
                    _load(instrument)
                    await instrument.prepare(_request(self.good[0]))
                if steps > 2:
                    await instrument.run()
                await instrument.close()
                await instrument.close()
                assert instrument.state is InstrumentState.DISCONNECTED
                assert instrument.safe

        _finish(course())

    def test_bad_numbers_do_not_pass(self, new_instrument: Callable[..., Instrument]) -> None:
        """A sensor that shows NaN is an instrument error; the device can be made safe."""

        async def course() -> None:
            instrument = new_instrument()
            if not isinstance(instrument, InProcessTwin) or not instrument.channel_units:
                return
            await instrument.connect()
            instrument.load(StillSample(broken=True))
            await instrument.prepare(_request(self.good[0]))
            with pytest.raises(InstrumentError):
                await instrument.run()
            await instrument.abort()
            assert instrument.safe
            instrument.load(StillSample(broken=True))
            await instrument.prepare(_request(self.good[0]))
            with pytest.raises(InstrumentError):
                await instrument.run()
            await instrument.close()  # straight from the fault
            await instrument.close()
            assert instrument.safe

        _finish(course())


def _finish(course: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - what the course returns
    async def watched() -> Any:  # noqa: ANN401
        result = await asyncio.wait_for(course, _WAIT_S)
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task was left behind"
        return result

    return asyncio.run(watched())


def _paced(new_instrument: Callable[..., Instrument]) -> tuple[Instrument, asyncio.Event]:
    begun = asyncio.Event()

    async def never(_: float) -> None:
        begun.set()
        await asyncio.Event().wait()

    pace: Callable[[float], Awaitable[None]] = never
    instrument = new_instrument(pace=pace)
    if not isinstance(instrument, InProcessTwin):
        begun.set()
    return instrument, begun


def _load(instrument: Instrument) -> StillSample:
    sample = StillSample()
    if isinstance(instrument, InProcessTwin):
        instrument.load(sample)
    return sample


def _request(operation: Mapping[str, Any]) -> InstrumentRequest:
    return InstrumentRequest(_READER.validate_python(dict(operation)), "sample-1", 60.0, 60.0)


async def _measure(
    instrument: Instrument, operation: Mapping[str, Any]
) -> tuple[MeasurementBase, ...]:
    _load(instrument)
    await instrument.prepare(_request(operation))
    assert instrument.state is InstrumentState.PREPARED
    await instrument.run()
    return await instrument.result()


def _check_measurement(measurement: MeasurementBase, instrument: Instrument) -> None:
    units = instrument.channel_units
    assert all(unit.strip() for unit in units.values()), f"a unit is empty: {dict(units)}"
    for name, value in measurement:
        if isinstance(value, np.ndarray):
            assert name in units, f"channel {name} has no unit in channel_units"
            assert np.isfinite(value).all(), f"{name} is not finite"
            assert not value.flags.writeable, f"{name} can be overwritten"
        elif isinstance(value, float):
            assert math.isfinite(value), f"{name} is not finite"
            assert name in units or name == "lab_time_s", f"{name} has no unit in channel_units"
            assert "uncertainty" not in name or value >= 0.0
    assert measurement.instrument == instrument.identity
    assert measurement.sample_id == "sample-1"
    again = TypeAdapter[Any](Measurement).validate_json(measurement.to_json())
    assert again == measurement


__all__ = ["InstrumentContract"]
