"""The mixing of patterns from ladders of size and texture, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

OVERSAMPLING = 2
"""Points of a ladder's pattern for every step of a scan."""

TEXTURE_NODES = tuple(float(np.exp(0.17 * k)) for k in range(-4, 3))  # 0.51 to 1.40, with 1
"""March coefficients of the ladders of textured phases."""

_TEXTURES = len(TEXTURE_NODES)
_RANGE, _EVEN = 256, 32  # points mixed at a time; points with one shift
_TRACE = 1e-7  # weight fraction whose lines no scan can show, some 0.1 counts at 10⁶ of background


@njit(cache=True, nogil=True, error_model="numpy")
def _lagrange4(position: float, nodes: int) -> tuple[int, float, float, float, float]:
    """Return the first of four nodes around a position and the cubic weights on them."""
    left = min(max(int(np.floor(position)) - 1, 0), nodes - 4)
    t = position - left
    return (
        left,
        -(t - 1.0) * (t - 2.0) * (t - 3.0) / 6.0,
        t * (t - 2.0) * (t - 3.0) / 2.0,
        -t * (t - 1.0) * (t - 3.0) / 2.0,
        t * (t - 1.0) * (t - 2.0) / 6.0,
    )


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _add_ladder(
    ladder: NDArray[np.float32],
    block: int,
    start: int,
    scale: float,
    position: float,
    out: NDArray[np.float32],
) -> None:
    """Add the pattern at a position on a block's ladder of sizes, from `start`, times `scale`."""
    left, w0, w1, w2, w3 = _lagrange4(position, ladder.shape[1])
    a0, a1 = np.float32(scale * w0), np.float32(scale * w1)
    a2, a3 = np.float32(scale * w2), np.float32(scale * w3)
    stop = start + out.shape[0]
    l0, l1 = ladder[block, left, start:stop], ladder[block, left + 1, start:stop]
    l2, l3 = ladder[block, left + 2, start:stop], ladder[block, left + 3, start:stop]
    for i in range(out.shape[0]):
        out[i] += a0 * l0[i] + a1 * l1[i] + a2 * l2[i] + a3 * l3[i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _sample_steps(
    fine: NDArray[np.float32],
    position: float,
    gain: float,
    level: float,
    background: Floats,
    out: Floats,
) -> None:
    """Fill `out` from every second fine point on, the first at a position between two (cubic)."""
    left = int(np.floor(position)) - 1
    t = position - left
    v0 = np.float32(-(t - 1.0) * (t - 2.0) * (t - 3.0) / 6.0)
    v1 = np.float32(t * (t - 2.0) * (t - 3.0) / 2.0)
    v2 = np.float32(-t * (t - 1.0) * (t - 3.0) / 2.0)
    v3 = np.float32(t * (t - 1.0) * (t - 2.0) / 6.0)
    near = fine[left : left + OVERSAMPLING * out.shape[0] + 2]
    zero = np.float32(0.0)
    for i in range(out.shape[0]):
        k = OVERSAMPLING * i
        line = v0 * near[k] + v1 * near[k + 1] + v2 * near[k + 2] + v3 * near[k + 3]
        out[i] = gain * (line if line > zero else zero) + level * background[i]


@njit(cache=True, nogil=True, error_model="numpy")
def mix_patterns(  # noqa: PLR0913 - a flat numeric kernel
    ladder: NDArray[np.float32],
    first: Ints,
    textured: NDArray[np.bool_],
    weights: Floats,
    rung: Floats,
    texture_rung: Floats,
    attenuation: Floats,
    per_scan: Floats,
    background: Floats,
    tilt_steps: Floats,
    steps_per_deg: float,
    margin: int,
    out: Floats,
) -> None:
    """Fill `out` (N, points) with expected counts; rows are independent of each other.

    Range of angles by range of angles, so that what all rows read of the ladders stays in a
    processor's nearest memory; within `_EVEN` points the lines' shift is taken as constant.
    """
    samples, phases = weights.shape
    points = out.shape[1]
    spare = margin - 4  # shifts that a range can take
    fine = np.empty(_RANGE * OVERSAMPLING + 2 * margin + 8, dtype=np.float32)
    for begin in range(0, points, _RANGE):
        end = min(begin + _RANGE, points)
        for n in range(samples):
            seconds, tilt, zero, brightness, level = per_scan[n]
            gain, even = seconds * brightness / max(attenuation[n], 1e-9), seconds * level
            # the fine points that the range needs, from the least and the greatest shift in it
            one = zero * steps_per_deg + tilt * tilt_steps[begin]
            two = zero * steps_per_deg + tilt * tilt_steps[end - 1]
            low = min(max(OVERSAMPLING * max(one, two), -spare), spare)
            high = min(max(OVERSAMPLING * min(one, two), -spare), spare)
            start = margin + OVERSAMPLING * begin - int(np.floor(low)) - 3
            stop = margin + OVERSAMPLING * (end - 1) - int(np.floor(high)) + 4
            start, stop = max(start, 0), min(stop, ladder.shape[2])
            part = fine[: stop - start]
            part[:] = np.float32(0.0)
            for p in range(phases):
                weight = weights[n, p]
                if weight <= _TRACE:
                    continue
                if not textured[p]:
                    _add_ladder(ladder, first[p], start, weight, rung[n, p], part)
                    continue
                turn, t0, t1, t2, t3 = _lagrange4(np.round(texture_rung[n, p], 9), _TEXTURES)
                for t in range(4):
                    share = t0 if t == 0 else (t1 if t == 1 else (t2 if t == 2 else t3))
                    if share != 0.0:
                        block = first[p] + turn + t
                        _add_ladder(ladder, block, start, weight * share, rung[n, p], part)
            for i in range(begin, end, _EVEN):
                j = min(i + _EVEN, end)
                shift = zero * steps_per_deg + tilt * tilt_steps[(i + j) // 2]
                place = min(max(OVERSAMPLING * shift, -spare), spare)
                position = margin + OVERSAMPLING * i - place - start
                position = min(max(position, 1.0), part.shape[0] - OVERSAMPLING * (j - i) - 1.0)
                _sample_steps(part, position, gain, even, background[i:j], out[n, i:j])
