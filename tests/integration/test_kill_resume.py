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

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL"),
]

KILLS = 10
EXPERIMENTS = 24
CAMPAIGN = f"""\
name: killed and resumed
seed: 11
parallelism: 3
lab: {{furnaces: 2, machine_failure_rate: 0.02}}
policy: {{name: bayesian}}
budget: {{experiments: {EXPERIMENTS}}}
"""
# What the wall clock or the name of the campaign decides.
_OF_THE_RUN = {
    "campaign_id", "episode_id", "experiment_id", "sample_id", "measured_at", "recorded_at",
    "submitted_at", "finished_at", "created_at", "began_at", "store", "report",
}  # fmt: skip


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


def without_run(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_run(item) for key, item in value.items() if key not in _OF_THE_RUN}
    if isinstance(value, list):
        return [without_run(item) for item in value]
    return value


def table(store: Path, campaign_id: str) -> Any:
    return without_run(
        json.loads(labenv("show", campaign_id, "--store", store, "--format", "json"))
    )


def exported(store: Path, campaign_id: str, path: Path) -> list[Any]:
    labenv("export", campaign_id, "--store", store, "--format", "jsonl", "--out", path)
    return [without_run(json.loads(line)) for line in path.read_text().splitlines()]


def run_and_kill(words: list[str], delay_s: float) -> bool:
    """Start a campaign, kill it some time after it has begun; say whether it still ran."""
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    known = ("begins", "goes on", "is finished already")
    assert any(word in first for word in known), first + process.stderr.read()
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
    expected = exported(plain, "latest", tmp_path / "plain.jsonl")
    assert len(expected) == EXPERIMENTS

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

    for campaign_id in finished:
        found = exported(killed, campaign_id, tmp_path / f"{campaign_id}.jsonl")
        assert [row["index"] for row in found] == list(range(EXPERIMENTS))
        assert found == expected
        assert table(killed, campaign_id) == table(plain, "latest")


def test_two_processes_cannot_run_one_campaign(campaign: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    words = command("run", campaign, "--store", store, "--experiments", "400", "--policy", "sobol")
    first = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert first.stderr is not None
        assert "begins" in first.stderr.readline()
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


def test_an_interrupt_leaves_a_resumable_campaign(campaign: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    words = command("run", campaign, "--store", store, "--experiments", "400", "--policy", "sobol")
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert "begins" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert f"labenv run --resume c00001 --store {store}" in errors
    listed = json.loads(labenv("list", "--store", store, "--format", "json"))
    assert [record["status"] for record in listed] == ["interrupted"]
