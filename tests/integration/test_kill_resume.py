"""A campaign killed with SIGKILL at random moments and resumed gives what it would have given."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from labenv.campaigns import summarise
from labenv.cli.campaign_tables import summary_json
from labenv.store import Store

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL"),
]

KILLS = 10
EXPERIMENTS = 20
CAMPAIGN = f"""\
name: killed and resumed
seed: 11
parallelism: 3
lab: {{furnaces: 2, machine_failure_rate: 0.02}}
policy: {{name: bayesian}}
budget: {{experiments: {EXPERIMENTS}}}
"""
OF_THE_RUN = {"campaign_id", "experiment_id", "sample_id", "measured_at", "recorded_at"}


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    path = tmp_path / "campaign.yaml"
    path.write_text(CAMPAIGN)
    return path


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "labenv", *map(str, words)]


def labenv(*words: str | Path) -> str:
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def content(store: Store, campaign_id: str) -> list[Any]:
    """Return all that a campaign came to, in the order in which it was learnt."""
    found: list[Any] = []
    for record in store.experiments(campaign_id, order="completion", with_measurements=True):
        assert record.outcome is not None, record.index
        score = None if record.score is None else record.score.model_dump(mode="json")
        found.append(without_run([record.index, record.outcome.model_dump(mode="json"), score]))
    return found


def without_run(value: Any) -> Any:
    """Leave out what the wall clock or the name of the campaign decides."""
    if isinstance(value, dict):
        return {key: without_run(item) for key, item in value.items() if key not in OF_THE_RUN}
    if isinstance(value, list):
        return [without_run(item) for item in value]
    return value


def final_table(store: Store, campaign_id: str) -> Any:
    return without_run(summary_json(summarise(store, campaign_id)))


def started(words: list[str], *first_words: str) -> subprocess.Popen[str]:
    """Start a program that hears Ctrl-C and wait for the first line of its standard error."""
    process = subprocess.Popen(
        words,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=hear_interrupts,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    assert any(word in first for word in first_words), first + process.stderr.read()
    return process


def hear_interrupts() -> None:
    """Undo what a shell does to a job in its background: let it ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_and_kill(words: list[str], delay_s: float) -> bool:
    """Start a campaign, kill it some time after it has begun; say whether it still ran."""
    process = started(words, "begins", "goes on", "is finished already")
    assert process.stderr is not None
    try:
        process.wait(delay_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    finally:
        process.stderr.close()
    assert process.returncode == 0
    return False


def test_ten_kills_lose_and_double_nothing(campaign: Path, tmp_path: Path) -> None:
    plain, killed = tmp_path / "plain.sqlite", tmp_path / "killed.sqlite"
    began = time.monotonic()
    labenv("run", campaign, "--store", plain, "--quiet")
    usual_s = time.monotonic() - began

    moments = np.random.default_rng(20260101).uniform(0.0, 0.4 * usual_s, 500)
    kills = 0
    finished: list[str] = []
    resume: list[str] = []
    for moment in moments:
        start = resume or [str(campaign)]
        if run_and_kill(command("run", *start, "--store", killed), float(moment)):
            kills += 1
            resume = ["--resume", "latest"]
        else:
            finished.append(f"c{len(finished) + 1}")
            resume = []
        if kills >= KILLS:
            break
    assert kills == KILLS
    if resume:
        labenv("run", *resume, "--store", killed, "--quiet")
        finished.append(f"c{len(finished) + 1}")

    with Store.open(plain) as undisturbed, Store.open(killed) as disturbed:
        expected = content(undisturbed, "latest")
        assert len(expected) == EXPERIMENTS
        for campaign_id in finished:
            indices = [record.index for record in disturbed.experiments(campaign_id)]
            assert indices == list(range(EXPERIMENTS))
            assert content(disturbed, campaign_id) == expected
            assert final_table(disturbed, campaign_id) == final_table(undisturbed, "latest")


def test_two_processes_cannot_run_one_campaign(campaign: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    words = command("run", campaign, "--store", store, "--experiments", "400", "--policy", "sobol")
    first = started(words, "begins")
    try:
        second = subprocess.run(
            command("run", "--resume", "latest", "--store", store),
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        first.kill()
        first.communicate()
    assert second.returncode == 1
    assert "Traceback" not in second.stderr
    assert "c00001" in second.stderr
    assert "nothing is lost" not in second.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_an_interrupt_leaves_a_resumable_campaign(
    campaign: Path, tmp_path: Path, number: signal.Signals
) -> None:
    store = tmp_path / "store.sqlite"
    # So many experiments that none of this machine's speed lets it finish before the signal.
    words = command(
        "run", campaign, "--store", store, "--experiments", "100000", "--policy", "sobol"
    )
    process = started(words, "begins")
    process.send_signal(number)
    try:
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert f"labenv run --resume c00001 --store {store}" in errors
    listed = json.loads(labenv("list", "--store", store, "--format", "json"))
    assert [record["status"] for record in listed] == ["interrupted"]


def test_a_second_interrupt_stops_at_once(campaign: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    words = ("run", campaign, "--store", store, "--experiments", "100000", "--policy", "sobol")
    # A campaign whose every cleanup hangs, as a store on a lost network drive would.
    code = (
        "import sys, time; from labenv.cli import main; from labenv.store import Store; "
        "Store.release = lambda *_: time.sleep(120); "
        f"sys.exit(main({[str(word) for word in words]!r}))"
    )
    process = started([sys.executable, "-c", code], "begins")
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=10)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "stopped at once" in errors
    listed = json.loads(labenv("list", "--store", store, "--format", "json"))
    assert [record["status"] for record in listed] == ["interrupted"]
