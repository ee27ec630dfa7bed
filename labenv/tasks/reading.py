"""Reading diffractograms for a task: one fast quantification, for one scan or for many.

The candidates are the phases of the task's material system. A quantifier belongs to an angle grid;
it is made when a grid is first met and kept. A scan's numbers do not depend on the batch it is in.

The status of a fit goes by the share of the lines' intensity that it leaves unexplained beyond
counting noise (`misfit`): above `POOR_FIT` something is there that the candidates do not explain,
above `UNIDENTIFIED` the candidates are not what is there. A scan without lines is unidentified, and
so is one whose range leaves out the strong lines of a candidate, which could be there unseen.

What has no known structure has no lines to fit. With an external standard (O'Connor & Raven 1988)
the lines are put on an absolute scale, and what they do not account for counts as part of the
powder: fractions are of all of it. A small share missing may be the scale's own error, so it is
shrunk by the non-negative garrote (Breiman 1995): a - (2 σ)²/a, and nothing below 2 σ. Without a
standard the fractions are of the crystalline part, and the analysis says so.

Source:
    O'Connor & Raven, Powder Diffraction 3 (1988) 2; Breiman, Technometrics 37 (1995) 373.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.lab.bench import ScanGrid, grid_angles
from labenv_instruments.trusted import trusted
from labenv_schemas.analysis import AnalysisStatus, PhaseAnalysis, PhaseFraction
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.analysis.quantifier import PhaseQuantifier
    from labenv_schemas.measurement import Diffractogram

    Floats = NDArray[np.float64]

POOR_FIT, UNIDENTIFIED = 0.15, 0.40
SCALE_SIGMA = 0.02
"""Relative standard uncertainty of the share that lines account for: 0.017 from texture and from
mixing few sizes (scans of random plans of six targets), 0.011 from the standard."""
_SHOWN = 2.0  # standard uncertainties from which on a missing share counts
_SIZE_M = 1e-7
_STRONG = 0.3  # of a phase's strongest line: what a scan must have of each
_METHOD = "non-negative sum of patterns, sample displacement fitted"
_OF_ALL = "fractions of the whole powder, by an external standard"
_OF_CRYSTALS = "fractions of the crystalline part: no standard was measured"
STATUSES: tuple[AnalysisStatus, ...] = ("ok", "poor_fit", "unidentified")


class Readings(NamedTuple):
    """What N scans gave.

    Attributes:
        status: Index into `STATUSES`, shape (N,).
        fractions: Weight fractions, of the whole powder if a standard was known, shape (N, K).
        uncertainties: Standard uncertainties of the fractions, shape (N, K).
        r_wp: Weighted profile residuals, 0 to 1, shape (N,).
        goodness_of_fit: sqrt(chi²/degrees of freedom), shape (N,).
        unseen: Share of the powder that no line accounts for, 0 without a standard, shape (N,).
    """

    status: NDArray[np.int64]
    fractions: Floats
    uncertainties: Floats
    r_wp: Floats
    goodness_of_fit: Floats
    unseen: Floats


class PatternReader:
    """Quantifies the phases of a material system; pickles, and holds nothing that changes results.

    Args:
        phases: Slugs of the structure library, K of them.
        standard: Brightness of the diffractometer over its nominal one, as found on a standard;
            None if none was measured.
    """

    def __init__(self, phases: tuple[str, ...], standard: float | None = None) -> None:
        self.phases = phases
        self.standard = standard

    def read_batch(
        self, counts: Floats, grid: ScanGrid, exposure_s: Floats | None = None
    ) -> Readings:
        """Quantify scans on one angle grid.

        Args:
            counts: Shape (N, points).
            grid: The angles.
            exposure_s: Seconds a step, times the brightness as found on a standard, shape (N,);
                None if there is no standard.

        Returns:
            What the scans gave.
        """
        if unseen_phases(self.phases, grid):
            return _nothing(len(counts), len(self.phases))
        exposure: float | Floats = 1.0 if exposure_s is None else exposure_s
        result = _quantifier(self.phases, grid).run_batch(counts, exposure)
        empty = np.sum(result.weight_fractions, axis=1) <= 0.0
        lines = np.ones(len(counts)) if exposure_s is None else result.crystalline_scale
        unseen, doubt = unseen_share(lines)
        fractions = np.minimum(result.weight_fractions, 1.0) * (1.0 - unseen)[:, None]
        shared = result.weight_fractions * doubt[:, None]
        status = (result.misfit > POOR_FIT).astype(np.int64)
        status[(result.misfit > UNIDENTIFIED) | empty] = STATUSES.index("unidentified")
        return Readings(
            status,
            fractions,
            np.hypot(result.uncertainties * (1.0 - unseen)[:, None], shared),
            np.minimum(result.r_wp, 1.0),
            result.goodness_of_fit,
            unseen,
        )

    def quantify(self, diffractogram: Diffractogram) -> PhaseAnalysis:
        """Quantify one diffractogram.

        Args:
            diffractogram: A scan in equal steps.

        Returns:
            The phases found, largest first, with the quality of the fit.

        Raises:
            ConfigError: If the steps are not equal.
        """
        counts = np.asarray(diffractogram.counts, dtype=np.float64)[None]
        grid = _grid_of(diffractogram.two_theta_deg)
        exposure_s = None
        step_s = diffractogram.counting_time_s
        counted = diffractogram.intensity_unit == "counts" and step_s is not None
        if self.standard is not None and step_s is not None and counted:
            exposure_s = np.array([step_s * self.standard])
        readings = self.read_batch(counts, grid, exposure_s)
        return self.analysis(readings, 0, grid, absolute=exposure_s is not None)

    def analysis(
        self, readings: Readings, row: int, grid: ScanGrid, *, absolute: bool = False
    ) -> PhaseAnalysis:
        """Return one scan's result in the vocabulary's form.

        Args:
            readings: Of `read_batch`.
            row: Which scan.
            grid: Its angles.
            absolute: Whether a standard was known.

        Returns:
            The analysis.
        """
        blind = unseen_phases(self.phases, grid)
        share = float(readings.unseen[row])
        warnings: list[str] = [_blind_text(blind, grid)] if blind else []
        if share > 0.0:
            warnings.append(_unseen_text(share))
        formulas = _formulas(self.phases)
        fractions, uncertainties = readings.fractions[row], readings.uncertainties[row]
        found = tuple(
            trusted(
                PhaseFraction,
                name=self.phases[k],
                formula=formulas[k],
                weight_fraction=float(fractions[k]),
                uncertainty=float(uncertainties[k]),
            )
            for k in np.argsort(-fractions, kind="stable")
        )
        return trusted(
            PhaseAnalysis,
            status=STATUSES[int(readings.status[row])],
            phases=found,
            goodness_of_fit=float(readings.goodness_of_fit[row]),
            r_wp=float(readings.r_wp[row]),
            method=f"{_METHOD}; {_OF_ALL if absolute else _OF_CRYSTALS}",
            warnings=tuple(warnings),
        )


def _grid_of(two_theta_deg: Floats) -> ScanGrid:
    points, start, end = two_theta_deg.size, float(two_theta_deg[0]), float(two_theta_deg[-1])
    grid = ScanGrid(round(start, 9), round((end - start) / (points - 1), 9), points)
    expected = grid_angles(grid)
    if (
        two_theta_deg is not expected
        and np.abs(two_theta_deg - expected).max() > 0.01 * grid.step_deg
    ):
        raise ConfigError("the task's analysis needs a scan in equal steps; this one's differ")
    return grid


@lru_cache(maxsize=64)
def unseen_phases(phases: tuple[str, ...], grid: ScanGrid) -> tuple[str, ...]:
    """Return the phases of which a scan has no strong line.

    Args:
        phases: Slugs of the structure library.
        grid: The scan's angles.

    Returns:
        Those that could be in the powder unseen.
    """
    from labenv.physics.diffraction import DiffractometerSpec, line_pattern
    from labenv.physics.reflection_cache import reflections_of
    from labenv.physics.structures.library import phase_library

    whole = DiffractometerSpec()
    part = DiffractometerSpec(start_deg=grid.start_deg, step_deg=grid.step_deg, points=grid.points)
    library = phase_library()
    top = max(float(spec.two_theta_deg[-1]) for spec in (whole, part)) + 2.0
    unseen: list[str] = []
    for name in phases:
        lines = reflections_of(library.get(name), whole.k_alpha_a[0], top)
        height, strongest = (float(line_pattern(lines, s, _SIZE_M).max()) for s in (part, whole))
        if not height >= _STRONG * strongest:
            unseen.append(name)
    return tuple(unseen)


def _blind_text(unseen: tuple[str, ...], grid: ScanGrid) -> str:
    end_deg = float(grid_angles(grid)[-1])
    return (
        f"a scan from {grid.start_deg:g} to {end_deg:g} degrees has no strong line of "
        f"{', '.join(unseen)}; widen it, to 15 to 75 degrees, say"
    )


def unseen_share(lines: Floats) -> tuple[Floats, Floats]:
    """Return the share of a powder that shows no lines, as far as that can be told.

    Args:
        lines: Share that the lines account for, as measured, shape (N,); 1 for a crystalline powder
            within `SCALE_SIGMA`.

    Returns:
        Share without lines, 0 to 1, and its standard uncertainty; each shape (N,).
    """
    missing = np.clip(1.0 - lines, 1e-9, 1.0)
    sigma = SCALE_SIGMA * np.minimum(lines, 1.0)
    share = np.maximum(missing - (_SHOWN * sigma) ** 2 / missing, 0.0)
    return share, sigma * share / missing


def _unseen_text(share: float) -> str:
    return (
        f"{share:.3f} ± {SCALE_SIGMA * (1.0 - share):.3f} of the powder shows no lines of these "
        "phases: it is amorphous or of unknown structure"
    )


def _nothing(count: int, phases: int) -> Readings:
    """Return what scans tell in which a phase could not be seen."""
    return Readings(
        np.full(count, STATUSES.index("unidentified")),
        np.zeros((count, phases)),
        np.ones((count, phases)),
        np.ones(count),
        np.zeros(count),
        np.zeros(count),
    )


@lru_cache(maxsize=32)
def _quantifier(phases: tuple[str, ...], grid: ScanGrid) -> PhaseQuantifier:
    from labenv.analysis.quantifier import PhaseQuantifier
    from labenv.physics.diffraction import DiffractometerSpec
    from labenv.physics.structures.library import phase_library

    library = phase_library()
    spec = DiffractometerSpec(start_deg=grid.start_deg, step_deg=grid.step_deg, points=grid.points)
    return PhaseQuantifier([library.get(name) for name in phases], spec)


@lru_cache(maxsize=32)
def _formulas(phases: tuple[str, ...]) -> tuple[str, ...]:
    from labenv.physics.structures.library import phase_library

    library = phase_library()
    return tuple(library.get(name).formula for name in phases)
