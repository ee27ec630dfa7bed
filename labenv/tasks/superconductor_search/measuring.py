"""Resistance and moment of a bar, measured by the laboratory's instruments, and what they tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from labenv.analysis.transitions import magnetic_transition, resistive_transition
from labenv.lab.specimen import Specimen, see_moment, see_resistance, transport_phases
from labenv.lab.streams import stream
from labenv.physics.resistivity import mixture_resistivity
from labenv.physics.transport_properties import YBCO_PENETRATION_DEPTH_M
from labenv_instruments.drivers.cryostat import Cryostat
from labenv_instruments.drivers.magnetometer import Magnetometer
from labenv_schemas.characterisation import MeasureMagnetisation, MeasureResistance
from labenv_schemas.errors import SimulatorError
from labenv_schemas.measurement import MagnetisationCurve, ResistanceCurve

if TYPE_CHECKING:
    from labenv.tasks.superconductor_search.firing import Bar
    from labenv_instruments.sample_view import MomentSeen, ResistanceSeen, SampleView, Unknown

RESISTANCE = MeasureResistance()  # from 4 K to 300 K
MOMENT = MeasureMagnetisation()  # from 5 K to 110 K in 1 mT after cooling without field
TEMPERATURES_K = RESISTANCE.temperatures_k()
MOMENT_TEMPERATURES_K = MOMENT.temperatures_k()
CHIP_M3 = 1e-9  # of solid in the magnetometer


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

    Raises:
        SimulatorError: If the instrument has no answer, which it always has for these phases.
    """
    sample = cast("SampleView", _BarInInstrument(bar, seed, experiment))
    (curve,) = Cryostat().perform(sample, RESISTANCE)
    if not isinstance(curve, ResistanceCurve):
        raise SimulatorError("a bar of this task always has a resistance")
    reading = curve.resistance_ohm
    found = resistive_transition(curve)
    numbers = (found.zero_k, found.midpoint_k, found.onset_k)
    zero, middle, onset = (None if one is None else float(one.value) for one in numbers)
    known = {"ok": "ok", "not_reached_zero": "no_zero"}
    moment_onset, shielded = _moment(sample) if magnetometry else (None, None)
    return Transition(
        status=known.get(found.status, "no_transition"),
        zero_k=zero,
        midpoint_k=middle,
        onset_k=onset,
        room_ohm=float(reading[-1]),
        curve_k=tuple(curve.temperature_k.tolist()),
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
    phases, shares = transport_phases(specimen_of(bar))
    temperatures = np.arange(4.0, 100.0, 0.1)
    resistivity = mixture_resistivity(phases, shares, temperatures[None, :])[0]
    normal = mixture_resistivity(phases, shares, np.array([[120.0]]))[0, 0]
    gone = resistivity <= 1e-3 * normal
    return 0.0 if not gone[0] else float(temperatures[np.argmin(gone) - 1])


def specimen_of(bar: Bar) -> Specimen:
    """Return a bar as the instruments take it; phases of unknown Tc count as normal in this task.

    Args:
        bar: One that did not melt.

    Returns:
        The specimen.
    """
    count = len(bar.rows)
    return Specimen(
        rows=bar.rows,
        shares=bar.shares,
        penetration_depth_m=(YBCO_PENETRATION_DEPTH_M,) * count,
        critical_field_t=(None,) * count,
        grain_radius_m=(bar.grain_radius_m,) * count,
        susceptibility=(0.0,) * count,
    )


class _BarInInstrument:
    """A bar as a `SampleView`, as far as cryostat and magnetometer look."""

    def __init__(self, bar: Bar, seed: int, experiment: int) -> None:
        self.sample_id = f"bar-{experiment}"
        self._specimen = specimen_of(bar)
        self._key = (seed, experiment)

    def resistance(self, run: MeasureResistance) -> ResistanceSeen | Unknown:
        seed, experiment = self._key
        return see_resistance(self._specimen, run, stream(seed, "resistance", experiment))

    def magnetisation(self, run: MeasureMagnetisation) -> MomentSeen | Unknown:
        seed, experiment = self._key
        return see_moment(self._specimen, run, CHIP_M3, stream(seed, "magnetometer", experiment))


def _moment(sample: SampleView) -> tuple[float | None, float]:
    (curve,) = Magnetometer().perform(sample, MOMENT)
    if not isinstance(curve, MagnetisationCurve):
        return None, 0.0
    found = magnetic_transition(curve, volume_m3=curve.sample_volume_m3)
    fraction = found.shielding_fraction
    onset = None if found.onset_k is None else float(found.onset_k.value)
    return onset, 0.0 if fraction is None else float(fraction.value)
