"""How commands speak: tables or JSON on standard output, progress on standard error."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

_WIDTH_WITHOUT_TERMINAL = 10_000  # so that a row is a line, as wide as it is


class OutputFormat(StrEnum):
    """What a command writes to standard output."""

    TABLE = "table"
    JSON = "json"


FormatOption = Annotated[
    OutputFormat, typer.Option("--format", help="A table for people or JSON for programs.")
]
StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="LABENV_STORE",
        help="Path of an SQLite file, or a database URL such as postgresql://host/name.",
    ),
]
DEFAULT_STORE = "labenv-results/labenv.sqlite"


def examples(*commands: str) -> str:
    """Return examples for the foot of a help text, one a line.

    Args:
        *commands: Command lines.

    Returns:
        The text; the mark at its head keeps the lines from being joined.
    """
    return "\b\n" + "\n".join(["Examples:", *(f"  {command}" for command in commands)])


def console(*, progress: bool = False) -> Console:
    """Return a console that breaks lines only on a terminal, or at ``COLUMNS`` where that is set.

    Args:
        progress: Whether for standard error instead of standard output.

    Returns:
        The console.
    """
    from rich.console import Console

    output = sys.stderr if progress else sys.stdout
    fixed = None if output.isatty() or "COLUMNS" in os.environ else _WIDTH_WITHOUT_TERMINAL
    return Console(file=output, width=fixed, highlight=False, soft_wrap=False)


def print_json(data: object) -> None:
    """Write data as JSON to standard output.

    Args:
        data: Plain data without non-finite numbers.
    """
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def print_table(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, str],
    *,
    title: str | None = None,
    numbers: frozenset[str] = frozenset(),
    marked: int | None = None,
) -> None:
    """Write rows as a table to standard output; to a file or pipe without blanks at line ends.

    Args:
        rows: One mapping a row, with text for each column.
        columns: Key of each column to its heading.
        title: Line above the table.
        numbers: Keys of columns that are set flush right.
        marked: Position of a row to set off.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, (key, heading) in enumerate(columns.items()):
        number = key in numbers
        whole = number or place == 0  # what a row is called is copied from here, so never broken
        table.add_column(
            heading, justify="right" if number else "left", no_wrap=whole, overflow="fold"
        )
    for place, row in enumerate(rows):
        style = "bold" if place == marked else ""
        table.add_row(*(Text(str(row[key]), style=style) for key in columns))
    target = console()
    if target.is_terminal:
        target.print(table)
        return
    with target.capture() as captured:
        target.print(table)
    print_lines(*(line.rstrip() for line in captured.get().splitlines()))


def print_lines(*lines: str) -> None:
    """Write lines to standard output, without any markup.

    Args:
        *lines: The lines.
    """
    sys.stdout.write("".join(f"{line}\n" for line in lines))


@contextmanager
def writing(place: Path, what: str) -> Generator[None]:
    """Turn a file that cannot be written into a message.

    Args:
        place: Where it was to go.
        what: What was to be written, such as ``"export"``.

    Yields:
        Nothing.

    Raises:
        ConfigError: If the block fails for the file system.
        BrokenPipeError: If whoever reads the output went away.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(f"the {what} cannot be written to {place}: {reason}") from None


def tell(message: str) -> None:
    """Write a remark to standard error.

    Args:
        message: One sentence.
    """
    with suppress(OSError):
        sys.stderr.write(f"labenv: {message}\n")
