"""Named targets: the score of random plans beside what the samples truly were.

    python benchmarks/audited_targets.py [--rows 2048] [--all] [TARGET ...]

Every plan is carried out as the vector environment does, but on a bench that writes down what it
weighs and what it scans. For each target: plans scored, the largest score above the truth (share of
the target in the whole sample), how many lie above it by more than `TOLERANCE`, the largest yield
(moles of target over what the dosed metals allow), the largest share of the sample without a known
structure, mean score and mean truth. A score above truth and tolerance, a yield above 1 or a score
without product is a fault, and the script fails.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.envs.batch_bench import BatchBench
from labenv.envs.batch_interlocks import BatchInterlocks
from labenv.lab.bench import Bench, BenchSamples, Dosing, load_bench
from labenv.lab.conditions import draw_conditions
from labenv.physics.thermochemistry.sources import substance_table
from labenv.tasks import Task, make_task
from labenv.tasks.reading import STATUSES
from labenv.tasks.synthesis import recipe_targets, resolve_target
from labenv.tasks.task import GATES
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Beyond the recipes: hosts of networks with phases of which no structure is known, at one time.
WIDER = (
    "NaNbO3", "PbTiO3", "LiFePO4", "CaZrO3", "BaZrO3", "NiFe2O4", "CoFe2O4", "SrFe12O19", "ZnWO4",
    "CaMoO4", "BaFe12O19", "KNbO3", "MgAl2O4", "LiVO3",
)  # fmt: skip
TOLERANCE = 0.10  # five standard uncertainties of the absolute scale (0.02, `labenv.tasks.reading`)
WITHOUT_PRODUCT = 0.01  # a score above the tolerance with less target than this in the sample
BATCH = 512
_EXACT = 1e-9


@dataclass(frozen=True, eq=False)
class WatchedBench(Bench):
    """A bench that remembers the last dosing and the last scan; for evaluation only."""

    seen: dict[str, np.ndarray] = field(default_factory=dict)

    def weigh(self, *args: Any, **kwargs: Any) -> Dosing:  # noqa: ANN401
        """Weigh, and remember the moles of each phase."""
        dosing = super().weigh(*args, **kwargs)
        self.seen["dosed"] = dosing.samples.powder.amounts_mol.copy()
        return dosing

    def mean_scan(self, samples: BenchSamples, *args: Any, **kwargs: Any) -> np.ndarray:  # noqa: ANN401
        """Scan, and remember what was scanned."""
        self.seen["mol"] = samples.powder.amounts_mol.copy()
        self.seen["mass"] = self.mass_fractions(samples)
        return super().mean_scan(samples, *args, **kwargs)


@dataclass
class Audit:
    """Scores of plans with the truth, each shape (N,); plans that gave no scan are left out.

    Attributes:
        score: As the environment gives it.
        truth: Share of the target in the whole sample.
        dark: Share of phases without a known structure.
        over_yield: Moles of target over what the dosed metals allow.
        refused: Plans that the interlocks refused.
        plans: Plans made.
    """

    score: np.ndarray
    truth: np.ndarray
    dark: np.ndarray
    over_yield: np.ndarray
    refused: int
    plans: int

    def faults(self) -> list[str]:
        """Return what cannot be."""
        found = {
            "scores above the truth": self.score > self.truth + TOLERANCE,
            "scores without product": (self.score > TOLERANCE) & (self.truth < WITHOUT_PRODUCT),
            "yields above 1": self.over_yield > 1.0 + _EXACT,
            "scores outside 0 to 1": ~((self.score >= 0.0) & (self.score <= 1.0)),
        }
        return [f"{int(rows.sum())} {what}" for what, rows in found.items() if rows.any()]


def audit(task: Task, units: np.ndarray, seed: int) -> Audit:
    """Carry plans out and compare.

    Args:
        task: Of a named target.
        units: Plans, points of the unit cube, shape (N, n).
        seed: Of the first episode; each plan is the first of its own.

    Returns:
        The comparison.
    """
    plain = load_bench(task.lab.system)
    bench = WatchedBench(plain.system, plain.shelf)
    blueprint = task.space.batch_blueprint()
    lab = BatchBench(bench, blueprint.longest_plan)
    interlocks, reader = BatchInterlocks(task.space, plain), task.quantifier()
    structures, gates = bench.system.structures, np.array([GATES[name] for name in STATUSES])
    wanted = [p for p, name in enumerate(structures) if name in task.spec.target_phases]
    dark = [p for p in range(len(structures)) if p not in bench.diffracting]
    metals = bench.system.tables.cation[:, :1] * bench.system.tables.cation[:, 1:]
    parts: list[np.ndarray] = []
    refused = 0
    for begin in range(0, len(units), BATCH):
        values = task.space.values_from_unit(units[begin : begin + BATCH])
        accepted = np.flatnonzero(~interlocks.refused(values))
        refused += len(values) - len(accepted)
        if not len(accepted):
            continue
        seeds = (seed + begin + accepted).tolist()
        conditions = draw_conditions(bench.system, bench.shelf, seeds)
        plan = blueprint.plan_batch(values[accepted], bench.shelf)
        run = lab.run(plan, seeds, np.zeros(len(seeds), dtype=np.int64), conditions)
        if not len(run.scanned) or run.grid is None:
            continue
        exposure_s = run.seconds_per_step * conditions.standard[run.scanned]
        got = reader.read_batch(run.counts, run.grid, exposure_s)
        columns = list(task.target_columns)
        score = task.merit(
            gates[got.status], got.fractions[:, columns], got.uncertainties[:, columns]
        )
        mass, mol = bench.seen["mass"], bench.seen["mol"]
        dosed = bench.seen["dosed"][run.scanned] @ metals
        made = mol[:, wanted] @ metals[wanted]
        over = np.max(np.divide(made, dosed, out=np.zeros_like(made), where=dosed > 0.0), axis=1)
        lone = ((dosed <= 0.0) & (made > 0.0)).any(axis=1)
        over[lone] = np.inf  # from nothing
        columns_now = [score, mass[:, wanted].sum(axis=1), mass[:, dark].sum(axis=1), over]
        parts.append(np.stack(columns_now))
    score, truth, darkness, over = np.concatenate(parts, axis=1) if parts else np.zeros((4, 0))
    return Audit(score, truth, darkness, over, refused, len(units))


def known_targets(*, every: bool = False) -> Iterator[str]:
    """Yield targets that the simulator takes: recipes and some more, or all of the tables."""
    names = [*recipe_targets(), *WIDER]
    if every:
        tabled = substance_table("combined").substances
        names = list(dict.fromkeys([*names, *(name.partition("-")[0] for name in tabled)]))
    for name in names:
        try:
            resolve_target(name)
        except ConfigError:
            continue
        yield name


def main() -> None:
    """Print the table and fail if anything cannot be."""
    parser = argparse.ArgumentParser(description="Compare the scores of named targets with truth.")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="every target of the tables")
    wishes = parser.parse_args()
    print(f"{'target':12s}{'scans':>7s}{'above':>8s}{'faults':>8s}{'yield':>8s}{'dark':>7s}"
          f"{'score':>8s}{'truth':>8s}{'plans/s':>9s}")  # fmt: skip
    bad = 0
    for target in wishes.targets or known_targets(every=wishes.all):
        begin = time.perf_counter()
        task = make_task("synthesis", target=target)
        units = np.random.default_rng(wishes.seed).random((wishes.rows, task.space.n))
        seen = audit(task, units, wishes.seed)
        faults = seen.faults()
        bad += len(faults)
        if not len(seen.score):
            print(f"{target:12s} nothing was scanned")
            continue
        above = float(np.max(seen.score - seen.truth))
        print(
            f"{target:12s}{len(seen.score):7d}{above:8.3f}{len(faults):8d}"
            f"{seen.over_yield.max():8.4f}{seen.dark.max():7.3f}{seen.score.mean():8.3f}"
            f"{seen.truth.mean():8.3f}{wishes.rows / (time.perf_counter() - begin):9.0f}  "
            + "; ".join(faults),
            flush=True,
        )
    if bad:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
