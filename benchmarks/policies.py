"""Policies at equal budget: best true purity and best measured score after each campaign.

Each seed is a laboratory with its own hidden conditions; every policy gets the same ones. The true
purity of a campaign is that of the sample that *measured* best, read through `labenv.lab.audit`.

    python benchmarks/policies.py [--seeds 20] [--experiments 35] [--parallelism 2] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from labenv.lab import Lab, audit
from labenv.policies import make_policy
from labenv.tasks import Session, make_task
from labenv_schemas import Budget, LabConfig

TASK = "batio3-synthesis"
POLICIES = ("random", "sobol", "bayesian")


def campaign(policy_name: str, seed: int, experiments: int, parallelism: int) -> dict[str, Any]:
    """Run one campaign and return its measured score, true purity and the policy's time."""
    task = make_task(TASK)
    lab = Lab(LabConfig(), seed=seed)
    session = Session(task, lab, Budget(experiments=experiments))
    policy = make_policy(policy_name)
    policy.reset(task, seed)
    reward, slowest_s, curve = 0.0, 0.0, []
    while True:
        while len(session.pending) < parallelism and not session.exhausted:
            waiting = [session.proposal(ticket.experiment_id) for ticket in session.pending]
            began = time.perf_counter()
            proposal = policy.propose(waiting)
            slowest_s = max(slowest_s, time.perf_counter() - began)
            session.submit(proposal)
        if not session.pending:
            break
        for outcome, score in session.collect("next"):
            policy.observe(session.proposal(outcome.experiment_id), outcome, score)
            reward += score.reward
            curve.append(session.best_score)
    true = 0.0
    if session.best is not None:
        found = audit.true_mass_fractions(lab, session.best.outcome.experiment_id)
        pure = sum(found.get(name, 0.0) for name in task.spec.target_phases)
        true = pure / (1.0 - found["amorphous"])
    return {
        "measured": session.best_score,
        "true": true,
        "reward": reward,
        "slowest_proposal_s": slowest_s,
        "curve": curve,
    }


def quartiles(values: list[float]) -> list[float]:
    """Return lower quartile, median and upper quartile."""
    return [float(q) for q in np.quantile(values, (0.25, 0.5, 0.75))]


def main() -> None:
    """Run all policies and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--experiments", type=int, default=35)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    runs = {
        name: [
            campaign(name, seed, given.experiments, given.parallelism)
            for seed in range(given.seeds)
        ]
        for name in POLICIES
    }
    keys = ("true", "measured", "reward")
    table = {
        name: {key: quartiles([run[key] for run in done]) for key in keys}
        for name, done in runs.items()
    }
    wins = {
        name: {
            key: sum(
                ours[key] > theirs[key]
                for ours, theirs in zip(runs["bayesian"], runs[name], strict=True)
            )
            for key in keys
        }
        for name in POLICIES
        if name != "bayesian"
    }
    slowest = max(run["slowest_proposal_s"] for run in runs["bayesian"])
    if given.json:
        report = {
            "task": TASK,
            "seeds": given.seeds,
            "experiments": given.experiments,
            "parallelism": given.parallelism,
            "quartiles": table,
            "bayesian_wins": wins,
            "bayesian_slowest_proposal_s": slowest,
        }
        print(json.dumps(report))
        return
    print(f"{given.seeds} seeds, {given.experiments} experiments, {given.parallelism} in flight")
    print(f"{'policy':<10}" + "".join(f"{key + ': q1 / median / q3':>32}" for key in keys))
    for name, row in table.items():
        cells = ["{:.4f} / {:.4f} / {:.4f}".format(*row[key]) for key in keys]
        print(f"{name:<10}" + "".join(f"{cell:>32}" for cell in cells))
    for name, counts in wins.items():
        told = ", ".join(f"{key} {count}" for key, count in counts.items())
        print(f"bayesian beats {name} on {given.seeds} seeds: {told}")
    print(f"slowest proposal of the Bayesian policy: {slowest * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
