"""Policy `random`: every proposal drawn evenly from the task's space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv.policies.base import SpacePolicy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class RandomPolicy(SpacePolicy):
    """Draws proposals evenly: numbers in their (logarithmic) range, choices with equal chance."""

    def _choose(self, waiting: list[Floats], taken: set[tuple[float, ...]]) -> Floats:
        del waiting
        unit = self._generator.random(self.space.n)
        for _ in range(self._ATTEMPTS):
            if self.space.key(unit) not in taken:
                break
            unit = self._generator.random(self.space.n)
        return unit


create = RandomPolicy
