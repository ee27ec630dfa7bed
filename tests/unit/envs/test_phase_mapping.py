"""PhaseMapping-v0: the contract, and what its rewards and its door to the truth are for."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import labenv  # noqa: F401 - registers
from labenv.envs import phase_mapping_audit as audit
from labenv.envs.phase_mapping import PhaseMappingEnv
from labenv.tasks.phase_mapping import Point, equilibrium_map, lab_time_s, mapped_system
from labenv.tasks.phase_mapping.atlas import MapGrid, agreement, drawn_map
from labenv.tasks.phase_mapping.measuring import DOMINANT, dominant, draw_laboratory, measure
from labenv.tasks.phase_mapping.plans import boundary_cell, space_filling_cells
from labenv.testing.env import EnvContract
from labenv_schemas.errors import ConfigError, ProposalError

NAME = "labenv/PhaseMapping-v0"
HOUR_S = 3600.0
SMALL = {"systems": ("ZnO-SiO2", "Y2O3-Fe2O3"), "compositions": 7, "temperatures": 4}


def make(**settings):
    return gym.make(NAME, **{**SMALL, **settings}).unwrapped


class TestContract(EnvContract):
    @pytest.fixture
    def make_env(self):
        return make


def play_actions(env, actions):
    given = []
    for action in actions:
        given.append(env.step(action))
        if given[-1][2] or given[-1][3]:
            break
    return given


@pytest.mark.parametrize(
    "settings",
    [
        {"systems": ()},
        {"systems": "ZnO"},
        {"systems": "ZnO-ZnO"},
        {"systems": "ZnO-Unobtainium"},
        {"compositions": 1},
        {"points": 0},
        {"holds_h": ()},
        {"holds_h": (4.0, 1.0)},
        {"budget_h": float("nan")},
        {"budget": {"experiments": 5}},
        {"budget": {"lab_time": 300}},
        {"budget": {"lab_time": "5 min"}},
        {"cost_weight": 2.0},
        {"goal": 0.0},
        {"truth": "guess"},
        {"temperatures_k": (1200.0, 900.0)},
        {"nonsense": 1},
        {"render_mode": "neon"},
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode:UserWarning")
def test_bad_settings_are_told(settings):
    with pytest.raises(ConfigError):
        PhaseMappingEnv(**{**SMALL, **settings})


def test_rewards_sum_to_the_score_and_the_score_is_agreement_less_cost():
    env = make(goal=None)
    env.reset(seed=3)
    env.action_space.seed(0)
    steps = play_actions(env, [env.action_space.sample() for _ in range(200)])
    quality, info = audit.map_quality(env), steps[-1][4]
    total = sum(step[1] for step in steps)
    assert total == pytest.approx(info["episode_score"])
    share = info["lab_time_h"] / 300.0
    assert total == pytest.approx(quality["agreement"] - 0.3 * share)
    assert info["episode_end"] == "budget"


def test_oracle_beats_chance():
    env = make(systems="Y2O3-Fe2O3")
    env.reset(seed=1)
    oracle = sum(step[1] for step in play_actions(env, audit.oracle_actions(env)))
    env.reset(seed=1)
    env.action_space.seed(1)
    floor = sum(s[1] for s in play_actions(env, [env.action_space.sample() for _ in range(200)]))
    assert oracle > floor + 0.05


def test_scans_read_what_is_there_within_their_errors():
    mapped = mapped_system("ZnO-SiO2")
    conditions = draw_laboratory(mapped, 5)
    x = np.linspace(0.0, 1.0, 9)
    points = [Point(float(v), 1500.0, 16.0 * HOUR_S) for v in x]
    rngs = [np.random.default_rng(i) for i in range(len(x))]
    readings = measure(mapped, conditions, points, 480.0, rngs)
    fired = mapped.fire(x, np.full(9, 1500.0), np.full(9, 16.0 * HOUR_S), conditions.factors)
    true = mapped.label_shares(mapped.system.mass_fractions(fired.powder.amounts_mol))
    measured = np.array([reading.shares for reading in readings])
    assert np.abs(measured - true).max() < 0.15
    assert np.abs(measured - true).mean() < 0.04


def test_a_phase_without_structure_is_told_as_unseen():
    mapped = mapped_system("CaCO3-SiO2")
    assert "Ca3Si2O7" in mapped.system.phase_names
    conditions = draw_laboratory(mapped, 0, randomise=False)
    point = Point(0.4, 1670.0, 100.0 * HOUR_S)
    reading = measure(mapped, conditions, [point], 480.0, [np.random.default_rng(0)])[0]
    fired = mapped.fire(*(np.array([v]) for v in (0.4, 1670.0, 100.0 * HOUR_S)))
    true = mapped.label_shares(mapped.system.mass_fractions(fired.powder.amounts_mol))[0, -2]
    assert true > 0.4
    assert reading.label[-2]
    assert "unseen" in reading.note
    assert reading.shares[-2] == pytest.approx(true, abs=0.1)


def test_a_melted_charge_is_an_outcome_and_a_label():
    env = make(systems="Bi2O3-MoO3", goal=None)
    env.reset(seed=0)
    info = env.propose([(0.5, env.settings.grid(env.system).range_k[1], 4.0 * HOUR_S)])[4]
    assert (info["status"], info["labels"]) == ("liquid", ("liquid",))


@pytest.mark.parametrize(
    "point",
    [
        (1.5, 1200.0, 3600.0),
        (0.5, 5000.0, 3600.0),
        (0.5, 1200.0, 1e9),
        (float("nan"), 1200.0, 60.0),
    ],
)
def test_what_cannot_be_done_is_invalid_and_costs_a_little(point):
    env = make()
    env.reset(seed=0)
    _, reward, _, _, info = env.propose([point])
    assert info["status"] == "invalid"
    assert info["message"]
    assert reward == pytest.approx(-0.3 * 0.02)


@pytest.mark.parametrize(
    "points",
    [
        3,
        [(1.0,)],
        [("a", 1.0, 2.0)],
        None,
        [(0.5, 10**400, 60.0)],
        [("0.5", 1e3, 60.0)],
        [(True, 1e3, 60.0)],
    ],
)
def test_what_is_no_point_is_refused_and_costs_nothing(points):
    env = make()
    env.reset(seed=0)
    with pytest.raises(ProposalError):
        env.propose(points)
    assert env.readings == ()


def test_stopping_ends_an_episode_and_costs_nothing():
    env = make(can_stop=True)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(np.array([0, 0, 3]))
    assert (reward, terminated, truncated, info["episode_end"]) == (0.0, True, False, "stopped")
    with pytest.raises(ResetNeeded):
        env.step(np.array([0, 0, 0]))


def test_points_of_one_temperature_and_hold_share_a_firing():
    one, other = Point(0.1, 1200.0, 3600.0), Point(0.9, 1200.0, 3600.0)
    apart = Point(0.9, 1300.0, 3600.0)
    alone = lab_time_s([one], 480.0)
    assert lab_time_s([one, other], 480.0) < 1.2 * alone < lab_time_s([one, apart], 480.0)


def test_nearest_point_labels_a_cell_and_the_longest_hold_counts():
    env = make(goal=None, systems="Y2O3-Fe2O3")
    env.reset(seed=0)
    for hold in (2, 0):
        env.step(np.array([3, 2, hold]))
    drawn = drawn_map(env.settings.grid(env.system), env.readings)
    assert (drawn == env.readings[0].label).all()


def test_of_equal_holds_the_latest_counts():
    from dataclasses import replace

    env = make(goal=None, systems="Y2O3-Fe2O3")
    env.reset(seed=0)
    env.step(np.array([3, 2, 1]))
    first = env.readings[0]
    later = replace(first, label=~first.label)
    drawn = drawn_map(env.settings.grid(env.system), [first, later])
    assert (drawn == later.label).all()


def test_truth_is_not_told():
    env = make()
    observation, info = env.reset(seed=0)
    assert not observation["shares"].any()
    assert set(info) == {"system", "lab_time_h"}
    info = env.step(np.array([3, 2, 1]))[4]
    assert set(info) <= {"system", "lab_time_h", "status", "cost_h", "labels", "notes"}


def test_labels_and_agreement():
    shares = np.array([[0.95, 0.05, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0]])
    assert dominant(shares, DOMINANT).sum(axis=1).tolist() == [1, 2]
    one, two = dominant(shares, DOMINANT)
    assert float(agreement(one, two)) == 0.5
    assert float(agreement(one, one)) == 1.0


def test_equilibrium_map_is_of_line_compounds():
    grid = MapGrid(7, 2, (1300.0, 1500.0))
    mapped = mapped_system("ZnO-SiO2")
    labels = equilibrium_map("ZnO-SiO2", grid)
    names = [{mapped.labels[i] for i in np.flatnonzero(row)} for row in labels]
    # column 2 of 7, a third of the cations silicon, is Zn2SiO4 alone; zinc oxide is left before it
    assert [len(names[4]), len(names[2])] == [1, 2]


def test_plans_visit_each_cell_once_and_look_between_unlike_labels():
    grid = MapGrid(5, 2, (1000.0, 1400.0))
    assert sorted(space_filling_cells(grid)) == list(range(10))
    a, b = np.array([True, False]), np.array([False, True])
    between = boundary_cell(grid, [(0, a), (1, a), (8, b), (9, b)])
    assert grid.x[between] == 0.5
