"""What resistance, moment, mass, density and composition tell: numbers with uncertainties.

    numbers, warnings = characterise(outcome.measurements)

Each number is a `ScalarAnalysis`; what cannot be said is said in words. Names: ``tc_onset``,
``tc_midpoint``, ``tc_zero``, ``residual_resistance_ratio`` (R(300 K) over R just above Tc),
``resistivity_300k``, ``tc_magnetic_onset``, ``shielding_fraction``, ``mass_change`` (share of the
mass before, from the last weighing back to the first one, or to what was weighed in), ``density``,
``eds_mass_fraction_Ba`` and so on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from labenv.analysis.transitions import magnetic_transition, resistive_transition, scalar_analyses
from labenv_schemas.analysis import AnalysisStatus, ScalarAnalysis
from labenv_schemas.measurement import (
    CompositionReading,
    DensityReading,
    MagnetisationCurve,
    MassReading,
    ResistanceCurve,
    Unmeasured,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labenv_schemas.measurement import MeasurementBase

GAIN_SHARE = 0.02  # of the bar's measured size, which stands in every resistivity
ROOM_K = 300.0


def characterise(
    measurements: Sequence[MeasurementBase],
) -> tuple[tuple[ScalarAnalysis, ...], tuple[str, ...]]:
    """Return the numbers that the measurements of one experiment give, besides diffraction.

    Args:
        measurements: In the order in which they were taken.

    Returns:
        The numbers, and warnings of what could not be said.
    """
    numbers: list[ScalarAnalysis] = []
    warnings: list[str] = []
    for measurement in measurements:
        match measurement:
            case ResistanceCurve():
                numbers += _resistance(measurement, warnings)
            case MagnetisationCurve():
                numbers += _moment(measurement, warnings)
            case DensityReading():
                numbers.append(
                    ScalarAnalysis(
                        quantity="density",
                        value=measurement.density_kg_m3,
                        uncertainty=measurement.standard_uncertainty_kg_m3,
                        unit="kg/m^3",
                    )
                )
            case CompositionReading():
                numbers += _composition(measurement)
            case Unmeasured():
                warnings.append(f"{measurement.technique}: {measurement.reason}")
            case _:
                pass
    return (*numbers, *_mass_change(measurements)), tuple(dict.fromkeys(warnings))


def _resistance(curve: ResistanceCurve, warnings: list[str]) -> list[ScalarAnalysis]:
    flags = {flag.code for flag in curve.flags}
    found = resistive_transition(curve)
    numbers = list(scalar_analyses(found))
    if found.status in {"no_transition", "too_few_points"}:
        lowest = float(np.min(curve.temperature_k))
        said = f"resistance: no superconducting transition was seen down to {lowest:.3g} K"
        warnings.append(said if found.status == "no_transition" else "resistance: too few readings")
    if "normal_state_estimated" in flags:
        numbers = [n for n in numbers if n.quantity != "residual_resistance_ratio"]
        warnings.append(
            "resistance: how these phases conduct above a transition is a guess; no residual ratio "
            "and no resistivity is given"
        )
    else:
        numbers += _resistivity(curve)
    return [_doubted(number) for number in numbers] if "unknown_phases" in flags else numbers


def _resistivity(curve: ResistanceCurve) -> list[ScalarAnalysis]:
    length, area, t = curve.contact_distance_m, curve.cross_section_m2, curve.temperature_k
    if length is None or area is None or not t.min() <= ROOM_K - 2.0 <= t.max():
        return []
    near = abs(t - ROOM_K) < 15.0
    value = float(np.interp(ROOM_K, np.sort(t), curve.resistance_ohm[np.argsort(t)]))
    spread = float(np.std(curve.resistance_ohm[near])) if near.sum() > 2 else abs(value) * 0.01
    scale = area / length
    return [
        ScalarAnalysis(
            quantity="resistivity_300k",
            value=value * scale,
            uncertainty=math.hypot(GAIN_SHARE * value, 0.2 * spread) * scale,
            unit="ohm m",
        )
    ]


def _moment(curve: MagnetisationCurve, warnings: list[str]) -> list[ScalarAnalysis]:
    found = magnetic_transition(curve, volume_m3=curve.sample_volume_m3)
    if found.status != "ok":
        warnings += [f"magnetisation: {said}" for said in found.warnings]
    numbers = list(scalar_analyses(found))
    if curve.cooled_in_field:
        # What is expelled on cooling is less than what is shielded, by pinning.
        numbers = [n for n in numbers if n.quantity != "shielding_fraction"]
    flags = {flag.code for flag in curve.flags}
    return [_doubted(number) for number in numbers] if "unknown_phases" in flags else numbers


def _doubted(number: ScalarAnalysis) -> ScalarAnalysis:
    said = "a part of the sample is phases of unknown Tc, taken as insulators"
    status: AnalysisStatus = "poor_fit"
    return number.model_copy(update={"status": status, "warnings": (*number.warnings, said)})


def _composition(reading: CompositionReading) -> list[ScalarAnalysis]:
    warnings = tuple(flag.message for flag in reading.flags)
    rows = zip(
        reading.elements,
        reading.mass_fraction.tolist(),
        reading.standard_uncertainty.tolist(),
        strict=True,
    )
    return [
        ScalarAnalysis(
            quantity=f"{reading.technique}_mass_fraction_{element}",
            value=value,
            uncertainty=spread,
            unit="kg/kg",
            warnings=warnings,
        )
        for element, value, spread in rows
    ]


def _mass_change(measurements: Sequence[MeasurementBase]) -> list[ScalarAnalysis]:
    readings = [m for m in measurements if isinstance(m, MassReading)]
    weighed = [m for m in readings if m.substance is None]
    dosed = [m for m in readings if m.substance is not None]
    if not weighed:
        return []
    last = weighed[-1]
    warnings: tuple[str, ...] = ()
    if len(weighed) > 1:
        # The air's lift is nearly the same both times.
        before, spread = weighed[0].mass_kg, weighed[0].standard_uncertainty_kg
    elif dosed:
        before = sum(m.mass_kg for m in dosed)
        spread = math.sqrt(sum(m.standard_uncertainty_kg**2 for m in dosed))
        warnings = ("against what was weighed in, on another balance",)
    else:
        return []
    if before <= 0.0:
        return []
    error = math.hypot(last.standard_uncertainty_kg, spread * last.mass_kg / before) / before
    return [
        ScalarAnalysis(
            quantity="mass_change",
            value=last.mass_kg / before - 1.0,
            uncertainty=error,
            unit="kg/kg",
            warnings=warnings,
        )
    ]


__all__ = ["characterise"]
