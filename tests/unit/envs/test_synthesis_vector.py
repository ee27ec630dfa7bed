import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import labenv  # noqa: F401 - registers
from labenv.envs.synthesis_vector import SolidStateSynthesisVectorEnv
from labenv.lab import audit
from labenv.testing.env import appearing, same
from labenv_schemas.errors import ConfigError, ProposalError

NAME = "labenv/SolidStateSynthesis-v0"
SHORT = {"budget": {"experiments": 4}}


def make(count=3, **settings):
    return gym.make_vec(NAME, num_envs=count, **settings)


def play(envs, seed, steps=10, action_seed=0):
    envs.action_space.seed(action_seed)
    seen = [envs.reset(seed=seed)]
    seen += [envs.step(envs.action_space.sample()) for _ in range(steps)]
    return seen


def test_make_vec_takes_the_native_environment():
    envs = make(5)
    assert isinstance(envs, SolidStateSynthesisVectorEnv)
    assert envs.num_envs == 5
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert SolidStateSynthesisVectorEnv.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


SETTINGS = {
    "discrete": {},
    "continuous": {"action_type": "continuous"},
    "parallel": {"parallelism": 2, "budget": {"experiments": 7}},
    "lab time": {"parallelism": 3, "budget": {"experiments": None, "lab_time": "150 h"}},
    "cost": {"parallelism": 2, "budget": {"experiments": None, "cost": 900.0}},
    "one furnace": {"parallelism": 4, "lab": {"furnaces": 1, "randomise": False}},
    "failures": {"parallelism": 2, "lab": {"machine_failure_rate": 0.05}},
    "failures lived with": {
        "lab": {"machine_failure_rate": 0.1},
        "machine_failure": "continue",
        "budget": {"experiments": 6},
    },
    "no history": {"history": 0, "budget": {"experiments": 3}, "stop_on_success": False},
}


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_native_gives_the_numbers_of_single_environments(settings, mode):
    """Bit for bit, over whole episodes, against Gymnasium's own vectorisation of the single env."""
    native = make(3, autoreset_mode=mode, **settings)
    single = SyncVectorEnv(
        [lambda: gym.make(NAME, disable_env_checker=True, **settings)] * 3, autoreset_mode=mode
    )
    assert native.observation_space == single.observation_space
    assert native.action_space == single.action_space
    native.action_space.seed(3)
    ours, theirs = native.reset(seed=11), single.reset(seed=11)
    assert same(ours, theirs)
    for _ in range(12):
        actions = native.action_space.sample()
        ours, theirs = native.step(actions), single.step(actions)
        for one, other in zip(ours[:4], theirs[:4], strict=True):
            assert same(one, other)
        compare_infos(ours[4], theirs[4])


def compare_infos(ours, theirs):
    assert set(ours) == set(theirs)
    for name in theirs:
        if name.startswith("_") or isinstance(theirs[name], dict):
            continue
        mask = theirs[f"_{name}"]
        assert np.array_equal(ours[f"_{name}"], mask)
        for row in np.flatnonzero(mask):
            if name == "message" and theirs["status"][row] == "failed_machine":
                continue  # the single environment's lab names the station
            if isinstance(theirs[name][row], float):  # a failing machine's time is rounded twice
                assert ours[name][row] == pytest.approx(theirs[name][row], rel=1e-14)
            elif name == "final_obs":
                assert same(ours[name][row], theirs[name][row])
            else:
                assert ours[name][row] == theirs[name][row]
    if "final_info" in theirs:
        compare_infos(ours["final_info"], theirs["final_info"])


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_no_number(threads):
    assert same(play(make(70, threads=1), 0, steps=2), play(make(70, threads=threads), 0, steps=2))


def test_same_seed_same_numbers_and_other_seed_others():
    envs = make(3, **SHORT)
    first = play(envs, seed=1)
    assert same(play(envs, seed=1), first)
    assert not same(play(envs, seed=2), first)


def test_seeds_may_be_given_one_by_one():
    assert same(play(make(2), [8, 9], steps=2), play(make(2), 8, steps=2))
    with pytest.raises(ConfigError, match="3 seeds were given for 2"):
        make(2).reset(seed=[1, 2, 3])


def test_unseeded_reset_continues_the_streams():
    one, other = make(2, **SHORT), make(2, **SHORT)
    play(one, seed=1)
    play(other, seed=1)
    assert same(play(one, seed=None), play(other, seed=None))
    assert not same(play(one, seed=None, steps=2), play(one, seed=None, steps=2))


def test_next_step_resets_and_ignores_the_action():
    envs = make(2, stop_on_success=False, **SHORT)
    envs.reset(seed=0)
    for _ in range(4):
        _, _, _, truncated, infos = envs.step(envs.action_space.sample())
    assert truncated.all()
    assert infos["_episode_end"].all()
    observations, reward, terminated, truncated, infos = envs.step(envs.action_space.sample() * 0)
    assert not np.concatenate([reward, terminated, truncated]).any()
    assert observations["budget_left"][:, 0].tolist() == [1.0, 1.0]
    assert "results" not in infos
    envs.step(envs.action_space.sample())


def test_same_step_gives_the_last_observation_and_info():
    envs = make(2, autoreset_mode="SAME_STEP", stop_on_success=False, **SHORT)
    envs.reset(seed=0)
    for _ in range(4):
        observations, _, _, truncated, infos = envs.step(envs.action_space.sample())
    assert truncated.all()
    assert observations["budget_left"][:, 0].tolist() == [1.0, 1.0]
    assert infos["final_obs"][1]["budget_left"][0] == 0.0
    assert infos["_final_obs"].all()
    assert infos["final_info"]["episode_experiments"].tolist() == [4, 4]
    last = copy.deepcopy(infos["final_obs"])
    envs.step(envs.action_space.sample())
    assert same(infos["final_obs"], last)


def test_disabled_waits_for_the_reset_mask():
    envs = make(2, autoreset_mode="DISABLED", stop_on_success=False, budget={"experiments": 1})
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    with pytest.raises(ResetNeeded, match="episodes 0, 1 have ended"):
        envs.step(envs.action_space.sample())
    observations, infos = envs.reset(options={"reset_mask": np.array([False, True])})
    assert observations["budget_left"][:, 0].tolist() == [0.0, 1.0]
    assert infos["_best_score"].tolist() == [False, True]
    with pytest.raises(ResetNeeded, match="episodes 0 have ended"):
        envs.step(envs.action_space.sample())


@pytest.mark.parametrize(
    "mask", [np.array([True]), np.array([1, 0]), np.array([False, False]), [True, False, True]]
)
def test_wrong_reset_mask_is_refused(mask):
    envs = make(2)
    envs.reset(seed=0)
    with pytest.raises(ConfigError, match="reset_mask must be"):
        envs.reset(options={"reset_mask": mask})


def test_every_info_has_its_mask():
    for given in play(make(3, **SHORT), seed=0)[1:]:
        infos = given[4]
        for name in infos:
            if not name.startswith("_"):
                assert infos[f"_{name}"].dtype == np.bool_
                assert infos[f"_{name}"].shape == (3,)


def test_returned_arrays_do_not_change_later():
    envs = make(2, **SHORT)
    envs.action_space.seed(0)
    kept = [envs.reset(seed=0)]
    frozen = copy.deepcopy(kept)
    for _ in range(6):
        kept.append(envs.step(envs.action_space.sample()))
        frozen.append(copy.deepcopy(kept[-1]))
    assert same(kept, frozen)


@pytest.mark.parametrize("steps", [0, 3])
def test_pickled_environment_goes_on_as_the_original(steps):
    envs = make(2, parallelism=2, **SHORT)
    play(envs, seed=4, steps=steps)
    twin = pickle.loads(pickle.dumps(envs))
    actions = [envs.action_space.sample() for _ in range(5)]
    assert same([envs.step(a) for a in actions], [twin.step(a) for a in actions])


def test_actions_of_another_shape_are_refused():
    envs = make(2)
    envs.reset(seed=0)
    with pytest.raises(ProposalError, match=r"shape \(2, 11\)"):
        envs.step(np.zeros((3, 11), dtype=int))


@pytest.mark.parametrize(
    ("action_type", "wrong"), [("discrete", -1), ("discrete", 10_000), ("continuous", np.nan)]
)
def test_the_episode_whose_action_is_none_is_named_and_nothing_moves(action_type, wrong):
    envs = make(3, action_type=action_type)
    envs.action_space.seed(0)
    good = envs.action_space.sample()
    envs.reset(seed=1)
    expected = envs.step(good)
    envs.reset(seed=1)
    bad = good.copy()
    bad[1, 4] = wrong
    what = r"level \S+ of firing_k lies outside 0 to 34|firing_k: nan lies outside \[-1, 1\]"
    with pytest.raises(ProposalError, match=rf"^episode 1: .*({what})"):
        envs.step(bad)
    assert same(envs.step(good), expected)


def test_step_before_reset_asks_for_it():
    with pytest.raises(ResetNeeded):
        make(2).step(np.zeros((2, 11), dtype=int))


def test_masks_have_one_row_an_episode():
    envs = make(2, budget={"experiments": None, "lab_time": "40 h"})
    single = gym.make(NAME, budget={"experiments": None, "lab_time": "40 h"}).unwrapped
    envs.reset(seed=0)
    single.reset(seed=0)
    action = np.zeros(11, dtype=int)
    envs.step(np.array([action, action]))
    single.step(action)
    assert np.array_equal(envs.action_masks()[0], single.action_masks())
    assert not envs.action_masks().all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_envs": 0}, "num_envs"),
        ({"num_envs": "3"}, r"num_envs must be a whole number, at least 1; got '3' \(str\)"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"thread": 2}, "did you mean 'threads'"),
        ({"autoreset_mode": "LATER"}, "NEXT_STEP, SAME_STEP, DISABLED"),
        ({"max_episode_steps": 5}, "budget"),
        ({"render_mode": "ansi"}, "does not render"),
    ],
)
def test_wrong_setting_says_what_is_wrong(settings, message):
    with pytest.raises(ConfigError, match=message):
        SolidStateSynthesisVectorEnv(**settings)


def test_seeds_and_conditions_are_in_nothing_returned():
    envs = make(3, stop_on_success=False, **SHORT)
    seen = play(envs, seed=0, steps=4)
    hidden = conditions_of(envs)
    assert len(set(hidden)) > 30
    assert appearing(hidden, seen) == []
    assert appearing(hidden, [seen, {"debug": np.float32(hidden[5:6])}]) == [hidden[5]]


def conditions_of(envs):
    arrays = vars(envs._episodes._conditions).values()
    values = [float(value) for array in arrays for value in np.ravel(array)]
    return [value for value in values if abs(value) not in {0.0, 1.0}]


def test_what_the_samples_are_made_of_is_in_nothing_returned():
    """The truth is that of single environments with the same seeds, whose lab can be asked."""
    envs = make(2, stop_on_success=False, **SHORT)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(4)]
    seen = [envs.reset(seed=5), *map(envs.step, actions)]
    hidden = []
    for row in range(2):
        env = gym.make(NAME, stop_on_success=False, **SHORT).unwrapped
        env.reset(seed=5 + row)
        for number, action in enumerate(actions):
            env.step(action[row])
            truth = audit.true_mass_fractions(env.session.lab, f"experiment-{number:04d}")
            hidden += truth.values()
    assert len(set(hidden) - {0.0, 1.0}) > 10
    assert appearing(hidden, seen) == []
