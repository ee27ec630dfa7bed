"""Every registered environment passes the contract, in each of its action types."""

from __future__ import annotations

import gymnasium as gym
import pytest

import labenv  # noqa: F401 - registers
from labenv.registration import ENVIRONMENTS
from labenv.testing.env import EnvContract
from labenv.testing.potential import LennardJonesBackend

SYNTHESIS = {
    "discrete": {},
    "continuous": {"action_type": "continuous"},
    "parallel": {"parallelism": 3},
    "short": {"budget": {"experiments": 4, "lab_time": "300 h"}, "history": 0},
    "failing": {"lab": {"machine_failure_rate": 0.02}, "machine_failure": "continue"},
    "target": {"target": "SrTiO3", "budget": {"experiments": 8}},
}
# Another environment is run with its own settings; those of one that is not here are its defaults.
DISCOVERY = {"proposals": 7, "max_steps": 4, "max_atoms": 12}
SMALL_MAP = {"compositions": 7, "temperatures": 4, "budget_h": 80.0}
MAPPING = {
    "default": {},
    "several points": {**SMALL_MAP, "points": 3, "truth": "equilibrium", "can_stop": True},
    "nominal": {**SMALL_MAP, "systems": "BaCO3-TiO2", "randomise": False, "goal": None},
}
SEARCH = {
    "default": {},
    "short": {"experiments": 3, "history": 0, "firing_gases": ("oxygen",)},
}
SETTINGS = {
    "labenv/PhaseMapping-v0": MAPPING,
    "labenv/SuperconductorSearch-v0": SEARCH,
    "labenv/SolidStateSynthesis-v0": SYNTHESIS,
    "labenv/StructureDiscovery-v0": {
        "several systems": {"potential": LennardJonesBackend(), **DISCOVERY},
        "one system": {
            "potential": LennardJonesBackend(),
            **DISCOVERY,
            "systems": "Ba-Ti-O",
            "history": 0,
        },
    },
}
CASES = [
    pytest.param(name, settings, id=f"{name}-{kind}")
    for name in ENVIRONMENTS
    for kind, settings in SETTINGS.get(name, {"default": {}}).items()
]


@pytest.mark.parametrize(("name", "settings"), CASES)
class TestEveryEnvironment(EnvContract):
    @pytest.fixture
    def make_env(self, name, settings):
        return lambda **kwargs: gym.make(name, **settings, **kwargs).unwrapped
