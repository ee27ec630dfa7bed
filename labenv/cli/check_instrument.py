"""`labenv check-instrument`: can a device and its driver be trusted?"""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

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
from labenv_schemas.errors import ConfigError

EXAMPLES = examples(
    "labenv check-instrument eurotherm+tcp://10.0.0.5:502?model=3216",
    "labenv check-instrument tcp://10.0.0.7:7777 --driver lakeshore_336 --format json",
    "labenv check-instrument eurotherm+tcp://10.0.0.5?model=3216 --actuate "
    "--limit max_temperature=200degC",
    "labenv check-instrument aeris+tcp://10.0.0.9?folder=/scans --junit aeris.xml",
)


def check_instrument(  # noqa: PLR0913 - one parameter an option
    address: Annotated[
        str, typer.Argument(metavar="ADDRESS", help="Such as 'aeris+tcp://host?folder=/scans'.")
    ],
    driver: Annotated[
        str | None, typer.Option(metavar="NAME", help="The driver, if the address names none.")
    ] = None,
    actuate: Annotated[
        bool, typer.Option("--actuate", help="Also move things, within the limits.")
    ] = False,
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="What it may be asked for here; may be repeated."),
    ] = None,
    request: Annotated[
        list[str] | None,
        typer.Option(metavar="JSON", help="An operation to use in place of the suite's own."),
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this check; may be given several times."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.05, max=60.0, help="Longest wait for one reply, s.")
    ] = 2.0,
    speed: Annotated[
        float,
        typer.Option(
            min=0.001, max=1e6, help="Lab seconds per wall second, of a twin that runs as fast."
        ),
    ] = 1.0,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.")
    ] = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Check whether a device and its driver can be trusted."""  # noqa: DOC501 - it is the help
    from labenv_instruments.conformance import (
        Bench,
        Verdict,
        as_data,
        as_junit,
        counted,
        find_checks,
        parse_limits,
        parse_operation,
        run_checks,
    )

    bench = Bench(
        address,
        driver,
        limits=parse_limits(limit or ()),
        timeout_s=timeout,
        actuate=actuate,
        speed=speed,
        requests=tuple(parse_operation(one) for one in request or ()),
    )
    results = []
    for result in run_checks(bench, find_checks(check or ())):
        results.append(result)
        if format_ is OutputFormat.TABLE:
            tell(f"{result.name}: {result.verdict.value}")
    if junit is not None:
        try:
            junit.write_text(as_junit(bench, results), encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{junit} cannot be written: {error.strerror or error}") from None
    if format_ is OutputFormat.JSON:
        print_json(as_data(bench, results))
    else:
        rows = [
            {
                "check": result.name,
                "verdict": result.verdict.value,
                "found": result.found or result.says,
                "took": f"{result.took_s:.2f} s",
            }
            for result in results
        ]
        print_table(rows, {name: name for name in ("check", "verdict", "found", "took")})
        print_lines("", ", ".join(f"{count} {name}" for name, count in counted(results).items()))
    if any(result.verdict is Verdict.FAILED for result in results):
        raise typer.Exit(1)
