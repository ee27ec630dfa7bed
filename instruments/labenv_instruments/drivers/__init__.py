"""One file a driver; the file's name is its id. Listing them imports none of them.

Other distributions add drivers through the entry-point group `labenv.instruments`:
``hot_plate = "my_lab.hot_plate:HotPlate"``.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labenv_instruments.device_registry import DeviceRegistry
    from labenv_instruments.instrument import Instrument


@cache
def driver_names() -> tuple[str, ...]:
    """Return the ids of all drivers, sorted."""
    return _registry().names(__path__)


@cache
def load_driver(name: str) -> type[Instrument]:
    """Return the driver class of an id.

    Args:
        name: One of `driver_names`.

    Returns:
        The one concrete `Instrument` that the driver's file defines, or that its entry point names.

    Raises:
        UnknownPluginError: If there is no such driver, or its file does not define exactly one
            instrument whose `kind` is the id.
        InstrumentError: If another distribution's driver cannot be imported.
    """
    return _registry().load(name, __path__)


def _registry() -> DeviceRegistry[Instrument]:
    from labenv_instruments.device_registry import DeviceRegistry
    from labenv_instruments.instrument import Instrument

    # The registry names classes and never makes one, so an abstract base is what is meant.
    return DeviceRegistry("driver", __name__, "labenv.instruments", Instrument, "kind")  # type: ignore[type-abstract]


__all__ = ["driver_names", "load_driver"]
