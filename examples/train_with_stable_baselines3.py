"""Train Stable-Baselines3's PPO on the native vector environment, many labs to a step.

`NativeVecEnv` is all that lies between the two. Stable-Baselines3 wants a class of its own, a dict
of info for each environment, and an episode's last observation in ``info["terminal_observation"]``.
Needs ``pip install 'labenv[rl]'``.
"""

# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN204, D102 - the signatures are Stable-Baselines3's

import gymnasium as gym
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

import labenv  # noqa: F401 - registers the environments


class NativeVecEnv(VecEnv):
    """labenv's vector environment as Stable-Baselines3 takes it; settings are those of gym.make."""

    def __init__(self, num_envs, **settings):
        settings |= {"autoreset_mode": "SAME_STEP"}
        self.native = gym.make_vec("labenv/SolidStateSynthesis-v0", num_envs, **settings)
        spaces = self.native.single_observation_space, self.native.single_action_space
        super().__init__(num_envs, *spaces)

    def reset(self):
        seeds = None if None in self._seeds else self._seeds
        self._reset_seeds()
        return self.native.reset(seed=seeds)[0]

    def step_async(self, actions):
        self.actions = actions

    def step_wait(self):
        observations, rewards, terminated, truncated, infos = self.native.step(self.actions)
        told = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(terminated | truncated):
            final = infos["final_info"]
            told[row] = {
                "terminal_observation": infos["final_obs"][row],
                "TimeLimit.truncated": bool(truncated[row]),
                "episode": {
                    "r": float(final["episode_return"][row]),
                    "l": int(final["episode_experiments"][row]),
                },
            }
        return observations, rewards.astype(np.float32), terminated | truncated, told

    def env_method(self, method_name, *args, indices=None, **kwargs):
        rows = list(getattr(self.native, method_name)(*args, **kwargs))  # such as action_masks
        return [rows[k] for k in self._get_indices(indices)]

    def get_attr(self, attr_name, indices=None):
        return [getattr(self.native, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name, value, indices=None):
        raise AttributeError(f"{attr_name} is set when the environment is made")

    def env_is_wrapped(self, wrapper_class, indices=None):
        return [False for _ in self._get_indices(indices)]

    def close(self):
        self.native.close()


if __name__ == "__main__":
    envs = NativeVecEnv(32, budget={"experiments": 8})
    model = PPO("MultiInputPolicy", envs, n_steps=8, batch_size=128, seed=0, device="cpu")
    model.learn(512)
    scores = [episode["r"] for episode in model.ep_info_buffer]
    print(f"{len(scores)} episodes, mean return {np.mean(scores):.2f}")
