"""The compiled integrator behind `labenv.physics.kinetics`; call that module, not this one.

One sample at a time, so that a sample's numbers do not depend on its neighbours in the batch. A
step is a modified Patankar-Runge-Kutta step of second order (Burchard, Deleersnijder & Meister,
Appl. Numer. Math. 47, 1 (2003), doi:10.1016/S0168-9274(03)00101-6) on the extents of the reactions:
each extent is scaled by what will be left of the reactant that the flows would soonest use up. That
makes a step implicit in the scarce phases, stiff as they are, and explicit in the others, and keeps
amounts at or above zero; a phase that would be overdrawn all the same takes the place of that
reactant, and the step is solved again. On a ramp both stages take each rate's mean over the step,
from tables of its integral, so that rising temperature does not make steps short; steps end where a
reaction turns round. Reactions that would move less than 1e-7 of the cations are left out.
Elements are conserved to rounding, because a step is a sum of balanced reactions. The difference
between its two stages, or what the first rates would have used up beyond the later ones, or the
reach that they would have gained, is the error that sets the next step's length; a step that misses
the tolerance, or leaves an amount below zero, is taken again, shorter.

If asked, each step taken is written into a ledger: when, between which temperatures, and by how
much each reaction went forward, which is what the books of energy are kept by. Without a ledger
that costs a comparison a step.

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
    Places = NDArray[np.uint32]  # without a sign, so that no place need be counted from the end
    Tables = tuple[Floats, Floats, Floats]

_STEP_K = GRID_STEP_K
REVERSE_CAP = 50.0  # keeps a strongly driven back reaction within what surfaces can supply
_LARGEST_PULL = 1e4  # of what is there and what is left in a step
_LARGEST_CONSTANT = 1e14  # times the gases' share it is still beyond the cap
_MAX_STEPS = 50_000
_PATIENCE = 5000.0  # steps in one straight piece, above which the tolerance grows with their number
_FIRST_STEP_S = 600.0
_REPICKS = 4  # tries at a step before it is taken shorter
_NEAR_K = 6.0  # from a turning point no need to stop there
_SPLIT = 0.8  # share of a step beyond which a turning point may as well be in it
_LEVEL_K = 1e-3  # change of temperature below which a piece is a hold
_FELT_TURN = 0.02  # of the tolerance, what a reaction may do in a step and turn in it unnoticed
_IDLE = 1e-7  # mol in a step, as a share of the cations, below which a reaction stands still
_LONGER = 6.0  # how much longer the next step may be
_COOLING = 3.0  # steps may be longer on cooling, which stops reactions as heating starts them
_HALF_WAY = 0.16  # layer over first radius of a particle half consumed: u - u^2 at u^3 = 1/2
_TRACE = 1.0e-13  # share of the cations below which a phase does not react
_TINY = 1.0e-20  # share of the cations added to a divisor that may be zero
_NO_MIXING = 1.0e-9  # segregation, mol of cations, below which a mole of reaction needs no reach
_NEARLY_USED = 0.1  # share of the reach below which its exhaustion is felt
_ESCAPE = 3  # position in `LAWS`

# Rows of a sample's array `x`, shape (8, X): a column a phase, a gas, one for the reach, the
# segregation that contacts can still undo, which reactions use up like a phase, and one for no
# phase, of which there is plenty; then some without meaning, to a multiple of `_TOGETHER`.
NOW, STAGE, NEXT, REFERENCE, RADIUS, CUBE, ROOT, UNMIXED = range(8)
ROWS = 8
PLENTY = 1e30  # mol of no phase
_TOGETHER = 4  # columns that one instruction of the processor can do
# Columns of a ledger before the reactions': end of the step (s), temperatures at its ends (K). The
# last row is room for the step at hand, and its first number counts the rows written.
END_S, BEGIN_K, END_K, EXTENTS = range(4)
NONE = np.uint32(0xFFFFFFFF)

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
    x: Floats  # (N, 8, X), see `ROWS`
    powder: Floats  # (N, 3): contact area, segregation at the last mixing, cations in mol
    factor: Floats  # (N, R, 2): reaction quotient, factor on the rate
    liquid: Floats
    steps: Ints
    ledger: Floats  # (N, L + 1, 3 + R) for L steps, see `EXTENTS`; (N, 0, 0) for none


Course = tuple[int, int, int, float, float, float, float]


class Work(NamedTuple):
    """Room for a step, made outside the compiled code, which allocates nothing."""

    flow: Floats  # (3, R) mol/s of each listed reaction: in use, first stage, all in reach
    pick: Places  # (R, 3) reaction, side, column of the reactant that would soonest be used up
    rate: Floats  # (R, 4) of each listed one: rate with the drive, length (m), turn (K), undriven
    change: Floats  # (R, 2, X) of each column by a mole of each side reacted
    used: Floats  # (R, 2, X) of it, what uses condensed phases and the reach up
    demand: Floats  # (2, X) 1/s, at the beginning of a step and after its first stage
    slot: Places  # (X,) equation of each reactant that is scarce, `NONE` for others
    chosen: Places  # (X,) reactant of each equation
    pull: Floats  # (X, X) by equation: what the reactions it scales change, over what is left
    matrix: Floats  # (X, X + 1)
    member: Places  # (R, 2, 3), columns of the condensed phases, that of no phase for none
    rates: Floats  # (2, K, 2, R), see `integrate_tables`
    growth: Floats  # (2, K, P)
    nothing: int  # column of no phase


class Sample(NamedTuple):
    """One row of a batch, and the room."""

    x: Floats
    powder: Floats
    factor: Floats
    flow: Floats
    pick: Places
    rate: Floats
    change: Floats
    used: Floats
    demand: Floats
    slot: Places
    chosen: Places
    pull: Floats
    matrix: Floats
    member: Places
    rates: Floats
    growth: Floats
    ledger: Floats
    nothing: int


def integrate_tables(tab: ReactionTables, gases: int) -> Tables:
    """Return the rates on the grid of temperature and their integrals, for the means of ramps.

    Args:
        tab: Tables of the system.
        gases: How many gases it has.

    Returns:
        At [0, k, 0, r] a reaction's rate, at [0, k, 1, r] the same times exp(ΔG°/RT), at [1, ...]
        the integrals over temperature up to there, shape (2, K, 2, R); and d(size^3)/dt of each
        phase's crystallites with its integral, shape (2, K, P); and what each side of a reaction
        does to each column of a sample, mol a mole, shape (R, 2, X).
    """
    rates = tab.curve.copy()
    # At low temperature exp(ΔG°/RT) can be so large that its integral hides all that comes later.
    rates[:, 1] = np.minimum(rates[:, 1], _LARGEST_CONSTANT) * rates[:, 0]
    return _with_integral(rates), _with_integral(tab.growth), _changes(tab, gases)


def columns_of(phases: int, gases: int) -> tuple[int, int, int]:
    """Return the columns of the reach and of no phase, and how many there are.

    Args:
        phases: How many condensed phases.
        gases: How many gases.

    Returns:
        The three numbers.
    """
    reach = phases + gases
    return reach, reach + 1, -(-(reach + 2) // _TOGETHER) * _TOGETHER


def _changes(tab: ReactionTables, gases: int) -> Floats:
    forward = np.zeros((tab.member.shape[0], columns_of(tab.cation.shape[0], gases)[2]))
    for side, sign in ((0, -1.0), (1, 1.0)):
        for place in range(tab.member.shape[2]):
            rows = np.flatnonzero(tab.member[:, side, place] >= 0)
            forward[rows, tab.member[rows, side, place]] += (
                sign * tab.coefficient[rows, side, place]
            )
    return np.stack([forward, -forward], axis=1)


def _with_integral(values: Floats) -> Floats:
    integral = np.zeros_like(values)
    integral[1:] = np.cumsum(0.5 * _STEP_K * (values[1:] + values[:-1]), axis=0)
    return np.ascontiguousarray(np.stack([values, integral]))


def new_work(tables: Tables, tab: ReactionTables, gases: int) -> Work:
    """Return room for the steps of a chemical system, for one thread at a time.

    Args:
        tables: As `integrate_tables` makes them.
        tab: Tables of the system.
        gases: How many gases it has.

    Returns:
        The room.
    """
    phases, reactions = tables[1].shape[2], tables[0].shape[3]
    _, nothing, width = columns_of(phases, gases)
    used = np.maximum(0.0, -tables[2])
    used[:, :, phases:] = 0.0
    # A reaction may be listed twice, its other side when the first stage has made what that needs;
    # and one more is considered and not taken.
    room = 2 * reactions + 1
    return Work(
        flow=np.zeros((3, room)),
        pick=np.zeros((room, 3), dtype=np.uint32),
        rate=np.zeros((room, 4)),
        change=tables[2].copy(),
        used=used,
        demand=np.zeros((2, width)),
        slot=np.zeros(width, dtype=np.uint32),
        chosen=np.zeros(width, dtype=np.uint32),
        pull=np.zeros((width, width)),
        matrix=np.zeros((width, width + 1)),
        member=np.where(tab.member < 0, nothing, tab.member)[:, :, :3].astype(np.uint32),
        rates=tables[0],
        growth=tables[1],
        nothing=nothing,
    )


@inlined
def _reach_column(sample: Sample) -> int:
    """Return the column of the reach, which stands before that of no phase."""
    return sample.nothing - 1


@inlined
def _cube_root(value: float, guess: float) -> float:
    """Return the cube root, by one step of Halley's from a near guess."""
    cube = guess * guess * guess
    if value <= 0.0 or abs(cube - value) > 0.05 * value:  # a near guess errs by less than 4e-6
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
def _course(begin_k: float, end_k: float, grid_min_k: float, rows: int) -> Course:
    """Return how to read the mean of a rate over a straight piece from the tables.

    Returns:
        Which table, the first of two rows at the beginning and at the end, and their weights: of
        the rates themselves on a hold, of the difference of their integrals on a ramp.
    """
    first, last = begin_k - grid_min_k, end_k - grid_min_k
    rise, top = last - first, rows - 2
    k = min(max(int(first / _STEP_K), 0), top)
    w = first / _STEP_K - k
    if abs(rise) < _LEVEL_K:
        return 0, k, k, 1.0 - w, w, 0.0, 0.0
    m = min(max(int(last / _STEP_K), 0), top)
    v = last / _STEP_K - m
    return 1, k, m, (w - 1.0) / rise, -w / rise, (1.0 - v) / rise, v / rise


@inlined
def _turning(k: int, m: int, r: int, quotient: float, rates: Floats) -> int:
    """Return the row of the tables next to which a reaction turns round on the way from k to m."""
    low, high = min(k, m), max(k, m) + 1
    cold = quotient * rates[0, low, 1, r] < rates[0, low, 0, r]
    while high - low > 1:
        middle = (low + high) // 2
        if (quotient * rates[0, middle, 1, r] < rates[0, middle, 0, r]) == cold:
            low = middle
        else:
            high = middle
    return high


@inlined
def _drive(
    r: int, quotient: float, sides: int, course: Course, rates: Floats
) -> tuple[float, float, float]:
    """Return a reaction's mean rate over a piece, the same with the drive, and where it turns.

    Where the reaction turns round on a ramp and can go only one way, as bit 0 (forwards) and bit 1
    (backwards) of `sides` tell, the mean is over the part in which it goes that way. Where it can
    go both ways, or comes under the limit of back reactions, the piece had better end there: the
    last number is how far that is, K, 0 if nowhere.
    """
    t, k, m, a, b, c, d = course
    rate = a * rates[t, k, 0, r] + b * rates[t, k + 1, 0, r]
    back = a * rates[t, k, 1, r] + b * rates[t, k + 1, 1, r]
    if t == 0:
        return rate, rate - quotient * back, 0.0
    end_rate = c * rates[1, m, 0, r] + d * rates[1, m + 1, 0, r]
    end_back = c * rates[1, m, 1, r] + d * rates[1, m + 1, 1, r]
    first, last = quotient * rates[0, k, 1, r], quotient * rates[0, m, 1, r]
    turn_k = 0.0
    if (first < rates[0, k, 0, r]) != (last < rates[0, m, 0, r]):
        z, rise = _turning(k, m, r, quotient, rates), c + d
        if sides == 3:
            turn_k = _STEP_K * (z - k)
        elif (first < rates[0, k, 0, r]) == (sides == 1):
            end_rate, end_back = rise * rates[1, z, 0, r], rise * rates[1, z, 1, r]
        else:
            rate, back = -rise * rates[1, z, 0, r], -rise * rates[1, z, 1, r]
    elif sides > 1:
        limit = 1.0 + REVERSE_CAP
        if (first < limit * rates[0, k, 0, r]) != (last < limit * rates[0, m, 0, r]):
            turn_k = _STEP_K * (_turning(k, m, r, quotient / limit, rates) - k)
    rate += end_rate
    return rate, rate - quotient * (back + end_back), turn_k


@inlined
def _consider(
    r: int, count: int, present: int, course: Course, sample: Sample, tab: ReactionTables,
) -> int:  # fmt: skip
    """Add a reaction to the list if the reactants on the side that drives it are present.

    Its ``rate`` is then the mean rate with the drive, without what depends on the amounts.

    Returns:
        The number of reactions listed.
    """
    kind, sides = tab.kind, 0
    if not kind[r, 2] & ~present:
        sides = 1
    if not kind[r, 3] & ~present:
        sides += 2
    if sides == 0:
        return count
    rate, drive, turn_k = _drive(r, sample.factor[r, 0], sides, course, sample.rates)
    side = 0 if drive > 0.0 else 1
    if not sides & (1 + side):
        return count
    x, member = sample.x, sample.member
    square = 0.0
    for place in range(3):
        radius = x[RADIUS, member[r, side, place]]
        square += radius * radius
    if side == 1:
        drive = min(-drive, REVERSE_CAP * rate)
    sample.rate[count, 0] = max(drive, 0.0) * sample.factor[r, 1] / tab.coefficient[r, side, 0]
    sample.rate[count, 1], sample.rate[count, 2] = math.sqrt(square), abs(turn_k)
    sample.rate[count, 3] = rate * sample.factor[r, 1] / tab.coefficient[r, side, 0]
    sample.pick[count, 0], sample.pick[count, 1] = r, side
    return count + 1


@inlined
def _speed(row: int, j: int, sample: Sample, model: Model, tab: ReactionTables) -> float:
    """Return the factor on the rate of a listed reaction by amounts, sizes and layers."""
    x, member, r, side = sample.x, sample.member, sample.pick[j, 0], sample.pick[j, 1]
    core, partners = member[r, side, 0], 1.0
    few = model.scarce_fraction * sample.powder[2]
    for place in range(1, 3):
        there = x[row, member[r, side, place]]
        partners *= there / (there + few)
    amount, first = x[row, core], x[REFERENCE, core]
    if amount < first:
        x[ROOT, core] = _cube_root(amount / first, x[ROOT, core])
    law, length = tab.kind[r, 0], sample.rate[j, 1]
    if law == _ESCAPE:  # what leaves a crucible depends on its mouth, not on the amount inside
        return float(partners * amount / (amount / sample.powder[2] + model.scarce_fraction))
    return partners * _geometry(law, amount, first, x[ROOT, core], length, model.interface_m)


@inlined
def _flows(
    row: int, present: int, count: int, sample: Sample, model: Model, tab: ReactionTables
) -> float:
    """Set ``flow[0]`` of the listed reactions from the amounts in `row`.

    What it would be with everything in reach is ``flow[2]``.

    Returns:
        The gain of reach, 1/s.
    """
    kind, powder, flow, pick = tab.kind, sample.powder, sample.flow, sample.pick
    end = _reach_column(sample)
    reach, within = sample.x[row, end], powder[0]
    if powder[1] > 0.0:
        within *= reach / (reach + _NEARLY_USED * powder[1])
    gain = 0.0
    for j in range(count):
        r, side = pick[j, 0], pick[j, 1]
        flow[0, j] = flow[2, j] = 0.0
        if kind[r, 2 + side] & ~present:
            continue
        v = sample.rate[j, 0] * _speed(row, j, sample, model, tab)
        flow[2, j] = v
        if kind[r, 1] == 1:
            gain += model.unmixed_rate * powder[0] * v * sample.used[r, side, end]
        if kind[r, 1] == 1 or sample.used[r, side, end] > 0.0:
            v *= within
        flow[0, j] = v
    return gain


@inlined
def _drop_idle(least: float, count: int, sample: Sample) -> int:
    """Take the reactions slower than `least` from the list.

    Returns:
        How many stay.
    """
    pick, rate, flow, kept = sample.pick, sample.rate, sample.flow, 0
    for j in range(count):
        if flow[2, j] >= least:
            pick[kept, 0], pick[kept, 1] = pick[j, 0], pick[j, 1]
            rate[kept, 0], rate[kept, 1] = rate[j, 0], rate[j, 1]
            rate[kept, 2] = rate[j, 2]
            flow[0, kept] = flow[1, kept] = flow[0, j]
            kept += 1
    return kept


@inlined
def _add_new(
    count: int, before: int, now: int, course: Course, sample: Sample, tab: ReactionTables,
) -> int:  # fmt: skip
    """List the reactions that need a phase of `now`, a set in bits, that was not there `before`.

    Returns:
        The number of reactions listed.
    """
    kind, fresh, listed = tab.kind, now & ~before, count
    for r in range(kind.shape[0]):
        if (kind[r, 2] | kind[r, 3]) & fresh:
            listed = _consider(r, count, now, course, sample, tab)
            if listed > count and kind[r, 2 + sample.pick[count, 1]] & fresh:
                sample.flow[1, count] = 0.0
                count += 1
    return count


@inlined
def _add(factor: float, values: Floats, out: Floats) -> None:
    """Add `factor` times the values, as many at a time as an instruction can."""
    one = np.uint64(1)  # indices without a sign, which the compiler need not count from the end
    for four in range(np.uint64(out.shape[0]) >> np.uint64(2)):
        i = np.uint64(four) << np.uint64(2)
        j = i + one
        k = j + one
        m = k + one
        a, b, c, d = values[i], values[j], values[k], values[m]
        e, f, g, h = out[i], out[j], out[k], out[m]
        out[i], out[j], out[k], out[m] = (
            e + factor * a, f + factor * b, g + factor * c, h + factor * d,
        )  # fmt: skip


@inlined
def _set_demand(row: int, count: int, demand: Floats, sample: Sample) -> None:
    """Set the share of each reactant's amount in `row` that would go in a second."""
    x, flow, pick, used = sample.x, sample.flow, sample.pick, sample.used
    tiny = _TINY * sample.powder[2]
    for p in range(demand.shape[0]):
        demand[p] = 0.0
    for j in range(count):
        _add(flow[0, j], used[pick[j, 0], pick[j, 1]], demand)
    for p in range(demand.shape[0]):
        demand[p] /= x[row, p] + tiny


@inlined
def _find_scarce(count: int, sample: Sample) -> None:
    """Pick each listed reaction's most demanded reactant."""
    pick, demand, member, end = sample.pick, sample.demand[0], sample.member, _reach_column(sample)
    for j in range(count):
        r, side = pick[j, 0], pick[j, 1]
        p, q = member[r, side, 1], member[r, side, 2]
        best = member[r, side, 0]
        best = p if demand[p] > demand[best] else best
        best = q if demand[q] > demand[best] else best
        if sample.used[r, side, end] > 0.0 and demand[end] > demand[best]:
            best = np.uint32(end)
        pick[j, 2] = best


@inlined
def _number(count: int, sample: Sample) -> int:
    """Number the reactants picked.

    Returns:
        How many there are.
    """
    pick, slot, chosen, size = sample.pick, sample.slot, sample.chosen, 0
    for p in range(slot.shape[0]):
        slot[p] = NONE
    for j in range(count):
        p = pick[j, 2]
        if slot[p] == NONE:
            slot[p], chosen[size] = size, p
            size += 1
    return size


@inlined
def _overdrawn(row: int, x: Floats, cation: Floats, cations: float) -> int:
    """Return the phase most below zero by more than rounding leaves, -1 for none."""
    worst, least = -1, -_TRACE * cations
    for p in range(cation.shape[0]):
        if not x[row, p] * cation[p, 0] >= least:
            worst, least = p, x[row, p] * cation[p, 0]
    return worst


@inlined
def _pick_instead(p: int, count: int, sample: Sample) -> bool:
    """Let the reactions that use up phase p be scaled by what is left of it.

    Returns:
        Whether any was not.
    """
    pick, changed = sample.pick, False
    for j in range(count):
        if sample.used[pick[j, 0], pick[j, 1], p] > 0.0 and pick[j, 2] != p:
            pick[j, 2], changed = p, True
    return changed


@inlined
def _assemble(step: tuple[float, float], row: int, count: int, size: int, sample: Sample) -> None:
    """Set up the equations for what will be left of the scarce reactants.

    On return ``flow[2]`` holds, for each listed reaction, its extent over what will be left.
    """
    x, flow, pick, slot, chosen = sample.x, sample.flow, sample.pick, sample.slot, sample.chosen
    pull, matrix, (h, gain) = sample.pull, sample.matrix, step
    tiny = _TINY * sample.powder[2]
    for c in range(size):
        for p in range(pull.shape[1]):
            pull[c, p] = 0.0
    for j in range(count):
        scarce = pick[j, 2]
        # Beyond the limit nothing is left all the same, and loops of fast reactions would turn over
        # so much that rounding showed.
        strength = min(h * flow[0, j] / (x[row, scarce] + tiny), _LARGEST_PULL)
        flow[2, j] = strength
        _add(strength, sample.change[pick[j, 0], pick[j, 1]], pull[slot[scarce]])
    end = _reach_column(sample)
    for i in range(size):
        p = chosen[i]
        for c in range(size):
            matrix[i, c] = -pull[c, p]
        matrix[i, i] += 1.0
        matrix[i, size] = x[NOW, p] + (h * gain if p == end else 0.0)


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
def _move(step: tuple[float, float], target: int, size: int, sample: Sample) -> None:
    """Set row `target` by the equations' solution."""
    x = sample.x
    for p in range(x.shape[1]):
        x[target, p] = x[NOW, p]
    x[target, _reach_column(sample)] += step[0] * step[1]
    for i in range(size):
        _add(sample.matrix[i, size], sample.pull[i], x[target])


@inlined
def _limit(step: tuple[float, float], count: int, sample: Sample) -> None:
    """Set up one equation that draws no reactant below zero, whatever is made of it meanwhile.

    Explicit, so of use only where no choice of scarce reactants holds: each reaction goes as far as
    the scarcest of its reactants lets all that use it go alike.
    """
    x, flow, pick, slot, demand = (
        sample.x, sample.flow, sample.pick, sample.slot, sample.demand[0]
    )  # fmt: skip
    h, end, first = step[0], _reach_column(sample), pick[0, 2]
    for p in range(demand.shape[0]):
        demand[p], slot[p], sample.pull[0, p] = 0.0, NONE, 0.0
    for j in range(count):
        _add(h * flow[0, j], sample.used[pick[j, 0], pick[j, 1]], demand)
    for p in range(demand.shape[0]):
        there = x[NOW, p] + (h * step[1] if p == end else 0.0)
        demand[p] = min(1.0, there / demand[p]) if demand[p] > 0.0 else 1.0
    for j in range(count):
        r, side, share = pick[j, 0], pick[j, 1], 1.0
        for place in range(3):
            share = min(share, demand[sample.member[r, side, place]])
        if sample.used[r, side, end] > 0.0:
            share = min(share, demand[end])
        flow[2, j], pick[j, 2] = h * flow[0, j] * share, first
        _add(flow[2, j], sample.change[r, side], sample.pull[0])
    slot[first], sample.chosen[0], sample.matrix[0, 1] = 0, first, 1.0


@inlined
def _advance(
    step: tuple[float, float], row: int, target: int, count: int, sample: Sample,
    tab: ReactionTables,
) -> None:  # fmt: skip
    """Set row `target` to the amounts after a step of ``flow[0]``, scaled by those in `row`.

    A reactant that would be overdrawn, though another was more in demand, is picked instead.

    Args:
        step: Its length, s, and the gain of reach, 1/s.
        row: Where the flows come from.
        target: Row to set.
        count: Number of listed reactions.
        sample: The sample.
        tab: Tables of the system.
    """
    x, cation, cations = sample.x, tab.cation, sample.powder[2]
    _set_demand(row, count, sample.demand[0], sample)
    _find_scarce(count, sample)
    short = -1
    for _ in range(_REPICKS):
        size = _number(count, sample)
        _assemble(step, row, count, size, sample)
        _solve(sample.matrix, size)
        _move(step, target, size, sample)
        short = _overdrawn(target, x, cation, cations)
        if short < 0 or not _pick_instead(short, count, sample):
            break
    if short >= 0:
        _limit(step, count, sample)
        _move(step, target, 1, sample)
    for p in range(cation.shape[0]):  # what rounding left below zero
        x[target, p] = max(0.0, x[target, p])
    end = _reach_column(sample)
    x[target, end] = max(0.0, x[target, end])


@inlined
def _nearest_turn(h: float, count: int, sample: Sample, model: Model, tab: ReactionTables) -> float:
    """Return after how many K the first of the listed reactions turns, infinite if none does.

    One that cannot do anything to speak of in the step, either way, may turn unnoticed.
    """
    nearest, rate, pick = math.inf, sample.rate, sample.pick
    felt = _FELT_TURN * model.tolerance * sample.powder[2]
    for j in range(count):
        if not _NEAR_K < rate[j, 2] < nearest:
            continue
        side = pick[j, 1]
        fastest = 0.0
        for other in range(2):
            pick[j, 1] = other
            driven = REVERSE_CAP if other == 1 else 1.0
            fastest = max(fastest, driven * _speed(NOW, j, sample, model, tab))
        pick[j, 1] = side
        if h * rate[j, 3] * fastest > felt:
            nearest = rate[j, 2]
    return nearest


@inlined
def _difference(x: Floats, cation: Floats) -> float:
    """Return the largest difference between the two stages of a step, mol of cations."""
    error = 0.0
    for p in range(cation.shape[0]):
        error = max(error, abs(x[NEXT, p] - x[STAGE, p]) * cation[p, 0])
    return error


@inlined
def _slackening(h: float, listed: int, sample: Sample, tab: ReactionTables) -> float:
    """Return by how much a step would be wrong with its first rates, as the later ones tell, mol.

    Where a reactant is used up by either, the stages agree though layers that grow meanwhile leave
    some of it. What counts is the rate over what there is, which stays as it is while a reactant
    merely runs out.
    """
    x, pick, slot, chosen = sample.x, sample.pick, sample.slot, sample.chosen
    first, later, tiny = sample.demand[0], sample.demand[1], _TINY * sample.powder[2]
    size, error = 0, 0.0
    for p in range(slot.shape[0]):
        size += 1 if slot[p] != NONE else 0
        first[p] = later[p] = 0.0
    for j in range(listed):  # only those that it limits; others run out of something else before
        p = pick[j, 2]
        share = h * sample.used[pick[j, 0], pick[j, 1], p]
        first[p] += share * sample.flow[1, j]
        later[p] += share * sample.flow[0, j]
    for i in range(size):
        p = chosen[i]
        a, b = first[p] / (x[NOW, p] + tiny), later[p] / (x[STAGE, p] + tiny)
        wrong = x[NOW, p] * abs(b - a) / ((1.0 + a) * (1.0 + b))
        cations = tab.cation[p, 0] if p < tab.cation.shape[0] else sample.powder[2]
        error = max(error, cations * wrong)
    return 0.5 * error


@inlined
def _clear(ledger: Floats) -> None:
    """Empty the room for the step at hand."""
    if ledger.shape[0] > 0:
        for c in range(EXTENTS, ledger.shape[1]):
            ledger[ledger.shape[0] - 1, c] = 0.0


@inlined
def _note(count: int, sample: Sample) -> None:
    """Write into the ledger's last row by how much each reaction went forward in a step.

    The amounts after the step are those before and this, times the stoichiometry.
    """
    ledger, flow, pick, slot = sample.ledger, sample.flow, sample.pick, sample.slot
    last, size = ledger.shape[0] - 1, 0
    for p in range(slot.shape[0]):
        if slot[p] != NONE:
            size += 1
    for j in range(count):
        extent = flow[2, j] * sample.matrix[slot[pick[j, 2]], size]
        ledger[last, EXTENTS + pick[j, 0]] += extent if pick[j, 1] == 0 else -extent


@inlined
def _write(end_s: float, begin_k: float, end_k: float, ledger: Floats) -> None:
    """Keep the step in the ledger's last row, if there is room."""
    last = ledger.shape[0] - 1
    row = int(ledger[last, 0])
    if row < last:
        ledger[row, END_S], ledger[row, BEGIN_K], ledger[row, END_K] = end_s, begin_k, end_k
        for c in range(EXTENTS, ledger.shape[1]):
            ledger[row, c] = ledger[last, c]
        ledger[last, 0] += 1.0


@inlined
def _step(
    h: float, least: float, course: Course, sample: Sample, model: Model, tab: ReactionTables
) -> float:
    """Set row NEXT from row NOW; reactions that do less than `least`, mol, are left out.

    Returns:
        Its error as a share of the cations; below zero if the step had better end after so many K.
    """
    x, flow, cation, cations = sample.x, sample.flow, tab.cation, sample.powder[2]
    _clear(sample.ledger)
    present = _present(NOW, x, cation, cations)
    count = _add_new(0, 0, present, course, sample, tab)
    before = _flows(NOW, present, count, sample, model, tab)
    if course[0] == 1:  # also of those that stand still, because too little is there to go back
        turn_k = _nearest_turn(h, count, sample, model, tab)
        if turn_k < _SPLIT * abs(1.0 / (course[5] + course[6])):
            return -turn_k
    count = _drop_idle(least / h, count, sample)
    if count == 0:
        for c in range(x.shape[1]):
            x[NEXT, c] = x[NOW, c]
        return 0.0
    _advance((h, before), NOW, STAGE, count, sample, tab)
    listed, now = count, _present(STAGE, x, cation, cations)
    if now & ~present:  # what the first stage made may react in the second
        count = _add_new(count, present, now, course, sample, tab)
    gain = _flows(STAGE, now, count, sample, model, tab)
    error = _slackening(h, listed, sample, tab)
    whole = sample.powder[0] * sample.powder[1]  # reach beyond this is not felt, so no error
    felt = max(0.0, whole - x[NOW, _reach_column(sample)])
    regained = abs(min(h * gain, felt) - min(h * before, felt))
    error = max(error, 0.5 * regained * cations)
    for j in range(count):
        flow[0, j] = 0.5 * (flow[0, j] + flow[1, j])
    _advance((h, 0.5 * (before + gain)), STAGE, NEXT, count, sample, tab)
    if sample.ledger.shape[0] > 0:
        _note(count, sample)
    return float(max(error, _difference(x, cation)) / cations)


@inlined
def _grow(h: float, course: Course, x: Floats, growth: Floats, model: Model) -> None:
    """Let the crystallites grow for h seconds, and particles with them once they are as large."""
    t, k, m, a, b, c, d = course
    for p in range(growth.shape[2]):
        if x[NOW, p] <= 0.0:
            x[CUBE, p] = model.nucleus_m**3
            continue
        rate = a * growth[t, k, p] + b * growth[t, k + 1, p]
        rate += c * growth[t, m, p] + d * growth[t, m + 1, p]
        x[CUBE, p] += h * max(rate, 0.0)
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
    piece: tuple[float, float, float, float], wanted: float, sample: Sample, model: Model,
    tab: ReactionTables,
) -> tuple[float, float, int]:  # fmt: skip
    """Integrate one straight piece of a programme: first temperature, slope, length of time, begin.

    Returns:
        The peak liquid share, the step that would come next, and the number of steps.
    """
    begin_k, slope, span, begin_s = piece
    x = sample.x
    longest = span
    if slope != 0.0:
        longest = model.step_k * (1.0 if slope > 0.0 else _COOLING) / abs(slope)
    done, liquid, steps, most = 0.0, 0.0, 0, _LONGER
    while done < span and steps < _MAX_STEPS:
        h = min(wanted, longest, span - done)
        now_k = begin_k + slope * done
        course = _course(now_k, now_k + slope * h, tab.grid_min_k, sample.rates.shape[1])
        # What is idle in a short step may set off, in a long one, what makes that one too long.
        least = _IDLE * sample.powder[2] if most > 1.0 else 0.0
        error = _step(h, least, course, sample, model, tab)
        if error < 0.0:
            wanted, steps = -error / abs(slope), steps + 1
            continue
        tolerance = model.tolerance * max(1.0, steps / _PATIENCE)  # rather rough than never done
        scale = min(most, max(0.2, 0.9 * math.sqrt(tolerance / (error + 1e-12))))
        most = _LONGER if error <= 2.0 * tolerance else 1.0  # none after a step taken again
        wanted = h * scale if scale < 1.0 else max(wanted, h * scale)
        steps += 1
        if error <= 2.0 * tolerance:
            done += h
            if sample.ledger.shape[0] > 0:
                _write(begin_s + done, now_k, now_k + slope * h, sample.ledger)
            for c in range(x.shape[1]):
                x[NOW, c] = x[NEXT, c]
            _grow(h, course, x, sample.growth, model)
            hottest = now_k + max(slope, 0.0) * h
            liquid = max(liquid, _liquid(hottest, x, sample.powder[2], tab))
    return liquid, wanted, steps if done >= span else _MAX_STEPS + 1


@compiled
def _fill_mixed(sample: Sample) -> None:
    """Set the segregation that a mole of each reaction undoes, below zero where it makes some.

    What comes apart lies side by side, so that it comes into reach; the rest stays out of it.
    """
    change, used, end = sample.change, sample.used, _reach_column(sample)
    for r in range(change.shape[0]):
        made = 0.0
        for p in range(end):
            made += sample.x[UNMIXED, p] * change[r, 0, p]
        if (
            abs(made) * sample.powder[2] < _NO_MIXING
        ):  # rounding must not decide whether mixing limits it
            made = 0.0
        change[r, 0, end], change[r, 1, end] = made, -made
        used[r, 0, end], used[r, 1, end] = max(0.0, -made), max(0.0, made)


@compiled
def _fire(
    time_s: Floats, heat_k: Floats, sample: Sample, model: Model, tab: ReactionTables
) -> tuple[float, int]:
    """Integrate one sample.

    Returns:
        The peak liquid share, and the number of steps, below 0 if not finished.
    """
    _fill_mixed(sample)
    wanted, peak, total = _FIRST_STEP_S, 0.0, 0
    for s in range(time_s.shape[0] - 1):
        span = time_s[s + 1] - time_s[s]
        begin_k, end_k = heat_k[s], heat_k[s + 1]
        if span <= 0.0 or max(begin_k, end_k) < model.active_above_k:
            continue
        slope = (end_k - begin_k) / span
        cold = model.active_above_k - min(begin_k, end_k)
        begin_s = time_s[s]
        if cold > 0.0:  # leave out the part below the temperature where anything moves
            span -= cold / abs(slope)
            begin_k = max(begin_k, model.active_above_k)
            begin_s = time_s[s + 1] - span if slope > 0.0 else begin_s
        piece = (begin_k, slope, span, begin_s)
        liquid, wanted, steps = _line(piece, wanted, sample, model, tab)
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
            work.flow, work.pick, work.rate, work.change, work.used, work.demand,
            work.slot, work.chosen, work.pull, work.matrix, work.member, work.rates, work.growth,
            batch.ledger[i], work.nothing,
        )  # fmt: skip
        batch.liquid[i], batch.steps[i] = _fire(
            batch.time_s[i], batch.temperature_k[i], sample, model, tab
        )
