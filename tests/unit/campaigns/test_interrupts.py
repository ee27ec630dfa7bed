"""A signal that Python could not pass on still stops a campaign, which can be resumed."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from labenv.campaigns import CampaignRunner
from labenv.campaigns.interrupts import heeded_interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labenv.campaigns import Progress
    from labenv.store import Store
    from labenv_schemas import CampaignConfig

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals to itself")
SIGNALS = pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name
)


@pytest.fixture(autouse=True)
def _usual_handlers() -> Iterator[None]:
    """Undo what a shell does to a job in its background: let it ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class SwallowsAll:
    """Watches a campaign, and is struck by a signal where exceptions go no further."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.results = 0

    def __call__(self, progress: Progress) -> None:
        self.results += progress.kind == "result"
        if progress.kind == "result" and self.results == 2:
            with suppress(BaseException):  # what finalisers and callbacks do
                os.kill(os.getpid(), self.number)


@SIGNALS
def test_a_swallowed_signal_stops_the_campaign(
    store: Store, small_campaign: CampaignConfig, number: int
) -> None:
    watcher = SwallowsAll(number)
    runner = CampaignRunner.begin(store, small_campaign, on_progress=watcher)
    with pytest.raises(KeyboardInterrupt):
        runner.run()
    assert watcher.results == 2
    record = store.campaign(runner.campaign_id)
    assert (record.status, record.lease) == ("interrupted", None)
    CampaignRunner(store, runner.campaign_id).run()
    assert store.campaign(runner.campaign_id).status == "finished"


@SIGNALS
def test_the_command_line_says_so(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    from labenv.cli import live_display, main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text("name: x\npolicy: {name: sobol}\nbudget: {experiments: 4}\n")
    watcher = SwallowsAll(number)
    monkeypatch.setattr(live_display._PlainLines, "__call__", lambda self, step: watcher(step))
    assert main(["run", "c.yaml"]) == 128 + number
    assert "labenv run --resume c00001" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--resume", "c1", "-q"]) == 0


@SIGNALS
def test_a_signal_is_raised_at_once_and_remembered(number: int) -> None:
    with heeded_interrupts() as interrupts:
        interrupts.check()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        with heeded_interrupts() as inner:
            assert inner is interrupts
        assert interrupts.exit_code == 128 + number
    with heeded_interrupts() as fresh:
        fresh.check()


def test_handlers_are_put_back_and_those_of_others_left_alone() -> None:
    with heeded_interrupts():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as `nohup` has it
    with heeded_interrupts():
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
