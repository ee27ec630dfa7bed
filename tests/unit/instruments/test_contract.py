"""The conformance suite catches a driver that breaks any one of its demands."""

from __future__ import annotations

import asyncio
import itertools
from typing import ClassVar

import pytest

from labenv_instruments.drivers.tube_furnace import TubeFurnace
from labenv_instruments.testing import InstrumentContract
from labenv_instruments.trusted import trusted
from labenv_schemas.errors import InstrumentError
from labenv_schemas.measurement import TemperatureReading

COUNT = itertools.count()


class Suite(InstrumentContract):
    good = ({"op": "heat", "segments": [{"target": "900 degC", "hold": "1 h"}]},)
    bad = ({"op": "heat", "segments": [{"target": "3000 degC"}]},)


class Another(TubeFurnace):
    """Two equal samples do not give one reading."""

    def perform(self, sample, operation):
        (reading,) = super().perform(sample, operation)
        return (reading.model_copy(update={"temperature_k": 1000.0 + next(COUNT)}),)


class Unitless(TubeFurnace):
    units: ClassVar = {"temperature_k": "K"}


class BlankUnit(TubeFurnace):
    units: ClassVar = {"temperature_k": "K", "standard_uncertainty_k": " "}


class Lenient(TubeFurnace):
    @classmethod
    def check(cls, operation):
        del operation


class ChecksLate(TubeFurnace):
    """Refuses, but only once a device is there: the interlocks see nothing."""

    @classmethod
    def check(cls, operation):
        del operation

    async def prepare(self, request):
        TubeFurnace.check(request.operation)
        await super().prepare(request)


class MovesFirst(TubeFurnace):
    async def prepare(self, request):
        self._sample.fire(request.operation)
        await super().prepare(request)


class ClosesOnce(TubeFurnace):
    closed = False

    async def close(self):
        if self.closed:
            raise InstrumentError("the port is closed")
        self.closed = True
        await super().close()


class Negative(TubeFurnace):
    def perform(self, sample, operation):
        (reading,) = super().perform(sample, operation)
        return (reading.model_copy(update={"standard_uncertainty_k": -1.0}),)


class Unwritable(TubeFurnace):
    """Its record says less in JSON than in memory."""

    def perform(self, sample, operation):
        (reading,) = super().perform(sample, operation)

        class Reading(TemperatureReading):
            pass

        return (trusted(Reading, **reading.__dict__),)


class LeavesTasks(TubeFurnace):
    async def run(self):
        self.task = asyncio.ensure_future(asyncio.sleep(30.0))
        await super().run()


class StaysHot(TubeFurnace):
    """A cancelled run leaves it running."""

    def _rest(self):
        state = self._state
        super()._rest()
        if str(state) == "running":
            self._state = state


BROKEN = [
    (Another, "test_equal_samples_give_equal_measurements"),
    (Unitless, "test_a_good_request_gives_finite_measurements_with_units"),
    (BlankUnit, "test_a_good_request_gives_finite_measurements_with_units"),
    (Negative, "test_a_good_request_gives_finite_measurements_with_units"),
    (Unwritable, "test_a_good_request_gives_finite_measurements_with_units"),
    (Lenient, "test_a_bad_request_is_refused_before_anything_moves"),
    (ChecksLate, "test_a_bad_request_is_refused_before_anything_moves"),
    (MovesFirst, "test_a_bad_request_is_refused_before_anything_moves"),
    (ClosesOnce, "test_closing_twice_is_safe_from_every_state"),
    (LeavesTasks, "test_cancelling_leaves_it_safe_and_usable"),
    (StaysHot, "test_cancelling_leaves_it_safe_and_usable"),
]


@pytest.mark.parametrize(("driver", "demand"), BROKEN)
def test_a_broken_driver_fails(driver, demand):
    with pytest.raises((AssertionError, InstrumentError, pytest.fail.Exception)):
        getattr(Suite(), demand)(driver)


@pytest.mark.parametrize("demand", sorted({demand for _, demand in BROKEN}))
def test_the_furnace_itself_passes(demand):
    getattr(Suite(), demand)(TubeFurnace)
