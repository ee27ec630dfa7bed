"""Points fired and scanned as a laboratory would, with its errors, and what is read from the scan.

A scan is quantified with all structures that the system could hold. What they do not account for,
against the brightness found on a standard, is ``unseen``: phases of unknown structure. That balance
is good to a few per cent, which is told as its uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from labenv.lab import conditions as spread
from labenv.lab import timing
from labenv.lab.bench import MELTED_SHARE, OFFSET_REFERENCE_K
from labenv.lab.streams import stream
from labenv.physics.furnace_program import ROOM_K
from labenv.physics.kinetics import draw_parameters
from labenv.tasks.phase_mapping.systems import MILL_S, QUENCH_K_PER_S, RATE_K_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.analysis.quantifier import PhaseQuantifier
    from labenv.physics.diffraction import DiffractometerSpec, PatternBasis
    from labenv.physics.kinetics import PowderState
    from labenv.tasks.phase_mapping.systems import MappedSystem

    Floats = NDArray[np.float64]

DOMINANT = 0.1  # weight fraction from which a phase belongs to a label
UNSEEN_LEAST = 0.2  # share of the scattering that must be missing before it is called unseen
UNSEEN_SIGMA = 0.05  # of that share: an estimate, from mixing sizes, counting and the standard
STANDARD_SIGMA = 0.02  # to which a standard's brightness is known
SCAN_GRID = (15.0, 0.04, 1376)  # to 70 degrees
HOUR_S = 3600.0


@dataclass(frozen=True)
class Point:
    """Where to measure.

    Attributes:
        x: Cation share of the second precursor, 0 to 1.
        temperature_k: As set, K.
        hold_s: How long, s.
    """

    x: float
    temperature_k: float
    hold_s: float


@dataclass(frozen=True)
class Reading:
    """What a point showed.

    Attributes:
        point: Where.
        status: ``ok`` or ``liquid``: the charge has melted and no scan was made.
        shares: Weight fraction of each label as measured, shape (L,).
        label: Which labels are taken to be there, shape (L,).
        note: What the reader must know, such as that something unseen is there.
    """

    point: Point
    status: str
    shares: Floats
    label: NDArray[np.bool_]
    note: str = ""


@dataclass(frozen=True)
class Conditions:
    """What is hidden about an episode's laboratory; see `labenv.lab.conditions` for the spreads.

    Attributes:
        factors: On the nominal rates, shape (R,).
        offset_k: True temperature less set one at 1273 K, K.
        zero_deg: Of the goniometer.
        brightness: Factor on the diffractometer's.
        background: Factor on its background.
        standard: Brightness as found on the standard.
    """

    factors: Floats
    offset_k: float
    zero_deg: float
    brightness: float
    background: float
    standard: float


def draw_laboratory(mapped: MappedSystem, seed: int, *, randomise: bool = True) -> Conditions:
    """Draw the conditions of an episode from its seed.

    Args:
        mapped: The system.
        seed: Of the episode.
        randomise: False for nominal ones.

    Returns:
        The conditions.
    """
    if not randomise:
        factors = np.ones(len(mapped.system.reactions))
        return Conditions(factors, 0.0, 0.0, 1.0, 1.0, 1.0)
    factors = draw_parameters(mapped.system, [stream(seed, "conditions", "kinetics")])[0]
    furnace = stream(seed, "conditions", "tube_furnace").standard_normal()
    optics = stream(seed, "conditions", "powder_diffractometer").standard_normal(3)
    standard = stream(seed, "conditions", "standard").standard_normal()
    brightness = float(np.exp(spread.BRIGHTNESS_SIGMA_LN * optics[1]))
    return Conditions(
        factors,
        float(spread.FURNACE_OFFSET_SD_K * np.clip(furnace, -2.5, 2.5)),
        float(spread.ZERO_SHIFT_SD_DEG * optics[0]),
        brightness,
        float(np.exp(spread.BACKGROUND_SIGMA_LN * optics[2])),
        brightness * float(np.exp(STANDARD_SIGMA * standard)),
    )


def lab_time_s(points: Sequence[Point], scan_s: float) -> float:
    """Return the time that points take; those with one temperature and hold share a firing.

    Args:
        points: Measured in one go.
        scan_s: Time of a scan, s.

    Returns:
        Dosing, milling of all samples at once, firings and scans one after another, s.
    """
    each = timing.dose_time_s(2.0) + timing.scan_time_s(scan_s)
    total = len(points) * each + timing.mix_time_s("ball_mill", MILL_S)
    for temperature_k, hold_s in {(p.temperature_k, p.hold_s) for p in points}:
        rise_k = max(0.0, temperature_k - ROOM_K)
        firing = rise_k / RATE_K_PER_S + hold_s + rise_k / QUENCH_K_PER_S
        total += timing.FURNACE_LOADING_S + firing
    return total


def measure(
    mapped: MappedSystem,
    conditions: Conditions,
    points: Sequence[Point],
    scan_s: float,
    streams: Sequence[np.random.Generator],
) -> list[Reading]:
    """Fire and scan points.

    Args:
        mapped: The system.
        conditions: Of the laboratory.
        points: N of them, within the system's range.
        scan_s: Time of a scan, s.
        streams: One generator a point.

    Returns:
        What each showed.
    """
    held = np.array([p.temperature_k for p in points])
    true_k = held + conditions.offset_k * (held - ROOM_K) / (OFFSET_REFERENCE_K - ROOM_K)
    fired = mapped.fire(
        np.array([p.x for p in points]),
        true_k,
        np.array([p.hold_s for p in points]),
        conditions.factors,
    )
    shares = scan(mapped, conditions, fired.powder, scan_s, streams)
    melted = fired.liquid_share > MELTED_SHARE
    return [
        _liquid(mapped, point) if gone else _reading(mapped, point, row)
        for point, gone, row in zip(points, melted.tolist(), shares, strict=True)
    ]


def scan(
    mapped: MappedSystem,
    conditions: Conditions,
    powder: PowderState,
    scan_s: float,
    streams: Sequence[np.random.Generator],
) -> Floats:
    """Scan powders and quantify the scans.

    Args:
        mapped: The system.
        conditions: Of the laboratory.
        powder: N powders.
        scan_s: Time of a scan, s.
        streams: One generator a powder.

    Returns:
        Shares of the labels as measured, shape (N, L).
    """
    from labenv.physics.diffraction import SampleBatch, ScanBatch
    from labenv.physics.noise import poisson_counts

    basis, quantifier = _instrument(mapped.structures)
    count, one = len(powder), np.ones(len(powder))
    mounting = np.array([generator.standard_normal() for generator in streams])
    true = mapped.label_shares(mapped.system.mass_fractions(powder.amounts_mol))
    seconds = scan_s / SCAN_GRID[2] * one
    mean = basis.mean_counts(
        SampleBatch(true[:, : len(mapped.structures)], _sizes_m(mapped, powder)),
        ScanBatch(
            seconds_per_step=seconds,
            displacement_m=spread.DISPLACEMENT_SD_M * mounting,
            zero_deg=conditions.zero_deg * one,
            brightness=conditions.brightness * one,
            background=conditions.background * one,
        ),
    )
    found = quantifier.run_batch(poisson_counts(mean, streams), seconds)
    seen = np.clip(found.crystalline_scale / conditions.standard, 0.0, 1.0)
    shares = np.zeros((count, len(mapped.labels)))
    shares[:, :-2] = found.weight_fractions * seen[:, None]
    shares[:, -2] = 1.0 - shares[:, :-2].sum(axis=1)
    return shares


def _sizes_m(mapped: MappedSystem, powder: PowderState) -> Floats:
    """Return the crystallite size of each structure, of its most abundant phase, shape (N, D)."""
    sizes = np.empty((len(powder), len(mapped.structures)))
    for label in range(len(mapped.structures)):
        phases = np.flatnonzero(mapped.label_of_phase == label)
        most = phases[np.argmax(powder.amounts_mol[:, phases], axis=1)]
        sizes[:, label] = powder.crystallite_m[np.arange(len(powder)), most]
    return sizes


def dominant(shares: Floats, unseen_least: float = DOMINANT) -> NDArray[np.bool_]:
    """Return which labels are there.

    Args:
        shares: Weight fractions of the labels, shape (N, L).
        unseen_least: From which on something unseen counts.

    Returns:
        Shape (N, L); the largest alone where none reaches its limit.
    """
    limits = np.full(shares.shape[1], DOMINANT)
    limits[-2] = unseen_least
    there = shares >= limits
    none = ~there.any(axis=1)
    there[none, np.argmax(shares[none], axis=1)] = True
    return there


def _reading(mapped: MappedSystem, point: Point, shares: Floats) -> Reading:
    label = dominant(shares[None], UNSEEN_LEAST)[0]
    note = ""
    if label[-2]:
        note = (
            f"unseen: {shares[-2]:.2f} +- {UNSEEN_SIGMA:.2f} of the scattering is of no structure"
        )
    return Reading(point, "ok", shares, label, note)


def _liquid(mapped: MappedSystem, point: Point) -> Reading:
    shares = np.zeros(len(mapped.labels))
    shares[-1] = 1.0
    return Reading(point, "liquid", shares, shares > 0.0, "liquid: the charge has melted")


def instrument_spec() -> DiffractometerSpec:
    """Return the diffractometer that maps are made with."""
    from labenv.physics.diffraction import DiffractometerSpec

    start, step, points = SCAN_GRID
    return DiffractometerSpec(start_deg=start, step_deg=step, points=points)


@lru_cache(maxsize=16)
def _instrument(structures: tuple[str, ...]) -> tuple[PatternBasis, PhaseQuantifier]:
    from labenv.analysis.quantifier import PhaseQuantifier
    from labenv.physics.diffraction import PatternBasis
    from labenv.physics.structures.library import phase_library

    phases = tuple(phase_library().get(name) for name in structures)
    return PatternBasis(phases, instrument_spec()), PhaseQuantifier(phases, instrument_spec())


__all__ = [
    "DOMINANT",
    "Conditions",
    "Point",
    "Reading",
    "dominant",
    "draw_laboratory",
    "instrument_spec",
    "lab_time_s",
    "measure",
    "scan",
]
