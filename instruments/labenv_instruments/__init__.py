"""Instrument drivers, their twins, and the files that instruments write.

Usable without labenv: `load_driver` gives the class of a device, `InProcessTwin` the base of a
simulated one, `labenv_instruments.testing` the tests that any instrument must pass.
"""

from labenv_instruments.drivers import driver_names, load_driver
from labenv_instruments.instrument import Instrument, InstrumentRequest, InstrumentState
from labenv_instruments.sample_view import SampleView
from labenv_instruments.twin import InProcessTwin

__all__ = [
    "InProcessTwin",
    "Instrument",
    "InstrumentRequest",
    "InstrumentState",
    "SampleView",
    "driver_names",
    "load_driver",
]
