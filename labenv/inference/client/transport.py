"""Calls to one server over HTTP/1.1: what is retried, what is waited for, what an answer means.

A call is sent again only if it cannot have been carried out, or if carrying it out twice is the
same as once. A generation that was sent is never sent again by itself: it may still run.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx

from labenv.inference.errors import BackendError, BackendUnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_REFUSED = frozenset({429, 503})  # the server is full or paused, and has not begun
_KEEP_ALIVE_S = 2.0  # below the 5 s after which uvicorn closes: else requests meet a closing socket
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_LONGEST_TEXT = 300


class Transport:
    """One server.

    Args:
        url: Such as ``"http://127.0.0.1:30000"``.
        tries: How often a call is tried that may be sent again.
        reply_s: Longest wait for the reply to a call that is not a generation, s.
        connect_s: Longest wait for a connection, s.
        probe_s: How often a server is asked for a sign of life during a generation, s.
        probe_path: What it is asked.
        headers: Sent with every call.
    """

    def __init__(  # noqa: PLR0913 - each by name
        self,
        url: str,
        *,
        tries: int = 4,
        reply_s: float = 60.0,
        connect_s: float = 5.0,
        probe_s: float = 20.0,
        probe_path: str = "/model_info",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._tries, self._reply_s = tries, reply_s
        self._probe_s, self._probe_path = probe_s, probe_path
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers=dict(headers or {}),
            timeout=httpx.Timeout(reply_s, connect=connect_s, pool=None),
            limits=httpx.Limits(max_connections=None, keepalive_expiry=_KEEP_ALIVE_S),
            trust_env=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        repeatable: bool = True,
        reply_s: float | None = None,
        good: frozenset[int] = frozenset({200}),
    ) -> httpx.Response:
        """Make a call and wait for its whole answer.

        Args:
            method: Of HTTP.
            path: Such as ``"/model_info"``.
            body: Sent as JSON.
            repeatable: Whether doing it twice is the same as once.
            reply_s: Longest wait for the reply, s; the transport's own by default.
            good: Statuses that are answers.

        Returns:
            The answer.

        Raises:
            BackendError: If the server refuses or fails.
            BackendUnavailableError: If it does not answer.
        """
        timeout = httpx.Timeout(reply_s or self._reply_s, connect=5.0, pool=None)
        pause_s, left = _FIRST_PAUSE_S, self._tries
        while True:
            left -= 1
            try:
                answer = await self._http.request(method, path, json=body, timeout=timeout)
            except httpx.HTTPError as error:
                if not left or not (repeatable or isinstance(error, _NOT_SENT)):
                    raise self._unavailable(path, error) from error
            except RuntimeError as error:  # of a client that was closed
                raise self._unavailable(path, error) from error
            else:
                if answer.status_code in good:
                    return answer
                if not left or answer.status_code not in _REFUSED:
                    raise self.refused(path, answer.status_code, answer.content)
            await asyncio.sleep(pause_s)
            pause_s = min(2.0 * pause_s, _LONGEST_PAUSE_S)

    @asynccontextmanager
    async def generation(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[httpx.Response]:
        """Send a generation and wait, as long as the server lives, for the head of its answer.

        Args:
            path: Such as ``"/generate"``.
            body: Sent as JSON.
            headers: Sent with it.

        Yields:
            The answer; its content is still to be read.

        Raises:
            BackendError: If the server refuses.
            BackendUnavailableError: If it does not answer, or stops to.
        """
        pause_s = _FIRST_PAUSE_S
        for left in reversed(range(self._tries)):
            request = self._http.build_request(
                "POST", path, json=body, headers=dict(headers or {}),
                timeout=httpx.Timeout(None, connect=5.0),
            )  # fmt: skip
            try:
                answer = await self._alive(self._http.send(request, stream=True), path)
            except _NOT_SENT as error:
                if not left:
                    raise self._unavailable(path, error) from error
            except (httpx.HTTPError, RuntimeError) as error:
                raise self._unavailable(path, error) from error
            else:
                try:
                    if answer.status_code == 200:
                        yield answer
                        return
                    content = await answer.aread()
                    if not left or answer.status_code not in _REFUSED:
                        raise self.refused(path, answer.status_code, content)
                finally:
                    await answer.aclose()
            await asyncio.sleep(pause_s)
            pause_s = min(2.0 * pause_s, _LONGEST_PAUSE_S)

    async def read(self, answer: httpx.Response) -> bytes:
        """Read the rest of an answer, as long as the server lives.

        Args:
            answer: The answer.

        Returns:
            Its content.

        Raises:
            BackendUnavailableError: If the connection breaks.
        """
        path = answer.request.url.path
        try:
            return bytes(await self._alive(answer.aread(), path))
        except httpx.HTTPError as error:
            raise self._unavailable(path, error) from error

    async def events(self, answer: httpx.Response) -> AsyncIterator[Any]:
        """Read an answer's server-sent events.

        Args:
            answer: The answer.

        Yields:
            The JSON of each event, until ``[DONE]``.

        Raises:
            BackendUnavailableError: If the connection breaks, or the stream ends too early.
        """
        path, lines = answer.request.url.path, answer.aiter_lines()
        while True:
            try:
                line = await self._alive(anext(lines), path)
            except StopAsyncIteration:
                raise BackendUnavailableError(
                    f"{self.url}{path}: the stream ended before its end was told"
                ) from None
            except httpx.HTTPError as error:
                raise self._unavailable(path, error) from error
            if not line.startswith("data:"):
                continue
            text = line.removeprefix("data:").strip()
            if text == "[DONE]":
                return
            yield json.loads(text)

    async def _alive(self, waiting: Any, path: str) -> Any:  # noqa: ANN401 - whatever is awaited
        """Wait for something of a generation, and look now and then whether the server lives.

        Returns:
            What was waited for.

        Raises:
            BackendUnavailableError: If it does not.
        """
        task = asyncio.ensure_future(waiting)
        try:
            while True:
                done, _ = await asyncio.wait({task}, timeout=self._probe_s)
                if done:
                    return task.result()
                try:
                    await self._http.get(self._probe_path, timeout=self._reply_s)
                except httpx.HTTPError as error:
                    if not task.done():
                        raise BackendUnavailableError(
                            f"{self.url}{path}: the server gave no sign of life while it was "
                            f"waited for ({type(error).__name__})"
                        ) from error
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def refused(self, path: str, status: int, content: bytes) -> BackendError:
        """Return the error for an answer that is a refusal.

        Args:
            path: What was called.
            status: Of HTTP.
            content: The answer's.
        """
        return BackendError(
            f"{self.url}{path} answered {status}: {_said(content)}",
            status=status,
            retryable=status in _REFUSED,
        )

    def _unavailable(self, path: str, error: Exception) -> BackendUnavailableError:
        what = str(error) or type(error).__name__
        return BackendUnavailableError(
            f"{self.url}{path}: {what}; is the server running there?",
            retryable=isinstance(error, _NOT_SENT),
        )


def _said(content: bytes) -> str:
    """Return what an error's body says, whichever of the usual forms it has."""
    text = content.decode("utf-8", "replace")
    try:
        found = json.loads(text)
    except ValueError:
        return text[:_LONGEST_TEXT] or "nothing more"
    for key in ("error", "message", "detail"):
        if isinstance(found, dict) and key in found:
            inner = found[key]
            inner = inner.get("message", inner) if isinstance(inner, dict) else inner
            return str(inner)[:_LONGEST_TEXT]
    return text[:_LONGEST_TEXT]


__all__ = ["Transport"]
