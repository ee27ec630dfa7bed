"""Files written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """Yield a path to write to, whose content comes to `path` once the block has succeeded.

    A link stays and the file it leads to is replaced. What is no regular file (a pipe, a device)
    stays and is written into.

    Args:
        path: Where the file shall be; folders are made as needed.

    Yields:
        A file that does not exist yet.

    Raises:
        OSError: If the place cannot be written.
    """
    if path.exists() and not path.is_file():
        with tempfile.TemporaryDirectory(prefix="labenv-") as folder:
            temporary = Path(folder) / path.name
            yield temporary
            with temporary.open("rb") as source, path.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        return
    target = path.resolve() if path.is_symlink() else path
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


__all__ = ["whole_file"]
