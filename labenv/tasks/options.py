"""Checking the options that a user gave by name, with messages that name the right ones."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def check_option_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options that do not exist, saying which was probably meant and which there are.

    Args:
        what: Who takes the options, for the message: ``"policy 'bayesian'"``.
        given: Names as the user wrote them.
        known: Names that are taken, in the order to list them.

    Raises:
        ConfigError: If a name is not known; the message names every such one.
    """
    names = list(known)
    unknown = [_unknown(name, names) for name in given if name not in names]
    if unknown:
        listed = f"it takes {', '.join(names)}" if names else "it takes none"
        raise ConfigError(f"{what} does not take these options: {', '.join(unknown)}; {listed}")


def check_whole_number(name: str, value: object, low: int, high: int | None = None) -> None:
    """Refuse what is no whole number of a range.

    Args:
        name: Of the option.
        value: As given.
        low: Least value.
        high: Greatest value, or None.

    Raises:
        ConfigError: If the value is of another type or outside the range.
    """
    limits = f"at least {low}" if high is None else f"{low} to {high}"
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not whole:
        kind = type(value).__name__
        raise ConfigError(f"{name} must be a whole number, {limits}; got {value!r} ({kind})")
    if value < low or (high is not None and value > high):  # type: ignore[operator]
        raise ConfigError(f"{name} must be {limits}, got {value}")


def option_names(factory: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the names of the options that a factory takes, or None if it takes any.

    Args:
        factory: A function or class that makes a plug-in.

    Returns:
        Names in the order of its signature; None if the signature does not tell.
    """
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    by_name = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}
    return tuple(parameter.name for parameter in parameters if parameter.kind in by_name)


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(str(name), known, n=1, cutoff=0.6)
    return f"{name!r} (did you mean {near[0]!r}?)" if near else repr(name)
