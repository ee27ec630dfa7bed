"""What a policy sees of structure discovery: a flat Dict of float32 Boxes, all within bounds.

===================== ========= ====================================================================
key                   shape     content
===================== ========= ====================================================================
elements              (3E,)     atomic number / 100, electronegativity / 4 and covalent radius in
                                angstrom / 3 of each element of the episode's system
budget_left           (1,)      share of the proposals left
last_outcome          (5,)      one-hot: none, new, duplicate, unconverged, invalid
last_energy           (2,)      whether there is one; energy above the hull, eV/atom, -0.3 to 5
last_action           (6,)      the action that gave it, in shares; zeros for a free structure
total_score           (1,)      sum of all rewards
compounds             (1,)      compositions that scored
history               (H*9,)    present, score, energy above the hull, action; newest first
===================== ========= ====================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from gymnasium import spaces

from labenv.tasks.structure_discovery.judge import BEST_SCORE, STATUSES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.envs.discovery_settings import DiscoverySettings
    from labenv.tasks.structure_discovery.judge import Verdict

Observation = dict[str, "NDArray[np.float32]"]
ACTION_PARTS = 6
_LOWEST_EV, _HIGHEST_EV = -0.3, 5.0
_ROW = 3 + ACTION_PARTS


def discovery_observation_space(settings: DiscoverySettings) -> spaces.Space[Observation]:
    """Return the observation space.

    Args:
        settings: Of the environment.

    Returns:
        A Dict of bounded Boxes.
    """
    most = BEST_SCORE * settings.proposals
    row_low = [0.0, 0.0, _LOWEST_EV, *[0.0] * ACTION_PARTS]
    row_high = [1.0, BEST_SCORE, _HIGHEST_EV, *[1.0] * ACTION_PARTS]
    bounds = {
        "elements": ([0.0] * 3 * settings.elements, [2.0] * 3 * settings.elements),
        "budget_left": ([0.0], [1.0]),
        "last_outcome": ([0.0] * (1 + len(STATUSES)), [1.0] * (1 + len(STATUSES))),
        "last_energy": ([0.0, _LOWEST_EV], [1.0, _HIGHEST_EV]),
        "last_action": ([0.0] * ACTION_PARTS, [1.0] * ACTION_PARTS),
        "total_score": ([0.0], [most]),
        "compounds": ([0.0], [float(settings.proposals)]),
        "history": (row_low * settings.history, row_high * settings.history),
    }
    boxes: dict[str, spaces.Space[Any]] = {
        name: spaces.Box(np.array(low, np.float32), np.array(high, np.float32))
        for name, (low, high) in bounds.items()
    }
    return cast("spaces.Space[Observation]", spaces.Dict(boxes))


def element_features(elements: Sequence[str]) -> NDArray[np.float32]:
    """Return what is told of the elements of a system.

    Args:
        elements: Symbols.

    Returns:
        Shape (3E,).
    """
    from ase.data import covalent_radii
    from pymatgen.core.periodic_table import Element

    rows: list[float] = []
    for symbol in elements:
        element = Element(symbol)
        known = np.nan_to_num(float(element.X))  # noble gases have none
        rows += [element.Z / 100.0, known / 4.0, float(covalent_radii[element.Z]) / 3.0]
    return np.array(rows, np.float32)


def discovery_observation(
    settings: DiscoverySettings,
    features: NDArray[np.float32],
    past: Sequence[tuple[Verdict, NDArray[np.float64]]],
) -> Observation:
    """Return the observation of an episode.

    Args:
        settings: Of the environment.
        features: As `element_features` returns them.
        past: Every verdict of the episode with its action in shares, oldest first.

    Returns:
        New arrays.
    """
    outcome = np.zeros(1 + len(STATUSES), np.float32)
    outcome[1 + STATUSES.index(past[-1][0].status) if past else 0] = 1.0
    last, action = (_row(*past[-1]) if past else np.zeros(_ROW)), np.zeros(ACTION_PARTS)
    has_energy = bool(past) and past[-1][0].energy_above_hull_ev_per_atom is not None
    if past:
        action = past[-1][1]
    rows = np.zeros((settings.history, _ROW))
    for index, row in enumerate(reversed(past[len(past) - settings.history :] if past else [])):
        if index < settings.history:
            rows[index] = _row(*row)
    scored = {verdict.formula for verdict, _ in past if verdict.reward > 0.0}
    values = {
        "elements": features,
        "budget_left": [1.0 - len(past) / settings.proposals],
        "last_outcome": outcome,
        "last_energy": [float(has_energy), last[2]],
        "last_action": action,
        "total_score": [sum(verdict.reward for verdict, _ in past)],
        "compounds": [float(len(scored))],
        "history": rows.ravel(),
    }
    return {name: np.array(value, np.float32) for name, value in values.items()}


def _row(verdict: Verdict, action: NDArray[np.float64]) -> NDArray[np.float64]:
    energy = verdict.energy_above_hull_ev_per_atom
    shown = 0.0 if energy is None else float(np.clip(energy, _LOWEST_EV, _HIGHEST_EV))
    return np.concatenate([[1.0, verdict.score, shown], action])
