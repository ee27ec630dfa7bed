"""What operations ask for, as arrays: furnace programmes and angle grids."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.lab.timing import cooling_course, firing_course
from labenv.physics.furnace_program import HeatProgram

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
    course = firing_course(heat)
    start_s = course[-1][0]
    return course + [(start_s + after_s, to_k) for after_s, to_k in cooling_course(heat)]


__all__ = ["ScanGrid", "firing_programs", "grid_angles", "scan_angles", "scan_grid"]
