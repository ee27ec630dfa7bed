"""Our balance driver against a balance that others wrote: `mt-sics-emulator`.

It differs from the manual, and the driver gets on with it: it answers ``SI`` by its own name and
not by ``S``; its ``S`` does not wait and may say ``D``; it has no ``TA`` and no dosing unit; what
the manual calls the balance's data (``I2``) is its serial number there.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from labenv_instruments.drivers.mt_sics import MettlerBalance
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_schemas.characterisation import Weigh
from labenv_schemas.errors import InstrumentError
from labenv_schemas.proposal import Dose, PrecursorDose

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytest.importorskip("mtsics")
pytestmark = pytest.mark.integration

SPEED = 100.0  # lab seconds per second: the driver waits a second where the emulator waits ten ms


def course(
    work: Callable[[MettlerBalance, Any, Any], Awaitable[None]], profile: str = "mt-xs204"
) -> None:
    from mtsics.core.simulator import SimConfig, WeightSimulator
    from mtsics.core.state import ScaleState
    from mtsics.profiles import load
    from mtsics.protocol.engine import MTSICSEngine
    from mtsics.transport.tcp import TCPConfig, TCPTransport

    async def whole() -> None:
        state = ScaleState(config=load(profile))
        settling = SimConfig(settle_tau=0.01, stability_window=0.05)
        simulator = WeightSimulator(state, cfg=settling, seed=1)
        served = TCPConfig(host="127.0.0.1", port=0, sim_tick_rate=200.0)
        server = TCPTransport(MTSICSEngine(state), simulator, served)
        host, port = await server.start()

        async def pace(lab_s: float) -> None:
            await asyncio.sleep(lab_s / SPEED)

        driver = MettlerBalance(f"mt_sics+tcp://{host}:{port}", pace=pace, timeout_s=1.0)
        try:
            async with asyncio.timeout(20.0):
                await work(driver, simulator, state)
        finally:
            await driver.close()
            await server.close()
            for _ in range(20):  # its sessions end by themselves when they see us gone
                await asyncio.sleep(0.01)

    asyncio.run(whole())


async def weighed_g(driver: MettlerBalance, repeats: int = 1) -> float:
    await driver.prepare(InstrumentRequest(Weigh(repeats=repeats), "sample-1"))
    await driver.run()
    (reading,) = await driver.result()
    return reading.mass_kg * 1e3  # type: ignore[attr-defined]


def test_it_is_found_and_found_again() -> None:
    async def work(driver: MettlerBalance, _: Any, state: Any) -> None:
        identity = await driver.connect()
        assert identity.serial == state.config.serial_number
        assert not identity.simulated  # it does not say so
        assert await driver.connect() == identity

    course(work)


@pytest.mark.parametrize(
    ("profile", "load", "gram"), [("mt-xs204", 12.3456, 12.3456), ("ohaus-ranger7000", 2.5, 2500.0)]
)
def test_a_load_is_weighed_once_it_is_still(profile: str, load: float, gram: float) -> None:
    async def work(driver: MettlerBalance, simulator: Any, state: Any) -> None:
        await driver.connect()
        simulator.set_target(load)
        await asyncio.sleep(0.02)  # until it has noticed
        step = state.config.graduation * gram / load
        assert await weighed_g(driver, repeats=3) == pytest.approx(gram, abs=1.01 * step)
        assert "g, stable" in (await driver.readings())["net weight"]
        assert driver.state is InstrumentState.IDLE

    course(work, profile)


def test_a_load_in_motion_is_not_believed() -> None:
    async def work(driver: MettlerBalance, simulator: Any, state: Any) -> None:
        await driver.connect()
        state.set_weight(100.0, stable=False)
        simulator.tick = lambda _: None
        with pytest.raises(InstrumentError, match="show a stable weight"):
            await weighed_g(driver)
        assert driver.safe

    course(work)


def test_tare_zero_over_and_underload() -> None:
    async def work(driver: MettlerBalance, simulator: Any, state: Any) -> None:
        await driver.connect()
        client = driver._client
        simulator.snap_to(50.0)
        await asyncio.sleep(0.1)
        tare = await client.weight("TI")
        assert tare is not None
        assert tare.kg == pytest.approx(0.05, abs=2e-7)
        net = await client.weight("SI")
        assert net is not None
        assert net.kg == pytest.approx(0.0, abs=4e-7)
        assert not await client.do("Z")  # 50 g are beyond what can be zeroed
        simulator.snap_to(300.0)
        await asyncio.sleep(0.05)
        with pytest.raises(InstrumentError, match="overloaded"):
            await weighed_g(driver)
        simulator.snap_to(-5.0)
        await asyncio.sleep(0.05)
        with pytest.raises(InstrumentError, match="underloaded"):
            await client.weight("S")

    course(work)


def test_it_cannot_dose_and_that_is_said_before_anything_falls() -> None:
    async def work(driver: MettlerBalance, _: Any, __: Any) -> None:
        await driver.connect()
        dose = Dose(precursors=(PrecursorDose(substance="BaCO3", mass="250 mg"),))
        await driver.prepare(InstrumentRequest(dose, "sample-1"))
        with pytest.raises(InstrumentError, match=r"does not know the command 'QRD 2 3 7' \(ES\)"):
            await driver.run()
        await driver.abort()
        assert driver.state is InstrumentState.IDLE

    course(work)


def test_a_balance_that_goes_away_is_told_and_found_again() -> None:
    async def work(driver: MettlerBalance, simulator: Any, _: Any) -> None:
        await driver.connect()
        simulator.set_target(1.0)
        await asyncio.sleep(0.02)
        driver._connection.drop()
        assert await weighed_g(driver) == pytest.approx(1.0, abs=2e-4)

    course(work)
