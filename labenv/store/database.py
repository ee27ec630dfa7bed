"""Connections and transactions: writers queue up, nothing is lost, nobody sees a lock.

On SQLite a transaction that would first read and then write cannot be upgraded while another
writes; it fails at once, whatever the timeout. So every writing transaction begins with BEGIN
IMMEDIATE and waits its turn there, and every transaction that meets a lock, a deadlock or a lost
connection is tried again from its beginning until `PATIENCE_S` have passed. Work that is handed to
`write` must therefore be safe to repeat. Rows are prepared before the transaction begins, so that
it holds the lock for about a millisecond.
"""

from __future__ import annotations

import os
import secrets
import time
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import create_engine
from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError, StatementError

from labenv.store.address import location_of, read_address
from labenv.store.faults import store_error, understand
from labenv.store.sqlite import BUSY_TIMEOUT_S, tell_sqlite
from labenv_schemas.errors import LabEnvError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeVar

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import URL

    T = TypeVar("T")

PATIENCE_S = 120.0
_CONFLICT_TRIES = 5
_UNREACHABLE_TRIES = 3
_REPEATABLE = frozenset({"postgresql", "mysql", "mariadb"})

# An SQLite connection must not be used or closed after a fork, so a child keeps what it inherited.
_inherited: list[Engine] = []


class Database:
    """One database, with an engine for each process that uses it."""

    def __init__(self, url: URL, *, durable: bool) -> None:
        self.url = url
        self.location = location_of(url)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self._durable = durable
        self._engine: Engine | None = None
        self._pid = os.getpid()

    @classmethod
    def at(cls, address: str | Path, *, durable: bool = False) -> Self:
        """Return the database at a path or URL, not yet opened."""
        return cls(read_address(address), durable=durable)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None}

    def __del__(self) -> None:  # Python 3.13 warns of SQLite connections that nobody closed
        self.close()

    @property
    def engine(self) -> Engine:
        """This process's engine."""
        if self._engine is not None and self._pid != os.getpid():
            _inherited.append(self._engine)
            self._engine = None
        if self._engine is None:
            self._engine = self._new_engine()
            self._pid = os.getpid()
        return self._engine

    def close(self) -> None:
        """Close all connections of this process."""
        if self._engine is None:
            return
        if self._pid == os.getpid():
            self._engine.dispose()
        else:
            _inherited.append(self._engine)
        self._engine = None

    def write(self, what: str, work: Callable[[Connection], T]) -> T:
        """Carry out `work` in one transaction, as often as it takes.

        Args:
            what: What is being done, for messages.
            work: Gets the connection; may be called more than once.

        Returns:
            What `work` returned, committed.

        Raises:
            StoreError: If it could not be written; nothing of it was.
        """
        return self._transact(self.engine, what, work, {"labenv_write": True})

    def read(self, what: str, work: Callable[[Connection], T]) -> T:
        """Carry out `work` in one reading transaction, which sees one state of the store.

        Args:
            what: What is being done, for messages.
            work: Gets the connection; may be called more than once.

        Returns:
            What `work` returned.

        Raises:
            StoreError: If it could not be read.
        """
        options: dict[str, Any] = {}
        if self.url.get_backend_name() in _REPEATABLE:
            options["isolation_level"] = "REPEATABLE READ"
        return self._transact(self.engine, what, work, options)

    def migrate(self, what: str, work: Callable[[Connection], T]) -> T:
        """Carry out `work`, which changes tables, in one transaction without foreign keys' checks.

        Args:
            what: What is being done, for messages.
            work: Gets the connection; may be called more than once.

        Returns:
            What `work` returned, committed.

        Raises:
            StoreError: If it could not be done; nothing of it was, except on databases that cannot
                take back changes of tables (SQLite and PostgreSQL can).
        """
        engine = self._new_engine(migrating=True)
        try:
            return self._transact(engine, what, work, {"labenv_write": True})
        finally:
            engine.dispose()

    def _transact(
        self,
        engine: Engine,
        what: str,
        work: Callable[[Connection], T],
        options: dict[str, Any],
    ) -> T:
        deadline = time.monotonic() + PATIENCE_S
        attempt = 0
        while True:
            attempt += 1
            try:
                with engine.connect() as connection:
                    connection.execution_options(**options)
                    with connection.begin():
                        return work(connection)
            except LabEnvError:
                raise
            except (SQLAlchemyError, ValueError, OverflowError) as error:
                self._raise_unless_worth_retrying(error, what, attempt, deadline)
            longest_s = min(0.5, 0.002 * 2 ** min(attempt, 8))
            time.sleep(longest_s * (0.5 + secrets.randbelow(1000) / 2000))

    def _raise_unless_worth_retrying(
        self, error: Exception, what: str, attempt: int, deadline: float
    ) -> None:
        if isinstance(error, StatementError) and isinstance(error.orig, ValueError):
            raise StoreError(f"store {self.location}: {what}: {error.orig}") from None
        if not isinstance(error, SQLAlchemyError):
            raise StoreError(f"store {self.location}: {what}: {error}") from error
        fault = understand(error)
        tries = {"conflict": _CONFLICT_TRIES, "unreachable": _UNREACHABLE_TRIES, "busy": None}
        limit = tries.get(fault.kind, 1)
        if (limit is not None and attempt >= limit) or time.monotonic() > deadline:
            raise store_error(self.location, what, fault) from error

    def _new_engine(self, *, migrating: bool = False) -> Engine:
        try:
            if not self.is_sqlite:
                return create_engine(self.url, pool_pre_ping=True, max_overflow=-1)
            engine = create_engine(
                self.url,
                max_overflow=-1,
                connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
            )
        except NoSuchModuleError:
            raise StoreError(
                f"store {self.location}: no database is called {self.url.drivername!r}; use a path "
                "for SQLite, or 'postgresql://...'"
            ) from None
        except ImportError as error:
            extra = "postgresql" if self.url.get_backend_name() == "postgresql" else None
            remedy = f"pip install 'labenv[{extra}]'" if extra else "install its driver"
            raise StoreError(
                f"store {self.location}: the driver {error.name!r} is not installed; {remedy}"
            ) from None
        tell_sqlite(engine, durable=self._durable, migrating=migrating)
        return engine
