"""A client of MultiPyVu's server that waits for nothing for ever and loses no session.

The server serves one client at a time. A client that leaves without CLOSE leaves the server of
MultiPyVu 3.8 (seen with its scaffolding on Linux) unable to serve anybody until it is restarted.
So a reply that does not come in time is no reason to drop the connection here: replies carry the
id of their request, a late one is known by it and thrown away. An exchange that was begun is ended
also while its task is being cancelled, within its time-out.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import uuid
from typing import TYPE_CHECKING, TypeVar

from labenv_instruments.drivers._multipyvu_frames import (
    COMPLETED,
    CONFIRMED,
    FrameReader,
    encode_frame,
)
from labenv_schemas.errors import InstrumentError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from labenv_instruments.wire.connection import Connection

R = TypeVar("R")

# The server throws away a request that it reads together with the confirmation before it. So one
# that is not confirmed at once is sent again, and for a while the next ones are not sent at once.
_RESEND_S, _GAP_S, _CAREFUL_REQUESTS = 0.25, 0.01, 100
_MARGIN_S = 0.5  # between the time-out kept here and the connection's own, which drops it


class MultiPyVuClient:
    """A session with a server.

    Args:
        connection: To the server.
        reply_s: Longest wait for the completion of a request, s of wall time.

    Attributes:
        flavor: Which MultiVu it serves, such as ``"PPMS"``; empty before `start`.
        version: Version of the server.
        multivu_version: What it says of MultiVu's; may be empty.
        simulated: Whether it runs without a device.
        strays: How many replies to other requests were thrown away.
    """

    def __init__(self, connection: Connection, reply_s: float) -> None:
        self.flavor = self.version = self.multivu_version = ""
        self.simulated = False
        self.strays = 0
        self._connection, self._reply_s = connection, reply_s
        self._frames = FrameReader()
        self._careful = 0  # so many requests wait a little before they are sent
        self._session = 0  # number of the connection on which we were accepted; 0 for none

    async def start(self) -> None:
        """Connect and be accepted, unless that is so already.

        Raises:
            InstrumentError: If the server does not answer or another client holds it.
        """
        await uninterrupted(self._started())

    async def ask(self, action: str, query: str = "", *, patience: float = 1.0) -> str:
        """Send a request and return its result; one that is not answered is sent once more.

        Requests set what they set whatever was before, so that sending one twice does no harm.

        Args:
            action: Such as ``"TEMP?"``.
            query: What goes with it.
            patience: How many times the usual wait its completion may take.

        Returns:
            The result, as the server words it.

        Raises:
            InstrumentError: If the server does not answer or says that it failed.
        """
        result = await uninterrupted(self._asked(action, query, patience * self._reply_s))
        if result.startswith("MultiPyVuError"):
            said = result.removeprefix("MultiPyVuError:").strip()
            raise InstrumentError(f"{self._name} answers {action} {query}: {said}")
        return result

    async def close(self) -> None:
        """Say good-bye if there is a session, and close; never raises, twice is fine."""
        if self._session and self._connection.is_open:
            with contextlib.suppress(InstrumentError):  # it is gone already
                await uninterrupted(self._completed(_request("CLOSE"), self._reply_s))
            self._session = 0
        await self._connection.close()

    @property
    def _name(self) -> str:
        return self._connection.name

    async def _asked(self, action: str, query: str, wait_s: float) -> str:
        request = _request(action, query)
        try:
            await self._started()
            return (await self._completed(request, wait_s))["result"]
        except InstrumentError as cause:
            if not cause.retryable:
                raise
        await self._started()
        return (await self._completed(request, wait_s))["result"]

    async def _started(self) -> None:
        await self._connection.open()
        if self._connection.opened == self._session:
            return
        reply = await self._completed(_request("START"), self._reply_s)
        if "rejected" in reply["result"]:
            reply = await self._started_over(reply["result"])
        found = re.match(r"Connected to (\w+) MultiVuServer", reply["result"])
        if found is None:
            raise InstrumentError(f"{self._name} is no MultiPyVu server: {reply['result']!r}")
        self.flavor = found[1]
        self.version, *options = reply["query"].split(";")
        self.multivu_version = next((o[3:] for o in options if o.startswith("mv=")), "")
        self.simulated = "s" in options
        self._session = self._connection.opened

    async def _started_over(self, refusal: str) -> dict[str, str]:
        """Take the place of our own session that we lost; another client's is left alone.

        Args:
            refusal: What the server said.

        Returns:
            Its reply to the second START.

        Raises:
            InstrumentError: If it is another client's session.
        """
        self._connection.drop()
        if not self._session:
            raise InstrumentError(
                f"{self._name}: {refusal} MultiPyVu serves one client at a time; close the other"
            )
        await self._connection.open()
        await self._completed(_request("CLOSE"), self._reply_s)
        return await self._completed(_request("START"), self._reply_s)

    async def _completed(self, request: dict[str, str], wait_s: float) -> dict[str, str]:
        loop = asyncio.get_running_loop()
        end_s, confirmed = loop.time() + wait_s, False
        await asyncio.sleep(self._gap_s())
        while (left_s := end_s - loop.time()) > 0.0:
            confirmed, frame = await self._tried(request, left_s, min(_RESEND_S, 0.4 * wait_s))
            if frame is not None:
                await self._connection.send(encode_frame({**frame, "message_type": CONFIRMED}))
                return frame
            if not confirmed:
                self._careful = _CAREFUL_REQUESTS
        did = "confirmed but did not complete" if confirmed else "did not answer"
        raise InstrumentError(
            f"{self._name} {did} {request['action']} {request['query']} within {wait_s:g} s",
            retryable=True,
        )

    async def _tried(
        self, request: dict[str, str], wait_s: float, confirm_s: float
    ) -> tuple[bool, dict[str, str] | None]:
        """Send a request once.

        Args:
            request: The request.
            wait_s: Longest wait for its completion, s.
            confirm_s: Longest wait for its confirmation, s.

        Returns:
            Whether it was confirmed, and what completes it, if that came.
        """
        confirmed, found = False, list[dict[str, str]]()
        self._frames = FrameReader()

        async def framing(reader: asyncio.StreamReader) -> bytes:
            nonlocal confirmed
            try:
                async with asyncio.timeout(min(confirm_s, wait_s)) as limit:
                    began_s = asyncio.get_running_loop().time()
                    while not found:
                        frame = await self._frames.read(reader)
                        if frame.get("id") != request["id"]:
                            self.strays += 1
                        elif frame.get("message_type") == CONFIRMED:
                            confirmed = True
                            limit.reschedule(began_s + wait_s)
                        else:
                            found.append(_checked(frame, request))
            except TimeoutError:
                if self._frames.midway:
                    raise ValueError("half a frame") from None
            return b""

        await self._connection.exchange(
            encode_frame(request), framing, timeout_s=wait_s + _MARGIN_S
        )
        return confirmed, found[0] if found else None

    def _gap_s(self) -> float:
        """Return how long to wait before a request so that the server does not lose it, s."""
        self._careful = max(self._careful - 1, 0)
        return _GAP_S if self._careful else 0.0


async def uninterrupted(work: Coroutine[object, object, R]) -> R:
    """End an exchange though the task that asked is cancelled meanwhile.

    Args:
        work: The exchange, which is bounded in time.

    Returns:
        Its result.

    Raises:
        CancelledError: Once the exchange has ended.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as cause:
            cancelled = cause
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # what it met matters to nobody any more
        raise cancelled
    return task.result()


def _request(action: str, query: str = "") -> dict[str, str]:
    return {"id": str(uuid.uuid4()), "action": action, "query": query, "result": ""}


def _checked(frame: dict[str, str], request: dict[str, str]) -> dict[str, str]:
    if frame.get("action") != request["action"] or frame.get("message_type") != COMPLETED:
        raise ValueError(f"{frame} does not complete {request}")
    if "result" not in frame or "query" not in frame:
        raise ValueError(f"{frame} has no result")
    return frame


__all__ = ["MultiPyVuClient", "uninterrupted"]
