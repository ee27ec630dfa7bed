"""Shares of the whole powder, so that what has no structure is not taken for nothing."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.envs.synthesis import SolidStateSynthesisEnv
from labenv.lab import Lab
from labenv.lab.bench import Bench, load_bench, scan_grid
from labenv.lab.conditions import nominal_conditions
from labenv.lab.streams import stream
from labenv.physics.structures.library import phase_library
from labenv.tasks import Session, make_task
from labenv.tasks.reading import SCALE_SIGMA, PatternReader, unseen_share
from labenv_schemas.proposal import Measure

BENCH = load_bench("Ba-Ti-C-O")
CONDITIONS = nominal_conditions(BENCH.system, BENCH.shelf, 1)
RUTILE = "rutile"
PHASES = tuple(name for name in BENCH.system.structures if name in phase_library())


def counts_of(share: float, hidden: bool = True, seed: int = 0):
    """Scan rutile with a share of witherite whose structure may be taken away."""
    bench = Bench(BENCH.system, BENCH.shelf)
    if hidden:
        known = [p for p in BENCH.diffracting if BENCH.system.structures[p] != "witherite"]
        bench.__dict__["diffracting"] = tuple(known)
    requested = np.zeros((1, len(BENCH.shelf.substances)))
    requested[0, BENCH.shelf.index("BaCO3")] = share * 1e-3
    requested[0, BENCH.shelf.index("TiO2 (rutile)")] = (1.0 - share) * 1e-3
    samples = bench.dose(requested, CONDITIONS, [stream(seed, "d")]).samples
    scan = Measure(scan_time_s=1200.0)
    counts = bench.scan(samples, [scan], CONDITIONS, [stream(seed, "x")])
    truth = bench.mass_fractions(samples)[0, list(BENCH.system.structures).index(RUTILE)]
    return counts, scan_grid(scan), float(truth)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.9])
def test_what_has_no_structure_counts_against_the_rest(share: float) -> None:
    reader = PatternReader(tuple(name for name in PHASES if name != "witherite"))
    counts, grid, truth = counts_of(share)
    exposure_s = np.array([1200.0 / grid.points])
    column = reader.phases.index(RUTILE)
    blind = reader.read_batch(counts, grid)
    seen = reader.read_batch(counts, grid, exposure_s)
    assert blind.fractions[0, column] > 0.97  # of the crystalline part, as it must be
    assert seen.fractions[0, column] == pytest.approx(truth, abs=2.0 * SCALE_SIGMA)
    assert seen.unseen[0] + seen.fractions[0].sum() == pytest.approx(1.0)
    assert seen.uncertainties[0, column] > blind.uncertainties[0, column] * (1.0 - share)


def test_it_scatters_without_lines() -> None:
    counts, _, _ = counts_of(0.6)
    with_lines, _, _ = counts_of(0.6, hidden=False)
    pure, _, _ = counts_of(0.0)
    quiet = slice(150, 250)  # 19.5 to 22.5 degrees: no line
    assert np.median(counts[0, quiet]) > 1.3 * np.median(pure[0, quiet])
    assert np.median(counts[0, quiet]) > 1.3 * np.median(with_lines[0, quiet])


def test_a_share_within_the_scales_error_is_not_shown() -> None:
    lines = np.array([1.2, 1.0, 0.985, 0.962, 0.9, 0.5, 0.0])
    share, sigma = unseen_share(lines)
    assert (share[:4] == 0.0).all()
    assert (sigma[:4] == 0.0).all()
    np.testing.assert_allclose(share[4:], 1.0 - lines[4:], atol=0.014)
    assert (np.diff(share) >= 0.0).all()
    assert (share <= 1.0).all()


def test_a_lab_without_a_standard_says_of_what_the_fractions_are() -> None:
    task = make_task("batio3-synthesis")
    lab = Lab(task.lab, seed=3)
    session = Session(task, lab)
    space = task.space
    values = space.values_from_unit(np.random.default_rng(4).random((1, space.n)))[0]
    session.submit(space.decode(values))
    (result,) = session.collect("all")
    (analysis,) = result.outcome.analyses
    assert "of the whole powder" in analysis.method
    plain = task.quantifier().quantify(result.outcome.measurements[-1])
    assert "of the crystalline part" in plain.method
    assert lab.standard_brightness != Lab(task.lab, seed=4).standard_brightness


@pytest.mark.parametrize("target", ["NaNbO3", "LiNbO3", "PbTiO3"])
def test_a_reward_is_never_far_above_the_truth(target: str) -> None:
    """Found by an adversary: 0.99 for a sample of which 0.44 was NaNbO3."""
    from labenv.lab.audit import true_mass_fractions

    env = SolidStateSynthesisEnv(
        make_task("synthesis", target=target), stop_on_success=False, machine_failure="continue"
    )
    env.action_space.seed(1)
    for seed in range(2):
        env.reset(seed=seed)
        for _ in range(20):
            *_, info = env.step(env.action_space.sample())
            lab = env.session.lab
            truth = true_mass_fractions(lab, list(lab._experiments)[-1])
            made = sum(truth.get(name, 0.0) for name in env.task.spec.target_phases)
            assert info["score"] <= made + 3.0 * SCALE_SIGMA
