"""The campaign file: read, checked, and complained about by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from labenv.campaigns.published_phases import unknown_phases
from labenv.campaigns.text_files import read_text_file
from labenv.campaigns.yaml_lines import LocatedData, parse_yaml
from labenv.policies.base import policy_catalogue
from labenv.tasks.task import task_catalogue
from labenv_schemas.base import parse
from labenv_schemas.campaign import CampaignConfig
from labenv_schemas.errors import ConfigError, UnknownPluginError
from labenv_schemas.faults import Fault, explain, first_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from labenv.tasks.plugins import PluginCatalogue


def load_campaign(path: Path) -> CampaignConfig:
    """Read a campaign file.

    Args:
        path: A YAML file (JSON is YAML too) in UTF-8, or UTF-16 with a byte order mark.

    Returns:
        The campaign.

    Raises:
        ConfigError: If the file cannot be read or does not fit; every fault is named with its line,
            and an unknown key with the key that was probably meant.
    """
    return parse_campaign(read_text_file(path, "campaign file"), str(path))


def with_overrides(
    config: CampaignConfig,
    *,
    policy: str | None = None,
    experiments: int | None = None,
    seed: int | None = None,
    goal: float | None = None,
) -> CampaignConfig:
    """Return a campaign with some settings replaced, as options of a command line do.

    Args:
        config: The campaign.
        policy: Name of another policy, which gets its default options.
        experiments: Another number of experiments; other limits of the budget stay.
        seed: Another seed.
        goal: Another score that is success; it ends the campaign unless the file says otherwise.

    Returns:
        The campaign.

    Raises:
        ConfigError: If another policy is asked of a list of recipes, or a number is out of range.
    """
    data: dict[str, Any] = config.model_dump(mode="json")
    if policy is not None:
        if config.recipes:
            raise ConfigError(
                f"{config.name!r} replays recipes, which no policy proposes; leave out --policy"
            )
        if policy != config.policy.name:
            data["policy"] = {"name": policy}
    if experiments is not None:
        data["budget"] = {**(data["budget"] or {}), "experiments": experiments}
    if seed is not None:
        data["seed"] = seed
    if goal is not None:
        data["goal"] = goal
    return parse(CampaignConfig, data, ConfigError)


def parse_campaign(text: str, source: str = "campaign") -> CampaignConfig:
    """Read a campaign from YAML text.

    Args:
        text: The document.
        source: Name of the file, for messages.

    Returns:
        The campaign.

    Raises:
        ConfigError: As `load_campaign`.
    """
    located = parse_yaml(text, source)
    if not isinstance(located.data, dict):
        kinds = {type(None): "empty", list: "a list", str: "plain text"}
        found = kinds.get(type(located.data), f"a {type(located.data).__name__}")
        raise ConfigError(
            f"{source}: the file is {found}; a campaign is a list of keys, beginning with 'name:'"
        )
    try:
        config = CampaignConfig.model_validate(located.data)
    except ValidationError as error:
        own, twice = _file_faults(located.data), _named_twice(located.data, located)
        faults = [
            fault
            for fault in explain(error, CampaignConfig, located.data)
            if fault.path or not twice  # the model says of the whole file what we say by line
        ]
        faults += [*own, *twice]
        raise ConfigError(by_line(faults, located, source)) from None
    wrong = [*_file_faults(located.data), *unknown_phases(config)]
    if wrong:
        raise ConfigError(by_line(wrong, located, source))
    return config


def _file_faults(data: dict[str, Any]) -> list[Fault]:
    """Return what a file says in vain: unknown names, a policy beside recipes, no recipes."""
    faults: list[Fault] = []
    task, policy = data.get("task"), data.get("policy")
    if isinstance(task, dict):
        task = task.get("name")
    if isinstance(task, str):
        faults += _unknown_name(("task",), task.partition(":")[0], task_catalogue)
    if isinstance(policy, dict) and isinstance(policy.get("name"), str):
        faults += _unknown_name(("policy", "name"), policy["name"], policy_catalogue)
    if "recipes" in data and not data["recipes"]:
        faults.append(Fault(("recipes",), "recipes", "the list is empty; leave the key out"))
    elif "recipes" in data and "policy" in data:
        message = "recipes are replayed without a policy; leave out 'policy' or 'recipes'"
        faults.append(Fault(("policy",), "policy", message))
    return faults


def _named_twice(data: dict[str, Any], located: LocatedData) -> list[Fault]:
    """Return a fault for every recipe that has the name of an earlier one."""
    given = data.get("recipes")
    recipes: list[Any] = given if isinstance(given, list) else []
    faults: list[Fault] = []
    first: dict[str, int] = {}
    for place, recipe in enumerate(recipes):
        name: Any = recipe.get("name") if isinstance(recipe, dict) else None
        if not isinstance(name, str):
            continue
        earlier = first.setdefault(name, place)
        if earlier != place:
            line = located.line(("recipes", earlier, "name"))
            message = (
                f"recipe names must differ; {name!r} is that of recipes[{earlier}], line {line}"
            )
            faults.append(Fault(("recipes", place, "name"), f"recipes[{place}].name", message))
    return faults


def _unknown_name(path: tuple[str, ...], name: str, catalogue: PluginCatalogue) -> list[Fault]:
    try:
        catalogue.check(name)
    except UnknownPluginError as error:
        return [Fault(path, ".".join(path), str(error))]
    return []


def by_line(faults: Sequence[Fault], located: LocatedData, source: str) -> str:
    """Return faults in words, each with its line in the file.

    Args:
        faults: What is wrong.
        located: The file's content, which knows its lines.
        source: Name of the file.

    Returns:
        One fault a line, in the file's order.
    """
    placed = sorted(((located.line(fault.path), fault) for fault in faults), key=_line_first)
    return "\n".join(
        first_lines([
            f"{source}:{line}: {fault}" if line is not None else f"{source}: {fault}"
            for line, fault in placed
        ])
    )


def _line_first(placed: tuple[int | None, Fault]) -> int:
    return placed[0] or 0
