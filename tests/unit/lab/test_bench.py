"""The bench treats every row alone, conserves matter and returns finite numbers."""

from __future__ import annotations

import pickle
from dataclasses import fields

import numpy as np
import pytest

from labenv.lab.bench import BenchSamples, ScanGrid, load_bench, scan_grid
from labenv.lab.conditions import draw_conditions, nominal_conditions
from labenv.lab.streams import stream
from labenv.physics.kinetics import PowderState
from labenv_schemas import Heat, HeatSegment
from labenv_schemas.errors import SimulatorError
from labenv_schemas.proposal import ControlledCooling, Measure

BENCH = load_bench()
SCAN = Measure(two_theta_min_deg=20.0, two_theta_max_deg=40.0)


def course(seeds, rows, conditions):
    """Put some rows of one plan each through everything; return samples, readings and counts."""
    rng = np.random.default_rng(0)
    requested = np.zeros((8, 5))
    requested[:, 0] = rng.uniform(1.5e-3, 2.5e-3, 8)
    requested[np.arange(8), rng.integers(2, 5, 8)] = 0.8e-3
    minutes = rng.uniform(1.0, 100.0, 8) * 60.0
    heats = [
        Heat(
            segments=tuple(
                HeatSegment(target_k=t, hold_s=3600.0) for t in rng.uniform(900, 1500, 1 + k % 3)
            ),
            atmosphere=("air", "carbon_dioxide")[k % 2],
            cooling=("furnace", "quench", ControlledCooling(rate_k_per_s=0.02))[k % 3],
        )
        for k in range(8)
    ]

    def streams(name, operation):
        return [stream(seeds[r], name, 0, operation) for r in rows]

    dosing = BENCH.dose(requested[rows], conditions, streams("dosing_balance", 0))
    samples = BENCH.mix(dosing.samples, "ball_mill", minutes[rows])
    samples = BENCH.press(samples, minutes[rows] * 1e4)
    firing = BENCH.fire(samples, [heats[r] for r in rows], conditions, streams("tube_furnace", 3))
    samples = BENCH.regrind(firing.samples, minutes[rows])
    samples = BENCH.mix(samples, "mortar", minutes[rows])
    counts = BENCH.scan(
        samples, [SCAN] * len(rows), conditions, streams("powder_diffractometer", 6)
    )
    return dosing, firing, samples, counts


def test_a_rows_bits_do_not_depend_on_the_batch():
    seeds = list(range(8))
    conditions = draw_conditions(BENCH.system, BENCH.shelf, seeds)
    whole = course(seeds, list(range(8)), conditions)
    for rows in ([3], [5, 1], [7, 6, 2, 0]):
        part = course(seeds, rows, conditions.rows(np.array(rows)))
        np.testing.assert_array_equal(part[0].readings_kg, whole[0].readings_kg[rows])
        np.testing.assert_array_equal(part[1].peak_reading_k, whole[1].peak_reading_k[rows])
        for field in fields(PowderState):
            np.testing.assert_array_equal(
                getattr(part[2].powder, field.name), getattr(whole[2].powder, field.name)[rows]
            )
        np.testing.assert_array_equal(part[2].inert_kg, whole[2].inert_kg[rows])
        np.testing.assert_array_equal(part[3], whole[3][rows])


def test_mass_is_conserved_but_for_the_gas():
    seeds = list(range(8))
    conditions = draw_conditions(BENCH.system, BENCH.shelf, seeds)
    dosing, firing, samples, _ = course(seeds, seeds, conditions)
    before = BENCH.mass_kg(dosing.samples)
    gas = firing.samples.powder.gas_released_mol @ BENCH.system.gas_molar_mass_kg_mol
    np.testing.assert_allclose(BENCH.mass_kg(samples) + gas, before, rtol=1e-9)
    np.testing.assert_allclose(dosing.readings_kg.sum(axis=1), before, atol=2e-7)
    np.testing.assert_allclose(BENCH.mass_fractions(samples).sum(axis=1), 1.0, rtol=1e-12)


def test_impurity_is_weighed_but_does_not_react():
    conditions = nominal_conditions(BENCH.system, BENCH.shelf)
    requested = np.zeros((1, 5))
    requested[0, BENCH.shelf.index("BaO")] = 1e-3
    dosing = BENCH.dose(requested, conditions, [stream(0, "dosing_balance", 0, 0)])
    fractions = BENCH.mass_fractions(dosing.samples)[0]
    assert fractions[-1] == pytest.approx(0.03, abs=1e-9)
    assert fractions[BENCH.system.phase_index("BaO")] == pytest.approx(0.97, abs=1e-9)


def test_a_mixture_of_polymorphs_is_dosed_as_such():
    conditions = nominal_conditions(BENCH.system, BENCH.shelf)
    requested = np.zeros((1, 5))
    requested[0, BENCH.shelf.index("P25")] = 1e-3
    dosing = BENCH.dose(requested, conditions, [stream(0, "dosing_balance", 0, 0)])
    fractions = BENCH.mass_fractions(dosing.samples)[0]
    anatase, rutile = (fractions[BENCH.system.phase_index(n)] for n in ("anatase", "rutile"))
    assert anatase / (anatase + rutile) == pytest.approx(0.85, abs=1e-9)


def test_a_short_regrind_does_less_than_a_long_one():
    conditions = nominal_conditions(BENCH.system, BENCH.shelf)
    requested = np.zeros((1, 5))
    requested[0, :3:2] = 1e-3
    poured = BENCH.dose(requested, conditions, [stream(0, "dosing_balance", 0, 0)]).samples
    contact = [BENCH.regrind(poured, np.array([t])).powder.contact[0] for t in (1e-9, 60.0, 900.0)]
    assert contact[0] == pytest.approx(poured.powder.contact[0])
    assert contact[0] < contact[1] < contact[2]


def test_the_furnace_is_as_wrong_as_the_episode_says():
    conditions = nominal_conditions(BENCH.system, BENCH.shelf, 2)
    offset = conditions.furnace_offset_k.copy()
    offset[1] = 30.0
    requested = np.zeros((2, 5))
    requested[:, 0], requested[:, 2] = 1.97e-3, 0.8e-3
    hot = type(conditions)(**{**conditions.__dict__, "furnace_offset_k": offset})
    samples = BENCH.dose(requested, hot, [stream(0, "d"), stream(0, "d")]).samples
    samples = BENCH.mix(samples, "ball_mill", np.full(2, 7200.0))
    heat = Heat(segments=(HeatSegment(target_k=1173.15, hold_s=3600.0),))
    fired = BENCH.fire(samples, [heat] * 2, hot, [stream(0, "t"), stream(0, "t")])
    assert fired.peak_reading_k[0] == fired.peak_reading_k[1]
    left = fired.samples.powder.amounts_mol[:, BENCH.system.phase_index("BaCO3")]
    assert left[1] < left[0]


def test_grids_are_what_was_asked_for():
    assert scan_grid(Measure()) == ScanGrid(10.0, 0.03, 2001)
    assert scan_grid(SCAN) == ScanGrid(20.0, 0.03, 667)
    samples = course([0], [0], nominal_conditions(BENCH.system, BENCH.shelf))[2]
    both = BenchSamples(samples.powder.rows(np.array([0, 0])), samples.inert_kg[[0, 0]])
    with pytest.raises(SimulatorError, match="same angles"):
        BENCH.scan(both, [SCAN, Measure()], None, [])


def test_a_bench_pickles_as_its_name():
    bench = load_bench(BENCH.system.name)
    assert pickle.loads(pickle.dumps(bench)) is bench
    assert len(pickle.dumps(bench)) < 200


def test_the_names_of_the_cations():
    assert BENCH.cation_names == ("Ba", "Ti")
    barium = BENCH.cations_mol_per_kg[BENCH.shelf.index("BaCO3")]
    np.testing.assert_allclose(barium, [1.0 / 0.197335, 0.0], rtol=1e-4)


def test_a_phase_without_a_known_structure_scatters_like_glass():
    names = [BENCH.system.phase_names[p] for p in BENCH.diffracting]
    assert {"BaCO3", "BaO", "rutile", "anatase", "BaTiO3", "Ba2TiO4"} <= set(names)
    hidden = type(BENCH)(BENCH.system, BENCH.shelf)
    hidden.__dict__["diffracting"] = (BENCH.system.phase_index("rutile"),)
    conditions = nominal_conditions(BENCH.system, BENCH.shelf)
    requested = np.zeros((1, 5))
    requested[:, 0], requested[:, 2] = 1.0e-3, 1.0e-3
    samples = BENCH.dose(requested, conditions, [stream(0, "d")]).samples
    whole = BENCH.scan(samples, [SCAN], conditions, [stream(0, "x")])[0]
    part = hidden.scan(samples, [SCAN], conditions, [stream(0, "x")])[0]
    angles = 20.0 + 0.03 * np.arange(whole.size)
    witherite, rutile = np.abs(angles - 23.9) < 0.3, np.abs(angles - 27.45) < 0.1
    assert part[witherite].max() < 0.15 * whole[witherite].max()  # a hump, no line
    assert part[rutile].max() > 0.5 * whole[rutile].max()
