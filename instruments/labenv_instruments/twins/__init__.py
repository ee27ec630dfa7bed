"""One file a twin; the file's name is that of the driver that talks to it.

A twin speaks its device's wire protocol on a socket and shows what the sample in it would make the
device show. It follows a clock that is given to it and fails on demand. Other distributions add
twins through the entry-point group `labenv.twins`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labenv_instruments.device_registry import DeviceRegistry
    from labenv_instruments.wire_twin import WireTwin


@cache
def twin_names() -> tuple[str, ...]:
    """Return the drivers that have a twin, sorted."""
    return _registry().names(__path__)


@cache
def load_twin(driver: str) -> type[WireTwin]:
    """Return the twin of a driver.

    Args:
        driver: Id of the driver.

    Returns:
        The one concrete `WireTwin` that its file defines, or that its entry point names.

    Raises:
        UnknownPluginError: If the driver has no twin, or its file does not define exactly one.
        InstrumentError: If another distribution's twin cannot be imported.
    """
    return _registry().load(driver, __path__)


def _registry() -> DeviceRegistry[WireTwin]:
    from labenv_instruments.device_registry import DeviceRegistry
    from labenv_instruments.wire_twin import WireTwin

    return DeviceRegistry("twin", __name__, "labenv.twins", WireTwin, "driver")  # type: ignore[type-abstract]


__all__ = ["load_twin", "twin_names"]
