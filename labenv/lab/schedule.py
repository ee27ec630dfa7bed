"""When experiments of known durations start and end, for many labs at once.

The rules are those of `labenv.lab.executor`, in compiled code and without matter: first come, first
served at each kind of station, ties by order of submission, instants completed before anything is seen
from outside. The vector environment keeps its episodes' clocks with it; a test holds it to `Lab` on
random plans.

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


class BatchSchedule:
    """Clocks, queues and stations of N labs.

    Args:
        count: Labs, N.
        slots: Experiments in flight in each at most, F.
        operations: Operations of a plan at most, K.
        stations: Number of stations of each kind.

    Attributes:
        now_s: Lab clocks, s, shape (N,).
        start_s: When each operation started, s, shape (N, F, K); NaN before.
        end_s: When it ends, s, shape (N, F, K); NaN before it has started.
    """

    def __init__(
        self, count: int, slots: int, operations: int, stations: Sequence[int] = (1, 1, 1, 2, 1)
    ) -> None:
        self._kind_of_station: Ints = np.repeat(np.arange(len(stations)), stations)
        places = (count, slots, operations)
        self.now_s = np.zeros(count)
        self.start_s = np.full(places, np.nan)
        self.end_s = np.full(places, np.nan)
        self._kind = np.zeros(places, dtype=np.int64)
        self._time = np.zeros((*places, 2))  # duration and occupation, s
        # state, position in the plan, length of the plan, order of submission
        self._slot = np.zeros((count, slots, 4), dtype=np.int64)
        self._queued_s = np.zeros((count, slots))
        # when each station is free, s, and the slot that is in it or -1
        self._free_s = np.zeros((count, len(self._kind_of_station)))
        self._inside = np.full((count, len(self._kind_of_station)), -1, dtype=np.int64)
        self._submitted = np.zeros(count, dtype=np.int64)

    def clear(self, rows: Ints | Bools) -> None:
        """Begin anew in some labs, at time 0 with idle stations.

        Args:
            rows: Which.
        """
        for array, value in (
            (self.now_s, 0.0),
            (self.start_s, np.nan),
            (self.end_s, np.nan),
            (self._slot, 0),
            (self._free_s, 0.0),
            (self._inside, -1),
            (self._submitted, 0),
        ):
            array[rows] = value

    def submit(self, rows: Ints, slots: Ints, plans: PlanTimes) -> None:
        """Hand one experiment to each of some labs.

        Args:
            rows: The labs, shape (M,), without repetition.
            slots: A free place in each, shape (M,).
            plans: The experiments.

        Raises:
            ConfigError: If a place is taken or a duration is not above 0 and finite.
        """
        if np.any(self._slot[rows, slots, 0] != EMPTY):
            raise ConfigError("an experiment was handed in to a place that is taken")
        used = np.arange(plans.kind.shape[1]) < plans.length[:, None]
        good = (plans.duration_s > 0.0) & (plans.occupied_s >= plans.duration_s)
        if not np.all(good[used] & np.isfinite(plans.occupied_s[used])):
            raise ConfigError("durations must be above 0 and finite, and not exceed the occupation")
        width = plans.kind.shape[1]
        self.start_s[rows, slots] = np.nan
        self.end_s[rows, slots] = np.nan
        self._kind[rows, slots, :width] = plans.kind
        self._time[rows, slots, :width, 0] = plans.duration_s
        self._time[rows, slots, :width, 1] = plans.occupied_s
        self._queued_s[rows, slots] = self.now_s[rows]
        self._slot[rows, slots, 0] = np.where(plans.length > 0, WAITING, ENDED)
        self._slot[rows, slots, 1] = 0
        self._slot[rows, slots, 2] = plans.length
        self._slot[rows, slots, 3] = self._submitted[rows]
        self._submitted[rows] += 1
        self._run(rows, advance=False)

    def advance(self, rows: Ints) -> Bools:
        """Let the clocks of some labs run until at least one experiment has ended.

        A lab in which one has already ended, or nothing is in flight, stands still.

        Args:
            rows: The labs, shape (M,).

        Returns:
            Which experiments have ended, shape (M, F); their places are free again.
        """
        self._run(rows, advance=True)
        slots = self._slot[rows]
        ended = slots[:, :, 0] == ENDED
        slots[:, :, 0][ended] = EMPTY
        self._slot[rows] = slots
        return np.asarray(ended)

    def _run(self, rows: Ints, *, advance: bool) -> None:
        run_labs(
            np.ascontiguousarray(rows, dtype=np.int64),
            advance,
            self._kind_of_station,
            self.now_s,
            self._slot,
            self._kind,
            self._time,
            self._queued_s,
            self._free_s,
            self._inside,
            self.start_s,
            self.end_s,
        )


@njit(cache=True, nogil=True)
def _dispatch(  # noqa: PLR0913 - one lab's arrays
    now_s, kinds, slot, kind, time, queued_s, free_s, inside, start_s, end_s
):  # fmt: skip
    """Start whatever can start in one lab now."""
    for s in range(kinds.shape[0]):
        if inside[s] >= 0 or free_s[s] > now_s:
            continue
        first = -1
        for f in range(slot.shape[0]):
            if slot[f, 0] != WAITING or kind[f, slot[f, 1]] != kinds[s]:
                continue
            if (
                first < 0
                or queued_s[f] < queued_s[first]
                or (queued_s[f] == queued_s[first] and slot[f, 3] < slot[first, 3])
            ):
                first = f
        if first >= 0:
            k = slot[first, 1]
            slot[first, 0] = RUNNING
            inside[s] = first
            start_s[first, k] = now_s
            end_s[first, k] = now_s + time[first, k, 0]
            free_s[s] = now_s + time[first, k, 1]


@njit(cache=True, nogil=True)
def run_labs(  # noqa: PLR0913 - the labs' arrays
    rows, advance, kinds, now_s, slot, kind, time, queued_s, free_s, inside, start_s, end_s
):  # fmt: skip
    """Complete the present instant of each lab and, to advance, instants until something has ended."""
    stations, slots = kinds.shape[0], slot.shape[1]
    for i in rows:
        _dispatch(
            now_s[i], kinds, slot[i], kind[i], time[i], queued_s[i], free_s[i], inside[i],
            start_s[i], end_s[i],
        )  # fmt: skip
        while advance:
            ended = False
            for f in range(slots):
                ended = ended or slot[i, f, 0] == ENDED
            soonest = np.inf
            for s in range(stations):
                if inside[i, s] >= 0:
                    f = inside[i, s]
                    soonest = min(soonest, end_s[i, f, slot[i, f, 1]])
                elif free_s[i, s] > now_s[i]:
                    soonest = min(soonest, free_s[i, s])
            flying = False
            for f in range(slots):
                flying = flying or slot[i, f, 0] == WAITING or slot[i, f, 0] == RUNNING
            if ended or not flying or soonest == np.inf:
                break
            now_s[i] = soonest
            for s in range(stations):
                f = inside[i, s]
                if f < 0 or end_s[i, f, slot[i, f, 1]] != soonest:
                    continue
                inside[i, s] = -1
                slot[i, f, 1] += 1
                queued_s[i, f] = soonest
                slot[i, f, 0] = ENDED if slot[i, f, 1] == slot[i, f, 2] else WAITING
            _dispatch(
                now_s[i], kinds, slot[i], kind[i], time[i], queued_s[i], free_s[i], inside[i],
                start_s[i], end_s[i],
            )  # fmt: skip


__all__ = ["BatchSchedule", "PlanTimes"]
