"""Reading a server's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from labenv.inference.errors import InferenceError
from labenv_schemas.base import describe

if TYPE_CHECKING:
    from labenv.inference.protocol.wire import WireModel

R = TypeVar("R", bound="WireModel")


def parse_reply(model: type[R], content: Any, where: str) -> R:  # noqa: ANN401 - whatever came
    """Return an answer as a model.

    Args:
        model: What it has to be.
        content: Plain data of the answer.
        where: URL that answered, for the message.

    Returns:
        The answer.

    Raises:
        InferenceError: If it is something else.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise InferenceError(f"{where} answered something else: {describe(error)}") from error


__all__ = ["parse_reply"]
