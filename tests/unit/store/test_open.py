"""What can be wrong with the place of a store, and what the user is told."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import sqlalchemy as sa

from labenv.store import Store
from labenv.store.address import location_of, read_address
from labenv.testing.samples import PROPOSAL, outcome
from labenv.testing.store import SCORE, begin
from labenv_schemas.errors import StoreError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "lab.db"
    with Store.open(path) as store:
        begin(store)
    return path


def test_folders_are_made_and_relative_paths_survive_a_change_of_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Store.open("a/b/lab.db") as store:
        monkeypatch.chdir("/")
        begin(store)
    assert (tmp_path / "a" / "b" / "lab.db").is_file()


def test_a_percent_sign_in_the_path_is_no_trouble(tmp_path):
    with Store.open(tmp_path / "50%s (copy)" / "lab #1?.db") as store:
        begin(store)
    assert (tmp_path / "50%s (copy)" / "lab #1?.db").is_file()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("", "no store was named"),
        ("  ", "no store was named"),
        (":memory:", "in memory"),
        ("sqlite://", "plain file"),
        ("sqlite:///file:x?mode=memory&uri=true", "without options"),
        ("sqlite+aiosqlite:///x.db", "without options"),
        ("sqlite://relative.db", "sqlite:///relative/path"),
        ("sqlite:runs/lab.db", "write 'sqlite:///runs/lab.db', or the path alone, 'runs/lab.db'"),
        ("SQLite:/runs/lab.db", "slashes are missing after 'sqlite:'"),
        ("postgresql:/user:secret@host/db", "slashes are missing; write 'postgresql://user"),
        ("postgresql://user:secret@host:notaport/db", "malformed"),
        ("nosuch://user:secret@host/db", "no database is called 'nosuch'"),
    ],
)
def test_a_bad_address_is_explained_without_the_password(address, message):
    with pytest.raises(StoreError, match=message) as refusal:
        Store.open(address)
    assert "secret" not in str(refusal.value)


def test_a_missing_driver_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"pip install 'labenv\[postgresql\]'"):
        Store.open("postgresql://host/db")


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgresql_means_psycopg(scheme):
    url = read_address(f"{scheme}://lab:secret@host/db")
    assert url.drivername == "postgresql+psycopg"
    assert location_of(url) == "postgresql+psycopg://lab:***@host/db"


def test_nothing_is_made_unless_asked(tmp_path):
    with pytest.raises(StoreError, match="no such file"):
        Store.open(tmp_path / "new" / "lab.db", create=False)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match="no store"):
        Store.open(tmp_path / "empty.db", create=False)
    Store.open(tmp_path / "empty.db").close()


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="folder"):
        Store.open(tmp_path)


def test_a_file_in_place_of_a_folder_is_explained(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="check the path"):
        Store.open(tmp_path / "file" / "lab.db")


def test_a_file_of_another_kind_is_left_alone(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("phase,fraction\nbatio3,0.9\n", encoding="utf-8")
    with pytest.raises(StoreError, match="not an SQLite database"):
        Store.open(path)
    assert path.read_text(encoding="utf-8").startswith("phase")


@pytest.mark.parametrize("mark", [None, 0x12345678])
def test_an_sqlite_file_of_another_program_is_left_alone(tmp_path, mark):
    path = tmp_path / "places.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE bookmarks (id INTEGER)")
    if mark:
        other.execute(f"PRAGMA application_id={mark}")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"another program \(tables bookmarks\)"):
        Store.open(path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["places.sqlite"]


def test_a_truncated_file_is_explained(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match=r"damaged|backup"), Store.open(path) as store:
        store.campaigns()


def test_scrambled_pages_are_explained(path):
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged|backup"), Store.open(path) as store:
        store.campaigns()


def test_a_scrambled_header_is_explained(path):
    content = bytearray(path.read_bytes())
    content[16:100] = b"\xa5" * 84
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged|not an SQLite"):
        Store.open(path)


def test_a_damaged_array_is_named(tmp_path):
    path = tmp_path / "lab.db"
    with Store.open(path) as store:
        campaign_id, episode_id = begin(store)
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, outcome("e-0"), SCORE)
    other = sqlite3.connect(path)
    other.execute("UPDATE array_blob SET data = substr(data, 1, length(data) - 5)")
    other.commit()
    other.close()
    with Store.open(path) as store, pytest.raises(StoreError, match=r"array .* is damaged"):
        store.measurements("e-0")


def test_a_row_that_no_longer_fits_is_named(path):
    other = sqlite3.connect(path)
    other.execute("UPDATE campaign SET config = '{\"seed\": -1}'")
    other.commit()
    other.close()
    with Store.open(path) as store, pytest.raises(StoreError, match="seed"):
        store.campaigns()


def test_a_full_disk_is_explained_and_nothing_half_written(path):
    def shrink(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA max_page_count=1")  # SQLite makes it the size that there is

    with Store.open(path) as store:
        campaign_id = store.campaigns()[0].campaign_id
        episode_id = store.episodes(campaign_id)[0].episode_id
        sa.event.listen(store._database.engine, "connect", shrink)
        store._database.engine.dispose()
        written = 0

        def fill() -> None:
            nonlocal written
            for index in range(100):
                given = outcome(f"e-{index}", seed=index)
                store.record_experiment(campaign_id, episode_id, index, PROPOSAL, given, SCORE)
                written += 1

        with pytest.raises(StoreError, match="disk is full") as refusal:
            fill()
        assert refusal.value.retryable
        records = store.experiments(campaign_id, with_measurements=True)
        assert [record.index for record in records] == list(range(written))
        assert all(record.outcome is not None for record in records)


def as_nobody(path: str, action: str, answers) -> None:
    if os.geteuid() == 0:
        os.setuid(65534)
    try:
        with Store.open(path) as store:
            begin(store) if action == "write" else store.campaigns()
        answers.put("done")
    except StoreError as error:
        answers.put(str(error))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to become another user")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("case", ["file", "folder", "closed", "nowhere"])
def test_missing_permissions_are_explained(case):
    folder = Path(tempfile.mkdtemp(prefix="labenv-permissions-"))  # tmp_path is closed to others
    try:
        path = folder / "lab.db"
        with Store.open(path) as store:
            begin(store)
        modes = {
            "file": (0o444, 0o777),
            "folder": (0o444, 0o555),
            "closed": (0o000, 0o777),
            "nowhere": (0o644, 0o555),
        }
        file_mode, folder_mode = modes[case]
        path.chmod(file_mode)
        folder.chmod(folder_mode)
        target = folder / "new" / "lab.db" if case == "nowhere" else path
        context = multiprocessing.get_context("fork")
        answers = context.SimpleQueue()
        child = context.Process(target=as_nobody, args=(str(target), "write", answers))
        child.start()
        answer = answers.get()
        child.join()
        assert answer != "done"
        assert "permission" in answer.lower()
        assert str(target) in answer
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_importing_and_reopening_needs_no_alembic_and_no_pint(path):
    program = (
        "import sys; from labenv.store import Store; s = Store.open(sys.argv[1]); s.campaigns();"
        "print([m for m in ('alembic', 'pint', 'pyarrow', 'pandas', 'numba', 'pymatgen')"
        " if m in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert answer.stdout.strip() == "[]"


def test_sqlite_is_set_up_for_many_writers(path):
    for durable, synchronous in ((False, 1), (True, 2)):
        with Store.open(path, durable=durable) as store:
            pragmas = store._database.read(
                "looking",
                lambda connection: [
                    connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                    for name in ("journal_mode", "foreign_keys", "synchronous")
                ],
            )
        assert pragmas == ["wal", 1, synchronous]
