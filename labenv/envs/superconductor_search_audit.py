"""The door to the truth of a superconductor search, for evaluation only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gymnasium.error import ResetNeeded

from labenv.tasks.superconductor_search import make_bar
from labenv_schemas.errors import ConfigError

# This module alone reads the private parts of the environment: it is the door.

if TYPE_CHECKING:
    from labenv.envs.superconductor_search import SuperconductorSearchEnv
    from labenv.tasks.superconductor_search import Bar, Conditions


def true_conditions(env: SuperconductorSearchEnv) -> Conditions:
    """Return what is hidden about the laboratory of the running episode.

    Args:
        env: Unwrapped.

    Returns:
        The conditions.

    Raises:
        ResetNeeded: Before the first `reset`.
    """
    conditions = env._conditions  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    if conditions is None:
        raise ResetNeeded("call reset() before the environment is used")
    return conditions


def true_bar(env: SuperconductorSearchEnv, experiment: int) -> Bar | None:
    """Return what an experiment of the running episode really made.

    Args:
        env: Unwrapped.
        experiment: Its number, from 0.

    Returns:
        The bar; None if the recipe was invalid.

    Raises:
        ConfigError: If there was no such experiment.
    """
    past = env._past  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    if not 0 <= experiment < len(past):
        raise ConfigError(f"this episode has no experiment {experiment}")
    result = past[experiment]
    if result.status == "invalid":
        return None
    return make_bar(result.recipe, true_conditions(env), experiment)
