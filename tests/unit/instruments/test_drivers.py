"""Drivers are found by their file's name, and a file that breaks the rule is named."""

from __future__ import annotations

import ast
import asyncio
import sys
from pathlib import Path

import numpy as np
import pytest

import labenv_instruments
from labenv_instruments import InProcessTwin, drivers, twins
from labenv_instruments.instrument import InstrumentRequest, InstrumentState
from labenv_instruments.testing import StillSample
from labenv_instruments.trusted import trusted
from labenv_instruments.wire import WireDriver
from labenv_schemas import Diffractogram, Outcome
from labenv_schemas.errors import InstrumentError, SimulatorError, UnknownPluginError
from labenv_schemas.proposal import Measure

IN_PROCESS = (
    "analytical_balance",
    "ball_mill",
    "cryostat",
    "dosing_balance",
    "electron_microscope",
    "gas_pycnometer",
    "magnetometer",
    "pellet_press",
    "powder_diffractometer",
    "tube_furnace",
)
ON_WIRES = (
    "aeris",
    "bench_hand",
    "eurotherm",
    "keithley_2400",
    "keithley_6221",
    "lakeshore_336",
    "mt_sics",
    "multipyvu",
)
NAMES = tuple(sorted(IN_PROCESS + ON_WIRES))


@pytest.fixture
def extra_driver(tmp_path, monkeypatch):
    """Return a function that adds a driver file for the length of a test."""
    monkeypatch.setattr(drivers, "__path__", [*drivers.__path__, str(tmp_path)])

    def add(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        drivers.driver_names.cache_clear()
        drivers.load_driver.cache_clear()

    yield add
    drivers.driver_names.cache_clear()
    drivers.load_driver.cache_clear()
    for module in [m for m in sys.modules if m.startswith("labenv_instruments.drivers.extra")]:
        del sys.modules[module]


def test_the_drivers_are_those_in_the_folder():
    assert drivers.driver_names() == NAMES
    for name in NAMES:
        assert drivers.load_driver(name).kind == name


def test_every_driver_on_a_wire_has_a_twin_and_a_place_in_a_lab():
    assert twins.twin_names() == ON_WIRES
    for name in ON_WIRES:
        driver = drivers.load_driver(name)
        assert issubclass(driver, WireDriver)
        assert twins.load_twin(name).driver == name
        assert not driver.operations or driver.role in IN_PROCESS


def test_an_unknown_driver_names_those_there_are():
    with pytest.raises(UnknownPluginError, match="aeris, analytical_balance, ball_mill"):
        drivers.load_driver("robot")


def test_one_file_adds_a_driver(extra_driver):
    extra_driver(
        "extra_mill",
        "from labenv_instruments.drivers.ball_mill import BallMill\n"
        "class Mill(BallMill):\n    kind = 'extra_mill'\n",
    )
    assert "extra_mill" in drivers.driver_names()
    assert drivers.load_driver("extra_mill").__name__ == "Mill"


@pytest.mark.parametrize(
    "text",
    ["", "from labenv_instruments.drivers.ball_mill import BallMill\nclass Mill(BallMill): pass\n"],
)
def test_a_file_without_its_driver_is_named(extra_driver, text):
    extra_driver("extra_bad", text)
    with pytest.raises(UnknownPluginError, match=r"extra_bad\.py must define exactly one"):
        drivers.load_driver("extra_bad")


def test_instruments_never_import_the_laboratory():
    root = Path(labenv_instruments.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(n.split(".")[0] == "labenv" for n in names), path


class Scanner(InProcessTwin):
    """A twin whose failure can be chosen."""

    kind = "scanner"
    operations = frozenset({"measure"})
    model = "test"
    error: BaseException | None = None

    @classmethod
    def check(cls, operation):
        pass

    def perform(self, sample, operation):
        if self.error is not None:
            raise self.error
        return ()


@pytest.mark.parametrize(
    ("error", "seen"), [(OSError("bus"), InstrumentError), (SimulatorError("x"), SimulatorError)]
)
def test_a_fault_is_classified_and_needs_an_abort(error, seen):
    async def course():
        twin = Scanner()
        await twin.connect()
        twin.load(StillSample())
        await twin.prepare(InstrumentRequest(Measure(), "sample-1"))
        twin.error = error
        with pytest.raises(seen):
            await twin.run()
        assert twin.state is InstrumentState.FAULT
        assert not twin.safe
        with pytest.raises(InstrumentError, match="fault"):
            await twin.prepare(InstrumentRequest(Measure(), "sample-1"))
        await twin.abort()
        assert twin.safe

    asyncio.run(course())


def test_the_wrong_sample_is_noticed():
    async def course():
        twin = Scanner()
        await twin.connect()
        with pytest.raises(InstrumentError, match="is not in it"):
            await twin.prepare(InstrumentRequest(Measure(), "sample-1"))
        twin.load(StillSample("other"))
        with pytest.raises(InstrumentError, match="is not in it"):
            await twin.prepare(InstrumentRequest(Measure(), "sample-1"))

    asyncio.run(course())


def test_a_trusted_record_equals_a_validated_one():
    angles = np.linspace(10.0, 20.0, 5)
    angles.flags.writeable = False
    quick = trusted(Diffractogram, two_theta_deg=angles, counts=angles, provenance={})
    slow = Diffractogram(two_theta_deg=angles, counts=angles)
    assert quick == slow
    assert quick.to_json() == slow.to_json()
    assert Diffractogram.from_json(quick.to_json()) == slow
    changed = quick.model_copy(update={"sample_id": "s"})
    assert (changed.sample_id, quick.sample_id) == ("s", None)
    outcome = trusted(Outcome, experiment_id="e", status="ok")
    assert outcome == Outcome(experiment_id="e", status="ok")
    assert outcome == trusted(Outcome, experiment_id="e", status="ok")
