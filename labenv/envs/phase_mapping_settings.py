"""What a phase-mapping environment is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from labenv.envs.budgets import HOUR_S, read_budget
from labenv.tasks.options import check_whole_number
from labenv.tasks.phase_mapping.atlas import MapGrid, Truth
from labenv.tasks.phase_mapping.systems import DEFAULT_PAIRS, MappedSystem, mapped_system
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labenv_schemas.task import Budget

_DEFAULT_H = 300.0


@dataclass(frozen=True)
class MappingSettings:
    """What is mapped, how finely, and what time it may take.

    Attributes:
        systems: One of them is drawn for each episode.
        compositions: Columns of the map.
        temperatures: Rows of the map.
        holds_s: Holds that can be chosen, s, rising.
        points: Points measured in a step.
        budget_s: Lab time of an episode, s.
        cost_weight: Score that the whole budget costs.
        goal: Agreement that ends the episode, None for none.
        can_stop: Whether an action can end the episode.
        truth: What the hidden map is made of.
        scan_s: Time of a scan, s.
        randomise: Whether rates, furnace and diffractometer differ from episode to episode.
        temperatures_k: Range of the map, K; None for each system's own.
    """

    systems: tuple[MappedSystem, ...]
    compositions: int
    temperatures: int
    holds_s: tuple[float, ...]
    points: int
    budget_s: float
    cost_weight: float
    goal: float | None
    can_stop: bool
    truth: Truth
    scan_s: float
    randomise: bool
    temperatures_k: tuple[float, float] | None

    @property
    def labels(self) -> int:
        """Places for labels: the most that a system has."""
        return max(len(system.labels) for system in self.systems)

    def grid(self, system: MappedSystem) -> MapGrid:
        """Return the cells of a system's map."""
        range_k = self.temperatures_k or system.temperature_range_k
        return MapGrid(self.compositions, self.temperatures, range_k)


def make_mapping_settings(  # noqa: PLR0913 - the arguments of gym.make
    systems: str | Sequence[str] = DEFAULT_PAIRS,
    *,
    compositions: int = 13,
    temperatures: int = 8,
    holds_h: Sequence[float] = (1.0, 4.0, 16.0),
    points: int = 1,
    budget: Budget | Mapping[str, Any] | None = None,
    budget_h: float | None = None,
    cost_weight: float = 0.3,
    goal: float | None = 0.95,
    can_stop: bool = False,
    truth: str = "firing",
    scan_minutes: float = 8.0,
    randomise: bool = True,
    temperatures_k: tuple[float, float] | None = None,
) -> MappingSettings:
    """Return checked settings.

    Args:
        systems: Pairs of precursors such as ``BaCO3-TiO2``; one is drawn for each episode.
        compositions: Columns of the map, 2 to 101.
        temperatures: Rows of the map, 2 to 101.
        holds_h: Holds that can be chosen, hours, up to 1000.
        points: Points measured in a step, 1 to 16; those alike in temperature and hold share a
            firing.
        budget: What an episode may spend, of which this environment limits ``lab_time``: such as
            ``{"lab_time": "300 h"}``, which is what it has where none is given.
        budget_h: Short for a budget of this lab time, hours, 1 to 100000.
        cost_weight: Score that the whole budget costs, 0 to 1.
        goal: Agreement with the hidden map that ends the episode as a success; None for no goal.
        can_stop: Whether the hold has one more value, which ends the episode.
        truth: ``firing`` or ``equilibrium``, see `labenv.tasks.phase_mapping.atlas`.
        scan_minutes: Time of a scan, 0.1 to 600 minutes.
        randomise: False for a laboratory as the labels say, the same in every episode.
        temperatures_k: Range of the map, K, within 400 to 1760; None for each system's own.

    Returns:
        The settings.

    Raises:
        ConfigError: If an argument is out of range or a pair cannot be mapped.
    """
    names = (systems,) if isinstance(systems, str) else tuple(systems)
    if not names:
        raise ConfigError("name at least one pair of precursors")
    check_whole_number("compositions", compositions, 2, 101)
    check_whole_number("temperatures", temperatures, 2, 101)
    check_whole_number("points", points, 1, 16)
    holds = tuple(float(hold) for hold in holds_h)
    if not holds or not all(0.0 < h <= 1000.0 for h in holds) or list(holds) != sorted(set(holds)):
        raise ConfigError(f"holds_h must rise within 0 to 1000 h, got {holds}")
    limit = read_budget(budget, ("lab_time",), {"budget_h": budget_h})
    hours = _DEFAULT_H if budget_h is None else budget_h
    if limit is not None and limit.lab_time_s is not None:
        hours = limit.lab_time_s / HOUR_S
    _check_between("budget_h" if limit is None else "budget.lab_time in h", hours, 1.0, 1e5)
    _check_between("cost_weight", cost_weight, 0.0, 1.0)
    _check_between("scan_minutes", scan_minutes, 0.1, 600.0)
    if goal is not None:
        _check_between("goal", goal, 1e-6, 1.0)
    if truth not in get_args(Truth):
        raise ConfigError(f"truth must be one of {', '.join(get_args(Truth))}, not {truth!r}")
    return MappingSettings(
        systems=tuple(mapped_system(name) for name in names),
        compositions=int(compositions),
        temperatures=int(temperatures),
        holds_s=tuple(HOUR_S * hold for hold in holds),
        points=int(points),
        budget_s=HOUR_S * float(hours),
        cost_weight=float(cost_weight),
        goal=None if goal is None else float(goal),
        can_stop=bool(can_stop),
        truth="firing" if truth == "firing" else "equilibrium",
        scan_s=60.0 * float(scan_minutes),
        randomise=bool(randomise),
        temperatures_k=_range(temperatures_k),
    )


def _range(given: tuple[float, float] | None) -> tuple[float, float] | None:
    if given is None:
        return None
    low, high = (float(value) for value in given)
    if not 400.0 <= low < high <= 1760.0:
        raise ConfigError(f"temperatures_k must rise within 400 to 1760 K, got {given}")
    return low, high


def _check_between(name: str, value: float, low: float, high: float) -> None:
    if not (np.isfinite(value) and low <= value <= high):
        raise ConfigError(f"{name} must be {low:g} to {high:g}, got {value!r}")


__all__ = ["HOUR_S", "MappingSettings", "make_mapping_settings"]
