"""What a campaign shows while it runs."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from labenv.campaigns import Progress
from labenv.cli import live_display
from labenv.lab import StationStatus
from labenv.tasks import Result
from labenv_schemas import Outcome, Score

STATIONS = (
    StationStatus("furnace-1", "tube_furnace", 9e4, 2, "c00001-0003", 2),
    StationStatus("balance", "dosing_balance", None, 0, None, None),
)


def progress(kind: str = "result", **changes: Any) -> Progress:
    result = Result(Outcome(experiment_id="c00001-0002", status="ok"), Score(value=0.9, reward=0.9))
    settings: dict[str, Any] = {
        "kind": kind, "campaign_id": "c00001", "lab_time_s": 3 * 86_400.0, "submitted": 4,
        "finished": 3, "limit": 10, "stations": STATIONS, "best_value": 0.9, "best_index": 2,
        "index": 2, "result": result,
    }  # fmt: skip
    return Progress(**{**settings, **changes})


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that shows steps and returns what was written."""

    def show(*steps: Progress, terminal: bool, quiet: bool = False) -> str:
        output = io.StringIO()
        console = Console(
            file=output, force_terminal=terminal, width=90, height=30, highlight=False
        )
        monkeypatch.setattr(live_display, "console", lambda progress: console)
        with live_display.open_display(quiet=quiet) as display:
            for step in steps:
                display(step)
        return output.getvalue()

    return show


def test_elsewhere_each_outcome_is_a_line(shown: Any) -> None:
    text = shown(progress("begun"), progress("submitted"), progress(), terminal=False)
    assert text.splitlines() == [
        "campaign c00001 begins",
        "[3/10]     3 d | experiment 2: score 0.900 | best 0.900 (experiment 2)",
    ]


def test_a_terminal_shows_stations_queue_and_best(shown: Any) -> None:
    text = shown(progress(), terminal=True)
    for said in ("lab time", "3 d", "3 of 10", "furnace-1", "experiment 3", "2 waiting", "balance",
                 "idle", "0.900 (experiment 2)"):  # fmt: skip
        assert said in text, said
    assert "\x1b[?25h" in text  # the cursor is shown again


def test_a_terminal_shows_what_devices_show(shown: Any) -> None:
    readings = {"temperature": "812.4 degC", "output": "31.0 %"}
    furnace = StationStatus("furnace-1", "eurotherm", 9e4, 0, "c00001-0003", 2, readings)
    text = shown(progress(stations=(furnace,)), terminal=True)
    assert "temperature 812.4 degC, output 31.0 %" in text


def test_a_score_short_of_the_goal_never_reads_as_the_goal(shown: Any) -> None:
    for terminal in (False, True):
        text = shown(progress(best_value=0.98987, goal=0.99), terminal=terminal)
        assert "0.9899" in text
        assert "0.990" not in text


def test_what_went_wrong_is_said(shown: Any) -> None:
    outcome = Outcome(experiment_id="e", status="failed_machine", message="the furnace broke")
    failed = progress(result=Result(outcome, Score(value=None, reward=0.0)), best_value=None)
    text = shown(failed, terminal=False)
    assert "experiment 2: failed machine: the furnace broke\n" in text


def test_what_a_resumed_campaign_repeats_is_not_shown(shown: Any) -> None:
    text = shown(progress("resumed"), progress(replayed=True), terminal=False)
    assert text == "campaign c00001 goes on from what the store holds\n"


def test_quiet_shows_warnings_only(shown: Any) -> None:
    steps = (progress("begun"), progress(), progress("warning", message="look out"))
    for terminal in (False, True):
        assert shown(*steps, terminal=terminal, quiet=True).strip() == "warning: look out"
