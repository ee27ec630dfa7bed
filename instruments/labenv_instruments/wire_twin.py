"""Twins on a wire: simulated devices that answer on a socket, byte for byte, and fail on demand.

A twin says how a request is framed (`receive`) and what it answers (`answer`); connections, the
clock and faults of the wire are kept here. Time passes for the simulated device when it is asked
something (`advance`), up to what its clock shows then.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from labenv_instruments.clock import WallClock
from labenv_instruments.faults import WIRE_FAULTS, Fault, FaultKind, FaultPlan
from labenv_instruments.wire.address import Address
from labenv_schemas.errors import ConfigError, InstrumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.clock import Clock
    from labenv_instruments.sample_view import SampleView

_SPLIT_S = 0.01


class WireTwin(ABC):
    """A simulated device on a socket of its own.

    Args:
        station: Name of the station it stands at.
        clock: Lab time that the device lives in; the wall's by default.
        faults: What is to go wrong.
        seed: Of the device's own noise.
        options: The options of the address that its driver uses, such as a model.

    Attributes:
        driver: Id of the driver that talks to it; also the name of its file.
        known_faults: Faults of the device that it can have, beside those of the wire.
        sample: What lies in it.
        settings: What whoever put the sample in did beside it, such as the gas that was connected.
    """

    driver: ClassVar[str]
    known_faults: ClassVar[frozenset[FaultKind]] = frozenset()

    def __init__(
        self,
        station: str = "",
        *,
        clock: Clock | None = None,
        faults: FaultPlan | None = None,
        seed: int = 0,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.station = station or self.driver
        self.clock: Clock = clock or WallClock()
        self.faults = faults or FaultPlan()
        self.rng = np.random.default_rng(seed)
        self.options = dict(options or {})
        self.sample: SampleView | None = None
        self.settings: dict[str, Any] = {}
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[Any]] = set()
        self._last_reply = b""

    # ------------------------------------------------------------------------- what a twin adds

    @abstractmethod
    async def receive(self, reader: asyncio.StreamReader) -> bytes:
        """Read one whole request.

        Args:
            reader: What comes in.

        Returns:
            The request.

        Raises:
            asyncio.IncompleteReadError: If the other side has closed.
        """

    @abstractmethod
    async def answer(self, request: bytes) -> bytes | None:
        """Do what is asked and return the reply.

        A command that takes its time waits for `clock`. Nothing that a peer sends may raise.

        Args:
            request: As `receive` gave it.

        Returns:
            The reply; None where the device keeps silent.
        """

    @property
    @abstractmethod
    def safe(self) -> bool:
        """Whether the device drives nothing: no heater, no current, no beam."""

    def advance(self, now_s: float) -> None:  # noqa: B027 - not every device lives on by itself
        """Let the device live on until a moment; called before every answer.

        Args:
            now_s: Lab time, s.
        """

    def busy_reply(self, request: bytes) -> bytes | None:
        """Return what the device says while it is busy; None where it keeps silent."""
        return None

    def state(self) -> dict[str, Any]:
        """Return what is true of the device, plain data, for those who watch a twin bench."""
        return {"safe": self.safe}

    # ------------------------------------------------------------------------- the outside

    def let_fail(self, fault: Fault) -> None:
        """Let something go wrong, counted in requests from now on.

        Args:
            fault: What.

        Raises:
            ConfigError: If it cannot happen to this device.
        """
        can_be = self.known_faults | WIRE_FAULTS
        if fault.kind not in can_be:
            raise ConfigError(
                f"{fault.kind} cannot happen to {self.station}, a twin of {self.driver}; "
                f"{', '.join(sorted(can_be))} can"
            )
        self.faults.add(fault)

    @property
    def address(self) -> str:
        """Where its driver finds it, with the driver's name and options.

        Raises:
            InstrumentError: If it has not been started.
        """
        if self._server is None:
            raise InstrumentError(f"the twin of {self.station} has not been started")
        host, port = self._server.sockets[0].getsockname()[:2]
        return str(Address(self.driver, "tcp", host, port, self.options))

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Listen.

        Args:
            host: Where; loopback by default.
            port: TCP port; 0 for any that is free.

        Returns:
            The address.

        Raises:
            InstrumentError: If the port cannot be had.
        """
        try:
            self._server = await asyncio.start_server(self._serve, host, port)
        except OSError as cause:
            raise InstrumentError(
                f"the twin of {self.station} cannot listen on {host}:{port} "
                f"({cause.strerror or cause}); name another port"
            ) from None
        return self.address

    async def close(self) -> None:
        """Stop listening and drop every connection; twice is fine."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        serving = list(self._serving)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await server.wait_closed()

    def load(self, sample: SampleView, settings: Mapping[str, Any] | None = None) -> None:
        """Put a sample in, as a robot would.

        Args:
            sample: The sample.
            settings: What is done beside it; each twin says what it looks at.

        Raises:
            InstrumentError: If another sample is in it.
        """
        if self.sample is not None and self.sample.sample_id != sample.sample_id:
            raise InstrumentError(f"{self.station} holds {self.sample.sample_id} already")
        self.sample, self.settings = sample, dict(settings or {})

    def unload(self) -> None:
        """Take the sample out; nothing happens to an empty device."""
        self.sample, self.settings = None, {}

    # ------------------------------------------------------------------------- connections

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        try:
            while True:
                request = await self.receive(reader)
                self.faults.begin_request()
                self.advance(self.clock.now_s)
                if not await self._reply(request, writer):
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # the other side went away or speaks another protocol
        except asyncio.CancelledError:
            pass  # closed; the stream's own callback would report it as an error
        finally:
            writer.transport.abort()

    async def _reply(self, request: bytes, writer: asyncio.StreamWriter) -> bool:
        """Answer one request, disturbed as the faults have it.

        Returns:
            Whether the connection goes on.
        """
        if self.faults.active(FaultKind.BUSY):
            reply = self.busy_reply(request)
        else:
            reply = await self.answer(request)
        fault = self.faults.first_active(sorted(WIRE_FAULTS))
        kind = None if fault is None else fault.kind
        if kind is FaultKind.DROPPED:
            writer.write((reply or b"")[: len(reply or b"") // 2])
            return False
        if reply is None or kind is FaultKind.SILENT:
            return True
        if kind is FaultKind.STALE_REPLY:
            reply = self._last_reply or reply
        elif kind is FaultKind.GARBLED:
            reply = garble(reply)
        if fault is not None and kind is FaultKind.LATE_REPLY:
            await asyncio.sleep(fault.delay_s)
        if kind is FaultKind.SPLIT_REPLY and len(reply) > 1:
            writer.write(reply[: len(reply) // 2])
            await writer.drain()
            await asyncio.sleep(_SPLIT_S)
            writer.write(reply[len(reply) // 2 :])
        else:
            writer.write(reply)
        self._last_reply = reply
        await writer.drain()
        return True


def garble(reply: bytes) -> bytes:
    """Return a reply with noise on the line: every third byte has its high bit set.

    The line end, if there is one, is left as it is.
    """
    end = len(reply.rstrip(b"\r\n"))
    body = bytes(byte | 0x80 if n % 3 == 1 else byte for n, byte in enumerate(reply[:end]))
    return body + reply[end:]


__all__ = ["WireTwin", "garble"]
