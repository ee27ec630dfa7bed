"""Crystal habits: how the grains of a phase lie when a powder is filled into a holder.

Plates lie flat and needles lie down, so a scan in reflection sees too much of some planes and too
little of others. A phase with a habit has a `preferred` table in its system's data file; without
one its grains lie anyhow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

MARCH_RANGE = (0.75, 1.25)  # of the usual coefficient; twice its logarithm stays on the ladder


@dataclass(frozen=True)
class CrystalHabit:
    """How the crystals of a phase lie.

    Attributes:
        plane: Miller indices of the plane whose normal is the axis of preference.
        march_r: Usual March coefficient of a side-loaded powder: below 1 the planes lie flat
            (plates, cleavage), above 1 they stand upright (the axis of needles).
        source: Where the habit is described.
    """

    plane: tuple[int, int, int]
    march_r: float
    source: str


def read_habit(row: Mapping[str, Any]) -> CrystalHabit | None:
    """Read the habit of a phase from its row in a system's data file.

    Args:
        row: The row of the phase.

    Returns:
        The habit; None if the grains lie anyhow.

    Raises:
        ConfigError: If the plane or the coefficient makes no sense.
    """
    given = row.get("preferred")
    if given is None:
        return None
    plane, march_r = tuple(int(index) for index in given["plane"]), float(given["march_r"])
    if len(plane) != 3 or not any(plane):
        raise ConfigError(f"{row['name']}: a preferred plane has three indices, not {plane}")
    low, high = MARCH_RANGE
    if not low <= march_r <= high:
        raise ConfigError(
            f"{row['name']}: a March coefficient of {march_r:g} is none of a loosely filled "
            f"powder; write one between {low:g} and {high:g}"
        )
    return CrystalHabit(plane, march_r, str(given["source"]))


__all__ = ["CrystalHabit", "read_habit"]
