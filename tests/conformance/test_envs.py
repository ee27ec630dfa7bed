"""Every registered environment passes the contract, in each of its action types."""

from __future__ import annotations

import gymnasium as gym
import pytest

import labenv  # noqa: F401 - registers
from labenv.registration import ENVIRONMENTS
from labenv.testing.env import EnvContract

SETTINGS = {
    "discrete": {},
    "continuous": {"action_type": "continuous"},
    "parallel": {"parallelism": 3},
    "short": {"budget": {"experiments": 4, "lab_time": "300 h"}, "history": 0},
    "failing": {"lab": {"machine_failure_rate": 0.02}, "machine_failure": "continue"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("name", ENVIRONMENTS)
class TestEveryEnvironment(EnvContract):
    @pytest.fixture
    def make_env(self, name, settings):
        return lambda **kwargs: gym.make(name, **settings, **kwargs).unwrapped
