"""Where a device is and which driver talks to it, in one line of text.

::

    eurotherm+tcp://10.0.0.5:502?model=3216&unit=1
    keithley_2400+visa://GPIB0::24::INSTR
    tcp://10.0.0.9:7777                              (the driver is said elsewhere)

What follows the question mark are the driver's own options. Going from a twin to a device is a
change of this text and of nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

TRANSPORTS = ("tcp", "visa")
_EXAMPLE = "write one like 'eurotherm+tcp://10.0.0.5:502?model=3216'"


@dataclass(frozen=True, slots=True)
class Address:
    """An address, taken apart.

    Attributes:
        driver: Id of the driver; None if the text names none.
        transport: One of `TRANSPORTS`.
        host: Name or number of the host; for ``visa`` the resource name.
        port: TCP port; None for the driver's usual one.
        options: What stands after the question mark, by name.
    """

    driver: str | None
    transport: str
    host: str
    port: int | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])

    def __str__(self) -> str:
        head = self.transport if self.driver is None else f"{self.driver}+{self.transport}"
        host = f"[{self.host}]" if self.transport == "tcp" and ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        tail = f"?{urlencode(dict(self.options))}" if self.options else ""
        return f"{head}://{host}{port}{tail}"

    def with_driver(self, driver: str) -> Address:
        """Return the address with a driver.

        Args:
            driver: Id of the driver.

        Returns:
            The address.

        Raises:
            ConfigError: If it names another driver.
        """
        if self.driver not in {None, driver}:
            raise ConfigError(f"address {self} is for {self.driver}, not for {driver}")
        return replace(self, driver=driver)


def parse_address(text: str) -> Address:
    """Take an address apart.

    Args:
        text: Such as ``"eurotherm+tcp://10.0.0.5:502?model=3216"``.

    Returns:
        Its parts; dashes in the driver's name become underscores.

    Raises:
        ConfigError: If the text is no address; the message says what is wrong with it.
    """
    head, found, rest = text.strip().partition("://")
    if not found:
        raise ConfigError(f"{text!r} is no address of a device: it has no '://'; {_EXAMPLE}")
    driver, plus, transport = head.rpartition("+")
    if transport not in TRANSPORTS:
        raise ConfigError(
            f"address {text!r}: {transport!r} is no way to reach a device; there are "
            f"{' and '.join(TRANSPORTS)}, so {_EXAMPLE}"
        )
    place, _, query = rest.partition("?")
    try:
        options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError:
        raise ConfigError(
            f"address {text!r}: {query!r} are no options; write name=value, joined by '&'"
        ) from None
    host, port = (place, None) if transport == "visa" else _host_and_port(place, text)
    if not host:
        raise ConfigError(f"address {text!r} names no host; {_EXAMPLE}")
    return Address(driver.replace("-", "_") if plus else None, transport, host, port, options)


def _host_and_port(place: str, text: str) -> tuple[str, int | None]:
    place = place.rstrip("/")
    host, port = place, ""
    if place.startswith("["):  # IPv6
        host, _, port = place[1:].partition("]")
        port = port.removeprefix(":")
    elif ":" in place:
        host, _, port = place.rpartition(":")
    if not port:
        return host, None
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ConfigError(f"address {text!r}: {port!r} is no TCP port; write 1 to 65535")
    return host, int(port)


__all__ = ["TRANSPORTS", "Address", "parse_address"]
