"""PhaseMapping-v0: floor, plans that know nothing, and the oracle, at equal budget.

Random points (the floor), space-filling points and points between unlike labels, each with the
middle hold, are measured while that earns most: for all of them the final score is that of the
whole budget, and the best on the way is what perfect stopping would have kept. The oracle stops by
itself when nothing adds score.

    python benchmarks/phase_mapping.py [--seeds 5] [--pairs BaCO3-TiO2 ...] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import gymnasium as gym
import numpy as np

import labenv  # noqa: F401 - registers
from labenv.envs import phase_mapping_audit as audit
from labenv.tasks.phase_mapping import DEFAULT_PAIRS, boundary_cell, space_filling_cells

PLANS = ("floor", "space-filling", "boundary", "oracle")
HOLD = 1


def action_of(env: Any, cell: int) -> np.ndarray:  # noqa: ANN401 - unwrapped environment
    """Return the action that measures a cell with the middle hold."""
    rows = env.settings.temperatures
    return np.array([cell // rows, cell % rows, HOLD])


def next_action(env: Any, plan: str, step: int, listed: list[Any]) -> Any:  # noqa: ANN401
    """Return the plan's next action, None when it has no more."""
    if plan == "floor":
        return env.action_space.sample()
    if plan == "oracle":
        return listed[step] if step < len(listed) else None
    if plan == "boundary" and step >= 5:
        grid = env.settings.grid(env.system)
        measured = [(grid.cell_of(r.point.x, r.point.temperature_k), r.label) for r in env.readings]
        return action_of(env, boundary_cell(grid, measured))
    return action_of(env, listed[step])


def episode(pair: str, seed: int, plan: str) -> dict[str, float]:
    """Play one episode and return scores, quality of the map and the median time of a step."""
    env: Any = gym.make("labenv/PhaseMapping-v0", systems=pair).unwrapped
    env.action_space.seed(seed)
    env.reset(seed=seed)
    grid = env.settings.grid(env.system)
    listed = audit.oracle_actions(env) if plan == "oracle" else space_filling_cells(grid)
    total, best, took, ended = 0.0, 0.0, [], False
    info: dict[str, Any] = {}
    while not ended:
        action = next_action(env, plan, len(took), listed)
        if action is None:
            break
        began = time.perf_counter()
        _, reward, terminated, truncated, info = env.step(action)
        took.append(time.perf_counter() - began)
        total, ended = total + reward, terminated or truncated
        best = max(best, total)
    return {
        "score": total,
        "best": best,
        **audit.map_quality(env),
        "hours": info.get("lab_time_h", 0.0),
        "points": float(len(env.readings)),
        "step_ms": 1000.0 * float(np.median(took)),
    }


def main() -> None:
    """Play all plans and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pairs", nargs="+", default=list(DEFAULT_PAIRS))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    for pair in given.pairs:
        for plan in PLANS:
            runs = [episode(pair, seed, plan) for seed in range(given.seeds)]
            means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
            rows.append({"pair": pair, "plan": plan, **means})
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    keys = list(rows[0])[2:]
    print(f"{'pair':14}{'plan':15}" + "".join(f"{key:>13}" for key in keys))
    for row in rows:
        values = "".join(f"{row[key]:13.3f}" for key in keys)
        print(f"{row['pair']:14}{row['plan']:15}{values}")


if __name__ == "__main__":
    main()
