"""`labenv predict`: what a firing is expected to give."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, NoReturn, get_args

import typer

from labenv.cli.output import (
    FormatOption,
    OutputFormat,
    examples,
    print_json,
    print_lines,
    print_table,
    tell,
)
from labenv.cli.words import split_list
from labenv_schemas.errors import ConfigError, ProposalError

if TYPE_CHECKING:
    from labenv.physics.networks import Surroundings
    from labenv.physics.networks.volatility import Vessel
    from labenv.physics.prediction import Prediction
    from labenv_schemas.proposal import Heat

ROOM_AIR_WATER_PA = 1000.0  # 45 % relative humidity at 20 degC
DRY_GAS_WATER_PA = 1.0  # a few ppm, as bottled gases have
LEAST_SHOWN, MOST_MINUTES = 5e-4, 600.0
USAGE = 2  # the exit code of wrong input
UNITS = {"temperature": "degC", "time": "h", "rate": "K/min"}  # where one is left out
PLACES = {
    "segments[0].target": "--temperature",
    "segments[0].hold": "--time",
    "segments[0].rate": "--rate",
}
OUTSIDE = {
    "unknown_substance": "unknown substance",
    "outside_domain": "outside the simulator's domain",
}
EXAMPLES = examples(
    'labenv predict "BaCO3:1,TiO2:1" --temperature 1100degC --time 4h',
    'labenv predict "Fe2O3:5,Y2O3:3" --temperature 1300degC --time 12h --atmosphere oxygen',
)


def predict(  # noqa: PLR0913 - one parameter an option
    mixture: Annotated[
        str,
        typer.Argument(
            metavar="MIXTURE", help="Precursors with amounts in mol, such as BaCO3:1,TiO2:1."
        ),
    ],
    temperature: Annotated[
        str, typer.Option(metavar="T", help="Temperature held, such as 1100degC.")
    ],
    time: Annotated[str, typer.Option(metavar="TIME", help="How long, such as 60min.")],
    atmosphere: Annotated[
        str,
        typer.Option(metavar="GAS", help="air, oxygen, nitrogen, argon, carbon_dioxide, vacuum."),
    ] = "air",
    rate: Annotated[str, typer.Option(metavar="RATE", help="Heating rate.")] = "5K/min",
    open_: Annotated[
        bool, typer.Option("--open", help="No lid, so that vapours of Mg, Li, Pb, Mo ... leave.")
    ] = False,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Predict the phases that a firing gives."""
    from labenv.physics.prediction import Firing
    from labenv.physics.prediction import predict as predict_firing

    heat = _heat(temperature, time, rate, atmosphere)
    firing = Firing(
        amounts_mol=mixture_amounts(mixture),
        temperature_k=heat.segments[0].target_k,
        hold_s=heat.segments[0].hold_s,
        rate_k_per_s=heat.segments[0].rate_k_per_s,
        surroundings=_surroundings(heat, open_=open_),
    )
    prediction = predict_firing(firing)
    if format_ is OutputFormat.JSON:
        print_json(prediction_json(prediction))
    elif prediction.in_domain:
        _print(prediction)
    if not prediction.in_domain:
        _refuse(prediction)


def _heat(temperature: str, time: str, rate: str, atmosphere: str) -> Heat:
    """Return the firing that the options ask for.

    Raises:
        ConfigError: If an option does not fit; the message names it.
    """
    from labenv_schemas.base import parse
    from labenv_schemas.proposal import AtmosphereName, Heat

    for option, text in (("temperature", temperature), ("time", time), ("rate", rate)):
        if _is_bare_number(text):
            unit = UNITS[option]
            raise ConfigError(f"--{option}: {text!r} has no unit, write {text.strip()}{unit}")
    gases = get_args(AtmosphereName)
    if atmosphere not in gases:
        raise ConfigError(f"--atmosphere: {atmosphere!r} is not one of {', '.join(gases)}")
    segment = {"target": temperature, "rate": rate, "hold": time}
    try:
        return parse(Heat, {"segments": [segment], "atmosphere": atmosphere})
    except ProposalError as fault:
        told = str(fault)
    for place, option in PLACES.items():
        told = told.replace(place, option)
    raise ConfigError(told)


def _is_bare_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _refuse(prediction: Prediction) -> NoReturn:
    what = OUTSIDE.get(prediction.status, prediction.status)
    tell(f"{what}: {'; '.join(prediction.notes)}")
    raise typer.Exit(USAGE)


def mixture_amounts(text: str) -> dict[str, float]:
    """Read a mixture.

    Args:
        text: Such as ``"Bi2O3:1,MoO3:2"``; an amount left out is 1.

    Returns:
        Amount of each precursor, mol.

    Raises:
        ConfigError: If an amount is no number or a precursor is named twice.
    """
    found: dict[str, float] = {}
    for word in split_list(text, "mixture"):
        name, _, amount = word.partition(":")
        name = name.strip()
        try:
            number = float(amount) if amount.strip() else 1.0
        except ValueError:
            raise ConfigError(
                f"{word!r}: {amount!r} is no number; amounts are in mol and only their ratios "
                f"matter, write {name}:1"
            ) from None
        if not name or not 0.0 < number < 1e6:
            raise ConfigError(f"{word!r}: write a precursor and an amount above 0, as BaCO3:1")
        if name in found:
            raise ConfigError(f"{name} is named twice; add its amounts up")
        found[name] = number
    return found


def _surroundings(heat: Heat, *, open_: bool = False) -> Surroundings:
    from labenv.physics.networks import Surroundings

    pressure = heat.partial_pressures_pa()
    water = ROOM_AIR_WATER_PA if heat.atmosphere == "air" else DRY_GAS_WATER_PA
    vessel: Vessel = "covered"
    if open_:
        vessel = "vacuum" if heat.atmosphere == "vacuum" else "open"
    return Surroundings(o2_pa=pressure["O2"], co2_pa=pressure["CO2"], h2o_pa=water, vessel=vessel)


def prediction_json(prediction: Prediction) -> dict[str, object]:
    """Return a prediction as plain data.

    Args:
        prediction: The prediction.

    Returns:
        What ``labenv predict --format json`` prints.
    """
    known = prediction.in_domain
    return {
        "status": prediction.status,
        "main_product": prediction.main_product,
        "phases": [
            {
                "phase": p.name,
                "weight_fraction": round(p.weight_fraction, 5),
                "low": round(p.low, 5),
                "high": round(p.high, 5),
                "end_of_hold": round(p.held, 5),
                "equilibrium": round(p.equilibrium, 5),
                "estimated_thermochemistry": p.estimate,
            }
            for p in prediction.phases
        ],
        "others": {
            "weight_fraction": round(prediction.others.weight_fraction, 5),
            "end_of_hold": round(prediction.others.held, 5),
            "equilibrium": round(prediction.others.equilibrium, 5),
        },
        "residue": round(prediction.residue, 5) if known else None,
        "mass_change": round(prediction.mass_change, 5) if known else None,
        "heat_j_per_g": round(prediction.heat_j_g, 1) if known else None,
        "path": [
            {
                "time_s": round(e.time_s, 1),
                "temperature_k": round(e.temperature_k, 1),
                "stage": e.stage,
                "phase": e.phase,
                "event": e.event,
            }
            for e in prediction.path
        ],
        "limited_by": prediction.limited_by,
        "on_cooling": prediction.on_cooling,
        "domain_flags": [{"kind": flag.kind, "text": flag.text} for flag in prediction.flags],
        "notes": list(prediction.notes),
    }


def _print(prediction: Prediction) -> None:
    if prediction.residue > 0.0:
        _print_phases(prediction)
    else:
        print_lines("nothing left: all of the powder has evaporated")
    lines = ["", "path:"]
    lines += [
        f"  {_clock(e.time_s):>8}  {e.temperature_k - 273.15:5.0f} degC  {e.stage:7}  "
        f"{e.phase} {e.event}"
        for e in prediction.path
    ] or ["  nothing happens"]
    lines += ["", f"limited by: {prediction.limited_by}"]
    if prediction.on_cooling:
        lines += [f"on cooling: {prediction.on_cooling}"]
    lines += [
        f"mass change: {100.0 * prediction.mass_change:+.2f} %, residue: "
        f"{100.0 * prediction.residue:.2f} % of what was weighed in, "
        f"heat taken up: {prediction.heat_j_g:.0f} J/g"
    ]
    lines += [f"warning: {flag.text}" for flag in prediction.flags]
    lines += [f"note: {note}" for note in prediction.notes]
    print_lines(*lines)


def _print_phases(prediction: Prediction) -> None:
    rows = [
        {
            "phase": p.name,
            "share": f"{100 * p.weight_fraction:.1f}",
            "spread": f"{100 * p.low:.1f} to {100 * p.high:.1f}",
            "held": f"{100 * p.held:.1f}",
            "equilibrium": f"{100 * p.equilibrium:.1f}",
        }
        for p in prediction.phases
    ]
    if max(prediction.others) >= LEAST_SHOWN:
        rest = [f"{100 * share:.1f}" for share in prediction.others]
        rows += [
            {"phase": "others", "share": rest[0], "spread": "", "held": rest[1]}
            | {"equilibrium": rest[2]}
        ]
    columns = {
        "phase": "phase",
        "share": "wt %",
        "spread": "wt % (10th to 90th percentile)",
        "held": "wt % at the end of the hold",
        "equilibrium": "wt % at equilibrium",
    }
    print_table(rows, columns, numbers=frozenset(columns.keys() - {"phase"}))


def _clock(time_s: float) -> str:
    """Return a time in minutes, or in hours where these are many."""
    minutes = time_s / 60.0
    return f"{minutes:.0f} min" if minutes < MOST_MINUTES else f"{minutes / 60.0:.1f} h"


__all__ = ["EXAMPLES", "mixture_amounts", "predict", "prediction_json"]
