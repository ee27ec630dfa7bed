"""Help, version, catalogues; and how soon they come."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

COMMANDS = ("run", "report", "list", "show", "export", "analyse", "envs", "tasks", "policies",
            "phases", "schemas", "predict", "validate", "inspect", "twin", "stop",
            "check-instrument", "drivers")  # fmt: skip


def test_help_lists_every_command_and_the_exit_codes(labenv: Any) -> None:
    text = labenv("--help").out
    for command in COMMANDS:
        assert f"  {command} " in text
    assert "Exit codes: 0 success, 1 failure, 2 wrong usage or input, 130 or 143 inter" in text
    assert "..." not in text.replace("[ARGS]...", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(labenv: Any, command: str) -> None:
    answer = labenv(command, "--help")
    assert answer.code == 0
    assert f"Usage: labenv {command}" in answer.out


@pytest.mark.parametrize(
    "command", ["run", "report", "list", "show", "export", "analyse", "phases", "schemas"]
)
def test_help_shows_examples_one_a_line(labenv: Any, command: str) -> None:
    assert f"Examples:\n    labenv {command}" in labenv(command, "--help").out


@pytest.mark.parametrize(
    "command", ["list", "show", "run", "analyse", "envs", "tasks", "policies", "drivers"]
)
def test_listing_commands_speak_json(labenv: Any, command: str) -> None:
    assert "--format <table|json>" in labenv(command, "--help").out


def test_drivers_are_listed_and_each_option_explained(labenv: Any) -> None:
    listed = {row["name"]: row for row in labenv("drivers", "--format", "json").json}
    assert {"eurotherm", "mt_sics", "aeris", "keithley_6221", "keithley_2400", "lakeshore_336",
            "multipyvu", "bench_hand"} <= set(listed)  # fmt: skip
    assert listed["eurotherm"]["operations"] == ["heat"]
    for name, row in listed.items():
        told = labenv("drivers", name).out
        assert f"{name}+tcp://HOST" in told
        for option in row["options"]:
            assert option in told
    assert "default 900" in labenv("drivers", "mt-sics").out


def test_a_driver_without_an_address_is_refused(labenv: Any) -> None:
    assert "works in process" in labenv("drivers", "ball_mill").err
    assert "eurotherm" in labenv("drivers", "oven").err
    assert labenv("drivers", "oven").code == 2


def test_version(labenv: Any) -> None:
    assert labenv("--version").out == f"labenv {version('labenv')}\n"


def test_no_command_shows_help(labenv: Any) -> None:
    answer = labenv()
    assert "Usage: labenv" in answer.out + answer.err


def test_help_comes_without_the_heavy_packages() -> None:
    code = (
        "import sys; from labenv.cli import main; main(['--help']); "
        "heavy = {'numba', 'pymatgen', 'scipy', 'sklearn', 'torch', 'sqlalchemy', 'ase', 'pandas'};"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert time.monotonic() - began < 5.0  # under one on a quiet machine


def test_catalogues(labenv: Any) -> None:
    assert "bayesian\nrandom\nsobol" in labenv("policies").out
    assert "sobol" in labenv("policies", "--format", "json").json
    tasks = {task["name"]: task for task in labenv("tasks", "--format", "json").json}
    assert tasks["batio3-synthesis"]["target"] == "BaTiO3"
    assert "batio3-synthesis" in labenv("tasks").out
    envs = {env["id"] for env in labenv("envs", "--format", "json").json}
    assert "labenv/SolidStateSynthesis-v0" in envs
    assert "labenv/SolidStateSynthesis-v0" in labenv("envs").out
    phases = {phase["name"] for phase in labenv("phases", "--elements", "Ti,O", "--format",
                                                "json").json}  # fmt: skip
    assert {"anatase", "rutile"} <= phases
    assert "BaTiO3-tetragonal" not in phases
    none = labenv("phases", "--elements", "He,Ne")
    assert (none.code, none.out) == (0, "")
    assert "no structure consists of He,Ne" in none.err


def test_names_to_copy_are_whole_on_a_narrow_terminal(
    labenv: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "labenv/SolidStateSynthesis-v0 " in labenv("envs").out
    assert "batio3-synthesis " in labenv("tasks").out
    assert "BaTiO3-tetragonal " in labenv("phases").out


def test_schemas_are_written(labenv: Any) -> None:
    written = labenv("schemas", "--out", "s", "--format", "json").json
    assert {Path(path).name for path in written} >= {"proposal.schema.json", "outcome.schema.json"}
    assert all(Path(path).exists() for path in written)
