"""The lab file: which devices there are, where they are, and what they may be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from labenv.campaigns.config_file import by_line
from labenv.campaigns.text_files import read_text_file
from labenv.campaigns.yaml_lines import parse_yaml
from labenv.lab.bench_lock import place_of
from labenv_instruments.limits import DeviceLimits
from labenv_instruments.wire.address import parse_address
from labenv_schemas.campaign import LabConfig
from labenv_schemas.errors import ConfigError
from labenv_schemas.faults import Fault, explain

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


def load_lab(path: Path, *, system: str | None = None, any_port: bool = False) -> LabConfig:
    """Read a lab file.

    Args:
        path: A YAML file with what a campaign file has under ``lab``.
        system: Material system if the file names none.
        any_port: Whether the file's ports do not matter, so that two devices may have one.

    Returns:
        The laboratory.

    Raises:
        ConfigError: If the file cannot be read or does not fit; every fault is named with its line.
    """
    source = str(path)
    located = parse_yaml(read_text_file(path, "lab file"), source)
    if not isinstance(located.data, dict):
        raise ConfigError(f"{source}: a lab file is a list of keys, such as 'stations:'")
    data: dict[str, Any] = dict(located.data)
    if system is not None:
        data.setdefault("system", system)
    try:
        config = LabConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(by_line(explain(error, LabConfig, data), located, source)) from None
    faults = _faults(config, any_port=any_port)
    if faults:
        raise ConfigError(by_line(faults, located, source))
    return config


def _faults(config: LabConfig, *, any_port: bool) -> list[Fault]:
    """Return addresses that are none, drivers that do not exist and limits that limit nothing."""
    from labenv_instruments.drivers import load_driver

    faults: list[Fault] = []
    taken: dict[str, str] = {}
    for name, station in config.stations.items():
        place = ("stations", name)
        operations: Collection[str] = ()
        try:
            driver = load_driver(parse_address(station.address).driver or "")
            operations = driver.operations
            first = taken.setdefault(place_of(station.address), name)
            twice = first != name and not any_port and not getattr(driver, "shared", False)
            wrong = f"station {first} is at the same address; a device has one" if twice else ""
        except (ConfigError, LookupError) as error:
            wrong = str(error)
        if wrong:
            faults.append(Fault((*place, "address"), f"stations.{name}.address", wrong))
        faults += [
            Fault((*place, "limits", *fault.path), _joined(name, fault.place), fault.message)
            for fault in _limit_faults(station.limits, operations)
        ]
    return faults


def _limit_faults(limits: Mapping[str, object], operations: Collection[str]) -> list[Fault]:
    try:
        found = DeviceLimits.model_validate(limits)
    except ValidationError as error:
        return explain(error, DeviceLimits, limits)
    done = ", ".join(sorted(operations))
    return [
        Fault((name,), name, f"holds nothing back here: the device does {done}; leave it out")
        for name in found.idle(operations)
    ]


def _joined(station: str, place: str) -> str:
    return ".".join(part for part in ("stations", station, "limits", place) if part)


__all__ = ["load_lab"]
