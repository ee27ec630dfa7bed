"""`labenv analyse`: the phases in a measured diffractogram."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from labenv.campaigns.plan_text import count_text
from labenv.cli.output import (
    FormatOption,
    OutputFormat,
    examples,
    print_json,
    print_lines,
    print_table,
)
from labenv.cli.words import split_list
from labenv.cli.working import working
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator

    from labenv.physics.structures import CrystalPhase
    from labenv_schemas.analysis import PhaseAnalysis
    from labenv_schemas.measurement import Diffractogram

EXAMPLES = examples(
    "labenv analyse scan.xrdml --phases anatase,ZnO",
    "labenv analyse scan.xy --elements Ti,Zn,O",
    "labenv analyse scan.xy",
    "labenv analyse scan.xrdml --cif mine.cif --phases ZnO --format json",
    "labenv analyse beamline.xy --wavelength 0.4136 --elements Ti,Zn,O",
)


def analyse(  # noqa: PLR0913 - one parameter an option
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A diffractogram in any known format.")
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
        typer.Option(
            metavar="A,B,...",
            help="Search phases of these; without options, all.",
        ),
    ] = None,
    wavelength: Annotated[
        str | None,
        typer.Option(
            metavar="Å or ANODE",
            help="Of a beam (0.4136), or a tube (Mo), in place of what the file says.",
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Say what is done also where no terminal listens."),
    ] = False,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Quantify the phases in a powder diffractogram."""
    from labenv.analysis import fit_phases, search_phases

    candidates = _candidates(phases, cif, elements)
    symbols = split_list(elements, "list of elements") if elements is not None else None
    scan = _read(file, wavelength)
    with _about(file), working(_doing(candidates, symbols), verbose=verbose):
        fit = fit_phases(scan, candidates) if candidates else search_phases(scan, symbols)
    analysis = fit.analysis
    if format_ is OutputFormat.JSON:
        print_json(analysis_json(analysis))
    else:
        _print_analysis(file, analysis)


def analysis_json(analysis: PhaseAnalysis) -> dict[str, object]:
    """Return an analysis as plain data.

    Args:
        analysis: The analysis.

    Returns:
        What ``labenv analyse --format json`` prints.
    """
    return {
        "status": analysis.status,
        "phases": [phase.model_dump(mode="json") for phase in analysis.phases],
        "goodness_of_fit": analysis.goodness_of_fit,
        "r_wp": analysis.r_wp,
        "residual_peaks": [peak.model_dump(mode="json") for peak in analysis.residual_peaks],
        "warnings": list(analysis.warnings),
    }


def _candidates(
    phases: str | None, cif: list[Path] | None, elements: str | None
) -> list[CrystalPhase | str]:
    """Return the candidates that were named; none if the elements are to be searched.

    Args:
        phases: Names and formulas.
        cif: Structure files.
        elements: Elements to search.

    Returns:
        Names, formulas and structures.

    Raises:
        ConfigError: If both candidates and elements were named.
    """
    from labenv.physics.structures import phase_from_cif

    if elements is not None and (phases is not None or cif):
        raise ConfigError("--elements searches by itself; leave out --phases and --cif")
    named: list[CrystalPhase | str] = []
    if phases is not None:
        named += split_list(phases, "list of phases")
    return named + [phase_from_cif(path) for path in cif or []]


def _doing(candidates: list[CrystalPhase | str], symbols: list[str] | None) -> str:
    """Return what the analysis is about to do, for whoever waits."""
    if candidates:
        return f"fitting {count_text(len(candidates), 'candidate')}"
    if symbols is not None:
        return f"searching the known phases of {', '.join(symbols)}"
    from labenv.physics.structures import phase_library

    return f"searching all {len(list(phase_library()))} known phases"


@contextmanager
def _about(file: Path) -> Generator[None]:
    """Name the file in what the analysis refuses.

    Raises:
        ConfigError: Again, with the name.
    """
    try:
        yield
    except ConfigError as fault:
        raise ConfigError(f"{file}: {fault}") from None


def _read(file: Path, wavelength: str | None) -> Diffractogram:
    """Return the scan of a file, with another wavelength if one is given.

    Raises:
        ConfigError: If the file holds no diffractogram, or the wavelength cannot be read.
    """
    from labenv_instruments.formats import read_measurement
    from labenv_schemas.measurement import Diffractogram

    measurement = read_measurement(file)
    if not isinstance(measurement, Diffractogram):
        kind = measurement.kind.replace("_", " ")
        raise ConfigError(f"{file} holds a {kind}; this command analyses diffractograms")
    if wavelength is None:
        return measurement
    from labenv.physics.diffraction_radiation import radiation_of

    flags = tuple(flag for flag in measurement.flags if flag.code != "wavelength_assumed")
    changed = {"radiation": radiation_of(wavelength), "flags": flags}
    return measurement.model_copy(update=changed)


def _print_analysis(file: Path, analysis: PhaseAnalysis) -> None:
    status = analysis.status.replace("_", " ")
    print_lines(
        f"{file}: {status}, R_wp {analysis.r_wp:.3f}, goodness of fit "
        f"{analysis.goodness_of_fit:.2f}"
    )
    rows = [
        {
            "name": phase.name,
            "formula": phase.formula,
            "fraction": f"{phase.weight_fraction:.4f}",
            "uncertainty": f"± {phase.uncertainty:.4f}",
        }
        for phase in analysis.phases
    ]
    if rows:
        columns = {"name": "phase", "formula": "formula", "fraction": "weight fraction",
                   "uncertainty": "uncertainty"}  # fmt: skip
        print_table(rows, columns, numbers=frozenset({"fraction", "uncertainty"}))
    if analysis.residual_peaks:
        peaks = ", ".join(f"{peak.two_theta_deg:.2f}°" for peak in analysis.residual_peaks[:12])
        print_lines(f"peaks that no phase explains: {peaks}")
    print_lines(*(f"note: {warning}" for warning in analysis.warnings))
