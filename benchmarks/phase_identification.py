"""Which phases are in a scan? Precision and recall of `labenv.analysis.identify_phases`.

Real: XRDML files of weighed mixtures, whose names carry the phases (`TiO2_0p4009-ZnO_0p6010`). A
phase found counts as right where its formula is one of the weighed. Simulated: random mixtures of
two to five phases of the library, with the simulator's noise, line widths, displacement and cells
up to 0.5 % larger or smaller. Each scan is searched twice: among all phases of the library
(blind), and among those of the elements weighed, with C, H and O.

    python benchmarks/phase_identification.py [FOLDER] [--real 20] [--simulated 40] [--seed 1]

`--list FOLDER` prints instead, for each scan of a folder, what is found in it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis import identify_phases
from labenv.physics.diffraction import DiffractometerSpec, PatternBasis, SampleBatch, ScanBatch
from labenv.physics.noise import poisson_counts
from labenv.physics.structures import CrystalPhase, phase_library
from labenv_instruments.formats import read_measurement
from labenv_schemas.formula import parse_formula
from labenv_schemas.measurement import Diffractogram, Radiation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labenv.analysis import Identification

BINS = (0.0, 0.02, 0.05, 0.1, 0.2, 1.0)
ALWAYS = {"C", "H", "O"}


class Tally:
    """Counts of right, missed and wrong phases."""

    def __init__(self) -> None:
        self.right, self.missed, self.wrong = 0, 0, 0
        self.sure_right, self.sure_wrong, self.named = 0, 0, 0
        self.by_bin: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        self.seconds: list[float] = []
        self.errors: list[str] = []

    def add(
        self, scan: str, true: dict[str, float], result: Identification, seconds: float
    ) -> None:
        """Add one scan; `true` holds fractions by name or formula."""
        self.seconds.append(seconds)
        formulas = {phase.name: phase.formula for phase in result.fit.phases}
        found = {p.name: p.confidence for p in result.found}
        others = {name for p in result.found for name in p.alternatives}
        others |= {phase_library().get(name).formula for name in others}
        hit: set[str] = set()
        for name, confidence in found.items():
            key = next((k for k in true if k in (name, formulas[name])), None)
            fraction = next(p.weight_fraction for p in result.fit.analysis.phases if p.name == name)
            sure = confidence != "low"
            if key is None:
                self.wrong += 1
                self.sure_wrong += sure
                self.errors.append(f"{scan}: wrong {name} {fraction:.3f} ({confidence})")
            else:
                hit.add(key)
                self.sure_right += sure
        for key, fraction in true.items():
            place = self.by_bin[int(np.searchsorted(BINS, fraction)) - 1]
            place[0] += key in hit
            place[1] += 1
            if key not in hit:
                self.named += key in others
                self.errors.append(f"{scan}: missed {key} {fraction:.3f}")
        self.right += len(hit)
        self.missed += len(true) - len(hit)

    def figures(self) -> dict[str, object]:
        """Return the figures of the table."""
        bins = {
            f"recall {BINS[i]:g}-{BINS[i + 1]:g}": f"{hits}/{count}"
            for i, (hits, count) in sorted(self.by_bin.items())
        }
        return {
            "scans": len(self.seconds),
            "precision": self.right / max(self.right + self.wrong, 1),
            "recall": self.right / max(self.right + self.missed, 1),
            "recall_with_alternatives": (self.right + self.named)
            / max(self.right + self.missed, 1),
            "precision_sure": self.sure_right / max(self.sure_right + self.sure_wrong, 1),
            "median_seconds": float(np.median(self.seconds)),
            "longest_seconds": float(np.max(self.seconds)),
            **bins,
        }


def weighed(name: str) -> dict[str, float]:
    """Return the fractions that stand in a file's name, by formula."""
    pairs = re.findall(r"([A-Za-z0-9()]+?)_(0p\d+)", name)
    return {formula: float(text.replace("p", ".")) for formula, text in pairs}


def elements_of(formulas: Iterable[str]) -> list[str]:
    """Return the elements of formulas with those that air brings."""
    return sorted(set().union(*(parse_formula(f).elements for f in formulas)) | ALWAYS)


def swollen(phase: CrystalPhase, stretch: float) -> CrystalPhase:
    """Return a phase with longer axes."""
    a, b, c, alpha, beta, gamma = phase.lattice
    a, b, c = (length * (1.0 + stretch) for length in (a, b, c))
    density = phase.density_kg_m3 / (1.0 + stretch) ** 3
    return replace(phase, lattice=(a, b, c, alpha, beta, gamma), density_kg_m3=density)


def simulated(seed: int) -> tuple[dict[str, float], list[str], Diffractogram]:
    """Return true fractions by name, formulas, and a noisy scan of a random mixture."""
    rng = np.random.default_rng(seed)
    phases = list(phase_library())
    count = int(rng.integers(2, 6))
    chosen = [phases[i] for i in rng.choice(len(phases), count, replace=False)]
    weights = rng.dirichlet(np.full(count, 1.0))
    weights = np.maximum(weights, 0.01) / np.maximum(weights, 0.01).sum()
    width = float(rng.uniform(0.008, 0.03))
    spec = DiffractometerSpec(step_deg=0.02, points=3501, caglioti=(0.004, -0.002, width))
    basis = PatternBasis(tuple(swollen(p, rng.uniform(-0.005, 0.005)) for p in chosen), spec)
    sizes = np.exp(rng.uniform(np.log(25e-9), np.log(200e-9), (1, count)))
    one = np.ones(1)
    scan = ScanBatch(0.15 * one, rng.normal(0.0, 1e-4, 1), 0.0 * one, one, rng.uniform(0.7, 1.5, 1))
    mean = basis.mean_counts(SampleBatch(weights[None, :], sizes), scan)
    first, second = spec.k_alpha_a
    diffractogram = Diffractogram(
        two_theta_deg=spec.two_theta_deg,
        counts=poisson_counts(mean, [rng])[0],
        radiation=Radiation(
            k_alpha1_a=first, k_alpha2_a=second, k_alpha2_ratio=spec.k_alpha2_ratio
        ),
        goniometer_radius_m=spec.radius_m,
    )
    true = {p.name: float(w) for p, w in zip(chosen, weights, strict=True)}
    return true, [p.formula for p in chosen], diffractogram


def search(scan: Diffractogram, elements: list[str] | None) -> tuple[Identification, float]:
    """Search a scan and return the seconds of one core that it took."""
    begin = time.process_time()
    return identify_phases(scan, elements), time.process_time() - begin


def real_tallies(folder: Path, scans: str, most: int) -> dict[str, Tally]:
    """Return the tallies of a folder of weighed mixtures."""
    tallies = {"real, blind": Tally(), "real, elements": Tally()}
    for path in sorted(folder.glob(f"*{scans}*.xrdml".replace("**", "*")))[:most]:
        scan = read_measurement(path)
        assert isinstance(scan, Diffractogram)
        true = weighed(path.name)
        tallies["real, blind"].add(path.stem, true, *search(scan, None))
        tallies["real, elements"].add(path.stem, true, *search(scan, elements_of(true)))
    return tallies


def simulated_tallies(count: int, seed: int) -> dict[str, Tally]:
    """Return the tallies of random mixtures."""
    tallies = {"simulated, blind": Tally(), "simulated, elements": Tally()}
    for index in range(count):
        true, formulas, scan = simulated(1000 * seed + index)
        name = f"mixture {1000 * seed + index}"
        tallies["simulated, blind"].add(name, true, *search(scan, None))
        tallies["simulated, elements"].add(name, true, *search(scan, elements_of(formulas)))
    return tallies


def list_found(folder: Path) -> None:
    """Print what is found in each scan of a folder."""
    for path in sorted(folder.glob("*.xrdml")):
        scan = read_measurement(path)
        assert isinstance(scan, Diffractogram)
        named = re.findall(r"\d*([A-Z][A-Za-z0-9()]*)", path.stem.split("_")[0])
        for kind, elements in (("blind", None), ("elements", elements_of(named))):
            result, seconds = search(scan, elements)
            analysis = result.fit.analysis
            quality = f"{analysis.status}, R_wp {analysis.r_wp:.3f}, {seconds:.1f} s"
            print(f"\n{path.stem} [{kind}]: {quality}")
            evidence = {found.name: found for found in result.found}
            for phase in analysis.phases:
                found = evidence[phase.name]
                lines = found.evidence
                other = f"; or {', '.join(found.alternatives)}" if found.alternatives else ""
                print(
                    f"  {phase.name:<18} {phase.weight_fraction:.3f} ± {phase.uncertainty:.3f}  "
                    f"{found.confidence:<6} {lines.seen}/{lines.lines} lines, heights agree "
                    f"{lines.agreement:.2f}, chi2 without {found.rise:.2f}x, cell "
                    f"{100 * found.stretch:+.2f} %{other}"
                )
            peaks = [f"{p.two_theta_deg:.2f} ({p.height:.0f})" for p in analysis.residual_peaks]
            print(f"  unexplained, degrees (height): {', '.join(peaks) or 'none'}", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="or LABENV_CASES/xrd-mixtures")
    parser.add_argument("--real", type=int, default=20, help="most real scans")
    parser.add_argument("--scans", default="", help="part of the file names to take")
    parser.add_argument("--simulated", type=int, default=40, help="simulated scans")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the phases found in FOLDER")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    cases = os.environ.get("LABENV_CASES")
    folder = arguments.folder or (Path(cases) / "xrd-mixtures" if cases else None)
    if arguments.list and folder is not None:
        list_found(folder)
        return
    tallies: dict[str, Tally] = {}
    if folder is None:
        print("no folder of real scans: name one or set LABENV_CASES", file=sys.stderr)
    elif arguments.real > 0:
        tallies |= real_tallies(folder, arguments.scans, arguments.real)
    if arguments.simulated > 0:
        tallies |= simulated_tallies(arguments.simulated, arguments.seed)
    if arguments.json:
        print(json.dumps({k: {**t.figures(), "errors": t.errors} for k, t in tallies.items()}))
        return
    for name, tally in tallies.items():
        print(f"\n{name}")
        for key, value in tally.figures().items():
            print(
                f"  {key:<26} {value:.3f}" if isinstance(value, float) else f"  {key:<26} {value}"
            )
        for error in tally.errors:
            print(f"    {error}")


if __name__ == "__main__":
    main()
