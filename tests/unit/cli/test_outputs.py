"""No output takes the place of a store or of a campaign file."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def kept(labenv: Any, campaign: Path) -> Callable[..., Any]:
    """Return the command line in a folder with the finished campaign c1 in v.sqlite."""
    assert labenv("run", campaign, "-q", "--store", "v.sqlite", "--report", "r.html").code == 0
    Path("link.sqlite").symlink_to("v.sqlite")
    Path("hard.csv").hardlink_to("v.sqlite")
    Path("link.yaml").symlink_to(campaign)
    Path("sub").mkdir()
    return labenv  # type: ignore[no-any-return]


@pytest.mark.parametrize("store", ["v.sqlite", "sqlite:///v.sqlite", "sqlite+pysqlite:///v.sqlite",
                                   "{here}/v.sqlite", "link.sqlite"])  # fmt: skip
def test_the_store_is_never_written_over(kept: Any, store: str) -> None:
    here = Path.cwd()
    store = store.format(here=here)
    before, names = Path("v.sqlite").read_bytes(), sorted(item.name for item in here.iterdir())
    places = ("v.sqlite", "./sub/../v.sqlite", f"{here}/v.sqlite", "link.sqlite", "v.sqlite-wal",
              "v.sqlite-shm", "hard.csv")  # fmt: skip
    commands = (
        ("export", "c1", "--format", "csv", "--out"),
        ("report", "c1", "--out"),
        ("run", "campaign.yaml", "-q", "--report"),
        ("run", "--resume", "c1", "-q", "--report"),
    )
    for words, place in itertools.product(commands, places):
        answer = kept(*words, place, "--store", store)
        assert answer.code == 2, (words, place)
        assert f"cannot be written to {Path(place)}: it belongs to the store" in answer.err
    assert Path("v.sqlite").read_bytes() == before
    assert sorted(item.name for item in here.iterdir()) == names


@pytest.mark.parametrize("place", ["new.sqlite", "{here}/new.sqlite", "new.sqlite-wal"])
def test_a_store_that_is_to_be_made_is_not_written_over(
    labenv: Any, campaign: Path, place: str
) -> None:
    place = place.format(here=campaign.parent)
    answer = labenv("run", campaign, "--store", "new.sqlite", "--report", place)
    assert answer.code == 2
    assert "it belongs to the store" in answer.err
    assert not Path("new.sqlite").exists()


@pytest.mark.parametrize("place", ["campaign.yaml", "{here}/sub/../campaign.yaml", "link.yaml"])
def test_the_campaign_file_is_never_written_over(kept: Any, place: str) -> None:
    place = place.format(here=Path.cwd())
    before = Path("campaign.yaml").read_bytes()
    for file in ("campaign.yaml", "link.yaml"):
        answer = kept("run", file, "-q", "--report", place)
        assert answer.code == 2
        assert "it is the campaign file" in answer.err
    assert Path("campaign.yaml").read_bytes() == before
    assert not Path("labenv-results").exists()


def test_no_other_database_is_written_over(kept: Any) -> None:
    shutil.copy("v.sqlite", "other.html")
    before = Path("other.html").read_bytes()
    for words in (
        ("export", "c1", "--format", "csv", "--out", "other.html"),
        ("report", "c1", "--out", "other.html"),
        ("run", "campaign.yaml", "-q", "--report", "other.html"),
    ):
        answer = kept(*words, "--store", "v.sqlite")
        assert answer.code == 2
        assert "it is an SQLite database" in answer.err
    assert Path("other.html").read_bytes() == before


def test_a_database_in_a_folder_of_reports_is_not_written_over(kept: Any) -> None:
    name = Path(kept("report", "c1", "--store", "v.sqlite", "--out", "sub").out.strip()).name
    shutil.copy("v.sqlite", f"sub/{name}")
    answer = kept("report", "c1", "--store", "v.sqlite", "--out", "sub")
    assert answer.code == 2
    assert "it is an SQLite database" in answer.err


def test_other_files_are_replaced(kept: Any) -> None:
    for _ in range(2):
        for words in (("export", "c1", "--out", "out.csv"), ("report", "c1", "--out", "r.html")):
            assert kept(*words, "--store", "v.sqlite").code == 0
