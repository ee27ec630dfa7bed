"""Files that a command may write to: never its store, its campaign file or another database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labenv.cli.stores import sqlite_path
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

_BESIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database


def check_output(place: Path, what: str, *, store: str, campaign: Path | None = None) -> None:
    """Refuse to write over what a command reads, however it is spelled or linked to.

    Args:
        place: File to be written; it need not exist.
        what: What is to be written, such as ``"export"``.
        store: How the user named the store.
        campaign: The campaign file, if one is read.

    Raises:
        ConfigError: If the place is the store, a file that SQLite keeps beside it, the campaign
            file or any SQLite database.
        StoreError: If the store's URL is malformed.
    """
    from labenv.store.export import is_database

    if campaign is not None and _is_same(place, campaign):
        _refuse(place, what, "it is the campaign file")
    for kept in _files_of_store(store):
        if _is_same(place, kept):
            _refuse(place, what, "it belongs to the store that the campaign is kept in")
    if is_database(place):
        _refuse(place, what, "it is an SQLite database, which may be a store")


def _refuse(place: Path, what: str, why: str) -> None:
    raise ConfigError(
        f"the {what} cannot be written to {place}: {why} and would be lost; name another file"
    )


def _files_of_store(url: str) -> Iterator[Path]:
    """Yield the files of a store by its own name and by the one that links lead to."""
    from labenv.store.address import read_address

    sqlite_path(url)  # names what is no store of a command
    address = read_address(url)
    if address.get_backend_name() != "sqlite":
        return
    named = Path(address.database or "")
    for path in (named, _followed(named)):
        yield path
        yield from (path.with_name(f"{path.name}{ending}") for ending in _BESIDE)


def _is_same(one: Path, other: Path) -> bool:
    if _followed(one) == _followed(other):
        return True
    try:
        return one.samefile(other)  # hard links, file systems that do not tell cases apart
    except OSError:
        return False


def _followed(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # links that lead in a circle
        return path.absolute()
