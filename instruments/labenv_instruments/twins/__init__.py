"""One file a twin; the file's name is that of the driver that talks to it.

A twin speaks its device's wire protocol on a socket and shows what the sample in it would make the
device show. It follows a clock that is given to it and fails on demand.
"""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from labenv_schemas.errors import UnknownPluginError

if TYPE_CHECKING:
    from labenv_instruments.wire_twin import WireTwin


@cache
def twin_names() -> tuple[str, ...]:
    """Return the drivers that have a twin, sorted."""
    return tuple(
        sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    )


@cache
def load_twin(driver: str) -> type[WireTwin]:
    """Return the twin of a driver.

    Args:
        driver: Id of the driver.

    Returns:
        The one concrete `WireTwin` that its file defines.

    Raises:
        UnknownPluginError: If the driver has no twin, or the file does not define exactly one.
    """
    from labenv_instruments.wire_twin import WireTwin

    if driver not in twin_names():
        raise UnknownPluginError(
            f"driver {driver!r} has no twin; these have one: {', '.join(twin_names())}"
        )
    module = import_module(f"{__name__}.{driver}")
    found = [
        member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, WireTwin)
        and not inspect.isabstract(member)
        and member.__module__ == module.__name__
    ]
    if len(found) != 1 or found[0].driver != driver:
        raise UnknownPluginError(
            f"twin file {driver}.py must define exactly one concrete WireTwin with driver = "
            f"{driver!r}; it defines {[c.__name__ for c in found]}"
        )
    return found[0]


__all__ = ["load_twin", "twin_names"]
