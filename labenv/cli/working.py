"""What a command that computes for a while shows meanwhile, on standard error only."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labenv.cli.output import console, tell

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def working(what: str, *, verbose: bool = False) -> Generator[None]:
    """Show that something is under way: on a terminal as long as it lasts, elsewhere if asked.

    Args:
        what: What is done, such as ``"searching 300 phases"``.
        verbose: Whether to write lines also where standard error is no terminal, which stay.

    Yields:
        Nothing.
    """
    output, began = console(progress=True), time.monotonic()
    if verbose:
        tell(f"{what} ...")
    if output.is_terminal:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=output, transient=True) as progress:
            progress.add_task(what, total=None)
            yield
    else:
        yield
    if verbose:
        tell(f"{what}: {time.monotonic() - began:.1f} s")
