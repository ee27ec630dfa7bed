"""Stable-Baselines3 trains on the environment as it is."""

from __future__ import annotations

import re
import runpy
import warnings
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import labenv  # noqa: F401 - registers

torch = pytest.importorskip("torch")
stable_baselines3 = pytest.importorskip("stable_baselines3")
sb3_contrib = pytest.importorskip("sb3_contrib")
make_vec_env = pytest.importorskip("stable_baselines3.common.env_util").make_vec_env

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


# ------------------------------------------------------------------ many environments


def test_make_vec_env_makes_many_environments_and_ppo_learns_on_them():
    envs = make_vec_env(NAME, n_envs=3, seed=5, env_kwargs=SHORT)
    native = gym.make_vec(NAME, num_envs=3, autoreset_mode="SAME_STEP", **SHORT)
    ours, _ = native.reset(seed=5)
    theirs = envs.reset()
    native.action_space.seed(0)
    for _ in range(9):  # over the end of the episodes
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
        actions = native.action_space.sample()
        ours, reward, terminated, truncated, infos = native.step(actions)
        theirs, rewards, dones, dicts = envs.step(actions)
        assert np.array_equal(rewards, reward.astype(np.float32))
        assert np.array_equal(dones, terminated | truncated)
        for row in np.flatnonzero(dones):
            final = infos["final_obs"][row]
            assert all(
                np.array_equal(dicts[row]["terminal_observation"][name], final[name])
                for name in final
            )
            assert dicts[row]["TimeLimit.truncated"] == truncated[row]
            assert dicts[row]["episode"]["r"] == pytest.approx(
                infos["final_info"]["episode_return"][row], abs=1e-5
            )
    model = stable_baselines3.PPO("MultiInputPolicy", envs, **SMALL)
    model.learn(48)
    assert model.num_timesteps == 48


def test_the_documented_lines_train():
    page = Path(__file__).resolve().parents[2] / "docs" / "environment.md"
    section = page.read_text(encoding="utf-8").split("## Stable-Baselines3")[1].split("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names = {}
    exec(compile(block, str(page), "exec"), names)
    assert names["model"].num_timesteps == 160


def test_maskable_ppo_uses_the_masks_of_many_environments():
    limited = {"budget": {"experiments": 8, "lab_time": "120 h"}}
    envs = make_vec_env(NAME, n_envs=2, env_kwargs=limited)
    sb3_contrib.MaskablePPO("MultiInputPolicy", envs, **SMALL).learn(32)


def test_the_native_vector_is_not_taken_as_it_is():
    """If this changes, docs/environment.md can say so."""
    with pytest.raises(ValueError, match="not a Gymnasium environment"):
        stable_baselines3.PPO("MultiInputPolicy", gym.make_vec(NAME, num_envs=2))


@pytest.fixture(scope="module")
def adapter():
    example = Path(__file__).resolve().parents[2] / "examples" / "train_with_stable_baselines3.py"
    return runpy.run_path(str(example))["NativeVecEnv"]


def test_the_adapter_gives_the_numbers_of_make_vec_env(adapter):
    ours, theirs = adapter(3, **SHORT), make_vec_env(NAME, n_envs=3, env_kwargs=SHORT)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    ours.seed(5)
    theirs.seed(5)
    one, other = ours.reset(), theirs.reset()
    ours.action_space.seed(0)
    ended = 0
    for _ in range(9):
        assert all(np.array_equal(one[name], other[name]) for name in one)
        actions = np.array([ours.action_space.sample() for _ in range(3)])
        one, rewards, dones, told = ours.step(actions)
        other, *expected, others_told = theirs.step(actions)
        assert np.array_equal(rewards, expected[0])
        assert rewards.dtype == expected[0].dtype
        assert np.array_equal(dones, expected[1])
        for row in np.flatnonzero(dones):
            ended += 1
            mine, its = told[row], others_told[row]
            assert mine["TimeLimit.truncated"] == its["TimeLimit.truncated"]
            assert mine["episode"]["l"] == its["episode"]["l"]
            assert mine["episode"]["r"] == pytest.approx(its["episode"]["r"], abs=1e-5)
            for name, array in its["terminal_observation"].items():
                assert np.array_equal(mine["terminal_observation"][name], array)
    assert ended >= 3
    ours.close()


def test_maskable_ppo_takes_the_adapter(adapter):
    envs = adapter(2, budget={"experiments": 8, "lab_time": "120 h"})
    sb3_contrib.MaskablePPO("MultiInputPolicy", envs, **SMALL).learn(32)
    with pytest.raises(AttributeError, match="parallelism is set when"):
        envs.set_attr("parallelism", 2)
