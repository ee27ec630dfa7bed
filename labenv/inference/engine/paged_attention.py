"""Attention over slots: tokens of several sequences in one pass, each sees its own past.

transformers lets an attention function and a cache be put in; these two share one `Pass`. New keys
and values go to their slots, then every sequence reads its context from the slots. Sequences that
get one token each (decoding) are done together, padded to the longest; longer pieces (prefill) one
by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from transformers import AttentionInterface

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from labenv.inference.engine.kv_pool import KvPool

NAME = "labenv_slots"


@dataclass(frozen=True)
class Piece:
    """Tokens of one sequence that are fed in one pass.

    Attributes:
        slots: Slots of the sequence, those of the new tokens last, shape (context,).
        new: How many tokens are new.
    """

    slots: NDArray[np.int64]
    new: int


class Pass:
    """What one forward pass is about, for attention and cache; it stands in for the cache.

    Args:
        pool: The slots.
        pieces: What is fed, in order.
    """

    is_compileable = False

    def __init__(self, pool: KvPool, pieces: Sequence[Piece]) -> None:
        self._pool, self.pieces = pool, pieces
        fed = [torch.from_numpy(piece.slots[-piece.new :]) for piece in pieces]
        self._fed = torch.cat(fed)
        self._decoding = all(piece.new == 1 for piece in pieces)
        longest = max(len(piece.slots) for piece in pieces)
        if self._decoding:
            self._table = torch.zeros((len(pieces), longest), dtype=torch.int64)
            seen = torch.zeros((len(pieces), 1, 1, longest), dtype=torch.bool)
            for row, piece in enumerate(pieces):
                self._table[row, : len(piece.slots)] = torch.from_numpy(piece.slots)
                seen[row, :, :, : len(piece.slots)] = True
            self._seen = seen

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Return 0: positions are given with every pass."""
        del layer_idx
        return 0

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, **_: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Put new keys and values into their slots.

        Args:
            keys: Shape (1, heads, T, key size).
            values: Shape (1, heads, T, value size).
            layer_idx: Number of the layer.
            **_: What else a model passes.

        Returns:
            The same, for `attend` to take no notice of.
        """
        self._pool.write(layer_idx, self._fed, keys[0].transpose(0, 1), values[0].transpose(0, 1))
        return keys, values

    def attend(
        self,
        module: Any,  # noqa: ANN401 - each model has a class of its own
        query: torch.Tensor,
        scaling: float,
    ) -> torch.Tensor:
        """Return attention of new tokens.

        Args:
            module: The layer's attention, of transformers.
            query: Shape (heads, T, key size).
            scaling: Factor of the scores.

        Returns:
            Shape (T, heads, value size).
        """
        if self._decoding:
            keys, values = self._read(module, self._table)
            found = _attention(
                query.transpose(0, 1).unsqueeze(2), keys, values, scaling, mask=self._seen
            )
            return found[:, :, 0]
        parts, at = [], 0
        for piece in self.pieces:
            keys, values = self._read(module, torch.from_numpy(piece.slots)[None])
            context = len(piece.slots)
            mask = torch.ones((piece.new, context), dtype=torch.bool).tril(context - piece.new)
            one = query[None, :, at : at + piece.new]
            parts.append(_attention(one, keys, values, scaling, mask=mask)[0].transpose(0, 1))
            at += piece.new
        return torch.cat(parts)

    def _read(
        self,
        module: Any,  # noqa: ANN401
        slots: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values, shape (B, heads, context, size), of slots, shape (B, context)."""
        keys, values = self._pool.read(module.layer_idx, slots)
        keys, values = keys.transpose(1, 2), values.transpose(1, 2)
        if hasattr(module, "expand_kv"):  # multi-head latent attention keeps latents
            keys, values = module.expand_kv(keys, values)
        return keys, values


def _attention(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scaling: float,
    *,
    mask: torch.Tensor,
) -> torch.Tensor:
    return functional.scaled_dot_product_attention(
        query,
        keys,
        values,
        attn_mask=mask,
        scale=scaling,
        enable_gqa=query.shape[1] != keys.shape[1],
    )


def _attention_function(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float,
    **_: object,
) -> tuple[torch.Tensor, None]:
    current: Pass = module.labenv_pass[0]  # type: ignore[index,assignment]
    return current.attend(module, query[0], scaling)[None], None


def register() -> None:
    """Make the attention known to transformers under `NAME`; it makes no mask for such a one."""
    AttentionInterface.register(NAME, _attention_function)


__all__ = ["NAME", "Pass", "Piece", "register"]
