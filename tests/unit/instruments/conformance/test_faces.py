"""The suite from the command line and from pytest, against a served twin."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.unit.lab.wires import running_bench

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, cwd=cwd
    )


def test_the_command_and_the_plugin_say_the_same(tmp_path: Path) -> None:
    with running_bench() as bench:
        address = bench.config.stations["furnace-1"].address
        words = ("--check", "identity", "--check", "limits", "--check", "cancel")
        command = run(
            "-m", "labenv", "check-instrument", address, *words, "--format", "json",
            "--junit", "found.xml", cwd=tmp_path,
        )  # fmt: skip
        plugin = run(
            "-m", "pytest", "-p", "no:cacheprovider", "-q", "--instrument", f"furnace={address}",
            "--pyargs", "labenv_instruments.conformance", "-k", "identity or limits or cancel",
            "-p", "labenv_instruments.pytest_plugin", cwd=tmp_path,
        )  # fmt: skip
    assert command.returncode == 0, command.stderr
    found = json.loads(command.stdout)
    assert {c["name"]: c["verdict"] for c in found["checks"]} == {
        "identity": "passed", "limits": "passed", "cancel": "skipped",
    }  # fmt: skip
    assert found["identity"]["model"].startswith("Eurotherm 3216")
    assert "<testsuite" in (tmp_path / "found.xml").read_text()
    assert plugin.returncode == 0, plugin.stdout + plugin.stderr
    assert "2 passed, 1 skipped" in plugin.stdout


def test_nobody_there_is_a_failure_and_nonsense_is_wrong_usage(tmp_path: Path) -> None:
    gone = run(
        "-m", "labenv", "check-instrument", "lakeshore_336+tcp://127.0.0.1:1", "--timeout", "0.2",
        cwd=tmp_path,
    )  # fmt: skip
    assert gone.returncode == 1
    assert "does not answer" in gone.stdout
    for words in (("tcp://127.0.0.1:1",), ("nonsense",), ("aeris+tcp://h?folder=x&y=1",)):
        wrong = run("-m", "labenv", "check-instrument", *words, cwd=tmp_path)
        assert wrong.returncode == 2
        assert "Traceback" not in wrong.stderr
