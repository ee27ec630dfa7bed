"""Files that come whole or not at all, and places that are no files."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from labenv.store.whole_files import whole_file

if TYPE_CHECKING:
    from pathlib import Path


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "a.csv"
    place.write_text("before")

    def fail() -> None:
        with whole_file(place) as fresh:
            fresh.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert place.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_folders_are_made(tmp_path: Path) -> None:
    with whole_file(tmp_path / "b" / "c" / "a.csv") as fresh:
        fresh.write_text("now")
    assert (tmp_path / "b" / "c" / "a.csv").read_text() == "now"


def test_a_link_stays_and_leads_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real.csv", tmp_path / "link.csv"
    real.write_text("before")
    link.symlink_to(real)
    with whole_file(link) as fresh:
        fresh.write_text("now")
    assert link.is_symlink()
    assert real.read_text() == "now"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with whole_file(pipe) as fresh:
        fresh.write_text("now")
    reader.join(timeout=10)
    assert read == ["now"]
    assert pipe.is_fifo()
