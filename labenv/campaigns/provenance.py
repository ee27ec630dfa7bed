"""Where results come from: versions of what computed them, fingerprints of lab and task."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from labenv.tasks import Task
    from labenv_schemas.campaign import LabConfig

_PACKAGES = ("labenv", "numpy", "scipy", "numba", "pymatgen", "scikit-learn", "pydantic")
_DATA = ("labenv.physics/data", "labenv.physics/structures/data")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def lab_fingerprint(config: LabConfig) -> str:
    """Return a fingerprint of a lab: its configuration and the cited data behind it.

    Args:
        config: The lab.

    Returns:
        Sixteen hexadecimal digits.
    """
    digest = hashlib.blake2b(config.to_json().encode(), digest_size=8)
    for place in _DATA:
        package, _, folder = place.partition("/")
        for name, content in sorted(_contents(files(package) / folder, "")):
            digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


def task_fingerprint(task: Task) -> str:
    """Return a fingerprint of a task: its goal, its rewards and the proposals it offers.

    Args:
        task: The task.

    Returns:
        Sixteen hexadecimal digits.
    """
    parts = (task.spec.to_json(), repr(task.reward_rule), repr(task.space.parameters))
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def _contents(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    if not folder.is_dir():
        return found
    for item in folder.iterdir():
        name = f"{prefix}{item.name}"
        if item.is_dir():
            if item.name != "__pycache__":
                found += _contents(item, f"{name}/")
        elif not item.name.endswith((".py", ".pyc")):
            found.append((name, item.read_bytes()))
    return found
