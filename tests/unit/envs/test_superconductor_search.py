"""SuperconductorSearch-v0: the contract, and that only a measured percolating path earns."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import labenv  # noqa: F401 - registers
from labenv.envs.superconductor_search import SuperconductorSearchEnv
from labenv.envs.superconductor_search_audit import true_bar, true_conditions
from labenv.tasks.superconductor_search import (
    Conditions,
    Recipe,
    RecipeSpace,
    make_bar,
    run_experiment,
    true_zero_k,
)
from labenv.testing.env import EnvContract, appearing, play
from labenv_schemas.errors import ConfigError, ProposalError

NAME = "labenv/SuperconductorSearch-v0"
FAST = {"routes": ("BaCO3",), "firing_gases": ("air",), "experiments": 6, "history": 3}


def make(**settings):
    return gym.make(NAME, **{**FAST, **settings}).unwrapped


class TestContract(EnvContract):
    @pytest.fixture
    def make_env(self):
        return make


@pytest.mark.parametrize(
    "settings",
    [
        {"routes": ()},
        {"routes": ("BaF2",)},
        {"routes": "BaCO3"},
        {"firing_gases": ("argon",)},
        {"experiments": 0},
        {"history": -1},
        {"lab_time_h": float("nan")},
        {"goal_tc_k": 0.0},
        {"budget": {"cost": 5.0}},
        {"budget": {"experiments": 0}},
        {"budget": 12},
        {"budget": {"experiments": 5}, "experiments": 5},
        {"nonsense": 1},
        {"render_mode": "human"},
    ],
)
def test_bad_settings_are_told(settings):
    with pytest.raises(ConfigError):
        SuperconductorSearchEnv(**settings)


def test_good_practice_measures_ninety_kelvin_and_a_repeat_adds_nothing():
    env = make()
    env.reset(seed=1)
    _, reward, _, _, info = env.propose({"anneal_s": 48 * 3600.0, "magnetometry": True})
    assert info["status"] == "ok"
    assert 0.85 < reward == info["score"] < 0.97
    assert info["shielding_fraction"] > 0.6
    assert info["tc_magnetic_onset_k"] == pytest.approx(info["tc_onset_k"], abs=3.0)
    assert "930 degC" in info["recipe"]
    again = env.propose({"anneal_s": 48 * 3600.0})[1]
    assert again < 0.02


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"barium": 4.0}, "no_transition"),
        ({"firing_k": 1080.0}, "no_transition"),
        ({"firing_k": 1320.0}, "melted"),
        ({"firing_k": 1500.0}, "invalid"),
        ({"route": "BaF2"}, "invalid"),
    ],
)
def test_what_does_not_percolate_melts_or_cannot_be_done_earns_nothing(changes, status):
    env = make()
    env.reset(seed=0)
    _, reward, _, _, info = env.propose(changes)
    assert (info["status"], reward) == (status, 0.0)
    assert info["reason"]
    assert info["experiments"] == 1


def test_lost_oxygen_lowers_the_measured_temperature():
    space, hidden = RecipeSpace(), Conditions(seed=5)
    slow = run_experiment(Recipe(anneal_s=172800.0), space, hidden, 0)
    fast = Recipe(anneal_k=1100.0, anneal_s=36000.0, cooling_k_per_s=3.3)
    quenched = run_experiment(fast, space, hidden, 1)
    assert quenched.score < slow.score - 0.2
    poor = make_bar(fast, hidden)
    assert poor.ybco_share == pytest.approx(make_bar(Recipe(), hidden).ybco_share)


def test_score_follows_the_truth_within_the_spacing_of_readings():
    space, hidden = RecipeSpace(), Conditions.drawn(7)
    result = run_experiment(Recipe(), space, hidden, 0)
    assert 100.0 * result.score == pytest.approx(true_zero_k(make_bar(Recipe(), hidden)), abs=2.0)


def test_time_and_cost_are_those_of_the_recipe():
    space, hidden = RecipeSpace(), Conditions(seed=5)
    short = run_experiment(Recipe(), space, hidden, 0)
    long = run_experiment(Recipe(anneal_s=36 * 3600.0), space, hidden, 0)
    both = run_experiment(Recipe(magnetometry=True), space, hidden, 0)
    assert long.time_s - short.time_s == pytest.approx(24 * 3600.0)
    assert long.cost - short.cost == pytest.approx(24 * 9.0)
    assert both.time_s - short.time_s == pytest.approx(9000.0)


def test_lab_time_and_goal_end_episodes():
    env = make(lab_time_h=10.0)
    env.reset(seed=0)
    *_, truncated, info = env.propose({})
    assert (truncated, info["episode_end"]) == (True, "budget")
    with pytest.raises(ResetNeeded):
        env.propose({})
    env = make(goal_tc_k=40.0)
    env.reset(seed=1)
    _, _, terminated, truncated, info = env.propose({"anneal_s": 172800.0})
    assert (terminated, truncated, info["episode_end"]) == (True, False, "goal")


@pytest.mark.parametrize(
    "bad", [3, {"heat": 1.0}, {"barium": float("nan")}, {"barium": 10**400}, {"route": 2}]
)
def test_unreadable_recipes_are_refused_before_anything_moves(bad):
    env = make()
    env.reset(seed=0)
    with pytest.raises(ProposalError):
        env.propose(bad)
    assert env._past == []


def test_truth_is_not_told_and_the_door_tells_it():
    env = make()
    seen = play(env, seed=3)
    hidden = true_conditions(env)
    bars = [true_bar(env, number) for number in range(6)]
    values = [hidden.firing_offset_k, hidden.cluster_radius_m, hidden.diffusivity_factor]
    values += [bar.oxygen for bar in bars if bar is not None and bar.oxygen is not None]
    assert len(values) > 3
    assert appearing(values, seen) == []
    with pytest.raises(ConfigError):
        true_bar(env, 99)


def test_actions_and_recipes_are_each_others_inverse():
    space = RecipeSpace()
    rng = np.random.default_rng(0)
    for action in rng.uniform(-1.0, 1.0, (20, space.size)):
        recipe = space.recipe(action)
        assert space.fault(recipe) == ""
        back = space.recipe(space.action(recipe))
        assert back.firing_s == pytest.approx(recipe.firing_s)
        assert (back.route, back.anneal_gas) == (recipe.route, recipe.anneal_gas)
