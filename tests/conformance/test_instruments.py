"""Every driver passes the conformance suite; a new driver file is tested without a new test."""

from __future__ import annotations

import pytest

from labenv_instruments import InProcessTwin, driver_names, load_driver
from labenv_instruments.testing import InstrumentContract

DOSE = {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]}
EXAMPLES = {
    "dosing_balance": (
        (DOSE,),
        (
            {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 kg"}]},
            {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 ug"}]},
        ),
    ),
    "ball_mill": (
        ({"op": "mix", "duration": "1 h"}, {"op": "regrind"}),
        ({"op": "mix", "duration": "6 days"}, {"op": "regrind", "duration": "1 day"}),
    ),
    "pellet_press": (
        ({"op": "press", "pressure": "100 MPa"},),
        ({"op": "press", "pressure": "1 Pa"}, {"op": "press", "pressure": "1.5 GPa"}),
    ),
    "tube_furnace": (
        (
            {"op": "heat", "segments": [{"target": "900 degC", "hold": "1 h"}]},
            {
                "op": "heat",
                "segments": [{"target": "900 degC"}],
                "cooling": {"rate": "2 K/min"},
            },
        ),
        (
            {"op": "heat", "segments": [{"target": "3000 degC"}]},
            {
                "op": "heat",
                "segments": [{"target": "900 degC"}],
                "cooling": {"rate": "60 K/min"},
            },
        ),
    ),
    "cryostat": (
        ({"op": "measure_resistance"},),
        (
            {"op": "measure_resistance", "current": "1 A"},
            {"op": "measure_resistance", "field": "20 T"},
            {"op": "measure_resistance", "temperature_min": "1 K"},
        ),
    ),
    "magnetometer": (
        ({"op": "measure_magnetisation"},),
        (
            {"op": "measure_magnetisation", "field": "0 T"},
            {"op": "measure_magnetisation", "chip": "1 g"},
            {"op": "measure_magnetisation", "temperature_max": "500 K"},
        ),
    ),
    "analytical_balance": (({"op": "weigh"},), ({"op": "weigh", "repeats": 900},)),
    "gas_pycnometer": (
        ({"op": "measure_density"},),
        ({"op": "measure_density", "purges": 1},),
    ),
    "electron_microscope": (
        ({"op": "measure_composition"},),
        ({"op": "measure_composition", "live_time": "1 s"},),
    ),
    "powder_diffractometer": (
        ({"op": "measure"},),
        ({"op": "measure", "two_theta_max_deg": 150}, {"op": "measure", "scan_time": "1 s"}),
    ),
}


IN_PROCESS = [name for name in driver_names() if issubclass(load_driver(name), InProcessTwin)]


@pytest.mark.parametrize("name", IN_PROCESS)
def test_every_driver_is_held_to_the_contract(name):
    assert name in EXAMPLES, f"add requests for {name} to EXAMPLES: good ones and bad ones"


def suite(name):
    """Return the contract's tests for one driver."""

    class Suite(InstrumentContract):
        good, bad = EXAMPLES.get(name, ((), ()))

        @pytest.fixture
        def new_instrument(self):
            return load_driver(name)

    Suite.__name__ = Suite.__qualname__ = f"Test_{name}"
    return Suite


for _name in IN_PROCESS:
    globals()[f"Test_{_name}"] = suite(_name)
