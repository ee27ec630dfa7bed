"""A mixture of experts from transformers, fed piece by piece, with its routing told.

Every router of these architectures returns (logits, weights, indices); a hook takes the indices.
Layers are counted as the model counts them, dense ones too, which have no router.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from labenv.inference.engine import paged_attention
from labenv.inference.engine.paged_attention import Pass
from labenv.inference.replay import RoutingShape
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from labenv.inference.engine.kv_pool import KvPool
    from labenv.inference.engine.paged_attention import Piece

KNOWN = ("qwen3_moe", "olmoe", "mixtral", "deepseek_v3")


class MoeModel:
    """A model that can be fed pieces of several sequences at once.

    Args:
        model: Of transformers, of a `KNOWN` type; its attention is replaced.

    Attributes:
        config: Of the model.
        shape: Of its routing.
    """

    def __init__(self, model: Any) -> None:  # noqa: ANN401 - transformers has no types
        if model.config.model_type not in KNOWN:
            raise ConfigError(
                f"models of type {model.config.model_type!r} are not known here; there are "
                f"{', '.join(KNOWN)}"
            )
        paged_attention.register()
        model.eval().requires_grad_(requires_grad=False)
        model.set_attn_implementation(paged_attention.NAME)
        self.model, self.config = model, model.config
        self._routers = _routers(model)
        self.shape = _shape(model.config, self._routers)
        self._pass: list[Pass | None] = [None]
        self._indices: dict[int, torch.Tensor] = {}
        for module in model.modules():
            if hasattr(module, "layer_idx") and hasattr(module, "scaling"):
                module.labenv_pass = self._pass
        for layer, router in self._routers.items():
            router.register_forward_hook(self._taker(layer))

    @classmethod
    def load(cls, folder: Path, dtype: torch.dtype = torch.float32) -> MoeModel:
        """Load a model from a folder.

        Args:
            folder: As `save_pretrained` leaves it.
            dtype: Of the weights.

        Returns:
            The model.

        Raises:
            ConfigError: If the folder holds no such model.
        """
        try:
            config = AutoConfig.from_pretrained(folder, local_files_only=True)
            found = AutoModelForCausalLM.from_pretrained(
                folder, config=config, dtype=dtype, local_files_only=True
            )
        except (OSError, ValueError) as error:
            raise ConfigError(f"{folder} holds no model that can be loaded: {error}") from None
        return cls(found)

    def _taker(self, layer: int) -> Any:  # noqa: ANN401 - a hook
        def take(_: Any, __: Any, output: Any) -> None:  # noqa: ANN401
            self._indices[layer] = output[2]

        return take

    @torch.inference_mode()
    def feed(
        self,
        pool: KvPool,
        pieces: Sequence[Piece],
        tokens: NDArray[np.int64],
        positions: NDArray[np.int64],
        *,
        version: int = 0,
        all_logits: bool = False,
    ) -> torch.Tensor:
        """Feed tokens; their keys, values, routing and version are in their slots afterwards.

        Args:
            pool: The slots.
            pieces: What is fed, by sequence.
            tokens: Of all pieces, one after the other, shape (T,).
            positions: Their positions in their sequences, shape (T,).
            version: Number of the weights.
            all_logits: Whether logits of every token are wanted, not only of each piece's last.

        Returns:
            Logits in float32, shape (pieces or T, vocabulary).
        """
        self._pass[0] = Pass(pool, pieces)
        self._indices.clear()
        hidden = self.model.model(
            input_ids=torch.from_numpy(tokens)[None],
            position_ids=torch.from_numpy(positions)[None],
            cache=self._pass[0],
            use_cache=True,
        ).last_hidden_state[0]
        fed = np.concatenate([piece.slots[-piece.new :] for piece in pieces])
        for layer, indices in self._indices.items():
            rows = indices.reshape(len(fed), -1).numpy()
            pool.routing[fed, layer] = rows.astype(pool.routing.dtype)
        pool.version[fed] = version
        if not all_logits:
            hidden = hidden[np.cumsum([piece.new for piece in pieces]) - 1]
        logits: torch.Tensor = self.model.lm_head(hidden)
        return logits.float()


def _routers(model: Any) -> dict[int, torch.nn.Module]:  # noqa: ANN401
    """Return the routers by number of their layer."""
    found: dict[int, torch.nn.Module] = {}
    for layer, block in enumerate(model.model.layers):
        for module in block.modules():
            if type(module).__name__.endswith(("TopKRouter", "TopkRouter")):
                found[layer] = module
    return found


def _shape(config: Any, routers: dict[int, torch.nn.Module]) -> RoutingShape:  # noqa: ANN401
    if not routers:
        raise ConfigError("the model has no layer with experts")
    first: Any = next(iter(routers.values()))
    experts = int(first.weight.shape[0])
    layers = int(config.num_hidden_layers)
    dense = frozenset(set(range(layers)) - set(routers))
    return RoutingShape(layers, int(config.num_experts_per_tok), experts, dense)


__all__ = ["KNOWN", "MoeModel"]
