"""Where keys, values and routing of tokens lie: one slot a token, in any order.

Routing lies beside the key and value of its token and shares its fate. So rows of a prefix that is
found in the cache are those of whoever computed it, and cost nothing to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.inference.replay import RoutingShape


class SlotsExhaustedError(Exception):
    """There are not as many free slots; something must be given up first."""


class KvPool:
    """Slots for the tokens of all sequences.

    Args:
        slots: How many tokens fit.
        shape: Of the model's routing.

    Attributes:
        routing: Ids of experts by slot, shape (slots, layers, experts a token).
        version: Number of the weights that each slot was computed under, shape (slots,).
    """

    def __init__(self, slots: int, shape: RoutingShape) -> None:
        self.slots = slots
        self.routing: NDArray[np.uint8 | np.uint16]
        self.routing = np.zeros((slots, shape.layers, shape.top_k), shape.dtype)
        self.version = np.full(slots, -1, np.int32)
        self._keys: list[torch.Tensor | None] = [None] * shape.layers
        self._values: list[torch.Tensor | None] = [None] * shape.layers
        self._free = np.arange(slots - 1, -1, -1, dtype=np.int64)
        self._free_count = slots

    @property
    def free(self) -> int:
        """How many slots are free."""
        return self._free_count

    def take(self, count: int) -> NDArray[np.int64]:
        """Take free slots.

        Args:
            count: How many.

        Returns:
            Their numbers, shape (count,).

        Raises:
            SlotsExhaustedError: If there are fewer.
        """
        if count > self._free_count:
            raise SlotsExhaustedError(f"{count} slots of {self._free_count} that are free")
        self._free_count -= count
        return self._free[self._free_count : self._free_count + count].copy()

    def give_back(self, slots: NDArray[np.int64]) -> None:
        """Give slots back.

        Args:
            slots: Their numbers; none twice.
        """
        self._free[self._free_count : self._free_count + len(slots)] = slots
        self._free_count += len(slots)

    def write(
        self, layer: int, slots: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> None:
        """Put keys and values of some tokens into their slots.

        Args:
            layer: Number of the layer.
            slots: Shape (T,).
            keys: Shape (T, heads, key size).
            values: Shape (T, heads, value size).
        """
        kept_keys, kept_values = self._keys[layer], self._values[layer]
        if kept_keys is None or kept_values is None:  # the sizes are known only now
            kept_keys = torch.zeros((self.slots, *keys.shape[1:]), dtype=keys.dtype)
            kept_values = torch.zeros((self.slots, *values.shape[1:]), dtype=values.dtype)
            self._keys[layer], self._values[layer] = kept_keys, kept_values
        kept_keys.index_copy_(0, slots, keys)
        kept_values.index_copy_(0, slots, values)

    def read(self, layer: int, slots: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return keys and values of some slots.

        Args:
            layer: Number of the layer.
            slots: Any shape S.

        Returns:
            Shapes (*S, heads, key size) and (*S, heads, value size).

        Raises:
            LookupError: If nothing was written to the layer.
        """
        keys, values = self._keys[layer], self._values[layer]
        if keys is None or values is None:
            raise LookupError(f"layer {layer} has no keys yet")
        flat = slots.reshape(-1)
        return (
            keys.index_select(0, flat).view(*slots.shape, *keys.shape[1:]),
            values.index_select(0, flat).view(*slots.shape, *values.shape[1:]),
        )


__all__ = ["KvPool", "SlotsExhaustedError"]
