"""The commands and their help. Everything heavy is imported inside the commands."""

from __future__ import annotations

from typing import Annotated

import typer

from labenv.cli import (
    analyse,
    benches,
    catalogue,
    check_instrument,
    inspect_file,
    predict,
    results,
    run,
    validate,
)

app = typer.Typer(
    name="labenv",
    help=(
        "A materials laboratory you can run: propose experiments, let the simulated laboratory "
        "carry them out, and be judged by what was measured."
    ),
    epilog=(
        "\b\nExit codes: 0 success, 1 failure, 2 wrong usage or input, 130 or 143 interrupted.\n"
        "--debug anywhere on the line shows the traceback of an error."
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        import labenv as package

        typer.echo(f"labenv {package.__version__}")
        raise typer.Exit


@app.callback()
def labenv(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_show_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options that every command has."""
    del version


app.command("run", epilog=run.EXAMPLES)(run.run)
app.command("report", epilog=results.REPORT_EXAMPLES)(results.report)
app.command("list", epilog=results.LIST_EXAMPLES)(results.list_campaigns)
app.command("show", epilog=results.SHOW_EXAMPLES)(results.show)
app.command("export", epilog=results.EXPORT_EXAMPLES)(results.export)
app.command("analyse", epilog=analyse.EXAMPLES)(analyse.analyse)
app.command("inspect", epilog=inspect_file.EXAMPLES)(inspect_file.inspect_file)
app.command("predict", epilog=predict.EXAMPLES)(predict.predict)
app.command("validate", epilog=validate.EXAMPLES)(validate.validate)
app.command("twin", epilog=benches.TWIN_EXAMPLES)(benches.twin)
app.command("stop", epilog=benches.STOP_EXAMPLES)(benches.stop)
app.command("check-instrument", epilog=check_instrument.EXAMPLES)(check_instrument.check_instrument)
app.command("envs")(catalogue.envs)
app.command("tasks")(catalogue.tasks)
app.command("policies")(catalogue.policies)
app.command("drivers", epilog=catalogue.DRIVERS_EXAMPLES)(catalogue.drivers)
app.command("phases", epilog=catalogue.PHASES_EXAMPLES)(catalogue.phases)
app.command("schemas", epilog=catalogue.SCHEMAS_EXAMPLES)(catalogue.schemas)
