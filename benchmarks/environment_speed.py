"""Full experiments per second of the environments, and where the time goes.

A full experiment is everything between an action and its reward: weighing, milling, firing (the
kinetics), the diffraction pattern with counting noise, and its quantification. Actions are random
over the task's whole space, about two firings a plan. Peers: Gymnasium's own `SyncVectorEnv` over
the single environment, and pymatgen's `XRDCalculator`, which in the time counted gives the line
positions of one phase and nothing else of an experiment. Rates are the best of several rounds,
because other work on the machine only ever slows a round down.

    python benchmarks/environment_speed.py [--num-envs 1024] [--rounds 5] [--json] [--phases]
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
from labenv.analysis import PhaseQuantifier
from labenv.envs import batch_bench
from labenv.envs.synthesis_vector import SolidStateSynthesisVectorEnv
from labenv.lab.bench import Bench
from labenv.lab.conditions import draw_conditions
from labenv.physics.diffraction import DiffractometerSpec, PatternBasis, SampleBatch, ScanBatch
from labenv.physics.kinetics import HeatProgram, mill, new_powder, react, regrind
from labenv.physics.networks import generate_system
from labenv.physics.noise import poisson_counts
from labenv.physics.structures.library import phase_library
from labenv.tasks.reading import PatternReader

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "labenv/SolidStateSynthesis-v0"
SETTINGS: dict[str, Any] = {"stop_on_success": False, "budget": {"experiments": 20}}
SYSTEMS = (
    ("BaCO3", "TiO2"),
    ("Bi2O3", "Fe2O3"),
    ("La2O3", "SrCO3", "CuO"),
    ("Y2O3", "BaCO3", "CuO", "TiO2"),
)
LADDER = {
    "MgO-Al2O3": ("MgO", "Al2O3"),
    "MgO-SiO2": ("MgO", "SiO2"),
    "Bi2O3-Fe2O3": ("Bi2O3", "Fe2O3"),
    "BaCO3-TiO2": ("BaCO3", "TiO2"),
    "BaCO3-SrCO3-TiO2": ("BaCO3", "SrCO3", "TiO2"),
}
AIR_PA = {"O2": 21227.0, "CO2": 42.5, "H2O": 1000.0}
TARGETS = ("CoWO4", "BiFeO3", "LiCoO2")  # generated systems, beside the default one of BaTiO3
CANDIDATES = tuple(phase.name for phase in phase_library())[::7]
STAGES = {
    "weigh": (Bench, "weigh"),
    "mill": (Bench, "mix"),
    "press": (Bench, "press"),
    "fire": (Bench, "fire_programs"),
    "regrind": (Bench, "regrind"),
    "scan": (Bench, "mean_scan"),
    "counting noise": (batch_bench, "poisson_counts_by_keys"),
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


def firing_costs(rows: int = 256) -> dict[str, float]:
    """Return microseconds a firing in systems of more and more phases, on one thread."""
    costs: dict[str, float] = {}
    for precursors in SYSTEMS:
        system = generate_system(precursors)
        rng = np.random.default_rng(0)
        amounts = np.zeros((rows, len(system.phases)))
        for name in precursors:
            amounts[:, system.phase_index(name)] = rng.uniform(0.5, 2.0, rows)
        powder = mill(system, new_powder(system, amounts), np.full(rows, 7200.0))
        top_k = rng.uniform(900.0, 1300.0, rows)
        rise_s = (top_k - 298.15) * 12.0
        programs = HeatProgram(
            np.column_stack([0.0 * rise_s, rise_s, rise_s + 2e4]),
            np.column_stack([np.full(rows, 298.15), top_k, top_k]),
        )
        gas_pa = [AIR_PA.get(gas.name, 10.0) for gas in system.gases]
        react(system, powder, programs, gas_pa)
        work = lambda: len(react(system, powder, programs, gas_pa).steps)  # noqa: B023, E731
        label = f"{len(system.phases)} phases, {len(system.reactions)} reactions"
        costs[label] = 1e6 / best_rate(work, 5)
    return costs


def scan_costs(rows: int = 128) -> dict[str, float]:
    """Return microseconds a scan, with noise and quantification, by number of candidate phases."""
    library, costs = phase_library(), {}
    spec = DiffractometerSpec()
    for count in (5, 9, 12, 20):
        phases = [library.get(name) for name in CANDIDATES[:count]]
        rng = np.random.default_rng(0)
        weights = np.zeros((rows, count))
        for row in weights:
            row[rng.choice(count, 4, replace=False)] = rng.dirichlet(np.ones(4))
        sample = SampleBatch(weights, np.full(weights.shape, 1e-7))
        basis, quantifier = PatternBasis(tuple(phases), spec), PhaseQuantifier(phases, spec)
        generators = [np.random.default_rng(row) for row in range(rows)]

        def work() -> int:
            mean = basis.mean_counts(sample, ScanBatch.plain(rows))  # noqa: B023
            quantifier.run_batch(poisson_counts(mean, generators, mean))  # noqa: B023
            return rows

        work()
        costs[f"{count} candidate phases"] = 1e6 / best_rate(work, 5)
    return costs


def phase_costs(rows: int = 256, rounds: int = 5) -> dict[str, dict[str, float]]:
    """Return CPU microseconds of an experiment by stage, in systems of more and more phases.

    An experiment is milled, fired, reground, fired again, scanned with noise and quantified with
    all phases whose structures are known as candidates; weighing and books, which do not depend on
    the phases, are left out. One thread.
    """
    return {label: _experiment_costs(names, rows, rounds) for label, names in LADDER.items()}


def _experiment_costs(precursors: tuple[str, ...], rows: int, rounds: int) -> dict[str, float]:
    system, library = generate_system(precursors), phase_library()
    rng, spec = np.random.default_rng(0), DiffractometerSpec()
    seen = [p for p, name in enumerate(system.structures) if name in library]
    structures = tuple(library.get(system.structures[p]) for p in seen)
    basis, quantifier = PatternBasis(structures, spec), PhaseQuantifier(structures, spec)
    amounts = np.zeros((rows, len(system.phases)))
    for name in precursors:
        amounts[:, system.phase_index(name)] = rng.uniform(0.5, 2.0, rows)
    top_k = rng.uniform(900.0, 1300.0, rows)
    rise_s, zero = (top_k - 298.15) * 12.0, np.zeros(rows)
    programs = HeatProgram(
        np.column_stack([zero, rise_s, rise_s + 2e4]),
        np.column_stack([zero + 298.15, top_k, top_k]),
    )
    gas_pa = [AIR_PA.get(gas.name, 10.0) for gas in system.gases]
    generators = [np.random.default_rng(row) for row in range(rows)]
    best: dict[str, float] = {}
    for _ in range(rounds + 1):  # the first compiles
        clock = [time.thread_time()]
        powder = mill(system, new_powder(system, amounts), np.full(rows, 7200.0))
        powder = regrind(system, react(system, powder, programs, gas_pa).powder)
        powder = react(system, powder, programs, gas_pa).powder
        clock.append(time.thread_time())
        mass = powder.amounts_mol * system.molar_mass_kg_mol
        shares = (mass / mass.sum(axis=1, keepdims=True))[:, seen]
        sample = SampleBatch(shares, powder.crystallite_m[:, seen])
        mean = basis.mean_counts(sample, ScanBatch.plain(rows))
        counts = poisson_counts(mean, generators, mean)
        clock.append(time.thread_time())
        quantifier.run_batch(counts)
        clock.append(time.thread_time())
        clock.append(clock[0])
        names = ("two firings", "scan", "quantify", "all")
        spent = {
            name: abs(clock[i + 1] - clock[i]) / rows * 1e6 for i, name in enumerate(names)
        }  # the last from the end back to the beginning
        best = {stage: min(value, best.get(stage, np.inf)) for stage, value in spent.items()}
    sizes = {"phases": len(system.phases), "reactions": len(system.reactions), "seen": len(seen)}
    return sizes | best


def print_phases(costs: dict[str, dict[str, float]]) -> None:
    """Print the table of `phase_costs`, with the cost a phase."""
    print("CPU microseconds of an experiment by system, one thread")
    names = ("phases", "reactions", "seen", "two firings", "scan", "quantify", "all")
    print(f"  {'':<20}" + "".join(f"{name:>13}" for name in (*names, "a phase")))
    for label, row in costs.items():
        values = [row[name] for name in names] + [row["all"] / row["phases"]]
        print(f"  {label:<20}" + "".join(f"{value:>13.1f}" for value in values))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--phases", action="store_true", help="only the cost by phases")
    given = parser.parse_args()
    count, rounds = given.num_envs, given.rounds
    if given.phases:
        table = phase_costs(rounds=rounds)
        print(json.dumps(table)) if given.json else print_phases(table)
        return

    def native(
        threads: int, count: int = count, **target: str
    ) -> Callable[[], gym.vector.VectorEnv]:
        mode = "SAME_STEP"
        return lambda: gym.make_vec(
            NAME, num_envs=count, threads=threads, autoreset_mode=mode, **SETTINGS, **target
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
    for target in TARGETS:
        rates[target] = vector_rate(native(cpus, target=target), rounds)
    fastest = rates[f"native_{count}_{cpus}_threads"]
    ratios = {
        peer: fastest / rates[peer] for peer in ("gymnasium_sync_8", "pymatgen_patterns_only")
    }
    stages = stage_times(min(count, 512))
    firings, scans = firing_costs(), scan_costs()
    if given.json:
        report = {
            "num_envs": count,
            "cpus": cpus,
            "numpy": np.__version__,
            "experiments_per_s": rates,
            "native_over_peer": ratios,
            "stage_us": stages,
            "firing_us": firings,
            "scan_us": scans,
        }
        print(json.dumps(report))
        return
    print(f"full experiments per second ({cpus} processors)")
    for label, rate in rates.items():
        print(f"  {label:<24}{rate:>10,.0f}")
    for other, ratio in ratios.items():
        print(f"  native over {other}: {ratio:.1f}")
    print("microseconds per experiment, one thread")
    for stage, microseconds in stages.items():
        print(f"  {stage:<24}{microseconds:>10.1f}")
    print("microseconds of a firing by system, and of a scan and its reading by candidates")
    for what, microseconds in (firings | scans).items():
        print(f"  {what:<28}{microseconds:>10.1f}")


if __name__ == "__main__":
    main()
