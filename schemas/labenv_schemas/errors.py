"""The error tree of labenv; see `labenv.errors` for the drawing and for who is at fault in each.

It lives in the vocabulary because instruments, which never import labenv, raise it too.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


class LabEnvError(Exception):
    """Root of every error that labenv raises on purpose."""


class ConfigError(LabEnvError, ValueError):
    """A file, argument or option is wrong; the message says where, and what to write."""


class ProposalError(LabEnvError, ValueError):
    """A proposal asks for what the lab cannot do; it becomes an Outcome with status `invalid`."""


class UnknownPluginError(LabEnvError, LookupError):
    """No task, policy, driver or system answers to the name; the message lists those that do."""


class MeasurementFileError(LabEnvError, ValueError):
    """A measurement or structure file cannot be read; the message names the file and the place."""


class BoundaryError(LabEnvError):
    """Something outside the policy's reach failed.

    Attributes:
        retryable: Whether the same request may succeed when sent again.
    """

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), str(self), self.retryable))


def _rebuild(kind: type[BoundaryError], message: str, retryable: bool) -> BoundaryError:
    return kind(message, retryable=retryable)


class InstrumentError(BoundaryError):
    """An instrument failed or answered what it must not."""


class SimulatorError(BoundaryError):
    """A numerical model left its domain or did not converge."""


class PolicyError(BoundaryError):
    """A policy, or the model server behind it, failed to answer."""


class StoreError(BoundaryError):
    """The results store could not be read or written."""


@contextmanager
def boundary(kind: type[BoundaryError], what: str) -> Generator[None]:
    """Classify whatever escapes the block as `kind`, letting labenv's own errors through.

    Args:
        kind: The boundary that the block stands at.
        what: What was being done, for the message, such as ``"diffractometer.measure"``.

    Yields:
        Nothing.

    Raises:
        BoundaryError: Of class `kind`, in place of any foreign exception; the cause is chained.
        LabEnvError: Any error that already is of this tree, unchanged.
    """
    try:
        yield
    except LabEnvError:
        raise
    except Exception as cause:
        message = f"{what}: {type(cause).__name__}: {cause}"
        raise kind(message) from cause
