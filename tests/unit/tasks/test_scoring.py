import pytest

from labenv.tasks import make_task
from labenv_schemas import Outcome, PhaseAnalysis, PhaseFraction


@pytest.fixture(scope="module")
def task():
    return make_task("batio3-synthesis")


def outcome(status="ok", fraction=0.9, uncertainty=0.01, fit="ok", cost=0.0):
    target = PhaseFraction(
        name="BaTiO3-tetragonal",
        formula="BaTiO3",
        weight_fraction=fraction,
        uncertainty=uncertainty,
    )
    rest = PhaseFraction(
        name="rutile", formula="TiO2", weight_fraction=1 - fraction, uncertainty=uncertainty
    )
    analysis = PhaseAnalysis(status=fit, phases=(target, rest), goodness_of_fit=1.0, r_wp=0.1)
    return Outcome(
        experiment_id="x",
        status=status,
        message=None if status == "ok" else "because",
        analyses=(analysis,) if status == "ok" else (),
        cost=cost,
    )


@pytest.mark.parametrize(("fit", "gate"), [("ok", 1.0), ("poor_fit", 0.5), ("unidentified", 0.0)])
def test_score_is_the_gated_purity_less_its_uncertainty(task, fit, gate):
    assert task.score(outcome(fit=fit)).value == pytest.approx(gate * 0.89)


def test_uncertainty_larger_than_the_fraction_scores_0(task):
    assert task.score(outcome(fraction=0.01, uncertainty=0.2)).value == 0.0


def test_reward_is_improvement_less_cost(task):
    score = task.score(outcome(cost=1000.0), best_before=0.8)
    assert score.reward == pytest.approx(0.09 - task.reward_rule.cost_share * 1000.0)
    assert task.score(outcome(), best_before=0.95).reward == 0.0


def test_rewards_add_up_to_the_best_score_whatever_the_order(task):
    for fractions in ([0.3, 0.9, 0.5], [0.9, 0.5, 0.3]):
        best = total = 0.0
        for fraction in fractions:
            score = task.score(outcome(fraction=fraction), best)
            best = max(best, score.value)
            total += score.reward
        assert total == pytest.approx(0.89)


@pytest.mark.parametrize("status", ["failed_machine", "cancelled"])
def test_what_teaches_nothing_has_no_score(task, status):
    score = task.score(outcome(status=status, cost=500.0))
    assert score.value is None
    assert score.reward == 0.0


def test_invalid_and_failed_chemistry_score_0_and_invalid_is_penalised(task):
    invalid, molten = task.score(outcome("invalid")), task.score(outcome("failed_chemistry"))
    assert (invalid.value, molten.value) == (0.0, 0.0)
    assert invalid.reward == -task.reward_rule.invalid_penalty
    assert invalid.reason == "because"
    assert molten.reward == 0.0


def test_success_is_the_goal_shown_beyond_the_uncertainty(task):
    assert task.score(outcome(fraction=0.996, uncertainty=0.005)).success
    assert not task.score(outcome(fraction=0.996, uncertainty=0.01)).success


def test_outcome_without_measurement_scores_0(task):
    bare = Outcome(experiment_id="x", status="ok")
    assert task.score(bare).value == 0.0
    assert "end with a scan" in task.score(bare).reason
    assert '{"op": "measure"}' in task.score(bare).reason
