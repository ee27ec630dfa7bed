"""The campaign file: read, checked, and complained about by line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from labenv.campaigns.published_phases import unknown_phases
from labenv.campaigns.text_files import read_text_file
from labenv.campaigns.yaml_lines import LocatedData, parse_yaml
from labenv_schemas.base import parse
from labenv_schemas.campaign import CampaignConfig
from labenv_schemas.errors import ConfigError
from labenv_schemas.faults import explain, first_lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from labenv_schemas.faults import Fault


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
) -> CampaignConfig:
    """Return a campaign with some settings replaced, as options of a command line do.

    Args:
        config: The campaign.
        policy: Name of another policy, which gets its default options.
        experiments: Another number of experiments; other limits of the budget stay.
        seed: Another seed.

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
        faults = explain(error, CampaignConfig, located.data)
        raise ConfigError(_by_line(faults, located, source)) from None
    wrong = unknown_phases(config)
    if wrong:
        raise ConfigError(_by_line(wrong, located, source))
    return config


def _by_line(faults: Sequence[Fault], located: LocatedData, source: str) -> str:
    """Return the faults, each with its line in the file."""
    lines: list[str] = []
    for fault in faults:
        line = located.line(fault.path)
        lines.append(f"{source}:{line}: {fault}" if line is not None else f"{source}: {fault}")
    return "\n".join(first_lines(lines))
