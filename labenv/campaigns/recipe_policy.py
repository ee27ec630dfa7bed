"""A policy that replays a list of published recipes in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv.policies import Policy
from labenv_schemas.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labenv.tasks import Task
    from labenv_schemas.campaign import Recipe
    from labenv_schemas.outcome import Outcome, Score
    from labenv_schemas.proposal import Proposal


class RecipePolicy(Policy):
    """Proposes the recipes one after the other and learns nothing.

    Args:
        recipes: What to replay.
    """

    def __init__(self, recipes: Sequence[Recipe]) -> None:
        self._recipes = tuple(recipes)
        self._next = 0

    def reset(self, task: Task, seed: int) -> None:
        """Begin with the first recipe; task and seed change nothing."""
        del task, seed
        self._next = 0

    def propose(self, pending: Sequence[Proposal] = ()) -> Proposal:
        """Return the next recipe.

        Args:
            pending: Proposals in flight; they change nothing.

        Returns:
            Its plan.

        Raises:
            PolicyError: After the last one.
        """
        del pending
        if self._next >= len(self._recipes):
            raise PolicyError("all recipes have been replayed")
        self._next += 1
        return self._recipes[self._next - 1].proposal

    def observe(self, proposal: Proposal, outcome: Outcome, score: Score) -> None:
        """Take no note."""
        del proposal, outcome, score
