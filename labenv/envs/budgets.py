"""Budgets in one vocabulary: `experiments`, `lab_time` and `cost`, in every environment.

An environment that limits only some of them says which, and may have short names for its limits as
arguments of their own, which stand in place of a budget.
"""

from __future__ import annotations

from collections.abc import Mapping

from labenv_schemas.base import parse
from labenv_schemas.errors import ConfigError
from labenv_schemas.task import Budget

MOST_EXPERIMENTS = 10_000
HOUR_S = 3600.0
_FIELDS = {"experiments": "experiments", "lab_time": "lab_time_s", "cost": "cost"}


def read_budget(
    budget: object,
    limited: tuple[str, ...],
    short: Mapping[str, object],
) -> Budget | None:
    """Return the budget that a user gave.

    Args:
        budget: A budget, plain data, or None.
        limited: What the environment limits, of ``experiments``, ``lab_time`` and ``cost``.
        short: Arguments that may stand in place of the budget, None where they were left out.

    Returns:
        The budget; None if none was given.

    Raises:
        ConfigError: If it cannot be read, limits what the environment does not, or stands beside an
            argument in its place.
    """
    if budget is None:
        return None
    beside = [name for name, value in short.items() if value is not None]
    if beside:
        raise ConfigError(f"a budget stands in place of {', '.join(beside)}; leave out one of them")
    if not isinstance(budget, (Budget, Mapping)):
        raise ConfigError(f"budget must be a Budget or a mapping, not {budget!r}")
    try:
        read = parse(Budget, budget, ConfigError)
    except ConfigError as error:
        raise ConfigError(f"budget: {error}") from None
    for name, field in _FIELDS.items():
        if getattr(read, field) is not None and name not in limited:
            raise ConfigError(
                f"budget.{name}: this environment does not limit it; it limits "
                f"{' and '.join(limited)}"
            )
    return read
