"""The numeric kernel of `labenv.analysis.quantifier`: one scan after another, each by itself.

A scan is shifted until the lines of the fit lie on those of the basis, with weights shared by all
scans; then the columns found are solved once more with the scan's own counting variances, which
also gives the covariance. The background is eliminated from the shared normal equations
beforehand: with line columns A, background columns B and weights W,

    G = A'W(A - B T),  T = (B'WB)⁻¹ B'WA,  right-hand side A'Wy - T' B'Wy.

The last solve is for the change of the coefficients, from the residuals, so that single precision
does for whatever has a value a bin.

Neighbouring points are summed up in bins, scan and patterns alike, so that no bias arises; a bin is
half the width of the narrowest lines, so that next to nothing is lost. A scan is shifted on its own
grid, before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from labenv.analysis.least_squares import solve_nonnegative, solve_subset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Singles = NDArray[np.float32]
    Ints = NDArray[np.int64]

_SHIFT_PASSES = 3
_SHIFT_TOLERANCE_DEG = 6e-4
_SHIFT_LIMIT_DEG = 0.35
_SHAPE_ERROR = 0.02  # of a line's height, from mixing few sizes; found by simulation
_BLOCK = 64  # bins over which the shift is taken as constant


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def gram_rows(
    rows: Floats | Singles,
    left: int,
    right: int,
    out: Floats,
) -> None:
    """Fill out[a, b] = rows_a · rows_b for a in [0, left) and b in [0, min(a + 2, right)).

    Two rows by four at a time, which keeps the processor's registers busy; in the rows' precision.
    """
    last, zero = right - 1, rows.dtype.type(0)
    for a in range(0, left, 2):
        a1 = min(a + 1, left - 1)
        for b in range(0, min(a1 + 1, right), 4):
            b1, b2, b3 = min(b + 1, last), min(b + 2, last), min(b + 3, last)
            s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = zero
            for i in range(rows.shape[1]):
                u, v = rows[a, i], rows[a1, i]
                s0 += u * rows[b, i]
                s1 += u * rows[b1, i]
                s2 += u * rows[b2, i]
                s3 += u * rows[b3, i]
                t0 += v * rows[b, i]
                t1 += v * rows[b1, i]
                t2 += v * rows[b2, i]
                t3 += v * rows[b3, i]
            out[a, b], out[a, b1], out[a, b2], out[a, b3] = s0, s1, s2, s3
            out[a1, b], out[a1, b1], out[a1, b2], out[a1, b3] = t0, t1, t2, t3


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _project(
    weighted: Singles,
    scan: Singles,
    out: Floats,
) -> None:
    """Fill out[k] = weighted_k · scan, four rows at a time."""
    count = weighted.shape[0]
    for k in range(0, count, 4):
        k1, k2, k3 = min(k + 1, count - 1), min(k + 2, count - 1), min(k + 3, count - 1)
        s0 = s1 = s2 = s3 = np.float32(0.0)
        for i in range(scan.shape[0]):
            y = scan[i]
            s0 += weighted[k, i] * y
            s1 += weighted[k1, i] * y
            s2 += weighted[k2, i] * y
            s3 += weighted[k3, i] * y
        out[k], out[k1], out[k2], out[k3] = s0, s1, s2, s3


@njit(cache=True, nogil=True, error_model="numpy")
def _deal(scan: Floats | Singles, planes: Singles) -> None:
    """Deal the points out: at [q, i] the q-th point of the i-th bin, shape (points a bin, M)."""
    every = planes.shape[0]
    for q in range(every):
        plane = planes[q]
        for i in range(plane.shape[0]):
            plane[i] = np.float32(scan[i * every + q])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _resample(  # noqa: C901 - two ways for speed
    planes: Singles,
    shift_bins: float,
    cosine: Singles,
    taps: Singles,
    out: Singles,
) -> float:
    """Return lines displaced by shift·cosθ to their place (cubic), and sum them up in bins.

    Args:
        planes: The scan as `_deal` deals it, shape (b, M).
        shift_bins: The shift at 2θ = 0, in bins.
        cosine: cosθ of the bins, shape (M,).
        taps: Room, shape (b + 3,).
        out: Result, shape (M,).

    Returns:
        The mean gain of noise.
    """
    every, bins = planes.shape
    gain = 0.0
    for begin in range(0, bins, _BLOCK):
        end = min(begin + _BLOCK, bins)
        move = shift_bins * every * cosine[(begin + end) // 2]
        whole = int(np.floor(move))
        t = move - whole + 1.0
        a, b, c, d = t, t - 1.0, t - 2.0, t - 3.0
        w0, w1, w2, w3 = -b * c * d / 6.0, a * c * d / 2.0, -a * b * d / 2.0, a * b * c / 6.0
        taps[:] = np.float32(0.0)
        for q in range(every):  # a bin is a sum of points, each of four of the scan's
            taps[q] += np.float32(w0)
            taps[q + 1] += np.float32(w1)
            taps[q + 2] += np.float32(w2)
            taps[q + 3] += np.float32(w3)
        square = np.float32(0.0)
        for k in range(every + 3):
            square += taps[k] * taps[k]
        gain += square * (end - begin)
        first, there = whole - 1, out[begin:end]
        low, high = first // every, (first + every + 2) // every
        if every == 2 and begin + low >= 0 and end + high <= bins:  # the usual step, in one go
            odd = first % 2
            v0, v1, v2, v3, v4 = taps[0], taps[1], taps[2], taps[3], taps[4]
            at = begin + (first - odd) // 2
            one = planes[odd, at : at + there.shape[0]]
            two = planes[1 - odd, at + odd : at + odd + there.shape[0]]
            three = planes[odd, at + 1 : at + 1 + there.shape[0]]
            four = planes[1 - odd, at + odd + 1 : at + odd + 1 + there.shape[0]]
            five = planes[odd, at + 2 : at + 2 + there.shape[0]]
            for i in range(there.shape[0]):
                there[i] = v0 * one[i] + v1 * two[i] + v2 * three[i] + v3 * four[i] + v4 * five[i]
        elif begin + low >= 0 and end + high <= bins:
            there[:] = np.float32(0.0)
            for k in range(every + 3):
                tap, away = taps[k], (first + k) // every
                # views, whose indices the compiler knows not to be negative, make this loop fast
                near = planes[first + k - away * every, begin + away : end + away]
                for i in range(near.shape[0]):
                    there[i] += tap * near[i]
        else:
            there[:] = np.float32(0.0)
            for i in range(end - begin):
                for q in range(every):
                    there[i] += planes[q, min(max(begin + i + low + 1, 0), bins - 1)]
    return float(gain / (bins * every))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _combine(
    design: Singles,
    x: Floats,
    begin: int,
    end: int,
    out: Singles,
) -> None:
    for i in range(out.shape[0]):
        out[i] = np.float32(0.0)
    for k in range(begin, end):
        if x[k] != 0.0:
            factor = np.float32(x[k])
            for i in range(out.shape[0]):
                out[i] += factor * design[k, i]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _shift_step(
    lines: Singles,
    smooth: Singles,
    scan: Singles,
    weights: Singles,
    cosine: Singles,
) -> float:
    """Return the Gauss-Newton change of the shift, in bins, from the slope of the fitted lines."""
    half, top, bottom = np.float32(0.5), np.float32(0.0), np.float32(1e-30)
    for i in range(1, lines.shape[0] - 1):
        slope = half * (lines[i + 1] - lines[i - 1]) * cosine[i]
        top += weights[i] * slope * (scan[i] - lines[i] - smooth[i])
        bottom += weights[i] * slope * slope
    return float(-top / bottom)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _fit_quality(
    lines: Singles, smooth: Singles, scan: Singles, own: Singles
) -> tuple[float, float, float, float]:
    """Return χ², weighted sums of squares of the scan and of its lines, χ² by own weights."""
    one, zero, tiny = np.float32(1.0), np.float32(0.0), np.float32(1e-30)
    chi2, scale, net, own_chi2 = zero, tiny, tiny, zero
    for i in range(scan.shape[0]):
        weight = one / max(lines[i] + smooth[i], one)
        residual = scan[i] - lines[i] - smooth[i]
        chi2 += weight * residual * residual
        own_chi2 += (own[i] * residual) ** 2
        scale += weight * scan[i] * scan[i]
        net += weight * (scan[i] - smooth[i]) ** 2
    return float(chi2), float(scale), float(net), float(own_chi2)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _weigh(
    lines: Singles,
    smooth: Singles,
    weights: Singles,
    own: Singles,
) -> float:
    """Return the mean ratio of a scan's own weights to `weights`; fill `own` with their roots."""
    one, share, ratio = np.float32(1.0), np.float32(_SHAPE_ERROR), np.float32(0.0)
    for i in range(own.shape[0]):
        shape = share * lines[i]
        weight = one / (max(lines[i] + smooth[i], one) + shape * shape)
        own[i] = np.sqrt(weight)
        ratio += weight / weights[i]
    return float(ratio / own.shape[0])


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _fill_rows(  # noqa: PLR0913 - a flat numeric kernel
    design: Singles,
    columns: Ints,
    size: int,
    lines: Singles,
    smooth: Singles,
    scan: Singles,
    own: Singles,
    rows: Singles,
) -> None:
    """Fill `rows` with `size` columns, then the residuals, times `own`."""
    for i in range(own.shape[0]):
        rows[size, i] = (scan[i] - lines[i] - smooth[i]) * own[i]
    for a in range(size):
        column, row = design[columns[a]], rows[a]
        for i in range(own.shape[0]):
            row[i] = column[i] * own[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _resolved(  # noqa: PLR0913 - a flat numeric kernel
    gram: Floats,
    size: int,
    bound: int,
    x: Floats,
    factor: Floats,
    kept: Ints,
    columns: Ints,
) -> int:
    """Add to x the change that the normal equations of its columns ask for.

    Columns that turn negative leave and the rest is solved again.

    Args:
        gram: Normal matrix of `size` columns, then its right-hand side from the residuals.
        size: How many columns.
        bound: How many columns of the design are lines, whose x may not be negative.
        x: Coefficients of all columns of the design.
        factor: Result, the Cholesky factor of the columns kept.
        kept: Result, which of the columns are kept.
        columns: Index in the design of each column.

    Returns:
        How many are kept.
    """
    right, change = gram[size].copy(), np.empty(size)
    for i in range(size):
        kept[i] = i
    number = size
    while solve_subset(gram, right, kept, number, factor, change):
        negative, least = -1, 0.0
        for i in range(number):
            value = x[columns[kept[i]]] + change[i]
            if columns[kept[i]] < bound and value < least:
                negative, least = i, value
        if negative < 0:
            for i in range(number):
                x[columns[kept[i]]] += change[i]
            break
        gone = kept[negative]
        for i in range(size):  # what it explained is in the residuals again
            right[i] += x[columns[gone]] * (gram[i, gone] if i >= gone else gram[gone, i])
        x[columns[gone]] = 0.0
        number -= 1
        for i in range(negative, number):
            kept[i] = kept[i + 1]
    return number


@njit(cache=True, nogil=True, error_model="numpy")
def _set_uncertainties(  # noqa: PLR0913 - a flat numeric kernel
    factor: Floats,
    columns: Ints,
    size: int,
    unit_scale: Floats,
    rungs: int,
    total: float,
    fractions: Floats,
    errors: Floats,
) -> None:
    """Propagate the covariance (LL')⁻¹ of the columns to the fractions of the phases in use."""
    bound = unit_scale.shape[0]
    gradient = np.empty(size)
    for p in range(fractions.shape[0]):
        used = False
        for i in range(size):
            gradient[i] = 0.0
            if columns[i] < bound:
                mine = columns[i] // rungs == p
                used |= mine
                gradient[i] = ((1.0 if mine else 0.0) - fractions[p]) * unit_scale[columns[i]]
        variance = 0.0
        for i in range(size):
            value = gradient[i]
            for k in range(i):
                value -= factor[i, k] * gradient[k]
            gradient[i] = value / factor[i, i]
            variance += gradient[i] * gradient[i]
        errors[p] = np.sqrt(variance) / total if used else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def _set_undetected(  # noqa: PLR0913 - a flat numeric kernel
    gram: Floats,
    columns: Ints,
    size: int,
    unit_scale: Floats,
    rungs: int,
    scale: float,
    errors: Floats,
) -> None:
    """Give phases without a column the uncertainty that their middle column would have."""
    count = gram.shape[0]
    factor, out = np.empty((count, count)), np.empty(count)
    used = 0
    while used < size and columns[used] < count:
        used += 1
    if not solve_subset(gram, gram[0], columns, used, factor, out):
        used = 0
    for p in range(errors.shape[0]):
        if errors[p] > 0.0:
            continue
        column = p * rungs + rungs // 2
        information = gram[column, column]
        for i in range(used):  # what the columns in use leave of it: g - |L⁻¹ g_used|²
            out[i] = gram[column, columns[i]]
            for k in range(i):
                out[i] -= factor[i, k] * out[k]
            out[i] /= factor[i, i]
            information -= out[i] * out[i]
        errors[p] = min(scale * unit_scale[column] / np.sqrt(max(information, 1e-30)), 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def quantify_scans(  # noqa: C901, PLR0913 - a flat numeric kernel
    design: Singles,
    weighted: Singles,
    gram: Floats,
    elimination: Floats,
    smooth_inverse: Floats,
    weights: Singles,
    unit_scale: Floats,
    attenuation: Floats,
    cosine: Singles,
    counts: Floats | Singles,
    fractions: Floats,
    errors: Floats,
    quality: Floats,
) -> None:
    """Quantify scans one by one.

    Args:
        design: Line columns, then background columns, shape (k, M), summed up in M bins.
        weighted: The same times `weights`, shape (k, M).
        gram: Normal matrix of the lines, background eliminated, shape (b, b).
        elimination: T of the module's docstring, shape (s, b).
        smooth_inverse: (B'WB)⁻¹, shape (s, s).
        weights: Weights shared by all scans, shape (M,).
        unit_scale: Weight fraction that one unit of each line column stands for, shape (b,).
        attenuation: Mass attenuation of the phases, m²/kg, shape (P,).
        cosine: cosθ of the points, shape (M,).
        counts: Scans, shape (N, b M) or a few points more, b points to a bin.
        fractions: Result, shape (N, P).
        errors: Result, shape (N, P).
        quality: Scale, goodness of fit, R_wp, misfit and shift (in bins; bins per degree on
            entry), shape (N, 5).
    """
    columns, points = design.shape
    bound, every = gram.shape[0], counts.shape[1] // points
    planes, taps = np.empty((every, points), np.float32), np.empty(every + 3, np.float32)
    smooth_terms, rungs = columns - bound, bound // fractions.shape[1]
    scan, lines = np.empty(points, dtype=np.float32), np.empty(points, dtype=np.float32)
    smooth, own = np.empty(points, dtype=np.float32), np.empty(points, dtype=np.float32)
    rows = np.empty((columns + 1, points), dtype=np.float32)
    right, x, small = np.empty(columns), np.empty(columns), np.empty((columns + 1, columns + 1))
    factor, kept = np.empty((columns, columns)), np.empty(columns, dtype=np.int64)
    used, line_right, line_x = np.empty(columns, dtype=np.int64), np.empty(bound), np.empty(bound)
    passive = np.empty(bound, dtype=np.bool_)
    for n in range(counts.shape[0]):
        for k in range(bound):
            passive[k] = False
        shift, gain = 0.0, 1.0
        limit, tolerance = _SHIFT_LIMIT_DEG * quality[n, 4], _SHIFT_TOLERANCE_DEG * quality[n, 4]
        _deal(counts[n], planes)
        gain = _resample(planes, shift, cosine, taps, scan)
        for _ in range(_SHIFT_PASSES):
            _project(weighted, scan, right)
            line_right[:] = right[:bound]
            for s in range(smooth_terms):
                term, share = right[bound + s], elimination[s]
                for k in range(bound):
                    line_right[k] -= share[k] * term
            solve_nonnegative(gram, line_right, passive, line_x)
            for k in range(bound):
                x[k] = line_x[k]
            for s in range(smooth_terms):
                term, share = 0.0, elimination[s]
                for r in range(smooth_terms):
                    term += smooth_inverse[s, r] * right[bound + r]
                for k in range(bound):
                    term -= share[k] * line_x[k]
                x[bound + s] = term
            _combine(design, x, 0, bound, lines)
            _combine(design, x, bound, columns, smooth)
            moved = 0.0
            for _ in range(_SHIFT_PASSES):  # the lines' shape changes little while they move
                change = _shift_step(lines, smooth, scan, weights, cosine)
                if abs(change) < tolerance:
                    break
                change = min(max(change, -0.25 * limit), 0.25 * limit)
                shift = min(max(shift + change, -limit), limit)
                moved += abs(change)
                gain = _resample(planes, shift, cosine, taps, scan)
            if moved < 2.0 * tolerance:
                break
        ratio = _weigh(lines, smooth, weights, own)
        size = 0
        for k in range(columns):
            if k >= bound or x[k] > 0.0:
                used[size] = k
                size += 1
        _fill_rows(design, used, size, lines, smooth, scan, own, rows)
        gram_rows(rows, size + 1, size + 1, small)
        size = _resolved(small, size, bound, x, factor, kept, used)
        for i in range(size):
            used[i] = used[kept[i]]
        _combine(design, x, 0, bound, lines)
        _combine(design, x, bound, columns, smooth)
        chi2, scale, net, own_chi2 = _fit_quality(lines, smooth, scan, own)
        chi2 /= gain
        freedom = max(points - size, 1)
        total, mixed = 0.0, 0.0
        for k in range(bound):
            amount = max(x[k], 0.0) * unit_scale[k]
            total += amount
            mixed += amount * attenuation[k // rungs]
            fractions[n, k // rungs] += amount
        quality[n, 0] = mixed
        quality[n, 1] = np.sqrt(chi2 / freedom)
        quality[n, 2] = np.sqrt(chi2 / scale)
        quality[n, 3] = np.sqrt(max(chi2 - freedom, 0.0) / max(net, 1.0))
        quality[n, 4] = shift
        if total > 0.0:
            for p in range(fractions.shape[1]):
                fractions[n, p] /= total
            _set_uncertainties(
                factor, used, size, unit_scale, rungs, total, fractions[n], errors[n]
            )
            # the shared normal matrix, rescaled to the scan's own weights
            spread = 1.0 / (total * np.sqrt(ratio))
            _set_undetected(gram, used, size, unit_scale, rungs, spread, errors[n])
            inflation = np.sqrt(max(1.0, own_chi2 / gain / freedom))
            for p in range(errors.shape[1]):
                errors[n, p] *= inflation
