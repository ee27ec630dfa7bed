"""What drivers on a wire are made of: addresses, bounded connections, a life cycle."""

from labenv_instruments.wire.address import Address, parse_address
from labenv_instruments.wire.connection import Connection
from labenv_instruments.wire.driver import WireDriver

__all__ = ["Address", "Connection", "WireDriver", "parse_address"]
