"""Episode conditions are drawn row by row from the episode's seed."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from labenv.lab.bench import load_bench
from labenv.lab.conditions import EpisodeConditions, draw_conditions, nominal_conditions

BENCH = load_bench()


def draw(seeds, **options):
    return draw_conditions(BENCH.system, BENCH.shelf, seeds, **options)


def test_a_row_depends_on_its_seed_alone():
    batch = draw(range(20))
    for field in fields(EpisodeConditions):
        values = getattr(batch, field.name)
        assert np.isfinite(values).all()
        for seed in (0, 7, 19):
            np.testing.assert_array_equal(getattr(draw([seed]), field.name)[0], values[seed])


def test_episodes_differ_and_scatter_about_the_nominal():
    batch, nominal = draw(range(2000)), nominal_conditions(BENCH.system, BENCH.shelf)
    assert np.unique(batch.furnace_offset_k).size > 1900
    np.testing.assert_allclose(np.exp(np.log(batch.kinetic_factor).mean(axis=0)), 1.0, atol=0.08)
    np.testing.assert_allclose(batch.purity.mean(axis=0), nominal.purity[0], atol=2e-3)
    assert (batch.purity <= 1.0).all()
    radius = np.exp(np.log(batch.particle_radius_m).mean(axis=0))
    np.testing.assert_allclose(radius, nominal.particle_radius_m[0], rtol=0.05)
    assert 3.0 < batch.furnace_offset_k.std() < 7.0
    assert 0.005 < batch.zero_shift_deg.std() < 0.02


def test_without_randomisation_every_seed_is_nominal():
    batch = draw([1, 2], randomise=False)
    nominal = nominal_conditions(BENCH.system, BENCH.shelf, 2)
    for field in fields(EpisodeConditions):
        np.testing.assert_array_equal(getattr(batch, field.name), getattr(nominal, field.name))


def test_rows_can_be_selected_and_repeated():
    batch = draw([4, 5, 6])
    some = batch.rows(np.array([2, 0, 0]))
    assert len(some) == 3
    np.testing.assert_array_equal(some.purity, batch.purity[[2, 0, 0]])
