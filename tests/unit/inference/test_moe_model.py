"""Pieces of several sequences give what transformers gives for each alone, and the same routing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from labenv.inference.engine.kv_pool import KvPool, SlotsExhaustedError  # noqa: E402
from labenv.inference.engine.moe_model import KNOWN, MoeModel  # noqa: E402
from labenv.inference.engine.paged_attention import Piece  # noqa: E402
from labenv_schemas.errors import ConfigError  # noqa: E402

COMMON: dict[str, Any] = {
    "vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
    "num_experts_per_tok": 2, "tie_word_embeddings": False,
}  # fmt: skip


def config(kind: str) -> Any:
    match kind:
        case "qwen3_moe":
            return transformers.Qwen3MoeConfig(
                **COMMON, head_dim=8, num_experts=8, moe_intermediate_size=24,
                norm_topk_prob=True, decoder_sparse_step=1, mlp_only_layers=[],
            )  # fmt: skip
        case "olmoe":
            return transformers.OlmoeConfig(**COMMON, num_experts=8)
        case "mixtral":
            return transformers.MixtralConfig(**COMMON, num_local_experts=8)
        case _:
            return transformers.DeepseekV3Config(
                **{**COMMON, "num_key_value_heads": 4}, n_routed_experts=8, n_shared_experts=1,
                moe_intermediate_size=24, first_k_dense_replace=1, n_group=2, topk_group=1,
                q_lora_rank=16, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=4,
                v_head_dim=6,
            )  # fmt: skip


def fresh(kind: str) -> Any:
    torch.manual_seed(3)
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_config(config(kind)).float().eval()
    for parameter in model.parameters():  # sharper, so that experts and tokens differ
        parameter.data.mul_(3.0) if parameter.ndim > 1 else None
    return model


def reference(model: Any, tokens: list[int]) -> tuple[Any, dict[int, np.ndarray]]:
    """Return transformers' own logits and routing of a whole text."""
    rows: dict[int, np.ndarray] = {}
    hooks = []
    for layer, block in enumerate(model.model.layers):
        for module in block.modules():
            if "router" in type(module).__name__.lower():

                def take(_: Any, __: Any, out: Any, layer: int = layer) -> None:
                    rows[layer] = out[2].reshape(len(tokens), -1).numpy().copy()

                hooks.append(module.register_forward_hook(take))
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0].float()
    for hook in hooks:
        hook.remove()
    return logits, rows


def texts() -> list[list[int]]:
    rng = np.random.default_rng(5)
    return [rng.integers(0, 97, size).tolist() for size in (19, 7, 31)]


@pytest.mark.parametrize("kind", KNOWN)
def test_chunks_batches_and_shared_beginnings_give_what_one_text_alone_gives(kind: str) -> None:
    plain = fresh(kind)
    wanted = [reference(plain, text) for text in texts()]
    model = MoeModel(fresh(kind))
    pool = KvPool(64, model.shape)
    slots = [pool.take(len(text)) for text in texts()]
    done = [0, 0, 0]
    # Chunks of several texts in one pass, then one token each, as decoding goes.
    for sizes in ((5, 3, 11), (9, 0, 7), *[(1, 1, 1)] * 4, (1, 0, 9)):
        taken = [i for i in range(3) if sizes[i]]
        pieces = [Piece(slots[i][: done[i] + sizes[i]], sizes[i]) for i in taken]
        tokens = [t for i in taken for t in texts()[i][done[i] : done[i] + sizes[i]]]
        places = [p for i in taken for p in range(done[i], done[i] + sizes[i])]
        logits = model.feed(pool, pieces, np.array(tokens), np.array(places), all_logits=True)
        at = 0
        for i in taken:
            new = logits[at : at + sizes[i]]
            assert torch.allclose(new, wanted[i][0][done[i] : done[i] + sizes[i]], atol=2e-5)
            at += sizes[i]
            done[i] += sizes[i]
    assert done == [19, 7, 31]
    for i in range(3):
        for layer, rows in wanted[i][1].items():
            assert np.array_equal(pool.routing[slots[i], layer], rows)
    # The first 12 tokens of the first text serve another one.
    other = [*texts()[0][:12], 5, 6, 7]
    tail = pool.take(3)
    piece = Piece(np.concatenate([slots[0][:12], tail]), 3)
    logits = model.feed(pool, [piece], np.array([5, 6, 7]), np.arange(12, 15), version=4)
    whole, rows = reference(fresh(kind), other)
    assert torch.allclose(logits[0], whole[-1], atol=2e-5)
    for layer, row in rows.items():
        assert np.array_equal(pool.routing[tail, layer], row[12:])
    assert pool.version[tail].tolist() == [4, 4, 4]
    assert pool.version[slots[0]].max() == 0


def test_dense_layers_are_told_and_have_no_routing() -> None:
    model = MoeModel(fresh("deepseek_v3"))
    assert model.shape.dense_layers == {0}
    assert (model.shape.layers, model.shape.top_k, model.shape.experts) == (3, 2, 8)
    pool = KvPool(8, model.shape)
    model.feed(pool, [Piece(pool.take(3), 3)], np.array([1, 2, 3]), np.arange(3))
    assert not pool.routing[:, 0].any()
    assert pool.routing[:, 1:].any()


def test_slots_are_taken_once_and_can_be_given_back() -> None:
    model_shape = MoeModel(fresh("mixtral")).shape
    pool = KvPool(5, model_shape)
    first = pool.take(3)
    second = pool.take(2)
    assert sorted([*first, *second]) == [0, 1, 2, 3, 4]
    with pytest.raises(SlotsExhaustedError):
        pool.take(1)
    pool.give_back(first)
    assert pool.free == 3
    assert sorted(pool.take(3)) == sorted(first)


def test_a_model_of_another_kind_and_a_folder_without_one_are_refused(tmp_path: Any) -> None:
    small = transformers.LlamaConfig(
        vocab_size=11, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2,
    )  # fmt: skip
    with pytest.raises(ConfigError, match="'llama' are not known"):
        MoeModel(transformers.AutoModelForCausalLM.from_config(small))
    with pytest.raises(ConfigError, match="holds no model"):
        MoeModel.load(tmp_path)


def test_a_saved_model_is_loaded(tmp_path: Any) -> None:
    plain = fresh("qwen3_moe")
    plain.save_pretrained(tmp_path)
    model = MoeModel.load(tmp_path)
    pool = KvPool(4, model.shape)
    logits = model.feed(pool, [Piece(pool.take(3), 3)], np.array([1, 2, 3]), np.arange(3))
    assert torch.allclose(logits[0], reference(plain, [1, 2, 3])[0][-1], atol=2e-5)
