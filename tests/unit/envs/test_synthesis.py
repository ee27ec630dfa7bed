import json
from types import MappingProxyType

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import labenv  # noqa: F401 - registers
from labenv.envs.synthesis import SolidStateSynthesisEnv
from labenv.lab import audit
from labenv.tasks import Session
from labenv.testing.env import appearing, same
from labenv_schemas import PhaseAnalysis, PhaseFraction, Proposal, parse_proposal
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


PLAN = {
    "operations": [
        {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]},
        {"op": "measure", "scan_time": "10 min"},
    ]
}


@pytest.mark.parametrize(
    "written", [PLAN, MappingProxyType(PLAN), json.dumps(PLAN)], ids=["dict", "mapping", "json"]
)
def test_propose_takes_plain_data_and_json_as_it_takes_a_proposal(written):
    env = SolidStateSynthesisEnv()
    env.reset(seed=0)
    expected = env.propose(Proposal.model_validate(PLAN))
    env.reset(seed=0)
    assert same(env.propose(written), expected)


@pytest.mark.parametrize(
    "written",
    [
        {"operations": []},
        {"operation": PLAN["operations"]},
        {"operations": [{"op": "dose", "precursors": [{"substance": "BaCO3", "mass": 1}]}]},
        "{not json",
    ],
)
def test_what_is_no_plan_is_refused_as_parse_proposal_refuses_it(written):
    env = SolidStateSynthesisEnv()
    env.reset(seed=0)
    expected = env.propose(PLAN)
    env.reset(seed=0)
    with pytest.raises(ProposalError) as ours:
        env.propose(written)
    with pytest.raises(ProposalError) as theirs:
        parse_proposal(written)
    assert str(ours.value) == str(theirs.value)
    assert same(env.propose(PLAN), expected)  # nothing had moved


@pytest.mark.parametrize("written", [None, 3, [PLAN], np.zeros(11, dtype=int)])
def test_what_is_of_another_kind_is_told_what_a_plan_is(written):
    env = SolidStateSynthesisEnv()
    env.reset(seed=0)
    with pytest.raises(ProposalError, match=r"a plan is a Proposal, a mapping or JSON text, not a"):
        env.propose(written)


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
        ("continuous", np.array(["hot"] * 11)),
        ("continuous", "heat it"),
        ("discrete", np.full(11, -1)),
        ("discrete", np.full(11, 2)),
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
        ({"parallelism": "2"}, r"whole number, 1 to 64; got '2' \(str\)"),
        ({"parallelism": 2.5}, r"whole number, 1 to 64; got 2.5 \(float\)"),
        ({"history": True}, r"whole number, 0 to 1000; got True \(bool\)"),
        ({"action_type": ["discrete"]}, r"'discrete' or 'continuous', not \['discrete'\]"),
        ({"stop_on_success": "no"}, "true or false, got 'no'"),
        ({"budget": 20}, "^budget: 20 is not an object"),
        ({"budget": {"experiment": 20}}, "^budget: .*did you mean 'experiments'"),
        ({"lab": "large"}, "^lab: 'large' is not an object"),
        (
            {"parallel": 2},
            r"'parallel' \(did you mean 'parallelism'\?\); it takes task, target, lab, bud",
        ),
        ({"stop_on_sucess": False, "x": 1}, r"mean 'stop_on_success'\?\), 'x'; it takes"),
        ({"seed": 3}, "'seed'; it takes"),
        ({"task": "batio3-synthesis", "target": "LiCoO2"}, "has a target of its own; leave out"),
    ],
)
@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_wrong_setting_says_what_is_wrong(make, settings, message):
    with pytest.raises(ConfigError, match=message):
        make(NAME, **settings)


def test_unknown_render_mode_is_refused():
    with pytest.raises(ConfigError, match="render_mode must be 'ansi' or None, not 'human'"):
        SolidStateSynthesisEnv(render_mode="human")
    with pytest.raises(TypeError):  # as Stable-Baselines3's make_vec_env expects, and does without
        SolidStateSynthesisEnv(render_mode="rgb_array")


def test_numpy_integers_are_whole_numbers():
    env = SolidStateSynthesisEnv(parallelism=np.int64(2), history=np.int32(3))
    assert (env.parallelism, env.settings.history) == (2, 3)
    assert type(env.parallelism) is int


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


def hidden_numbers(env, experiments):
    """Return what only the lab knows: what its samples truly are, and its hidden conditions."""
    lab = env.session.lab
    ids = [f"experiment-{index:04d}" for index in range(experiments)]
    truths = [value for name in ids for value in audit.true_mass_fractions(lab, name).values()]
    conditions = vars(lab._world.conditions).values()
    return truths + [float(value) for array in conditions for value in np.ravel(array)]


def everything_seen(experiments=6):
    """Return all that an episode gives, and what is hidden in it."""
    env = SolidStateSynthesisEnv(stop_on_success=False, budget={"experiments": experiments})
    env.action_space.seed(2)
    seen = [env.reset(seed=4)] + [step(env) for _ in range(experiments)]
    return seen, hidden_numbers(env, experiments)


def test_truth_is_in_no_observation_or_info():
    seen, hidden = everything_seen()
    assert len(set(hidden)) > 30
    assert appearing(hidden, seen) == []


@pytest.mark.parametrize(
    "leaked",
    [
        lambda info, value: info.update(purity=value),
        lambda info, value: info.update(message=f"it is {value!r} pure"),
        lambda info, value: info.update(debug={"sample": [np.float32([value])]}),
    ],
    ids=["number", "text", "single precision"],
)
def test_truth_in_an_info_would_be_found(leaked, monkeypatch):
    state = SolidStateSynthesisEnv._state_info
    true_values = []

    def leaking(env):
        info = state(env)
        if env._ledger.submitted[0] == 3:
            truth = audit.true_mass_fractions(env.session.lab, "experiment-0001")
            true_values.append(max(value for value in truth.values() if value < 1.0))
            leaked(info, true_values[-1])
        return info

    monkeypatch.setattr(SolidStateSynthesisEnv, "_state_info", leaking)
    seen, hidden = everything_seen()
    assert appearing(hidden, seen) == true_values


@pytest.mark.parametrize("key", ["last_fractions", "history"])
def test_truth_in_an_observation_would_be_found(key, monkeypatch):
    observation = SolidStateSynthesisEnv._observation

    def leaking(env):
        arrays = observation(env)
        if env._ledger.submitted[0] == 3:
            truth = audit.true_mass_fractions(env.session.lab, "experiment-0001")
            arrays[key][0] = max(value for value in truth.values() if value < 1.0)
        return arrays

    monkeypatch.setattr(SolidStateSynthesisEnv, "_observation", leaking)
    seen, hidden = everything_seen()
    assert len(appearing(hidden, seen)) == 1


def test_env_keeps_no_reference_to_the_truth_in_what_it_pickles():
    env = SolidStateSynthesisEnv()
    env.reset(seed=0)
    step(env)
    assert env.__getstate__()["_session"] is None
