"""Commands that list what there is: environments, tasks, policies, phases, schemas."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated

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
from labenv_schemas.errors import LabEnvError

if TYPE_CHECKING:
    from labenv_schemas.task import TaskSpec

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
