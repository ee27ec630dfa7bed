"""What a policy sees of phase mapping: a flat Dict of float32 Boxes, all within bounds.

Labels have K places: the system's structures, free places, then unseen and liquid.

================= =========== ======================================================================
key               shape       content
================= =========== ======================================================================
labels            (K*3,)      of each place: whether the system has it, whether it is a precursor,
                              cation share of the second precursor (0 for unseen and liquid)
temperature_range (2,)        lowest and highest temperature of the map, in 2000 K
budget_left       (1,)        share of the lab time left
measured          (C*T,)      for each cell of the map the hold, over the longest, of its last
                              measurement; 0 if there is none
shares            (C*T*K,)    weight fractions measured there, cell by cell
last_outcome      (4,)        one-hot: none, ok, liquid, invalid
last_point        (3,)        composition, temperature in the range and hold over the longest of the
                              last point
last_shares       (K,)        weight fractions measured there
================= =========== ======================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from gymnasium import spaces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.envs.phase_mapping_settings import MappingSettings
    from labenv.tasks.phase_mapping.measuring import Reading
    from labenv.tasks.phase_mapping.systems import MappedSystem

Observation = dict[str, "NDArray[np.float32]"]
STATUSES = ("none", "ok", "liquid", "invalid")
SCALE_K = 2000.0


def mapping_observation_space(settings: MappingSettings) -> spaces.Space[Observation]:
    """Return the observation space.

    Args:
        settings: Of the environment.

    Returns:
        A Dict of Boxes from 0 to 1.
    """
    cells, places = settings.compositions * settings.temperatures, settings.labels
    lengths = {
        "labels": 3 * places,
        "temperature_range": 2,
        "budget_left": 1,
        "measured": cells,
        "shares": cells * places,
        "last_outcome": len(STATUSES),
        "last_point": 3,
        "last_shares": places,
    }
    boxes: dict[str, spaces.Space[Any]] = {
        name: spaces.Box(0.0, 1.0, (n,), np.float32) for name, n in lengths.items()
    }
    return cast("spaces.Space[Observation]", spaces.Dict(boxes))


def mapping_observation(
    settings: MappingSettings,
    system: MappedSystem,
    readings: Sequence[Reading],
    status: str,
    spent_s: float,
) -> Observation:
    """Return the observation of an episode.

    Args:
        settings: Of the environment.
        system: That of the episode.
        readings: What was measured so far.
        status: Of the last point.
        spent_s: Lab time spent, s.

    Returns:
        New arrays.
    """
    grid, places = settings.grid(system), settings.labels
    longest = settings.holds_s[-1]
    measured, shares = np.zeros(len(grid.x)), np.zeros((len(grid.x), places))
    for reading in readings:
        cell = grid.cell_of(reading.point.x, reading.point.temperature_k)
        measured[cell] = reading.point.hold_s / longest
        shares[cell] = _placed(reading.shares, places)
    last, last_shares = np.zeros(3), np.zeros(places)
    low, high = grid.range_k
    if readings:
        point = readings[-1].point
        last[:] = point.x, (point.temperature_k - low) / (high - low), point.hold_s / longest
        last_shares = _placed(readings[-1].shares, places)
    outcome = np.zeros(len(STATUSES))
    outcome[STATUSES.index(status)] = 1.0
    values = {
        "labels": _label_features(system, places).ravel(),
        "temperature_range": np.array(grid.range_k) / SCALE_K,
        "budget_left": np.array([1.0 - spent_s / settings.budget_s]),
        "measured": measured,
        "shares": shares.ravel(),
        "last_outcome": outcome,
        "last_point": last,
        "last_shares": last_shares,
    }
    return {k: np.clip(v, 0.0, 1.0).astype(np.float32) for k, v in values.items()}


def _placed(shares: NDArray[np.float64], places: int) -> NDArray[np.float64]:
    """Return the shares of labels in their places: unseen and liquid are the last two."""
    row = np.zeros(places)
    row[: len(shares) - 2], row[-2:] = shares[:-2], shares[-2:]
    return row


def _label_features(system: MappedSystem, places: int) -> NDArray[np.float64]:
    rows = np.zeros((places, 3))
    count = len(system.structures)
    rows[:count, 0] = rows[-2:, 0] = 1.0
    for name in system.precursors:
        label = int(system.label_of_phase[system.system.phase_index(name)])
        if label < count:
            rows[label, 1] = 1.0
    rows[:count, 2] = system.label_compositions
    return rows


__all__ = ["STATUSES", "Observation", "mapping_observation", "mapping_observation_space"]
