"""From a ledger to observations: a flat Dict of float32 Boxes, all within their bounds.

===================== =========== ==================================================================
key                   shape       content
===================== =========== ==================================================================
budget_left           (3,)        share of experiments, lab time and cost left; 1 where unlimited
lab_time_h            (1,)        lab clock, hours
cost                  (1,)        cost of the results received, in the lab's currency
pending               (F(2+n),)   in flight (0 or 1), hours since submission, parameters; F times
last_outcome          (6,)        one-hot: none, ok, invalid, failed_machine, failed_chemistry,
                                  cancelled
last_fit              (4,)        one-hot: none, ok, poor_fit, unidentified
last_quality          (2,)        weighted profile residual, goodness of fit
last_fractions        (K,)        measured weight fractions, in the order of the task's phases
last_uncertainties    (K,)        their standard uncertainties
last_parameters       (n,)        the proposal that gave the last result
last_score            (2,)        whether it was scored, the score
best_score            (1,)        best score of the episode
best_parameters       (n,)        the proposal that gave it
history               (H(3+n),)   present, scored, score, parameters; H times, newest first
===================== =========== ==================================================================

F is the number of places in flight (`parallelism`), H the number of results remembered (`history`),
n the number of parameters and K the number of phases. Parameters are points of the unit cube
(`ProposalSpace`); a plan from outside the space, handed in by `propose`, shows as zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from gymnasium import spaces

from labenv.envs.ledger import FITS, FREE, OUTCOMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.envs.ledger import Ledger, LedgerShape
    from labenv_schemas.task import Budget

    Floats = NDArray[np.float64]
    Observation = dict[str, NDArray[np.float32]]

LONGEST_H = 1e6
DEAREST = 1e9
WORST_FIT = 1e3
_OUTCOME_ROWS, _FIT_ROWS = np.eye(len(OUTCOMES)), np.eye(len(FITS))
_WORST_QUALITY = np.array([1.0, WORST_FIT])


def observation_space(shape: LedgerShape) -> spaces.Space[Observation]:
    """Return the space of one episode's observations.

    Args:
        shape: Sizes.

    Returns:
        A flat Dict of Boxes with finite bounds.
    """
    n, phases = shape.parameters, shape.phases
    pending_high = np.ones((shape.parallelism, 2 + n), dtype=np.float32)
    pending_high[:, 1] = LONGEST_H
    boxes: dict[str, spaces.Space[object]] = {
        "budget_left": _box(1.0, 3),
        "lab_time_h": _box(LONGEST_H, 1),
        "cost": _box(DEAREST, 1),
        "pending": spaces.Box(
            np.zeros(pending_high.size, dtype=np.float32), pending_high.ravel(), dtype=np.float32
        ),
        "last_outcome": _box(1.0, len(OUTCOMES)),
        "last_fit": _box(1.0, len(FITS)),
        "last_quality": spaces.Box(
            np.zeros(2, dtype=np.float32),
            np.array([1.0, WORST_FIT], dtype=np.float32),
            dtype=np.float32,
        ),
        "last_fractions": _box(1.0, phases),
        "last_uncertainties": _box(1.0, phases),
        "last_parameters": _box(1.0, n),
        "last_score": _box(1.0, 2),
        "best_score": _box(1.0, 1),
        "best_parameters": _box(1.0, n),
    }
    if shape.history:
        boxes["history"] = _box(1.0, shape.history * (3 + n))
    return cast("spaces.Space[Observation]", spaces.Dict(boxes))


def observe(ledger: Ledger, budget: Budget) -> Observation:
    """Return the observations of all episodes.

    Args:
        ledger: N episodes.
        budget: What each may spend.

    Returns:
        New arrays, each with a leading axis of N.
    """
    flying = ledger.flight != FREE
    pending = np.empty((*flying.shape, 2 + ledger.shape.parameters))
    pending[..., 0] = flying
    waited_h = (ledger.now_s[:, None] - ledger.flight_since_s) * flying / 3600.0
    pending[..., 1] = np.minimum(waited_h, LONGEST_H)
    pending[..., 2:] = ledger.flight_unit
    arrays: dict[str, Floats] = {
        "budget_left": budget_left(ledger, budget),
        "lab_time_h": np.minimum(ledger.now_s[:, None] / 3600.0, LONGEST_H),
        "cost": np.minimum(ledger.cost[:, None], DEAREST),
        "pending": pending.reshape(len(pending), -1),
        "last_outcome": _OUTCOME_ROWS[ledger.last[:, 0].astype(np.int64)],
        "last_fit": _FIT_ROWS[ledger.last[:, 1].astype(np.int64)],
        "last_quality": np.minimum(ledger.last[:, 2:4], _WORST_QUALITY),
        "last_fractions": ledger.last_phases[:, 0],
        "last_uncertainties": np.minimum(ledger.last_phases[:, 1], 1.0),
        "last_parameters": ledger.last_unit,
        "last_score": ledger.last[:, [5, 4]],
        "best_score": ledger.best[:, None],
        "best_parameters": ledger.best_unit,
    }
    if ledger.shape.history:
        arrays["history"] = ledger.history.reshape(len(pending), -1)
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def budget_left(ledger: Ledger, budget: Budget) -> Floats:
    """Return what share of each limit is left.

    Args:
        ledger: N episodes.
        budget: What each may spend.

    Returns:
        Shares of experiments, lab time and cost, 0 to 1, shape (N, 3); 1 where there is no limit.
    """
    left = np.ones((len(ledger.now_s), 3))
    limits = (budget.experiments, budget.lab_time_s, budget.cost)
    spent = (ledger.submitted, ledger.now_s, ledger.cost)
    for column, (limit, used) in enumerate(zip(limits, spent, strict=True)):
        if limit is not None:
            left[:, column] = np.maximum((limit - used) / limit, 0.0)
    return left


def _box(high: float, *shape: int) -> spaces.Box:
    return spaces.Box(0.0, high, shape, dtype=np.float32)
