"""Many processes, one SQLite file: nothing lost, no lock shown, half-written work taken back."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import pytest

from labenv.lab.journal import JournalEvent
from labenv.store import Store
from labenv.testing.samples import PROPOSAL, diffractogram
from labenv.testing.store import SCORE, begin
from labenv_schemas.errors import StoreError
from labenv_schemas.outcome import Outcome

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.integration

PROCESSES = 8
EXPERIMENTS = 60


def one(index: int) -> Outcome:
    return Outcome(
        experiment_id=f"e-{index}", status="ok", measurements=(diffractogram(seed=index),)
    )


def write_range(path: str, campaign_id: str, episode_id: str, first: int) -> int:
    with Store.open(path) as store:
        for index in range(first, first + EXPERIMENTS):
            given = one(index)
            name = given.experiment_id
            store.record_submission(campaign_id, episode_id, index, PROPOSAL, experiment_id=name)
            store.record_experiment(campaign_id, episode_id, index, PROPOSAL, given, SCORE)
    return first


def open_and_begin(path: str) -> str:
    with Store.open(path) as store:
        return begin(store)[0]


def pool() -> ProcessPoolExecutor:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["labenv.testing.store", "alembic.command"])
    return ProcessPoolExecutor(PROCESSES, context)


def test_eight_processes_lose_no_row(tmp_path: Path) -> None:
    path = str(tmp_path / "lab.db")
    with Store.open(path) as store:
        campaign_id, episode_id = begin(store)
        firsts = [process * EXPERIMENTS for process in range(PROCESSES)]
        with pool() as processes:
            jobs = [
                processes.submit(write_range, path, campaign_id, episode_id, first)
                for first in firsts
            ]
            assert [job.result() for job in jobs] == firsts
        records = store.experiments(campaign_id, with_measurements=True)
        assert [record.index for record in records] == list(range(PROCESSES * EXPERIMENTS))
        assert sorted(record.completion or 0 for record in records) == list(
            range(PROCESSES * EXPERIMENTS)
        )
        assert all(record.outcome == one(record.index) for record in records)


def test_eight_processes_make_one_store(tmp_path: Path) -> None:
    path = str(tmp_path / "lab.db")
    with pool() as processes:
        ids = list(processes.map(open_and_begin, [path] * PROCESSES))
    assert len(set(ids)) == PROCESSES
    with Store.open(path, create=False) as store:
        assert [record.campaign_id for record in store.campaigns()] == sorted(ids)


def test_a_writer_waits_for_another_program(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    with Store.open(path) as store:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        released = multiprocessing.get_context("forkserver").Process(
            target=open_and_begin, args=(str(path),)
        )
        released.start()
        time.sleep(2.5)  # longer than one wait inside SQLite
        assert released.is_alive()
        assert store.campaigns() == []  # readers do not wait
        other.execute("COMMIT")
        released.join(30)
        assert released.exitcode == 0
        other.close()


def test_a_lock_that_never_ends_is_a_plain_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labenv.store.database.PATIENCE_S", 0.1)
    monkeypatch.setattr("labenv.store.sqlite._WAIT_S", 0.05)
    path = tmp_path / "lab.db"
    with Store.open(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="busy for too long") as refusal:
            begin(store)
        assert refusal.value.retryable
        assert "locked" not in str(refusal.value)
        other.execute("ROLLBACK")
        other.close()
        begin(store)


KILLED = """
import sys
from labenv.store import Store
from labenv.testing.store import PROPOSAL, SCORE
from labenv.testing.samples import diffractogram
from labenv_schemas.outcome import Outcome
path, campaign_id, episode_id = sys.argv[1:]
store = Store.open(path)
lease = store.lease(campaign_id, "victim", ttl_s=3600.0)
index = 0
while True:
    given = Outcome(
        experiment_id=f"e-{index}", status="ok", measurements=(diffractogram(seed=index),)
    )
    store.record_experiment(campaign_id, episode_id, index, PROPOSAL, given, SCORE)
    sys.stdout.write(f"{index}\\n")
    sys.stdout.flush()
    index += 1
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux vouches for a process's death")
def test_what_was_recorded_survives_kill_9_and_the_lease_is_free_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "lab.db")
    with Store.open(path) as store:
        campaign_id, episode_id = begin(store)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", KILLED, path, campaign_id, episode_id],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        ) as victim:
            assert victim.stdout is not None
            acknowledged = [victim.stdout.readline() for _ in range(25)]
            assert store.campaign(campaign_id).status == "running"
            with pytest.raises(StoreError, match="'victim'"):
                store.lease(campaign_id, "successor")
            victim.send_signal(signal.SIGKILL)
            acknowledged += victim.stdout.readlines()
        last = int(acknowledged[-1])
        assert store.campaign(campaign_id).status == "interrupted"
        store.release(store.lease(campaign_id, "successor"))
        records = store.experiments(campaign_id, with_measurements=True)
        assert len(records) in {last + 1, last + 2}  # the last may have gone unacknowledged
        assert all(record.outcome == one(record.index) for record in records)


def test_two_runners_of_one_campaign_cannot_both_journal(tmp_path: Path) -> None:
    with Store.open(tmp_path / "lab.db") as first, Store.open(tmp_path / "lab.db") as second:
        campaign_id, _ = begin(first)
        first.journal(campaign_id).append(JournalEvent(0, "submitted", "a", 0.0, {"index": 0}))
        with pytest.raises(StoreError, match="two processes"):
            second.journal(campaign_id).append(JournalEvent(0, "submitted", "b", 0.0, {"index": 0}))
