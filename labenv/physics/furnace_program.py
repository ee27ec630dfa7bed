"""Furnace programmes as arrays: temperature against time, one row a sample.

A programme is a chain of straight lines. `heat_program` makes one row from segments (target, rate,
hold) and a cooling rate; `stack_programs` pads rows of different length into one batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.checks import ABOVE_ZERO, all_between
from labenv_schemas.errors import ProposalError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ROOM_K = 298.15
# A box furnace left to itself loses heat roughly in proportion to its excess over the room, and
# its power limits the cooling at the top: straight pieces that end at these shares of the excess.
_NATURAL_SHARES = (0.6, 0.3, 0.1, 0.0)


@dataclass(frozen=True)
class HeatProgram:
    """Temperature against time for N samples, each with at most S breakpoints.

    Attributes:
        time_s: Times of the breakpoints, s, shape (N, S), never falling; padded by repetition.
        temperature_k: Temperatures there, K, shape (N, S).
    """

    time_s: Floats
    temperature_k: Floats

    def __post_init__(self) -> None:
        """Refuse shapes, times and temperatures that make no programme.

        Raises:
            ProposalError: If the arrays are not alike, not finite, or time runs backwards.
        """
        time, temperature = self.time_s, self.temperature_k
        if time.ndim != 2 or time.shape != temperature.shape or time.shape[1] < 2:
            raise ProposalError(
                "a heat programme needs two arrays of one shape (samples, breakpoints >= 2), "
                f"got {time.shape} and {temperature.shape}"
            )
        if not (all_between(time) and all_between(temperature)):
            raise ProposalError("a heat programme's times and temperatures must be finite")
        if (time[:, 1:] < time[:, :-1]).any():
            raise ProposalError("a heat programme's times must not run backwards")
        if not all_between(temperature, ABOVE_ZERO):
            raise ProposalError("a heat programme's temperatures must be above 0 K")

    @property
    def duration_s(self) -> Floats:
        """Time from the first to the last breakpoint, s, shape (N,)."""
        return self.time_s[:, -1] - self.time_s[:, 0]

    @property
    def peak_k(self) -> Floats:
        """Highest temperature, K, shape (N,)."""
        return np.asarray(np.max(self.temperature_k, axis=1))


def heat_program(
    segments: Sequence[tuple[float, float, float]],
    *,
    start_k: float = ROOM_K,
    end_k: float = ROOM_K,
    cooling_k_per_s: float | None = None,
    natural_cooling_s: float = 14400.0,
) -> HeatProgram:
    """Build the programme of one sample.

    Args:
        segments: Each (target temperature in K, rate in K/s, hold in s), in order.
        start_k: Temperature at the start, K.
        end_k: Temperature at which the sample leaves the furnace, K.
        cooling_k_per_s: Controlled cooling rate, K/s; `None` for the furnace switched off.
        natural_cooling_s: Time that an uncontrolled cooling from 1473 K takes, s; it scales with
            the square root of the fall from other temperatures.

    Returns:
        A programme with one row.

    Raises:
        ProposalError: If there is no segment, a rate is not above zero, or a hold is negative.
    """
    if not segments:
        raise ProposalError("a heat programme needs at least one segment (target, rate, hold)")
    time, temperature = [0.0], [float(start_k)]

    def add(duration_s: float, to_k: float) -> None:
        time.append(time[-1] + duration_s)
        temperature.append(float(to_k))

    for target_k, rate_k_per_s, hold_s in segments:
        if not rate_k_per_s > 0.0 or not hold_s >= 0.0:
            raise ProposalError(
                f"segment to {target_k} K: rate must be above 0 K/s and hold at least 0 s, "
                f"got {rate_k_per_s} K/s and {hold_s} s"
            )
        add(abs(target_k - temperature[-1]) / rate_k_per_s, target_k)
        if hold_s > 0.0:
            add(hold_s, target_k)
    top_k = temperature[-1]
    if cooling_k_per_s is not None:
        if not cooling_k_per_s > 0.0:
            raise ProposalError(f"cooling rate must be above 0 K/s, got {cooling_k_per_s} K/s")
        add(abs(top_k - end_k) / cooling_k_per_s, end_k)
    elif top_k != end_k:
        total_s = natural_cooling_s * np.sqrt(abs(top_k - end_k) / (1473.15 - ROOM_K))
        for share, part in zip(_NATURAL_SHARES, (0.10, 0.18, 0.32, 0.40), strict=True):
            add(float(total_s * part), end_k + share * (top_k - end_k))
    return HeatProgram(np.array([time]), np.array([temperature]))


def stack_programs(programs: Sequence[HeatProgram]) -> HeatProgram:
    """Join programmes into one batch, padding the shorter ones by repeating their end.

    Args:
        programs: Programmes with any number of rows each.

    Returns:
        One programme with all rows.

    Raises:
        ProposalError: If there is none.
    """
    if not programs:
        raise ProposalError("no heat programme to stack")
    width = max(program.time_s.shape[1] for program in programs)

    def pad(values: Floats) -> Floats:
        return np.pad(values, ((0, 0), (0, width - values.shape[1])), mode="edge")

    return HeatProgram(
        np.concatenate([pad(program.time_s) for program in programs]),
        np.concatenate([pad(program.temperature_k) for program in programs]),
    )
