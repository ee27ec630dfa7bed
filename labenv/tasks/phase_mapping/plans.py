"""Orders in which to measure: the oracle that knows the truth, and plans that do not.

The oracle is greedy: each time the cell and hold that add most score. It believes what a firing of
that hold truly leaves, not what a noisy scan will say, so it is no strict upper bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.tasks.phase_mapping.atlas import agreement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from labenv.tasks.phase_mapping.atlas import MapGrid

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


class Choice(NamedTuple):
    """A cell and the number of a hold."""

    cell: int
    hold: int


def greedy_plan(
    grid: MapGrid, truth: Bools, by_hold: Bools, costs: Floats, budget: float
) -> Iterator[Choice]:
    """Yield the best next points, each for the map as the ones before leave it.

    Args:
        grid: The cells.
        truth: Labels of each cell, shape (cells, L).
        by_hold: What each hold truly shows in each cell, shape (H, cells, L).
        costs: Score that each hold costs in each cell, shape (H, cells).
        budget: Score that may be spent on costs.

    Yields:
        Choices, until none adds score or can be paid.
    """
    distance = np.round(grid.distances(grid.x, grid.temperature_k), 9)
    cells = len(grid.x)
    near, now = np.full(cells, np.inf), np.zeros(cells)
    agree = np.array([agreement(truth[:, None], shown[None]) for shown in by_hold])
    while True:
        closer = distance < near[:, None]  # (cell, candidate)
        gain = np.where(closer, agree - now[:, None], 0.0).mean(axis=1) - costs  # (H, candidate)
        gain[costs > budget] = -np.inf
        hold, cell = (int(i) for i in np.unravel_index(np.argmax(gain), gain.shape))
        if gain[hold, cell] <= 0.0:
            return
        budget -= float(costs[hold, cell])
        taken = closer[:, cell]
        near[taken], now[taken] = distance[taken, cell], agree[hold, taken, cell]
        yield Choice(cell, hold)


def space_filling_cells(grid: MapGrid) -> list[int]:
    """Return all cells, each as far as can be from those before; the middle is first."""
    distance = grid.distances(grid.x, grid.temperature_k)
    first = grid.cell_of(0.5, float(np.mean(grid.range_k)))
    order, near = [first], distance[:, first].copy()
    while len(order) < len(near):
        near[order[-1]] = -1.0
        order.append(int(np.argmax(near)))
        near = np.where(near < 0.0, near, np.minimum(near, distance[:, order[-1]]))
    return order


def boundary_cell(grid: MapGrid, measured: Sequence[tuple[int, Bools]]) -> int:
    """Return the cell to measure next to find boundaries, from what was measured alone.

    Args:
        grid: The cells.
        measured: Cells with the labels that were read there, at least one.

    Returns:
        The cell that lies between unlike labels, and far from both.
    """
    cells = np.array([cell for cell, _ in measured])
    labels = np.array([label for _, label in measured])
    distance = grid.distances(grid.x[cells], grid.temperature_k[cells])  # (cells, measured)
    order = np.argsort(distance, axis=1)[:, :3]
    unlike = 1.0 - agreement(labels[order[:, :1]], labels[order]).min(axis=1)
    value = distance.min(axis=1) * (0.25 + unlike)
    return int(np.argmax(value))


__all__ = ["Choice", "boundary_cell", "greedy_plan", "space_filling_cells"]
