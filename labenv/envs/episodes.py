"""N episodes in N simulated labs, stepped together: what the vector environment stands on.

One call of `step` hands one proposal to each of some episodes, carries all of them out as one
batch, lets each episode's lab clock run as its session would, and settles what arrives in the
ledger. The rules are those of `SolidStateSynthesisEnv` over `Session` and `Lab`; a test holds the
two to the same numbers.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labenv.envs.batch_bench import BatchBench
from labenv.envs.batch_interlocks import BatchInterlocks
from labenv.envs.ledger import FITS, FREE, OUTCOMES, Ledger, ResultRows
from labenv.lab.bench import load_bench
from labenv.lab.conditions import draw_conditions
from labenv.lab.schedule import BatchSchedule, PlanTimes
from labenv.tasks.reading import STATUSES
from labenv.tasks.task import GATES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.envs.settings import SynthesisSettings

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

OK, INVALID = OUTCOMES.index("ok"), OUTCOMES.index("invalid")
MACHINE, CHEMISTRY = OUTCOMES.index("failed_machine"), OUTCOMES.index("failed_chemistry")
_GATE_OF_STATUS = np.array([GATES[status] for status in STATUSES])
_FIT_OF_STATUS = np.array([FITS.index(status) for status in STATUSES])
_BATCH = 512  # rows carried out together: their scans take some 8 MB
_SMALLEST_SHARE = 16  # rows that a thread is worth


class Found(NamedTuple):
    """What experiments will have given, known when they are handed in; M rows.

    Attributes:
        outcome: Index into `OUTCOMES`, shape (M,).
        fit: Index into `FITS`, shape (M,).
        phases: Fractions and uncertainties, shape (M, 2, K).
        quality: Weighted profile residual and goodness of fit, shape (M, 2).
        value: Score, shape (M,).
        cost: In the lab's currency, shape (M,).
    """

    outcome: Ints
    fit: Ints
    phases: Floats
    quality: Floats
    value: Floats
    cost: Floats

    def of(self, rows: Ints, place: Ints) -> Found:
        """Return what is held in some places; for arrays with axes episode and place."""
        return Found(
            self.outcome[rows, place],
            self.fit[rows, place],
            self.phases[rows, place],
            self.quality[rows, place],
            self.value[rows, place],
            self.cost[rows, place],
        )


class StepRows(NamedTuple):
    """What a step gave to M episodes, each shape (M,).

    Attributes:
        reward: Sum of the rewards.
        results: Number of results that arrived.
        scored: Whether one of them has a score.
        outcome: Of the last of them, index into `OUTCOMES`.
        value: Its score, 0 if it has none.
        place: Where it was in flight; -1 if nothing arrived.
    """

    reward: Floats
    results: Ints
    scored: Bools
    outcome: Ints
    value: Floats
    place: Ints

    def of(self, rows: Ints) -> StepRows:
        """Return what some of the episodes were given."""
        return StepRows(
            self.reward[rows],
            self.results[rows],
            self.scored[rows],
            self.outcome[rows],
            self.value[rows],
            self.place[rows],
        )


class Episodes:
    """N episodes.

    Args:
        settings: Of the environment.
        count: N.
        threads: Threads that share the rows; the numbers do not depend on it.

    Attributes:
        ledger: What policies may see.
        replicate: Whether the last proposal of each episode repeated an earlier one, shape (N,).
    """

    def __init__(self, settings: SynthesisSettings, count: int, threads: int) -> None:
        self._settings = settings
        self._threads = threads
        self._open_bench()
        places = (count, settings.parallelism)
        self.ledger = Ledger(settings.ledger_shape, count)
        self._schedule = BatchSchedule(
            count,
            settings.parallelism,
            self._blueprint.longest_plan,
            (1, 1, 1, settings.lab.furnaces, 1),
        )
        self._seeds = np.zeros(count, dtype=np.int64)
        self._conditions = draw_conditions(
            self._bench.system, self._bench.shelf, [0] * count, randomise=False
        )
        phases = len(settings.task.phases)
        self._held = Found(
            np.zeros(places, dtype=np.int64),
            np.zeros(places, dtype=np.int64),
            np.zeros((*places, 2, phases)),
            np.zeros((*places, 2)),
            np.zeros(places),
            np.zeros(places),
        )
        self._held_values = np.zeros((*places, settings.task.space.n))
        self._step = _no_step(count)
        self.replicate = np.zeros(count, dtype=np.bool_)
        self._plans: list[set[bytes]] = [set() for _ in range(count)]

    def begin(self, rows: Ints, seeds: Sequence[int]) -> None:
        """Begin new episodes.

        Args:
            rows: Which, shape (M,).
            seeds: Their seeds, M.
        """
        fresh = draw_conditions(
            self._bench.system,
            self._bench.shelf,
            seeds,
            randomise=self._settings.lab.randomise,
        )
        for name, array in vars(self._conditions).items():
            array[rows] = getattr(fresh, name)
        for row, seed in zip(rows.tolist(), seeds, strict=True):
            self._seeds[row] = seed
            self._plans[row] = set()
        self.ledger.clear(rows)
        self._schedule.clear(rows)

    def step(self, rows: Ints, values: Floats, units: Floats) -> StepRows:
        """Hand one proposal to each of some episodes.

        Args:
            rows: Which, shape (M,), without repetition.
            values: Parameter values, shape (M, n).
            units: Where they lie in the unit cube, shape (M, n).

        Returns:
            What arrived.
        """
        for row, plan in zip(rows.tolist(), values, strict=True):
            key = plan.tobytes()
            self.replicate[row] = key in self._plans[row]
            self._plans[row].add(key)
        index, place = self.ledger.submit(rows, units)
        found, times = self._carry_out(rows, index, values)
        for held, new in zip(self._held, found, strict=True):
            held[rows, place] = new
        self._held_values[rows, place] = values
        self._schedule.submit(rows, place, times)
        self._step = _no_step(len(self._seeds))
        spent = self.exhausted(rows)
        full = self.ledger.in_flight[rows] >= self._settings.parallelism
        self._collect(rows[~spent & (full | (found.outcome == INVALID))])
        self._collect_all(rows[spent])
        late = self.exhausted(rows) & ~self.goal(rows) & ~self.broken(rows)
        self._collect_all(rows[late])
        return self._step.of(rows)

    def exhausted(self, rows: Ints) -> Bools:
        """Return which episodes have used up their budget, shape (M,)."""
        budget, ledger = self._settings.budget, self.ledger
        spent = np.zeros(len(rows), dtype=np.bool_)
        for limit, used in (
            (budget.experiments, ledger.submitted),
            (budget.lab_time_s, ledger.now_s),
            (budget.cost, ledger.cost),
        ):
            if limit is not None:
                spent |= limit - used[rows] <= 0
        return spent

    def goal(self, rows: Ints) -> Bools:
        """Return which episodes end because the goal is reached, shape (M,)."""
        return self.ledger.success[rows] & self._settings.stop_on_success

    def broken(self, rows: Ints) -> Bools:
        """Return which episodes end because a machine failed, shape (M,)."""
        return self.ledger.failed_machine[rows] & (self._settings.machine_failure == "truncate")

    def message(self, row: int, place: int) -> str:
        """Return what is to be said about the result that was last in a place; may be empty."""
        from labenv.lab.sample import MELTED

        outcome = self._held.outcome[row, place]
        if outcome == INVALID:
            return self._interlocks.message(self._held_values[row, place])
        return {CHEMISTRY: MELTED, MACHINE: "a machine failed"}.get(int(outcome), "")

    # ------------------------------------------------------------------------- experiments

    def _carry_out(self, rows: Ints, index: Ints, values: Floats) -> tuple[Found, PlanTimes]:
        refused = self._interlocks.refused(values)
        accepted = np.flatnonzero(~refused)
        found, times = _nothing(len(rows), len(self._settings.task.phases), self._lab.operations)
        threads = max(1, min(self._threads, len(accepted) // _SMALLEST_SHARE))
        share = -(-len(accepted) // (threads * _BATCH))  # parts a thread: the same for all
        parts = np.array_split(accepted, max(1, threads * share))

        def work(part: Ints) -> None:
            done, takes = self._experiment(rows[part], index[part], values[part])
            for whole, new in zip((*found, *times), (*done, *takes), strict=True):
                whole[part] = new

        if threads == 1:
            for part in parts:
                work(part)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, parts))
        return found, times

    def _experiment(self, rows: Ints, index: Ints, values: Floats) -> tuple[Found, PlanTimes]:
        task = self._settings.task
        found, times = _nothing(len(rows), len(task.phases), self._lab.operations)
        if not len(rows):
            return found, times
        run = self._lab.run(
            self._blueprint.plan_batch(values, self._bench.shelf),
            self._seeds[rows],
            index,
            self._conditions.rows(rows),
        )
        found.cost[:] = run.cost
        found.outcome[:] = np.where(run.broken, MACHINE, np.where(run.melted, CHEMISTRY, OK))
        if len(run.scanned) and run.grid is not None:
            here, target = run.scanned, list(task.target_columns)
            exposure_s = run.seconds_per_step * self._conditions.standard[rows[here]]
            readings = self._reader.read_batch(run.counts, run.grid, exposure_s)
            found.fit[here] = _FIT_OF_STATUS[readings.status]
            found.phases[here, 0] = readings.fractions
            found.phases[here, 1] = readings.uncertainties
            found.quality[here, 0] = readings.r_wp
            found.quality[here, 1] = readings.goodness_of_fit
            found.value[here] = task.merit(
                _GATE_OF_STATUS[readings.status],
                readings.fractions[:, target],
                readings.uncertainties[:, target],
            )
        return found, run.times

    # ------------------------------------------------------------------------- results

    def _collect_all(self, rows: Ints) -> None:
        while len(rows):
            self._collect(rows)
            rows = rows[self.ledger.in_flight[rows] > 0]

    def _collect(self, rows: Ints) -> None:
        """Let clocks run until something arrives, and settle it in order of submission."""
        if not len(rows):
            return
        ended = self._schedule.advance(rows)
        self.ledger.now_s[rows] = self._schedule.now_s[rows]
        while np.any(ended):
            order = np.where(ended, self.ledger.flight[rows], np.iinfo(np.int64).max)
            place = np.argmin(order, axis=1)
            here = np.flatnonzero(np.any(ended, axis=1))
            self._settle(rows[here], place[here])
            ended[here, place[here]] = False

    def _settle(self, rows: Ints, place: Ints) -> None:
        held = self._held.of(rows, place)
        ledger, task, limit_s = self.ledger, self._settings.task, self._settings.budget.lab_time_s
        late = np.zeros(len(rows), dtype=np.bool_)
        if limit_s is not None:
            late = ledger.now_s[rows] > limit_s
        scored = (held.outcome != MACHINE) & ~late
        value = np.where(scored, held.value, 0.0)
        rule = task.reward_rule
        penalty = np.where(held.outcome == INVALID, rule.invalid_penalty, 0.0)
        gain = np.maximum(0.0, value - ledger.best[rows])
        reward = np.where(scored, gain - rule.cost_share * held.cost - penalty, 0.0)
        success = scored & (held.outcome == OK) & (value >= task.spec.goal_fraction)
        ledger.settle(
            ResultRows(
                rows,
                ledger.flight[rows, place],
                held.outcome,
                held.fit,
                held.phases[:, 0],
                held.phases[:, 1],
                held.quality,
                value,
                scored,
                reward,
                held.cost,
                success,
            )
        )
        step = self._step
        step.reward[rows] += reward
        step.results[rows] += 1
        step.scored[rows] |= scored
        step.outcome[rows] = held.outcome
        step.value[rows] = value
        step.place[rows] = place

    # ------------------------------------------------------------------------- pickling

    def _open_bench(self) -> None:
        settings = self._settings
        self._blueprint = settings.task.space.batch_blueprint()
        self._bench = load_bench(settings.lab.system)
        self._lab = BatchBench(
            self._bench, self._blueprint.longest_plan, settings.lab.machine_failure_rate
        )
        self._interlocks = BatchInterlocks(settings.task.space, self._bench)
        self._reader = settings.task.quantifier()

    def __getstate__(self) -> dict[str, Any]:
        shared = {"_bench", "_lab", "_interlocks", "_reader", "_blueprint"}
        return {name: value for name, value in self.__dict__.items() if name not in shared}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open_bench()


def _nothing(count: int, phases: int, operations: int) -> tuple[Found, PlanTimes]:
    """Return what refused plans give: nothing, at once."""
    found = Found(
        np.full(count, INVALID),
        np.zeros(count, dtype=np.int64),
        np.zeros((count, 2, phases)),
        np.zeros((count, 2)),
        np.zeros(count),
        np.zeros(count),
    )
    times = PlanTimes(
        np.zeros((count, operations), dtype=np.int64),
        np.ones((count, operations)),
        np.ones((count, operations)),
        np.zeros(count, dtype=np.int64),
    )
    return found, times


def _no_step(count: int) -> StepRows:
    return StepRows(
        np.zeros(count),
        np.zeros(count, dtype=np.int64),
        np.zeros(count, dtype=np.bool_),
        np.zeros(count, dtype=np.int64),
        np.zeros(count),
        np.full(count, FREE),
    )
