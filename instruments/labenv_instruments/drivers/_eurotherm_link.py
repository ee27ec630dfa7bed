"""Modbus to one controller through pymodbus, so that no call hangs and no reply is another's.

pymodbus reconnects and repeats on its own accord; here it may do neither. After a time-out, a
cancellation or an answer that does not fit, the connection is dropped, and the next call opens a
new one. On TCP a transaction number tells a late reply; RTU has none, so two requests whose replies
would look alike are never sent one after the other: a loop-back with a number of its own goes
between them, and also first on every new connection, since a gateway may still hold a reply of the
old one.
"""

from __future__ import annotations

import asyncio
import math
import struct
from typing import TYPE_CHECKING, Final

from labenv_schemas.errors import ConfigError, InstrumentError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from pymodbus.client import AsyncModbusTcpClient
    from pymodbus.pdu import ModbusPDU

    Call = Callable[[AsyncModbusTcpClient], Awaitable[ModbusPDU]]

IEEE: Final = 32768  # a parameter's full value stands at 32768 + 2 * address, in two words
_PADDING = 0x8000
_EXCEPTIONS = {
    1: "does not know the function",
    2: "has no such register, or does not let it be written",
    3: "does not take the value",
    4: "failed",
    6: "is busy",
}
BUSY: Final = 6
ILLEGAL_ADDRESS: Final = 2
_READ_TRIES = 3
_BUSY_TRIES, _BUSY_S = 5, 0.05  # a busy controller is asked again so often, after so long


class ModbusRefusedError(InstrumentError):
    """The controller answered with an error code.

    Attributes:
        code: The code.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message, retryable=code == BUSY)
        self.code = code


class ModbusLink:
    """Registers of one controller.

    Args:
        host: Name or number of the controller or its gateway.
        port: TCP port.
        unit: Modbus address of the controller.
        rtu: Whether RTU frames are sent, through a transparent gateway.
        timeout_s: Longest wait for a connection and for a reply, s.
    """

    def __init__(
        self, host: str, port: int, unit: int, *, rtu: bool = False, timeout_s: float = 2.0
    ) -> None:
        self._host, self._port, self._unit, self._rtu = host, port, unit, rtu
        self._timeout_s = timeout_s
        self._client: AsyncModbusTcpClient | None = None
        self._lock = asyncio.Lock()
        self._last: tuple[int, int] | None = None  # function and length of the last reply
        self._number = 0

    def __str__(self) -> str:
        return f"unit {self._unit} at {self._host}:{self._port}"

    # ------------------------------------------------------------------------- values

    async def word(self, address: int) -> int:
        """Return one register, unsigned."""
        return (await self.words(address, 1))[0]

    async def words(self, address: int, count: int) -> list[int]:
        """Read registers one after another.

        Args:
            address: Of the first.
            count: How many.

        Returns:
            The words.

        Raises:
            ModbusRefusedError: If the controller has no such registers.
            InstrumentError: If they cannot be read, though it was tried three times.
        """
        for left in range(_READ_TRIES - 1, -1, -1):
            try:
                return await self._read(address, count)
            except ModbusRefusedError:
                raise
            except InstrumentError:
                if not left:
                    raise
        return []

    async def floats(self, address: int, count: int) -> list[float]:
        """Read full-resolution values of parameters one after another.

        Args:
            address: Of the first.
            count: How many.

        Returns:
            The values; finite.

        Raises:
            InstrumentError: If they cannot be read, or one is not finite.
        """
        words = await self.words(IEEE + 2 * address, 2 * count)
        values = list(struct.unpack(f">{count}f", struct.pack(f">{2 * count}H", *words)))
        if not all(map(math.isfinite, values)):
            raise InstrumentError(f"{self}: parameters {address} and on are not finite: {values}")
        return values

    async def time_s(self, address: int) -> float:
        """Return a time, s."""
        words = await self.words(IEEE + 2 * address, 2)
        return int(struct.unpack(">i", struct.pack(">HH", *words))[0]) / 1000.0

    async def write_word(self, address: int, word: int) -> None:
        """Write one register."""
        await self._exchanged(
            6, 4, lambda client: client.write_register(address, word, device_id=self._unit), address
        )

    async def write_pair(self, address: int, pair: Sequence[int]) -> None:
        """Write the two words of a parameter's full value."""
        at = IEEE + 2 * address
        await self._exchanged(
            16, 4, lambda client: client.write_registers(at, list(pair), device_id=self._unit), at
        )

    async def has(self, address: int) -> bool:
        """Return whether the controller has a register.

        Raises:
            ModbusRefusedError: If it refuses for another reason than that.
        """
        try:
            await self.words(address, 1)
        except ModbusRefusedError as refusal:
            if refusal.code != ILLEGAL_ADDRESS:
                raise
            return False
        return True

    # ------------------------------------------------------------------------- the connection

    def drop(self) -> None:
        """Give the connection up at once."""
        client, self._client = self._client, None
        self._last = None
        if client is not None:
            transport = client.ctx.transport
            client.close()
            if isinstance(transport, asyncio.Transport):
                transport.abort()

    async def close(self) -> None:
        """Give the connection up and let the loop close the socket; twice is fine."""
        self.drop()
        await asyncio.sleep(0)

    async def _read(self, address: int, count: int) -> list[int]:
        def read(client: AsyncModbusTcpClient) -> Awaitable[ModbusPDU]:
            return client.read_holding_registers(address, count=count, device_id=self._unit)

        reply = await self._exchanged(3, 2 * count, read, address)
        if len(reply.registers) != count:
            self.drop()
            raise self._error(f"answered {len(reply.registers)} words for {count} at {address}")
        return list(reply.registers)

    async def _exchanged(self, function: int, length: int, call: Call, address: int) -> ModbusPDU:
        async with self._lock:
            if self._rtu and self._last in {None, (function, length)}:
                await self._tell_apart()
            reply = await self._called(call, f"register {address}")
            for _ in range(_BUSY_TRIES):
                if not reply.isError() or reply.exception_code != BUSY:
                    break
                await asyncio.sleep(_BUSY_S)
                reply = await self._called(call, f"register {address}")
            if reply.isError():
                code = reply.exception_code
                why = _EXCEPTIONS.get(code, f"answered with error {code}")
                raise ModbusRefusedError(f"{self} {why} (register {address}, error {code})", code)
            self._fits(reply, function, address if function != 3 else None)
            self._last = (function, length)
            return reply

    def _fits(self, reply: ModbusPDU, function: int, address: int | None) -> None:
        if reply.function_code == function and address in {None, reply.address}:
            return
        self.drop()
        raise self._error(f"answered another request than the one for register {address}")

    async def _tell_apart(self) -> None:
        """Exchange a number, so that the next reply cannot be a late one of the last request."""
        self._number = self._number % 0xFFFF + 1
        sent = struct.pack(">H", self._number)
        reply = await self._called(
            lambda client: client.diag_query_data(sent, device_id=self._unit), "a loop-back"
        )
        message = getattr(reply, "message", None)
        echoed = b"".join(message) if isinstance(message, (list, tuple)) else message
        refused = reply.function_code == 0x88  # that, too, is an answer to nothing else
        if not refused and (reply.function_code != 8 or echoed not in {sent, self._number}):
            self.drop()
            raise self._error("answered another request than a loop-back")

    async def _called(self, call: Call, what: str) -> ModbusPDU:
        """Return the answer to a call; whatever goes wrong drops the connection."""
        client = await self._connected()
        from pymodbus.exceptions import ConnectionException, ModbusException

        try:
            async with asyncio.timeout(self._timeout_s + 0.2):
                return await call(client)
        except ConnectionException:
            self.drop()
            raise self._error(f"closed the connection in place of an answer for {what}") from None
        except (TimeoutError, ModbusException):
            self.drop()
            raise self._error(f"did not answer for {what} within {self._timeout_s:g} s") from None
        except OSError as cause:
            self.drop()
            raise self._error(f"lost the connection ({cause})") from None
        except BaseException:  # cancelled: its reply may still come
            self.drop()
            raise

    async def _connected(self) -> AsyncModbusTcpClient:
        if self._client is not None and not self._client.connected:
            self.drop()
        if self._client is None:
            client = self._client = self._new_client()
            try:
                reached = await client.connect()  # bounded by its time-out
            except BaseException:
                self.drop()
                raise
            if not reached:
                self.drop()
                raise self._error("cannot be reached; is it switched on?")
            return client
        return self._client

    def _new_client(self) -> AsyncModbusTcpClient:
        import logging

        try:
            from pymodbus import FramerType
            from pymodbus.client import AsyncModbusTcpClient
            from pymodbus.exceptions import ConnectionException
        except ImportError:
            raise ConfigError(
                "a Eurotherm controller needs pymodbus; pip install 'labenv[instruments]'"
            ) from None
        logger = logging.getLogger("pymodbus.logging")
        if logger.level == logging.NOTSET:  # it reports what is raised here anyway
            logger.setLevel(logging.CRITICAL)
        client: AsyncModbusTcpClient

        def connected(is_connected: bool) -> None:
            future = client.ctx.response_future
            if not is_connected and not future.done():  # it would wait for the time-out
                future.set_exception(ConnectionException("closed"))

        client = AsyncModbusTcpClient(
            self._host,
            port=self._port,
            framer=FramerType.RTU if self._rtu else FramerType.SOCKET,
            timeout=self._timeout_s,
            retries=0,
            reconnect_delay=0,
            trace_connect=connected,
        )
        client.ctx.response_future.cancel()  # nobody waits for anything yet
        return client

    def _error(self, what: str) -> InstrumentError:
        return InstrumentError(f"{self} {what}", retryable=True)


def float_pair(value: float) -> tuple[int, int]:
    """Return the two words of a float."""
    first, second = struct.unpack(">HH", struct.pack(">f", value))
    return int(first), int(second)


def time_pair(time_s: float) -> tuple[int, int]:
    """Return the two words of a time in s, which is sent in ms."""
    first, second = struct.unpack(">HH", struct.pack(">i", round(1000.0 * time_s)))
    return int(first), int(second)


def word_pair(word: int) -> tuple[int, int]:
    """Return the two words of a parameter that is a word."""
    return word, _PADDING


__all__ = [
    "BUSY",
    "IEEE",
    "ILLEGAL_ADDRESS",
    "ModbusLink",
    "ModbusRefusedError",
    "float_pair",
    "time_pair",
    "word_pair",
]
