"""Policy `sobol`: proposals from a scrambled Sobol sequence, which fills the space evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.policies.base import SpacePolicy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.tasks.task import Task

    Floats = NDArray[np.float64]


class SobolPolicy(SpacePolicy):
    """Takes the points of a scrambled Sobol sequence in order.

    Choices and ordered numbers take equal shares of their axis.

    Source:
        Sobol, USSR Comput. Math. Math. Phys. 7, 86 (1967); scrambling: Owen, J. Complexity 14, 466
        (1998), as in `scipy.stats.qmc`.
    """

    def reset(self, task: Task, seed: int) -> None:
        """Forget everything and begin a new sequence.

        Args:
            task: The task.
            seed: Of the scrambling.
        """
        from scipy.stats import qmc

        super().reset(task, seed)
        self._sequence = qmc.Sobol(task.space.n, scramble=True, rng=self._generator)

    def _choose(self, waiting: list[Floats], taken: set[tuple[float, ...]]) -> Floats:
        del waiting
        unit = self._next()
        for _ in range(self._ATTEMPTS):
            if self.space.key(unit) not in taken:
                break
            unit = self._next()
        return unit

    def _next(self) -> Floats:
        return np.asarray(self._sequence.random(1)[0], dtype=np.float64)


create = SobolPolicy
