"""Resistance and moment of a bar, as measured, and what the curves tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.transitions import magnetic_transition, resistive_transition
from labenv.lab.streams import stream
from labenv.physics.magnetometry import MagneticPhases, MagnetometerSetup, moment_curve
from labenv.physics.resistivity import (
    ResistanceSetup,
    TransportPhases,
    mixture_resistivity,
    resistance_curve,
)
from labenv_schemas.measurement import MagnetisationCurve, ResistanceCurve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.tasks.superconductor_search.firing import Bar

    Floats = NDArray[np.float64]

TEMPERATURES_K = np.concatenate([np.arange(4.0, 120.0, 1.0), np.arange(120.0, 301.0, 6.0)])
MOMENT_TEMPERATURES_K = np.arange(5.0, 110.5, 1.5)
FIELD_T = 1e-3
CHIP_M3 = 1e-9  # of solid in the magnetometer
RANGE_OHM = 1e10  # of the voltmeter's input, above which it reads that
PENETRATION_DEPTH_M = 2.5e-7
"""Geometric mean of about 150 nm in the plane and 800 nm across: Bonn & Hardy, in Physical
Properties of High Temperature Superconductors V (1996); an estimate for a ceramic."""


@dataclass(frozen=True)
class Transition:
    """What was measured of one bar.

    Attributes:
        status: "ok" when zero resistance was reached, "no_zero" when a transition begins but
            resistance remains, "no_transition".
        zero_k: Highest temperature of zero resistance, K, or None.
        midpoint_k: Of the fall, K, or None.
        onset_k: Where the fall begins, K, or None.
        room_ohm: Resistance at the highest temperature, ohm.
        curve_k: Temperatures read, K.
        curve_ohm: Resistances read, ohm.
        moment_onset_k: From the moment, K, or None.
        shielded: Share of the volume that shields, or None without a measurement.
        notes: What the analysis warns of.
    """

    status: str
    zero_k: float | None
    midpoint_k: float | None
    onset_k: float | None
    room_ohm: float
    curve_k: tuple[float, ...]
    curve_ohm: tuple[float, ...]
    moment_onset_k: float | None = None
    shielded: float | None = None
    notes: tuple[str, ...] = ()


def measure(bar: Bar, seed: int, experiment: int, *, magnetometry: bool) -> Transition:
    """Measure a bar.

    Args:
        bar: One that did not melt.
        seed: Of the laboratory's streams.
        experiment: Number of the experiment.
        magnetometry: Whether the moment is measured too.

    Returns:
        What the noisy curves tell.
    """
    rng = stream(seed, "resistance", experiment)
    phases, shares = _transport(bar)
    run = resistance_curve(phases, shares, TEMPERATURES_K[None, :], ResistanceSetup(), [rng])
    reading = np.clip(run.reading_ohm[0], -RANGE_OHM, RANGE_OHM)
    found = resistive_transition(
        ResistanceCurve(temperature_k=run.temperature_k[0], resistance_ohm=reading)
    )
    numbers = (found.zero_k, found.midpoint_k, found.onset_k)
    zero, middle, onset = (None if one is None else float(one.value) for one in numbers)
    known = {"ok": "ok", "not_reached_zero": "no_zero"}
    moment_onset, shielded = _moment(bar, seed, experiment) if magnetometry else (None, None)
    return Transition(
        status=known.get(found.status, "no_transition"),
        zero_k=zero,
        midpoint_k=middle,
        onset_k=onset,
        room_ohm=float(reading[-1]),
        curve_k=tuple(run.temperature_k[0].tolist()),
        curve_ohm=tuple(reading.tolist()),
        moment_onset_k=moment_onset,
        shielded=shielded,
        notes=found.warnings,
    )


def true_zero_k(bar: Bar) -> float:
    """Return the highest temperature at which the bar has lost all resistance, 0 if none.

    Args:
        bar: Any; one that melted has none.

    Returns:
        K, by the same mixture as the measurement has, without noise, to 0.1 K.
    """
    if bar.melted:
        return 0.0
    phases, shares = _transport(bar)
    temperatures = np.arange(4.0, 100.0, 0.1)
    resistivity = mixture_resistivity(phases, shares, temperatures[None, :])[0]
    normal = mixture_resistivity(phases, shares, np.array([[120.0]]))[0, 0]
    gone = resistivity <= 1e-3 * normal
    return 0.0 if not gone[0] else float(temperatures[np.argmin(gone) - 1])


def _transport(bar: Bar) -> tuple[TransportPhases, Floats]:
    columns = [np.array([values]) for values in zip(*bar.rows, strict=True)]
    residual, phonon, debye, activation, tc, spread = columns
    saturation = np.full(residual.shape, np.inf)
    phases = TransportPhases(residual, phonon, debye, saturation, activation, tc, spread)
    return phases, np.array([bar.shares])


def _moment(bar: Bar, seed: int, experiment: int) -> tuple[float | None, float]:
    tc, spread = (
        np.array([[getattr(row, n) for row in bar.rows]]) for n in ("tc_k", "tc_spread_k")
    )
    zeros = np.zeros(tc.shape)
    phases = MagneticPhases(
        tc_k=tc,
        tc_spread_k=spread,
        penetration_depth_m=zeros + PENETRATION_DEPTH_M,
        grain_radius_m=zeros + bar.grain_radius_m,
        curie_k=zeros,
        weiss_k=zeros,
        constant_susceptibility=zeros,
    )
    run = moment_curve(
        phases,
        CHIP_M3 * np.array([bar.shares]),
        MOMENT_TEMPERATURES_K[None, :],
        FIELD_T,
        MagnetometerSetup(),
        [stream(seed, "magnetometer", experiment)],
    )
    found = magnetic_transition(
        MagnetisationCurve(
            temperature_k=run.temperature_k[0],
            moment_a_m2=run.reading_a_m2[0],
            field_t=np.full(run.temperature_k[0].shape, FIELD_T),
        ),
        volume_m3=CHIP_M3,
    )
    fraction = found.shielding_fraction
    onset = None if found.onset_k is None else float(found.onset_k.value)
    return onset, 0.0 if fraction is None else float(fraction.value)
