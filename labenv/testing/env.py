"""What every environment must do, beyond what Gymnasium's own checker asks.

Subclass `EnvContract` and override `make_env` with a fixture that returns a function making a new,
unwrapped environment; keyword arguments go to it::

    class TestMyEnv(EnvContract):
        @pytest.fixture
        def make_env(self):
            return lambda **kwargs: gym.make("me/MyEnv-v0", **kwargs).unwrapped
"""

# ruff: noqa: D102 - the names of the tests say what they demand

from __future__ import annotations

import copy
import math
import pickle
import random
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env, data_equivalence

from labenv_schemas.errors import ProposalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import gymnasium as gym

    Env = gym.Env[Any, Any]
    MakeEnv = Callable[..., Env]

STEPS = 6
RESERVED_KEYS = {"done", "reward", "action", "terminated", "truncated"}
BASIC_SPACES = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


def play(env: Env, seed: int | None, steps: int = STEPS, action_seed: int = 0) -> list[Any]:
    """Return everything that an environment gives over a few steps with fixed random actions."""
    env.action_space.seed(action_seed)
    seen: list[Any] = [env.reset(seed=seed)]
    seen += _steps(env, steps)
    return seen


def _steps(env: Env, steps: int) -> Iterator[Any]:
    for _ in range(steps):
        given = env.step(env.action_space.sample())
        yield given
        if given[2] or given[3]:
            return


def same(one: object, other: object) -> bool:
    """Return whether two recordings are equal to the bit."""
    return bool(data_equivalence(one, other, exact=True))


def leaves(data: object) -> Iterator[object]:
    """Yield every number and text in nested data."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from leaves(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from leaves(value)
    elif isinstance(data, np.ndarray):
        yield from data.ravel().tolist()
    else:
        yield data


def appearing(hidden: Iterable[float], data: object) -> list[float]:
    """Return which hidden numbers can be read in what an environment gave, in numbers or in text.

    Args:
        hidden: Numbers that must not be seen. 0 and 1 are passed over: they are everywhere.
        data: Nested observations and infos.

    Returns:
        Those found to single precision, in order.
    """
    seen: list[float] = []
    for leaf in leaves(data):
        if isinstance(leaf, str):
            seen += [float(text) for text in re.findall(r"\d+\.\d{5,}(?:e[+-]?\d+)?", leaf)]
        elif isinstance(leaf, float | np.floating):
            seen.append(float(leaf))
    numbers = np.unique(np.abs(seen))
    found: list[float] = []
    for value in hidden:
        near = numbers[np.abs(numbers - abs(value)) <= 1e-7 * abs(value)]
        if abs(value) not in {0.0, 1.0} and len(near):
            found.append(value)
    return found


class EnvContract:
    """Tests that every environment passes; override `make_env`."""

    @pytest.fixture
    def make_env(self) -> MakeEnv:
        raise NotImplementedError("override make_env")

    # ------------------------------------------------------------------------------- Gymnasium

    def test_gymnasium_finds_no_fault(self, make_env: MakeEnv) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(make_env())

    def test_entry_points_are_import_strings(self, make_env: MakeEnv) -> None:
        spec = make_env().spec
        assert spec is not None
        assert isinstance(spec.entry_point, str)
        assert spec.vector_entry_point is None or isinstance(spec.vector_entry_point, str)

    def test_only_the_budget_limits_an_episode(self, make_env: MakeEnv) -> None:
        spec = make_env().spec
        assert spec is not None
        assert spec.max_episode_steps is None

    # ------------------------------------------------------------------------------- spaces

    def test_observation_is_a_flat_dict_of_bounded_boxes(self, make_env: MakeEnv) -> None:
        space = make_env().observation_space
        assert isinstance(space, spaces.Dict)
        assert not RESERVED_KEYS & set(space.spaces)
        for name, box in space.spaces.items():
            assert isinstance(box, BASIC_SPACES), name
            if isinstance(box, spaces.Box):
                assert np.isfinite(box.low).all(), name
                assert np.isfinite(box.high).all(), name

    def test_observations_stay_in_their_space(self, make_env: MakeEnv) -> None:
        env = make_env()
        for given in play(env, seed=3, steps=1000):
            assert given[0] in env.observation_space

    def test_action_space_is_basic(self, make_env: MakeEnv) -> None:
        assert isinstance(make_env().action_space, BASIC_SPACES)

    # ------------------------------------------------------------------------------- randomness

    def test_same_seed_same_episode_twice_in_one_env(self, make_env: MakeEnv) -> None:
        env = make_env()
        assert same(play(env, seed=7), play(env, seed=7))

    def test_same_seed_same_episode_in_two_envs(self, make_env: MakeEnv) -> None:
        assert same(play(make_env(), seed=7), play(make_env(), seed=7))

    def test_other_seed_other_episode(self, make_env: MakeEnv) -> None:
        env = make_env()
        assert not same(play(env, seed=7), play(env, seed=8))

    def test_unseeded_reset_continues_the_stream(self, make_env: MakeEnv) -> None:
        env = make_env()
        first = play(env, seed=7)
        second = play(env, seed=None)
        third = play(env, seed=None)
        assert not same(first, second)
        assert not same(second, third)
        again = make_env()
        play(again, seed=7)
        assert same(play(again, seed=None), second)

    def test_global_generators_are_neither_used_nor_moved(self, make_env: MakeEnv) -> None:
        env = make_env()
        expected = play(env, seed=7)
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002 - the global state is what is tested
        before = (random.getstate(), copy.deepcopy(np.random.get_state()))  # noqa: NPY002
        assert same(play(env, seed=7), expected)
        assert random.getstate() == before[0]
        assert same(list(np.random.get_state()), list(before[1]))  # noqa: NPY002

    def test_interleaved_envs_do_not_disturb_each_other(self, make_env: MakeEnv) -> None:
        alone = play(make_env(), seed=7)
        one, other = make_env(), make_env()
        one.action_space.seed(0)
        seen: list[Any] = [one.reset(seed=7)]
        other.reset(seed=99)
        for _ in range(len(alone) - 1):
            seen.append(one.step(one.action_space.sample()))
            if any(other.step(other.action_space.sample())[2:4]):
                other.reset()
        assert same(seen, alone)

    # ------------------------------------------------------------------------------- data

    def test_what_was_returned_does_not_change_later(self, make_env: MakeEnv) -> None:
        env = make_env()
        env.action_space.seed(0)
        kept = [env.reset(seed=1)]
        frozen = copy.deepcopy(kept)
        for given in _steps(env, STEPS):
            kept.append(given)
            frozen.append(copy.deepcopy(given))
        env.reset(seed=2)
        assert same(kept, frozen)

    def test_writing_into_an_observation_changes_nothing(self, make_env: MakeEnv) -> None:
        env = make_env()
        expected = play(env, seed=4)
        env.action_space.seed(0)
        observation, _ = env.reset(seed=4)
        for value in observation.values():
            value.fill(-1)
        assert same(list(_steps(env, STEPS)), expected[1:])

    def test_every_number_is_finite(self, make_env: MakeEnv) -> None:
        for value in leaves(play(make_env(), seed=5, steps=1000)):
            if isinstance(value, float):
                assert math.isfinite(value)

    def test_reward_is_a_float_and_ends_are_bools(self, make_env: MakeEnv) -> None:
        for given in play(make_env(), seed=5)[1:]:
            assert type(given[1]) is float
            assert type(given[2]) is bool
            assert type(given[3]) is bool

    def test_an_end_is_either_a_goal_or_a_limit(self, make_env: MakeEnv) -> None:
        last = play(make_env(), seed=6, steps=10_000)[-1]
        assert last[2] != last[3]

    def test_action_outside_the_space_is_refused_before_anything_moves(
        self, make_env: MakeEnv
    ) -> None:
        env = make_env()
        expected = play(env, seed=4)
        env.action_space.seed(0)
        env.reset(seed=4)
        bad = np.full_like(env.action_space.sample(), 10_000)
        with pytest.raises(ProposalError):
            env.step(bad)
        env.action_space.seed(0)
        assert same(list(_steps(env, STEPS)), expected[1:])

    def test_settings_cannot_be_shadowed(self, make_env: MakeEnv) -> None:
        env = make_env()
        for name in ("settings", "task", "parallelism"):
            if hasattr(env, name):
                with pytest.raises(AttributeError):
                    setattr(env, name, None)

    # ------------------------------------------------------------------------------- copies

    @pytest.mark.parametrize("steps", [0, 2])
    @pytest.mark.parametrize(
        "duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
    )
    def test_copy_goes_on_as_the_original(
        self, make_env: MakeEnv, steps: int, duplicate: Callable[[Env], Env]
    ) -> None:
        env = make_env()
        last = play(env, seed=11, steps=steps)[-1]
        if len(last) == 5 and (last[2] or last[3]):  # an action may end the episode
            env.reset(seed=11)
        twin = duplicate(env)
        env.action_space.seed(5)
        twin.action_space.seed(5)
        assert same(list(_steps(twin, 3)), list(_steps(env, 3)))
        assert same(play(twin, seed=None), play(env, seed=None))

    def test_new_env_pickles_before_its_first_reset(self, make_env: MakeEnv) -> None:
        env = pickle.loads(pickle.dumps(make_env()))
        assert same(play(env, seed=2), play(make_env(), seed=2))

    def test_close_twice_is_safe(self, make_env: MakeEnv) -> None:
        env = make_env()
        env.reset(seed=0)
        env.close()
        env.close()
