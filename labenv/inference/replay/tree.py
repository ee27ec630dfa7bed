"""Trajectories that share beginnings: branches, compacted histories, retokenised text.

An agent's history is not always one growing text. It is tried again from an earlier turn, shortened
to a summary, or comes back in other tokens than were sampled. Each request goes on from the branch
that shares most of its prompt; where it shares less than all of a branch, a new one begins there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv.inference.replay.ledger import TrajectoryLedger

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from labenv.inference.replay.checks import RoutingShape
    from labenv.inference.replay.growing import Spill


class TrajectoryTree:
    """All branches of one conversation.

    Args:
        shape: Of the model's routing.
        spill: Where rows go that do not stay in memory; None keeps all there.

    Attributes:
        branches: The trajectories, in the order in which they began.
    """

    def __init__(self, shape: RoutingShape, *, spill: Spill | None = None) -> None:
        self.shape, self._spill = shape, spill
        self.branches: list[TrajectoryLedger] = []

    def for_prompt(self, input_ids: Sequence[int] | NDArray[np.integer]) -> TrajectoryLedger:
        """Return the trajectory that a prompt goes on from; `ask` it for the request.

        Args:
            input_ids: The whole prompt.

        Returns:
            The branch that is a prefix of the prompt, the longest of them; else a new branch from
            the one that shares most, or from nothing.
        """
        shared = [(ledger.common(input_ids), ledger) for ledger in self.branches]
        whole = [(len(ledger), ledger) for count, ledger in shared if count == len(ledger)]
        if whole:
            return max(whole, key=lambda one: one[0])[1]
        count, nearest = max(shared, key=lambda one: one[0], default=(0, None))
        if nearest is None or count == 0:
            new = TrajectoryLedger(self.shape, spill=self._spill)
        else:
            new = nearest.branch(count)
        self.branches.append(new)
        return new


__all__ = ["TrajectoryTree"]
