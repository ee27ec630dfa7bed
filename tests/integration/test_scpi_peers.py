"""Programs that others wrote talk to our twins: lakeshore, PyMeasure and plain PyVISA.

They block, so the twins live in a thread with a loop of its own. Each client has a time-out and is
closed before its twin, as some of them wait for ever once a peer has closed.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from labenv_instruments.clock import WallClock
from labenv_instruments.testing import StillSample
from labenv_instruments.twins import load_twin
from labenv_instruments.wire.address import parse_address

if TYPE_CHECKING:
    from collections.abc import Generator

    from labenv_instruments.wire_twin import WireTwin

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]

SPEED = 200.0  # lab seconds a second


@contextmanager
def serving(name: str, **options: Any) -> Generator[tuple[Any, str, int]]:
    """Run a twin in a thread, with a bar in it where it takes one."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> tuple[WireTwin, str]:
        twin = load_twin(name)(clock=WallClock(SPEED), **options)
        return twin, await twin.start()

    twin, address = asyncio.run_coroutine_threadsafe(start(), loop).result(10.0)
    found = parse_address(address)
    try:
        yield twin, found.host, found.port or 0
    finally:
        asyncio.run_coroutine_threadsafe(twin.close(), loop).result(10.0)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10.0)
        loop.close()


def resource(host: str, port: int) -> str:
    return f"TCPIP::{host}::{port}::SOCKET"


def test_lakeshores_own_library_controls_the_temperature() -> None:
    lakeshore = pytest.importorskip("lakeshore")
    with serving("lakeshore_336") as (twin, host, port):
        client = lakeshore.Model336(ip_address=host, tcp_port=port, timeout=5.0)
        try:
            assert client.model_number == "MODEL336"
            assert client.serial_number == "twin-lakeshore_336"
            assert client.get_kelvin_reading("A") == pytest.approx(
                twin.stage.temperature_k, abs=2.0
            )
            assert client.get_celsius_reading("A") == pytest.approx(
                client.get_kelvin_reading("A") - 273.15, abs=2.0
            )
            assert len(client.get_all_kelvin_reading()) == 4
            client.set_setpoint_ramp_parameter(1, True, 20.0)
            assert client.get_setpoint_ramp_parameter(1) == {
                "ramp_enable": True,
                "rate_value": 20.0,
            }
            client.set_heater_range(1, client.HeaterRange.HIGH)
            assert client.get_heater_range(1) is client.HeaterRange.HIGH
            assert not twin.safe
            client.set_control_setpoint(1, 250.0)
            assert client.get_setpoint_ramp_status(1)
            for _ in range(200):
                away_k = abs(client.get_kelvin_reading("A") - 250.0)
                if away_k < 0.2 and not client.get_setpoint_ramp_status(1):
                    break
                threading.Event().wait(0.02)
            assert client.get_kelvin_reading("A") == pytest.approx(250.0, abs=1.0)
            assert client.get_control_setpoint(1) == pytest.approx(250.0)
            assert client.get_heater_pid(1)["gain"] == 50.0
            status = client.get_input_reading_status("C")
            assert status.sensor_units_overrange
            assert client.get_heater_output(1) > 0.0
            client.all_heaters_off()
            assert twin.safe
            with pytest.raises(lakeshore.generic_instrument.InstrumentException, match="Execution"):
                client.set_control_setpoint(1, 5000.0)
            with pytest.raises(lakeshore.generic_instrument.InstrumentException, match="Command"):
                client.command("NONSENSE")
        finally:
            client.disconnect_tcp()


@contextmanager
def measuring(kind: str, host: str, port: int) -> Generator[Any]:
    """Open one of PyMeasure's instruments through PyVISA."""
    pytest.importorskip("pyvisa_py")
    keithley = pytest.importorskip("pymeasure.instruments.keithley")
    made = getattr(keithley, kind)(
        resource(host, port), visa_library="@py", timeout=5000,
        read_termination="\n", write_termination="\n",
    )  # fmt: skip
    try:
        yield made
    finally:
        made.adapter.connection.close()


def test_pymeasures_2400_measures_a_resistance() -> None:
    with (
        serving("keithley_2400") as (twin, host, port),
        measuring("Keithley2400", host, port) as smu,
    ):
        twin.load(StillSample(), {})
        twin.thermometer = lambda: 100.0
        smu.reset()
        smu.reset_data_format()
        assert smu.id.startswith("KEITHLEY INSTRUMENTS INC.,MODEL 2400")
        smu.source_mode = "current"
        smu.compliance_voltage = 5.0
        smu.source_current = 1e-2
        smu.voltage_nplc = 1
        smu.write(":SYST:RSEN ON")
        assert smu.source_mode == "current"
        assert smu.compliance_voltage == 5.0
        assert not smu.source_enabled
        smu.enable_source()
        assert smu.complete  # a question; what came before it has been done
        assert not twin.safe
        found = smu.measure_all()
        assert found["resistance"] == pytest.approx(1e-3, abs=2e-3)  # thermal voltages of µV in it
        assert found["current"] == pytest.approx(1e-2)
        assert found["status"] & 32768
        smu.write(":SYST:RSEN OFF")
        assert smu.resistance == pytest.approx(2.0 * twin.circuit.lead_ohm, rel=1e-2)
        twin.unload()
        assert smu.measure_all()["status"] & 8  # open contacts: in compliance
        assert smu.check_errors() == []
        smu.write(":NONE 1")
        with pytest.raises(ValueError, match="not in range"):
            smu.source_current = 2.0
        assert smu.next_error[0] == -113
        smu.disable_source()
        assert smu.complete
        assert twin.safe


def test_pymeasures_6221_measures_in_delta_mode() -> None:
    with serving("keithley_6221") as (twin, host, port), measuring("Keithley6221", host, port) as k:
        twin.load(StillSample(), {})
        twin.thermometer = lambda: 100.0
        k.reset()
        assert k.delta_connected
        k.source_compliance = 10.0
        k.delta_unit = "Ohms"
        k.delta_high_source = 1e-2
        assert k.delta_low_source == pytest.approx(-1e-2)
        k.delta_delay = 2e-3
        k.delta_cycles = 10
        k.delta_buffer_points = 10
        k.delta_compliance_abort_enabled = True
        assert k.delta_unit == "Ohms"
        assert k.delta_cycles == 10
        assert k.delta_compliance_abort_enabled
        k.write(':SYST:COMM:SER:SEND "VOLT:RANG 0.01"')
        k.delta_arm()
        assert k.complete
        assert not twin.safe
        k.delta_start()
        threading.Event().wait(0.1)
        values = k.delta_values
        assert len(values) == 20
        assert sum(values[::2]) / 10.0 == pytest.approx(1e-3, abs=1e-5)
        assert values[1] < values[3] < values[-1]
        assert len(k.delta_sense) == 2
        k.delta_abort()
        assert k.complete
        assert twin.safe
        k.source_current = 7.0  # PyMeasure makes this 0.105 A without a word
        assert k.source_current == 0.105
        k.write(":SOUR:CURR 7")
        assert k.next_error[0] == -222
        k.source_current = 0.0
        k.shutdown()


@pytest.mark.parametrize("name", ["keithley_6221", "keithley_2400", "lakeshore_336"])
def test_plain_pyvisa_asks_and_is_told_of_its_mistakes(name: str) -> None:
    pyvisa = pytest.importorskip("pyvisa")
    pytest.importorskip("pyvisa_py")
    with serving(name) as (twin, host, port):
        client = pyvisa.ResourceManager("@py").open_resource(
            resource(host, port), read_termination="\n", write_termination="\n", timeout=2000
        )
        with closing(client):
            assert f"twin-{name}" in client.query("*IDN?")
            assert client.query("*OPC?").strip() == "1"
            client.write("*CLS")
            if name == "lakeshore_336":
                kelvin, celsius = (float(x) for x in client.query("KRDG? A;CRDG? A").split(";"))
                assert math.isclose(kelvin - celsius, 273.15, abs_tol=1.0)
                assert client.query("KRDG? Z;*ESR?").strip() == "016"
                return
            client.write("source:current 1e-3")
            assert float(client.query(":SOUR:CURR?")) == 1e-3
            client.write("sourc:curr 1")
            assert client.query("syst:err?") == '-113,"Undefined header"'
            client.write(":SOURCE:CURRENT 99")
            assert client.query(":SYSTEM:ERROR?").startswith("-222")
            assert client.query(":SYST:ERR?") == '0,"No error"'
            assert client.query("*ESR?") == str(32 | 16)
            assert twin.safe


def test_our_drivers_reach_the_twins_through_pyvisa_as_well() -> None:
    """The same driver, with ``visa`` in place of ``tcp`` in its address."""
    pytest.importorskip("pyvisa_py")
    from labenv_instruments.drivers import load_driver
    from labenv_instruments.instrument import InstrumentRequest
    from labenv_schemas.characterisation import MeasureResistance

    plan = MeasureResistance.model_validate(
        {"temperature_min": "290 K", "temperature_max": "294 K", "step": "1 K",
         "fine_below": "300 K"}
    )  # fmt: skip

    async def whole() -> None:
        cold: Any = load_twin("lakeshore_336")(clock=WallClock(2000.0))
        thermometer = (await cold.start()).split("//")[1]
        source: Any = load_twin("keithley_6221")(
            clock=WallClock(2000.0), options={"thermometer": thermometer}
        )
        found = parse_address(await source.start())
        source.thermometer = cold.stage_temperature_k
        source.load(StillSample(), {"operation": plan})
        kind: Any = load_driver("keithley_6221")
        where = f"visa://{resource(found.host, found.port or 0)}?thermometer={thermometer}"
        driver = kind(where, timeout_s=2.0, pace=lambda s: asyncio.sleep(s / 2000.0))
        threads = threading.active_count()
        async with asyncio.timeout(30.0):
            await driver.connect()
            await driver.prepare(InstrumentRequest(plan, "sample-1"))
            await driver.run()
            (curve,) = await driver.result()
        assert curve.temperature_k.size == 4
        assert abs(curve.resistance_ohm - 1e-5 * curve.temperature_k).max() < 1e-4
        await driver.close()
        assert threading.active_count() == threads
        assert source.safe
        assert cold.safe
        await source.close()
        await cold.close()

    asyncio.run(whole())


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
