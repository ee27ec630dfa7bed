"""One file a driver; the file's name is its id. Listing them imports none of them."""

from __future__ import annotations

import inspect
import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from labenv_schemas.errors import UnknownPluginError

if TYPE_CHECKING:
    from labenv_instruments.instrument import Instrument


@cache
def driver_names() -> tuple[str, ...]:
    """Return the ids of all drivers, sorted."""
    return tuple(
        sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_"))
    )


@cache
def load_driver(name: str) -> type[Instrument]:
    """Return the driver class of an id.

    Args:
        name: One of `driver_names`.

    Returns:
        The one concrete `Instrument` that the driver's file defines.

    Raises:
        UnknownPluginError: If there is no such file, or it does not define exactly one instrument
            whose `kind` is the file's name.
    """
    from labenv_instruments.instrument import Instrument

    if name not in driver_names():
        raise UnknownPluginError(f"no driver {name!r}; there are {', '.join(driver_names())}")
    module = import_module(f"{__name__}.{name}")
    found = [
        member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, Instrument)
        and not inspect.isabstract(member)
        and member.__module__ == module.__name__
    ]
    if len(found) != 1 or found[0].kind != name:
        raise UnknownPluginError(
            f"driver file {name}.py must define exactly one concrete Instrument with kind = "
            f"{name!r}; it defines {[f'{c.__name__} (kind {c.kind!r})' for c in found]}"
        )
    return found[0]


__all__ = ["driver_names", "load_driver"]
