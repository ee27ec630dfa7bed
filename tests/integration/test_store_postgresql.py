"""The store's contract over a real PostgreSQL server, started for these tests."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy

from labenv.store import Store
from labenv.testing.samples import PROPOSAL, diffractogram
from labenv.testing.store import SCORE, StoreContract, begin
from labenv_schemas.errors import StoreError
from labenv_schemas.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.integration


def missing(what: str) -> None:
    if os.environ.get("CI", "").lower() in {"1", "true"}:
        pytest.fail(f"{what} is not installed, and CI must not skip PostgreSQL")
    pytest.skip(f"{what} is not installed")


def find_binaries() -> Path:
    """Return the folder of initdb and pg_ctl; Debian keeps them out of the path."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    found = sorted(versions, key=lambda path: float(path.parent.parent.name))
    if not found:
        missing("PostgreSQL (Debian: apt-get install postgresql)")
    return found[-1].parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start a server in a temporary folder, on a loopback port, as a user that is not root."""
    if importlib.util.find_spec("psycopg") is None:
        missing("psycopg (pip install 'labenv[postgresql]')")
    binaries = find_binaries()
    as_user: list[str] = []
    folder = Path(tempfile.mkdtemp(prefix="labenv-postgresql-"))
    if os.geteuid() == 0:  # the server refuses to run as root
        as_user = ["runuser", "-u", "nobody", "--"]
        shutil.chown(folder, "nobody")
    port = free_port()

    def run(*command: str) -> None:
        subprocess.run(
            [*as_user, *command], check=True, cwd=folder, capture_output=True, timeout=60
        )

    data = str(folder / "data")
    try:
        initdb = str(binaries / "initdb")
        run(initdb, "-D", data, "-U", "lab", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off"
        log = str(folder / "log")
        run(str(binaries / "pg_ctl"), "-D", data, "-o", options, "-l", log, "-w", "start")
        try:
            yield f"postgresql://lab@127.0.0.1:{port}"
        finally:
            run(str(binaries / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database_url(server: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """Make an empty database for one test."""
    name = f"test_{abs(hash(request.node.nodeid))}"
    administrator = sqlalchemy.create_engine(
        server.replace("postgresql://", "postgresql+psycopg://") + "/postgres",
        isolation_level="AUTOCOMMIT",
    )
    with administrator.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    yield f"{server}/{name}"
    with administrator.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    administrator.dispose()


class TestPostgresql(StoreContract):
    @pytest.fixture
    def store_url(self, database_url: str) -> str:
        return database_url


def test_threads_open_one_empty_database_and_write(database_url: str) -> None:
    ids: list[str] = []
    faults: list[BaseException] = []

    def work(first: int) -> None:
        try:
            with Store.open(database_url) as store:
                campaign_id, episode_id = begin(store)
                ids.append(campaign_id)
                for index in range(10):
                    # All insert the same arrays, in campaigns of their own.
                    scans = tuple(diffractogram(seed=(index + n) % 4) for n in range(2))
                    scans = scans if first % 2 else scans[::-1]
                    given = Outcome(experiment_id=f"e-{index}", status="ok", measurements=scans)
                    store.record_experiment(campaign_id, episode_id, index, PROPOSAL, given, SCORE)
        except BaseException as fault:  # noqa: BLE001 - shown below
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    with Store.open(database_url, create=False) as store:
        assert [record.experiments for record in store.campaigns()] == [10] * 6
        assert sorted(ids) == [record.campaign_id for record in store.campaigns()]


def test_a_lost_connection_is_replaced(database_url: str) -> None:
    with Store.open(database_url) as store:
        campaign_id, _ = begin(store)
        engine = sqlalchemy.create_engine(database_url.replace("://", "+psycopg://"))
        with engine.connect() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        engine.dispose()
        assert store.campaign(campaign_id).campaign_id == campaign_id


def test_tables_of_another_program_are_left_alone(database_url: str) -> None:
    engine = sqlalchemy.create_engine(database_url.replace("://", "+psycopg://"))
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE measurement (x integer)")
    engine.dispose()
    with pytest.raises(StoreError, match="another program"):
        Store.open(database_url)


def test_an_empty_database_is_no_store_unless_asked(database_url: str) -> None:
    with pytest.raises(StoreError, match="there is no store"):
        Store.open(database_url, create=False)


def test_what_is_wrong_with_a_server_is_said_without_the_password(server: str) -> None:
    wrong = server.replace("lab@", "lab:secret@") + "/absent"
    with pytest.raises(StoreError, match=r"createdb|does not exist") as refusal:
        Store.open(wrong)
    assert "secret" not in str(refusal.value)
    with pytest.raises(StoreError, match="cannot be reached") as refusal:
        Store.open(f"postgresql://lab:secret@127.0.0.1:{free_port()}/lab")
    assert "secret" not in str(refusal.value)
    assert refusal.value.retryable
