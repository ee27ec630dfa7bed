"""The compiled integrator behind `labenv.physics.kinetics`; call that module, not this one.

One sample at a time, so that a sample's numbers do not depend on its neighbours in the batch. A
step is the explicit midpoint rule on the extents of the reactions, with two guards. Extents are
limited so that no phase gives more than it has and gains (`_advance`), which keeps amounts at or
above zero, and elements conserved, for every step size and every stiffness. The difference between
the midpoint's step and Euler's is the error that sets the next step's length.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit

from labenv.physics.reactions import GRID_STEP_K

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from labenv.physics.reactions import ReactionTables

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_STEP_K = GRID_STEP_K
_REVERSE_CAP = 50.0  # keeps a strongly driven back reaction within what surfaces can supply
_MAX_STEPS = 50_000
_TRACE = 1.0e-13  # share of the cations below which a reaction does not start

# Rows of a sample's array `x`, shape (10, P + G): one column a phase, then one a gas.
NOW, MIDDLE, NEXT, REFERENCE, RADIUS, CUBE, ROOT, LOSS, GAIN, LIMIT = range(10)
ROWS = 10

F = TypeVar("F", bound="Callable[..., object]")


def compiled(function: F) -> F:
    """Return the function compiled by numba, cached on disk and free of the interpreter's lock."""
    wrap = njit(cache=True, nogil=True, error_model="numpy")
    return cast("F", wrap(function))


class Model(NamedTuple):
    """Constants of the kinetic model and of the integrator; see the data file and `StepControl`."""

    interface_m: float
    scarce_fraction: float
    unmixed_rate: float
    active_above_k: float
    nucleus_m: float
    tolerance: float
    step_k: float


class Batch(NamedTuple):
    """Arrays of N samples: the state, changed in place, and the conditions of the firing."""

    time_s: Floats
    temperature_k: Floats
    x: Floats  # (N, 10, P + G)
    powder: Floats  # (N, 4): contact times packing, contact, segregation, cations in mol
    factor: Floats  # (N, R, 2): reaction quotient, factor on the rate
    liquid: Floats
    steps: Ints


class Work(NamedTuple):
    """Room for the reactions that run in a stage."""

    flow: Floats  # (R,) mol/s
    pick: Ints  # (R, 2) reaction, side


@compiled
def segregation(x: Floats, row: int, cation: Floats) -> float:
    """Return how unmixed the cations are, 0 (one composition) to 1 (pure precursors)."""
    phases, kinds = cation.shape
    total = 0.0
    for p in range(phases):
        total += x[row, p] * cation[p, 0]
    spread, widest = 0.0, 0.0
    for c in range(1, kinds):
        mean = 0.0
        for p in range(phases):
            mean += x[row, p] * cation[p, 0] * cation[p, c]
        mean /= total
        for p in range(phases):
            spread += x[row, p] * cation[p, 0] * abs(cation[p, c] - mean)
        widest += 2.0 * mean * (1.0 - mean)
    return spread / (total * widest) if widest > 0.0 else 0.0


@compiled
def _reach(x: Floats, row: int, powder: Floats, unmixed_rate: float, cation: Floats) -> float:
    """Return the factor of mixing on the rates: contact area, and what is left within reach."""
    area, contact, fresh = powder[0], powder[1], powder[2]
    if fresh <= 0.0:
        return area
    used = (1.0 - segregation(x, row, cation) / fresh) / contact
    if used <= 0.0:
        return area
    left = max(0.0, 1.0 - used * used * used * used)
    return area * (unmixed_rate + (1.0 - unmixed_rate) * left)


@compiled
def _cube_root(value: float, guess: float) -> float:
    """Return the cube root, by one step of Halley's from a near guess."""
    cube = guess * guess * guess
    if abs(cube - value) > 0.05 * value:  # a near guess leaves an error below 4e-6
        return np.cbrt(value)
    return guess * (cube + 2.0 * value) / (2.0 * cube + value)


@compiled
def _geometry(law: int, u: float, square: float, interface_m: float) -> float:
    """Return the law's factor on the rate: `u` is the core's radius as a share of the first."""
    if law == 0:  # Ginstling & Brounshtein, with the interface as extra thickness
        return 3.0 * u * u / (interface_m * math.sqrt(square) + square * (u - u * u))
    if law == 1:
        return 3.0 * u * u / math.sqrt(square)
    return u * u * u


@compiled
def _available(
    x: Floats, row: int, member: Ints, coefficient: Floats, r: int, side: int
) -> float:
    """Return the moles of reaction that the scarcest condensed reactant allows."""
    available = math.inf
    for place in range(3):
        p = member[r, side, place]
        if p >= 0:
            available = min(available, x[row, p] / coefficient[r, side, place])
    return available


@compiled
def _evaluate(
    row: int, temperature_k: float, x: Floats, powder: Floats, factor: Floats, work: Work,
    model: Model, tab: ReactionTables,
) -> tuple[int, float]:  # fmt: skip
    """Fill `work` with the reactions that run; return how many, and the largest flux in cations."""
    curve, member, coefficient, kind, cation = (
        tab.curve, tab.member, tab.coefficient, tab.kind, tab.cation,
    )  # fmt: skip
    flow, pick = work.flow, work.pick
    position = (temperature_k - tab.grid_min_k) / _STEP_K
    k = min(max(int(position), 0), curve.shape[0] - 2)
    w = position - k
    reach = _reach(x, row, powder, model.unmixed_rate, cation)
    for p in range(cation.shape[0]):
        if x[row, p] > 0.0:
            x[REFERENCE, p] = max(x[REFERENCE, p], x[row, p])
            x[ROOT, p] = _cube_root(x[row, p] / x[REFERENCE, p], x[ROOT, p])
    count, fastest = 0, 0.0
    for r in range(kind.shape[0]):
        quotient = factor[r, 0] * ((1.0 - w) * curve[k, 1, r] + w * curve[k + 1, 1, r])
        side = 0 if quotient < 1.0 else 1
        core = member[r, side, 0]
        moved = coefficient[r, side, 0] * cation[core, 0]
        available = _available(x, row, member, coefficient, r, side)
        if available * moved <= _TRACE * powder[3]:
            continue
        v = factor[r, 1] * ((1.0 - w) * curve[k, 0, r] + w * curve[k + 1, 0, r])
        v *= 1.0 - quotient if side == 0 else min(quotient - 1.0, _REVERSE_CAP)
        v *= x[REFERENCE, core] / coefficient[r, side, 0]
        if kind[r, 1] == 1:
            v *= reach
        square = x[RADIUS, core] * x[RADIUS, core]
        for place in range(1, 3):
            p = member[r, side, place]
            if p >= 0:
                square += x[RADIUS, p] * x[RADIUS, p]
                v *= x[row, p] / (x[row, p] + model.scarce_fraction * powder[3])
        v *= _geometry(kind[r, 0], x[ROOT, core], square, model.interface_m)
        flow[count], pick[count, 0], pick[count, 1] = v, r, side
        count += 1
        fastest = max(fastest, v * moved)
    return count, fastest


@compiled
def _used_share(loss: float, stock: float) -> float:
    """Return ``(1 - exp(-y)) / y`` of y = loss / stock, by a Padé form where it is as good."""
    if stock <= 0.0:
        return 0.0
    y = loss / stock
    if y < 0.25:  # relative error below 6e-6
        return 1.0 / (1.0 + y * (0.5 + y / 12.0))
    return -math.expm1(-y) / y


@compiled
def _share(x: Floats, member: Ints, r: int, side: int) -> float:
    """Return the smallest limit among a side's condensed phases."""
    share = 1.0
    for place in range(3):
        if member[r, side, place] >= 0:
            share = min(share, x[LIMIT, member[r, side, place]])
    return share


@compiled
def _advance(
    h: float, count: int, target: int, x: Floats, work: Work, member: Ints, coefficient: Floats
) -> None:
    """Set row `target` to the amounts after h seconds of the flows in `work`.

    Each phase's loss L is cut to ``stock (1 - exp(-L / stock))``. The stock is what there is and
    what is sure to be made meanwhile: first the cuts are taken from the amounts alone, which gives
    that sure gain, then again with it.
    """
    flow, pick = work.flow, work.pick
    columns = x.shape[1]
    for p in range(columns):
        x[LOSS, p] = 0.0
        x[GAIN, p] = 0.0
        x[target, p] = x[NOW, p]
    for j in range(count):
        r, side = pick[j, 0], pick[j, 1]
        for place in range(3):
            p = member[r, side, place]
            if p >= 0:
                x[LOSS, p] += h * flow[j] * coefficient[r, side, place]
    for p in range(columns):
        x[LIMIT, p] = _used_share(x[LOSS, p], x[NOW, p])
    for j in range(count):
        r, side = pick[j, 0], pick[j, 1]
        extent = h * flow[j] * _share(x, member, r, side)
        for place in range(3):
            p = member[r, 1 - side, place]
            if p >= 0:
                x[GAIN, p] += extent * coefficient[r, 1 - side, place]
    for p in range(columns):
        x[LIMIT, p] = _used_share(x[LOSS, p], x[NOW, p] + x[GAIN, p])
    for j in range(count):
        r, side = pick[j, 0], pick[j, 1]
        extent = h * flow[j] * _share(x, member, r, side)
        for place in range(5):
            p, q = member[r, side, place], member[r, 1 - side, place]
            if p >= 0:
                x[target, p] -= extent * coefficient[r, side, place]
            if q >= 0:
                x[target, q] += extent * coefficient[r, 1 - side, place]


@compiled
def _error(x: Floats, cation: Floats, cations: float) -> float:
    """Return the largest difference of the midpoint's step from Euler's, in shares of cations."""
    error = 0.0
    for p in range(cation.shape[0]):
        euler = 2.0 * x[MIDDLE, p] - x[NOW, p]
        error = max(error, abs(x[NEXT, p] - euler) * cation[p, 0])
    return error / cations


@compiled
def _accept(h: float, temperature_k: float, x: Floats, model: Model, tab: ReactionTables) -> None:
    """Take over the step, and let the crystallites grow, and particles once they are as large."""
    growth = tab.growth
    position = (temperature_k - tab.grid_min_k) / _STEP_K
    k = min(max(int(position), 0), growth.shape[0] - 2)
    w = position - k
    phases = growth.shape[1]
    for p in range(x.shape[1]):  # rounding may leave a phase an ulp below zero; gases may be below
        x[NOW, p] = x[NEXT, p] if p >= phases else max(0.0, x[NEXT, p])
    for p in range(phases):
        if x[NOW, p] <= 0.0:
            x[CUBE, p] = model.nucleus_m**3
            continue
        x[CUBE, p] += h * ((1.0 - w) * growth[k, p] + w * growth[k + 1, p])
        if x[CUBE, p] > 8.0 * x[RADIUS, p] ** 3:
            x[RADIUS, p] = 0.5 * np.cbrt(x[CUBE, p])


@compiled
def _liquid(temperature_k: float, x: Floats, cations: float, tab: ReactionTables) -> float:
    """Return the share of the cations in a liquid, by the scarcest phase of each melting set."""
    share = 0.0
    for m in range(tab.melting_k.shape[0]):
        if temperature_k <= tab.melting_k[m]:
            continue
        scarcest, members = math.inf, 0
        for p in range(tab.cation.shape[0]):
            if tab.melting_phase[m, p] > 0.0:
                members += 1
                scarcest = min(scarcest, x[NOW, p] * tab.cation[p, 0])
        share = max(share, members * scarcest / cations)
    return min(1.0, share)


@compiled
def _line(
    begin_k: float, slope: float, span: float, x: Floats, powder: Floats, factor: Floats,
    work: Work, model: Model, tab: ReactionTables,
) -> tuple[float, int]:  # fmt: skip
    """Integrate one straight piece of a programme; return peak liquid share and steps taken."""
    member, coefficient, cation, cations = tab.member, tab.coefficient, tab.cation, powder[3]
    longest = model.step_k / abs(slope) if slope != 0.0 else span
    done, liquid, steps = 0.0, 0.0, 0
    count, fastest = _evaluate(NOW, begin_k, x, powder, factor, work, model, tab)
    wanted = 3.0 * model.tolerance * cations / fastest if fastest > 0.0 else span
    while done < span and steps < _MAX_STEPS:
        h = min(wanted, longest, span - done)
        middle_k = begin_k + slope * (done + 0.5 * h)
        _advance(0.5 * h, count, MIDDLE, x, work, member, coefficient)
        count, _ = _evaluate(MIDDLE, middle_k, x, powder, factor, work, model, tab)
        _advance(h, count, NEXT, x, work, member, coefficient)
        error = _error(x, cation, cations)
        wanted = h * min(4.0, max(0.2, 0.9 * math.sqrt(model.tolerance / (error + 1e-12))))
        if error <= 2.0 * model.tolerance:
            done += h
            _accept(h, middle_k, x, model, tab)
            hottest = begin_k + slope * (done if slope > 0.0 else done - h)
            liquid = max(liquid, _liquid(hottest, x, cations, tab))
        now_k = begin_k + slope * done
        count, _ = _evaluate(NOW, now_k, x, powder, factor, work, model, tab)
        steps += 1
    return liquid, steps if done >= span else _MAX_STEPS + 1


@compiled
def fire_rows(first: int, last: int, batch: Batch, model: Model, tab: ReactionTables) -> None:
    """Integrate the rows from `first` up to `last` in place; steps below 0 mean not finished."""
    reactions = tab.kind.shape[0]
    work = Work(np.zeros(reactions), np.zeros((reactions, 2), dtype=np.int64))
    for i in range(first, last):
        time, heat = batch.time_s[i], batch.temperature_k[i]
        for s in range(time.shape[0] - 1):
            span = time[s + 1] - time[s]
            begin_k, end_k = heat[s], heat[s + 1]
            if span <= 0.0 or max(begin_k, end_k) < model.active_above_k:
                continue
            slope = (end_k - begin_k) / span
            cold = model.active_above_k - min(begin_k, end_k)
            if cold > 0.0:  # leave out the part below the temperature where anything moves
                span -= cold / abs(slope)
                begin_k = max(begin_k, model.active_above_k)
            liquid, steps = _line(
                begin_k, slope, span, batch.x[i], batch.powder[i], batch.factor[i], work, model, tab
            )
            batch.liquid[i] = max(batch.liquid[i], liquid)
            batch.steps[i] += steps
            if steps > _MAX_STEPS:
                batch.steps[i] = -batch.steps[i]
                break
