"""Durations are those of the programmes; costs grow with what is used."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.lab import timing
from labenv.lab.bench import firing_programs
from labenv.lab.shelf import load_shelf
from labenv.lab.timing import cold_again_s, heat_time, operation_cost, operation_time
from labenv_schemas import Heat, HeatSegment, parse_proposal
from labenv_schemas.proposal import ControlledCooling

HEAT = Heat(
    segments=(
        HeatSegment(target_k=1173.15, rate_k_per_s=0.1, hold_s=3600.0),
        HeatSegment(target_k=1373.15, rate_k_per_s=0.05, hold_s=0.0),
        HeatSegment(target_k=1073.15, rate_k_per_s=0.1, hold_s=60.0),
    )
)
QUENCH = HEAT.model_copy(update={"cooling": "quench"})


def cooled_at(k_per_min, heat=HEAT):
    return heat.model_copy(update={"cooling": ControlledCooling(rate_k_per_s=k_per_min / 60)})


SLOW, BRISK = cooled_at(0.5), cooled_at(8.0)


@pytest.mark.parametrize("heat", [HEAT, QUENCH, SLOW, BRISK])
def test_the_duration_is_that_of_the_programme(heat):
    program = firing_programs([heat])
    expected = program.duration_s[0] + timing.FURNACE_LOADING_S
    assert heat_time(heat).duration_s == pytest.approx(expected, rel=1e-12)
    assert program.temperature_k[0, 0] == program.temperature_k[0, -1] == 298.15
    assert program.peak_k[0] == heat.peak_k


def test_programmes_of_different_length_keep_their_rows():
    short = Heat(segments=(HeatSegment(target_k=500.0),))
    both = firing_programs([HEAT, short])
    alone = firing_programs([short])
    width = alone.time_s.shape[1]
    np.testing.assert_array_equal(both.time_s[1, :width], alone.time_s[0])
    assert (both.time_s[1, width:] == alone.time_s[0, -1]).all()


def test_a_broken_off_firing_cools_from_where_it_was():
    time = heat_time(HEAT)
    assert cold_again_s(HEAT, 0.0) == 0.0
    assert cold_again_s(HEAT, timing.FURNACE_LOADING_S) == 0.0
    at_first_hold = timing.FURNACE_LOADING_S + 875.0 / 0.1 + 1800.0
    assert cold_again_s(HEAT, at_first_hold) == pytest.approx(timing.natural_cooling_s(875.0))
    assert cold_again_s(HEAT, time.occupied_s - 100.0) == pytest.approx(100.0)
    assert cold_again_s(HEAT, time.occupied_s + 1.0) == 0.0
    # A slow cooling that is broken off goes on at the furnace's own rate.
    segments_s = heat_time(SLOW).occupied_s - 775.0 / (0.5 / 60)
    halfway_s = segments_s + 387.5 / (0.5 / 60)
    assert cold_again_s(SLOW, halfway_s) == pytest.approx(timing.natural_cooling_s(387.5))


def test_a_slow_cooling_falls_at_the_rate_asked_for():
    program = firing_programs([SLOW])
    fall_k, fall_s = np.diff(program.temperature_k[0, -5:]), np.diff(program.time_s[0, -5:])
    np.testing.assert_allclose(fall_k / fall_s, -0.5 / 60)
    extra_s = heat_time(SLOW).occupied_s - heat_time(HEAT).occupied_s
    expected_s = 775.0 / (0.5 / 60) - timing.natural_cooling_s(775.0)
    assert extra_s == pytest.approx(expected_s)


def test_a_brisk_cooling_is_limited_by_the_furnace_near_the_room():
    program, free = firing_programs([BRISK]), firing_programs([HEAT])
    rate = -np.diff(program.temperature_k[0, -5:]) / np.diff(program.time_s[0, -5:])
    own = -np.diff(free.temperature_k[0, -5:]) / np.diff(free.time_s[0, -5:])
    assert rate[0] == pytest.approx(8 / 60)
    assert own[0] > 8 / 60
    np.testing.assert_allclose(rate[1:], np.minimum(own[1:], 8 / 60))
    assert rate[-1] < 2 / 60
    assert heat_time(BRISK).duration_s > heat_time(HEAT).duration_s


def test_a_segment_cannot_fall_faster_than_the_furnace_does():
    down = HeatSegment(target_k=300.0, rate_k_per_s=10 / 60)
    heat = Heat(segments=(HeatSegment(target_k=1373.15), down))
    free = Heat(segments=heat.segments[:1])
    assert heat_time(heat).duration_s > 0.95 * heat_time(free).duration_s


def test_slow_cooling_costs_its_furnace_time():
    shelf = load_shelf()
    extra_h = (heat_time(SLOW).occupied_s - heat_time(HEAT).occupied_s) / 3600.0
    extra = operation_cost(SLOW, shelf) - operation_cost(HEAT, shelf)
    assert extra == pytest.approx(timing.FURNACE_COST_PER_HOUR * extra_h)


@pytest.mark.parametrize("rate", [1e-3, 0.1, 3.0, 9.9])
def test_no_fall_is_faster_than_asked_for_or_than_natural(rate):
    course = timing.controlled_fall(1200.0, 400.0, rate / 60)
    time_s, at_k = np.array([(0.0, 1200.0), *course]).T
    assert at_k[-1] == 400.0
    assert np.all(-np.diff(at_k) / np.diff(time_s) <= rate / 60 * (1 + 1e-12))
    assert time_s[-1] >= 0.3 * timing.natural_cooling_s(1200.0 - 298.15)


def test_a_quench_gives_the_sample_early_and_the_furnace_late():
    slow, fast = heat_time(HEAT), heat_time(QUENCH)
    assert fast.duration_s < slow.duration_s
    assert fast.occupied_s == pytest.approx(slow.occupied_s)


def test_formulas_take_arrays():
    number = np.array([1.0, 2.0])
    np.testing.assert_array_equal(
        timing.dose_time_s(number), [timing.dose_time_s(n) for n in number]
    )
    np.testing.assert_allclose(
        timing.natural_cooling_s(number), [timing.natural_cooling_s(n) for n in number]
    )


def test_costs_add_up_and_grow():
    shelf = load_shelf()
    plan = parse_proposal({
        "operations": [
            {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]},
            {"op": "mix", "method": "mortar", "duration": "1 h"},
            {"op": "press", "pressure": "100 MPa"},
            {"op": "regrind", "duration": "1 h"},
            {"op": "measure", "scan_time": "1 h"},
        ]
    })
    costs = [operation_cost(op, shelf) for op in plan.operations]
    assert costs == pytest.approx([1.0 + 0.12, 2.0, 1.5, 2.0, 12.0])
    argon = HEAT.model_copy(update={"atmosphere": "argon"})
    platinum = HEAT.model_copy(update={"crucible": "platinum"})
    assert operation_cost(argon, shelf) > operation_cost(HEAT, shelf)
    assert operation_cost(platinum, shelf) - operation_cost(HEAT, shelf) == pytest.approx(7.0)
    assert all(operation_time(op).duration_s > 0.0 for op in plan.operations)
