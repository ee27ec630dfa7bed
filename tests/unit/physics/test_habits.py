"""Plates and needles do not lie anyhow: which phases, along which plane, how strongly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from labenv.lab.bench import ScanGrid, load_bench
from labenv.lab.conditions import nominal_conditions
from labenv.lab.streams import stream
from labenv.physics.habits import CrystalHabit, read_habit
from labenv.physics.reactions import load_system, system_names
from labenv_schemas.errors import ConfigError
from labenv_schemas.proposal import Measure

BENCH = load_bench()


@pytest.mark.parametrize("name", system_names())
def test_every_habit_is_mild_and_says_where_it_comes_from(name):
    system = load_system(name)
    assert len(system.habits) == len(system.phases)
    for habit in system.habits:
        if habit is not None:
            assert 0.75 <= habit.march_r <= 1.25
            assert habit.source


def test_a_row_without_habit_lies_anyhow():
    assert read_habit({"name": "X"}) is None
    row = {"name": "X", "preferred": {"plane": [0, 0, 1], "march_r": 0.9, "source": "s"}}
    assert read_habit(row) == CrystalHabit((0, 0, 1), 0.9, "s")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"plane": [0, 1]}, "three indices"),
        ({"plane": [0, 0, 0]}, "three indices"),
        ({"march_r": 0.3}, "between 0.75 and 1.25"),
        ({"march_r": float("nan")}, "between 0.75 and 1.25"),
    ],
)
def test_a_senseless_habit_is_refused(change, said):
    preferred = {"plane": [0, 0, 1], "march_r": 0.9, "source": "s", **change}
    with pytest.raises(ConfigError, match=said):
        read_habit({"name": "X", "preferred": preferred})


def line_ratios(substance, numerator_deg, denominator_deg):
    """Return the ratio of two lines in 12 mounts of a pure powder, counted for long."""
    conditions = nominal_conditions(BENCH.system, BENCH.shelf)
    conditions = replace(conditions, displacement_sd_m=np.zeros(1))  # lines stay where they are
    requested = np.zeros((1, len(BENCH.shelf.substances)))
    requested[0, BENCH.shelf.index(substance)] = 1e-3
    samples = BENCH.dose(requested, conditions, [stream(0, "dose")]).samples
    scan = Measure(two_theta_min_deg=15.0, two_theta_max_deg=35.0, scan_time_s=80_000.0)
    angle = 15.0 + 0.03 * np.arange(667)

    def area(counts, line_deg):
        inside, beside = np.abs(angle - line_deg) < 0.35, np.abs(angle - line_deg - 1.2) < 0.2
        return (counts[inside] - counts[beside].mean()).sum()

    ratios = []
    for mount in range(12):
        counts = BENCH.scan(samples, [scan], conditions, [stream(mount, "powder_diffractometer")])
        ratios.append(area(counts[0], numerator_deg) / area(counts[0], denominator_deg))
    return np.array(ratios)


def test_cleavage_planes_of_witherite_lie_flat_from_mount_to_mount_more_or_less():
    # 020 at 19.92 degrees against 111 and 021 near 23.9 degrees
    ratios = line_ratios("BaCO3", 19.92, 23.9)
    assert np.ptp(ratios) > 0.1 * ratios.mean()
    assert ratios.max() < 2.0 * ratios.min()


def test_grains_without_habit_give_one_pattern():
    # 101 at 25.3 degrees of the anatase in P25 against 110 of its rutile at 27.45 degrees
    ratios = line_ratios("P25", 25.3, 27.45)
    assert np.ptp(ratios) < 0.02 * ratios.mean()


def test_a_basis_leaves_other_phases_alone():
    basis = BENCH.pattern_basis(ScanGrid(15.0, 0.03, 667))
    assert set(basis.preferred_planes) == {
        structure
        for structure, habit in zip(BENCH.system.structures, BENCH.system.habits, strict=True)
        if habit is not None
    }
    assert {"witherite", "BaTi2O5", "BaTi4O9"} <= set(basis.preferred_planes)
    assert "BaTiO3-tetragonal" not in basis.preferred_planes
