"""Tokens are drawn as often as their probabilities say, and only where they may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from labenv.inference.engine.sampling import draw, penalise  # noqa: E402
from labenv.inference.protocol import SamplingParams  # noqa: E402

PROBABILITIES = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def frequencies(count: int = 4000, **params: Any) -> np.ndarray:
    logits = torch.log(torch.tensor(PROBABILITIES, dtype=torch.float32)).repeat(count, 1)
    given = [SamplingParams(**params)] * count
    tokens, _ = draw(logits, given, range(count), torch.Generator().manual_seed(1))
    return np.bincount(tokens.numpy(), minlength=5) / count


@pytest.mark.parametrize(
    ("params", "wanted"),
    [
        ({}, PROBABILITIES),
        ({"temperature": 0.5}, PROBABILITIES**2),
        ({"temperature": 2.0}, PROBABILITIES**0.5),
        ({"top_k": 2}, [0.4, 0.3, 0, 0, 0]),
        ({"top_p": 0.69}, [0.4, 0.3, 0, 0, 0]),
        ({"top_p": 0.71}, [0.4, 0.3, 0.15, 0, 0]),
        ({"top_k": 3, "top_p": 0.8}, [0.4, 0.3, 0, 0, 0]),
        ({"min_p": 0.3}, [0.4, 0.3, 0.15, 0, 0]),
        ({"top_k": 1}, [1, 0, 0, 0, 0]),
        ({"temperature": 0.0}, [1, 0, 0, 0, 0]),
        ({"sampling_seed": 5}, PROBABILITIES),
    ],
)
def test_tokens_come_as_often_as_they_should(params: dict[str, Any], wanted: Any) -> None:
    share = np.asarray(wanted, float) / np.sum(wanted)
    found = frequencies(**params)
    assert found == pytest.approx(share, abs=0.035)
    assert not found[share == 0].any()


def test_a_seeded_request_draws_the_same_whatever_runs_beside_it() -> None:
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(0))
    seeded, free = SamplingParams(sampling_seed=9), SamplingParams()
    alone, _ = draw(logits[1:2], [seeded], [7], torch.Generator().manual_seed(3))
    amid, _ = draw(logits, [free, seeded, free], [1, 7, 2], torch.Generator().manual_seed(4))
    assert alone[0] == amid[1]
    later = {int(draw(logits[1:2], [seeded], [i], torch.Generator())[0]) for i in range(30)}
    assert len(later) > 3  # other positions have other noise


def test_logprobs_are_after_temperature_and_before_what_is_cut() -> None:
    logits = torch.log(torch.tensor(PROBABILITIES, dtype=torch.float32))[None]
    _, cut = draw(logits, [SamplingParams(top_k=1)], [0], torch.Generator())
    assert cut[0].exp().numpy() == pytest.approx(PROBABILITIES, abs=1e-6)
    _, cold = draw(logits, [SamplingParams(temperature=0.5)], [0], torch.Generator())
    wanted = PROBABILITIES**2 / np.sum(PROBABILITIES**2)
    assert cold[0].exp().numpy() == pytest.approx(wanted, abs=1e-6)
    _, greedy = draw(logits, [SamplingParams(temperature=0.0)], [0], torch.Generator())
    assert greedy[0].exp().numpy() == pytest.approx(PROBABILITIES, abs=1e-6)


def test_a_token_that_may_not_be_is_never_drawn() -> None:
    logits = torch.full((200, 4), -torch.inf)
    logits[:, 2] = -50.0
    tokens, _ = draw(logits, [SamplingParams(temperature=2.0)] * 200, range(200), torch.Generator())
    assert set(tokens.tolist()) == {2}


def test_penalties_lower_what_was_drawn() -> None:
    logits = torch.tensor([2.0, -1.0, 0.5, 1.0])
    output = torch.tensor([0, 0, 1])
    counted = penalise(logits, SamplingParams(frequency_penalty=0.5, presence_penalty=0.1), output)
    assert counted.tolist() == pytest.approx([2.0 - 1.0 - 0.1, -1.0 - 0.5 - 0.1, 0.5, 1.0])
    again = penalise(logits, SamplingParams(repetition_penalty=2.0), output)
    assert again.tolist() == pytest.approx([1.0, -2.0, 0.5, 1.0])
    assert penalise(logits, SamplingParams(), output) is logits
