"""One process drives a bench at a time, and whoever wants to stop it can find that process.

There is a lock for each device and for the hand, by the machine and port that an address leads to,
so that two lab files which write one device differently cannot both drive it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from labenv_instruments.drivers import load_driver
from labenv_instruments.hand import DEFAULT_PORT
from labenv_instruments.wire import WireDriver, parse_address
from labenv_schemas.errors import ConfigError, InstrumentError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import TextIOWrapper

    from labenv_schemas.campaign import LabConfig


class BenchLock:
    """Locks in files, which the system lets go when the process ends, however it ends.

    Args:
        places: What is locked, such as ``"127.0.0.1:502"``; see `places_of`.
    """

    def __init__(self, places: Sequence[str]) -> None:
        names = sorted({hashlib.sha256(place.encode()).hexdigest()[:16] for place in places})
        self._paths = [_folder() / f"{name}.pid" for name in names]
        self._files: list[TextIOWrapper] = []

    def take(self) -> None:
        """Take all locks, or none.

        Raises:
            InstrumentError: If another process has one.
        """
        for path in self._paths:
            file = _opened(path)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                self.release()
                holder = _holder(path)
                who = "another process" if holder is None else f"process {holder}"
                raise InstrumentError(
                    f"{who} drives these devices already; wait for it, or end it with 'labenv stop'"
                ) from None
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            self._files.append(file)

    def check_free(self) -> None:
        """See that nobody has any of the locks, before something is begun in vain.

        Raises:
            InstrumentError: If another process has one.
        """
        self.take()
        self.release()

    def release(self) -> None:
        """Let the locks go; twice is fine."""
        while self._files:
            self._files.pop().close()

    def holder(self) -> int | None:
        """Return the process that has one of the locks.

        Returns:
            Its number; None if nobody has any.
        """
        return next((found for path in self._paths if (found := _holder(path)) is not None), None)


def places_of(config: LabConfig) -> tuple[str, ...]:
    """Return the places of a lab file's hand and devices.

    Args:
        config: The lab file.

    Returns:
        Machine and port of each, however the file writes them.
    """
    hand = parse_address(config.hand or "")
    found = {f"{_machine(hand.host)}:{hand.port or DEFAULT_PORT}"}
    return (*found, *(place_of(station.address) for station in config.stations.values()))


def place_of(address: str) -> str:
    """Return the place that a device's address leads to.

    Args:
        address: With its driver.

    Returns:
        Machine and port; for other transports the resource.

    Raises:
        ConfigError: If the address is none.
    """
    found = parse_address(address)
    if found.transport != "tcp":
        return found.host.lower()
    driver = load_driver(found.driver or "")
    if not issubclass(driver, WireDriver):
        raise ConfigError(f"address {address}: {found.driver} is no driver of a device on a wire")
    return f"{_machine(found.host)}:{found.port or driver.default_port}"


def _machine(host: str) -> str:
    try:
        return socket.gethostbyname(host)
    except OSError:
        return host.lower()


def _opened(path: Path) -> TextIOWrapper:
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+", encoding="ascii")
    if os.fstat(file.fileno()).st_uid == os.getuid():
        os.fchmod(file.fileno(), 0o666)  # other users of this computer look here too
    return file


def _holder(path: Path) -> int | None:
    try:
        with _opened(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                text = file.read().strip()
                return int(text) if text.isdigit() else None
    except OSError:
        return None
    return None


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / "labenv-benches"
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid == os.getuid():
        folder.chmod(0o1777)
    return folder


__all__ = ["BenchLock", "place_of", "places_of"]
