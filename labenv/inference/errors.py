"""What goes wrong between a policy and the server that runs it."""

from __future__ import annotations

from labenv_schemas.errors import LabEnvError


class InferenceError(LabEnvError):
    """The backend, or what it answered, cannot be used."""


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


__all__ = ["InferenceError", "PrefixError", "ReplayError"]
