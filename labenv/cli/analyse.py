"""`labenv analyse`: the phases in a measured diffractogram."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer

from labenv.cli.output import (
    FormatOption,
    OutputFormat,
    examples,
)
from labenv_schemas.errors import ConfigError

EXAMPLES = examples(
    "labenv analyse scan.xrdml --phases anatase,ZnO",
    "labenv analyse scan.xy --elements Ti,Zn,O",
    "labenv analyse scan.xrdml --cif mine.cif --phases ZnO --format json",
)


def analyse(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A diffractogram of any known format.")
    ],
    phases: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Names or formulas of the candidates; of a formula, all polymorphs are tried.",
        ),
    ] = None,
    cif: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A structure of your own; may be given several times."),
    ] = None,
    elements: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Search all known phases of these elements."),
    ] = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Quantify the crystalline phases in a powder diffractogram."""
    if not (phases or cif or elements):
        raise ConfigError(
            "say what may be in the sample: --phases anatase,ZnO, or --cif FILE, or --elements Ti,Zn,O"
        )
    if elements and (phases or cif):
        raise ConfigError("--elements searches by itself; leave out --phases and --cif")
    del file
    raise NotImplementedError
