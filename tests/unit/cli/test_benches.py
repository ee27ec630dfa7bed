"""`labenv twin` serves a bench, `labenv run --lab` runs on it, `labenv stop` ends what goes on."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from labenv.lab.bench_lock import BenchLock, places_of
from labenv.store import Store
from labenv_instruments.wire import parse_address
from tests.unit.lab.wires import STATIONS, running_bench

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from tests.unit.cli.conftest import Answer

LAB = {"clock": "virtual", "hand": "tcp://127.0.0.1", "stations": STATIONS}


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    path = tmp_path / "lab.yaml"
    path.write_text(yaml.safe_dump(LAB, sort_keys=False))
    return path


def save(bench: Any, place: Path) -> Path:
    content = bench.config.model_dump(mode="json", exclude_defaults=True)
    place.write_text(yaml.safe_dump(content, sort_keys=False))
    return place


@contextmanager
def served(lab: Path, *words: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "labenv", "twin", str(lab), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def first_json(process: subprocess.Popen[str]) -> Any:
    """Return the object that is printed while the process goes on."""
    text = ""
    assert process.stdout is not None
    for line in process.stdout:
        text += line
        try:
            return json.loads(text)
        except ValueError:
            continue
    raise AssertionError(f"no JSON: {text}")


# ------------------------------------------------------------------------------------------- twin


@pytest.mark.skipif(os.name == "nt", reason="needs SIGTERM")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_bench_says_where_it_is_writes_its_lab_file_and_ends_when_told(
    lab: Path, tmp_path: Path, number: signal.Signals
) -> None:
    here = tmp_path / "here.yaml"
    with served(lab, "--any-port", "--write", str(here), "--format", "json") as process:
        said = first_json(process)
        assert list(said["stations"]) == list(STATIONS)
        assert said["started_in_s"] < 2.0
        written = yaml.safe_load(here.read_text())
        assert {n: s["address"] for n, s in written["stations"].items()} == said["stations"]
        assert written["hand"] == said["hand"]
        addresses = [said["hand"], *said["stations"].values()]
        for text in addresses:
            port = parse_address(text).port if "+" in text else int(text.rpartition(":")[2])
            socket.create_connection(("127.0.0.1", port or 0), timeout=5).close()
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, (out, err)
    assert "Traceback" not in err


def test_a_bench_whose_port_is_taken_ends_with_the_station_s_name(
    labenv: Callable[..., Answer], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"eurotherm+tcp://127.0.0.1:{other.getsockname()[1]}?model=3216"
        path = tmp_path / "taken.yaml"
        stations = {"furnace-1": {"address": taken}}
        path.write_text(yaml.safe_dump({"hand": "tcp://127.0.0.1:1", "stations": stations}))
        answer = labenv("twin", path)
    assert answer.code != 0
    assert "furnace-1" in answer.err


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("furnace-1", "write STATION=KIND"),
        ("oven=sensor_break", "stations are balance"),
        ("furnace-1=sensor_break@soon", "write STATION=KIND"),
        ("furnace-1=senser_break", "sensor_break"),
        ("balance=sensor_break", "sensor_break"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_before_anything_is_served(
    labenv: Callable[..., Answer], lab: Path, fault: str, says: str
) -> None:
    answer = labenv("twin", lab, "--any-port", "--fault", fault)
    assert answer.code == 2
    assert says in answer.err
    assert not answer.out


@pytest.mark.parametrize("command", ["twin", "stop"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "there is no lab file"),
        ("stations: [", "lab.yaml"),
        ("stations: {furnace-1: {address: eurotherm+tcp://}}\nhand: tcp://h:1\n", "furnace-1"),
        ("stations: {furnace-1: {address: 'oven+tcp://h:1'}}\nhand: tcp://h:1\n", "oven"),
        ("system: Ba-Ti-C-O\n", "no stations"),
    ],
)
def test_a_bad_lab_file_is_an_error_that_names_it(
    labenv: Callable[..., Answer], tmp_path: Path, command: str, text: str | None, says: str
) -> None:
    path = tmp_path / "lab.yaml"
    if text is not None:
        path.write_text(text)
    answer = labenv(command, path)
    assert answer.code == 2
    assert says in answer.err.lower()
    assert "lab.yaml" in answer.err


def test_twins_with_a_sample_pass_every_check_that_moves_them(
    labenv: Callable[..., Answer], tmp_path: Path
) -> None:
    path, here = tmp_path / "fast.yaml", tmp_path / "here.yaml"
    path.write_text(yaml.safe_dump({**LAB, "clock": "wall", "speed": 500.0}))
    with served(path, "--sample", "--any-port", "--write", str(here), "--format", "json") as twins:
        addresses = first_json(twins)["stations"]
        for name in ("balance", "press", "furnace-1", "diffractometer"):
            answer = labenv(
                "check-instrument", addresses[name], "--actuate", "--speed", 500, "--timeout", 0.2,
                "--check", "operation", "--check", "units", "--check", "clock",
                "--check", "repeatability", "--format", "json",
            )  # fmt: skip
            assert answer.code == 0, answer.out
            verdicts = {one["name"]: one["verdict"] for one in answer.json["checks"]}
            assert verdicts["operation"] == "passed"


def test_a_device_whose_time_is_the_wall_s_cannot_be_sped_up(
    labenv: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labenv_instruments.twins.mt_sics.SOFTWARE", "1.30 4.18.31.1008")
    with running_bench() as bench:
        address = bench.config.stations["balance"].address
        answer = labenv("check-instrument", address, "--speed", 10, "--check", "identity")
    assert answer.code != 0
    assert "leave the speed out" in answer.out + answer.err


# -------------------------------------------------------------------------------------- run --lab


def test_a_campaign_on_a_bench_has_the_scores_of_the_one_in_process(
    labenv: Callable[..., Answer], tmp_path: Path, campaign: Path
) -> None:
    assert labenv("run", campaign, "--store", "in.sqlite", "--format", "json").code == 0
    with running_bench() as bench:
        lab = save(bench, tmp_path / "bench.yaml")
        answer = labenv("run", campaign, "--lab", lab, "--store", "wire.sqlite", "--format", "json")
        assert answer.code == 0, answer.err
        assert bench.all_safe()
        assert BenchLock(places_of(bench.config)).holder() is None
    scores = []
    for name in ("in.sqlite", "wire.sqlite"):
        with Store.open(name) as store:
            campaign_id = store.campaign("latest").campaign_id
            found = store.experiments(campaign_id)
            scores.append([None if e.score is None else e.score.value for e in found])
    assert len(scores[0]) == 3
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)  # the balance shows 0.01 mg


def test_a_second_driver_of_the_bench_is_refused_and_leaves_no_campaign(
    labenv: Callable[..., Answer], tmp_path: Path, campaign: Path
) -> None:
    with running_bench() as bench:
        lab = save(bench, tmp_path / "bench.yaml")
        lock = BenchLock(places_of(bench.config))
        lock.take()
        try:
            answer = labenv("run", campaign, "--lab", lab, "--store", "s.sqlite")
        finally:
            lock.release()
    assert answer.code != 0
    assert f"process {os.getpid()} drives these devices already" in answer.err
    assert "labenv stop" in answer.err
    assert "--resume" not in answer.err
    assert labenv("list", "--store", "s.sqlite", "--format", "json").json == []


def test_a_resumed_campaign_keeps_its_bench(
    labenv: Callable[..., Answer], lab: Path, campaign: Path
) -> None:
    answer = labenv("run", campaign, "--lab", lab, "--resume", "latest")
    assert answer.code == 2
    assert "--lab" in answer.err


def test_a_bench_that_is_not_there_is_an_error_that_names_its_addresses(
    labenv: Callable[..., Answer], tmp_path: Path, campaign: Path
) -> None:
    with running_bench() as bench:
        lab = save(bench, tmp_path / "gone.yaml")
    answer = labenv("run", campaign, "--lab", lab, "--store", "s.sqlite")
    assert answer.code != 0
    assert "127.0.0.1" in answer.err


# ------------------------------------------------------------------------------------------- stop


def test_stop_makes_every_device_safe_and_shows_each(
    labenv: Callable[..., Answer], tmp_path: Path
) -> None:
    with running_bench() as bench:
        lab = save(bench, tmp_path / "bench.yaml")
        answer = labenv("stop", lab, "--format", "json")
        assert answer.code == 0, answer.err
        assert bench.all_safe()
    assert [row["station"] for row in answer.json["stations"]] == list(STATIONS)
    assert {row["state"] for row in answer.json["stations"]} == {"safe"}
    assert answer.json["ended_process"] is None


def test_stop_says_which_device_it_could_not_reach(
    labenv: Callable[..., Answer], tmp_path: Path
) -> None:
    with running_bench(timeout_s=0.3) as bench:
        lab = save(bench, tmp_path / "bench.yaml")
        content = yaml.safe_load(lab.read_text())
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
        content["stations"]["furnace-2"]["address"] = f"eurotherm+tcp://127.0.0.1:{port}?model=3216"
        lab.write_text(yaml.safe_dump(content))
        answer = labenv("stop", lab, "--format", "json")
    assert answer.code == 1
    states = {row["station"]: row["state"] for row in answer.json["stations"]}
    assert states["furnace-2"].startswith("NOT SAFE")
    assert [name for name, state in states.items() if state != "safe"] == ["furnace-2"]
