import builtins
import sys

import numpy as np
import pytest

from labenv.policies import Policy, make_policy, policy_names
from labenv.tasks import make_task
from labenv_schemas import Outcome, Proposal, Score
from labenv_schemas.errors import ConfigError, UnknownPluginError

TASK = make_task("batio3-synthesis")
SPACE = TASK.space
OUTCOME = Outcome(experiment_id="x", status="ok")


def merit(proposal):
    """A smooth stand-in for a laboratory, best at one place, 0 in the wrong gas."""
    unit = SPACE.encode_unit(proposal)
    named = dict(zip(SPACE.names, unit, strict=True))
    distance = ((named["barium_per_titanium"] - 0.45) / 0.15) ** 2
    distance += ((named["firing_k"] - 0.7) / 0.25) ** 2 + 0.5 * (named["hold_s"] - 0.8) ** 2
    return float(np.exp(-distance)) * (1.0 if named["atmosphere"] < 0.5 else 0.4)


def score(value):
    return Score(value=value, reward=0.0)


def campaign(policy, seed, experiments, in_flight=1):
    """Return what a policy proposes, in order, with up to `in_flight` results outstanding."""
    policy.reset(TASK, seed)
    proposed, waiting = [], []
    while len(proposed) < experiments:
        proposed.append(policy.propose(tuple(waiting)))
        waiting.append(proposed[-1])
        if len(waiting) == in_flight:
            done = waiting.pop(0)
            policy.observe(done, OUTCOME, score(merit(done)))
    return proposed


def keys(proposals):
    return [SPACE.key(SPACE.encode_unit(proposal)) for proposal in proposals]


@pytest.fixture(params=policy_names())
def name(request):
    return request.param


def test_the_catalogue_lists_one_policy_a_file():
    assert {"bayesian", "random", "sobol"} <= set(policy_names())


def test_unknown_policy_lists_the_known():
    with pytest.raises(UnknownPluginError, match="bayesian, random, sobol"):
        make_policy("clairvoyant")


def test_unknown_option_names_the_policy(name):
    with pytest.raises(ConfigError, match=f"policy '{name}' does not take"):
        make_policy(name, luck=3)


def test_unknown_option_is_answered_with_those_there_are():
    with pytest.raises(ConfigError, match=r"'initia' \(did you mean 'initial'\?\); it takes ini"):
        make_policy("bayesian", initia=3)
    with pytest.raises(ConfigError, match="it takes none"):
        make_policy("random", name="x")  # `name` is an option like any other


def test_proposals_are_of_the_space(name):
    policy = make_policy(name)
    assert isinstance(policy, Policy)
    for proposal in campaign(policy, 0, 12):
        assert isinstance(proposal, Proposal)
        SPACE.encode(proposal)


def test_same_seed_and_results_same_proposals(name):
    assert campaign(make_policy(name), 5, 14, 2) == campaign(make_policy(name), 5, 14, 2)
    policy = make_policy(name)
    campaign(policy, 9, 10)
    assert campaign(policy, 5, 14, 2) == campaign(make_policy(name), 5, 14, 2)


def test_other_seed_other_proposals(name):
    assert campaign(make_policy(name), 1, 6) != campaign(make_policy(name), 2, 6)


def test_global_generator_is_neither_used_nor_moved(name):
    expected = campaign(make_policy(name), 5, 12)
    np.random.seed(3)  # noqa: NPY002 - the global state is what is tested
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert campaign(make_policy(name), 5, 12) == expected
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_no_plan_is_proposed_twice(name):
    proposed = keys(campaign(make_policy(name), 3, 25, 3))
    assert len(set(proposed)) == len(proposed)


def test_machine_failure_teaches_nothing_and_may_be_tried_again(name):
    policy = make_policy(name)
    policy.reset(TASK, 0)
    proposal = policy.propose()
    key = SPACE.key(SPACE.encode_unit(proposal))
    broken = Outcome(experiment_id="x", status="failed_machine", message="the furnace tripped")
    policy.observe(proposal, broken, Score(value=None, reward=0.0))
    assert key not in policy._seen


def test_plan_from_outside_the_space_is_ignored(name):
    policy = make_policy(name)
    policy.reset(TASK, 0)
    foreign = Proposal.model_validate({
        "operations": [
            {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]},
            {"op": "measure"},
        ]
    })
    policy.observe(foreign, OUTCOME, score(0.5))
    SPACE.encode(policy.propose([foreign]))


def test_proposing_before_reset_says_so(name):
    with pytest.raises(ConfigError, match="reset"):
        make_policy(name).propose()


def test_negative_seed_is_refused(name):
    with pytest.raises(ConfigError, match="at least 0"):
        make_policy(name).reset(TASK, -1)


# ------------------------------------------------------------------------------- Sobol


def test_sobol_covers_every_choice_evenly():
    proposals = campaign(make_policy("sobol"), 0, 64)
    units = np.array([SPACE.encode_unit(proposal) for proposal in proposals])
    for k, parameter in enumerate(SPACE.parameters):
        counts = np.bincount((units[:, k] * parameter.levels).astype(int).clip(max=3))
        if parameter.levels <= 4:
            assert counts.max() - counts.min() <= 64 * 0.15


# ------------------------------------------------------------------------------- Bayesian


def test_bayesian_beats_random_and_sobol_on_a_smooth_merit():
    best = {
        name: [max(map(merit, campaign(make_policy(name), seed, 26))) for seed in range(3)]
        for name in ("random", "sobol", "bayesian")
    }
    assert np.median(best["bayesian"]) > 0.9
    assert np.median(best["bayesian"]) > np.median(best["random"]) + 0.05
    assert np.median(best["bayesian"]) > np.median(best["sobol"]) + 0.05


def trained():
    policy = make_policy("bayesian")
    campaign(policy, 0, 20)
    return policy


def test_what_is_in_flight_changes_the_proposal():
    free = trained().propose()
    aware = trained().propose([free])
    assert keys([aware]) != keys([free])
    # the believer looks elsewhere, not one step of the grid away
    assert np.abs(SPACE.encode_unit(free) - SPACE.encode_unit(aware)).max() > 0.01


def test_failed_chemistry_teaches_to_stay_away():
    """A hundred percent at one place, and then nothing but failures around it."""
    policy = trained()
    before = SPACE.encode_unit(policy.propose())
    policy = trained()
    failure = Outcome(experiment_id="x", status="failed_chemistry", message="it melted")
    for _ in range(6):
        policy.observe(SPACE.decode_unit(before), failure, score(0.0))
    after = SPACE.encode_unit(policy.propose())
    assert np.abs(after - before).max() > 0.05


def test_machine_failure_leaves_the_model_as_it_was():
    policy = trained()
    number = len(policy._values)
    proposal = policy.propose()
    policy.observe(proposal, OUTCOME, Score(value=None, reward=0.0))
    assert len(policy._values) == number


def test_equal_scores_are_survived():
    policy = make_policy("bayesian", initial=3)
    policy.reset(TASK, 0)
    for _ in range(8):
        policy.observe(policy.propose(), OUTCOME, score(0.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"initial": 0}, "initial must be at least 1, got 0"),
        ({"candidates": -5}, "candidates must be at least 1, got -5"),
        ({"restarts": -1}, "restarts must be at least 0, got -1"),
        ({"initial": "ten"}, r"initial must be a whole number, at least 1; got 'ten' \(str\)"),
        ({"incumbents": 2.5}, r"incumbents must be a whole number, at least 1; got 2.5 \(float\)"),
        ({"neighbours": True}, r"neighbours must be a whole number, at least 1; got True \(bool\)"),
    ],
)
def test_senseless_sizes_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        make_policy("bayesian", **options)


def test_missing_scikit_learn_says_how_to_install_it(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    for module in [module for module in sys.modules if module.startswith("sklearn")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"pip install 'labenv\[bayesian\]'"):
        make_policy("bayesian")
