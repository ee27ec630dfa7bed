"""When experiments of known durations start and end, for many labs at once.

The rules are those of `labenv.lab.executor`, in compiled code and without matter: first come, first
served at each kind of station, ties by order of submission, instants completed before anything is
seen from outside. The vector environment keeps its episodes' clocks with it; a test holds it to
`Lab` on random plans.

    schedule = BatchSchedule(count=64, slots=4, operations=12, stations=(1, 1, 1, 2, 1))
    schedule.submit(rows, slots, plans)          # one experiment for each of some labs
    ended = schedule.advance(rows)               # (M, slots): True where an experiment ended
    schedule.now_s[rows]                         # and when
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

EMPTY, WAITING, RUNNING, ENDED = 0, 1, 2, 3


class PlanTimes(NamedTuple):
    """Operations of M experiments, K places each.

    Attributes:
        kind: Kind of station of each operation, shape (M, K).
        duration_s: From its start until the sample goes on, s, shape (M, K).
        occupied_s: From its start until the station is free, s, shape (M, K).
        length: Number of operations, shape (M,); 0 for an experiment that ends at once.
    """

    kind: Ints
    duration_s: Floats
    occupied_s: Floats
    length: Ints


class Labs(NamedTuple):
    """State of N labs with S stations and F places of K operations, as the kernels see it.

    Attributes:
        kinds: Kind of each station, shape (S,).
        now_s: Clocks, s, shape (N,).
        slot: State, position in the plan, length of it, order of submission, shape (N, F, 4).
        kind: Kind of station of each operation, shape (N, F, K).
        time: Duration and occupation of each operation, s, shape (N, F, K, 2).
        queued_s: Since when each sample waits, s, shape (N, F).
        free_s: When each station is free, s, shape (N, S).
        inside: The place whose sample is in it, or -1, shape (N, S).
        start_s: When each operation started, s, shape (N, F, K).
        end_s: When it ends, s, shape (N, F, K).
    """

    kinds: Ints
    now_s: Floats
    slot: Ints
    kind: Ints
    time: Floats
    queued_s: Floats
    free_s: Floats
    inside: Ints
    start_s: Floats
    end_s: Floats


class BatchSchedule:
    """Clocks, queues and stations of N labs.

    Args:
        count: Labs, N.
        slots: Experiments in flight in each at most, F.
        operations: Operations of a plan at most, K.
        stations: Number of stations of each kind.
    """

    def __init__(
        self, count: int, slots: int, operations: int, stations: Sequence[int] = (1, 1, 1, 2, 1)
    ) -> None:
        kinds = np.repeat(np.arange(len(stations)), stations)
        places, each = (count, slots, operations), (count, len(kinds))
        self._labs = Labs(
            kinds=kinds,
            now_s=np.zeros(count),
            slot=np.zeros((count, slots, 4), dtype=np.int64),
            kind=np.zeros(places, dtype=np.int64),
            time=np.zeros((*places, 2)),
            queued_s=np.zeros((count, slots)),
            free_s=np.zeros(each),
            inside=np.full(each, -1, dtype=np.int64),
            start_s=np.full(places, np.nan),
            end_s=np.full(places, np.nan),
        )
        self._submitted = np.zeros(count, dtype=np.int64)

    @property
    def now_s(self) -> Floats:
        """Lab clocks, s, shape (N,)."""
        return self._labs.now_s

    @property
    def start_s(self) -> Floats:
        """When each operation started, s, shape (N, F, K); NaN before."""
        return self._labs.start_s

    @property
    def end_s(self) -> Floats:
        """When each operation ends, s, shape (N, F, K); NaN before it has started."""
        return self._labs.end_s

    def clear(self, rows: Ints | Bools) -> None:
        """Begin anew in some labs, at time 0 with idle stations.

        Args:
            rows: Which.
        """
        labs = self._labs
        for array in (labs.now_s, labs.free_s, labs.slot, self._submitted):
            array[rows] = 0
        labs.inside[rows] = -1
        labs.start_s[rows] = labs.end_s[rows] = np.nan

    def submit(self, rows: Ints, slots: Ints, plans: PlanTimes) -> None:
        """Hand one experiment to each of some labs.

        Args:
            rows: The labs, shape (M,), without repetition.
            slots: A free place in each, shape (M,).
            plans: The experiments.

        Raises:
            ConfigError: If a place is taken or a duration is not above 0 and finite.
        """
        labs, width = self._labs, plans.kind.shape[1]
        if np.any(labs.slot[rows, slots, 0] != EMPTY):
            raise ConfigError("an experiment was handed in to a place that is taken")
        used = np.arange(width) < plans.length[:, None]
        good = (plans.duration_s > 0.0) & (plans.occupied_s >= plans.duration_s)
        if not np.all(good[used] & np.isfinite(plans.occupied_s[used])):
            raise ConfigError("durations must be above 0 and finite, and not exceed the occupation")
        labs.start_s[rows, slots] = labs.end_s[rows, slots] = np.nan
        labs.kind[rows, slots, :width] = plans.kind
        labs.time[rows, slots, :width, 0] = plans.duration_s
        labs.time[rows, slots, :width, 1] = plans.occupied_s
        labs.queued_s[rows, slots] = labs.now_s[rows]
        labs.slot[rows, slots, 0] = np.where(plans.length > 0, WAITING, ENDED)
        labs.slot[rows, slots, 1] = 0
        labs.slot[rows, slots, 2] = plans.length
        labs.slot[rows, slots, 3] = self._submitted[rows]
        self._submitted[rows] += 1
        run_labs(np.ascontiguousarray(rows, dtype=np.int64), False, labs)

    def advance(self, rows: Ints) -> Bools:
        """Let the clocks of some labs run until at least one experiment has ended.

        A lab in which one has already ended, or nothing is in flight, stands still.

        Args:
            rows: The labs, shape (M,).

        Returns:
            Which experiments have ended, shape (M, F); their places are free again.
        """
        labs = self._labs
        run_labs(np.ascontiguousarray(rows, dtype=np.int64), True, labs)
        state = labs.slot[rows, :, 0]
        ended = state == ENDED
        state[ended] = EMPTY
        labs.slot[rows, :, 0] = state
        return np.asarray(ended)


@njit(cache=True, nogil=True)
def _dispatch(i: int, labs: Labs) -> None:
    """Start whatever can start in lab i now."""
    now_s, slot = labs.now_s[i], labs.slot[i]
    for s in range(labs.kinds.shape[0]):
        if labs.inside[i, s] >= 0 or labs.free_s[i, s] > now_s:
            continue
        first = -1
        for f in range(slot.shape[0]):
            if slot[f, 0] != WAITING or labs.kind[i, f, slot[f, 1]] != labs.kinds[s]:
                continue
            earlier = first < 0 or labs.queued_s[i, f] < labs.queued_s[i, first]
            tie = first >= 0 and labs.queued_s[i, f] == labs.queued_s[i, first]
            if earlier or (tie and slot[f, 3] < slot[first, 3]):
                first = f
        if first >= 0:
            k = slot[first, 1]
            slot[first, 0] = RUNNING
            labs.inside[i, s] = first
            labs.start_s[i, first, k] = now_s
            labs.end_s[i, first, k] = now_s + labs.time[i, first, k, 0]
            labs.free_s[i, s] = now_s + labs.time[i, first, k, 1]


@njit(cache=True, nogil=True)
def _next_s(i: int, labs: Labs) -> float:
    """Return when something happens next in lab i; infinite if it is to stand still."""
    flying = False
    for f in range(labs.slot.shape[1]):
        state = labs.slot[i, f, 0]
        if state == ENDED:
            return np.inf
        flying = flying or state != EMPTY
    soonest = np.inf
    if flying:
        for s in range(labs.kinds.shape[0]):
            f = labs.inside[i, s]
            if f >= 0:
                soonest = min(soonest, labs.end_s[i, f, labs.slot[i, f, 1]])
            elif labs.free_s[i, s] > labs.now_s[i]:
                soonest = min(soonest, labs.free_s[i, s])
    return soonest


@njit(cache=True, nogil=True)
def _end(i: int, labs: Labs) -> None:
    """End whatever ends in lab i now."""
    for s in range(labs.kinds.shape[0]):
        f = labs.inside[i, s]
        if f >= 0 and labs.end_s[i, f, labs.slot[i, f, 1]] == labs.now_s[i]:
            labs.inside[i, s] = -1
            labs.slot[i, f, 1] += 1
            labs.queued_s[i, f] = labs.now_s[i]
            labs.slot[i, f, 0] = ENDED if labs.slot[i, f, 1] == labs.slot[i, f, 2] else WAITING


@njit(cache=True, nogil=True)
def run_labs(rows: Ints, advance: bool, labs: Labs) -> None:
    """Complete the present instant of labs and, to advance, instants until something has ended."""
    for i in rows:
        _dispatch(i, labs)
        while advance:
            soonest = _next_s(i, labs)
            if soonest == np.inf:
                break
            labs.now_s[i] = soonest
            _end(i, labs)
            _dispatch(i, labs)


__all__ = ["BatchSchedule", "PlanTimes"]
