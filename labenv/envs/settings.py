"""What a synthesis environment is made of; the single and the vector environment share it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from labenv.envs.ledger import LedgerShape
from labenv.tasks.options import check_option_names, check_whole_number, option_names
from labenv.tasks.task import Task, make_task
from labenv_schemas.base import Model, parse
from labenv_schemas.campaign import LabConfig
from labenv_schemas.errors import ConfigError
from labenv_schemas.task import Budget

if TYPE_CHECKING:
    from labenv.envs.actions import ActionType

M = TypeVar("M", bound=Model)

DEFAULT_TASK = "batio3-synthesis"

MachineFailure = Literal["truncate", "continue"]


@dataclass(frozen=True)
class SynthesisSettings:
    """A task, a lab and the rules of an episode.

    Attributes:
        task: The goal.
        lab: What the laboratory has.
        budget: What an episode may spend.
        parallelism: Proposals in flight at most.
        action_type: Kind of action space.
        history: Results shown in the observation.
        stop_on_success: Whether reaching the goal ends the episode.
        machine_failure: "truncate" to end the episode when a machine fails, "continue" to go on.
    """

    task: Task
    lab: LabConfig
    budget: Budget
    parallelism: int
    action_type: ActionType
    history: int
    stop_on_success: bool
    machine_failure: MachineFailure

    @property
    def ledger_shape(self) -> LedgerShape:
        """Sizes of the ledger."""
        return LedgerShape(self.task.space.n, len(self.task.phases), self.parallelism, self.history)


def make_settings(  # noqa: PLR0913 - the arguments of gym.make
    task: str | Task | None = None,
    *,
    target: str | None = None,
    lab: LabConfig | Mapping[str, Any] | None = None,
    budget: Budget | Mapping[str, Any] | None = None,
    parallelism: int = 1,
    action_type: ActionType = "discrete",
    history: int = 8,
    stop_on_success: bool = True,
    machine_failure: MachineFailure = "truncate",
) -> SynthesisSettings:
    """Return checked settings.

    Args:
        task: A task or its name; None for ``"batio3-synthesis"``, or with a target for
            ``"synthesis"``.
        target: Formula of what is to be made, which the task must take.
        lab: A lab, as a model or plain data, which has the task's system where it names none;
            None for the task's own.
        budget: A budget, as a model or plain data; None for the task's own.
        parallelism: Proposals in flight at most, 1 to 64.
        action_type: "discrete" or "continuous".
        history: Results shown in the observation, 0 to 1000.
        stop_on_success: Whether reaching the goal ends the episode.
        machine_failure: "truncate" or "continue".

    Returns:
        The settings.

    Raises:
        ConfigError: If an argument is out of range, or the lab is for another material system.
    """
    goal = _goal(task, target)
    if isinstance(lab, Mapping):
        lab = {"system": goal.spec.system, **lab}
    bench = goal.lab if lab is None else _parsed("lab", LabConfig, lab)
    limits = goal.spec.budget if budget is None else _parsed("budget", Budget, budget)
    if bench.system != goal.spec.system:
        raise ConfigError(
            f"task {goal.spec.name} is about {goal.spec.system}, the lab about {bench.system}"
        )
    check_whole_number("parallelism", parallelism, 1, 64)
    check_whole_number("history", history, 0, 1000)
    _check_one_of("action_type", action_type, "discrete", "continuous")
    _check_one_of("machine_failure", machine_failure, "truncate", "continue")
    _check_flag("stop_on_success", stop_on_success)
    return SynthesisSettings(
        goal,
        bench,
        limits,
        int(parallelism),
        action_type,
        int(history),
        stop_on_success,
        machine_failure,
    )


def _goal(task: str | Task | None, target: str | None) -> Task:
    """Return the task that a user means by a task and a target.

    Raises:
        ConfigError: If a task that is made already, or one of a target of its own, is given one.
    """
    if target is None:
        task = DEFAULT_TASK if task is None else task
        return task if isinstance(task, Task) else make_task(task)
    if isinstance(task, Task):
        raise ConfigError(
            f"the task {task.spec.name!r} is made already; leave out target={target!r}"
        )
    if task == DEFAULT_TASK:
        raise ConfigError(
            f"the task {task!r} has a target of its own; leave out the task, or target={target!r}"
        )
    return make_task("synthesis" if task is None else task, target=target)


def read_settings(
    task: str | Task | None, given: Mapping[str, Any], own: tuple[str, ...]
) -> SynthesisSettings:
    """Return checked settings from the arguments that a user gave by name.

    Args:
        task: A task or its name, or None.
        given: Arguments of `make_settings`, by name.
        own: Names of the environment's own arguments, to be listed with them.

    Returns:
        The settings.
    """
    known = (*(option_names(make_settings) or ()), *own)
    check_option_names("the environment", given, known)
    return make_settings(task, **given)


def _parsed(name: str, kind: type[M], data: object) -> M:
    try:
        return parse(kind, data, ConfigError)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be true or false, got {value!r}")


def _check_one_of(name: str, value: object, *choices: str) -> None:
    if not isinstance(value, str) or value not in choices:
        listed = " or ".join(map(repr, choices))
        raise ConfigError(f"{name} must be {listed}, not {value!r}")
