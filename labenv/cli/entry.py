"""From the words of a command line to an exit code: the one place where errors become messages."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from labenv.campaigns.interrupts import heeded_interrupts
from labenv.cli.output import tell
from labenv_schemas.errors import BoundaryError, LabEnvError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labenv.campaigns.interrupts import Interrupts

OK, FAILURE, USAGE, PIPE_CLOSED = 0, 1, 2, 141


def run_command_line(arguments: Sequence[str] | None = None) -> int:
    """Run a command and say in one message what went wrong, if something did.

    Args:
        arguments: Words after the program's name; those of the process if None.

    Returns:
        The exit code.

    Raises:
        SystemExit: If click stops for a reason of its own.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = _take_flag(words, "--debug")
    _make_output_safe()
    with heeded_interrupts() as interrupts:
        return _answer(words, interrupts, debug=debug)


def _answer(words: list[str], interrupts: Interrupts, *, debug: bool) -> int:
    try:
        code = _invoke(words)
        sys.stdout.flush()
        interrupts.check()
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as stop:  # how click answers a broken pipe
        if isinstance(stop.__context__, BrokenPipeError):
            return _reader_gone()
        raise
    except KeyboardInterrupt:
        return _interrupted(interrupts)
    except Exception as error:
        if interrupts.number is not None or _is_abort(error):
            return _interrupted(interrupts)
        if debug:
            raise
        return _explain(error)
    return code


def _invoke(words: list[str]) -> int:
    from labenv.cli.app import app

    result = app(args=words, prog_name="labenv", standalone_mode=False)
    return result if isinstance(result, int) else OK


def _interrupted(interrupts: Interrupts) -> int:
    tell("interrupted")
    return interrupts.exit_code


def _is_abort(error: Exception) -> bool:
    """Return whether an error is what click makes of KeyboardInterrupt."""
    import typer

    return isinstance(error, typer.Abort)


def _reader_gone() -> int:
    """Return the exit code of a closed pipe; what is still buffered goes nowhere, in silence."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _explain(error: Exception) -> int:
    explain = getattr(error, "format_message", None)
    if explain is not None:  # click's own errors, from whichever click typer uses
        usage = getattr(error, "ctx", None)
        tell(str(explain()))
        if usage is not None:
            _hint(f"'{usage.command_path} --help' shows how it is used")
        return USAGE
    if isinstance(error, LabEnvError):
        tell(str(error))
        return FAILURE if isinstance(error, BoundaryError) else USAGE
    told = " ".join(str(error).split())
    tell(f"unexpected {type(error).__name__}{f': {told}' if told else ''}")
    _hint("this is a fault in labenv; the same command with --debug shows where, for a report")
    return FAILURE


def _hint(message: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"  {message}\n")


def _take_flag(words: list[str], flag: str) -> bool:
    """Return whether a flag stands somewhere before ``--``, and remove it."""
    end = words.index("--") if "--" in words else len(words)
    if flag not in words[:end]:
        return False
    words.remove(flag)
    return True


def _make_output_safe() -> None:
    """Never fail on a character that the terminal's encoding lacks."""
    for output in (sys.stdout, sys.stderr):
        reconfigure = getattr(output, "reconfigure", None)
        if reconfigure is not None:
            with suppress(ValueError, OSError):
                reconfigure(errors="replace")
