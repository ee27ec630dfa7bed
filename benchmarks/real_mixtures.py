"""Weight fractions of weighed powder mixtures: labenv and the Rietveld package rietx, side by side.

The folder's XRDML files carry the weighed fractions in their names (`TiO2_0p4009-ZnO_0p6010`).
Each is quantified with the phases named there; of a formula, `labenv` picks the polymorph, and the
peer gets the same structures as CIF files. Both are timed on the same machine in turn, after import
and after one warming run. The last row gives both a wrong phase (rutile for anatase).

The peer runs in its own environment: name its Python by --peer-python or LABENV_PEER_PYTHON;
without one, its columns stay empty. It is driven as its own guide says for a laboratory scan and a
known structure: automatic background, widths seeded from the strongest peaks, plan
`mccusker_default`.

    python benchmarks/real_mixtures.py [FOLDER] [--scans 8min] [--peer-python PATH] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from labenv.analysis import quantify
from labenv.physics.structures import phase_library
from labenv_instruments.formats import read_measurement
from labenv_schemas.measurement import Diffractogram

WRONG_CASE = ("TiO2_0p4009-ZnO_0p6010", ("rutile", "ZnO"))

PEER = r"""
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, rietx as rx

def one(job):
    data = rx.read_pattern(job["file"])
    parts = [rx.Structure.from_cif(path) for path in job["cifs"]]
    structure = rx.Structure(phases=[phase for part in parts for phase in part.phases])
    instrument = rx.Instrument.bragg_brentano(radiation="CuKa")
    limits = (float(np.min(data.two_theta)), float(np.max(data.two_theta)))
    background = rx.auto_background(data, kind="chebyshev", two_theta_limits=limits)
    instrument.background = background.background
    peaks = sorted(rx.pick_peaks(data, instrument).peaks, key=lambda p: -p.intensity)[:12]
    width = float(np.median([p.fwhm for p in peaks]))
    instrument.profile.w.value, instrument.profile.x.value = (0.6 * width) ** 2, 0.6 * width
    result = rx.Refinement(structure, instrument).fit(
        data, plan="mccusker_default", two_theta_limits=limits)
    fractions = [getattr(p.weight_fraction, "value", p.weight_fraction) for p in result.qpa.phases]
    return fractions, str(result.status), bool(result.usable), float(result.statistics.rwp)

for line in sys.stdin:
    job = json.loads(line)
    begin = time.perf_counter()
    try:
        fractions, status, usable, r_wp = one(job)
        answer = {"fractions": fractions, "status": status, "usable": usable, "r_wp": r_wp}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    answer["seconds"] = time.perf_counter() - begin
    print("ANSWER " + json.dumps(answer), flush=True)
"""


@dataclass
class Row:
    """One scan: true fractions, and what each program made of it."""

    scan: str
    phases: tuple[str, ...]
    true: list[float]
    found: list[float] = field(default_factory=list)
    uncertainties: list[float] = field(default_factory=list)
    status: str = ""
    r_wp: float = 0.0
    seconds: float = 0.0
    peer_found: list[float] | None = None
    peer_status: str = ""
    peer_r_wp: float | None = None
    peer_seconds: float | None = None


def weighed(name: str) -> dict[str, float]:
    """Return the fractions that stand in a file's name, summing to 1."""
    parts = {key: float(text.replace("p", ".")) for key, text in
             re.findall(r"([A-Za-z0-9()]+?)_(0p\d+)", name)}  # fmt: skip
    return {key: value / sum(parts.values()) for key, value in parts.items()}


def chosen_phases(scan: Diffractogram, formulas: list[str]) -> tuple[str, ...]:
    """Return one phase a formula: its only one, or the polymorph that the scan shows most of."""
    fractions = {phase.name: phase.weight_fraction for phase in quantify(scan, formulas).phases}
    names = []
    for formula in formulas:
        group = [phase.name for phase in phase_library().resolve(formula)]
        names.append(max(group, key=lambda name: fractions.get(name, -1.0)))
    return tuple(names)


def measure(path: Path, phases: tuple[str, ...], true: list[float]) -> Row:
    """Quantify one file with labenv, reading included in the time."""
    begin = time.perf_counter()
    scan = read_measurement(path)
    assert isinstance(scan, Diffractogram)
    result = quantify(scan, phases)
    seconds = time.perf_counter() - begin
    found = {phase.name: phase for phase in result.phases}
    return Row(
        path.stem,
        phases,
        true,
        [found[name].weight_fraction for name in phases],
        [found[name].uncertainty for name in phases],
        result.status,
        result.r_wp,
        seconds,
    )


class Peer:
    """The peer program in its own process, fed one scan at a time."""

    def __init__(self, python: str, folder: Path) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
        self.process = subprocess.Popen(
            [python, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, cwd=folder, env=environment,
        )  # fmt: skip
        self.folder = folder

    def measure(self, path: Path, row: Row) -> None:
        """Add the peer's answer to a row."""
        job = {"file": str(path.resolve()), "cifs": [str(self._cif(name)) for name in row.phases]}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                answer = json.loads(line.removeprefix("ANSWER "))
                row.peer_found = answer.get("fractions")
                row.peer_status = answer.get("error") or answer["status"]
                row.peer_r_wp = answer.get("r_wp")
                row.peer_seconds = answer["seconds"]
                return
        row.peer_status = "ended"

    def _cif(self, name: str) -> Path:
        from pymatgen.io.cif import CifWriter

        path = self.folder / f"{name}.cif"
        if not path.exists():
            CifWriter(phase_library().get(name).structure(), symprec=0.01).write_file(path)
        return path

    def close(self) -> None:
        """End the peer."""
        self.process.terminate()
        self.process.wait()


def run(folder: Path, scans: str, peer_python: str | None) -> tuple[list[Row], Row | None]:
    """Measure every file; the wrong-phase row comes apart."""
    paths = sorted(folder.glob(f"*{scans}*.xrdml"))
    if not paths:
        sys.exit(f"no *{scans}*.xrdml in {folder}")
    rows: list[Row] = []
    wrong: Row | None = None
    with tempfile.TemporaryDirectory() as scratch:
        peer = Peer(peer_python, Path(scratch)) if peer_python else None
        for index, path in enumerate(paths):
            true = weighed(path.name)
            scan = read_measurement(path)
            assert isinstance(scan, Diffractogram)
            phases = chosen_phases(scan, list(true))
            row = measure(path, phases, list(true.values()))
            if peer:
                if index == 0:
                    peer.measure(path, row)
                peer.measure(path, row)
            rows.append(row)
            if WRONG_CASE[0] in path.name:
                wrong = measure(path, WRONG_CASE[1], list(true.values()))
                if peer:
                    peer.measure(path, wrong)
        if peer:
            peer.close()
    return rows, wrong


def summary(rows: list[Row], wrong: Row | None) -> dict[str, object]:
    """Return the figures that the targets speak of."""
    errors = np.concatenate([np.abs(np.subtract(row.found, row.true)) for row in rows])
    z = np.concatenate([
        np.subtract(row.found, row.true) / np.array(row.uncertainties) for row in rows
    ])
    out: dict[str, object] = {
        "files": len(rows),
        "mean_absolute_error": float(errors.mean()),
        "largest_error": float(errors.max()),
        "rms_error_over_uncertainty": float(np.sqrt(np.mean(z**2))),
        "median_seconds": float(np.median([row.seconds for row in rows])),
        "wrong_phase_status": wrong.status if wrong else None,
    }
    both = [row for row in rows if row.peer_found is not None and row.peer_seconds]
    if both:
        peer_errors = np.concatenate([np.abs(np.subtract(r.peer_found, r.true)) for r in both])
        out |= {
            "peer": "rietx",
            "peer_mean_absolute_error": float(peer_errors.mean()),
            "error_ratio": float(errors.mean() / peer_errors.mean()),
            "peer_median_seconds": float(np.median([row.peer_seconds for row in both])),
            "speed_ratio": float(
                np.sum([row.peer_seconds for row in both]) / np.sum([row.seconds for row in both])
            ),
            "peer_wrong_phase_status": wrong.peer_status if wrong else None,
        }
    return out


def show(rows: list[Row], wrong: Row | None) -> None:
    """Print the table."""
    print(f"{'phase':<20} {'weighed':>7} {'labenv':>15} {'rietx':>7}")
    for row in [*rows, *([wrong] if wrong else [])]:
        peer = "" if row.peer_seconds is None else (
            f" | rietx {row.peer_status}, R_wp {row.peer_r_wp or 0:.3f}, {row.peer_seconds:.2f} s"
        )  # fmt: skip
        note = " WRONG PHASE GIVEN" if row is wrong else ""
        print(
            f"{row.scan}{note}: labenv {row.status}, R_wp {row.r_wp:.3f}, {row.seconds:.3f} s{peer}"
        )
        for i, name in enumerate(row.phases):
            theirs = f"{row.peer_found[i]:7.3f}" if row.peer_found else "      -"
            print(
                f"  {name:<18} {row.true[i]:7.3f} {row.found[i]:7.3f} ± "
                f"{row.uncertainties[i]:.3f} {theirs}"
            )


def default_folder() -> Path | None:
    """Return the folder that the tests take their real scans from, or None."""
    cases = os.environ.get("LABENV_CASES")
    return Path(cases) / "xrd-mixtures" if cases else None


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="or LABENV_CASES/xrd-mixtures")
    parser.add_argument("--scans", default="8min", help="part of the file names to take")
    parser.add_argument("--peer-python", default=os.environ.get("LABENV_PEER_PYTHON"))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.folder or default_folder()
    if folder is None:
        print("no folder of scans: name one or set LABENV_CASES; nothing was measured")
        return
    rows, wrong = run(folder, arguments.scans, arguments.peer_python)
    figures = summary(rows, wrong)
    if arguments.json:
        detail = [asdict(row) for row in rows]
        print(json.dumps({**figures, "rows": detail, "wrong": asdict(wrong) if wrong else None}))
        return
    show(rows, wrong)
    for name, value in figures.items():
        print(f"{name:<28} {value:.4g}" if isinstance(value, float) else f"{name:<28} {value}")


if __name__ == "__main__":
    main()
