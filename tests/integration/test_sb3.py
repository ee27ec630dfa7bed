"""Stable-Baselines3 trains on the environment as it is."""

from __future__ import annotations

import warnings

import gymnasium as gym
import numpy as np
import pytest

import labenv  # noqa: F401 - registers

torch = pytest.importorskip("torch")
stable_baselines3 = pytest.importorskip("stable_baselines3")
sb3_contrib = pytest.importorskip("sb3_contrib")

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]
NAME = "labenv/SolidStateSynthesis-v0"
SHORT = {"budget": {"experiments": 8}}
SMALL = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "seed": 0, "device": "cpu"}


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.mark.parametrize("action_type", ["discrete", "continuous"])
def test_checker_of_stable_baselines3_finds_no_fault(action_type):
    from stable_baselines3.common.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(NAME, action_type=action_type, **SHORT).unwrapped)


@pytest.mark.parametrize("action_type", ["discrete", "continuous"])
def test_ppo_learns_for_two_rounds(action_type):
    env = gym.make(NAME, action_type=action_type, parallelism=2, **SHORT)
    model = stable_baselines3.PPO("MultiInputPolicy", env, **SMALL)
    model.learn(32)
    action, _ = model.predict(env.reset(seed=0)[0])
    assert action in env.action_space


def test_maskable_ppo_uses_the_masks():
    env = gym.make(NAME, budget={"experiments": 8, "lab_time": "120 h"})
    model = sb3_contrib.MaskablePPO("MultiInputPolicy", env, **SMALL)
    model.learn(32)
    observation, _ = env.reset(seed=0)
    masks = env.unwrapped.action_masks()
    action, _ = model.predict(observation, action_masks=masks)
    edges = np.concatenate([[0], np.cumsum(env.action_space.nvec)[:-1]])
    assert masks[edges + action].all()
