"""The compiled integrator behind `labenv.physics.kinetics`; call that module, not this one.

One sample at a time, so that a sample's numbers do not depend on its neighbours in the batch. A step
passes over the reactions twice with half the step each, forwards and then backwards through the
list (Strang 1968), and every reaction turns over ``avail (1 - exp(-v h / avail))``, which no step
size can drive below zero. Steps are as long as two limits allow: a change of temperature and a
share of the cations converted; a step that overshoots the second is taken again, shorter.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from labenv.physics.reactions import GRID_STEP_K

_STEP_K = GRID_STEP_K
_REVERSE_CAP = 50.0  # keeps a strongly driven back reaction within what surfaces can supply
_MAX_STEPS = 200_000


@njit(cache=True, nogil=True)
def segregation(n, cation_count, cation_share):
    """Return how unmixed the cations are, 0 (one composition) to 1 (pure precursors)."""
    phases, kinds = cation_share.shape
    total = 0.0
    for p in range(phases):
        total += n[p] * cation_count[p]
    if total <= 0.0:
        return 0.0
    spread = 0.0
    widest = 0.0
    for c in range(kinds):
        mean = 0.0
        for p in range(phases):
            mean += n[p] * cation_count[p] * cation_share[p, c]
        mean /= total
        for p in range(phases):
            spread += n[p] * cation_count[p] * abs(cation_share[p, c] - mean)
        widest += 2.0 * mean * (1.0 - mean)
    return spread / (total * widest) if widest > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _access(n, contact, fresh, unmixed_rate, cation_count, cation_share):
    """Return the share of the full rate left once mixing has been used up."""
    if fresh <= 0.0:
        return 1.0
    used = (1.0 - segregation(n, cation_count, cation_share) / fresh) / max(contact, 1e-9)
    if used <= 0.0:
        return 1.0
    return unmixed_rate + (1.0 - unmixed_rate) * max(0.0, 1.0 - used**4)


@njit(cache=True, nogil=True)
def _sweep(
    h, backwards, temperature, n, gas, ref, radius, powder, gas_factor, multiplier, model, tab
):
    """Let every reaction act for h seconds; return the largest flux in cations a second."""
    grid_min, rate, inverse_k, stoichiometry, gas_stoichiometry, law, core, contact_flag = tab[:8]
    cation_count, cation_share = tab[8], tab[9]
    contact, packing, fresh, cations = powder[0], powder[1], powder[2], powder[3]
    interface, scarce, unmixed_rate = model[0], model[1], model[2]
    reactions, phases = stoichiometry.shape
    position = (temperature - grid_min) / _STEP_K
    k = min(max(int(position), 0), rate.shape[0] - 2)
    w = position - k
    near = contact * packing * _access(n, contact, fresh, unmixed_rate, cation_count, cation_share)
    root = np.empty(phases)
    for p in range(phases):
        ref[p] = max(ref[p], n[p])
        root[p] = np.cbrt(n[p] / ref[p]) if n[p] > 0.0 else 0.0
    fastest = 0.0
    for step in range(reactions):
        r = reactions - 1 - step if backwards else step
        quotient = gas_factor[r, 0] * ((1.0 - w) * inverse_k[k, r] + w * inverse_k[k + 1, r])
        side = 0 if quotient < 1.0 else 1
        sign = -1.0 if side == 0 else 1.0
        middle = core[r, side]
        if n[middle] <= 0.0:
            continue
        available = math.inf
        square = 0.0
        partner = 1.0
        for p in range(phases):
            used = sign * stoichiometry[r, p]
            if used > 0.0:
                available = min(available, n[p] / used)
                square += radius[p] * radius[p]
                if p != middle:
                    partner *= n[p] / (n[p] + scarce * cations)
        if available <= 0.0:
            continue
        drive = 1.0 - quotient if side == 0 else min(quotient - 1.0, _REVERSE_CAP)
        u = root[middle]
        v = multiplier[r] * ((1.0 - w) * rate[k, r] + w * rate[k + 1, r]) * drive
        v *= partner * gas_factor[r, 1] * ref[middle] / abs(stoichiometry[r, middle])
        if law[r] == 0:
            length = math.sqrt(square)
            v *= 3.0 * u * u / (square * (interface / length + u - u * u))
        elif law[r] == 1:
            v *= 3.0 * u * u / math.sqrt(square)
        else:
            v *= u * u * u
        if contact_flag[r] == 1:
            v *= near
        moved = abs(stoichiometry[r, middle]) * cation_count[middle]
        if available * moved > model[3] * cations:  # else no step can turn over too much
            fastest = max(fastest, v * moved)
        if h > 0.0:
            extent = sign * available * math.expm1(-v * h / available)
            for p in range(phases):
                if stoichiometry[r, p] != 0.0:
                    n[p] = max(0.0, n[p] + stoichiometry[r, p] * extent)
            for g in range(gas.shape[0]):
                gas[g] += gas_stoichiometry[r, g] * extent
    return fastest


@njit(cache=True, nogil=True)
def _grow(h, temperature, n, cube, radius, nucleus, grid_min, growth):
    """Let the crystallites grow for h seconds, and particles with them once they are as large."""
    position = (temperature - grid_min) / _STEP_K
    k = min(max(int(position), 0), growth.shape[0] - 2)
    w = position - k
    for p in range(n.shape[0]):
        if n[p] <= 0.0:
            cube[p] = nucleus * nucleus * nucleus
            continue
        cube[p] += h * ((1.0 - w) * growth[k, p] + w * growth[k + 1, p])
        if cube[p] > 8.0 * radius[p] ** 3:
            radius[p] = 0.5 * np.cbrt(cube[p])


@njit(cache=True, nogil=True)
def _liquid(temperature, n, cations, cation_count, melting_k, melting_phase):
    """Return the share of the cations in a liquid, by the scarcest phase of each melting set."""
    share = 0.0
    for m in range(melting_k.shape[0]):
        if temperature <= melting_k[m]:
            continue
        scarcest = math.inf
        members = 0
        for p in range(n.shape[0]):
            if melting_phase[m, p] > 0.0:
                members += 1
                scarcest = min(scarcest, n[p] * cation_count[p])
        if members > 0:
            share = max(share, members * scarcest / cations)
    return min(1.0, share)


@njit(cache=True, nogil=True)
def fire(
    time, temperature, n, gas, ref, radius, cube, powder, gas_factor, multiplier, model, tab, melt
):
    """Integrate one sample in place; return (peak liquid share, steps), steps < 0 if too many."""
    share_limit, step_limit_k, active_k, nucleus = model[3], model[4], model[5], model[6]
    cations = powder[3]
    growth, melting_k, melting_phase = melt
    lowest_melting = np.min(melting_k) if melting_k.shape[0] > 0 else math.inf
    n_kept = np.empty_like(n)
    gas_kept = np.empty_like(gas)
    ref_kept = np.empty_like(ref)
    peak_liquid = 0.0
    steps = 0
    for s in range(time.shape[0] - 1):
        span = time[s + 1] - time[s]
        if span <= 0.0 or max(temperature[s], temperature[s + 1]) < active_k:
            continue
        slope = (temperature[s + 1] - temperature[s]) / span
        done = 0.0
        if slope > 0.0 and temperature[s] < active_k:
            done = (active_k - temperature[s]) / slope
        end = span
        if slope < 0.0 and temperature[s + 1] < active_k:
            end = (active_k - temperature[s]) / slope
        flux = _sweep(
            0.0, False, temperature[s] + slope * done, n, gas, ref, radius, powder, gas_factor,
            multiplier, model, tab,
        )  # fmt: skip
        longest = step_limit_k / abs(slope) if slope != 0.0 else math.inf
        shrink = 1.0
        while done < end:
            h = min(end - done, longest)
            if flux > 0.0:
                h = min(h, share_limit * cations / flux)
            h *= shrink
            middle_k = temperature[s] + slope * (done + 0.5 * h)
            n_kept[:], gas_kept[:], ref_kept[:] = n, gas, ref
            first = _sweep(
                0.5 * h, False, middle_k, n, gas, ref, radius, powder, gas_factor, multiplier,
                model, tab,
            )  # fmt: skip
            second = _sweep(
                0.5 * h, True, middle_k, n, gas, ref, radius, powder, gas_factor, multiplier,
                model, tab,
            )  # fmt: skip
            steps += 1
            if steps > _MAX_STEPS:
                return peak_liquid, -steps
            if 0.5 * h * (first + second) > 2.0 * share_limit * cations and shrink > 1e-3:
                n[:], gas[:], ref[:] = n_kept, gas_kept, ref_kept
                flux = max(flux, first)
                shrink *= 0.5
                continue
            shrink = 1.0
            flux = second
            done += h
            _grow(h, middle_k, n, cube, radius, nucleus, tab[0], growth)
            hottest = temperature[s] + slope * (done if slope > 0.0 else done - h)
            if hottest > lowest_melting:
                now = _liquid(hottest, n, cations, tab[8], melting_k, melting_phase)
                peak_liquid = max(peak_liquid, now)
    return peak_liquid, steps


@njit(cache=True, nogil=True)
def fire_rows(
    first, last, time, temperature, n, gas, ref, radius, cube, powder, gas_factor, multiplier,
    model, tab, melt, liquid, steps,
):  # fmt: skip
    """Integrate the rows from `first` up to `last` in place."""
    for i in range(first, last):
        liquid[i], steps[i] = fire(
            time[i], temperature[i], n[i], gas[i], ref[i], radius[i], cube[i], powder[i],
            gas_factor[i], multiplier[i], model, tab, melt,
        )  # fmt: skip
