import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import labenv  # noqa: F401 - registers
from labenv.envs.synthesis import SolidStateSynthesisEnv
from labenv.lab import audit
from labenv.tasks import Session
from labenv.testing.env import leaves
from labenv_schemas import PhaseAnalysis, PhaseFraction, Proposal
from labenv_schemas.errors import ConfigError, ProposalError
from tests.unit.tasks.stand_in_lab import StandInLab

NAME = "labenv/SolidStateSynthesis-v0"


class NoQuantifier:
    def quantify(self, diffractogram):
        raise AssertionError("nothing to quantify")


def purity(fraction):
    phase = PhaseFraction(
        name="BaTiO3-tetragonal", formula="BaTiO3", weight_fraction=fraction, uncertainty=0.0
    )
    analysis = PhaseAnalysis(status="ok", phases=(phase,), goodness_of_fit=1.1, r_wp=0.05)
    return {"analyses": (analysis,)}


BROKEN = {"status": "failed_machine", "message": "the furnace tripped"}


@pytest.fixture
def scripted(monkeypatch):
    """Return a function that makes an env whose lab gives what the test says."""

    def make(gives=None, takes_s=None, **settings):
        lab = StandInLab(gives or {}, takes_s or {})

        def open_session(env, seed):
            return Session(env.task, lab, env.settings.budget, NoQuantifier())

        monkeypatch.setattr(SolidStateSynthesisEnv, "_open_session", open_session)
        env = SolidStateSynthesisEnv(**settings)
        env.reset(seed=0)
        env.action_space.seed(0)
        return env

    return make


def in_flight(observation):
    return observation["pending"].reshape(-1, 2 + 11)[:, 0].tolist()


def step(env):
    return env.step(env.action_space.sample())


def test_gym_make_builds_it_with_its_settings():
    env = gym.make(NAME, budget={"experiments": 3}, parallelism=2, action_type="continuous")
    assert env.unwrapped.settings.budget.experiments == 3
    assert env.unwrapped.parallelism == 2
    assert env.action_space.shape == (env.unwrapped.task.space.n,)


# ------------------------------------------------------------------------------- ends


def test_goal_terminates(scripted):
    env = scripted({0: purity(0.5), 1: purity(0.995)})
    assert step(env)[2:4] == (False, False)
    _, _, terminated, truncated, info = step(env)
    assert (terminated, truncated, info["episode_end"]) == (True, False, "goal")


def test_used_up_budget_truncates(scripted):
    env = scripted(budget={"experiments": 2})
    step(env)
    _, _, terminated, truncated, info = step(env)
    assert (terminated, truncated, info["episode_end"]) == (False, True, "budget")


def test_goal_on_the_last_step_is_a_success_and_no_truncation(scripted):
    env = scripted({1: purity(0.995)}, budget={"experiments": 2})
    step(env)
    _, _, terminated, truncated, info = step(env)
    assert (terminated, truncated, info["episode_end"]) == (True, False, "goal")


def test_goal_need_not_end_the_episode(scripted):
    env = scripted({0: purity(0.995)}, stop_on_success=False, budget={"experiments": 2})
    assert step(env)[2:4] == (False, False)
    assert step(env)[2:4] == (False, True)


def test_machine_failure_truncates_and_is_not_scored(scripted):
    env = scripted({0: purity(0.6), 1: BROKEN})
    step(env)
    observation, reward, terminated, truncated, info = step(env)
    assert (terminated, truncated, info["episode_end"]) == (False, True, "machine_failure")
    assert info["scored"] is False
    assert info["status"] == "failed_machine"
    assert info["message"] == "the furnace tripped"
    assert reward == 0.0
    assert observation["last_score"].tolist() == [0.0, 0.0]
    assert info["episode_score"] == 0.6


def test_machine_failure_can_be_lived_with_and_is_marked(scripted):
    env = scripted({0: BROKEN}, machine_failure="continue")
    _, _, terminated, truncated, info = step(env)
    assert (terminated, truncated, info["scored"]) == (False, False, False)


def test_step_after_the_end_asks_for_a_reset(scripted):
    env = scripted(budget={"experiments": 1})
    step(env)
    with pytest.raises(ResetNeeded):
        step(env)


def test_step_before_the_first_reset_asks_for_it():
    env = SolidStateSynthesisEnv()
    with pytest.raises(ResetNeeded):
        step(env)


# ------------------------------------------------------------------------------- time and reward


def test_results_arrive_later_with_several_in_flight(scripted):
    env = scripted(
        {0: purity(0.5), 1: purity(0.6), 2: purity(0.7)},
        {0: 9 * 3600.0, 1: 3600.0, 2: 3600.0},
        parallelism=2,
        budget={"experiments": 3},
    )
    observation, reward, *_, info = step(env)
    assert (info["results"], reward) == (0, 0.0)
    assert in_flight(observation) == [1.0, 0.0]
    observation, _, *_, info = step(env)
    assert info["results"] == 1
    assert info["score"] == 0.6  # the second experiment was faster
    assert in_flight(observation) == [1.0, 0.0]
    assert observation["pending"][1] == pytest.approx(1.0)  # hours in flight
    assert observation["lab_time_h"].tolist() == [1.0]
    observation, _, _, truncated, info = step(env)
    assert truncated
    assert info["results"] == 2  # the last step waits for everything
    assert in_flight(observation) == [0.0, 0.0]


def test_rewards_add_up_to_the_best_score_less_costs(scripted):
    env = scripted({0: purity(0.5), 1: purity(0.8), 2: purity(0.7)}, budget={"experiments": 3})
    total = sum(step(env)[1] for _ in range(2))
    _, reward, *_, info = step(env)
    total += reward
    assert total == pytest.approx(0.8 - 300.0 * env.task.reward_rule.cost_share)
    assert info["episode_return"] == pytest.approx(total)
    assert info["episode_score"] == 0.8
    assert info["episode_experiments"] == 3


def test_late_result_is_not_scored(scripted):
    env = scripted({0: purity(0.9)}, {0: 7200.0}, budget={"experiments": None, "lab_time": "1 h"})
    _, reward, terminated, truncated, info = step(env)
    assert (reward, info["scored"], terminated, truncated) == (0.0, False, False, True)


def test_observation_shows_the_measurement(scripted):
    env = scripted({0: purity(0.75)})
    observation, *_ = step(env)
    column = env.task.phases.index("BaTiO3-tetragonal")
    assert observation["last_fractions"][column] == np.float32(0.75)
    assert observation["last_quality"].tolist() == [np.float32(0.05), np.float32(1.1)]
    assert observation["best_score"].tolist() == [0.75]
    assert np.array_equal(observation["best_parameters"], observation["last_parameters"])
    assert observation["history"][:3].tolist() == [1.0, 1.0, 0.75]
    assert observation["history"][3 + env.task.space.n :].max() == 0.0


def test_budget_left_counts_down(scripted):
    env = scripted(budget={"experiments": 4, "lab_time": "8 h", "cost": 1000.0})
    observation, *_ = step(env)
    assert observation["budget_left"].tolist() == pytest.approx([0.75, 0.875, 0.9])


def test_repeated_action_is_labelled_a_replicate(scripted):
    env = scripted()
    action = env.action_space.sample()
    assert env.step(action)[4]["replicate"] is False
    assert env.step(action)[4]["replicate"] is True


# ------------------------------------------------------------------------------- proposals


def test_propose_takes_any_plan():
    env = SolidStateSynthesisEnv()
    env.reset(seed=0)
    plan = {
        "operations": [
            {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]},
            {"op": "measure", "scan_time": "10 min"},
        ]
    }
    observation, *_, info = env.propose(Proposal.model_validate(plan))
    assert info["status"] == "ok"
    assert observation["last_fractions"][env.task.phases.index("witherite")] > 0.95
    assert observation["last_parameters"].max() == 0.0


def test_propose_gives_the_numbers_of_the_action_it_equals():
    env = SolidStateSynthesisEnv()
    env.action_space.seed(1)
    action = env.action_space.sample()
    env.reset(seed=3)
    by_action = env.step(action)
    env.reset(seed=3)
    proposal = env.task.space.decode(env.task.space.values_from_levels(action))
    by_plan = env.propose(Proposal.from_json(proposal.to_json()))
    assert by_plan[1] == by_action[1]
    for name, array in by_action[0].items():
        assert np.allclose(by_plan[0][name], array)


def test_impossible_plan_comes_back_invalid_with_a_message():
    env = SolidStateSynthesisEnv()
    env.reset(seed=0)
    plan = {
        "operations": [
            {"op": "dose", "precursors": [{"substance": "unobtainium", "mass": "1 g"}]},
            {"op": "measure"},
        ]
    }
    _, reward, *_, info = env.propose(Proposal.model_validate(plan))
    assert info["status"] == "invalid"
    assert "not on the shelf" in info["message"]
    assert reward == -env.task.reward_rule.invalid_penalty


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        ("continuous", np.full(11, np.nan)),
        ("continuous", np.full(11, 1.1)),
        ("continuous", np.zeros(3)),
        ("discrete", np.full(11, -1)),
        ("discrete", np.zeros(11)),
        ("discrete", np.zeros(4, dtype=int)),
    ],
)
def test_action_that_is_none_is_refused(kind, action):
    env = SolidStateSynthesisEnv(action_type=kind)
    env.reset(seed=0)
    with pytest.raises(ProposalError):
        env.step(action)


def test_rounding_error_of_float32_is_projected():
    env = SolidStateSynthesisEnv(action_type="continuous")
    env.reset(seed=0)
    env.step(np.full(env.task.space.n, np.nextafter(np.float32(1.0), np.float32(2.0))))


# ------------------------------------------------------------------------------- settings, masks


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parallelism": 0}, "parallelism must be 1 to 64"),
        ({"history": -1}, "history must be"),
        ({"action_type": "text"}, "action_type must be"),
        ({"machine_failure": "ignore"}, "machine_failure must be"),
        ({"budget": {"experiments": None}}, "at least one limit"),
        ({"budget": {"lab_time": 3}}, "no unit"),
        ({"lab": {"furnaces": 0}}, "furnaces"),
        ({"lab": {"system": "Y-Ba-Cu-O"}}, "is about Ba-Ti-C-O"),
        ({"render_mode": "human"}, "render_mode"),
    ],
)
def test_wrong_setting_says_what_is_wrong(settings, message):
    with pytest.raises(ConfigError, match=message):
        SolidStateSynthesisEnv(**settings)


def test_unknown_reset_option_is_refused():
    with pytest.raises(ConfigError, match="'difficulty'"):
        SolidStateSynthesisEnv().reset(options={"difficulty": 3})


def test_masks_without_a_limit_of_time_allow_everything():
    env = SolidStateSynthesisEnv()
    env.reset(seed=0)
    masks = env.action_masks()
    assert masks.shape == (int(env.task.space.nvec.sum()),)
    assert masks.dtype == np.bool_
    assert masks.all()


def test_masks_forbid_what_cannot_be_finished_in_time():
    env = SolidStateSynthesisEnv(budget={"experiments": None, "lab_time": "15 h"})
    env.reset(seed=0)
    space, masks = env.task.space, env.action_masks()
    edges = np.concatenate([[0], np.cumsum(space.nvec)])
    per = {name: masks[edges[k] : edges[k + 1]] for k, name in enumerate(space.names)}
    holds = space.parameters[space.names.index("hold_s")].values_of_levels()
    assert not per["hold_s"][holds > 15 * 3600].any()
    assert per["hold_s"][0]
    assert per["atmosphere"].all()
    assert all(levels.any() for levels in per.values())


def test_masked_plan_indeed_overruns():
    env = SolidStateSynthesisEnv(budget={"experiments": None, "lab_time": "15 h"})
    env.reset(seed=0)
    levels = np.zeros(env.task.space.n, dtype=int)
    levels[env.task.space.names.index("hold_s")] = 11
    *_, truncated, info = env.step(levels)
    assert truncated
    assert info["lab_time_s"] > 15 * 3600


def test_continuous_actions_have_no_masks():
    env = SolidStateSynthesisEnv(action_type="continuous")
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="only discrete"):
        env.action_masks()


def test_rendering_tells_budget_best_and_phases():
    env = gym.make(NAME, render_mode="ansi", budget={"experiments": 5})
    env.reset(seed=1)
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    text = env.render()
    assert "1 of 5 experiments" in text
    assert "best score" in text
    assert " ± " in text


# ------------------------------------------------------------------------------- hidden truth


def test_truth_is_in_no_observation_or_info():
    env = SolidStateSynthesisEnv(stop_on_success=False, budget={"experiments": 6})
    env.action_space.seed(2)
    env.reset(seed=4)
    seen, truths = [], []
    for _ in range(6):
        observation, *_, info = step(env)
        seen += [value for value in leaves([observation, info]) if isinstance(value, float)]
        lab = env.session.lab
        ids = [f"experiment-{index:04d}" for index in range(len(truths) + 1)]
        truths.append(audit.true_mass_fractions(lab, ids[-1]))
    conditions = lab._world.conditions
    hidden = [value for truth in truths for value in truth.values()]
    hidden += [float(value) for array in vars(conditions).values() for value in np.ravel(array)]
    hidden = [value for value in hidden if value not in {0.0, 1.0}]
    assert len(hidden) > 30
    numbers = np.array(seen)
    for value in hidden:
        assert not np.any(np.abs(numbers - value) <= 1e-7 * abs(value)), value


def test_env_keeps_no_reference_to_the_truth_in_what_it_pickles():
    env = SolidStateSynthesisEnv()
    env.reset(seed=0)
    step(env)
    assert env.__getstate__()["_session"] is None
