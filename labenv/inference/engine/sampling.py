"""Drawing tokens: penalties, temperature, top-k, top-p, min-p, seeds.

The log-probability of a token is that after penalties and temperature and before what is cut off,
as SGLang gives it; of a greedy request it is that at temperature 1. A seeded request draws the same
tokens whatever else runs: its noise is made from its seed and the token's position alone.

Source:
    SGLang 0.5.23, ``srt/layers/sampler.py`` (order and log-probabilities); Gumbel-max drawing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labenv.inference.protocol import SamplingParams

_PRIME = 1_000_003


def penalise(logits: torch.Tensor, params: SamplingParams, output: torch.Tensor) -> torch.Tensor:
    """Return logits after penalties for tokens that were drawn already.

    Args:
        logits: Shape (vocabulary,).
        params: Of the request.
        output: Tokens drawn so far, shape (n,).

    Returns:
        Shape (vocabulary,); the same tensor where there is nothing to penalise.
    """
    plain = params.frequency_penalty == params.presence_penalty == 0.0
    if not len(output) or (plain and params.repetition_penalty == 1.0):
        return logits
    counts = torch.bincount(output, minlength=len(logits)).to(logits.dtype)
    seen = counts > 0
    found = logits - params.frequency_penalty * counts - params.presence_penalty * seen
    again = torch.where(
        found > 0, found / params.repetition_penalty, found * params.repetition_penalty
    )
    return torch.where(seen, again, found)


def draw(
    logits: torch.Tensor,
    params: Sequence[SamplingParams],
    positions: Sequence[int],
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw a token for each sequence.

    Args:
        logits: After penalties, shape (B, vocabulary), float32; -inf where a token may not be.
        params: Of each sequence.
        positions: Of the token that is drawn, in each sequence.
        generator: Noise of sequences without a seed.

    Returns:
        Tokens, shape (B,), and log-probabilities of all tokens, shape (B, vocabulary).
    """
    heat = torch.tensor([one.temperature or 1.0 for one in params], dtype=logits.dtype)
    logprobs = torch.log_softmax(logits / heat[:, None], dim=-1)
    tokens = torch.argmax(logits, dim=-1)
    for row, one in enumerate(params):
        if one.temperature == 0.0 or one.top_k == 1:
            continue
        kept = _cut(logprobs[row], one)
        tokens[row] = torch.argmax(kept + _gumbel(kept.shape, one, positions[row], generator))
    return tokens, logprobs


def _cut(logprobs: torch.Tensor, params: SamplingParams) -> torch.Tensor:
    """Return log-probabilities with -inf for tokens that top-k, top-p and min-p leave out."""
    kept = logprobs
    if params.min_p > 0.0:
        least = float(kept.max()) + float(torch.log(torch.tensor(params.min_p)))
        kept = kept.masked_fill(kept < least, -torch.inf)
    if params.top_k > 0 or params.top_p < 1.0:
        ordered, where = torch.sort(logprobs, descending=True)
        out = torch.zeros(len(kept), dtype=torch.bool)
        if params.top_k > 0:
            out[params.top_k :] = True
        if params.top_p < 1.0:  # the token that reaches the share is still in
            share = torch.softmax(ordered.masked_fill(out, -torch.inf), dim=-1)
            out |= torch.cumsum(share, dim=-1) - share >= params.top_p
        kept = kept.masked_fill(torch.zeros_like(out).scatter(0, where, out), -torch.inf)
    return kept


def _gumbel(
    shape: torch.Size, params: SamplingParams, position: int, generator: torch.Generator
) -> torch.Tensor:
    if params.sampling_seed is not None:
        generator = torch.Generator()
        generator.manual_seed((params.sampling_seed * _PRIME + position) % 2**63)
    uniform = torch.rand(shape, generator=generator).clamp_min(1e-20)
    return -torch.log((-torch.log(uniform)).clamp_min(1e-20))


__all__ = ["draw", "penalise"]
