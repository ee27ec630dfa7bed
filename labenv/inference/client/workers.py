"""Several servers of one model: which gets a request, and control calls to each of them.

A router passes generations on but knows no pause, no abort and no new weights, so those go to every
worker itself. Without a router the pool chooses: a session stays with its worker, whose cache holds
its beginning; a new one goes where most of its prompt is likely to be cached, unless that worker is
much busier than another.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from labenv.inference.client.client import InferenceClient
from labenv.inference.errors import BackendError, BackendUnavailableError
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from labenv.inference.protocol import GenerateReply, GenerateRequest, PauseMode

R = TypeVar("R")
_BLOCK = 64  # tokens by which prefixes are compared
_MOST_BLOCKS = 200_000  # remembered of each worker
_MOST_SESSIONS = 100_000
_AWAY_S = 10.0  # a worker that did not answer gets nothing for so long


@dataclass(slots=True)
class _Worker:
    client: InferenceClient
    blocks: OrderedDict[int, None] = field(default_factory=OrderedDict[int, None])
    away_until_s: float = 0.0

    def cached(self, prefixes: Sequence[int]) -> int:
        """Return how many first blocks this worker has probably cached."""
        for count, prefix in enumerate(prefixes):
            if prefix not in self.blocks:
                return count
        return len(prefixes)

    def remember(self, prefixes: Sequence[int]) -> None:
        for prefix in prefixes:
            self.blocks[prefix] = None
            self.blocks.move_to_end(prefix)
        while len(self.blocks) > _MOST_BLOCKS:
            self.blocks.popitem(last=False)


class WorkerPool:
    """Several servers.

    Args:
        urls: Of the workers, at least one.
        router: URL of a router before them that generations go through; None to choose here.
        imbalance: So many more generations under way than at the idlest worker are too many.
        **client: Of `InferenceClient`, for each.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        router: str | None = None,
        imbalance: int = 16,
        **client: Any,  # noqa: ANN401 - those of InferenceClient
    ) -> None:
        if not urls or len(set(urls)) != len(urls):
            raise ConfigError("a pool needs the URLs of its workers, each once")
        self._workers = [_Worker(InferenceClient(url, **client)) for url in urls]
        self._router = None if router is None else InferenceClient(router, **client)
        self._imbalance = imbalance
        self._sessions: OrderedDict[str, _Worker] = OrderedDict()

    async def __aenter__(self) -> WorkerPool:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        for worker in self._workers:
            await worker.client.close()
        if self._router is not None:
            await self._router.close()

    @property
    def urls(self) -> tuple[str, ...]:
        """Of the workers."""
        return tuple(worker.client.url for worker in self._workers)

    # ------------------------------------------------------------------------- generating

    async def generate(self, request: GenerateRequest) -> GenerateReply:
        """Generate at the worker that suits best.

        Args:
            request: One prompt; its `session_id` keeps requests of a conversation together.

        Returns:
            The answer.

        Raises:
            BackendError: If the server refuses the request.
            BackendUnavailableError: If no worker can be reached.
        """
        if self._router is not None:
            return await self._router.generate(request)
        prefixes = _prefixes(request)
        tried: set[str] = set()
        while True:
            worker = self._choose(request.session_id, prefixes, tried)
            try:
                reply = await worker.client.generate(request)
            except BackendUnavailableError as error:
                worker.away_until_s = time.monotonic() + _AWAY_S
                tried.add(worker.client.url)
                if not error.retryable or len(tried) == len(self._workers):
                    raise
                continue
            worker.remember(prefixes)
            return reply

    async def stream(self, request: GenerateRequest) -> AsyncGenerator[GenerateReply]:
        """Generate and yield what there is so far; a worker that fails is not replaced.

        Args:
            request: As of `generate`.

        Yields:
            Events.
        """
        prefixes = _prefixes(request)
        client = self._router or self._choose(request.session_id, prefixes, ()).client
        async for event in client.stream(request):
            yield event

    def _choose(
        self, session_id: str | None, prefixes: Sequence[int], tried: Sequence[str] | set[str]
    ) -> _Worker:
        now_s = time.monotonic()
        left = [worker for worker in self._workers if worker.client.url not in tried]
        here = [worker for worker in left if worker.away_until_s <= now_s] or left
        bound = self._sessions.get(session_id or "")
        if bound is not None and any(worker is bound for worker in here):
            self._sessions.move_to_end(session_id or "")
            return bound
        idlest = min(worker.client.running for worker in here)
        fit = [w for w in here if w.client.running <= idlest + self._imbalance]
        best = max(fit, key=lambda worker: (worker.cached(prefixes), -worker.client.running))
        if session_id:
            self._sessions[session_id] = best
            if len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return best

    # ------------------------------------------------------------------------- control

    async def abort(self, rid: str) -> None:
        """Abort a request, wherever it runs."""
        await self._each(lambda client: client.abort(rid))

    async def pause(self, mode: PauseMode = "abort") -> None:
        """Pause every worker."""
        await self._each(lambda client: client.pause(mode))

    async def resume(self) -> None:
        """Let every worker go on."""
        await self._each(lambda client: client.resume())

    async def flush_cache(self) -> bool:
        """Empty every worker's prefix cache.

        Returns:
            Whether all are empty.
        """
        flushed = await self._each(lambda client: client.flush_cache())
        for worker in self._workers:
            worker.blocks.clear()
        return all(flushed)

    async def update_weights_from_disk(
        self, model_path: str, *, version: str, mode: PauseMode = "in_place"
    ) -> None:
        """Pause every worker, give each the same new weights, and let all go on.

        Args:
            model_path: Folder that the servers can read.
            version: Name of the weights.
            mode: What becomes of running requests.

        Raises:
            BackendError: If a worker could not load them; it says which. Workers go on in any case.
        """
        try:
            await self.pause(mode)
            await self._each(
                lambda client: client.update_weights_from_disk(
                    model_path, version=version, flush_cache=mode != "in_place"
                )
            )
        finally:
            await self.resume()

    async def weight_versions(self) -> dict[str, str | None]:
        """Return the version that each worker has, by URL."""
        found = await self._each(lambda client: client.model_info())
        return {url: one.weight_version for url, one in zip(self.urls, found, strict=True)}

    async def _each(self, call: Callable[[InferenceClient], Awaitable[R]]) -> list[R]:
        """Call every worker at once.

        Returns:
            What each answered, in order.

        Raises:
            BackendError: If some failed; the others were called all the same.
        """
        clients = [worker.client for worker in self._workers]
        found = await asyncio.gather(*map(call, clients), return_exceptions=True)
        failed = [one for one in found if isinstance(one, BackendError)]
        other = [one for one in found if isinstance(one, BaseException) and one not in failed]
        if other:
            raise other[0]
        if failed:
            raise BackendError(
                f"{len(failed)} of {len(clients)} workers failed: {'; '.join(map(str, failed))}",
                status=failed[0].status,
            )
        return [one for one in found if not isinstance(one, BaseException)]


def _prefixes(request: GenerateRequest) -> list[int]:
    """Return a number for each beginning of the prompt, by whole blocks."""
    ids = request.input_ids
    if not ids or isinstance(ids[0], list):
        return []
    found, known = [], hash(request.cache_salt)
    for end in range(_BLOCK, len(ids) + 1, _BLOCK):
        known = hash((known, tuple(ids[end - _BLOCK : end])))
        found.append(known)
    return found


__all__ = ["WorkerPool"]
