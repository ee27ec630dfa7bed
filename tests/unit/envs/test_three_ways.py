"""What users of environments trip over, held for the single one and both vectors of it.

The vectors are Gymnasium's own of single environments ("sync") and the native one. Each test names
a public report of the fault where there is one.
"""

import copy
import random
import subprocess
import sys
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

import labenv  # noqa: F401 - registers
from labenv.envs.synthesis import SolidStateSynthesisEnv
from labenv.tasks import make_task
from labenv.testing.env import BASIC_SPACES, play, same

NAME = "labenv/SolidStateSynthesis-v0"
MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
SHORT = {"budget": {"experiments": 2}, "stop_on_success": False}
TASK = make_task("batio3-synthesis")


def with_goal(fraction):
    return replace(TASK, spec=TASK.spec.model_copy(update={"goal_fraction": fraction}))


EASY = with_goal(1e-6)  # any charge that reacts at all reaches it


@pytest.fixture(params=["sync", "vector_entry_point"], ids=["sync", "native"])
def make(request):
    """Return a function that makes a vector environment of one of the two kinds."""

    def build(count=2, mode=AutoresetMode.NEXT_STEP, **settings):
        options = {"autoreset_mode": mode}
        if request.param == "sync":
            return gym.make_vec(
                NAME, count, vectorization_mode="sync", vector_kwargs=options, **settings
            )
        return gym.make_vec(NAME, count, **options, **settings)

    return build


def play_all(envs, seed, steps=4):
    envs.action_space.seed(0)
    return [envs.reset(seed=seed), *(envs.step(envs.action_space.sample()) for _ in range(steps))]


# ------------------------------------------------------------------ seeds


def test_an_env_built_without_gym_make_repeats_itself():
    """Gymnasium #1084: check_env misses it where `spec` is None."""
    env = SolidStateSynthesisEnv(**SHORT)
    assert env.spec is None
    assert same(play(env, seed=7), play(env, seed=7))
    assert not same(play(env, seed=7), play(env, seed=8))


def test_vectors_repeat_themselves_and_continue_their_stream_unseeded(make):
    """Gymnasium #1207: a reset without a seed must not seed anew."""
    envs = make(**SHORT)
    first = play_all(envs, seed=3)
    second = play_all(envs, seed=None)
    assert not same(first, second)
    assert same(play_all(envs, seed=3), first)
    assert same(play_all(envs, seed=None), second)


def test_vectors_neither_use_nor_move_the_global_generators(make):
    """axelbr/racecar_gym #21."""
    envs = make(**SHORT)
    expected = play_all(envs, seed=3)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the global state is what is tested
    before = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    assert same(play_all(envs, seed=3), expected)
    assert random.getstate() == before[0]
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


# ------------------------------------------------------------------ ends


@pytest.mark.parametrize("mode", MODES)
def test_the_autoreset_mode_is_declared_and_kept(make, mode):
    """Gymnasium #1103: `final_obs` is there where the mode says so, and only there."""
    envs = make(mode=mode, **SHORT)
    assert envs.metadata["autoreset_mode"] is mode
    given = play_all(envs, seed=0, steps=2)[-1]
    assert given[3].all()
    assert ("final_obs" in given[4]) is (mode is AutoresetMode.SAME_STEP)


def test_the_last_observation_is_that_of_the_end_and_stays_so(make):
    """Gymnasium #1715: a reused buffer shows the values of the reset."""
    envs = make(mode=AutoresetMode.SAME_STEP, **SHORT)
    observations, *_, infos = play_all(envs, seed=0, steps=2)[-1]
    assert [last["budget_left"][0] for last in infos["final_obs"]] == [0.0, 0.0]
    assert observations["budget_left"][:, 0].tolist() == [1.0, 1.0]
    kept = copy.deepcopy(infos["final_obs"])
    for _ in range(3):
        envs.step(envs.action_space.sample())
    envs.reset(seed=9)
    assert same(list(infos["final_obs"]), list(kept))


def hottest(space):
    """Return an action that makes BaTiO3: BaCO3 and rutile, equal amounts, 1200 °C for long."""
    action = np.zeros(space.n, dtype=int)
    wanted = {"barium_per_titanium": 20, "milling_s": 5, "firing_k": 24, "hold_s": 8, "scan_s": 3}
    for name, level in wanted.items():
        action[space.names.index(name)] = level
    return action


def test_a_goal_reached_by_the_last_experiment_terminates_only(make):
    """gym #3102: both ends at once."""
    settings = {"task": EASY, "budget": {"experiments": 1}}
    action = hottest(EASY.space)
    single = gym.make(NAME, **settings)
    single.reset(seed=0)
    *_, terminated, truncated, info = single.step(action)
    assert (terminated, truncated, info["episode_end"]) == (True, False, "goal")
    envs = make(**settings)
    envs.reset(seed=0)
    *_, terminated, truncated, infos = envs.step(np.array([action, action]))
    assert terminated.tolist() == [True, True]
    assert truncated.tolist() == [False, False]
    assert infos["episode_end"].tolist() == ["goal", "goal"]


@pytest.mark.parametrize(
    "budget", [{"experiments": 1}, {"experiments": None, "lab_time": "1 h"}], ids=["count", "time"]
)
def test_a_used_up_budget_truncates_only(make, budget):
    """skrl #449: a limit of time is not the end of the world."""
    settings = {"budget": budget, "stop_on_success": True}
    action = np.zeros(TASK.space.n, dtype=int)
    single = gym.make(NAME, **settings)
    single.reset(seed=0)
    *_, terminated, truncated, info = single.step(action)
    assert (terminated, truncated, info["episode_end"]) == (False, True, "budget")
    envs = make(**settings)
    envs.reset(seed=0)
    *_, terminated, truncated, infos = envs.step(np.array([action, action]))
    assert terminated.tolist() == [False, False]
    assert truncated.tolist() == [True, True]
    assert infos["episode_end"].tolist() == ["budget", "budget"]


@pytest.mark.parametrize("mode", MODES)
def test_no_episode_ever_has_both_ends(make, mode):
    envs = make(5, mode=mode, budget={"experiments": 2}, task=with_goal(0.5))
    ends = np.zeros(2, dtype=int)
    for given in play_all(envs, seed=1, steps=9)[1:]:
        assert not (given[2] & given[3]).any()
        ends += [given[2].sum(), given[3].sum()]
    assert ends.all()  # both kinds of end occurred


# ------------------------------------------------------------------ infos and wrappers


@pytest.mark.parametrize("mode", MODES)
def test_gymnasiums_wrappers_read_the_infos(make, mode):
    """Gymnasium #1466: a wrapper needs the mask of every entry."""
    envs = RecordEpisodeStatistics(make(3, mode=mode, **SHORT))
    given = play_all(envs, seed=0, steps=2)[-1]
    assert given[4]["_episode"].all()
    assert given[4]["episode"]["l"].tolist() == [2, 2, 2]
    assert given[4]["episode"]["r"] == pytest.approx(
        (given[4].get("final_info") or given[4])["episode_return"]
    )
    listed = DictInfoToList(make(3, mode=mode, **SHORT))
    for step in play_all(listed, seed=0, steps=4)[1:]:
        assert len(step[4]) == 3


def test_settings_are_set_when_made_or_not_at_all(make):
    """Gymnasium #1293: what is set on a wrapper must reach its owner or be refused."""
    single = gym.make(NAME)
    envs = make()
    for name, value in (("parallelism", 2), ("task", EASY), ("settings", None)):
        with pytest.raises(AttributeError):
            single.set_wrapper_attr(name, value)
        with pytest.raises(AttributeError):
            envs.set_attr(name, value) if hasattr(envs, "set_attr") else setattr(envs, name, value)


def test_the_id_is_found_with_its_module_where_nothing_is_imported():
    """Gymnasium #222: in a worker only an import string is known."""
    code = f"import gymnasium; print(gymnasium.make('labenv:{NAME}').unwrapped.spec.id)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == NAME


# ------------------------------------------------------------------ spaces


def test_no_space_is_of_text_whose_letters_could_be_missing(make):
    """MiniWoB++ #67: Gymnasium's Text refuses `Fe₂O₃`; text is in infos only, where any goes."""
    envs, single = make(), gym.make(NAME)
    for space in (single.observation_space, envs.single_observation_space):
        assert all(isinstance(part, BASIC_SPACES) for part in space.spaces.values())
    for space in (single.action_space, envs.single_action_space):
        assert isinstance(space, BASIC_SPACES)
    plan = {
        "operations": [
            {"op": "dose", "precursors": [{"substance": "Fe₂O₃ (α)", "mass": "1 g"}]},
            {"op": "measure"},
        ]
    }
    single.reset(seed=0)
    info = single.unwrapped.propose(plan)[4]
    assert "Fe₂O₃ (α)" in info["message"]
