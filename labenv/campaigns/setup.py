"""What a campaign file stands for: its task, policy and budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labenv.campaigns.published_phases import unknown_phases
from labenv.campaigns.recipe_policy import RecipePolicy
from labenv.policies import Policy, make_policy
from labenv.tasks import Task, make_task
from labenv_schemas.errors import ConfigError
from labenv_schemas.faults import first_lines
from labenv_schemas.task import Budget

if TYPE_CHECKING:
    from labenv_schemas.campaign import CampaignConfig


def policy_name(config: CampaignConfig) -> str:
    """Return the name under which a campaign's policy is recorded.

    Args:
        config: The campaign.

    Returns:
        The policy's name, or ``"recipes"`` if the campaign replays recipes.
    """
    return "recipes" if config.recipes else config.policy.name


def check_campaign(config: CampaignConfig) -> Task:
    """Make sure that a campaign can be run, before anything is written down.

    Args:
        config: The campaign.

    Returns:
        Its task.

    Raises:
        ConfigError: If task and lab do not go together, the policy's options are wrong, or a recipe
            names a phase that cannot be found.
    """
    policy_of(config)
    task = task_of(config)
    faults = unknown_phases(config)
    if faults:
        raise ConfigError("\n".join(first_lines([str(fault) for fault in faults])))
    return task


def task_of(config: CampaignConfig) -> Task:
    """Return the task of a campaign.

    Args:
        config: The campaign.

    Returns:
        The task.

    Raises:
        ConfigError: If the lab has another material system.
    """
    task = goal_task(config)
    if task.spec.system != config.lab.system:
        raise ConfigError(
            f"task {config.task!r} belongs to {task.spec.system}, but the lab of this campaign has "
            f"{config.lab.system}; set lab.system to {task.spec.system!r} or choose another task"
        )
    return task


def goal_task(config: CampaignConfig) -> Task:
    """Return the task of a campaign with the file's own goal, whatever its lab.

    Args:
        config: The campaign.

    Returns:
        The task.
    """
    task = make_task(config.task)
    if config.goal is None:
        return task
    return replace(task, spec=task.spec.model_copy(update={"goal_fraction": config.goal}))


def policy_of(config: CampaignConfig) -> Policy:
    """Return the policy of a campaign, to be reset before use.

    Args:
        config: The campaign.

    Returns:
        The policy; one that replays the recipes if there are any.
    """
    if config.recipes:
        return RecipePolicy(config.recipes)
    return make_policy(config.policy.name, **config.policy.options)


def budget_of(config: CampaignConfig, task: Task) -> Budget:
    """Return what a campaign may spend.

    Args:
        config: The campaign.
        task: Its task.

    Returns:
        The file's budget, or the task's; of recipes never more than there are.
    """
    budget = config.budget or task.spec.budget
    if not config.recipes:
        return budget
    count = len(config.recipes)
    asked = config.budget.experiments if config.budget is not None else None
    limits = {"experiments": count if asked is None else min(asked, count)}
    return (config.budget or Budget(experiments=count)).model_copy(update=limits)
