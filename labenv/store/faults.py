"""What a database driver's error means for a person, and whether trying again helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from labenv_schemas.errors import StoreError

FaultKind = Literal["busy", "conflict", "unreachable", "other"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A driver's error, understood.

    Attributes:
        kind: Busy and conflicting transactions are tried again.
        message: What was wrong and what to do.
        retryable: Whether the same call may succeed later.
    """

    kind: FaultKind
    message: str
    retryable: bool = False


_BUSY = Fault(
    "busy", "other processes have kept the store busy for too long; try again", retryable=True
)

# Primary result codes of SQLite, https://www.sqlite.org/rescode.html
_SQLITE: dict[str, Fault] = {
    "SQLITE_BUSY": _BUSY,
    "SQLITE_LOCKED": _BUSY,
    "SQLITE_PROTOCOL": _BUSY,
    "SQLITE_FULL": Fault(
        "other",
        "the disk is full; nothing of this transaction was written and what was stored before is "
        "safe. Free some space and resume",
        retryable=True,
    ),
    "SQLITE_READONLY": Fault(
        "other",
        "the file or its folder is read-only; give yourself write permission or choose another "
        "store",
    ),
    "SQLITE_CANTOPEN": Fault(
        "other",
        "the file cannot be opened; check that its folder exists and that you may write both "
        "(SQLite keeps two more files beside it), or copy the store to a folder of your own",
    ),
    "SQLITE_NOTADB": Fault(
        "other", "the file is not an SQLite database; choose another path for the store"
    ),
    "SQLITE_CORRUPT": Fault(
        "other",
        "the database is damaged; restore it from a backup, or save what can be read with "
        "'sqlite3 OLD .recover | sqlite3 NEW'",
    ),
    "SQLITE_IOERR": Fault(
        "other",
        "the disk reported an error or is full; nothing of this transaction was written. Check the "
        "disk, and do not keep a store on a network drive",
    ),
    "SQLITE_PERM": Fault("other", "access was denied; check the permissions of file and folder"),
}
_SQLITE["SQLITE_AUTH"] = _SQLITE["SQLITE_PERM"]

# https://www.postgresql.org/docs/current/errcodes-appendix.html
_SQLSTATE: dict[str, Fault] = {
    "40001": _BUSY,
    "40P01": _BUSY,
    "55P03": _BUSY,
    "53300": Fault(
        "busy", "the server has no connection left; close other programs", retryable=True
    ),
    "53100": Fault(
        "other",
        "the server's disk is full; nothing of this transaction was written",
        retryable=True,
    ),
    "25006": Fault("other", "the server accepts no writing (a standby or a read-only session)"),
    "42501": Fault("other", "the user lacks a right; ask for one to create and write tables"),
    "28P01": Fault("other", "the password was refused; check user and password in the URL"),
    "28000": Fault("other", "the login was refused; check user and host in the URL"),
    "3D000": Fault("other", "the database does not exist; create it with 'createdb NAME'"),
}
_UNREACHABLE = Fault(
    "unreachable",
    "the database server cannot be reached; check that it runs, and host, port, user and database "
    "in the URL",
    retryable=True,
)


def understand(error: Exception) -> Fault:
    """Classify a driver's error.

    Args:
        error: As SQLAlchemy raised it.

    Returns:
        What it means.
    """
    original = getattr(error, "orig", None) or error
    sqlite_name = getattr(original, "sqlite_errorname", None)
    if isinstance(sqlite_name, str):
        fault = _SQLITE.get("_".join(sqlite_name.split("_")[:2]))
        if fault is not None:
            return fault
    sqlstate = getattr(original, "sqlstate", None)
    if isinstance(sqlstate, str) and sqlstate in _SQLSTATE:
        return _SQLSTATE[sqlstate]
    if isinstance(error, IntegrityError):
        return Fault("conflict", f"the record contradicts what is stored: {_first_line(original)}")
    if isinstance(error, PoolTimeoutError):
        return _BUSY
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return _UNREACHABLE
    if isinstance(error, (OperationalError, InterfaceError)) and sqlite_name is None:
        return Fault(
            "unreachable", f"{_UNREACHABLE.message} ({_first_line(original)})", retryable=True
        )
    return Fault("other", _first_line(original))


def store_error(location: str, what: str, fault: Fault) -> StoreError:
    """Return the error to raise.

    Args:
        location: Path or URL of the store, without a password.
        what: What was being done.
        fault: What went wrong.

    Returns:
        The error, not raised.
    """
    return StoreError(f"store {location}: {what}: {fault.message}", retryable=fault.retryable)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
