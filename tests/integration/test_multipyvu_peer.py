"""MultiPyVu itself as the other end: its server for our driver, its client for our twin."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from labenv_instruments.clock import WallClock
from labenv_instruments.drivers.multipyvu import MultiPyVuCryostat
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_instruments.still_sample import StillSample
from labenv_instruments.twins.multipyvu import MultiPyVuTwin
from labenv_schemas.characterisation import MeasureResistance
from labenv_schemas.errors import InstrumentError, ProposalError

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.integration
multipyvu = pytest.importorskip("MultiPyVu")

SERVER = """
import sys, threading
from MultiPyVu import Server
server = Server(flags=["PPMS", "-s"], host="127.0.0.1", port=int(sys.argv[1]))
server.open()
sys.stdin.read()
"""
CLIENT = """
import json, sys
from MultiPyVu import Client
port = int(sys.argv[1])
said = {}
with Client(host="127.0.0.1", port=port) as client:
    said["flavor"] = client.instrument_name
    said["temperature"] = client.get_temperature()
    client.set_temperature(299.0, 20.0, client.temperature.approach_mode.fast_settle)
    said["setpoints"] = client.get_temperature_setpoints()
    said["steady"] = bool(client.is_steady(client.temperature.waitfor))
    said["waited"] = int(client.wait_for(0.0, 600.0, client.temperature.waitfor))
    said["then"] = client.get_temperature()
    client.set_field(1000.0, 100.0, client.field.approach_mode.linear)
    said["field_setpoints"] = [str(x) for x in client.get_field_setpoints()]
    client.wait_for(0.0, 600.0, client.field.waitfor)
    said["field"] = client.get_field()
    client.set_chamber(client.chamber.mode.purge_seal)
    said["chamber"] = client.get_chamber()
    client.wait_for(0.0, 600.0, client.chamber.waitfor)
    said["purged"] = client.get_chamber()
    said["resistance_off"] = client.resistivity.get_resistance(1)
    client.resistivity.stabilize_time = 0
    client.resistivity.set_current(1, 1000.0)
    client.resistivity.channel_on(1, True)
    said["current"] = client.resistivity.get_current(1)
    said["resistance"] = client.resistivity.get_resistance(1)
    try:
        client.set_temperature(-5.0, 20.0, client.temperature.approach_mode.fast_settle)
        said["refused"] = ""
    except Exception as cause:
        said["refused"] = str(cause)
print("SAID " + json.dumps(said))
"""


@pytest.fixture
def server_port(tmp_path: Path) -> Iterator[int]:
    """Run MultiPyVu's scaffolding in a process of its own; its state belongs to the class."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port)],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            _wait_until_it_listens(port)
            yield port
        finally:
            process.kill()


def _wait_until_it_listens(port: int) -> None:
    deadline = time.monotonic() + 10.0
    while True:  # by the kernel's table: a probing connection would be a client that left
        table = Path("/proc/net/tcp").read_text(encoding="ascii")
        listening = [row.split()[1:4] for row in table.splitlines()[1:]]
        if any(int(a.split(":")[1], 16) == port and s == "0A" for a, _, s in listening):
            return
        if time.monotonic() > deadline:
            pytest.fail("the server of MultiPyVu does not listen")
        time.sleep(0.05)


def test_our_driver_leads_multipyvu_s_own_server(server_port: int) -> None:
    async def course() -> None:
        address = f"multipyvu+tcp://127.0.0.1:{server_port}?flavor=PPMS&rate=20"
        driver = MultiPyVuCryostat(address, pace=lambda lab_s: asyncio.sleep(0.1 * lab_s))
        try:
            identity = await driver.connect()
            assert (identity.model, identity.simulated) == ("Quantum Design PPMS", True)
            shown = await driver.readings()
            assert shown["temperature"] == "300.000 K (Stable)"
            with pytest.raises(ProposalError, match="2000 K"):  # the server would take it
                await driver.go_to_temperature(2000.0)
            field = await driver.go_to_field(0.01)
            assert (field.value, field.state) == (100.0, "Holding (driven)")
        finally:
            await driver.close()
        # A client that left without CLOSE would leave the server deaf.
        await driver.connect()
        await driver.abort()
        assert driver.safe
        run = MeasureResistance(temperature_min_k=299.9, temperature_max_k=300.0, step_k=0.001)
        try:
            await driver.prepare(InstrumentRequest(run, "bar"))
            await driver.go_to_field(0.0)
            # The scaffolding's bridge drives nothing, which is no measurement.
            with pytest.raises(InstrumentError, match="drives 0 uA, not 1000 uA"):
                await driver.run()
            assert driver.safe
            assert driver.state is InstrumentState.FAULT
            assert (await driver.readings())["temperature"].startswith("299.900 K")
            # Cancelled while the temperature moves, it still has its session to hold it.
            await driver.abort()
            going = asyncio.ensure_future(driver.go_to_temperature(280.0))
            await asyncio.sleep(1.5)
            going.cancel()
            with pytest.raises(asyncio.CancelledError):
                await going
            await driver.abort()
            assert (await driver.readings())["chamber"] == "Purged and Sealed"
        finally:
            await driver.close()

    asyncio.run(asyncio.wait_for(course(), 50.0))


def test_multipyvu_s_own_client_leads_our_twin(tmp_path: Path) -> None:
    async def course() -> dict[str, Any]:
        twin = MultiPyVuTwin(clock=WallClock(speed=200.0), options={"flavor": "PPMS"})
        twin.version = multipyvu.__version__
        twin.load(StillSample("bar"))
        address = await twin.start()
        port = address.partition("?")[0].rpartition(":")[2]
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", CLIENT, port, cwd=tmp_path,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            out = (await process.communicate())[0].decode()
        finally:
            await twin.close()
        lines = [line for line in out.splitlines() if line.startswith("SAID ")]
        assert lines, out
        return json.loads(lines[0][5:])

    said = asyncio.run(asyncio.wait_for(course(), 50.0))
    assert said["flavor"] == "PPMS"
    assert said["temperature"] == [300.0, "Stable"]
    assert said["setpoints"] == [299.0, 20.0, "fast_settle"]
    assert said["waited"] == 0
    assert said["then"][0] == pytest.approx(299.0, abs=0.01)
    assert said["then"][1] == "Stable"
    assert said["field_setpoints"][:2] == ["1000.0", "100.0"]
    assert said["field"] == [1000.0, "Holding (driven)"]
    assert said["chamber"] == "Performing Purge/Seal"
    assert said["purged"] == "Purged and Sealed"
    assert said["resistance_off"][0] > 1e30
    assert said["current"][0] == 1000.0
    assert said["resistance"][0] == pytest.approx(299e-5, rel=1e-3)
    assert "Error when setting the TEMP" in said["refused"]
