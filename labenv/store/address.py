"""Where a store is: a path or a URL, read once and checked before anything is opened."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from labenv_schemas.errors import StoreError

_ALMOST_URL = re.compile(r"((?:sqlite|postgres(?:ql)?|mysql|mariadb)(?:\+\w+)?):(.+)", re.I | re.S)
# SQLAlchemy 2.0 and 2.1 differ in the driver that a bare "postgresql" means.
_DRIVERS = {"postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg"}


def read_address(address: str | Path) -> URL:
    """Read the path or URL of a store.

    Args:
        address: Path of an SQLite file, or an SQLAlchemy URL.

    Returns:
        The URL; an SQLite path is absolute.

    Raises:
        StoreError: If it is empty, not a URL, or a database in memory.
    """
    text = str(address).strip()
    if not text:
        raise StoreError("no store was named; give the path of a file, such as 'runs/lab.db'")
    if "://" not in text:
        _check_slashes(text)
        if text in {":memory:", "sqlite:"}:
            raise StoreError(f"{text!r}: a store in memory could not be resumed; give a path")
        return _sqlite_url(text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise StoreError(
            f"the store's URL is malformed; write it as 'sqlite:///runs/lab.db' or "
            f"'postgresql://user:password@host/database' (given: {_scheme(text)}://...)"
        ) from None
    if url.get_backend_name() == "sqlite":
        if url.query or url.get_driver_name() != "pysqlite" or url.host:
            raise StoreError(
                f"store {text}: write an SQLite store as 'sqlite:///relative/path' or "
                "'sqlite:////absolute/path', without options"
            )
        return _sqlite_url(url.database or ":memory:")
    return url.set(drivername=_DRIVERS.get(url.drivername, url.drivername))


def location_of(url: URL) -> str:
    """Return what to call a store in messages.

    Args:
        url: Of the store.

    Returns:
        Path of the file, or the URL without its password.
    """
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.render_as_string(hide_password=True)


def check_file(path: Path, *, create: bool) -> bool:
    """Look at the place of an SQLite file, making its folder where asked.

    Args:
        path: Of the file.
        create: Whether there may be none yet.

    Returns:
        Whether there is a file with something in it.

    Raises:
        StoreError: If there is none and none may be made, or the place is unfit.
    """
    try:
        if path.is_dir():
            raise StoreError(f"store {path}: this is a folder; name a file in it, such as lab.db")
        if path.exists():
            with path.open("rb") as file:
                header = file.read(16)
            if header and not header.startswith(b"SQLite format 3"):
                raise StoreError(
                    f"store {path}: the file is not an SQLite database; choose another path"
                )
            return bool(header)
        if not create:
            raise StoreError(
                f"store {path}: there is no such file; check the path, or run a campaign to make it"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"store {path}: {error.strerror or error}; check the path and your permissions"
        ) from error
    return False


def _sqlite_url(database: str) -> URL:
    if database == ":memory:" or database.startswith("file:"):
        raise StoreError(f"{database!r}: a store is a plain file; give its path")
    path = Path(database).expanduser().absolute()
    return URL.create("sqlite+pysqlite", database=str(path))


def _check_slashes(text: str) -> None:
    """Refuse a URL with a slash too few, which would be taken for a path.

    Raises:
        StoreError: With what to write; passwords are not repeated.
    """
    found = _ALMOST_URL.match(text)
    if found is None:
        return
    scheme, rest = found[1].lower(), found[2]
    if scheme.startswith("sqlite"):
        right = f"'sqlite:///{rest}', or the path alone, {rest!r}"
        raise StoreError(f"store {text!r}: slashes are missing after 'sqlite:'; write {right}")
    raise StoreError(
        f"store {scheme}:...: slashes are missing; write '{scheme}://user:password@host/database'"
    )


def _scheme(text: str) -> str:
    return text.split("://", maxsplit=1)[0]
