"""What goes wrong between a policy and the server that runs it."""

from __future__ import annotations

from labenv_schemas.errors import BoundaryError, LabEnvError


class InferenceError(LabEnvError):
    """The backend, or what it answered, cannot be used."""


class BackendError(InferenceError, BoundaryError):
    """A server refused a call or failed at it.

    Attributes:
        status: HTTP status; None where no answer came.
        retryable: Whether the same call may succeed later; it has not been carried out.
    """

    def __init__(self, message: str, *, status: int | None = None, retryable: bool = False) -> None:
        super().__init__(message, retryable=retryable)
        self.status = status

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_backend, (type(self), str(self), self.status, self.retryable))


class BackendUnavailableError(BackendError):
    """No server answers at the address, or it stopped answering."""


def _rebuild_backend(
    kind: type[BackendError], message: str, status: int | None, retryable: bool
) -> BackendError:
    return kind(message, status=status, retryable=retryable)


class ReplayError(InferenceError):
    """Routing rows are missing, damaged, or not of the tokens that they are said to be of."""


class PrefixError(ReplayError):
    """A request does not go on from the tokens that are held, so the rows held are not its rows.

    Attributes:
        common: How many first tokens are the same.
        held: How many tokens are held.
    """

    def __init__(self, common: int, held: int) -> None:
        self.common, self.held = common, held
        super().__init__(
            f"the request shares {common} first tokens with the {held} that are held; rows can be "
            f"kept only of a prefix, so branch the trajectory at token {common} (a history that "
            "was shortened, or tokenised again, begins a branch)"
        )


__all__ = [
    "BackendError",
    "BackendUnavailableError",
    "InferenceError",
    "PrefixError",
    "ReplayError",
]
