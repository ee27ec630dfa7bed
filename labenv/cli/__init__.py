"""The command line. `main` is what the `labenv` command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: Words after the program's name; those of the process if None.

    Returns:
        0 for success, 1 for a failure, 2 for wrong usage or input, 130 if interrupted by
        Ctrl-C, 143 by SIGTERM, 141 if whoever read the output went away.
    """
    from labenv.cli.entry import run_command_line

    return run_command_line(arguments)
