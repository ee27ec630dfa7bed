"""The contract of policies catches each fault that it is about, in a policy sound otherwise."""

from __future__ import annotations

import random
from typing import ClassVar

import numpy as np
import pytest

from labenv.policies import Policy
from labenv.tasks import make_task
from labenv.testing.policy import PolicyContract
from labenv_schemas.errors import LabEnvError

TASK = make_task("batio3-synthesis")


class Climber(Policy):
    """Steps at random from the best plan it was told of: a sound policy that learns."""

    def reset(self, task, seed):
        self.space, self.generator = task.space, np.random.default_rng(seed)
        self.best, self.best_value = np.full(task.space.n, 0.5), -1.0

    def draw(self):
        return self.generator.random(self.space.n)

    def propose(self, pending=()):
        return self.space.decode_unit(0.7 * self.best + 0.3 * self.draw())

    def observe(self, proposal, outcome, score):
        try:
            unit = self.space.encode_unit(proposal)
        except LabEnvError:
            return
        if score.value is not None and score.value > self.best_value:
            self.best, self.best_value = unit, score.value


class NoPolicy:
    def __init__(self):
        self.reset = self.propose = self.observe = lambda *_: None


class ProposesPlainData(Climber):
    def propose(self, pending=()):
        return super().propose(pending).model_dump(mode="json")


class SeedsItself(Climber):
    def reset(self, task, seed):
        super().reset(task, None)


class Remembers(Climber):
    def reset(self, task, seed):
        best = getattr(self, "best", None)
        super().reset(task, seed)
        self.best = self.best if best is None else best


class DrawsFromNumpy(Climber):
    def draw(self):
        return np.random.random(self.space.n)  # noqa: NPY002 - the fault


class MovesPythonsGenerator(Climber):
    def draw(self):
        random.random()
        return super().draw()


class SharesItsState(Climber):
    shared: ClassVar[list[float]] = []

    def reset(self, task, seed):
        super().reset(task, seed)
        self.shared.clear()

    def draw(self):
        self.shared.append(0.0)
        return (super().draw() + 0.01 * len(self.shared)) % 1.0


class AwaitsOrder(Climber):
    def reset(self, task, seed):
        super().reset(task, seed)
        self.open = []

    def propose(self, pending=()):
        self.open.append(super().propose(pending))
        return self.open[-1]

    def observe(self, proposal, outcome, score):
        assert self.open.pop(0) == proposal


class EmptiesTheList(Climber):
    def propose(self, pending=()):
        if isinstance(pending, list):
            pending.clear()
        return super().propose(pending)


class DividesByTheBest(Climber):
    def propose(self, pending=()):
        1.0 / self.best_value
        return super().propose(pending)


class ExpectsAScore(Climber):
    def observe(self, proposal, outcome, score):
        float(score.value)
        super().observe(proposal, outcome, score)


class LearnsFromTrippedFurnaces(Climber):
    def observe(self, proposal, outcome, score):
        super().observe(proposal, outcome, score)
        if score.value is None:
            self.best = 0.9 * self.best


class ExpectsItsOwnPlans(Climber):
    def observe(self, proposal, outcome, score):
        self.space.encode_unit(proposal)
        super().observe(proposal, outcome, score)


class ReadsTheScan(Climber):
    def observe(self, proposal, outcome, score):
        super().observe(proposal, outcome, score)
        if outcome.measurements:
            raise RuntimeError("what is this?")


def run(policy, test, *arguments):
    getattr(PolicyContract(), test)(policy, TASK, *arguments)


FAULTS = [
    (ProposesPlainData, "test_it_proposes_plans_that_can_be_written_down", ()),
    (SeedsItself, "test_same_seed_and_results_same_proposals", (1,)),
    (SeedsItself, "test_same_seed_and_results_same_proposals", (3,)),
    (Remembers, "test_reset_forgets_everything", ()),
    (DrawsFromNumpy, "test_global_generators_are_neither_used_nor_moved", ()),
    (MovesPythonsGenerator, "test_global_generators_are_neither_used_nor_moved", ()),
    (SharesItsState, "test_two_policies_do_not_disturb_each_other", ()),
    (AwaitsOrder, "test_results_may_come_in_any_order", ()),
    (EmptiesTheList, "test_the_list_of_what_is_in_flight_is_left_alone", ()),
    (DividesByTheBest, "test_a_campaign_of_failures_goes_on", ("invalid",)),
    (DividesByTheBest, "test_a_campaign_of_failures_goes_on", ("failed_chemistry",)),
    (ExpectsAScore, "test_what_has_no_score_is_survived", ("failed_machine",)),
    (ExpectsAScore, "test_what_has_no_score_is_survived", ("cancelled",)),
    (LearnsFromTrippedFurnaces, "test_what_has_no_score_teaches_nothing", ()),
    (ExpectsItsOwnPlans, "test_plans_of_others_are_survived", ()),
    (ReadsTheScan, "test_a_lab_takes_what_it_proposes", ()),
]


@pytest.mark.parametrize(("policy", "test", "arguments"), FAULTS)
def test_the_contract_finds_the_fault(policy, test, arguments):
    run(Climber, test, *arguments)  # it is the fault that fails, not the rest of the policy
    with pytest.raises(Exception) as fault:  # noqa: PT011 - each fault fails in its own way
        run(policy, test, *arguments)
    assert not isinstance(fault.value, NotImplementedError)


def test_what_is_no_policy_is_refused():
    with pytest.raises(AssertionError):
        PolicyContract().test_it_is_a_policy(NoPolicy)


def test_every_test_of_the_contract_is_shown_to_fail():
    tests = {name for name in vars(PolicyContract) if name.startswith("test_")}
    assert tests == {test for _, test, _ in FAULTS} | {"test_it_is_a_policy"}


class TestASoundPolicy(PolicyContract):
    @pytest.fixture
    def new_policy(self):
        return Climber
