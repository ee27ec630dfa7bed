"""Makes devices safe when the process that drives them is gone, or no longer lives.

A process of its own is told the devices' addresses and then hears a heartbeat on a pipe. If the
pipe closes without a word, as after ``kill -9``, it acts at once; if heartbeats stay away for the
dead man's time, it acts then. It does not help when the whole computer dies: a furnace that must
not go on by itself needs a device's own watchdog or a contactor as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import select
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from labenv_schemas.errors import LabEnvError

if TYPE_CHECKING:
    from collections.abc import Sequence

_BEATS = 4  # in the dead man's time
_TRIES, _PAUSE_S = 5, 1.0
_BYE = b"bye\n"
_ENDS_WITHIN_S = 5.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Secured:
    """What became of one device that was to be made safe.

    Attributes:
        address: Where it is.
        device: Model and serial number; None if it did not answer.
        error: Why it is not safe; None if it is.
    """

    address: str
    device: str | None
    error: str | None


class Watchdog:
    """Starts the watching process and sends it heartbeats.

    Args:
        addresses: The devices, with their drivers' names.
        dead_man_s: How long heartbeats may stay away, s.
    """

    def __init__(self, addresses: Sequence[str], dead_man_s: float) -> None:
        self._addresses, self._dead_man_s = list(addresses), dead_man_s
        self._process: subprocess.Popen[bytes] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def pid(self) -> int | None:
        """Of the watching process."""
        return None if self._process is None else self._process.pid

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the process, and a heartbeat in a loop; a loop that hangs stops beating.

        Args:
            loop: The running loop that drives the devices.
        """
        self._loop = loop
        self._spawn()
        self._beating = loop.create_task(self._beat())

    def _spawn(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "labenv_instruments.watchdog"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt from the terminal is not for it
        )
        told = {"addresses": self._addresses, "dead_man_s": self._dead_man_s}
        self._send(json.dumps(told).encode() + b"\n")

    def dismiss(self) -> None:
        """Tell the process that all is safe and let it end; twice is fine."""
        process, self._process = self._process, None
        if self._loop is not None and self._beating is not None:
            self._loop.call_soon_threadsafe(self._beating.cancel)
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(OSError):
            process.stdin.write(_BYE)
            process.stdin.close()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:  # stopped, or it hangs; there is nothing left to watch
            process.kill()
            process.wait()

    async def _beat(self) -> None:
        while True:
            if self._process is not None and self._process.poll() is not None:
                # Killed, or it acted because this process stood still for too long.
                _log.warning("the watchdog process has ended; another one takes its place")
                if self._process.stdin is not None:
                    with contextlib.suppress(OSError):
                        self._process.stdin.close()
                self._spawn()
            self._send(b"\n")
            await asyncio.sleep(self._dead_man_s / _BEATS)

    def _send(self, line: bytes) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):  # it is gone; the devices' driver is not
                self._process.stdin.write(line)
                self._process.stdin.flush()


async def secure(addresses: Sequence[str], *, tries: int = _TRIES) -> list[Secured]:
    """Bring devices into their safe states, whoever drives them.

    Args:
        addresses: The devices, with their drivers' names.
        tries: How often a device that does not answer is asked.

    Returns:
        What became of each, in order.
    """
    return list(await asyncio.gather(*(_secure(address, tries) for address in addresses)))


async def _secure(address: str, tries: int) -> Secured:
    from labenv_instruments.drivers import load_driver
    from labenv_instruments.wire.address import parse_address
    from labenv_instruments.wire.driver import WireDriver

    found = parse_address(address)
    driver = load_driver(found.driver or "")
    if not issubclass(driver, WireDriver):
        return Secured(address, None, f"{found.driver} is no driver of a device on a wire")
    device, why = None, "never asked"
    for number in range(tries):
        instrument = driver(found)
        try:
            identity = await instrument.connect()
            device = f"{identity.model} {identity.serial}"
            await instrument.abort()
        except LabEnvError as error:
            why = str(error)
        else:
            return Secured(address, device, None)
        finally:
            await instrument.close()
        if number + 1 < tries:
            await asyncio.sleep(_PAUSE_S)
    return Secured(address, device, why)


def watch(pipe: BinaryIO) -> bool:
    """Listen for heartbeats until they end.

    Args:
        pipe: What the driving process writes into: one line of JSON, then lines.

    Returns:
        Whether the devices had to be made safe.
    """
    told = json.loads(pipe.readline() or b"null")
    if told is None:
        return False
    dead_man_s = float(told["dead_man_s"])
    while True:
        ready, _, _ = select.select([pipe], [], [], dead_man_s)
        line = pipe.readline() if ready else b""
        if line == _BYE:
            return False
        if not line:
            break
    gone = "is gone" if ready else f"has not been heard of for {dead_man_s:g} s"
    _log.error("the process that drives the devices %s; making them safe", gone)
    for result in asyncio.run(secure(told["addresses"])):
        if result.error is None:
            _log.error("%s (%s) is safe", result.address, result.device)
        else:
            _log.error("%s IS NOT SAFE: %s", result.address, result.error)
    return True


def main() -> None:
    """Watch standard input."""
    logging.basicConfig(format="labenv watchdog: %(message)s")
    # Unbuffered: what `select` says of the pipe must be all there is to read.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as pipe:
        watch(pipe)


if __name__ == "__main__":
    main()


__all__ = ["Secured", "Watchdog", "secure", "watch"]
