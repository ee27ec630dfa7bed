"""What carries samples between stations, and its protocol: a robot, a person, or a twin bench.

One JSON object a line, both ways, over TCP. A request has an ``id`` and a ``do``; the reply repeats
the ``id`` and has ``ok``, and a ``message`` where that is false.

=========== ======================================================= =============================
do          with                                                    reply
=========== ======================================================= =============================
hello                                                               model, serial, simulated, begun
begin       seed, system, randomise, resume                         (a new series of samples)
load        station, sample, index, settings                        (the sample is in the device)
unload      station, sample                                         lost: why, or null
perform     station, sample, operation                              (mixing, pressing, grinding)
stop                                                                (nothing is carried any more)
advance     station, lab_s                                          (twins: time passes there)
fault       station, kind, after_requests, lasts_requests           (twins: something goes wrong)
state                                                               stations: by name
=========== ======================================================= =============================

``settings`` of a load is what is done beside it: the crucible, the gas that is connected, how the
sample cools. ``begun`` says whether it knows a series of samples; one that was started anew does
not. It may be left out. A laboratory writes an adapter of its robot that understands the first
seven.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from labenv_instruments.wire.address import Address, parse_address
from labenv_instruments.wire.connection import Connection, line_ending
from labenv_schemas.errors import ConfigError, InstrumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_PORT = 7100
CARRY_S = 600.0
"""Longest that carrying a sample or mixing it by hand may take, s of wall time."""


class Hand:
    """The client of whatever carries samples.

    Args:
        address: Where it is, as text or taken apart; the driver's name may be left out.
        timeout_s: Longest wait for what takes no carrying, s.
    """

    def __init__(self, address: str | Address, *, timeout_s: float = 2.0) -> None:
        found = parse_address(address) if isinstance(address, str) else address
        if found.transport != "tcp":
            raise ConfigError(f"address {found}: what carries samples is reached over tcp")
        self.address = found
        self._connection = Connection(
            found.host, found.port or DEFAULT_PORT, timeout_s=timeout_s, name=f"hand at {found}"
        )
        self._timeout_s = timeout_s
        self._number = 0

    async def hello(self) -> dict[str, Any]:
        """Return what it is: ``model``, ``serial`` and whether it is ``simulated``."""
        return await self.ask("hello")

    async def begin(self, seed: int, system: str, *, randomise: bool, resume: bool) -> None:
        """Begin a series of samples.

        Args:
            seed: Of a simulated laboratory's hidden truth.
            system: Its material system.
            randomise: Whether its hidden conditions are drawn.
            resume: Whether samples of an earlier life go on.
        """
        await self.ask(
            "begin", {"seed": seed, "system": system, "randomise": randomise, "resume": resume}
        )

    async def load(
        self, station: str, sample: str, index: int, settings: Mapping[str, Any]
    ) -> None:
        """Put a sample into a device.

        Args:
            station: Name of the station.
            sample: Name on the vial.
            index: Number of the experiment.
            settings: What is done beside it.
        """
        content = {"station": station, "sample": sample, "index": index, "settings": settings}
        await self.ask("load", content, timeout_s=CARRY_S)

    async def unload(self, station: str, sample: str) -> str | None:
        """Take a sample out of a device.

        Args:
            station: Name of the station.
            sample: Name on the vial.

        Returns:
            Why there is nothing left of it, or None.
        """
        found = await self.ask("unload", {"station": station, "sample": sample}, timeout_s=CARRY_S)
        lost = found.get("lost")
        return None if lost is None else str(lost)

    async def perform(self, station: str, sample: str, operation: Mapping[str, Any]) -> None:
        """Let it do something to a sample itself.

        Args:
            station: Name of the station.
            sample: Name on the vial.
            operation: The operation, plain data.
        """
        content = {"station": station, "sample": sample, "operation": operation}
        await self.ask("perform", content, timeout_s=CARRY_S)

    async def ask(
        self, do: str, content: Mapping[str, Any] | None = None, *, timeout_s: float | None = None
    ) -> dict[str, Any]:
        """Send any request.

        Args:
            do: What to do.
            content: With what.
            timeout_s: Longest wait, s.

        Returns:
            The reply.

        Raises:
            InstrumentError: If it refuses, does not answer in time, or answers something else.
        """
        self._number += 1
        number = self._number
        line = json.dumps({"id": number, "do": do, **(content or {})}, separators=(",", ":"))
        reply = await self._connection.exchange(
            line.encode() + b"\n", line_ending(b"\n"), timeout_s=timeout_s or self._timeout_s
        )
        try:
            found = json.loads(reply)
            answered, good = found["id"], bool(found["ok"])
        except (ValueError, KeyError, TypeError):
            answered, found, good = None, {}, False
        if answered != number:
            self._connection.drop()
            raise InstrumentError(f"the hand at {self.address} answered {do!r} with no reply to it")
        if not good:
            raise InstrumentError(str(found.get("message") or f"the hand refuses {do!r}"))
        return dict(found)

    async def close(self) -> None:
        """Let it go; twice is fine."""
        await self._connection.close()


__all__ = ["CARRY_S", "DEFAULT_PORT", "Hand"]
