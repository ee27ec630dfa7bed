"""Superconducting transitions from curves of resistance or magnetic moment, measured or simulated.

Resistance: readings at nearly one temperature are averaged, the steepest fall is looked for, and a
straight line is laid through the normal state above it. Onset is where the resistance is 95 % of
that line, midpoint 50 %, zero the highest temperature from which on down every reading is within
noise (and 0.1 % of the normal resistance) of zero. Lattice vibrations never let R fall faster than
T^5, a transition falls faster than T^7; that tells the two apart.

Moment: onset is where the moment leaves its normal value downwards by more than noise and 1 % of
the whole fall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from labenv_schemas.analysis import ScalarAnalysis
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv_schemas.analysis import AnalysisStatus
    from labenv_schemas.measurement import MagnetisationCurve, ResistanceCurve

    Floats = NDArray[np.float64]

TransitionStatus = Literal[
    "ok", "no_transition", "not_reached_zero", "too_few_points", "field_varies"
]

_LEAST_POINTS = 8
_SAME = 0.0015  # readings within this share of T are one
_STEEPEST_METAL = 7.0  # d ln R / d ln T; Bloch-Grüneisen's limit is 5
_ONSET, _MIDPOINT, _ZERO = 0.95, 0.50, 1e-3
_MU_0 = 1.25663706212e-6  # T m/A, CODATA 2018


@dataclass(frozen=True)
class Reading:
    """A number with its standard uncertainty, in the unit of the field that holds it."""

    value: float
    uncertainty: float


@dataclass(frozen=True)
class ResistiveTransition:
    """What a curve of resistance tells; what it does not tell is `None`.

    Attributes:
        status: ``ok`` when zero resistance was reached, ``not_reached_zero`` when a transition
            begins but resistance remains, ``no_transition``, or ``too_few_points``.
        onset_k: Where resistance is 95 % of the normal line, K.
        midpoint_k: Where it is 50 %, K.
        zero_k: Where it vanishes, K.
        width_k: Between 90 % and 10 %, K.
        residual_ratio: R(300 K) over R just above the onset, or, without a transition, over R at
            the lowest temperature.
        normal_ohm: Resistance just above the onset, ohm.
        warnings: What a reader must know.
    """

    status: TransitionStatus
    onset_k: Reading | None = None
    midpoint_k: Reading | None = None
    zero_k: Reading | None = None
    width_k: float | None = None
    residual_ratio: Reading | None = None
    normal_ohm: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class MagneticTransition:
    """What a curve of moment tells.

    Attributes:
        status: ``ok``, ``no_transition``, ``too_few_points`` or ``field_varies``.
        onset_k: Where the moment leaves its normal value, K.
        shielding_fraction: Shielded share of the volume at the lowest temperature; `None` without a
            volume. Above 1 if the shape is flatter, or the volume larger, than stated.
        warnings: What a reader must know.
    """

    status: TransitionStatus
    onset_k: Reading | None = None
    shielding_fraction: Reading | None = None
    warnings: tuple[str, ...] = ()


def resistive_transition(curve: ResistanceCurve) -> ResistiveTransition:
    """Find the superconducting transition in a curve of resistance.

    Args:
        curve: The curve, in any order of temperature, of 8 temperatures or more.

    Returns:
        The transition. Uncertainties are of the crossing: noise over slope, and the spacing of
        the readings; the thermometer's own error is not in them.
    """
    warnings = [flag.message for flag in curve.flags if flag.code == "field_varies"]
    t, r = _merged(curve.temperature_k, curve.resistance_ohm)
    if t.size < _LEAST_POINTS:
        return ResistiveTransition("too_few_points", warnings=(*warnings, f"{t.size} temperatures"))
    noise = _noise(r)
    steepest = _steepest(t, r, noise)
    if steepest is None:
        return _without_transition(t, r, noise, warnings)
    line, above = _normal_line(t, r, steepest)
    if above < 4:
        warnings.append(f"only {above} temperatures above the transition carry the normal line")
    share, share_noise = r / line, noise / line
    found: dict[float, Reading | None] = {
        level: _crossing(t, share, float(np.median(share_noise)), level, steepest)
        for level in (_ONSET, _MIDPOINT, 0.90, 0.10)
    }
    onset, ten, ninety = found[_ONSET], found[0.10], found[0.90]
    top = t[steepest + 1] if onset is None else onset.value
    normal = float(np.interp(top, t, line))
    zero = _zero(t, r, normal, found[_MIDPOINT])
    hidden = 4.0 * _zero_noise(t, r) / normal
    if zero is None:
        left = f"{max(float(r[0] / line[0]), 0.0):.2%} (noise {hidden:.2%})"
        warnings.append(f"{left} of the normal resistance remains at {t[0]:.4g} K")
    elif hidden > 0.02:
        warnings.append(f"zero is known to {hidden:.1%} of the normal resistance only")
    return ResistiveTransition(
        status="not_reached_zero" if zero is None else "ok",
        onset_k=onset,
        midpoint_k=found[_MIDPOINT],
        zero_k=zero,
        width_k=ninety.value - ten.value if ninety and ten else None,
        residual_ratio=_residual_ratio(t, r, normal, noise, warnings),
        normal_ohm=normal,
        warnings=tuple(warnings),
    )


def magnetic_transition(
    curve: MagnetisationCurve, volume_m3: float | None = None, demagnetising: float = 1.0 / 3.0
) -> MagneticTransition:
    """Find the superconducting transition in a curve of moment taken in one small field.

    Args:
        curve: The curve; cooled without field for the shielding fraction.
        volume_m3: Volume of the sample without pores, m^3.
        demagnetising: Demagnetising factor, 1/3 for spheres.

    Returns:
        The transition.

    Raises:
        ConfigError: If the volume or the factor is out of range.
    """
    if volume_m3 is not None and not 0.0 < volume_m3 < 1.0:
        raise ConfigError(f"volume must be above 0 and below 1 m^3, got {volume_m3}")
    if not 0.0 <= demagnetising < 1.0:
        raise ConfigError(f"a demagnetising factor is at least 0 and below 1, got {demagnetising}")
    field = float(np.median(curve.field_t))
    if abs(field) < 1e-7 or float(np.ptp(curve.field_t)) > max(0.05 * abs(field), 2e-5):
        low, high = float(curve.field_t.min()), float(curve.field_t.max())
        return MagneticTransition(
            "field_varies", warnings=(f"the field runs from {low:.4g} T to {high:.4g} T",)
        )
    t, m = _merged(curve.temperature_k, curve.moment_a_m2 * np.sign(field))
    if t.size < _LEAST_POINTS:
        return MagneticTransition("too_few_points", warnings=(f"{t.size} temperatures",))
    upper = m[-max(t.size // 4, 3) :]
    normal, noise = float(np.median(upper)), max(_noise(upper), _noise(m[: t.size // 2 + 1]) * 0.5)
    lowest = float(np.mean(m[:2]))
    fall = normal - lowest
    limit = normal - max(5.0 * noise, 0.01 * fall)
    if fall < max(8.0 * noise, 1e-300) or lowest >= 0.0:
        return MagneticTransition("no_transition", warnings=("no diamagnetic fall on cooling",))
    above = int(np.argmax(m > limit))  # every reading below this one is shielded
    if m[-1] <= limit or above == 0:
        return MagneticTransition("no_transition", warnings=("no normal state above the fall",))
    step = float(t[above] - t[above - 1])
    slope = float(m[above] - m[above - 1]) / step
    onset = t[above - 1] + (limit - m[above - 1]) / slope
    warnings = ["the moment still falls at the lowest temperature"] if _still_falls(t, m) else []
    fraction = None
    if volume_m3 is not None:
        full = -field / _MU_0 * volume_m3 / (1.0 - demagnetising)
        fraction = Reading(-fall / full, noise / abs(full))
    return MagneticTransition(
        "ok", Reading(float(onset), float(np.hypot(noise / slope, step / 3.5))), fraction,
        tuple(warnings),
    )  # fmt: skip


def scalar_analyses(
    transition: ResistiveTransition | MagneticTransition,
) -> tuple[ScalarAnalysis, ...]:
    """Return a transition in the vocabulary: one analysis a number that was found.

    Args:
        transition: The transition.

    Returns:
        Analyses named ``tc_onset``, ``tc_midpoint``, ``tc_zero``, ``residual_resistance_ratio``,
        ``tc_magnetic_onset`` and ``shielding_fraction``.
    """
    if isinstance(transition, ResistiveTransition):
        named = {
            "tc_onset": (transition.onset_k, "K"),
            "tc_midpoint": (transition.midpoint_k, "K"),
            "tc_zero": (transition.zero_k, "K"),
            "residual_resistance_ratio": (transition.residual_ratio, "1"),
        }
    else:
        named = {
            "tc_magnetic_onset": (transition.onset_k, "K"),
            "shielding_fraction": (transition.shielding_fraction, "1"),
        }
    status: AnalysisStatus = "ok" if transition.status == "ok" else "poor_fit"
    return tuple(
        ScalarAnalysis(
            quantity=quantity,
            value=reading.value,
            uncertainty=reading.uncertainty,
            unit=unit,
            status="ok" if quantity == "residual_resistance_ratio" else status,
            warnings=transition.warnings,
        )
        for quantity, (reading, unit) in named.items()
        if reading is not None
    )


def _merged(temperature: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return temperatures in order with the mean of the values at nearly each."""
    order = np.argsort(temperature, kind="stable")
    t, v = temperature[order], values[order]
    starts, first = [0], t[0]
    for index in range(1, t.size):
        if t[index] > first * (1.0 + _SAME):
            starts.append(index)
            first = t[index]
    sizes = np.diff([*starts, t.size])
    return np.add.reduceat(t, starts) / sizes, np.add.reduceat(v, starts) / sizes


def _noise(values: Floats) -> float:
    """Return the standard deviation of noise from second differences, which slopes do not touch."""
    if values.size < 3:
        return 0.0
    second = values[2:] - 2.0 * values[1:-1] + values[:-2]
    return float(1.4826 * np.median(abs(second)) / np.sqrt(6.0))


def _steepest(t: Floats, r: Floats, noise: float) -> int | None:
    """Return the lower point of the greatest fall that no metal's vibrations could make, if any."""
    noise = max(noise, _zero_noise(t, r))
    floor = max(3.0 * noise, 1e-4 * float(np.max(abs(r))), 1e-300)
    best, best_fall = None, 0.0
    for width in (1, 2, 3):
        low, high = r[:-width], r[width:]
        span = np.log(t[width:] / t[:-width])
        power = np.log(np.maximum(high, floor) / np.maximum(low, floor)) / span
        doubt = 3.0 * np.sqrt(2.0) * noise / np.maximum(high, floor) / span
        fall = high - low
        real = (power - doubt > _STEEPEST_METAL) & (fall > 8.0 * noise) & (high > 3.0 * floor)
        real &= fall > 0.05 * abs(high)
        rate = np.where(real, fall / (t[width:] - t[:-width]), 0.0)
        index = int(np.argmax(rate))
        if rate[index] > best_fall:
            best, best_fall = index + width - 1, float(rate[index])
    return best


def _normal_line(t: Floats, r: Floats, steepest: int) -> tuple[Floats, int]:
    """Return the normal resistance at every temperature, and how many points carry it."""
    rate = np.gradient(r, t)
    start = steepest + 1
    while start < t.size - 3 and rate[start] > 0.05 * rate[steepest] and r[start] < r[start + 1]:
        start += 1
    fitted = (t >= t[start]) & (t <= max(1.6 * t[start], t[min(start + 5, t.size - 1)]))
    count = int(fitted.sum())
    if count < 3:
        return np.full(t.size, float(np.max(r[start:]))), count
    slope, offset = np.polyfit(t[fitted] - t[start], r[fitted], 1)
    line = offset + slope * (t - t[start])
    return np.maximum(line, 0.1 * abs(float(np.max(r[fitted])))), count


def _crossing(
    t: Floats, share: Floats, noise: float, level: float, steepest: int
) -> Reading | None:
    """Return where the share crosses a level, looking both ways from the steepest step."""
    lower, upper = steepest, min(steepest + 1, t.size - 1)
    while upper < t.size - 1 and share[upper] < level:
        upper += 1
        lower = upper - 1
    while lower > 0 and share[lower] >= level:
        lower -= 1
        upper = lower + 1
    a, b = float(share[lower]), float(share[upper])
    if not a < level <= b:
        return None
    step = float(t[upper] - t[lower])
    place = float(t[lower]) + step * (level - a) / (b - a)
    return Reading(place, float(np.hypot(noise * step / (b - a), step / 3.5)))


def _zero_noise(t: Floats, r: Floats) -> float:
    """Return the noise of the lowest readings, where resistance may have vanished."""
    lowest = r[: max(4, t.size // 8)]
    return max(_noise(lowest), 1e-9 * float(np.max(abs(r))))


def _zero(t: Floats, r: Floats, normal: float, midpoint: Reading | None) -> Reading | None:
    limit = max(4.0 * _zero_noise(t, r), _ZERO * normal)
    if limit > 0.4 * normal:  # noise hides what would have to be seen
        return None
    middle = np.median(np.stack([r[:-2], r[1:-1], r[2:]]), axis=0)  # one stray reading is none
    gone = abs(np.concatenate([r[:1], middle, r[-1:]])) <= limit
    gone[0] = gone[1]
    last = int(np.argmin(gone)) - 1  # the highest from which on down all are gone
    if gone.all() or last < 0 or abs(float(np.mean(r[: last + 1]))) > limit:
        return None
    step = float(t[last + 1] - t[last])
    highest = np.inf if midpoint is None else midpoint.value
    return Reading(min(float(t[last]) + step / 2.0, highest), step / 3.5)


def _residual_ratio(
    t: Floats, r: Floats, normal: float, noise: float, warnings: list[str]
) -> Reading | None:
    if t[-1] < 295.0 or t[0] > 300.0:
        warnings.append(f"the readings end at {t[-1]:.4g} K; the residual ratio needs 300 K")
        return None
    if normal <= 0.0:
        return None
    # the last readings may end a little below 300 K; metals are straight there
    near = t > 260.0
    slope = np.polyfit(t[near], r[near], 1)[0] if int(near.sum()) > 2 else 0.0
    warm = float(np.interp(300.0, t, r)) + slope * max(300.0 - float(t[-1]), 0.0)
    ratio = warm / normal
    return Reading(float(ratio), float(abs(ratio) * np.hypot(noise / abs(warm), noise / normal)))


def _without_transition(
    t: Floats, r: Floats, noise: float, warnings: list[str]
) -> ResistiveTransition:
    lowest = float(np.mean(r[:2]))
    ratio = _residual_ratio(t, r, lowest, noise, warnings) if lowest > 3.0 * noise else None
    if lowest <= 3.0 * noise:
        warnings.append("the resistance is within noise of zero at the lowest temperature")
    return ResistiveTransition(
        "no_transition", residual_ratio=ratio, normal_ohm=lowest, warnings=tuple(warnings)
    )


def _still_falls(t: Floats, m: Floats) -> bool:
    """Return whether shielding grows by over 5 % within the lowest tenth of the temperatures."""
    tenth = float(np.interp(t[0] + 0.1 * (t[-1] - t[0]), t, m))
    return bool(abs(tenth - m[0]) > 0.05 * abs(float(m[0])))
