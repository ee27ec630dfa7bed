"""From actions to points of the proposal space, and which actions can still be done in time."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import numpy as np
from gymnasium import spaces

from labenv_schemas.errors import ConfigError, ProposalError

if TYPE_CHECKING:
    from gymnasium.spaces import Space
    from numpy.typing import ArrayLike, NDArray

    from labenv.tasks.space import ProposalSpace

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

ActionType = Literal["discrete", "continuous"]
TOLERANCE = 1e-6  # what rounding to float32 may leave outside [-1, 1]


def action_space(space: ProposalSpace, action_type: ActionType) -> Space[NDArray[np.generic]]:
    """Return the action space of one environment.

    Args:
        space: The task's proposals.
        action_type: "discrete" for a level of each parameter (MultiDiscrete), "continuous" for
            numbers in [-1, 1] (Box), where a choice takes an equal share of its axis.

    Returns:
        The space.

    Raises:
        ConfigError: If the type is neither.
    """
    if action_type == "discrete":
        return spaces.MultiDiscrete(space.nvec)
    if action_type == "continuous":
        return spaces.Box(-1.0, 1.0, (space.n,), dtype=np.float32)
    raise ConfigError(f"action_type must be 'discrete' or 'continuous', not {action_type!r}")


def read_actions(
    space: ProposalSpace, action_type: ActionType, actions: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the parameter values that actions ask for.

    Args:
        space: The task's proposals.
        action_type: Of the action space.
        actions: Shape (N, n).

    Returns:
        Values, and where they lie in the unit cube, each shape (N, n).

    Raises:
        ProposalError: If an action lies outside the action space.
    """
    if action_type == "discrete":
        levels = np.asarray(actions)
        if levels.dtype.kind not in "iu":
            raise ProposalError(f"a discrete action is {space.n} integers, got {levels.dtype}")
        return space.values_from_levels(levels), space.unit_from_levels(levels)
    given = np.asarray(actions)
    if given.dtype.kind not in "iuf":
        raise ProposalError(
            f"a continuous action is {space.n} numbers in [-1, 1], got {given.dtype}"
        )
    numbers = given.astype(np.float64)
    outside = ~(np.abs(numbers) <= 1.0 + TOLERANCE)  # a NaN is outside too
    if outside.any():
        where = tuple(np.argwhere(outside)[0])
        name = space.names[where[-1]] if numbers.shape[-1] == space.n else "an action"
        raise ProposalError(
            f"{name}: {numbers[where]:g} lies outside [-1, 1]; a continuous action is {space.n} "
            "numbers there"
        )
    values = space.values_from_unit((numbers + 1.0) / 2.0)
    return values, space.unit_from_values(values)


def read_rows(
    space: ProposalSpace, action_type: ActionType, actions: ArrayLike, rows: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return the parameter values that actions of some episodes ask for.

    Args:
        space: The task's proposals.
        action_type: Of the action space.
        actions: Shape (N, n).
        rows: Which episodes they belong to, shape (N,).

    Returns:
        As `read_actions`.

    Raises:
        ProposalError: If an action lies outside the action space; the message names its episode.
    """
    array = np.asarray(actions)
    try:
        return read_actions(space, action_type, array)
    except ProposalError:
        for row, action in zip(rows.tolist(), array, strict=True):
            try:
                read_actions(space, action_type, action[None])
            except ProposalError as error:
                raise ProposalError(f"episode {row}: {error}") from None
        raise


def action_masks(space: ProposalSpace, left_s: Floats) -> Bools:
    """Return which levels of which parameter can still be finished in the lab time left.

    A level is masked if even with the quickest choice of everything else its plan takes longer. The
    quickest level of each parameter always stays, because something must be offered.

    Args:
        space: The task's proposals.
        left_s: Lab time left, s, shape (N,); infinite where there is no limit.

    Returns:
        True where allowed, shape (N, sum of levels), parameter after parameter.
    """
    shortest = _shortest_plan_s(space)
    masks = shortest[None, :] <= left_s[:, None]
    edges = np.concatenate([[0], np.cumsum(space.nvec)])
    for first, last in pairwise(edges.tolist()):
        masks[:, first + int(np.argmin(shortest[first:last]))] = True
    return masks


@lru_cache(maxsize=8)
def _shortest_plan_s(space: ProposalSpace) -> Floats:
    """Return the least time of a plan with each level of each parameter, s, shape (levels,)."""
    from labenv.lab.timing import operation_time

    def plan_s(levels: NDArray[np.int64]) -> float:
        plan = space.decode(space.values_from_levels(levels))
        return sum(operation_time(operation).duration_s for operation in plan.operations)

    quickest = np.zeros(space.n, dtype=np.int64)
    for k, count in enumerate(space.nvec):
        times = [plan_s(_with(quickest, k, level)) for level in range(count)]
        quickest[k] = int(np.argmin(times))
    return np.array([
        plan_s(_with(quickest, k, level))
        for k, count in enumerate(space.nvec)
        for level in range(count)
    ])


def _with(levels: NDArray[np.int64], k: int, level: int) -> NDArray[np.int64]:
    changed = levels.copy()
    changed[k] = level
    return changed
