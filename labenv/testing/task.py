"""What every task must do, beyond what its types say.

Subclass `TaskContract` and override `new_task` with a fixture that returns a function making the
task::

    class TestMyTask(TaskContract):
        @pytest.fixture
        def new_task(self):
            return create
"""

# ruff: noqa: D102 - the names of the tests say what they demand

from __future__ import annotations

import math
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from labenv.envs.synthesis import SolidStateSynthesisEnv
from labenv.envs.synthesis_vector import SolidStateSynthesisVectorEnv
from labenv.lab import Lab
from labenv.physics.structures.library import phase_library
from labenv.tasks import Session, Task
from labenv.testing.env import play, same
from labenv.testing.policy import FOREIGN
from labenv_schemas.analysis import PhaseAnalysis, PhaseFraction
from labenv_schemas.errors import ConfigError, ProposalError
from labenv_schemas.outcome import Outcome
from labenv_schemas.proposal import Proposal
from labenv_schemas.task import Budget, TaskSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from labenv_schemas.analysis import AnalysisStatus

    NewTask = Callable[[], Task]

POINTS = 30
TRIALS = 12
UNHEARD_OF = Proposal.model_validate({
    "operations": [
        {"op": "dose", "precursors": [{"substance": "unobtainium", "mass": "1 g"}]},
        {"op": "measure"},
    ]
})


def measured(
    task: Task,
    fraction: float,
    uncertainty: float = 0.0,
    status: AnalysisStatus = "ok",
    cost: float = 0.0,
) -> Outcome:
    """Return an outcome in which so much of the first target phase was measured."""
    phase = PhaseFraction(
        name=task.spec.target_phases[0],
        formula=task.spec.target,
        weight_fraction=fraction,
        uncertainty=uncertainty,
    )
    analysis = PhaseAnalysis(status=status, phases=(phase,), goodness_of_fit=1.2, r_wp=0.06)
    return Outcome(experiment_id="stand-in", status="ok", analyses=(analysis,), cost=cost)


class TaskContract:
    """Tests that every task passes; override `new_task`."""

    @pytest.fixture
    def new_task(self) -> NewTask:
        raise NotImplementedError("override new_task")

    # ------------------------------------------------------------------------------- the goal

    def test_it_is_a_task_and_every_time_the_same(self, new_task: NewTask) -> None:
        task, again = new_task(), new_task()
        assert isinstance(task, Task)
        assert again.spec == task.spec
        assert again.lab == task.lab
        assert again.reward_rule == task.reward_rule
        assert again.space.parameters == task.space.parameters
        assert TaskSpec.from_json(task.spec.to_json()) == task.spec

    def test_lab_and_target_are_of_its_material_system(self, new_task: NewTask) -> None:
        task = new_task()
        assert task.lab.system == task.spec.system
        assert all(name in phase_library() for name in task.spec.target_phases)
        assert task.target_columns  # one of them can be made, and found

    def test_it_travels_to_worker_processes(self, new_task: NewTask) -> None:
        task = new_task()
        copied = pickle.loads(pickle.dumps(task))
        middle = np.full(task.space.n, 0.5)
        assert copied.spec == task.spec
        assert copied.space.decode_unit(middle) == task.space.decode_unit(middle)

    # ------------------------------------------------------------------------------- the space

    def test_every_point_is_a_plan_that_leads_back_to_it(self, new_task: NewTask) -> None:
        space = new_task().space
        for unit in np.random.default_rng(0).random((POINTS, space.n)):
            proposal = space.decode_unit(unit)
            assert isinstance(proposal, Proposal)
            assert np.allclose(space.encode_unit(proposal), space.snap(unit), atol=1e-9)
            read_again = Proposal.from_json(proposal.to_json())
            assert space.key(space.encode_unit(read_again)) == space.key(unit)

    def test_every_level_is_a_plan_that_leads_back_to_it(self, new_task: NewTask) -> None:
        space = new_task().space
        generator = np.random.default_rng(0)
        for k, count in enumerate(space.nvec.tolist()):
            for level in range(count):
                levels = generator.integers(space.nvec)
                levels[k] = level
                values = space.values_from_levels(levels)
                assert np.allclose(space.encode(space.decode(values)), values, rtol=1e-9)

    def test_every_parameter_counts(self, new_task: NewTask) -> None:
        space = new_task().space
        for k, count in enumerate(space.nvec.tolist()):
            levels = space.nvec // 2
            plans = []
            for level in (0, count - 1):
                levels[k] = level
                plans.append(space.decode(space.values_from_levels(levels)).operations)
            assert plans[0] != plans[1] or count == 1, f"{space.names[k]} changes no plan"

    def test_plans_hold_allowed_operations_only(self, new_task: NewTask) -> None:
        task = new_task()
        for unit in np.random.default_rng(1).random((POINTS, task.space.n)):
            for operation in task.space.decode_unit(unit).operations:
                assert operation.op in task.spec.allowed_operations

    @pytest.mark.parametrize("foreign", [FOREIGN, UNHEARD_OF], ids=["bare", "unheard of"])
    def test_plans_of_another_shape_have_no_place(
        self, new_task: NewTask, foreign: Proposal
    ) -> None:
        space = new_task().space
        try:
            unit = space.encode_unit(foreign)
        except ProposalError:
            return
        assert space.decode_unit(unit).operations == foreign.operations

    def test_points_that_are_none_are_refused(self, new_task: NewTask) -> None:
        space = new_task().space
        with pytest.raises(ProposalError):
            space.decode_unit(np.full(space.n, np.nan))
        with pytest.raises(ProposalError):
            space.decode_unit(np.full(space.n + 1, 0.5))
        with pytest.raises(ProposalError):
            space.values_from_levels(space.nvec)

    # ------------------------------------------------------------------------------- the score

    def test_what_the_target_measures_is_what_counts(self, new_task: NewTask) -> None:
        task = new_task()
        values = [task.score(measured(task, fraction)).value for fraction in (0.0, 0.4, 0.8, 1.0)]
        assert all(value is not None and 0.0 <= value <= 1.0 for value in values)
        assert values == sorted(values, key=lambda value: value or 0.0)
        assert values[0] != values[-1]
        assert task.score(measured(task, 1.0)).success
        assert not task.score(measured(task, 0.0)).success

    def test_what_is_doubtful_is_worth_no_more(self, new_task: NewTask) -> None:
        task = new_task()
        sure = task.score(measured(task, 0.8)).value
        assert sure is not None
        for doubtful in (
            measured(task, 0.8, uncertainty=0.1),
            measured(task, 0.8, status="poor_fit"),
            measured(task, 0.8, status="unidentified"),
        ):
            value = task.score(doubtful).value
            assert value is not None
            assert 0.0 <= value <= sure

    @pytest.mark.parametrize("status", ["invalid", "failed_chemistry"])
    def test_what_failed_by_the_plan_scores_nothing(self, new_task: NewTask, status: str) -> None:
        score = new_task().score(_failed(status))
        assert score.value == 0.0
        assert score.reward <= 0.0
        assert not score.success

    @pytest.mark.parametrize("status", ["failed_machine", "cancelled"])
    def test_what_failed_by_the_machine_is_not_scored(self, new_task: NewTask, status: str) -> None:
        score = new_task().score(_failed(status))
        assert score.value is None
        assert score.reward == 0.0
        assert not score.success

    def test_what_was_not_measured_scores_nothing(self, new_task: NewTask) -> None:
        score = new_task().score(Outcome(experiment_id="stand-in", status="ok"))
        assert score.value == 0.0
        assert not score.success

    def test_only_what_is_better_than_before_is_rewarded(self, new_task: NewTask) -> None:
        task = new_task()
        first = task.score(measured(task, 0.8))
        assert first.value is not None
        assert first.reward > 0.0
        assert task.score(measured(task, 0.8), best_before=first.value).reward <= 0.0
        assert task.score(measured(task, 0.4), best_before=first.value).reward <= 0.0

    def test_what_costs_more_is_rewarded_no_more(self, new_task: NewTask) -> None:
        task = new_task()
        cheap, dear = (task.score(measured(task, 0.8, cost=cost)) for cost in (0.0, 1e4))
        assert cheap.value == dear.value
        assert dear.reward <= cheap.reward
        assert math.isfinite(dear.reward)

    # ------------------------------------------------------------------------------- in a lab

    def test_some_of_its_plans_can_be_carried_out(self, new_task: NewTask) -> None:
        task = new_task()
        budget = Budget(experiments=TRIALS)
        session = Session(task, Lab(task.lab, seed=0), budget)
        try:
            for unit in np.random.default_rng(2).random((TRIALS, task.space.n)):
                session.submit(task.space.decode_unit(unit))
            results = session.collect("all")
        finally:
            session.close()
        assert any(result.outcome.phase_analysis is not None for result in results)
        for result in results:
            assert result.score.value is None or 0.0 <= result.score.value <= 1.0
            assert math.isfinite(result.score.reward)

    @pytest.mark.parametrize("action_type", ["discrete", "continuous"])
    def test_an_environment_stands_on_it(self, new_task: NewTask, action_type: str) -> None:
        settings: dict[str, Any] = {"action_type": action_type, "budget": {"experiments": 3}}
        env = SolidStateSynthesisEnv(new_task(), **settings)
        given = play(env, seed=1)
        assert all(step[0] in env.observation_space for step in given)
        assert same(play(env, seed=1), given)

    def test_its_batch_plans_are_its_plans(self, new_task: NewTask) -> None:
        settings: dict[str, Any] = {"budget": {"experiments": 2}, "stop_on_success": False}
        if not hasattr(new_task().space.blueprint, "plan_batch"):
            with pytest.raises(ConfigError, match="no batch plans"):
                SolidStateSynthesisVectorEnv(2, new_task(), **settings)
            return
        native = SolidStateSynthesisVectorEnv(6, new_task(), **settings)
        single = SyncVectorEnv([lambda: SolidStateSynthesisEnv(new_task(), **settings)] * 6)
        native.action_space.seed(0)
        assert same(native.reset(seed=3)[0], single.reset(seed=3)[0])
        for _ in range(2):
            actions = native.action_space.sample()
            assert same(list(native.step(actions)[:4]), list(single.step(actions)[:4]))


def _failed(status: str) -> Outcome:
    return Outcome.model_validate({
        "experiment_id": "stand-in",
        "status": status,
        "message": "it went wrong",
    })
