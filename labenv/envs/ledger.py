"""What an episode knows: one row an episode, the same arrays for the single and the vector env.

The ledger holds only what a policy may see (budget, clock, what was asked for, what was measured).
It is filled by `submit` and `settle` and read by `observation.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from labenv_schemas.analysis import AnalysisStatus
from labenv_schemas.outcome import OutcomeStatus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

OUTCOMES: tuple[str, ...] = ("none", *get_args(OutcomeStatus))
FITS: tuple[str, ...] = ("none", *get_args(AnalysisStatus))
FREE = -1


@dataclass(frozen=True)
class LedgerShape:
    """Sizes of a ledger.

    Attributes:
        parameters: Parameters of a proposal, n.
        phases: Phases that an analysis may find, K.
        parallelism: Proposals in flight at most, F.
        history: Results remembered, H.
    """

    parameters: int
    phases: int
    parallelism: int
    history: int


class ResultRows(NamedTuple):
    """Results of M different episodes, one each.

    Attributes:
        rows: Episodes, shape (M,), without repetition.
        experiment: Index of the experiment within its episode, shape (M,).
        outcome: Index into `OUTCOMES`, shape (M,).
        fit: Index into `FITS`, shape (M,).
        fractions: Measured weight fractions, shape (M, K).
        uncertainties: Their standard uncertainties, shape (M, K).
        quality: Weighted profile residual and goodness of fit, shape (M, 2).
        value: Score, 0 where there is none, shape (M,).
        scored: Whether there is a score, shape (M,).
        reward: Reward, shape (M,).
        cost: In the lab's currency, shape (M,).
        success: Whether the goal is reached, shape (M,).
    """

    rows: Ints
    experiment: Ints
    outcome: Ints
    fit: Ints
    fractions: Floats
    uncertainties: Floats
    quality: Floats
    value: Floats
    scored: Bools
    reward: Floats
    cost: Floats
    success: Bools


class Ledger:
    """State of N episodes that a policy may see.

    Args:
        shape: Sizes.
        count: Number of episodes, N.

    Attributes:
        submitted: Proposals handed in, shape (N,).
        now_s: Lab clock, s, shape (N,).
        cost: Cost of the results received, shape (N,).
        best: Best score, shape (N,); 0 before the first.
        total: Sum of the rewards, shape (N,).
        success: Whether a result reached the goal, shape (N,).
        failed_machine: Whether a machine failed, shape (N,).
        flight: Index of the experiment in each place in flight, `FREE` for none, shape (N, F).
        flight_since_s: Lab clock at its submission, s, shape (N, F).
        flight_unit: Its point of the unit cube, shape (N, F, n).
        last: Columns outcome, fit, r_wp, goodness of fit, score, scored of the last result, (N, 6).
        last_phases: Fractions and uncertainties of the last result, shape (N, 2, K).
        last_unit: Its point, shape (N, n).
        best_unit: Point of the best result, shape (N, n).
        history: Columns present, scored, score, then the point; newest first, shape (N, H, 3 + n).
    """

    def __init__(self, shape: LedgerShape, count: int) -> None:
        self.shape = shape
        n, places = shape.parameters, shape.parallelism
        self.submitted = np.zeros(count, dtype=np.int64)
        self.now_s = np.zeros(count)
        self.cost = np.zeros(count)
        self.best = np.zeros(count)
        self.total = np.zeros(count)
        self.success = np.zeros(count, dtype=np.bool_)
        self.failed_machine = np.zeros(count, dtype=np.bool_)
        self.flight = np.full((count, places), FREE, dtype=np.int64)
        self.flight_since_s = np.zeros((count, places))
        self.flight_unit = np.zeros((count, places, n))
        self.last = np.zeros((count, 6))
        self.last_phases = np.zeros((count, 2, shape.phases))
        self.last_unit = np.zeros((count, n))
        self.best_unit = np.zeros((count, n))
        self.history = np.zeros((count, shape.history, 3 + n))

    def clear(self, rows: Ints | Bools) -> None:
        """Begin new episodes in some rows."""
        for name, array in self.__dict__.items():
            if isinstance(array, np.ndarray):
                array[rows] = FREE if name == "flight" else 0

    @property
    def in_flight(self) -> Ints:
        """Number of proposals in flight, shape (N,)."""
        return np.asarray(np.sum(self.flight != FREE, axis=1))

    def submit(self, rows: Ints, units: Floats) -> tuple[Ints, Ints]:
        """Note a proposal handed in by each of some episodes.

        Args:
            rows: The episodes, shape (M,), each with a free place.
            units: Points of the unit cube, shape (M, n).

        Returns:
            Index of each experiment within its episode, and its place in flight, each shape (M,).
        """
        place = np.argmax(self.flight[rows] == FREE, axis=1)
        index = self.submitted[rows]
        self.flight[rows, place] = index
        self.flight_since_s[rows, place] = self.now_s[rows]
        self.flight_unit[rows, place] = units
        self.submitted[rows] = index + 1
        return index, place

    def settle(self, results: ResultRows) -> None:
        """Note a result received by each of some episodes, and free its place.

        Args:
            results: The results; each experiment is in flight.
        """
        rows = results.rows
        place = np.argmax(self.flight[rows] == results.experiment[:, None], axis=1)
        unit = self.flight_unit[rows, place]
        self.flight[rows, place] = FREE
        self.flight_since_s[rows, place] = 0.0
        self.flight_unit[rows, place] = 0.0
        self.cost[rows] += results.cost
        self.total[rows] += results.reward
        self.success[rows] |= results.success
        self.failed_machine[rows] |= results.outcome == OUTCOMES.index("failed_machine")
        last = np.empty((len(rows), 6))
        last[:, 0], last[:, 1], last[:, 2:4] = results.outcome, results.fit, results.quality
        last[:, 4], last[:, 5] = results.value, results.scored
        self.last[rows] = last
        self.last_phases[rows, 0] = results.fractions
        self.last_phases[rows, 1] = results.uncertainties
        self.last_unit[rows] = unit
        better = results.scored & (results.value > self.best[rows])
        self.best[rows[better]] = results.value[better]
        self.best_unit[rows[better]] = unit[better]
        if self.shape.history:
            history = self.history[rows]
            history[:, 1:] = history[:, :-1].copy()
            history[:, 0, 0], history[:, 0, 1] = 1.0, results.scored
            history[:, 0, 2], history[:, 0, 3:] = results.value, unit
            self.history[rows] = history
