"""What every policy must do, beyond what its signature says.

Subclass `PolicyContract` and override `new_policy` with a fixture that returns a function making a
new policy::

    class TestMyPolicy(PolicyContract):
        @pytest.fixture
        def new_policy(self):
            return lambda: MyPolicy(depth=3)

The scores that the policy is told come from a stand-in for a laboratory, except in the last test.
"""

# ruff: noqa: D102 - the names of the tests say what they demand

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from labenv.lab import Lab
from labenv.policies import Policy
from labenv.tasks import Session, make_task
from labenv.testing.env import same
from labenv_schemas.errors import ProposalError
from labenv_schemas.outcome import Outcome, Score
from labenv_schemas.proposal import Proposal

if TYPE_CHECKING:
    from collections.abc import Callable

    from labenv.tasks import Task

    NewPolicy = Callable[[], Policy]

DONE = Outcome(experiment_id="stand-in", status="ok")
BROKEN = Outcome(experiment_id="stand-in", status="failed_machine", message="the furnace tripped")
NOT_SCORED = Score(value=None, reward=0.0)
FOREIGN = Proposal.model_validate({
    "operations": [
        {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]},
        {"op": "measure"},
    ]
})


def merit(task: Task, proposal: Proposal) -> float:
    """Return a stand-in for a score: smooth over the task's space, 0 to 1, best at one place."""
    try:
        unit = task.space.encode_unit(proposal)
    except ProposalError:
        return 0.1
    return float(np.exp(-np.sum(np.square(unit - 0.4)) / unit.size * 4.0))


def campaign(
    policy: Policy, task: Task, seed: int, experiments: int, in_flight: int = 1
) -> list[Proposal]:
    """Return what a policy proposes while up to `in_flight` results are outstanding, in order."""
    policy.reset(task, seed)
    proposed: list[Proposal] = []
    waiting: list[Proposal] = []
    while len(proposed) < experiments:
        proposed.append(policy.propose(tuple(waiting)))
        waiting.append(proposed[-1])
        if len(waiting) == in_flight:
            learn(policy, task, waiting.pop(0))
    return proposed


def learn(policy: Policy, task: Task, proposal: Proposal) -> None:
    """Tell a policy the stand-in's score of a proposal."""
    policy.observe(proposal, DONE, Score(value=merit(task, proposal), reward=0.0))


class PolicyContract:
    """Tests that every policy passes; override `new_policy`.

    Attributes:
        experiments: Length of the campaigns; more than the policy takes to get going.
    """

    experiments: ClassVar[int] = 14

    @pytest.fixture
    def new_policy(self) -> NewPolicy:
        raise NotImplementedError("override new_policy")

    @pytest.fixture
    def task(self) -> Task:
        """Return the task to be pursued; override it for a policy that is made for another."""
        return make_task("batio3-synthesis")

    # ------------------------------------------------------------------------------- proposals

    def test_it_is_a_policy(self, new_policy: NewPolicy) -> None:
        assert isinstance(new_policy(), Policy)
        assert new_policy() is not new_policy()

    def test_it_proposes_plans_that_can_be_written_down(
        self, new_policy: NewPolicy, task: Task
    ) -> None:
        for proposal in campaign(new_policy(), task, 0, self.experiments):
            assert isinstance(proposal, Proposal)
            assert Proposal.from_json(proposal.to_json()) == proposal

    # ------------------------------------------------------------------------------- resuming

    @pytest.mark.parametrize("in_flight", [1, 3])
    def test_same_seed_and_results_same_proposals(
        self, new_policy: NewPolicy, task: Task, in_flight: int
    ) -> None:
        first = campaign(new_policy(), task, 5, self.experiments, in_flight)
        assert campaign(new_policy(), task, 5, self.experiments, in_flight) == first

    def test_reset_forgets_everything(self, new_policy: NewPolicy, task: Task) -> None:
        policy = new_policy()
        campaign(policy, task, 9, self.experiments)
        policy.propose(())  # a proposal whose result never came
        expected = campaign(new_policy(), task, 5, self.experiments)
        assert campaign(policy, task, 5, self.experiments) == expected

    def test_global_generators_are_neither_used_nor_moved(
        self, new_policy: NewPolicy, task: Task
    ) -> None:
        expected = campaign(new_policy(), task, 5, self.experiments)
        random.seed(3)
        np.random.seed(3)  # noqa: NPY002 - the global state is what is tested
        before = (random.getstate(), copy.deepcopy(np.random.get_state()))  # noqa: NPY002
        assert campaign(new_policy(), task, 5, self.experiments) == expected
        assert random.getstate() == before[0]
        assert same(list(np.random.get_state()), list(before[1]))  # noqa: NPY002

    def test_two_policies_do_not_disturb_each_other(
        self, new_policy: NewPolicy, task: Task
    ) -> None:
        expected = campaign(new_policy(), task, 5, self.experiments)
        one, other = new_policy(), new_policy()
        one.reset(task, 5)
        other.reset(task, 6)
        seen: list[Proposal] = []
        for _ in range(self.experiments):
            seen.append(one.propose(()))
            learn(other, task, other.propose(()))
            learn(one, task, seen[-1])
        assert seen == expected

    # ------------------------------------------------------------------------------- results

    def test_results_may_come_in_any_order(self, new_policy: NewPolicy, task: Task) -> None:
        policy = new_policy()
        policy.reset(task, 0)
        for _ in range(self.experiments // 3 + 1):
            waiting: list[Proposal] = []
            for _ in range(3):
                waiting.append(policy.propose(tuple(waiting)))
            for proposal in reversed(waiting):
                learn(policy, task, proposal)
        assert isinstance(policy.propose(()), Proposal)

    def test_the_list_of_what_is_in_flight_is_left_alone(
        self, new_policy: NewPolicy, task: Task
    ) -> None:
        policy = new_policy()
        campaign(policy, task, 0, self.experiments)
        waiting = [policy.propose(())]
        waiting.append(policy.propose(waiting))
        kept = list(waiting)
        policy.propose(waiting)
        assert waiting == kept

    @pytest.mark.parametrize("status", ["invalid", "failed_chemistry"])
    def test_a_campaign_of_failures_goes_on(
        self, new_policy: NewPolicy, task: Task, status: str
    ) -> None:
        outcome = Outcome.model_validate({
            "experiment_id": "stand-in",
            "status": status,
            "message": "it cannot be",
        })
        policy = new_policy()
        policy.reset(task, 0)
        for _ in range(self.experiments):
            proposal = policy.propose(())
            assert isinstance(proposal, Proposal)
            policy.observe(proposal, outcome, Score(value=0.0, reward=-0.002))

    @pytest.mark.parametrize("status", ["failed_machine", "cancelled"])
    def test_what_has_no_score_is_survived(
        self, new_policy: NewPolicy, task: Task, status: str
    ) -> None:
        outcome = BROKEN.model_copy(update={"status": status})
        policy = new_policy()
        policy.reset(task, 0)
        for _ in range(3):
            policy.observe(policy.propose(()), outcome, NOT_SCORED)
        assert isinstance(policy.propose(()), Proposal)

    def test_what_has_no_score_teaches_nothing(self, new_policy: NewPolicy, task: Task) -> None:
        plain, told = new_policy(), new_policy()
        campaign(plain, task, 5, self.experiments)
        campaign(told, task, 5, self.experiments)
        generator = np.random.default_rng(0)
        for _ in range(4):  # plans that nobody had tried, and whose furnace tripped
            tried = task.space.decode_unit(generator.random(task.space.n))
            told.observe(tried, BROKEN, NOT_SCORED)
        assert told.propose(()) == plain.propose(())

    def test_plans_of_others_are_survived(self, new_policy: NewPolicy, task: Task) -> None:
        policy = new_policy()
        policy.reset(task, 0)
        for _ in range(self.experiments):
            policy.observe(FOREIGN, DONE, Score(value=0.5, reward=0.0))
            proposal = policy.propose((FOREIGN,))
            learn(policy, task, proposal)
        assert isinstance(policy.propose((FOREIGN,)), Proposal)

    # ------------------------------------------------------------------------------- in a lab

    def test_a_lab_takes_what_it_proposes(self, new_policy: NewPolicy, task: Task) -> None:
        policy = new_policy()
        policy.reset(task, 0)
        session = Session(task, Lab(task.lab, seed=0))
        try:
            for _ in range(3):
                ticket = session.submit(policy.propose(()))
                ((outcome, score),) = session.collect("next")
                policy.observe(session.proposal(ticket.experiment_id), outcome, score)
        finally:
            session.close()
        assert isinstance(policy.propose(()), Proposal)
