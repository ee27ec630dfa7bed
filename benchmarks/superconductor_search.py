"""SuperconductorSearch-v0: best measured Tc over the budget, by chance, Sobol and the oracle.

    python benchmarks/superconductor_search.py [--seeds 10] [--experiments 12]

Each seed is a laboratory with its own hidden conditions, the same for every policy.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import qmc

from labenv.envs.superconductor_search import SuperconductorSearchEnv
from labenv.envs.superconductor_search_audit import true_conditions
from labenv.tasks.superconductor_search import oracle_score


def main() -> None:
    """Print the medians over seeds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--experiments", type=int, default=12)
    given = parser.parse_args()
    count = given.experiments
    env = SuperconductorSearchEnv(experiments=count)
    curves: dict[str, list[list[float]]] = {"random": [], "sobol": []}
    best: list[float] = []
    for seed in range(given.seeds):
        size = env.settings.space.size
        draws = {
            "random": np.random.default_rng(seed).uniform(-1.0, 1.0, (count, size)),
            "sobol": 2.0 * qmc.Sobol(size, rng=np.random.default_rng(seed)).random(64)[:count]
            - 1.0,
        }
        for name, actions in draws.items():
            env.reset(seed=seed)
            steps = [env.step(action.astype(np.float32)) for action in actions]
            curves[name].append([100.0 * info["best_score"] for *_, info in steps])
        best.append(100.0 * oracle_score(env.settings.space, true_conditions(env)))
    print(f"best measured Tc, K, after each experiment; median of {given.seeds} laboratories")
    for name, rows in curves.items():
        print(f"{name:<8}" + "".join(f"{tc:6.1f}" for tc in np.median(rows, axis=0)))
    low, middle, high = np.quantile(best, (0.0, 0.5, 1.0))
    print(f"oracle  {middle:6.1f} (from {low:.1f} to {high:.1f}), the true Tc of a dense search")


if __name__ == "__main__":
    main()
