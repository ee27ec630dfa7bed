"""A process that drives devices is killed, and they are left safe all the same."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from labenv.store import Store
from tests.unit.lab.wires import running_bench

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(120),
    pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL"),
]

DEAD_MAN_S = 1.0
CAMPAIGN = """\
name: killed at the furnace
seed: 3
parallelism: 1
policy: {name: random}
budget: {experiments: 1}
"""


def furnace_at_work(bench: Any) -> str | None:
    for name, state in bench.states().items():
        if name.startswith("furnace") and not state["safe"] and state["pv_c"] > 60.0:
            return name
    return None


def wait_for(what: Any, within_s: float) -> Any:
    give_up_s = time.monotonic() + within_s
    while not (found := what()):
        assert time.monotonic() < give_up_s, "it did not happen"
        time.sleep(0.02)
    return found


def run(tmp_path: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "labenv", "run", *words, "--store", str(tmp_path / "s.sqlite")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def files(tmp_path: Path, bench: Any) -> tuple[str, str]:
    campaign, lab = tmp_path / "campaign.yaml", tmp_path / "lab.yaml"
    campaign.write_text(CAMPAIGN)
    lab.write_text(yaml.safe_dump(bench.config.model_dump(mode="json", exclude_defaults=True)))
    return str(campaign), str(lab)


def test_a_killed_driver_leaves_a_cooling_furnace_and_a_campaign_to_resume(tmp_path: Path) -> None:
    with running_bench(timeout_s=2.0, clock="wall", speed=1000.0, dead_man_s=DEAD_MAN_S) as bench:
        campaign, lab = files(tmp_path, bench)
        process = run(tmp_path, campaign, "--lab", lab)
        try:
            name = wait_for(lambda: furnace_at_work(bench), 60.0)
            process.send_signal(signal.SIGKILL)
            killed_s = time.monotonic()
            wait_for(bench.all_safe, 30.0)
            took_s = time.monotonic() - killed_s
        finally:
            process.kill()
            process.communicate()
        # At once, for the pipe has closed; what it takes is a new interpreter's imports.
        assert took_s < DEAD_MAN_S + 10.0
        assert bench.states()[name]["output_percent"] == 0.0
        resumed = run(tmp_path, "--resume", "latest")
        said, _ = resumed.communicate(timeout=60)
        assert resumed.returncode == 0, said
        assert bench.all_safe()
    with Store.open(str(tmp_path / "s.sqlite")) as store:
        (record,) = store.experiments(store.campaign("latest").campaign_id)
    assert record.outcome is not None
    assert record.outcome.status == "failed_machine"
    assert "ended during 'heat'" in str(record.outcome.message)


def test_a_terminal_shows_the_furnace_s_temperature_while_it_climbs(tmp_path: Path) -> None:
    import pty  # not on every system

    with running_bench(timeout_s=2.0, clock="wall", speed=1000.0) as bench:
        campaign, lab = files(tmp_path, bench)
        screen, other_end = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "labenv", "run", campaign, "--lab", lab, "--store",
             str(tmp_path / "s.sqlite")],
            stdout=subprocess.DEVNULL, stderr=other_end, env={**os.environ, "COLUMNS": "160"},
        )  # fmt: skip
        os.close(other_end)
        text, climbed = "", False
        try:
            while not climbed and (piece := _read(screen)):
                text += piece
                shown = re.findall(r"furnace-. .*?temperature ([0-9.]+) degC", text)
                climbed = len({value for value in shown if float(value) > 100.0}) >= 3
            process.send_signal(signal.SIGTERM)
            while _read(screen):
                pass
        finally:
            process.kill()
            process.wait()
            os.close(screen)
    assert climbed, text


def _read(screen: int) -> str:
    try:
        return os.read(screen, 65536).decode(errors="replace")
    except OSError:  # the other end is closed
        return ""


def test_an_interrupted_campaign_leaves_everything_safe(tmp_path: Path) -> None:
    with running_bench(timeout_s=2.0, clock="wall", speed=1000.0) as bench:
        campaign, lab = files(tmp_path, bench)
        process = run(tmp_path, campaign, "--lab", lab)
        try:
            wait_for(lambda: furnace_at_work(bench), 60.0)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
        assert process.returncode == 143, said
        assert "nothing is lost" in said
        assert "Traceback" not in said
        assert bench.all_safe()
