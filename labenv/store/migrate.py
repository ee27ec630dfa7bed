"""The schema's version: new stores are made, old ones migrated, newer and foreign ones refused.

Alembic is imported only when there is something to migrate. A migration is one transaction: it
happens whole or not at all, and of several processes that open an old store one migrates while the
others wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import inspect, text

from labenv.store.address import check_file
from labenv_schemas.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from labenv.store.database import Database

SCHEMA_VERSION = "0001"
VERSION_TABLE = "labenv_schema_version"
MIGRATIONS = Path(__file__).parent / "migrations"
_APPLICATION_ID = 0x6C616276  # "labv", in the header of every SQLite store
_ADVISORY_LOCK = 7_236_837_101_220_631_926  # any number that no other program picks


def prepare(database: Database, *, create: bool) -> None:
    """Make sure that a database is there and holds `SCHEMA_VERSION`.

    Args:
        database: Where.
        create: Whether an empty database becomes a store.

    Raises:
        StoreError: If it is empty and must not become a store, belongs to another program, or was
            written by a newer labenv.
    """
    if database.is_sqlite:
        check_file(Path(str(database.url.database)), create=create)
    found = database.read("opening", _look)
    if found.version == SCHEMA_VERSION:
        return
    _refuse_unfit(database, found)
    if found.version is None:
        if not create:
            raise StoreError(f"store {database.location}: the database is empty; there is no store")
        database.migrate("making the store", _upgrade)
    else:
        database.migrate(f"migrating from schema {found.version}", _upgrade)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a database holds."""

    version: str | None
    foreign: tuple[str, ...] = ()  # tables that stand in the way


def _look(connection: Connection) -> _Found:
    tables = set(inspect(connection).get_table_names())
    if VERSION_TABLE in tables:
        version = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
        if version is None:
            raise StoreError("its schema version is missing; restore the store from a backup")
        return _Found(str(version))
    if connection.dialect.name == "sqlite":
        application = connection.exec_driver_sql("PRAGMA application_id").scalar()
        if application not in {0, _APPLICATION_ID}:
            return _Found(None, tuple(sorted(tables)) or ("of another program",))
        return _Found(None, tuple(sorted(tables)))
    from labenv.store.models import Base

    return _Found(None, tuple(sorted(tables & set(Base.metadata.tables))))


def _refuse_unfit(database: Database, found: _Found) -> None:
    if found.foreign:
        names = ", ".join(found.foreign[:4]) + (", ..." if len(found.foreign) > 4 else "")
        raise StoreError(
            f"store {database.location}: the database belongs to another program (tables {names}); "
            "choose another path or database for labenv"
        )
    if found.version is not None and found.version not in known_versions():
        raise StoreError(
            f"store {database.location}: it was written by a newer labenv (schema {found.version}; "
            f"this labenv knows up to {SCHEMA_VERSION}); upgrade labenv with "
            "'pip install -U labenv', or choose another store"
        )


def known_versions() -> list[str]:
    """Return the schema versions that can be migrated from, oldest first."""
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(MIGRATIONS))
    return [revision.revision for revision in script.walk_revisions()][::-1]


def _upgrade(connection: Connection) -> None:
    # Inside the caller's transaction, so that it happens whole or not at all.
    from alembic import command
    from alembic.config import Config

    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    if _look(connection).version == SCHEMA_VERSION:
        return  # another process was faster
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise StoreError(f"the migration would leave rows of {broken[0]} without their parent")
        connection.exec_driver_sql(f"PRAGMA application_id={_APPLICATION_ID}")
