"""What operations ask for, as arrays: furnace programmes and angle grids."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.lab.timing import COOLING_CURVE, QUENCH_K_PER_S, natural_cooling_s
from labenv.physics.furnace_program import HeatProgram
from labenv_schemas.proposal import ROOM_TEMPERATURE_K

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv_schemas.proposal import Heat, Measure

    Floats = NDArray[np.float64]


class ScanGrid(NamedTuple):
    """Angles of a scan: first, step (degrees 2θ), number of points."""

    start_deg: float
    step_deg: float
    points: int


def scan_grid(scan: Measure) -> ScanGrid:
    """Return the angles of a scan.

    Args:
        scan: The request.

    Returns:
        The grid; its last angle does not exceed what was asked for.
    """
    steps = (scan.two_theta_max_deg - scan.two_theta_min_deg) / scan.step_deg
    return ScanGrid(scan.two_theta_min_deg, scan.step_deg, int(np.floor(steps + 1e-6)) + 1)


@lru_cache(maxsize=64)
def grid_angles(grid: ScanGrid) -> Floats:
    """Return the angles of a grid, degrees 2θ, shape (points,), not writable."""
    angles = grid.start_deg + grid.step_deg * np.arange(grid.points, dtype=np.float64)
    angles.flags.writeable = False
    return angles


def scan_angles(scan: Measure) -> Floats:
    """Return the angles of a scan, degrees 2θ, shape (points,), not writable."""
    return grid_angles(scan_grid(scan))


def firing_programs(heats: Sequence[Heat]) -> HeatProgram:
    """Return the furnace programmes of firings, as set.

    Args:
        heats: N firings.

    Returns:
        The programmes, N rows; a row's physics does not depend on the padding.
    """
    chains = [_chain(heat) for heat in heats]
    width = max(len(chain) for chain in chains)
    points = np.array([chain + [chain[-1]] * (width - len(chain)) for chain in chains])
    return HeatProgram(np.ascontiguousarray(points[:, :, 0]), np.ascontiguousarray(points[:, :, 1]))


def _chain(heat: Heat) -> list[tuple[float, float]]:
    """Return the breakpoints (time, temperature) of a firing."""
    time_s, at_k = 0.0, ROOM_TEMPERATURE_K
    chain = [(time_s, at_k)]
    for segment in heat.segments:
        time_s += abs(segment.target_k - at_k) / segment.rate_k_per_s
        at_k = segment.target_k
        chain.append((time_s, at_k))
        if segment.hold_s > 0.0:
            time_s += segment.hold_s
            chain.append((time_s, at_k))
    fall_k = at_k - ROOM_TEMPERATURE_K
    if heat.cooling == "quench":
        return [*chain, (time_s + fall_k / QUENCH_K_PER_S, ROOM_TEMPERATURE_K)]
    total_s, gone = float(natural_cooling_s(fall_k)), 0.0
    for share, part in COOLING_CURVE:
        gone += part
        chain.append((time_s + gone * total_s, ROOM_TEMPERATURE_K + share * fall_k))
    return chain


__all__ = ["ScanGrid", "firing_programs", "grid_angles", "scan_angles", "scan_grid"]
