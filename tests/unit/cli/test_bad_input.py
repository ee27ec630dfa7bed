"""Whatever is wrong on the command line is said in one message, with the exit code of its kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from labenv.cli import main
from labenv_schemas.errors import StoreError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("frobnicate", "No such command 'frobnicate'"),
        ("run", "name a campaign file"),
        ("run missing.yaml", "there is no campaign file at missing.yaml; the folder has campaign"),
        ("run .", "is a folder"),
        ("run campaign.yaml --experiments -3", "--experiments"),
        ("run campaign.yaml --experiments 0", "--experiments"),
        ("run campaign.yaml --experiments 2.5", "--experiments"),
        ("run campaign.yaml --seed nan", "--seed"),
        ("run campaign.yaml --seed -1", "--seed"),
        ("run campaign.yaml --seed 99999999999999999999", "--seed"),
        ("run campaign.yaml --policy clever", "no policy is called 'clever'; there are: bayesian"),
        ("run campaign.yaml --store ''", "the store's name is empty"),
        ("run campaign.yaml --store :memory:", "name a file"),
        ("run campaign.yaml --store .", "is a folder"),
        ("run campaign.yaml --store campaign.yaml/x.sqlite", "cannot be used"),
        ("run campaign.yaml --report campaign.yaml/x.html", "no report can be written"),
        ("run campaign.yaml --resume c1 --seed 3", "leave out --seed"),
        ("run --resume c1", "there is no store at"),
        ("run campaign.yaml --format xml", "--format"),
        ("list", "there is no store at labenv-results/labenv.sqlite"),
        ("show", "EXPERIMENT"),
        ("export c1 --format csv", "--out"),
        ("analyse", "FILE"),
        ("analyse campaign.yaml", "campaign.yaml: not recognised"),
        ("analyse campaign.yaml --phases ZnO --elements Zn,O", "leave out --phases"),
        ("analyse missing.xy --phases ZnO", "missing.xy"),
        ("analyse . --phases ZnO", "directory"),
        ("analyse campaign.yaml --phases ZnO", "campaign.yaml"),
        ("analyse empty.xy --phases ZnO", "empty"),
        ("analyse scan.xy --phases ,", "is empty"),
        ("analyse scan.xy --phases unobtainium", "unobtainium"),
        ("analyse scan.xy --cif campaign.yaml", "campaign.yaml"),
        ("analyse scan.xy --elements Xx", "Xx"),
        ("phases --elements Xx", "Xx"),
        ("schemas", "--out"),
        ("schemas --out campaign.yaml/x", "the schemas cannot be written"),
    ],
)
def test_bad_input_is_told_and_exits_with_2(
    labenv: Any, campaign: Path, words: str, message: str
) -> None:
    Path("empty.xy").touch()
    Path("scan.xy").write_text("".join(f"{10 + 0.02 * i:.2f} {100 + i % 7}\n" for i in range(2000)))
    answer = labenv(*("" if word == "''" else word for word in words.split()))
    assert answer.code == 2, answer.err
    assert answer.err.startswith("labenv: ")
    assert message in answer.err
    assert answer.out == ""
    assert not list(Path().glob("**/*.sqlite"))


def test_a_fault_in_the_file_is_told_by_line(labenv: Any, campaign: Path) -> None:
    campaign.write_text("name: x\npolicy:\n  nam: sobol\n")
    answer = labenv("run", campaign)
    assert answer.code == 2
    assert f"{campaign}:3: policy: unknown field 'nam'; did you mean 'name'?" in answer.err


@pytest.mark.parametrize("place", ["campaign.yaml/x.sqlite", "/proc/labenv/x.sqlite"])
def test_a_place_where_nobody_may_write_is_told(labenv: Any, campaign: Path, place: str) -> None:
    Path("campaign.yaml").touch()
    answer = labenv("run", campaign, "--store", place)
    assert answer.code in {1, 2}
    assert place.rpartition("/")[0] in answer.err


def test_a_file_that_is_no_store_is_told(labenv: Any, campaign: Path) -> None:
    Path("junk.sqlite").write_text("this is not a database " * 100)
    for words in (("list",), ("run", campaign)):
        answer = labenv(*words, "--store", "junk.sqlite")
        assert answer.code == 1
        assert "junk.sqlite" in answer.err
    assert Path("junk.sqlite").read_text().startswith("this is not")


def test_an_unknown_database_is_told(labenv: Any, campaign: Path) -> None:
    answer = labenv("run", campaign, "--store", "nosuch://host/db")
    assert answer.code in {1, 2}
    assert "nosuch" in answer.err


@pytest.mark.parametrize("words", ["show c9/1", "show c9", "report c9", "export c9 --out x.csv",
                                   "run --resume c9"])  # fmt: skip
def test_what_the_store_does_not_hold_is_told(labenv: Any, campaign: Path, words: str) -> None:
    assert labenv("run", campaign, "-q").code == 0
    answer = labenv(*words.split())
    assert answer.code == 1
    assert "c9" in answer.err or "c00009" in answer.err


def test_an_error_of_ours_shows_no_traceback_unless_asked(
    labenv: Any, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("labenv.cli.stores.sqlite_path", broken)
    answer = labenv("list")
    assert answer.code == 1
    assert "unexpected ZeroDivisionError: by zero" in answer.err
    assert "--debug" in answer.err
    with pytest.raises(ZeroDivisionError):
        main(["list", "--debug"])


def test_a_store_that_fails_exits_with_1(
    labenv: Any, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr("labenv.store.Store.record_submission", broken)
    answer = labenv("run", campaign)
    assert answer.code == 1
    assert "the disk is full" in answer.err
    assert "labenv run --resume c00001" in answer.err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "labenv", "phases", "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 141
    assert errors == b""
