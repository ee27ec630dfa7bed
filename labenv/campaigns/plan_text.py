"""Proposals in one line and in a few words, for tables, tooltips and logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv_schemas.proposal import Dose, GasMixture, Heat, Measure, Mix, Press, Regrind

if TYPE_CHECKING:
    from labenv_schemas.proposal import Operation, PrecursorDose, Proposal

_KELVIN_AT_ZERO_CELSIUS = 273.15
_GASES = {"oxygen": "O₂", "nitrogen": "N₂", "argon": "Ar", "carbon_dioxide": "CO₂"}


def duration_text(seconds: float) -> str:
    """Return a duration as people say it.

    Args:
        seconds: Duration, s.

    Returns:
        Such as ``"45 s"``, ``"30 min"``, ``"6.5 h"`` or ``"3.2 d"``.
    """
    for unit_s, unit, limit in ((1.0, "s", 60.0), (60.0, "min", 60.0), (3600.0, "h", 72.0)):
        if seconds / unit_s < limit:
            return f"{_short(seconds / unit_s)} {unit}"
    return f"{_short(seconds / 86_400)} d"


def count_text(number: int, what: str) -> str:
    """Return a number of things.

    Args:
        number: How many.
        what: One of them, such as ``"experiment"``.

    Returns:
        Such as ``"1 experiment"`` or ``"3 experiments"``.
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def celsius_text(kelvin: float) -> str:
    """Return a temperature in degrees Celsius.

    Args:
        kelvin: Temperature, K.

    Returns:
        Such as ``"1100 °C"``.
    """
    return f"{kelvin - _KELVIN_AT_ZERO_CELSIUS:.0f} °C"


def plan_text(proposal: Proposal) -> str:
    """Return a whole plan in one line.

    Args:
        proposal: The plan.

    Returns:
        Such as ``"12 mmol BaCO3 + 12 mmol TiO2 (anatase), ball mill 2 h, 1100 °C 6 h in air"``;
        what is done several times in a row is written once, as in ``"2 × (regrind 15 min, ...)"``.
    """
    parts = [_operation_text(operation) for operation in proposal.operations]
    return ", ".join(_folded([part for part in parts if part]))


def _folded(parts: list[str]) -> list[str]:
    """Return the parts with the longest repetition at each place folded into one."""
    folded: list[str] = []
    place = 0
    while place < len(parts):
        width, times = _repetition(parts[place:])
        if times > 1:
            folded.append(f"{times} × ({', '.join(parts[place : place + width])})")
            place += width * times
        else:
            folded.append(parts[place])
            place += 1
    return folded


def _repetition(parts: list[str]) -> tuple[int, int]:
    """Return width and count of the repetition at the head that covers most parts."""
    best = (1, 1)
    for width in range(1, len(parts) // 2 + 1):
        times = 1
        while parts[times * width : (times + 1) * width] == parts[:width]:
            times += 1
        if times > 1 and times * width > best[0] * best[1]:
            best = (width, times)
    return best


def _operation_text(operation: Operation) -> str:
    match operation:
        case Dose():
            return " + ".join(_dose_text(precursor) for precursor in operation.precursors)
        case Mix():
            return f"{operation.method.replace('_', ' ')} {duration_text(operation.duration_s)}"
        case Press():
            return f"press {operation.pressure_pa / 1e6:.3g} MPa"
        case Regrind():
            return f"regrind {duration_text(operation.duration_s)}"
        case Heat():
            return _heat_text(operation)
        case Measure():
            return ""
        case _:
            return _MEASURES[operation.op]


_MEASURES = {
    "measure_resistance": "resistance",
    "measure_magnetisation": "magnetisation",
    "weigh": "weigh",
    "measure_density": "density",
    "measure_composition": "EDS",
}


def _dose_text(precursor: PrecursorDose) -> str:
    if precursor.amount_mol is not None:
        return f"{precursor.amount_mol * 1e3:.4g} mmol {precursor.substance}"
    return f"{(precursor.mass_kg or 0.0) * 1e3:.4g} g {precursor.substance}"


def _heat_text(heat: Heat) -> str:
    stays = [
        f"{celsius_text(segment.target_k)} {duration_text(segment.hold_s)}"
        for segment in heat.segments
    ]
    return f"{' → '.join(stays)} in {_gas_text(heat)}{_cooling_text(heat)}"


def _cooling_text(heat: Heat) -> str:
    rate_k_per_s = heat.cooling_rate_k_per_s
    if rate_k_per_s is not None:
        return f", cooled at {rate_k_per_s * 60:.3g} K/min"
    return ", quench" if heat.cooling == "quench" else ""


def _gas_text(heat: Heat) -> str:
    if isinstance(heat.atmosphere, GasMixture):
        gas = heat.atmosphere
        return f"O₂ {gas.o2_pa:.3g} Pa / CO₂ {gas.co2_pa:.3g} Pa"
    return _GASES.get(heat.atmosphere, heat.atmosphere)


def _short(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
