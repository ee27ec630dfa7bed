"""Gymnasium's worker processes: the same numbers, and the cause of what fails in one."""

from __future__ import annotations

import warnings

import gymnasium as gym
import numpy as np
import pytest

import labenv  # noqa: F401 - registers
from labenv_schemas.errors import ProposalError

pytestmark = pytest.mark.integration
NAME = "labenv/SolidStateSynthesis-v0"
SHORT = {"budget": {"experiments": 8}}


@pytest.fixture
def envs():
    spawned = gym.make_vec(
        NAME, 2, vectorization_mode="async", vector_kwargs={"context": "spawn"}, **SHORT
    )
    yield spawned
    spawned.close(terminate=True)


def test_spawned_workers_give_the_numbers_of_this_process_and_the_cause_of_a_failure(envs):
    native = gym.make_vec(NAME, num_envs=2, **SHORT)
    ours, _ = native.reset(seed=4)
    theirs, _ = envs.reset(seed=4)
    for _ in range(3):
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
        actions = native.action_space.sample()
        ours, theirs = native.step(actions)[0], envs.step(actions)[0]
    actions[1, 4] = 1_000
    with warnings.catch_warnings(record=True) as told:  # Gymnasium warns of it worker by worker
        warnings.simplefilter("always")
        with pytest.raises(ProposalError, match="level 1000 of firing_k lies outside 0 to 34"):
            envs.step(actions)
    assert any("error from Worker-1" in str(warning.message) for warning in told)
