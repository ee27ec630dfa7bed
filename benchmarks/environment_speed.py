"""Full experiments per second of the environments, and where the time goes.

A full experiment is everything between an action and its reward: weighing, milling, firing (the
kinetics), the diffraction pattern with counting noise, and its quantification. Actions are random
over the task's whole space, about two firings a plan. Peers: Gymnasium's own `SyncVectorEnv` over
the single environment, and pymatgen's `XRDCalculator`, which in the time counted gives the line
positions of one phase and nothing else of an experiment. Rates are the best of several rounds,
because other work on the machine only ever slows a round down.

    python benchmarks/environment_speed.py [--num-envs 1024] [--rounds 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

import labenv  # noqa: F401 - registers
from labenv.envs.synthesis_vector import SolidStateSynthesisVectorEnv
from labenv.lab.bench import Bench
from labenv.lab.conditions import draw_conditions
from labenv.physics.structures.library import phase_library
from labenv.tasks.reading import PatternReader

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "labenv/SolidStateSynthesis-v0"
SETTINGS: dict[str, Any] = {"stop_on_success": False, "budget": {"experiments": 20}}
STAGES = {
    "weigh": (Bench, "dose"),
    "mill": (Bench, "mix"),
    "press": (Bench, "press"),
    "fire": (Bench, "fire_programs"),
    "regrind": (Bench, "regrind"),
    "scan with noise": (Bench, "scan_grid"),
    "quantify": (PatternReader, "read_batch"),
}


def best_rate(work: Callable[[], int], rounds: int) -> float:
    """Return the best number of experiments per second over some rounds of work."""
    rates: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        done = work()
        rates.append(done / (time.perf_counter() - began))
    return max(rates)


def single_rate(rounds: int) -> float:
    """Return experiments per second of one single environment."""
    env = gym.make(NAME, disable_env_checker=True, **SETTINGS).unwrapped
    env.action_space.seed(0)

    def episode() -> int:
        env.reset(seed=0)
        for _ in range(20):
            env.step(env.action_space.sample())
        return 20

    episode()
    return best_rate(episode, 4 * rounds)


def vector_rate(make: Callable[[], gym.vector.VectorEnv], rounds: int, steps: int = 5) -> float:
    """Return experiments per second of a vector environment."""
    envs = make()
    envs.action_space.seed(0)
    envs.reset(seed=0)
    actions = [envs.action_space.sample() for _ in range(steps)]
    envs.step(actions[0])

    def work() -> int:
        for action in actions:
            envs.step(action)
        return envs.num_envs * len(actions)

    rate = best_rate(work, rounds)
    envs.close()
    return rate


def pymatgen_rate(rounds: int) -> float:
    """Return stick patterns of BaTiO3 per second by pymatgen."""
    from pymatgen.analysis.diffraction.xrd import XRDCalculator

    structure = phase_library().get("BaTiO3-tetragonal").structure()
    calculator = XRDCalculator("CuKa")

    def patterns() -> int:
        for _ in range(5):
            calculator.get_pattern(structure, two_theta_range=(10.0, 90.0))
        return 5

    patterns()
    return best_rate(patterns, rounds)


def stage_times(count: int) -> dict[str, float]:
    """Return microseconds per experiment of each stage, on one thread."""
    spent: dict[str, float] = defaultdict(float)
    originals = {name: getattr(*place) for name, place in STAGES.items()}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any method
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spent[name] += time.perf_counter() - began

        return call

    envs = SolidStateSynthesisVectorEnv(count, threads=1, **SETTINGS)
    envs.action_space.seed(0)
    envs.reset(seed=0)
    actions = [envs.action_space.sample() for _ in range(4)]
    for action in actions:  # compiles, and asks the interlocks what they refuse
        envs.step(action)
    for name, (owner, attribute) in STAGES.items():
        setattr(owner, attribute, timed(name, originals[name]))
    began = time.perf_counter()
    for action in actions:
        envs.step(action)
    total = time.perf_counter() - began
    for name, (owner, attribute) in STAGES.items():
        setattr(owner, attribute, originals[name])
    done = count * len(actions)
    times = {name: spent[name] / done * 1e6 for name in STAGES}
    times["everything else"] = total / done * 1e6 - sum(times.values())
    bench = envs._episodes._bench  # noqa: SLF001 - a benchmark looks inside
    began = time.perf_counter()
    draw_conditions(bench.system, bench.shelf, list(range(200)))
    times["(reset, per episode)"] = (time.perf_counter() - began) / 200 * 1e6
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    count, rounds = given.num_envs, given.rounds

    def native(threads: int, count: int = count) -> Callable[[], gym.vector.VectorEnv]:
        mode = "SAME_STEP"
        return lambda: gym.make_vec(
            NAME, num_envs=count, threads=threads, autoreset_mode=mode, **SETTINGS
        )

    def peer() -> gym.vector.VectorEnv:
        return gym.make_vec(NAME, num_envs=8, vectorization_mode="sync", **SETTINGS)

    cpus = len(os.sched_getaffinity(0))
    rates = {
        "single": single_rate(rounds),
        "gymnasium_sync_8": vector_rate(peer, rounds),
        "pymatgen_patterns_only": pymatgen_rate(rounds),
        f"native_{count}_1_thread": vector_rate(native(1), rounds),
        f"native_256_{cpus}_threads": vector_rate(native(cpus, 256), rounds, steps=20),
        f"native_{count}_{cpus}_threads": vector_rate(native(cpus), rounds),
    }
    fastest = rates[f"native_{count}_{cpus}_threads"]
    ratios = {
        peer: fastest / rates[peer] for peer in ("gymnasium_sync_8", "pymatgen_patterns_only")
    }
    stages = stage_times(min(count, 512))
    if given.json:
        report = {
            "num_envs": count,
            "cpus": cpus,
            "numpy": np.__version__,
            "experiments_per_s": rates,
            "native_over_peer": ratios,
            "stage_us": stages,
        }
        print(json.dumps(report))
        return
    print(f"full experiments per second ({cpus} processors)")
    for name, rate in rates.items():
        print(f"  {name:<24}{rate:>10,.0f}")
    for peer, ratio in ratios.items():
        print(f"  native over {peer}: {ratio:.1f}")
    print("microseconds per experiment, one thread")
    for name, microseconds in stages.items():
        print(f"  {name:<24}{microseconds:>10.1f}")


if __name__ == "__main__":
    main()
