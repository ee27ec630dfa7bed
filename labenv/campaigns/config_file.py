"""The campaign file: read, checked, and complained about by line."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from labenv.campaigns.published_phases import unknown_phases
from labenv.campaigns.text_files import read_text_file
from labenv.campaigns.yaml_lines import LocatedData, parse_yaml
from labenv_schemas.base import parse
from labenv_schemas.campaign import CampaignConfig
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pydantic_core import ErrorDetails

_MOST_FAULTS = 20


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
        faults = _root_faults(error.errors(include_url=False))
        lines = [_explain(fault, located, source) for fault in faults[:_MOST_FAULTS]]
        if len(faults) > _MOST_FAULTS:
            lines.append(f"... and {len(faults) - _MOST_FAULTS} more")
        raise ConfigError("\n".join(lines)) from None
    wrong = [
        _at(("recipes", place, "published", "phases", name), located, source) + f": {message}"
        for place, name, message in unknown_phases(config)
    ]
    if wrong:
        raise ConfigError("\n".join(wrong[:_MOST_FAULTS]))
    return config


def _at(path: tuple[str | int, ...], located: LocatedData, source: str) -> str:
    """Return file, line and key of a place in the data."""
    line = located.line(path)
    place = f"{source}:{line}" if line is not None else source
    key = _written(path)
    return f"{place}: {key}" if key else place


def _root_faults(faults: list[ErrorDetails]) -> list[ErrorDetails]:
    """Return the faults without lists that are too short because their items were refused."""
    places = [fault["loc"] for fault in faults]
    return [
        fault
        for fault in faults
        if fault["type"] != "too_short"
        or not any(
            len(p) > len(fault["loc"]) and p[: len(fault["loc"])] == fault["loc"] for p in places
        )
    ]


def _explain(fault: ErrorDetails, located: LocatedData, source: str) -> str:
    path = _path_in_data(fault["loc"], located.data)
    place = _at(path, located, source)
    if fault["type"] == "extra_forbidden":
        return f"{place}: unknown key{_suggestion(path, located.data)}"
    if fault["type"] == "missing":
        return f"{place}: this key is missing"
    message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    given = fault.get("input")
    if fault["type"] == "string_too_short":
        wanted = _description(path, located.data)
        asks = f"; it is for: {wanted}" if wanted else ""
        return f"{place}: {given!r} is too short; write {_least(fault, 'character')}{asks}"
    if fault["type"] == "too_short":
        return f"{place}: needs {_least(fault, 'item')}"
    simple = isinstance(given, (str, int, float, bool)) and fault["type"] != "value_error"
    shown = f" (given: {given!r})" if simple else ""
    return f"{place}: {message}{shown}"


def _least(fault: ErrorDetails, what: str) -> str:
    least = fault.get("ctx", {}).get("min_length", 1)
    return f"at least {least} {what}{'s' if least != 1 else ''}"


def _description(path: Sequence[str | int], data: Any) -> str:  # noqa: ANN401 - any data
    """Return what the key at a path is for."""
    for model in _models_at(path[:-1], data):
        field = model.model_fields.get(str(path[-1]))
        if field is not None and field.description:
            return field.description
    return ""


def _path_in_data(location: Sequence[str | int], data: Any) -> tuple[str | int, ...]:  # noqa: ANN401
    """Return a pydantic location without the names of union members, which no file has."""
    path: list[str | int] = []
    here = data
    for index, part in enumerate(location):
        last = index == len(location) - 1
        if isinstance(here, dict) and (part in here or last):
            path.append(part)
            here = here.get(str(part))
        elif isinstance(here, list) and isinstance(part, int):
            path.append(part)
            here = here[part] if part < len(here) else None
    return tuple(path)


def _suggestion(path: Sequence[str | int], data: Any) -> str:  # noqa: ANN401 - any data
    wrong = str(path[-1])
    allowed = sorted(_allowed_keys(path[:-1], data))
    if not allowed:
        return ""
    near = get_close_matches(wrong, allowed, n=1, cutoff=0.6)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return f"{meant} (allowed here: {', '.join(allowed)})"


def _allowed_keys(path: Sequence[str | int], data: Any) -> set[str]:  # noqa: ANN401 - any data
    return {
        field.alias or name
        for model in _models_at(path, data)
        for name, field in model.model_fields.items()
    }


def _models_at(path: Sequence[str | int], data: Any) -> list[type[BaseModel]]:  # noqa: ANN401
    """Return the models that may stand at a path, following the data through unions."""
    models: list[type[BaseModel]] = [CampaignConfig]
    here = data
    for part in path:
        here = here[part]
        if isinstance(part, str):
            models = [
                found
                for model in models
                for name, field in model.model_fields.items()
                if part in {name, field.alias}
                for found in _models_in(field.annotation)
            ]
    if isinstance(here, dict) and "op" in here:
        tagged = [model for model in models if _tag(model) == here["op"]]
        models = tagged or models
    return models


def _tag(model: type[BaseModel]) -> object:
    field = model.model_fields.get("op")
    return field.default if field is not None else None


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _written(path: Sequence[str | int]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
