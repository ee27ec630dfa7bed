"""A materials laboratory as a reinforcement-learning environment.

Propose experiments, let a (simulated) laboratory run them, be rewarded by what was measured::

    import gymnasium as gym
    import labenv

    env = gym.make("labenv/SolidStateSynthesis-v0")

Importing labenv registers its environments with Gymnasium and imports nothing heavy; every name
below is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from labenv.registration import register_environments

if TYPE_CHECKING:
    from labenv.lab.laboratory import Lab
    from labenv.policies import Policy, make_policy, policy_names
    from labenv.store import Store
    from labenv.tasks import ProposalSpace, Session, Task, make_task, task_names
    from labenv_schemas import (
        Budget,
        CampaignConfig,
        Diffractogram,
        LabConfig,
        Measurement,
        Outcome,
        PhaseAnalysis,
        Proposal,
        Score,
        TaskSpec,
        parse_proposal,
    )
    from labenv_schemas.errors import ConfigError, LabEnvError, ProposalError

    __version__: str

_HOMES = {
    "labenv.lab.laboratory": ("Lab",),
    "labenv.policies": ("Policy", "make_policy", "policy_names"),
    "labenv.store": ("Store",),
    "labenv.tasks": ("ProposalSpace", "Session", "Task", "make_task", "task_names"),
    "labenv_schemas": (
        "Budget",
        "CampaignConfig",
        "Diffractogram",
        "LabConfig",
        "Measurement",
        "Outcome",
        "PhaseAnalysis",
        "Proposal",
        "Score",
        "TaskSpec",
        "parse_proposal",
    ),
    "labenv_schemas.errors": ("ConfigError", "LabEnvError", "ProposalError"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Budget",
    "CampaignConfig",
    "ConfigError",
    "Diffractogram",
    "Lab",
    "LabConfig",
    "LabEnvError",
    "Measurement",
    "Outcome",
    "PhaseAnalysis",
    "Policy",
    "Proposal",
    "ProposalError",
    "ProposalSpace",
    "Score",
    "Session",
    "Store",
    "Task",
    "TaskSpec",
    "make_policy",
    "make_task",
    "parse_proposal",
    "policy_names",
    "task_names",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name == "__version__":
        value = _version()
    elif name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'labenv' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("labenv")
    except PackageNotFoundError:  # the sources are on the path without being installed
        return "0+unknown"


register_environments()
