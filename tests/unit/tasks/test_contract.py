"""The contract of tasks catches each fault that it is about, in a task sound otherwise."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from labenv.tasks import ProposalSpace, Task, make_task
from labenv.testing.task import TaskContract
from labenv_schemas import LabConfig
from labenv_schemas.errors import ProposalError

SOUND = make_task("batio3-synthesis")
ROUTE = type(SOUND.space.blueprint)


class NamedCopy(ROUTE):
    """A blueprint of the same plans; with `plan_batch` hidden it has no batch plans."""


class OnlyOneByOne:
    """The same plans without batch plans: sound."""

    def __init__(self):
        self._route = ROUTE()

    def build(self, values):
        return self._route.build(values)

    def read(self, proposal):
        return self._route.read(proposal)


class ReadsAnotherTemperature(OnlyOneByOne):
    def read(self, proposal):
        values = super().read(proposal)
        return values | {"firing_k": 0.5 * (values["firing_k"] + 1200.0)}


class ForgetsTheLast(OnlyOneByOne):
    def read(self, proposal):
        values = super().read(proposal)
        return values | {"refirings": 0.0}


class NeverPresses(OnlyOneByOne):
    def build(self, values):
        return super().build({**values, "pressing_pa": 0.0})


class ReadsAnything(OnlyOneByOne):
    def read(self, proposal):
        try:
            return super().read(proposal)
        except ProposalError:
            middle = SOUND.space.decode_unit([0.5] * SOUND.space.n)
            return super().read(middle)


class WeighsUnobtainium(OnlyOneByOne):
    def build(self, values):
        plan = super().build(values).model_dump(mode="json")
        plan["operations"][0]["precursors"][0]["substance"] = "unobtainium"
        return type(super().build(values)).model_validate(plan)


class HoldsALambda(OnlyOneByOne):
    def __init__(self):
        super().__init__()
        self.key = lambda value: value


class BatchesCooler(NamedCopy):
    def plan_batch(self, values, shelf):
        cooler = values.copy()
        cooler[:, SOUND.space.names.index("firing_k")] -= 30.0
        return super().plan_batch(cooler, shelf)


def blueprint(kind):
    return lambda: replace(SOUND, space=ProposalSpace(SOUND.space.parameters, kind()))


def spec(**changes):
    return lambda: replace(SOUND, spec=SOUND.spec.model_copy(update=changes))


def scoring(change):
    """Return a maker of a task whose scores are changed by `change(outcome, score, before)`."""

    class Changed(Task):
        def score(self, outcome, best_before=0.0):
            score = super().score(outcome, best_before)
            return score.model_copy(update=change(outcome, score, best_before))

    return lambda: Changed(SOUND.spec, SOUND.space, SOUND.lab, SOUND.reward_rule)


def fraction(outcome):
    return outcome.phase_analysis.phases[0].weight_fraction if outcome.phase_analysis else None


class NotOutOfSpace(ProposalSpace):
    def values_from_levels(self, levels):
        return super().values_from_levels(levels % self.nvec)


COUNT = itertools.count()
DOSED = ("dose", "mix", "heat", "measure")
FAULTS = [
    (lambda: SOUND.spec, "test_it_is_a_task_and_every_time_the_same", ()),
    (
        lambda: spec(goal_fraction=0.9 + 0.01 * (next(COUNT) % 5))(),
        "test_it_is_a_task_and_every_time_the_same",
        (),
    ),
    (
        lambda: replace(SOUND, lab=LabConfig(system="Y-Ba-Cu-O")),
        "test_lab_and_target_are_of_its_material_system",
        (),
    ),
    (
        spec(target_phases=("BaTiO3-tetragonol",)),
        "test_lab_and_target_are_of_its_material_system",
        (),
    ),
    (spec(target_phases=("corundum",)), "test_lab_and_target_are_of_its_material_system", ()),
    (blueprint(HoldsALambda), "test_it_travels_to_worker_processes", ()),
    (blueprint(ReadsAnotherTemperature), "test_every_point_is_a_plan_that_leads_back_to_it", ()),
    (blueprint(ForgetsTheLast), "test_every_level_is_a_plan_that_leads_back_to_it", ()),
    (blueprint(NeverPresses), "test_every_parameter_counts", ()),
    (spec(allowed_operations=DOSED), "test_plans_hold_allowed_operations_only", ()),
    (blueprint(ReadsAnything), "test_plans_of_another_shape_have_no_place", ("FOREIGN",)),
    (blueprint(ReadsAnything), "test_plans_of_another_shape_have_no_place", ("UNHEARD_OF",)),
    (
        lambda: replace(SOUND, space=NotOutOfSpace(SOUND.space.parameters, ROUTE())),
        "test_points_that_are_none_are_refused",
        (),
    ),
    (
        scoring(lambda o, s, b: {"value": 1.0 - (fraction(o) or 0.0)}),
        "test_what_the_target_measures_is_what_counts",
        (),
    ),
    (
        scoring(lambda o, s, b: {"success": False}),
        "test_what_the_target_measures_is_what_counts",
        (),
    ),
    (
        scoring(lambda o, s, b: {"value": 0.5}),
        "test_what_the_target_measures_is_what_counts",
        (),
    ),
    (
        scoring(lambda o, s, b: {"value": 0.9} if o.phase_analysis.status != "ok" else {}),
        "test_what_is_doubtful_is_worth_no_more",
        (),
    ),
    (
        scoring(lambda o, s, b: {"value": 0.8 + o.phase_analysis.phases[0].uncertainty}),
        "test_what_is_doubtful_is_worth_no_more",
        (),
    ),
    (
        scoring(lambda o, s, b: {"value": None}),
        "test_what_failed_by_the_plan_scores_nothing",
        ("invalid",),
    ),
    (
        scoring(lambda o, s, b: {"reward": 0.1}),
        "test_what_failed_by_the_plan_scores_nothing",
        ("failed_chemistry",),
    ),
    (
        scoring(lambda o, s, b: {"value": s.value or 0.0}),
        "test_what_failed_by_the_machine_is_not_scored",
        ("failed_machine",),
    ),
    (
        scoring(lambda o, s, b: {"value": s.value or 0.0}),
        "test_what_failed_by_the_machine_is_not_scored",
        ("cancelled",),
    ),
    (
        scoring(lambda o, s, b: {"value": None} if fraction(o) is None else {}),
        "test_what_was_not_measured_scores_nothing",
        (),
    ),
    (
        scoring(lambda o, s, b: {"reward": s.value or 0.0}),
        "test_only_what_is_better_than_before_is_rewarded",
        (),
    ),
    (
        scoring(lambda o, s, b: {"reward": s.reward + 1e-3 * o.cost}),
        "test_what_costs_more_is_rewarded_no_more",
        (),
    ),
    (blueprint(WeighsUnobtainium), "test_some_of_its_plans_can_be_carried_out", ()),
    (
        scoring(lambda o, s, b: {"reward": s.reward + next(COUNT)}),
        "test_an_environment_stands_on_it",
        ("discrete",),
    ),
    (
        scoring(lambda o, s, b: {"reward": s.reward + next(COUNT)}),
        "test_an_environment_stands_on_it",
        ("continuous",),
    ),
    (blueprint(BatchesCooler), "test_its_batch_plans_are_its_plans", ()),
]


def run(new_task, test, arguments):
    from labenv.testing import task as module

    values = [getattr(module, name) if name.isupper() else name for name in arguments]
    getattr(TaskContract(), test)(new_task, *values)


@pytest.mark.parametrize(("new_task", "test", "arguments"), FAULTS)
def test_the_contract_finds_the_fault(new_task, test, arguments):
    with pytest.raises((Exception, pytest.fail.Exception)) as fault:
        run(new_task, test, arguments)
    assert not isinstance(fault.value, NotImplementedError)


def test_every_test_of_the_contract_is_shown_to_fail():
    tests = {name for name in vars(TaskContract) if name.startswith("test_")}
    assert tests == {test for _, test, _ in FAULTS}


class TestATaskWithoutBatchPlans(TaskContract):
    @pytest.fixture
    def new_task(self):
        return blueprint(OnlyOneByOne)
