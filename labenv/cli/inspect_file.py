"""`labenv inspect`: what a measurement file holds, without analysing it."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated, Any

import typer

from labenv.cli.output import (
    FormatOption,
    OutputFormat,
    examples,
    print_json,
    print_lines,
    print_table,
)

EXAMPLES = examples(
    "labenv inspect scan.xrdml",
    "labenv inspect ranges.raw --format json",
    "labenv inspect resistivity.dat",
)


def inspect_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A measurement file in any known format.")
    ],
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Show what a measurement file holds."""
    from labenv_instruments.formats.inspection import inspect_file as inspected

    told = inspected(file)
    if format_ is OutputFormat.JSON:
        print_json(told)
    else:
        _print(told)


def _print(told: dict[str, Any]) -> None:
    version = f" {told['format_version']}" if told["format_version"] else ""
    scans = told["scans"]
    count = f"{len(scans)} measurements" if len(scans) > 1 else "1 measurement"
    print_lines(f"{told['file']}: {told['format']}{version}, {told['kind']}, {count}")
    columns = {
        "name": "part", "points": "points", "axis": "axis", "range": "range", "step": "step",
        "time": "counting time", "light": "wavelengths", "started": "started",
    }  # fmt: skip
    print_table([_row(scan) for scan in scans], columns, numbers=frozenset({"points"}))
    channels = told.get("channels") or scans[0]["channels"]
    rows = [
        {
            "name": channel["name"],
            "unit": channel["unit"],
            "points": str(channel["points"]),
            "range": f"{channel['min']:.6g} to {channel['max']:.6g}",
        }
        for channel in channels
    ]
    heads = {"name": "channel", "unit": "unit", "points": "points", "range": "range"}
    print_table(rows, heads, numbers=frozenset({"points"}))
    print_lines(*(f"note: {warning}" for warning in told["warnings"]))


def _row(scan: dict[str, Any]) -> dict[str, str]:
    axis, light, seconds = scan["axis"], scan["wavelengths"], scan["counting_time_s"]
    waves = "not stated"
    if light is not None:
        both = (light["k_alpha1_angstrom"], light["k_alpha2_angstrom"])
        waves = ", ".join(f"{wave:.7g}" for wave in both if wave is not None) + " Å"
    steps = "unequal" if axis["step"] is None else f"{axis['step']:.6g}"
    return {
        "name": scan["name"],
        "points": str(scan["points"]),
        "axis": f"{axis['name']} / {axis['unit']}",
        "range": f"{axis['min']:.6g} to {axis['max']:.6g}",
        "step": steps,
        "time": "not stated" if seconds is None else f"{seconds:g} s",
        "light": "-" if scan["kind"] not in {"diffractogram", "spectrum"} else waves,
        "started": _started(scan),
    }


def _started(scan: dict[str, Any]) -> str:
    if scan["timestamp"] is None:
        return "not stated"
    return str(scan["timestamp"]) + ("" if scan["timezone"] else " (zone unknown)")
