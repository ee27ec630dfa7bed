"""Independent peers: pymodbus' server before our driver, and its client before our twin."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING, Any

import pytest

from labenv_instruments.clock import VirtualClock
from labenv_instruments.drivers.eurotherm import EurothermFurnace
from labenv_instruments.instrument import InstrumentRequest
from labenv_instruments.twins.eurotherm import EurothermTwin
from labenv_schemas.errors import InstrumentError
from labenv_schemas.proposal import Heat

pytest.importorskip("pymodbus")

from pymodbus import FramerType
from pymodbus.client import AsyncModbusTcpClient
from pymodbus.constants import ExcCodes
from pymodbus.exceptions import ModbusIOException
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

pytestmark = pytest.mark.integration

IEEE = 32768
FRAMERS = {"tcp": FramerType.SOCKET, "rtu": FramerType.RTU}


def floats(address: int, *values: float) -> SimData:
    return SimData(IEEE + 2 * address, values=list(values), datatype=DataType.FLOAT32)


def words(address: int, *values: int) -> SimData:
    return SimData(address, values=list(values), datatype=DataType.REGISTERS)


class Image:
    """A register image of a 2416 behind a stock server; it heats a little once it is started."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.began_s: float | None = None
        self.lasts_s = 45.0
        self.seen: list[tuple[int, list[int]]] = []
        self.busy = 0

    def device(self) -> SimDevice:
        table = [0] * 136
        return SimDevice(1, [
            words(22, 1, 1, 0, 0),
            words(75, 0),
            words(107, 0x0405),
            words(122, 0x2461),
            words(211, 16),
            words(273, 0),
            words(516, 0),
            words(629, 42),
            words(8328, *table),
            floats(1, 25.0, 20.0, 0.0, 0.0, 20.0),
            floats(24, 20.0),
            floats(111, 1200.0),
            floats(8328, *[0.0] * 136),
        ], action=self.act)  # fmt: skip

    async def act(
        self,
        function: int,
        start: int,
        address: int,
        count: int,
        current: list[int],
        new: list[int] | list[bool] | None,
    ) -> ExcCodes | None:
        if self.busy:
            self.busy -= 1
            return ExcCodes.DEVICE_BUSY
        if new is not None:
            self.seen.append((address, [int(n) for n in new]))
            if address == 23:
                self.began_s = self.now_s if new[0] == 2 else None
        running_s = 0.0 if self.began_s is None else self.now_s - self.began_s
        if address == IEEE + 2 and new is None:
            pv_c = min(30.2, 25.0 + running_s / 3.0) + 0.01 * (self.now_s % 3.0)
            at = address - start
            current[at : at + 2] = pair(pv_c)
            current[at + 6 : at + 8] = pair(5.0 if self.began_s is not None else 0.0)
        if address == 23 and new is None and running_s > self.lasts_s:
            self.began_s, current[address - start] = None, 1
        return None


def pair(value: float) -> list[int]:
    return list(struct.unpack(">HH", struct.pack(">f", value)))


def against_stock_server(
    work: Callable[[EurothermFurnace, Image], Awaitable[Any]], framer: str
) -> Any:
    async def whole() -> Any:
        image = Image()
        server = ModbusTcpServer(image.device(), framer=FRAMERS[framer], address=("127.0.0.1", 0))
        await server.listen()
        port = server.transport.sockets[0].getsockname()[1]
        address = f"eurotherm+tcp://127.0.0.1:{port}?model=2416&framer={framer}"

        async def pace(lab_s: float) -> None:
            image.now_s += lab_s

        driver = EurothermFurnace(address, pace=pace, timeout_s=0.3)
        try:
            async with asyncio.timeout(20.0):
                return await work(driver, image)
        finally:
            await driver.close()
            await server.shutdown()

    return asyncio.run(whole())


HEAT = Heat.model_validate({
    "segments": [{"target": "30 degC", "rate": "20 K/min", "hold": "30 s"}],
    "cooling": "quench",
})


@pytest.mark.parametrize("framer", sorted(FRAMERS))
def test_our_driver_identifies_and_programs_a_stock_server(framer: str) -> None:
    async def work(driver: EurothermFurnace, image: Image) -> None:
        identity = await driver.connect()
        assert identity.model.startswith("Eurotherm 2416 (2461h")
        assert identity.serial == "id 42"
        assert not identity.simulated
        await driver.prepare(InstrumentRequest(HEAT, "s"))
        written = dict(image.seen)
        assert written[8336] == [1]  # ramp at a rate
        assert written[IEEE + 2 * 8337] == pair(30.0)
        assert written[IEEE + 2 * 8338] == pair(20.0)
        assert written[8344] == [3]  # dwell
        assert written[IEEE + 2 * 8346] == [0, 30_000]  # ms
        assert 8352 not in written  # End is 0 and was there
        assert written[8355] == [1]  # resets itself
        assert 23 not in written  # nothing moves yet
        image.seen.clear()
        await driver.prepare(InstrumentRequest(HEAT, "s"))
        assert not image.seen  # it holds all of it already

    against_stock_server(work, framer)


@pytest.mark.parametrize("framer", sorted(FRAMERS))
def test_our_driver_runs_stops_and_reads_back_on_a_stock_server(framer: str) -> None:
    async def work(driver: EurothermFurnace, image: Image) -> None:
        await driver.connect()
        await driver.prepare(InstrumentRequest(HEAT, "s"))
        image.seen.clear()
        await driver.run()
        (reading,) = await driver.result()
        assert reading.temperature_k == pytest.approx(303.35, abs=0.1)
        assert image.seen == [(23, [2]), (273, [1])]  # run; by hand, at the end
        assert driver.safe

    against_stock_server(work, framer)


def test_our_driver_gives_up_on_a_stock_server_that_never_ends_and_stops_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("labenv_instruments.drivers._eurotherm_watch._OVERRUN_S", 60.0)

    async def work(driver: EurothermFurnace, image: Image) -> None:
        image.lasts_s = 1e9
        await driver.connect()
        await driver.prepare(InstrumentRequest(HEAT, "s"))
        image.seen.clear()
        with pytest.raises(InstrumentError, match="has not ended after"):
            await driver.run()
        assert image.seen == [(23, [2]), (23, [1]), (273, [1])]

    against_stock_server(work, "tcp")


def test_a_busy_stock_server_is_asked_again_and_the_refusal_of_one_is_named() -> None:
    async def work(driver: EurothermFurnace, image: Image) -> None:
        await driver.connect()
        image.busy = 2
        assert await driver._link.word(75) == 0
        image.busy = 99
        with pytest.raises(InstrumentError, match="is busy") as caught:
            await driver._link.word(75)
        assert caught.value.retryable
        image.busy = 0
        with pytest.raises(InstrumentError, match=r"no such register.*9999, error 2"):
            await driver._link.word(9999)

    against_stock_server(work, "tcp")


@pytest.mark.parametrize("model", ["2416", "3216", "EPC3016"])
@pytest.mark.parametrize("framer", sorted(FRAMERS))
def test_a_stock_client_reads_and_writes_our_twin(framer: str, model: str) -> None:
    async def whole() -> None:
        options = {"framer": framer, "model": model, "unit": "5"}
        twin = EurothermTwin(clock=VirtualClock(), options=options)
        await twin.start()
        port = twin._server.sockets[0].getsockname()[1]
        client = AsyncModbusTcpClient(
            "127.0.0.1", port=port, framer=FRAMERS[framer], timeout=0.15, retries=0
        )
        try:
            assert await client.connect()
            reply = await client.read_holding_registers(IEEE + 2, count=2, device_id=5)
            shown = client.convert_from_registers(reply.registers, client.DATATYPE.FLOAT32)
            assert shown == pytest.approx(25.0, abs=0.5)
            reply = await client.read_input_registers(1, count=1, device_id=5)
            assert reply.registers[0] == pytest.approx(250, abs=5)  # tenths
            pair = client.convert_to_registers(123.5, client.DATATYPE.FLOAT32)
            assert not (await client.write_registers(IEEE + 48, pair, device_id=5)).isError()
            assert twin.furnace.base_setpoint_c == 123.5
            assert not (await client.write_register(273, 1, device_id=5)).isError()
            assert twin.furnace.manual
            assert (await client.read_exception_status(device_id=5)).status == 1 << 4
            assert (await client.read_holding_registers(9999, device_id=5)).exception_code == 2
            assert (await client.write_register(23, 77, device_id=5)).exception_code == 3
            echoed = await client.diag_query_data(b"\xca\xfe", device_id=5)
            assert not echoed.isError()
            with pytest.raises(ModbusIOException):  # another unit: silence
                await client.read_holding_registers(1, device_id=6)
            assert (await client.read_holding_registers(75, device_id=5)).registers == [1 << 4]
        finally:
            client.close()
            await asyncio.sleep(0)
            await twin.close()

    asyncio.run(whole())
