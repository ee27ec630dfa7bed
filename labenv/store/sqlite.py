"""What SQLite must be told: who begins transactions, how to wait for a lock, what to check."""

from __future__ import annotations

import secrets
import sqlite3
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

# Inside SQLite, for the few statements that meet a lock after BEGIN.
BUSY_TIMEOUT_S = 0.02

# SQLite's own waiting polls ever more rarely, down to every 0.1 s, which starves those who came
# first: polling at a constant short interval halved the longest wait of eight writers.
_POLL_S = 0.003
_WAIT_S = 2.0


def tell_sqlite(engine: Engine, *, durable: bool, migrating: bool) -> None:
    """Take transactions over from the driver and set what SQLite forgets between connections.

    Args:
        engine: Of an SQLite file.
        durable: Whether each transaction waits until the disk has it.
        migrating: Whether the engine changes tables: foreign keys are then not checked, because a
            table that is rebuilt must be dropped, and the file is switched to a write-ahead log.
    """

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:  # noqa: ANN401 - the driver's own
        connection.isolation_level = None  # the driver then emits no BEGIN of its own
        pragmas = [
            f"foreign_keys={'OFF' if migrating else 'ON'}",
            f"synchronous={'FULL' if durable else 'NORMAL'}",
        ]
        if migrating:
            pragmas.append("journal_mode=WAL")  # kept in the file for everyone after
        try:
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:  # a damaged file; the pool does not yet know the connection
            connection.close()
            raise

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        if not connection.get_execution_options().get("labenv_write", False):
            connection.exec_driver_sql("BEGIN")
        elif not _begin_when_free(connection.connection.driver_connection):
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # raises SQLAlchemy's kind of error


def _begin_when_free(connection: Any) -> bool:  # noqa: ANN401 - the driver's own
    # Begins a writing transaction as soon as no other process has one; False if that does not come.
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
                return False
            time.sleep(_POLL_S * (0.5 + secrets.randbelow(1000) / 1000))
        else:
            return True
    return False
