"""Eight processes write 1,000 experiments each into one store: no row lost, no lock shown.

Each experiment has four operations, a diffractogram of 2,001 points with fresh counting noise, an
analysis and a reward, and is first recorded as a submission, as a campaign does. All processes
write into one campaign, which is the hardest case. Every row and every array is read back and
compared by its checksum.

    python benchmarks/store_writers.py [--processes 8] [--experiments 1000] [--store URL] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from labenv.store import Store
from labenv_schemas import (
    CampaignConfig,
    Diffractogram,
    Outcome,
    PhaseAnalysis,
    PhaseFraction,
    Proposal,
    Score,
    parse_proposal,
)
from labenv_schemas.errors import StoreError
from labenv_schemas.outcome import OperationRecord

TWO_THETA_DEG = np.linspace(10.0, 70.0, 2001)
PATTERN = 200.0 + sum(
    height * np.exp(-((TWO_THETA_DEG - centre) ** 2) / 0.02)
    for height, centre in ((3000.0, 31.5), (900.0, 38.9), (1400.0, 45.3), (1100.0, 56.2))
)
PROPOSAL: Proposal = parse_proposal({
    "operations": [
        {
            "op": "dose",
            "precursors": [
                {"substance": "BaCO3", "mass": "1.973 g"},
                {"substance": "TiO2 (anatase)", "mass": "0.799 g"},
            ],
        },
        {"op": "mix", "duration": "30 min"},
        {"op": "heat", "segments": [{"target": "1100 degC", "hold": "6 h"}]},
        {"op": "measure"},
    ]
})


def experiment(index: int) -> Outcome:
    """Return the outcome that every process would write under an index."""
    counts = np.random.default_rng(index).poisson(PATTERN).astype(np.float64)
    return Outcome(
        experiment_id=f"x-{index:06d}",
        status="ok",
        operations=tuple(
            OperationRecord(
                index=number,
                op=operation.op,
                station=operation.op,
                queued_s=0.0,
                started_s=1.0,
                finished_s=2.0,
                cost=1.0,
            )
            for number, operation in enumerate(PROPOSAL.operations)
        ),
        measurements=(Diffractogram(two_theta_deg=TWO_THETA_DEG, counts=counts),),
        analyses=(
            PhaseAnalysis(
                status="ok",
                phases=(
                    PhaseFraction(
                        name="batio3", formula="BaTiO3", weight_fraction=0.9, uncertainty=0.01
                    ),
                ),
                goodness_of_fit=1.2,
                r_wp=0.1,
            ),
        ),
        cost=4.0,
        finished_s=3600.0 * index,
    )


def write(arguments: tuple[str, str, str, int, int]) -> tuple[list[float], list[str]]:
    """Write a range of experiments; return the time of each, s, and the errors a user would see."""
    url, campaign_id, episode_id, first, number = arguments
    times: list[float] = []
    errors: list[str] = []
    with Store.open(url, create=False) as store:
        for index in range(first, first + number):
            outcome = experiment(index)
            score = Score(value=0.9, reward=0.9)
            start = time.perf_counter()
            try:
                store.record_submission(
                    campaign_id, episode_id, index, PROPOSAL, experiment_id=outcome.experiment_id
                )
                store.record_experiment(campaign_id, episode_id, index, PROPOSAL, outcome, score)
            except StoreError as error:
                errors.append(str(error))
            times.append(time.perf_counter() - start)
    return times, errors


def count_intact(store: Store, campaign_id: str, total: int) -> int:
    """Return how many experiments came back as they were written."""
    expected = set(range(total))
    intact = 0
    for record in store.experiments(campaign_id, with_measurements=True):
        expected.discard(record.index)
        intact += record.outcome == experiment(record.index)
    return intact if not expected else intact - len(expected)


def measure(url: str, processes: int, experiments: int) -> dict[str, Any]:
    """Run the writers and return the numbers."""
    with Store.open(url) as store:
        campaign_id = store.begin_campaign(
            CampaignConfig(name="store_writers"), seed=0, versions={}, lab_hash="", task_hash=""
        )
        episode_id = store.begin_episode(campaign_id, seed=0, policy="none")
    jobs = [
        (url, campaign_id, episode_id, process * experiments, experiments)
        for process in range(processes)
    ]
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        results = pool.map(write, jobs, chunksize=1)
    elapsed_s = time.perf_counter() - start
    total = processes * experiments
    times_s = np.array([time_s for times, _ in results for time_s in times])
    errors = [error for _, shown in results for error in shown]
    with Store.open(url, create=False) as store:
        intact = count_intact(store, campaign_id, total)
        location = Path(store.location)
    size = location.stat().st_size if location.is_file() else None
    return {
        "processes": processes,
        "experiments_per_process": experiments,
        "read_back_equal": intact,
        "lost": total - intact,
        "errors_shown": len(errors),
        "wall_s": round(elapsed_s, 2),
        "experiments_per_s": round(total / elapsed_s, 1),
        "median_ms": round(float(np.median(times_s)) * 1e3, 2),
        "p99_ms": round(float(np.quantile(times_s, 0.99)) * 1e3, 2),
        "longest_s": round(float(times_s.max()), 3),
        "bytes_per_experiment": None if size is None else round(size / total),
    }


def main() -> None:
    """Print a table, or one JSON object."""
    parser = argparse.ArgumentParser(description="Many processes write into one store.")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--experiments", type=int, default=1000, help="for each process")
    parser.add_argument("--store", help="URL of an empty database; default: a temporary file")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.store or str(Path(folder) / "lab.db")
        numbers = measure(url, arguments.processes, arguments.experiments)
    if arguments.json:
        print(json.dumps(numbers))
        return
    for name, value in numbers.items():
        print(f"{name:26} {value}")


if __name__ == "__main__":
    main()
