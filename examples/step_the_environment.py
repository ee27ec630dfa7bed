"""Make the environment, propose at random, and be rewarded by what was measured."""

import gymnasium as gym

import labenv  # noqa: F401 - registers the environment

env = gym.make("labenv/SolidStateSynthesis-v0")
observation, info = env.reset(seed=1)
env.action_space.seed(1)

total = 0.0
for step in range(8):
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    total += float(reward)
    days = info["lab_time_s"] / 86_400
    print(f"step {step}: {info['status']}, reward {reward:+.3f}, after {days:.1f} days of lab time")
    if terminated or truncated:
        break
env.close()

print(f"best score: {info['best_score']:.3f}; rewards add up to {total:.3f}")
