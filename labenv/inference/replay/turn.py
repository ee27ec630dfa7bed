"""A request, its answer, as a trajectory takes them in; and where routing rows come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from labenv.inference.errors import ReplayError
from labenv.inference.protocol import decode_rows
from labenv.inference.protocol.generation import FinishAbort

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from labenv.inference.protocol import GenerateReply, WeightVersionSpan
    from labenv.inference.replay.checks import RoutingShape


class RowSource(IntEnum):
    """How the server came by a row.

    `DECODE` rows are what really chose the next token. `PREFILL` rows were computed from the text,
    `CACHE` rows by whoever filled that place of the cache, maybe under older weights, and
    `RECOMPUTED` rows stand where a retracted request was computed again: they need not be the
    routing that the token was sampled with. `MISSING` rows were never told.
    """

    MISSING = 0
    DECODE = 1
    PREFILL = 2
    CACHE = 3
    RECOMPUTED = 4


@dataclass(frozen=True)
class Asked:
    """A request that goes on from what a ledger holds.

    Attributes:
        held: Tokens of the prompt that the ledger held, which are its first ones.
        new_ids: Tokens of the prompt after those.
    """

    held: int
    new_ids: Sequence[int]

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt."""
        return self.held + len(self.new_ids)

    @property
    def start_len(self) -> int:
        """The ``routed_experts_start_len`` to send: the last token held has no row yet."""
        return max(0, self.held - 1)


@dataclass(frozen=True)
class Turn:
    """One answered request.

    Attributes:
        asked: The request.
        output_ids: Tokens sampled.
        logprobs: Of the tokens sampled; empty if they were not asked for.
        rows: Routing, shape (N, layers, top_k); None if the reply had none.
        versions: Which output tokens were sampled under which weights.
        weight_version: The version at the end, where there are no spans.
        cached_tokens: Prompt tokens whose cache was there already.
        retractions: How often the request lost its cache and was computed again.
        aborted: Whether it was ended early.
    """

    asked: Asked
    output_ids: Sequence[int]
    logprobs: Sequence[float | None] = ()
    rows: NDArray[np.integer] | None = None
    versions: Sequence[WeightVersionSpan] = field(default=())
    weight_version: str | None = None
    cached_tokens: int = 0
    retractions: int = 0
    aborted: bool = False

    @classmethod
    def of(cls, reply: GenerateReply, asked: Asked, shape: RoutingShape) -> Turn:
        """Return the turn that a reply tells of.

        Args:
            reply: The whole reply; of a stream, its last event.
            asked: What was asked; replies do not repeat from which row.
            shape: Of the model's routing.

        Returns:
            The turn.

        Raises:
            ReplayError: If the routing cannot be read, or there are not as many log-probabilities
                as tokens.
        """
        meta = reply.meta_info
        logprobs = [one.logprob for one in meta.output_token_logprobs or ()]
        if logprobs and len(logprobs) != len(reply.output_ids):
            raise ReplayError(
                f"{len(logprobs)} log-probabilities came with {len(reply.output_ids)} tokens"
            )
        text = meta.routed_experts
        return cls(
            asked=asked,
            output_ids=reply.output_ids,
            logprobs=logprobs,
            rows=None if text is None else decode_rows(text, shape.layers, shape.top_k),
            versions=meta.weight_versions or (),
            weight_version=meta.weight_version,
            cached_tokens=meta.cached_tokens or 0,
            retractions=meta.num_retractions or 0,
            aborted=isinstance(meta.finish_reason, FinishAbort),
        )


__all__ = ["Asked", "RowSource", "Turn"]
