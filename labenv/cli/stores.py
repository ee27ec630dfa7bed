"""Opening the store that a command line names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from labenv.store import Store

_SQLITE = "sqlite:///"


def open_store(url: str, *, create: bool = False) -> Store:
    """Open a store for a command.

    Args:
        url: Path of an SQLite file, or a database URL.
        create: Whether to make it, and the folder it lies in, if absent.

    Returns:
        The store.

    Raises:
        ConfigError: If there is no store and none may be made, or its folder cannot be made.
    """
    from labenv.store import Store

    path = sqlite_path(url)
    if path is not None:
        _check_file(path, create=create)
    return Store.open(url, create=create)


def sqlite_path(url: str) -> Path | None:
    """Return the file of an SQLite store, or None for another database or one in memory.

    Args:
        url: Path or URL.

    Returns:
        The path.

    Raises:
        ConfigError: If the URL is empty or names a store that ends with the process.
    """
    if not url.strip():
        raise ConfigError("the store's name is empty; write a path such as results.sqlite")
    if url.startswith(_SQLITE):
        url = url.removeprefix(_SQLITE)
    elif "://" in url:
        return None
    if url in {"", ":memory:"}:
        raise ConfigError("a store in memory ends with the command; name a file")
    return Path(url)


def _check_file(path: Path, *, create: bool) -> None:
    try:
        if path.is_dir():
            raise ConfigError(
                f"{path} is a folder; name a file in it, such as {path}/labenv.sqlite"
            )
        if not create and not path.exists():
            raise ConfigError(
                f"there is no store at {path}; 'labenv run' makes one, --store names another"
            )
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"the store {path} cannot be used: {reason}; name another with --store"
        ) from None
