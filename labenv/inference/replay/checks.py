"""What routing rows must be before anybody trains on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.inference.errors import ReplayError
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISSING = -1  # what stands in a row that is not known


@dataclass(frozen=True)
class RoutingShape:
    """The mixture of experts that rows belong to.

    Attributes:
        layers: Hidden layers, dense ones among them; a row has a place for each, by its number.
        top_k: Experts a token.
        experts: Experts a layer, shared ones not counted.
        dense_layers: Numbers of the layers without experts, which have zeros.
    """

    layers: int
    top_k: int
    experts: int
    dense_layers: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if self.layers < 1 or not 1 <= self.top_k <= self.experts:
            raise ConfigError(
                f"{self.layers} layers with {self.top_k} of {self.experts} experts are no mixture"
            )
        if self.experts > 65_535:
            raise ConfigError(f"{self.experts} experts a layer are more than 65535")
        if not self.dense_layers <= set(range(self.layers)):
            raise ConfigError(f"dense layers {sorted(self.dense_layers)} of {self.layers}")

    @property
    def dtype(self) -> type[np.uint8 | np.uint16]:
        """The smallest type that holds every id and, as its largest number, a missing one."""
        return np.uint8 if self.experts <= 255 else np.uint16

    @property
    def sparse_layers(self) -> NDArray[np.int64]:
        """Numbers of the layers with experts."""
        return np.array([i for i in range(self.layers) if i not in self.dense_layers], np.int64)


def check_rows(rows: NDArray[np.integer], shape: RoutingShape, first: int) -> None:
    """Refuse rows that no forward pass of the model can have given.

    Args:
        rows: Ids of experts, shape (N, layers, top_k); a row of -1 is not known.
        shape: The model's.
        first: Position of the first row, for messages.

    Raises:
        ReplayError: If rows have another shape, an id is none, an expert stands twice in a row, or
            all rows of a layer with experts are zero, as where a pipeline stage was left out.
    """
    if rows.ndim != 3 or rows.shape[1:] != (shape.layers, shape.top_k):
        raise ReplayError(
            f"rows have shape {rows.shape}, not (N, {shape.layers}, {shape.top_k}); the model has "
            "other layers or experts a token"
        )
    if not len(rows):
        return
    low, high = int(rows.min()), int(rows.max())
    if low < MISSING or high >= shape.experts:
        bad = low if low < MISSING else high
        at = int(np.argwhere(rows == bad)[0][0])
        raise ReplayError(
            f"the row of token {first + at} names expert {bad} of {shape.experts}; ids must be "
            "those of the model's own experts, shared and physical ones not counted"
        )
    sparse = rows[:, shape.sparse_layers]
    if shape.top_k == 1 or not sparse.size:
        return
    dead = ~sparse.any(axis=(0, 2))
    if dead.any():
        layer = int(shape.sparse_layers[int(np.argmax(dead))])
        raise ReplayError(
            f"every row of layer {layer} is zero, from token {first} on; the server did not "
            "collect that layer (a pipeline stage left out?), or it is dense and was not said to be"
        )
    ordered = np.sort(sparse, axis=2)
    twice = (ordered[:, :, 1:] == ordered[:, :, :-1]) & (ordered[:, :, 1:] != MISSING)
    if twice.any():
        at, layer, _ = np.argwhere(twice)[0]
        raise ReplayError(
            f"the row of token {first + int(at)} names an expert twice in layer "
            f"{int(shape.sparse_layers[layer])}: {sparse[at, layer].tolist()}"
        )


__all__ = ["MISSING", "RoutingShape", "check_rows"]
