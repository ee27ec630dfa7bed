"""A client of one server that speaks SGLang's protocol."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from labenv.inference.client.transport import Transport
from labenv.inference.errors import BackendError, InferenceError
from labenv.inference.protocol import (
    AbortRequest,
    BeginWeightUpdate,
    ContinueGeneration,
    EndWeightUpdate,
    GenerateReply,
    ModelInfo,
    PauseGeneration,
    PauseMode,
    UpdateReply,
    UpdateWeightsFromDisk,
    UpdateWeightsFromTensor,
)
from labenv.inference.protocol.reading import parse_reply
from labenv.inference.request_ids import new_request_id
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from labenv.inference.protocol import GenerateRequest
    from labenv.inference.protocol.wire import WireModel

_ABORT_S = 5.0
_UPDATE_S = 3600.0


class InferenceClient:
    """One server.

    Use it as ``async with InferenceClient(url) as client``. Whoever is cancelled while a generation
    runs, or leaves a stream early, has it aborted on the server too.

    Args:
        url: Such as ``"http://127.0.0.1:30000"``.
        max_concurrency: Generations under way at once; others wait here.
        headers: Sent with every call, such as an API key.
        **transport: Of `Transport`.

    Attributes:
        url: Of the server.
        running: Generations under way.
    """

    def __init__(
        self,
        url: str,
        *,
        max_concurrency: int = 256,
        headers: Mapping[str, str] | None = None,
        **transport: Any,  # noqa: ANN401 - those of Transport
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"backend {url!r} is no URL; write http://host:port")
        if max_concurrency < 1:
            raise ConfigError(f"max_concurrency must be at least 1, not {max_concurrency}")
        self._transport = Transport(url, headers=headers, **transport)
        self.url = self._transport.url
        self._places = asyncio.Semaphore(max_concurrency)
        self.running = 0

    async def __aenter__(self) -> InferenceClient:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    # ------------------------------------------------------------------------- generating

    async def generate(self, request: GenerateRequest) -> GenerateReply:
        """Generate and return the whole answer.

        Args:
            request: One prompt; without `rid` it gets one.

        Returns:
            The answer. A generation that somebody aborted is one too; its reason says so.

        Raises:
            BackendError: If the server refuses the request.
            BackendUnavailableError: If it does not answer; the generation may have run.
            InferenceError: If the answer is not of the protocol.
        """
        body = _body(request, stream=False)
        async with self._under_way(body), self._transport.generation("/generate", body) as answer:
            content = await self._transport.read(answer)
        try:
            reply = json.loads(content)
        except ValueError as error:
            raise InferenceError(f"{self.url}/generate answered no JSON: {error}") from None
        return parse_reply(GenerateReply, reply, f"{self.url}/generate")

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[GenerateReply]:
        """Generate and yield what there is so far, again and again.

        Args:
            request: One prompt; without `rid` it gets one.

        Yields:
            Events; `output_ids` of each are all tokens so far, unless the server was started to
            send the new ones only. Routing comes with the last.

        Raises:
            BackendError: If the server refuses the request, also where it says so in an event.
            BackendUnavailableError: If it stops answering.
            InferenceError: If an event is not of the protocol.
        """
        body = _body(request, stream=True)
        async with (
            self._under_way(body),
            self._transport.generation("/generate", body) as answer,
            aclosing(self._transport.events(answer)) as events,  # type: ignore[type-var]
        ):
            async for event in events:
                if "error" in event:
                    raise BackendError(f"{self.url}/generate: {event['error']}", status=400)
                yield parse_reply(GenerateReply, event, f"{self.url}/generate")

    @asynccontextmanager
    async def _under_way(self, body: Mapping[str, Any]) -> AsyncGenerator[None]:
        # Whatever ends the block early aborts the request on the server.
        async with self._places:
            self.running += 1
            try:
                yield
            except (asyncio.CancelledError, GeneratorExit):
                await _despite_cancellation(self._abort_quietly(body["rid"]))
                raise
            finally:
                self.running -= 1

    async def _abort_quietly(self, rid: str) -> None:
        try:
            async with asyncio.timeout(_ABORT_S):
                await self.abort(rid)
        except (InferenceError, TimeoutError):
            return  # a server that cannot be told aborts when it sees that the connection is closed

    # ------------------------------------------------------------------------- control

    async def abort(self, rid: str) -> None:
        """Abort every request whose id begins with one; a request that is over is no error.

        Args:
            rid: The id.

        Raises:
            ConfigError: If it is empty, which would abort all.
        """
        if not rid:
            raise ConfigError("an empty id is the beginning of every id; use abort_all")
        await self._post("/abort_request", AbortRequest(rid=rid))

    async def abort_all(self) -> None:
        """Abort every request of the server, whoever sent it."""
        await self._post("/abort_request", AbortRequest(abort_all=True))

    async def pause(self, mode: PauseMode = "abort") -> None:
        """Stop generating at the next token.

        Args:
            mode: ``"abort"`` ends what runs, ``"retract"`` computes it again later, ``"in_place"``
                keeps it.
        """
        await self._post("/pause_generation", PauseGeneration(mode=mode), reply_s=_UPDATE_S)

    async def resume(self) -> None:
        """Go on generating."""
        await self._post("/continue_generation", ContinueGeneration())

    async def flush_cache(self, timeout_s: float | None = None) -> bool:
        """Empty the prefix cache.

        Args:
            timeout_s: How long the server may wait for running requests, s.

        Returns:
            Whether it is empty; False where requests hold it.
        """
        query = "" if timeout_s is None else f"?timeout={timeout_s:g}"
        answer = await self._transport.call(
            "POST", f"/flush_cache{query}", good=frozenset({200, 400})
        )
        return answer.status_code == 200

    async def update_weights_from_disk(
        self, model_path: str, *, version: str, flush_cache: bool = False
    ) -> UpdateReply:
        """Load other weights.

        Args:
            model_path: Folder that the server can read.
            version: Name of the weights.
            flush_cache: Whether the prefix cache is emptied too. Only with nothing under way: with
                requests held in place SGLang would change the weights and say that it failed.

        Returns:
            What the server says.

        Raises:
            BackendError: If it could not load them; it goes on with the old ones.
        """
        body = UpdateWeightsFromDisk(
            model_path=model_path, weight_version=version, flush_cache=flush_cache
        )
        return await self._update("/update_weights_from_disk", body)

    async def update_weights_from_tensor(
        self, serialized: Sequence[str], *, version: str, flush_cache: bool = False
    ) -> UpdateReply:
        """Load weights that are sent along, between the beginning and the end of an update.

        Args:
            serialized: Named tensors in base64, one text for each rank.
            version: Name of the weights.
            flush_cache: As of `update_weights_from_disk`.

        Returns:
            What the server says.
        """
        await self._post("/begin_weight_update", BeginWeightUpdate())
        body = UpdateWeightsFromTensor(
            serialized_named_tensors=list(serialized),
            weight_version=version,
            flush_cache=flush_cache,
        )
        try:
            return await self._update("/update_weights_from_tensor", body)
        finally:
            await _despite_cancellation(self._post("/end_weight_update", EndWeightUpdate()))

    async def model_info(self) -> ModelInfo:
        """Return what is served, and the version of its weights."""
        answer = await self._transport.call("GET", "/model_info")
        return parse_reply(ModelInfo, answer.json(), f"{self.url}/model_info")

    async def server_info(self) -> dict[str, Any]:
        """Return what the server says of itself."""
        answer = await self._transport.call("GET", "/server_info")
        return dict(answer.json())

    async def is_healthy(self) -> bool:
        """Return whether the server can generate; SGLang tries one token."""
        return await self._is_good("/health")

    async def is_ready(self) -> bool:
        """Return whether the server takes requests; a paused one does not."""
        return await self._is_good("/ready")

    async def _is_good(self, path: str) -> bool:
        try:
            await self._transport.call("GET", path, repeatable=False)
        except BackendError:
            return False
        return True

    async def _update(self, path: str, body: WireModel) -> UpdateReply:
        answer = await self._transport.call(
            "POST", path, body.model_dump(exclude_none=True), repeatable=False, reply_s=_UPDATE_S
        )
        reply = parse_reply(UpdateReply, answer.json(), f"{self.url}{path}")
        if not reply.success:
            raise BackendError(f"{self.url}{path}: {reply.message}", status=answer.status_code)
        return reply

    async def _post(self, path: str, body: WireModel, *, reply_s: float | None = None) -> None:
        await self._transport.call("POST", path, body.model_dump(), reply_s=reply_s)


async def _despite_cancellation(work: Any) -> None:  # noqa: ANN401 - a coroutine
    # Is finished also while this task is being cancelled.
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise


def _body(request: GenerateRequest, *, stream: bool) -> dict[str, Any]:
    if isinstance(request.sampling_params, list) or isinstance(request.text, list):
        raise ConfigError("send one prompt a request; several at once share no retry and no abort")
    rid = request.rid or new_request_id()
    body = request.model_dump(exclude_none=True, exclude_defaults=True)
    params = request.sampling_params.model_dump(exclude_none=True, exclude_defaults=True)
    return {**body, "sampling_params": params, "rid": rid, "stream": stream}


__all__ = ["InferenceClient"]
