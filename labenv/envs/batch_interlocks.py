"""Which plans of a space the lab refuses, for many rows at once.

The lab's interlocks (`labenv.lab.interlocks`) judge one `Proposal`. Within a task's space what they
refuse is heat: for given powders and gas there is a highest temperature. It is found once for each
combination by asking the interlocks, and kept. A test compares with the interlocks on random plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv.lab.interlocks import check_proposal
from labenv_schemas.errors import ProposalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.lab.bench import Bench
    from labenv.tasks.space import ProposalSpace

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


class BatchInterlocks:
    """Answers for a space and a bench, remembering what it has asked.

    Args:
        space: Its blueprint names the parameter that is limited and those that set the limit.
        bench: The chemical system and its shelf.
    """

    def __init__(self, space: ProposalSpace, bench: Bench) -> None:
        blueprint = space.batch_blueprint()
        self._space = space
        self._bench = bench
        self._limited = space.names.index(blueprint.limited_parameter)
        self._setting = [space.names.index(name) for name in blueprint.limiting_parameters]
        self._limits: dict[tuple[float, ...], float] = {}
        self._messages: dict[tuple[float, ...], str] = {}

    def refused(self, values: Floats) -> Bools:
        """Return which plans the lab refuses.

        Args:
            values: Rows of parameter values, shape (N, n).

        Returns:
            True where refused, shape (N,).
        """
        settings = [tuple(row) for row in values[:, self._setting].tolist()]
        for row, setting in enumerate(settings):
            if setting not in self._limits:
                self._limits[setting] = self._find_limit(values[row])
        limits = np.array([self._limits[setting] for setting in settings])
        return np.asarray(values[:, self._limited] > limits)

    def message(self, values: Floats) -> str:
        """Return what the lab says to a plan that it refuses.

        Args:
            values: One row, shape (n,).

        Returns:
            The message; empty if the plan is not refused.
        """
        key = (*values[self._setting].tolist(), float(values[self._limited]))
        if key not in self._messages:
            self._messages[key] = self._ask(values)
        return self._messages[key]

    def _find_limit(self, values: Floats) -> float:
        """Return the highest value that is let through with these settings."""
        parameter = self._space.parameters[self._limited]
        tried = parameter.from_unit(np.linspace(0.0, 1.0, 4001))
        grid = np.unique(tried)
        row = values.copy()

        def passes(value: float) -> bool:
            row[self._limited] = value
            return not self._ask(row)

        if passes(grid[-1]):
            return np.inf
        low, high = -1, len(grid) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if passes(grid[middle]) else (low, middle)
        return float(grid[low]) if low >= 0 else -np.inf

    def _ask(self, values: Floats) -> str:
        try:
            check_proposal(self._space.decode(values), self._bench)
        except ProposalError as error:
            return str(error)
        return ""
