"""A client of any server with OpenAI's chat completions, and SGLang's extras where it has them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from labenv.inference.client.transport import Transport
from labenv.inference.errors import InferenceError
from labenv.inference.protocol.chat import ChatReply
from labenv.inference.protocol.reading import parse_reply
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from labenv.inference.protocol.chat import ChatRequest


class ChatClient:
    """One server.

    A server that is not SGLang's knows no abort; a cancelled request closes its connection, which
    most servers take for one.

    Args:
        url: Up to and without ``/v1``, such as ``"http://127.0.0.1:8000"``.
        api_key: Sent as a bearer token.
        max_concurrency: Requests under way at once; others wait here.
        probe_path: What is asked for a sign of life during a long answer.
        **transport: Of `Transport`.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        max_concurrency: int = 256,
        probe_path: str = "/v1/models",
        **transport: Any,  # noqa: ANN401 - those of Transport
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"backend {url!r} is no URL; write http://host:port")
        headers = {} if api_key is None else {"authorization": f"Bearer {api_key}"}
        url = url.rstrip("/").removesuffix("/v1")
        self._transport = Transport(url, headers=headers, probe_path=probe_path, **transport)
        self._places = asyncio.Semaphore(max_concurrency)

    async def __aenter__(self) -> ChatClient:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Send a conversation and return the answer.

        Args:
            request: The conversation, without `stream`.

        Returns:
            The answer.

        Raises:
            ConfigError: If a stream is asked for.
            BackendError: If the server refuses.
            BackendUnavailableError: If it does not answer.
            InferenceError: If the answer is not of the protocol.
        """
        if request.stream:
            raise ConfigError("chat returns whole answers; leave stream out")
        path = "/v1/chat/completions"
        body = request.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        body["messages"] = [
            one.model_dump(mode="json", exclude_none=True) for one in request.messages
        ]
        async with self._places, self._transport.generation(path, body) as answer:
            content = await self._transport.read(answer)
        try:
            found = json.loads(content)
        except ValueError as error:
            raise InferenceError(f"{self._transport.url}{path} answered no JSON: {error}") from None
        return parse_reply(ChatReply, found, f"{self._transport.url}{path}")


__all__ = ["ChatClient"]
