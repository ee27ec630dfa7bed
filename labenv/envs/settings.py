"""What a synthesis environment is made of; the single and the vector environment share it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from labenv.envs.ledger import LedgerShape
from labenv.tasks.task import Task, make_task
from labenv_schemas.base import parse
from labenv_schemas.campaign import LabConfig
from labenv_schemas.errors import ConfigError
from labenv_schemas.task import Budget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv.envs.actions import ActionType

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
    task: str | Task = "batio3-synthesis",
    *,
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
        task: A task or its name.
        lab: A lab, as a model or plain data; None for the task's own.
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
    goal = task if isinstance(task, Task) else make_task(task)
    bench = goal.lab if lab is None else parse(LabConfig, lab, ConfigError)
    limits = goal.spec.budget if budget is None else parse(Budget, budget, ConfigError)
    if bench.system != goal.spec.system:
        raise ConfigError(
            f"task {goal.spec.name} is about {goal.spec.system}, the lab about {bench.system}"
        )
    if not 1 <= parallelism <= 64:
        raise ConfigError(f"parallelism must be 1 to 64 proposals in flight, got {parallelism}")
    if not 0 <= history <= 1000:
        raise ConfigError(f"history must be 0 to 1000 results, got {history}")
    if action_type not in {"discrete", "continuous"}:
        raise ConfigError(f"action_type must be 'discrete' or 'continuous', not {action_type!r}")
    if machine_failure not in {"truncate", "continue"}:
        raise ConfigError(
            f"machine_failure must be 'truncate' or 'continue', not {machine_failure!r}"
        )
    return SynthesisSettings(
        goal, bench, limits, parallelism, action_type, history, stop_on_success, machine_failure
    )
