import numpy as np
import pytest

from labenv.tasks import Session, make_task
from labenv_schemas import Budget, PhaseAnalysis, PhaseFraction
from labenv_schemas.errors import ConfigError, ProposalError
from tests.unit.tasks.stand_in_lab import StandInLab

TASK = make_task("batio3-synthesis")


class NoQuantifier:
    def quantify(self, diffractogram):
        raise AssertionError("nothing to quantify")


def analysed(fraction):
    phase = PhaseFraction(
        name="BaTiO3-tetragonal", formula="BaTiO3", weight_fraction=fraction, uncertainty=0.0
    )
    return {
        "analyses": (PhaseAnalysis(status="ok", phases=(phase,), goodness_of_fit=1.0, r_wp=0.1),)
    }


def plan(number=0):
    return TASK.space.decode_unit(np.random.default_rng(number).random(TASK.space.n))


def session(lab, **budget):
    return Session(TASK, lab, Budget(**(budget or {"experiments": 3})), NoQuantifier())


def test_best_score_and_cost_are_kept():
    lab = StandInLab({0: analysed(0.5), 1: analysed(0.8), 2: analysed(0.7)})
    here = session(lab)
    rewards = []
    for number in range(3):
        here.submit(plan(number))
        rewards += [result.score.reward for result in here.collect()]
    assert here.best_score == 0.8
    assert here.best is not None
    assert here.best.outcome.experiment_id == "x1"
    assert here.cost == 300.0
    assert sum(rewards) == pytest.approx(0.8 - 300.0 * TASK.reward_rule.cost_share)


def test_experiment_limit_ends_the_session():
    here = session(StandInLab(), experiments=2)
    here.submit(plan(0))
    assert not here.exhausted
    here.submit(plan(1))
    assert here.exhausted
    with pytest.raises(ConfigError, match="used up"):
        here.submit(plan(2))
    assert len(here.collect("all")) == 2


def test_result_after_the_lab_time_limit_is_not_scored():
    lab = StandInLab({0: analysed(0.5), 1: analysed(0.9)}, takes_s={0: 1800.0, 1: 7200.0})
    here = session(lab, experiments=None, lab_time_s=3600.0)
    here.submit(plan(0))
    here.submit(plan(1))
    on_time, late = here.collect("all")
    assert on_time.score.value == 0.5
    assert late.score.value is None
    assert "after the budget of 1.0 h" in late.score.reason
    assert here.best_score == 0.5
    assert here.exhausted
    assert here.left.lab_time_s == 0.0


def test_cost_limit_ends_the_session():
    here = session(StandInLab(), experiments=None, cost=150.0)
    here.submit(plan(0))
    here.collect()
    assert here.left.cost == 50.0
    here.submit(plan(1))
    here.collect()
    assert here.exhausted


def test_repeated_plan_is_labelled_a_replicate():
    here = session(StandInLab())
    first = here.submit(plan(0))
    other = here.submit(plan(1))
    again = here.submit(plan(0).model_copy(update={"rationale": "to be sure"}))
    assert here.replicate_of(again.experiment_id) == first.experiment_id
    assert here.replicate_of(first.experiment_id) is None
    assert here.replicate_of(other.experiment_id) is None


def test_recalled_results_count():
    source = session(StandInLab({0: analysed(0.6)}))
    source.submit(plan(0))
    [result] = source.collect()
    here = session(StandInLab(), experiments=2)
    here.recall(plan(0), result)
    assert here.best_score == 0.6
    assert here.left.experiments == 1
    assert here.cost == 100.0


def test_success_is_noted():
    here = session(StandInLab({0: analysed(0.995)}))
    here.submit(plan(0))
    assert here.collect()[0].score.success
    assert here.success


def test_failed_machine_is_never_the_best():
    here = session(StandInLab({0: {"status": "failed_machine", "message": "the furnace tripped"}}))
    here.submit(plan(0))
    [result] = here.collect()
    assert result.score.value is None
    assert here.best is None


def test_unknown_experiment_is_refused():
    with pytest.raises(ProposalError, match="no experiment 'x9'"):
        session(StandInLab()).proposal("x9")


def test_close_reaches_the_lab_twice():
    lab = StandInLab()
    here = session(lab)
    here.close()
    here.close()
    assert lab.closed
