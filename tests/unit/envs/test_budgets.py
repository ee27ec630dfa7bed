"""Every environment takes a budget, in one vocabulary."""

from __future__ import annotations

import gymnasium as gym
import pytest

import labenv  # noqa: F401 - registers the environments
from labenv.envs.budgets import read_budget
from labenv.envs.discovery_settings import make_discovery_settings
from labenv.envs.phase_mapping_settings import make_mapping_settings
from labenv.envs.superconductor_search_settings import make_search_settings
from labenv.errors import ConfigError
from labenv.testing.potential import LennardJonesBackend
from labenv_schemas import Budget


def test_limits_mean_the_same_everywhere() -> None:
    week = {"lab_time": "7 d"}
    assert make_mapping_settings(budget=week).budget_s == 7 * 86_400.0
    search = make_search_settings(budget={**week, "experiments": 5})
    assert (search.experiments, search.lab_time_h) == (5, 168.0)
    assert make_search_settings(budget=Budget(lab_time_s=3600.0)).lab_time_h == 1.0
    env = gym.make("labenv/SolidStateSynthesis-v0", budget={**week, "experiments": 5})
    assert env.unwrapped.settings.budget == Budget(experiments=5, lab_time_s=7 * 86_400.0)  # type: ignore[attr-defined]


def test_short_names_stand_in_place_of_a_budget() -> None:
    assert make_mapping_settings(budget_h=5.0) == make_mapping_settings(budget={"lab_time": "5 h"})
    assert make_search_settings(experiments=3) == make_search_settings(budget={"experiments": 3})
    assert make_search_settings().experiments == 12
    assert make_mapping_settings().budget_s == 300 * 3600.0
    with pytest.raises(ConfigError, match="a budget stands in place of budget_h"):
        make_mapping_settings(budget={"lab_time": "5 h"}, budget_h=5.0)


def test_proposals_of_structures_are_experiments() -> None:
    potential = LennardJonesBackend()
    budget = {"experiments": 7}
    assert make_discovery_settings(budget=budget, potential=potential).proposals == 7
    assert make_discovery_settings(potential=potential).proposals == 20
    with pytest.raises(ConfigError, match=r"budget\.lab_time: .* limits experiments$"):
        make_discovery_settings(budget={"lab_time": "5 h"}, potential=potential)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"cost": 3.0}, "budget.cost: this environment does not limit it; it limits lab_time"),
        ({"lab_time": 300}, "budget: lab_time: 300 has no unit"),
        ({"labtime": "3 h"}, "did you mean 'lab_time'"),
        ({}, "at least one limit"),
        ("300 h", "must be a Budget or a mapping, not '300 h'"),
    ],
)
def test_what_is_no_budget_is_told(budget: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_budget(budget, ("lab_time",), {})
