"""Conformance suites for instruments: subclass, override one fixture, inherit the tests.

Public, for authors of drivers; never imported at run time.
"""

from labenv_instruments.still_sample import StillSample
from labenv_instruments.testing.contract import InstrumentContract

__all__ = ["InstrumentContract", "StillSample"]
