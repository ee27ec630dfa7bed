"""The compiled integrator behind `labenv.physics.kinetics`; call that module, not this one.

One sample at a time, so that a sample's numbers do not depend on its neighbours in the batch. A
step is a modified Patankar-Runge-Kutta step of second order (Burchard, Deleersnijder & Meister,
Appl. Numer. Math. 47, 1 (2003), doi:10.1016/S0168-9274(03)00101-6) on the extents of the reactions:
each extent is scaled by what will be left of the reactant that the flows would soonest use up. That
makes a step implicit in the scarce phases, stiff as they are, and explicit in the others, and keeps
amounts at or above zero. Elements are conserved to rounding, because a step is a sum of balanced
reactions. The difference between its two stages is the error that sets the next step's length; a
step that misses the tolerance, or leaves an amount below zero, is taken again, shorter.

The file is longer than most because numba's cache on disk watches only the file a function stands
in: a kernel split over two files would go stale unseen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numba.core.options import DefaultOptions

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
_FIRST_STEP_S = 60.0
_COOLING = 3.0  # steps may be longer on cooling, which stops reactions as heating starts them
_HALF_WAY = 0.16  # layer over first radius of a particle half consumed: u - u^2 at u^3 = 1/2
_TRACE = 1.0e-13  # share of the cations below which a phase does not react
_TINY = 1.0e-20  # share of the cations added to a divisor that may be zero
_NEARLY_USED = 0.1  # share of the reach below which its exhaustion is felt

# Rows of a sample's array `x`, shape (8, P + G + 1): a column a phase, a gas, and one for the
# reach, the segregation that contacts can still undo, which reactions use up like a phase.
NOW, STAGE, NEXT, REFERENCE, RADIUS, CUBE, ROOT, UNMIXED = range(8)
ROWS = 8

F = TypeVar("F", bound="Callable[..., object]")


# Nothing is allocated in here, so numba need not count references, a quarter of the run time.
_NO_COUNTING: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


def compiled(function: F) -> F:
    """Return the function compiled by numba, cached on disk and free of the interpreter's lock."""
    wrap = njit(cache=True, nogil=True, error_model="numpy", **_NO_COUNTING)
    return cast("F", wrap(function))


def inlined(function: F) -> F:
    """Return the function compiled as by `compiled`, and put in place of every call to it.

    A call would copy the hundred fields of the arrays that it passes on.
    """
    wrap = njit(cache=True, nogil=True, error_model="numpy", forceinline=True, **_NO_COUNTING)
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
    x: Floats  # (N, 8, P + G + 1)
    powder: Floats  # (N, 3): contact area, reach after the last mixing, cations in mol
    factor: Floats  # (N, R, 2): reaction quotient, factor on the rate
    liquid: Floats
    steps: Ints


class Work(NamedTuple):
    """Room for a step, made outside the compiled code, which allocates nothing."""

    # mol/s, below zero backwards, last the gain of reach: in use, first stage, shape (2, R + 1)
    flow: Floats
    pick: Ints  # (R, 3) reaction, side, reactant that would soonest be used up (P for the reach)
    mixed: Floats  # (R, 2) segregation that a mole of each side undoes; 0 without need of contact
    demand: Floats  # (P + 1,) 1/s
    slot: Ints  # (P + 1,) equation of each reactant that is scarce, -1 for the others
    matrix: Floats  # (P + 1, P + 2)


class Sample(NamedTuple):
    """One row of a batch, and the room."""

    x: Floats
    powder: Floats
    factor: Floats
    flow: Floats
    pick: Ints
    mixed: Floats
    demand: Floats
    slot: Ints
    matrix: Floats


def new_work(phases: int, reactions: int) -> Work:
    """Return room for the steps of a chemical system, for one thread at a time."""
    return Work(
        flow=np.zeros((2, reactions + 1)),
        pick=np.zeros((reactions, 3), dtype=np.int64),
        mixed=np.zeros((reactions, 2)),
        demand=np.zeros(phases + 1),
        slot=np.zeros(phases + 1, dtype=np.int64),
        matrix=np.zeros((phases + 1, phases + 2)),
    )


@inlined
def _cube_root(value: float, guess: float) -> float:
    """Return the cube root, by one step of Halley's from a near guess."""
    cube = guess * guess * guess
    if abs(cube - value) > 0.05 * value:  # a near guess leaves an error below 4e-6
        return float(np.cbrt(value))
    return guess * (cube + 2.0 * value) / (2.0 * cube + value)


@inlined
def _geometry(
    law: int, amount: float, first: float, root: float, length: float, interface_m: float
) -> float:
    """Return amount times the law's factor on the rate.

    A core that shrinks from its `first` amount has the radius `root`, as a share of the first, and
    wears the layer that its loss has made. A phase that grew instead is spread over the sample in
    shells, whose thickness tends to that of a particle half consumed.
    """
    if law == 2:
        return amount
    if amount < first:
        area, thickness = first * root * root, root - root * root
    else:
        area, thickness = amount, _HALF_WAY * (1.0 - first / amount)
    if law == 1:
        return 3.0 * area / length
    # Ginstling & Brounshtein, with the interface as extra thickness
    return 3.0 * area / (length * (interface_m + length * thickness))


@inlined
def _present(row: int, x: Floats, cation: Floats, cations: float) -> int:
    """Return a number whose bit p is set where there is more than a trace of phase p."""
    present = 0
    for p in range(cation.shape[0]):
        if x[row, p] * cation[p, 0] > _TRACE * cations:
            present |= 1 << p
    return present


@inlined
def _speed(row: int, r: int, side: int, sample: Sample, model: Model, tab: ReactionTables) -> float:
    """Return the factor on the rate of a reaction by amounts, sizes and layers."""
    x, member = sample.x, tab.member
    core = member[r, side, 0]
    square, partners = x[RADIUS, core] * x[RADIUS, core], 1.0
    for place in range(1, 3):
        p = member[r, side, place]
        if p >= 0:
            square += x[RADIUS, p] * x[RADIUS, p]
            partners *= x[row, p] / (x[row, p] + model.scarce_fraction * sample.powder[2])
    amount, first = x[row, core], x[REFERENCE, core]
    if amount < first:
        x[ROOT, core] = _cube_root(amount / first, x[ROOT, core])
    length = math.sqrt(square)
    shape = _geometry(tab.kind[r, 0], amount, first, x[ROOT, core], length, model.interface_m)
    return float(partners * shape / tab.coefficient[r, side, 0])


@inlined
def _flows(
    row: int, temperature_k: float, sample: Sample, model: Model, tab: ReactionTables
) -> None:
    """Set ``flow[0]`` from the amounts in `row`."""
    curve, kind, powder, factor = tab.curve, tab.kind, sample.powder, sample.factor
    flow, mixed = sample.flow, sample.mixed
    position = (temperature_k - tab.grid_min_k) / _STEP_K
    k = min(max(int(position), 0), curve.shape[0] - 2)
    w = position - k
    reach, within = sample.x[row, sample.x.shape[1] - 1], powder[0]
    if powder[1] > 0.0:
        within *= reach / (reach + _NEARLY_USED * powder[1])
    present = _present(row, sample.x, tab.cation, powder[2])
    gain, count = 0.0, kind.shape[0]
    for r in range(count):
        flow[0, r] = 0.0
        quotient = factor[r, 0] * ((1.0 - w) * curve[k, 1, r] + w * curve[k + 1, 1, r])
        side = 0 if quotient < 1.0 else 1
        if kind[r, 2 + side] & ~present:
            continue
        v = factor[r, 1] * ((1.0 - w) * curve[k, 0, r] + w * curve[k + 1, 0, r])
        v *= 1.0 - quotient if side == 0 else min(quotient - 1.0, _REVERSE_CAP)
        v *= _speed(row, r, side, sample, model, tab)
        if kind[r, 1] == 1:
            gain += model.unmixed_rate * powder[0] * v * mixed[r, side]
            v *= within
        flow[0, r] = v if side == 0 else -v
    flow[0, count] = gain


@inlined
def _list_flows(row: int, sample: Sample, tab: ReactionTables) -> int:
    """List the reactions of ``flow[0]`` with their sides, and what they demand of each reactant.

    The demand is the share of a reactant's amount in `row` that would go in a second.

    Returns:
        The number of reactions.
    """
    x, flow, pick, demand, mixed = sample.x, sample.flow, sample.pick, sample.demand, sample.mixed
    member, coefficient = tab.member, tab.coefficient
    last, count = demand.shape[0] - 1, 0
    for p in range(last + 1):
        demand[p] = 0.0
    for r in range(mixed.shape[0]):
        if flow[0, r] == 0.0:
            continue
        side = 0 if flow[0, r] > 0.0 else 1
        pick[count, 0], pick[count, 1] = r, side
        count += 1
        v = abs(flow[0, r])
        for place in range(3):
            p = member[r, side, place]
            if p >= 0:
                demand[p] += v * coefficient[r, side, place]
        demand[last] += v * mixed[r, side]
    for p in range(last):
        if demand[p] > 0.0:
            demand[p] /= x[row, p] + _TINY * sample.powder[2]
    demand[last] /= x[row, x.shape[1] - 1] + _TINY
    return count


@inlined
def _find_scarce(count: int, sample: Sample, tab: ReactionTables) -> int:
    """Find each listed reaction's most demanded reactant, and number these.

    Returns:
        How many there are.
    """
    pick, demand, mixed, slot = sample.pick, sample.demand, sample.mixed, sample.slot
    last, size = demand.shape[0] - 1, 0
    for p in range(last + 1):
        slot[p] = -1
    for j in range(count):
        r, side = pick[j, 0], pick[j, 1]
        best = tab.member[r, side, 0]
        for place in range(1, 3):
            p = tab.member[r, side, place]
            if p >= 0 and demand[p] > demand[best]:
                best = p
        if mixed[r, side] > 0.0 and demand[last] > demand[best]:
            best = last
        pick[j, 2] = best
        if slot[best] < 0:
            slot[best] = size
            size += 1
    return size


@inlined
def _assemble(
    h: float, row: int, count: int, size: int, sample: Sample, tab: ReactionTables
) -> None:
    """Set up the equations for what will be left of the scarce reactants.

    On return ``flow[0]`` holds, for each listed reaction, its extent over what will be left.
    """
    x, flow, pick, slot, matrix = sample.x, sample.flow, sample.pick, sample.slot, sample.matrix
    member, coefficient = tab.member, tab.coefficient
    last, reach = slot.shape[0] - 1, x.shape[1] - 1
    for p in range(last + 1):
        i = slot[p]
        if i >= 0:
            for c in range(size):
                matrix[i, c] = 0.0
            matrix[i, i] = 1.0
            gain = h * flow[0, flow.shape[1] - 1] if p == last else 0.0
            matrix[i, size] = gain + x[NOW, p if p < last else reach]
    for j in range(count):
        r, side, scarce = pick[j, 0], pick[j, 1], pick[j, 2]
        divisor = x[row, scarce if scarce < last else reach] + _TINY * sample.powder[2]
        pull = h * abs(flow[0, r]) / divisor
        flow[0, r] = pull
        column = slot[scarce]
        for place in range(3):
            p, q = member[r, side, place], member[r, 1 - side, place]
            if p >= 0 and slot[p] >= 0:
                matrix[slot[p], column] += pull * coefficient[r, side, place]
            if q >= 0 and slot[q] >= 0:
                matrix[slot[q], column] -= pull * coefficient[r, 1 - side, place]
        if slot[last] >= 0:
            matrix[slot[last], column] += pull * sample.mixed[r, side]


@inlined
def _solve(matrix: Floats, size: int) -> None:
    """Solve ``size`` equations in place by elimination; the solution is the column after them.

    The diagonal is at least one and losses sit on it, so that rows need no exchange.
    """
    for i in range(size):
        for j in range(i + 1, size):
            if matrix[j, i] != 0.0:
                ratio = matrix[j, i] / matrix[i, i]
                for c in range(i + 1, size + 1):
                    matrix[j, c] -= ratio * matrix[i, c]
    for i in range(size - 1, -1, -1):
        for c in range(i + 1, size):
            matrix[i, size] -= matrix[i, c] * matrix[c, size]
        matrix[i, size] /= matrix[i, i]


@inlined
def _advance(h: float, row: int, target: int, sample: Sample, tab: ReactionTables) -> None:
    """Set row `target` to the amounts after h seconds of ``flow[0]``, scaled by those in `row`."""
    x, flow, pick, slot, matrix = sample.x, sample.flow, sample.pick, sample.slot, sample.matrix
    member, coefficient = tab.member, tab.coefficient
    reach = x.shape[1] - 1
    count = _list_flows(row, sample, tab)
    size = _find_scarce(count, sample, tab)
    _assemble(h, row, count, size, sample, tab)
    _solve(matrix, size)
    for p in range(x.shape[1]):
        x[target, p] = x[NOW, p]
    x[target, reach] += h * flow[0, flow.shape[1] - 1]
    for j in range(count):
        r, side = pick[j, 0], pick[j, 1]
        extent = flow[0, r] * matrix[slot[pick[j, 2]], size]
        x[target, reach] -= extent * sample.mixed[r, side]
        for place in range(5):
            p, q = member[r, side, place], member[r, 1 - side, place]
            if p >= 0:
                x[target, p] -= extent * coefficient[r, side, place]
            if q >= 0:
                x[target, q] += extent * coefficient[r, 1 - side, place]


@inlined
def _lift(row: int, x: Floats, cation: Floats, cations: float) -> bool:
    """Lift to zero what rounding left below it.

    Returns:
        Whether nothing was lower than that.
    """
    sound = True
    for p in range(cation.shape[0]):
        if not x[row, p] >= 0.0:
            sound = sound and x[row, p] * cation[p, 0] >= -_TRACE * cations
            x[row, p] = 0.0
    x[row, x.shape[1] - 1] = max(0.0, x[row, x.shape[1] - 1])
    return sound


@inlined
def _step(
    h: float, now_k: float, end_k: float, sample: Sample, model: Model, tab: ReactionTables
) -> float:
    """Set row NEXT from row NOW.

    Returns:
        The largest difference between the stages as a share of the cations; infinite if an amount
        fell below zero.
    """
    x, flow, cation, cations = sample.x, sample.flow, tab.cation, sample.powder[2]
    for stage in range(2):
        row = NOW if stage == 0 else STAGE
        _flows(row, now_k if stage == 0 else end_k, sample, model, tab)
        for r in range(flow.shape[1]):
            if stage == 0:
                flow[1, r] = flow[0, r]
            else:
                flow[0, r] = 0.5 * (flow[0, r] + flow[1, r])
        _advance(h, row, row + 1, sample, tab)
        if not _lift(row + 1, x, cation, cations):
            return math.inf
    error = 0.0
    for p in range(cation.shape[0]):
        error = max(error, abs(x[NEXT, p] - x[STAGE, p]) * cation[p, 0])
    return float(error / cations)


@inlined
def _grow(h: float, temperature_k: float, x: Floats, model: Model, tab: ReactionTables) -> None:
    """Let the crystallites grow for h seconds, and particles with them once they are as large."""
    growth = tab.growth
    position = (temperature_k - tab.grid_min_k) / _STEP_K
    k = min(max(int(position), 0), growth.shape[0] - 2)
    w = position - k
    for p in range(growth.shape[1]):
        if x[NOW, p] <= 0.0:
            x[CUBE, p] = model.nucleus_m**3
            continue
        x[CUBE, p] += h * ((1.0 - w) * growth[k, p] + w * growth[k + 1, p])
        if x[CUBE, p] > 8.0 * x[RADIUS, p] ** 3:
            x[RADIUS, p] = 0.5 * np.cbrt(x[CUBE, p])


@inlined
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
    piece: tuple[float, float, float], wanted: float, sample: Sample, model: Model,
    tab: ReactionTables,
) -> tuple[float, float, int]:  # fmt: skip
    """Integrate one straight piece of a programme: first temperature, slope and length of time.

    Returns:
        The peak liquid share, the step that would come next, and the number of steps.
    """
    begin_k, slope, span = piece
    x, tolerance = sample.x, model.tolerance
    longest = span
    if slope != 0.0:
        longest = model.step_k * (1.0 if slope > 0.0 else _COOLING) / abs(slope)
    done, liquid, steps = 0.0, 0.0, 0
    while done < span and steps < _MAX_STEPS:
        h = min(wanted, longest, span - done)
        now_k = begin_k + slope * done
        error = _step(h, now_k, now_k + slope * h, sample, model, tab)
        scale = min(4.0, max(0.2, 0.9 * math.sqrt(tolerance / (error + 1e-12))))
        wanted = h * scale if scale < 1.0 else max(wanted, h * scale)
        steps += 1
        if error <= 2.0 * tolerance:
            done += h
            for c in range(x.shape[1]):
                x[NOW, c] = x[NEXT, c]
            _grow(h, now_k + 0.5 * slope * h, x, model, tab)
            hottest = now_k + max(slope, 0.0) * h
            liquid = max(liquid, _liquid(hottest, x, sample.powder[2], tab))
    return liquid, wanted, steps if done >= span else _MAX_STEPS + 1


@compiled
def _fill_mixed(sample: Sample, tab: ReactionTables) -> None:
    """Set the segregation that a mole of each reaction that needs contact undoes, 0 if none."""
    for r in range(tab.kind.shape[0]):
        undone = 0.0
        for place in range(3):
            p, q = tab.member[r, 0, place], tab.member[r, 1, place]
            if p >= 0:
                undone += sample.x[UNMIXED, p] * tab.coefficient[r, 0, place]
            if q >= 0:
                undone -= sample.x[UNMIXED, q] * tab.coefficient[r, 1, place]
        sample.mixed[r, 0] = max(0.0, undone) * tab.kind[r, 1]
        sample.mixed[r, 1] = max(0.0, -undone) * tab.kind[r, 1]


@compiled
def _fire(
    time_s: Floats, heat_k: Floats, sample: Sample, model: Model, tab: ReactionTables
) -> tuple[float, int]:
    """Integrate one sample.

    Returns:
        The peak liquid share, and the number of steps, below 0 if not finished.
    """
    _fill_mixed(sample, tab)
    wanted, peak, total = _FIRST_STEP_S, 0.0, 0
    for s in range(time_s.shape[0] - 1):
        span = time_s[s + 1] - time_s[s]
        begin_k, end_k = heat_k[s], heat_k[s + 1]
        if span <= 0.0 or max(begin_k, end_k) < model.active_above_k:
            continue
        slope = (end_k - begin_k) / span
        cold = model.active_above_k - min(begin_k, end_k)
        if cold > 0.0:  # leave out the part below the temperature where anything moves
            span -= cold / abs(slope)
            begin_k = max(begin_k, model.active_above_k)
        liquid, wanted, steps = _line((begin_k, slope, span), wanted, sample, model, tab)
        peak = max(peak, liquid)
        total += steps
        if steps > _MAX_STEPS:
            return peak, -total
    return peak, total


@compiled
def fire_rows(
    first: int, last: int, batch: Batch, work: Work, model: Model, tab: ReactionTables
) -> None:
    """Integrate the rows from `first` up to `last` in place; steps below 0 mean not finished."""
    for i in range(first, last):
        sample = Sample(
            batch.x[i], batch.powder[i], batch.factor[i],
            work.flow, work.pick, work.mixed, work.demand, work.slot, work.matrix,
        )  # fmt: skip
        batch.liquid[i], batch.steps[i] = _fire(
            batch.time_s[i], batch.temperature_k[i], sample, model, tab
        )
