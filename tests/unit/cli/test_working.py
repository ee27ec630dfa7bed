"""Progress of what takes long goes to standard error, and there only where somebody reads it."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from labenv.cli.working import working

FITTING = ("--phases", "rutile")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def scan(tmp_path: Any) -> Any:
    angles = np.arange(20.0, 60.0, 0.05)
    counts = 100.0 + 5000.0 * np.sum(
        [np.exp(-(((angles - c) / 0.1) ** 2)) for c in (27.45, 36.1, 54.3)], axis=0
    )
    path = tmp_path / "scan.xy"
    np.savetxt(path, np.column_stack([angles, counts.round()]))
    return path


def test_without_a_terminal_nothing_is_shown_unless_asked_for(labenv: Any, scan: Any) -> None:
    assert labenv("analyse", scan, *FITTING).err == ""
    answer = labenv("analyse", scan, *FITTING, "--verbose", "--format", "json")
    first, last = answer.err.splitlines()
    assert first == "labenv: fitting 1 candidate ..."
    assert last.startswith("labenv: fitting 1 candidate: ")
    assert answer.json["phases"]
    told = labenv("analyse", scan, "--elements", "Zn,O", "-v").err
    assert "searching the known phases of Zn, O ..." in told


def test_a_terminal_sees_what_is_done_and_is_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, output = Terminal(), io.StringIO()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("sys.stdout", output)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with working("searching 300 phases"):
        pass
    assert "searching 300 phases" in terminal.getvalue()
    assert terminal.getvalue().rstrip().endswith("\x1b[2K")
    assert output.getvalue() == ""


def test_a_failure_passes_through() -> None:
    with pytest.raises(ValueError, match="no"), working("x", verbose=True):
        raise ValueError("no")
