"""Old stores are migrated whole or not at all; newer ones are refused."""

from __future__ import annotations

import shutil
import sqlite3
from typing import get_args

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from labenv.store import ClosingStatus, Store, migrate
from labenv.store.migrate import MIGRATIONS, SCHEMA_VERSION, VERSION_TABLE, known_versions
from labenv.store.models import Base
from labenv.testing.samples import PROPOSAL, outcome
from labenv.testing.store import SCORE, begin
from labenv_schemas.errors import StoreError
from labenv_schemas.outcome import OperationRecord, OutcomeStatus

NEXT = '''
"""Next."""
import sqlalchemy as sa
from alembic import op
revision = "9999"
down_revision = "{previous}"
def upgrade():
    op.add_column("campaign", sa.Column("mood", sa.Text(), nullable=True))
    with op.batch_alter_table("experiment") as table:
        table.alter_column("name", type_=sa.String(300))
    {last}
'''


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "lab.db"
    with Store.open(path) as store:
        campaign_id, episode_id = begin(store)
        store.record_experiment(campaign_id, episode_id, 0, PROPOSAL, outcome("e-0"), SCORE)
    return path


def columns(path, table):
    connection = sqlite3.connect(path)
    try:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    finally:
        connection.close()


def listed(inspector, look, table):
    found = getattr(inspector, look)(table)
    return sorted(map(str, found)) if isinstance(found, list) else str(found)


def release(monkeypatch, tmp_path, last="pass"):
    """Pretend that a release with one more migration is installed."""
    folder = tmp_path / "100% migrations"
    shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    script = NEXT.format(previous=SCHEMA_VERSION, last=last)
    (folder / "versions" / "v9999_next.py").write_text(script, encoding="utf-8")
    monkeypatch.setattr(migrate, "MIGRATIONS", folder)
    monkeypatch.setattr(migrate, "SCHEMA_VERSION", "9999")


def test_migrations_give_the_models(path):
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"version_table": VERSION_TABLE, "compare_type": True}
        )
        assert compare_metadata(context, Base.metadata) == []
        migrated = sa.inspect(connection)
        fresh_engine = sa.create_engine("sqlite://")
        with fresh_engine.connect() as fresh_connection:
            Base.metadata.create_all(fresh_connection)
            fresh = sa.inspect(fresh_connection)
            for table in Base.metadata.tables:  # what Alembic does not compare
                for look in (
                    "get_check_constraints",
                    "get_pk_constraint",
                    "get_unique_constraints",
                ):
                    assert listed(migrated, look, table) == listed(fresh, look, table)
        fresh_engine.dispose()
    engine.dispose()


def test_the_version_is_the_newest_migration():
    assert known_versions()[-1] == SCHEMA_VERSION


def test_the_tables_know_every_status_of_the_vocabulary():
    def allowed(table):
        checks = [
            str(c.sqltext) for c in Base.metadata.tables[table].constraints if hasattr(c, "sqltext")
        ]
        return " ".join(check for check in checks if check.startswith("status IN"))

    statuses = get_args(OperationRecord.model_fields["status"].annotation)
    for table, names in (
        ("experiment", ("pending", *get_args(OutcomeStatus))),
        ("operation", statuses),
        ("campaign", ("running", *get_args(ClosingStatus))),
    ):
        assert all(f"'{name}'" in allowed(table) for name in names)
        assert allowed(table).count("'") == 2 * len(names)


def test_an_old_store_is_migrated_and_keeps_everything(path, tmp_path, monkeypatch):
    release(monkeypatch, tmp_path)
    with Store.open(path, create=False) as store:
        assert store.experiment("e-0").outcome == outcome("e-0")
    assert "mood" in columns(path, "campaign")
    with Store.open(path):  # nothing left to do
        pass


def test_a_migration_that_fails_leaves_the_old_store(path, tmp_path, monkeypatch):
    release(monkeypatch, tmp_path, last='op.execute("INSERT INTO nowhere VALUES (1)")')
    with pytest.raises(StoreError, match=f"migrating from schema {SCHEMA_VERSION}"):
        Store.open(path)
    monkeypatch.undo()
    assert "mood" not in columns(path, "campaign")
    with Store.open(path, create=False) as store:
        assert store.experiment("e-0").outcome == outcome("e-0")


def test_a_migration_that_orphans_rows_is_taken_back(path, tmp_path, monkeypatch):
    release(monkeypatch, tmp_path, last='op.execute("DELETE FROM experiment")')
    with pytest.raises(StoreError, match="without their parent"):
        Store.open(path)
    monkeypatch.undo()
    with Store.open(path, create=False) as store:
        assert store.experiment("e-0").outcome == outcome("e-0")


def test_a_failing_first_migration_leaves_no_tables(tmp_path, monkeypatch):
    release(monkeypatch, tmp_path, last='op.execute("INSERT INTO nowhere VALUES (1)")')
    path = tmp_path / "lab.db"
    with pytest.raises(StoreError, match="making the store"):
        Store.open(path)
    assert columns(path, "campaign") == []
    monkeypatch.undo()
    Store.open(path).close()


def test_a_newer_store_is_refused_untouched(path, tmp_path, monkeypatch):
    release(monkeypatch, tmp_path)
    Store.open(path).close()
    monkeypatch.undo()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"newer labenv \(schema 9999.*pip install -U labenv"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_store_without_its_version_is_explained(path):
    connection = sqlite3.connect(path)
    connection.execute(f"DELETE FROM {VERSION_TABLE}")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="version is missing"):
        Store.open(path)
