"""Goals: proposal spaces, scoring, and the session in which a lab pursues one."""

from labenv.tasks.parameters import Categorical, Continuous, Ordinal
from labenv.tasks.session import BudgetLeft, Result, Session
from labenv.tasks.space import ProposalSpace
from labenv.tasks.task import RewardRule, Task, make_task, task_names

__all__ = [
    "BudgetLeft",
    "Categorical",
    "Continuous",
    "Ordinal",
    "ProposalSpace",
    "Result",
    "RewardRule",
    "Session",
    "Task",
    "make_task",
    "task_names",
]
