"""What every driver on a wire has of its base."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
from pathlib import Path

import pytest

from labenv_instruments.clock import VirtualClock
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_schemas.proposal import Heat

EXAMPLE = Path(__file__).parents[4] / "examples" / "instruments" / "thermometer_driver.py"
_SPEC = importlib.util.spec_from_file_location("thermometer_driver_for_base", EXAMPLE)
assert _SPEC is not None
assert _SPEC.loader is not None
plate = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = plate
_SPEC.loader.exec_module(plate)


def test_a_cancellation_that_a_library_swallowed_is_honoured_at_the_next_wait() -> None:
    class Swallows(plate.HotPlate):
        async def wait(self, lab_s: float) -> None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)  # as `asyncio.wait_for` may, when a reply comes just then
            await super().wait(lab_s)

    async def course() -> None:
        twin = plate.HotPlateTwin(clock=VirtualClock())
        address = await twin.start()

        async def pace(lab_s: float) -> None:
            await asyncio.sleep(0)

        driver = Swallows(address, pace=pace)
        await driver.connect()
        heat = Heat.model_validate({"segments": [{"target": "200 degC", "hold": "10 h"}]})
        await driver.prepare(InstrumentRequest(heat, "sample-1", 60.0))
        running = asyncio.ensure_future(driver.run())
        await asyncio.sleep(0.05)
        assert driver.state is InstrumentState.RUNNING
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(2.0):
                await running
        assert twin.safe
        await driver.close()
        await twin.close()

    asyncio.run(course())
