"""One process drives a device, however its lab file writes the address."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

import pytest

from labenv.lab.bench_lock import BenchLock, places_of
from labenv_schemas.campaign import LabConfig
from labenv_schemas.errors import InstrumentError

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs flock")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as place:
        return int(place.getsockname()[1])


def config(hand: str, furnace: str) -> LabConfig:
    station: dict[str, Any] = {"address": furnace}
    return LabConfig.model_validate({"hand": hand, "stations": {"furnace-1": station}})


def test_other_spellings_of_one_address_are_one_place() -> None:
    one = config("tcp://127.0.0.1:7100", "eurotherm+tcp://localhost:502?model=3216&framer=tcp")
    other = config("tcp://localhost", "eurotherm+tcp://127.0.0.1?model=3216")
    assert set(places_of(one)) == set(places_of(other)) == {"127.0.0.1:7100", "127.0.0.1:502"}


@pytest.mark.parametrize("shared", ["hand", "furnace"])
def test_a_lab_that_shares_the_hand_or_one_device_is_refused(shared: str) -> None:
    hand, furnace = free_port(), free_port()
    own = config(f"tcp://127.0.0.1:{hand}", f"eurotherm+tcp://127.0.0.1:{furnace}?model=3216")
    theirs = config(
        f"tcp://localhost:{hand if shared == 'hand' else free_port()}",
        f"eurotherm+tcp://localhost:{furnace if shared == 'furnace' else free_port()}?model=3216",
    )
    first, second = BenchLock(places_of(own)), BenchLock(places_of(theirs))
    first.take()
    try:
        with pytest.raises(InstrumentError, match=f"process {os.getpid()} drives these devices"):
            second.take()
        assert second.holder() == os.getpid()
    finally:
        first.release()
    second.take()  # nothing was left behind by the attempt
    second.release()
    assert first.holder() is None


def test_a_process_that_ends_anyhow_lets_go() -> None:
    place = f"127.0.0.1:{free_port()}"
    code = (
        "import os, sys; from labenv.lab.bench_lock import BenchLock; "
        f"BenchLock([{place!r}]).take(); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    lock = BenchLock([place])
    assert lock.holder() is None
    lock.take()
    lock.release()
