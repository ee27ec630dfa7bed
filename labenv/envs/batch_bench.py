"""Plans of many samples carried out on the bench, without stations: the vector environment's lab.

Every number is made by the functions that make it at the stations (`labenv.lab.bench`,
`labenv.lab.streams`, `labenv.lab.timing`), row by row from the same streams, so a row gives what
`labenv.lab.Lab` gives for the same seed and plan. A test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, cast

import numpy as np

from labenv.envs.batch_timing import furnace_programs, step_times
from labenv.lab.bench import scan_grid
from labenv.lab.schedule import PlanTimes
from labenv.lab.streams import Draws, draw_rows, stream
from labenv.lab.timing import REPAIR_S
from labenv.physics.noise import poisson_counts_by_keys
from labenv.tasks.batch_plan import (
    DoseStep,
    HeatStep,
    MixStep,
    PressStep,
    RegrindStep,
    ScanStep,
)
from labenv_schemas.proposal import Heat, HeatSegment, Measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from labenv.lab.bench import Bench, BenchSamples, ScanGrid
    from labenv.lab.conditions import EpisodeConditions
    from labenv.tasks.batch_plan import BatchPlan, BatchStep
    from labenv_schemas.proposal import AtmosphereName

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max
# Kinds of stations as `labenv.lab.schedule` numbers them: balance, mixer, press, furnaces, XRD.
STATION_OF: dict[type, int] = {
    DoseStep: 0,
    MixStep: 1,
    RegrindStep: 1,
    PressStep: 2,
    HeatStep: 3,
    ScanStep: 4,
}


@dataclass
class BatchRun:
    """What the plans of N samples gave.

    Attributes:
        times: Their operations, as far as they got; K places each.
        cost: Of the operations that were begun, in the lab's currency, shape (N,).
        melted: Whether the charge melted, shape (N,).
        broken: Whether a machine failed, shape (N,).
        scanned: Rows that were scanned, shape (A,), rising.
        counts: Their counts, shape (A, points).
        grid: The angles.
        seconds_per_step: Counting time of a step, s, shape (A,).
    """

    times: PlanTimes
    cost: Floats
    melted: Bools
    broken: Bools
    scanned: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    counts: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    grid: ScanGrid | None = None
    seconds_per_step: Floats = field(default_factory=lambda: np.zeros(0))


class BatchBench:
    """Carries out plans for samples of many episodes.

    Args:
        bench: The chemical system and its shelf.
        operations: Operations of a plan at most, K.
        machine_failure_rate: Chance that an operation fails for the machine.
    """

    def __init__(self, bench: Bench, operations: int, machine_failure_rate: float = 0.0) -> None:
        self.bench = bench
        self._operations = operations
        self._failure_rate = machine_failure_rate

    def run(
        self,
        plan: BatchPlan,
        seeds: Sequence[int] | Ints,
        experiments: Ints,
        conditions: EpisodeConditions,
    ) -> BatchRun:
        """Carry plans out.

        Args:
            plan: The plans, N rows.
            seeds: Seed of each row's episode, N.
            experiments: Index of each row's experiment in its episode, shape (N,).
            conditions: Hidden conditions of the episodes, N rows.

        Returns:
            What they gave.
        """
        return _Batch(self, plan, seeds, experiments, conditions).run()

    @property
    def operations(self) -> int:
        """Operations of a plan at most."""
        return self._operations

    @property
    def machine_failure_rate(self) -> float:
        """Chance that an operation fails for the machine."""
        return self._failure_rate


class _Batch:
    """One batch on its way through its steps."""

    def __init__(
        self,
        lab: BatchBench,
        plan: BatchPlan,
        seeds: Sequence[int] | Ints,
        experiments: Ints,
        conditions: EpisodeConditions,
    ) -> None:
        count, places = plan.count, lab.operations
        self._bench = lab.bench
        self._failure_rate = lab.machine_failure_rate
        self._plan = plan
        self._seeds = np.asarray(seeds, dtype=np.int64)
        self._experiments = experiments
        self._conditions = conditions
        self._samples: BenchSamples | None = None
        self._stopped = np.full(count, NEVER)  # the operation at which a row's plan ended early
        times = PlanTimes(
            kind=np.zeros((count, places), dtype=np.int64),
            duration_s=np.ones((count, places)),
            occupied_s=np.ones((count, places)),
            length=np.zeros(count, dtype=np.int64),
        )
        no = np.zeros(count, dtype=np.bool_)
        self._run = BatchRun(times, np.zeros(count), no, no.copy())

    def run(self) -> BatchRun:
        for step in self._plan.steps:
            alive = self._stopped[step.rows] == NEVER
            self._book(step, alive)
            alive &= self._stopped[step.rows] == NEVER  # a machine may have failed
            if np.any(alive):
                _PERFORM[type(step)](self, step, alive)
        return self._run

    def _book(self, step: BatchStep, alive: Bools) -> None:
        """Write down times and costs of a step for the rows that get to it."""
        rows, places = step.rows[alive], step.operation[alive]
        takes = step_times(step, self._bench.shelf)
        duration, cost = takes.duration_s[alive], takes.cost[alive]
        times = self._run.times
        times.kind[rows, places] = STATION_OF[type(step)]
        times.duration_s[rows, places] = duration
        times.occupied_s[rows, places] = duration
        times.length[rows] = places + 1
        self._run.cost[rows] += cost
        if self._failure_rate > 0.0:
            self._fail(rows, places, duration)

    def _fail(self, rows: Ints, places: Ints, duration_s: Floats) -> None:
        chance, share = self._draw("machine", rows, places, (0, 2, 0)).uniforms.T
        failed = chance < self._failure_rate
        rows, places, lasted_s = rows[failed], places[failed], (share * duration_s)[failed]
        self._stopped[rows] = places
        self._run.broken[rows] = True
        self._run.times.duration_s[rows, places] = lasted_s
        self._run.times.occupied_s[rows, places] = lasted_s + REPAIR_S

    def _draw(
        self, instrument: str, rows: Ints, places: Ints, sizes: tuple[int, int, int]
    ) -> Draws:
        keys = np.column_stack([self._experiments[rows], places])
        return draw_rows(instrument, self._seeds[rows], keys, sizes)

    def _part(self, rows: Ints) -> BenchSamples:
        if self._samples is None:
            raise RuntimeError("a batch of plans begins with a dose of all rows")
        return self._samples if len(rows) == len(self._samples) else self._samples.rows(rows)

    def _put(self, rows: Ints, part: BenchSamples) -> None:
        whole = self._samples
        if whole is None or len(rows) == len(whole):
            self._samples = part
            return
        whole.inert_kg[rows] = part.inert_kg
        for item in fields(whole.powder):
            getattr(whole.powder, item.name)[rows] = getattr(part.powder, item.name)

    def _given(self, rows: Ints) -> EpisodeConditions:
        return self._conditions if len(rows) == self._plan.count else self._conditions.rows(rows)

    # ----------------------------------------------------------------------------- operations

    def dose(self, step: DoseStep, alive: Bools) -> None:
        # A row whose balance failed is dosed all the same and goes nowhere.
        del alive
        count, substances = step.requested_kg.shape
        drawn = self._draw("dosing_balance", step.rows, step.operation, (2 * substances, 0, 0))
        deviates = drawn.normals.reshape(count, 2, substances)
        given = self._bench.weigh(step.requested_kg, self._conditions, deviates)
        self._samples = given.samples

    def mix(self, step: MixStep, alive: Bools) -> None:
        rows = step.rows[alive]
        self._put(rows, self._bench.mix(self._part(rows), step.method, step.duration_s[alive]))

    def press(self, step: PressStep, alive: Bools) -> None:
        rows = step.rows[alive]
        self._put(rows, self._bench.press(self._part(rows), step.pressure_pa[alive]))

    def regrind(self, step: RegrindStep, alive: Bools) -> None:
        rows = step.rows[alive]
        self._put(rows, self._bench.regrind(self._part(rows), step.duration_s[alive]))

    def heat(self, step: HeatStep, alive: Bools) -> None:
        rows, places = step.rows[alive], step.operation[alive]
        programs = furnace_programs(
            step.target_k[alive], step.rate_k_per_s[alive], step.hold_s[alive]
        )
        gas_pa = self._pressures_pa(step.gases)[step.gas[alive]]
        fired = self._bench.fire_programs(  # an episode does not see the thermocouple
            self._part(rows), programs, gas_pa, self._given(rows), None
        )
        self._put(rows, fired.samples)
        lost = rows[fired.melted]
        self._run.melted[lost] = True
        self._stopped[lost] = places[fired.melted]

    def scan(self, step: ScanStep, alive: Bools) -> None:
        rows, places = step.rows[alive], step.operation[alive]
        grid = scan_grid(
            Measure(
                two_theta_min_deg=step.two_theta_min_deg,
                two_theta_max_deg=step.two_theta_max_deg,
                step_deg=step.step_deg,
            )
        )
        name = "powder_diffractometer"
        drawn = self._draw(name, rows, places, (1, 1, 1))
        mounts = drawn.normals[:, 0], drawn.uniforms[:, 0]
        mean = self._bench.mean_scan(
            self._part(rows), grid, step.scan_s[alive], self._given(rows), mounts
        )

        def after_mounting(row: int) -> np.random.Generator:
            keys = int(self._experiments[rows[row]]), int(places[row])
            generator = stream(int(self._seeds[rows[row]]), name, *keys)
            generator.standard_normal()
            generator.random()
            generator.bit_generator.random_raw()
            return generator

        self._run.counts = poisson_counts_by_keys(mean, drawn.words[:, 0], after_mounting, mean)
        self._run.scanned, self._run.grid = rows, grid
        self._run.seconds_per_step = step.scan_s[alive] / grid.points

    def _pressures_pa(self, gases: tuple[str, ...]) -> Floats:
        segment = HeatSegment(target_k=1000.0)
        names = [gas.name for gas in self._bench.system.gases]
        found: list[list[float]] = []
        for gas in gases:
            heat = Heat(segments=(segment,), atmosphere=cast("AtmosphereName", gas))
            pressure = heat.partial_pressures_pa()
            found.append([pressure.get(name, 0.0) for name in names])
        return np.array(found)


_PERFORM: dict[type, Callable[..., None]] = {
    DoseStep: _Batch.dose,
    MixStep: _Batch.mix,
    PressStep: _Batch.press,
    RegrindStep: _Batch.regrind,
    HeatStep: _Batch.heat,
    ScanStep: _Batch.scan,
}
