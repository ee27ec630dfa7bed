"""Commands that list what there is: environments, tasks, policies, drivers, phases, schemas."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labenv.cli.output import (
    FormatOption,
    OutputFormat,
    examples,
    print_json,
    print_lines,
    print_table,
    tell,
    writing,
)
from labenv_schemas.errors import ConfigError, LabEnvError

if TYPE_CHECKING:
    from labenv_instruments.wire import WireDriver
    from labenv_schemas.task import TaskSpec

DRIVERS_EXAMPLES = examples("labenv drivers", "labenv drivers eurotherm")
PHASES_EXAMPLES = examples("labenv phases --elements Ba,Ti,O")
SCHEMAS_EXAMPLES = examples("labenv schemas --out schemas/")


def envs(format_: FormatOption = OutputFormat.TABLE) -> None:
    """List the Gymnasium environments."""
    import gymnasium

    import labenv

    del labenv  # importing it registers them
    rows = [
        {
            "id": spec.id,
            "entry_point": str(spec.entry_point),
            "vector_entry_point": str(spec.vector_entry_point or ""),
            "max_episode_steps": spec.max_episode_steps,
        }
        for spec in gymnasium.registry.values()
        if spec.namespace == "labenv"
    ]
    if format_ is OutputFormat.JSON:
        print_json(rows)
    else:
        columns = {"id": "id", "entry_point": "single", "vector_entry_point": "vector"}
        print_table(rows, columns)


def tasks(format_: FormatOption = OutputFormat.TABLE) -> None:
    """List the tasks that a campaign can pursue."""
    from labenv.tasks import make_task, task_names

    specs: list[TaskSpec] = []
    for name in task_names():
        try:
            specs.append(make_task(name).spec)
        except LabEnvError as error:  # another distribution's, which must not hide the rest
            tell(str(error))
    if format_ is OutputFormat.JSON:
        print_json([spec.model_dump(mode="json") for spec in specs])
        return
    rows = [
        {
            "name": spec.name,
            "target": spec.target,
            "system": spec.system,
            "goal": f"{spec.goal_fraction:g}",
            "description": spec.description,
        }
        for spec in specs
    ]
    columns = {"name": "task", "target": "target", "system": "system", "goal": "goal",
               "description": "description"}  # fmt: skip
    print_table(rows, columns)


def policies(format_: FormatOption = OutputFormat.TABLE) -> None:
    """List the policies that can propose."""
    from labenv.policies import policy_names

    names = policy_names()
    if format_ is OutputFormat.JSON:
        print_json(list(names))
    else:
        print_lines(*names)


def drivers(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only this driver, with its options.")
    ] = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """List the drivers of devices, or explain one's address."""  # noqa: DOC501 - it is the help
    from labenv_instruments.drivers import driver_names, load_driver
    from labenv_instruments.wire import WireDriver as OnAWire

    found: list[type[WireDriver]] = []
    for one in driver_names() if name is None else (name.replace("-", "_"),):
        try:
            driver = load_driver(one)
        except LabEnvError as error:
            if name is not None:
                raise
            tell(str(error))  # another distribution's, which must not hide the rest
            continue
        if issubclass(driver, OnAWire):
            found.append(driver)
        elif name is not None:
            raise ConfigError(
                f"{one} works in process and has no address; look at 'labenv drivers'"
            )
    rows: list[dict[str, Any]] = [
        {
            "name": driver.kind,
            "port": driver.default_port,
            "operations": sorted(driver.operations),
            "options": dict(driver.option_help),
        }
        for driver in found
    ]
    if format_ is OutputFormat.JSON:
        print_json(rows)
    elif name is not None:
        _explain_driver(rows[0])
    else:
        shown = [
            {
                **row,
                "operations": ", ".join(row["operations"]),
                "options": ", ".join(row["options"]),
            }
            for row in rows
        ]
        print_table(shown, {"name": "driver", "port": "port", "operations": "operations",
                            "options": "options of the address"})  # fmt: skip


def _explain_driver(row: dict[str, Any]) -> None:
    print_lines(
        f"{row['name']}+tcp://HOST:{row['port'] or 'PORT'}?OPTION=VALUE&OPTION=VALUE",
        f"operations: {', '.join(row['operations']) or 'none'}",
        "",
    )
    options = [{"option": key, "meaning": text} for key, text in row["options"].items()]
    if options:
        print_table(options, {"option": "option", "meaning": "meaning"})
    else:
        print_lines("no options")


def phases(
    elements: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Only phases of these elements, such as Ti,O."),
    ] = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """List the crystal structures that are known."""
    from labenv.cli.words import split_list
    from labenv.physics.structures import phase_library

    library = phase_library()
    found = library.search(split_list(elements)) if elements is not None else tuple(library)
    rows = [
        {
            "name": phase.name,
            "formula": phase.formula,
            "space_group": phase.space_group,
            "source": phase.source,
        }
        for phase in found
    ]
    if format_ is OutputFormat.JSON:
        print_json(rows)
        return
    if not rows:
        tell(f"no structure consists of {elements} and nothing else; look at 'labenv phases'")
        return
    columns = {"name": "phase", "formula": "formula", "space_group": "space group",
               "source": "source"}  # fmt: skip
    print_table(rows, columns)


def schemas(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write to; made if absent.")],
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Write the JSON Schemas of the vocabulary."""
    from labenv_schemas.export import write_json_schemas

    with writing(out, "schemas"):
        written = write_json_schemas(out)
    if format_ is OutputFormat.JSON:
        print_json([str(path) for path in written])
    else:
        print_lines(*map(str, written))
