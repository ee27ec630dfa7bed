"""Plans for many samples at once, as arrays: what the vector environment runs instead of Proposals.

A `BatchPlan` says of N rows what `Proposal` says of one. Its steps are in order; a step covers the
rows whose plan has it, and knows which operation of each row's plan it is, because that is the key
of the operation's random stream. A test holds `plan_batch` to `build` of a task's blueprint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class DoseStep(NamedTuple):
    """Weigh precursors: `requested_kg` (N, S) on the shelf's S substances."""

    rows: Ints
    operation: Ints
    requested_kg: Floats


class MixStep(NamedTuple):
    """Mix: times, s, shape (M,)."""

    rows: Ints
    operation: Ints
    method: str
    duration_s: Floats


class PressStep(NamedTuple):
    """Press: pressures, Pa, shape (M,)."""

    rows: Ints
    operation: Ints
    pressure_pa: Floats


class HeatStep(NamedTuple):
    """Fire through one segment, then furnace cooling: each shape (M,); `gas` indexes `gases`."""

    rows: Ints
    operation: Ints
    target_k: Floats
    rate_k_per_s: Floats
    hold_s: Floats
    gas: Ints
    gases: tuple[str, ...]
    crucible: str


class RegrindStep(NamedTuple):
    """Grind again: times, s, shape (M,)."""

    rows: Ints
    operation: Ints
    duration_s: Floats


class ScanStep(NamedTuple):
    """Take a diffractogram on one angle grid: times, s, shape (M,)."""

    rows: Ints
    operation: Ints
    two_theta_min_deg: float
    two_theta_max_deg: float
    step_deg: float
    scan_s: Floats


BatchStep = DoseStep | MixStep | PressStep | HeatStep | RegrindStep | ScanStep


@dataclass(frozen=True)
class BatchPlan:
    """The plans of N samples.

    Attributes:
        count: Number of samples, N.
        steps: In order; the first is the dose of all rows.
    """

    count: int
    steps: tuple[BatchStep, ...]
