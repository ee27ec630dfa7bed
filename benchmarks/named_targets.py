"""Named targets: what chance gives, what recipes of practice give, and what an experiment costs.

    python benchmarks/named_targets.py [--rows 256] [TARGET ...]

For each target: the size of its network, the time to make the task, the mean and the median score
of one random plan, the median of the best of twenty, that of the recipe (each in an episode of its
own, so over lots, furnaces and kinetics), the best of all random plans, and full experiments a
second of the native vector environment with random plans. The last column is the mean over the
better of recipe and best random plan: where it is above 0.8 the target takes no skill.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from labenv.envs.synthesis_vector import SolidStateSynthesisVectorEnv
from labenv.physics.systems import load_system
from labenv.tasks import Task, make_task
from labenv.tasks.synthesis import (
    published_recipe,
    recipe_targets,
    recipe_values,
    resolve_target,
)

TRIES = 20
COLUMNS = "   P    R  make/s   mean    one  of 20  recipe   best   exp/s no skill"
HEADER = f"{'target':13s}{COLUMNS}"


def scores(task: Task, points: np.ndarray, seed: int) -> tuple[np.ndarray, float]:
    """Return the scores of points of the unit cube and the experiments a second."""
    env = SolidStateSynthesisVectorEnv(
        len(points),
        task,
        action_type="continuous",
        stop_on_success=False,
        budget={"experiments": 2},
    )
    actions = np.asarray(2.0 * points - 1.0, dtype=np.float32)
    env.reset(seed=seed)
    env.step(actions[::-1])  # compiles, and fills the caches of patterns
    env.reset(seed=seed)
    begun = time.perf_counter()
    info = env.step(actions)[4]
    return np.asarray(info["best_score"]), len(points) / (time.perf_counter() - begun)


def row(target: str, rows: int) -> str:
    """Return the line of a target."""
    begun = time.perf_counter()
    task = make_task("synthesis", target=target)
    made_s = time.perf_counter() - begun
    system = load_system(task.spec.system)
    values = recipe_values(resolve_target(target), published_recipe(target))
    point = task.space.encode_unit(task.space.blueprint.build(values))
    chance, speed = scores(task, np.random.default_rng(0).random((rows, task.space.n)), 0)
    recipe, _ = scores(task, np.tile(point, (64, 1)), 1)
    oracle = max(float(np.median(recipe)), float(chance.max()), 1e-9)
    best = chance[: rows - rows % TRIES].reshape(-1, TRIES).max(axis=1)
    return (
        f"{target:13s}{len(system.phases):4d}{len(system.reactions):5d}{made_s:8.2f}"
        f"{chance.mean():7.3f}{np.median(chance):7.3f}{np.median(best):7.3f}{np.median(recipe):8.3f}"
        f"{chance.max():7.3f}{speed:8.0f}{chance.mean() / oracle:8.2f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=recipe_targets())
    parser.add_argument("--rows", type=int, default=256)
    given = parser.parse_args()
    sys.stdout.write(f"{HEADER}\n")
    for target in given.targets:
        sys.stdout.write(row(target, given.rows) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
