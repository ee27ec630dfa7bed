"""Pattern synthesis, counting noise and quantification, per pattern, beside pymatgen's calculator.

Eleven phases on 2,001 points. pymatgen's `XRDCalculator` computes the stick patterns of the
same eleven phases; `labenv` mixes full profiles of them, with size broadening, displacement and
background, after its reflections are cached. Times are medians over repeats, one thread.

    python benchmarks/pattern_synthesis.py [--patterns 200] [--json]
"""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis import PhaseQuantifier
from labenv.physics.diffraction import DiffractometerSpec, PatternBasis, SampleBatch, ScanBatch
from labenv.physics.noise import poisson_counts
from labenv.physics.structures import phase_library

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = (
    "witherite", "BaO", "BaTiO3-tetragonal", "BaTiO3-hexagonal", "anatase", "rutile", "brookite",
    "ZnO", "NiO", "V2O5", "baddeleyite",
)  # fmt: skip
REPEATS = 5


def seconds_of(work: Callable[[], object]) -> float:
    """Return the median time of a call, s, after one that is not timed."""
    work()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def peer_seconds() -> float:
    """Return what pymatgen needs for the stick patterns of the eleven phases, s."""
    from pymatgen.analysis.diffraction.xrd import XRDCalculator

    calculator = XRDCalculator(wavelength=1.5405929)
    structures = [phase_library().get(name).structure() for name in NAMES]
    limits = (15.0, 75.0)
    return seconds_of(
        lambda: [calculator.get_pattern(item, two_theta_range=limits) for item in structures]
    )


def measure(patterns: int) -> dict[str, float]:
    """Return times per pattern in microseconds, and the ratio to the peer."""
    phases = tuple(phase_library().get(name) for name in NAMES)
    spec = DiffractometerSpec()
    begin = time.perf_counter()
    basis = PatternBasis(phases, spec)
    basis_s = time.perf_counter() - begin
    quantifier = PhaseQuantifier(phases, spec)
    rng = np.random.default_rng(0)
    weights = np.zeros((patterns, len(phases)))
    for row in weights:
        chosen = rng.choice(len(phases), 4, replace=False)
        row[chosen] = rng.dirichlet(np.ones(4))
    sizes = np.exp(rng.uniform(np.log(2e-8), np.log(3e-7), weights.shape))
    full = rng.dirichlet(np.ones(len(phases)), patterns)
    one = np.ones(patterns)
    tilt = rng.uniform(-1e-4, 1e-4, patterns)
    scan = ScanBatch(0.25 * one, tilt, 0.01 * one, one, one)
    sample = SampleBatch(weights, sizes)
    mean = basis.mean_counts(sample, scan)
    generators = [np.random.default_rng(seed) for seed in range(patterns)]
    counts = poisson_counts(mean, generators)
    per_pattern = 1e6 / patterns
    peer_us = 1e6 * peer_seconds()
    all_us = per_pattern * seconds_of(lambda: basis.mean_counts(SampleBatch(full, sizes), scan))
    return {
        "synthesis_us": per_pattern * seconds_of(lambda: basis.mean_counts(sample, scan)),
        "synthesis_all_phases_us": all_us,
        "noise_us": per_pattern * seconds_of(lambda: poisson_counts(mean, generators)),
        "quantification_us": per_pattern * seconds_of(lambda: quantifier.run_batch(counts)),
        "basis_built_once_s": basis_s,
        "pymatgen_us": peer_us,
        "speed_ratio": peer_us / all_us,
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patterns", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = {"phases": len(NAMES), "points": DiffractometerSpec().points}
    figures |= measure(arguments.patterns)
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:<26} {value:,.4g}")


if __name__ == "__main__":
    main()
