"""`labenv run` and the commands that look back."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from labenv.store import Store
from labenv_schemas import Proposal


def test_a_campaign_ends_with_table_store_and_report(labenv: Any, campaign: Path) -> None:
    answer = labenv("run", campaign)
    assert answer.code == 0
    assert "campaign c00001 (small; sobol, seed 5): finished, 3 experiments" in answer.out
    assert "best: " in answer.out
    assert "report: labenv-results/c00001.html" in answer.out
    assert Path("labenv-results/labenv.sqlite").exists()
    assert "<!doctype html>" in Path("labenv-results/c00001.html").read_text(encoding="utf-8")
    assert "campaign c00001 begins" in answer.err
    assert "[3/3]" in answer.err


def test_json_is_all_there_is_on_standard_output(labenv: Any, campaign: Path) -> None:
    data = labenv("run", campaign, "--format", "json", "--quiet").json
    assert data["status"] == "finished"
    assert [row["index"] for row in data["rows"]] == [0, 1, 2]
    assert data["best"]["score"] == max(row["score"] or 0 for row in data["rows"])
    assert Path(data["report"]).exists()
    assert Path(data["store"]).exists()


def test_quiet_is_quiet(labenv: Any, campaign: Path) -> None:
    assert labenv("run", campaign, "--quiet").err == ""


def test_options_replace_settings_of_the_file(labenv: Any, campaign: Path) -> None:
    words = ("run", campaign, "--policy", "random", "--experiments", 2, "--seed", 8, "-q")
    data = labenv(*words, "--format", "json", "--store", "other.sqlite", "--report", "r.html").json
    assert (data["policy"], data["experiments"], data["seed"]) == ("random", 2, 8)
    assert Path("other.sqlite").exists()
    assert data["report"] == "r.html"
    assert Path("r.html").exists()
    assert not Path("labenv-results").exists()


def test_a_folder_as_report_gets_a_file_of_the_campaign(labenv: Any, campaign: Path) -> None:
    Path("reports").mkdir()
    labenv("run", campaign, "-q", "--report", "reports")
    assert [item.name for item in Path("reports").iterdir()] == ["c00001.html"]


def test_one_experiment_is_not_called_experiments(labenv: Any, campaign: Path) -> None:
    answer = labenv("run", campaign, "-q", "--experiments", 1)
    assert "finished, 1 experiment, " in answer.out
    assert "1 experiments" not in Path("labenv-results/c00001.html").read_text()


def test_a_table_in_a_file_has_a_line_a_row_and_no_blanks_at_the_end(labenv: Any) -> None:
    lines = labenv("phases").out.splitlines()
    assert len(lines) == len(labenv("phases", "--format", "json").json) + 1
    assert not [line for line in lines if line != line.rstrip()]


def test_quantities_are_shown_without_the_noise_of_arithmetic(
    labenv: Any, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labenv("run", campaign, "-q")
    original = Store.experiment

    def noisy(self: Store, *words: Any) -> Any:
        record = original(self, *words)
        data = record.proposal.model_dump(mode="json", exclude_none=True)
        data["rationale"] = "so it is: 0.012525000000000001 mol"
        data["operations"][0]["precursors"][0]["amount"] = "0.012525000000000001 mol"
        return dataclasses.replace(record, proposal=Proposal.model_validate(data))

    monkeypatch.setattr(Store, "experiment", noisy)
    shown = labenv("show", "c1/0", "--format", "json").json["proposal"]
    assert shown["operations"][0]["precursors"][0]["amount"] == "0.012525 mol"
    assert shown["rationale"].endswith("0.012525000000000001 mol")


def test_stores_in_one_folder_keep_their_reports_apart(labenv: Any, campaign: Path) -> None:
    for seed, store in ((1, "a.sqlite"), (2, "a.db"), (3, "labenv.sqlite")):
        assert labenv("run", campaign, "-q", "--store", store, "--seed", seed).code == 0
    pages = {path.name: path.read_text() for path in Path().glob("*.html")}
    assert sorted(pages) == ["a.db-c00001.html", "a.sqlite-c00001.html", "c00001.html"]
    assert len(set(pages.values())) == 3
    Path("all").mkdir()
    answer = labenv("report", "c1", "--store", "sqlite:///a.db", "--out", "all")
    assert answer.out == "all/a.db-c00001.html\n"


def test_equal_seeds_give_equal_tables(labenv: Any, campaign: Path) -> None:
    one, two, other = (
        labenv("run", campaign, "-q", "--format", "json", "--seed", seed).json for seed in (3, 3, 4)
    )
    for data in (one, two, other):
        for row in data["rows"]:
            del row["experiment_id"]
    assert one["rows"] == two["rows"]
    assert one["rows"] != other["rows"]


def test_a_finished_campaign_is_reported_again_when_resumed(labenv: Any, campaign: Path) -> None:
    labenv("run", campaign, "-q")
    Path("labenv-results/c00001.html").unlink()
    answer = labenv("run", "--resume", "c1")
    assert answer.code == 0
    assert "campaign c00001 is finished already" in answer.err
    assert Path("labenv-results/c00001.html").exists()
    assert len(labenv("list", "--format", "json").json) == 1


def test_an_interrupt_says_how_to_go_on(
    labenv: Any, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Store.record_experiment

    def interrupted(self: Store, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "record_experiment", interrupted)
    answer = labenv("run", campaign, "--store", "my store.sqlite")
    assert answer.code == 130
    assert "labenv run --resume c00001 --store 'my store.sqlite'" in answer.err
    monkeypatch.undo()
    monkeypatch.chdir(campaign.parent)
    resumed = labenv("run", "--resume", "latest", "--store", "my store.sqlite")
    assert resumed.code == 0
    assert "goes on" in resumed.err
    assert "finished, 3 experiments" in resumed.out


def test_a_file_beside_resume_must_be_the_campaigns_own(
    labenv: Any, campaign: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Store, "record_experiment", interrupted)
        labenv("run", campaign)
    same = campaign.read_text()
    campaign.write_text(same.replace("seed: 5", "seed: 6").replace("name: sobol", "name: random"))
    answer = labenv("run", campaign, "--resume", "latest")
    assert answer.code == 2
    for said in ("not what campaign c00001 began with", "policy.name: random in the file, sobol in",
                 "seed: 6 in the file, 5 in the store", "leave the file out to go on"):  # fmt: skip
        assert said in answer.err
    assert labenv("list", "--format", "json").json[0]["status"] == "interrupted"
    campaign.write_text(f"# a remark\n{same}")
    assert labenv("run", campaign, "--resume", "latest", "-q").code == 0
    campaign.write_text(same + "lab: {furnaces: 3}\n")
    assert "lab.furnaces: 3 in the file" in labenv("run", campaign, "--resume", "latest").err


def test_a_refused_recipe_was_not_run_and_is_not_the_best(labenv: Any, tmp_path: Path) -> None:
    path = tmp_path / "recipes.yaml"
    path.write_text("""\
name: recipes
recipes:
  - name: too hot
    citation: A. Author, J. Sources 1 (2000) 1
    published: {phases: {BaTiO3: 1.0}, statement: single phase}
    proposal:
      operations:
        - {op: dose, precursors: [{substance: BaCO3, amount: 10 mmol}]}
        - {op: heat, segments: [{target: 2500 degC, hold: 6 h}]}
        - {op: measure}
""")
    answer = labenv("run", path, "-q")
    assert answer.code == 0
    assert "nothing crystalline" not in answer.out
    assert "not run" in answer.out
    assert "best: nothing could be scored" in answer.out
    (row,) = labenv("list", "--format", "json").json
    assert (row["best_score"], row["best_experiment_id"]) == (None, None)
    data = labenv("show", "latest", "--format", "json").json
    assert data["best"] is None
    assert data["comparisons"][0]["status"] == "invalid"
    assert ">not run<" in Path("labenv-results/c00001.html").read_text()


def test_results_after_the_deadline_are_marked(labenv: Any, campaign: Path) -> None:
    campaign.write_text(
        "name: soon over\nseed: 5\nparallelism: 3\nlab: {furnaces: 3}\npolicy: {name: sobol}\n"
        "budget: {experiments: null, lab_time: 20 h}\n"
    )
    answer = labenv("run", campaign, "-q")
    data = labenv("show", "latest", "--format", "json").json
    late = [row["index"] for row in data["rows"] if row["late"]]
    assert late
    assert all(row["score"] is None for row in data["rows"] if row["late"])
    assert f"lab time ended, carried out to the end and not scored: {late[0]}" in answer.out
    assert re.search(r"^ *\d+  late ", answer.out, re.MULTILINE)
    assert "not scored" in Path("labenv-results/c00001.html").read_text()
    assert exported_late(labenv) == late


def exported_late(labenv: Any) -> list[int]:
    """Return the late experiments, on which all exports agree."""
    for name in ("x.csv", "x.jsonl", "x.parquet"):
        assert labenv("export", "latest", "--out", name).code == 0
    with Path("x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["late"] for row in rows} == {"true", "false"}
    assert all(row["score"] == "" for row in rows if row["late"] == "true")
    late = [int(row["experiment_index"]) for row in rows if row["late"] == "true"]
    lines = [json.loads(line) for line in Path("x.jsonl").read_text().splitlines()]
    assert [line["index"] for line in lines if line["late"]] == late
    table = pyarrow.parquet.read_table("x.parquet").to_pylist()
    assert [row["experiment_index"] for row in table if row["late"]] == late
    return late


def test_recipes_are_compared_in_the_table(labenv: Any, tmp_path: Path) -> None:
    path = tmp_path / "recipes.yaml"
    path.write_text("""\
name: recipes
lab: {randomise: false}
recipes:
  - name: hot
    citation: A. Author, J. Sources 1 (2000) 1
    published: {phases: {BaTiO3: 1.0}, statement: single phase}
    proposal:
      operations:
        - op: dose
          precursors: [{substance: BaCO3, amount: 10 mmol}, {substance: anatase, amount: 10 mmol}]
        - {op: mix, duration: 12 h}
        - {op: heat, segments: [{target: 1200 degC, hold: 6 h}]}
        - {op: measure}
""")
    answer = labenv("run", path, "-q")
    assert "named phases agree in 1 of 1 recipe" in answer.out
    assert "BaTiO3 alone" in answer.out
    data = labenv("show", "latest", "--format", "json").json
    assert data["comparisons"][0]["agrees"] is True
    assert "Simulated beside published" in Path("labenv-results/c00001.html").read_text()
    refused = labenv("run", path, "--policy", "sobol")
    assert refused.code == 2
    assert "replays recipes" in refused.err


@pytest.fixture
def finished(labenv: Any, campaign: Path) -> Any:
    assert labenv("run", campaign, "-q").code == 0
    return labenv


def test_list_shows_campaigns(finished: Any) -> None:
    assert "c00001  finished  sobol" in finished("list").out
    (row,) = finished("list", "--format", "json").json
    assert (row["campaign_id"], row["experiments"], row["status"]) == ("c00001", 3, "finished")


def test_show_an_experiment_by_its_names(finished: Any) -> None:
    text = finished("show", "c1/1").out
    assert text.startswith("experiment c00001-0001 (number 1 of c00001)")
    assert "station" in text
    data = finished("show", "c00001-0001", "--format", "json").json
    assert data["index"] == 1
    assert data["proposal"]["operations"][0]["op"] == "dose"
    assert data["outcome"]["experiment_id"] == "c00001-0001"


def test_show_a_campaign(finished: Any) -> None:
    assert "campaign c00001 (small; sobol" in finished("show", "small").out
    assert finished("show", "c1", "--format", "json").json["campaign_id"] == "c00001"


def test_show_explains_a_name_that_several_campaigns_share(finished: Any, campaign: Path) -> None:
    finished("run", campaign, "-q")
    answer = finished("show", "small")
    assert answer.code == 1
    assert "'small' means several campaigns: c00001, c00002" in answer.err
    assert "'c00001-' means several experiments: c00001/0" in finished("show", "c00001-").err


def test_show_says_that_there_is_neither(finished: Any) -> None:
    answer = finished("show", "c9")
    assert answer.code == 1
    assert "no campaign or experiment 'c9'; campaigns there are: c00001 (small)" in answer.err
    assert "no campaign 'c9'; there are: c00001" in finished("show", "c9/1").err
    assert "there is no experiment 'c1/9'" in finished("show", "c1/9").err


def test_report_again(finished: Any) -> None:
    assert finished("report", "latest", "--out", "again.html").out == "again.html\n"
    assert Path("again.html").read_text() == Path("labenv-results/c00001.html").read_text()


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("x.csv", b"campaign_id"), ("x.PARQUET", b"PAR1"), ("x.pq", b"PAR1"), ("x.jsonl", b"{"),
     ("x.ndjson", b"{")],
)  # fmt: skip
def test_the_format_of_an_export_is_that_of_its_name(
    finished: Any, name: str, beginning: bytes
) -> None:
    assert finished("export", "c1", "--out", name).code == 0
    assert Path(name).read_bytes().startswith(beginning)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "--out x.json",
            "x.json ends with .json; end it with .csv, .parquet or .jsonl (JSON lines",
        ),
        ("--out x.xlsx", "x.xlsx ends with .xlsx; end it with .csv, .parquet or .jsonl, or add"),
        ("--out x", "x has no ending"),
        ("--out . --format csv", ". is a folder; name a file in it, such as campaign.csv"),
        ("--out x.parquet --format csv", "--format csv does not go with x.parquet, which says"),
    ],
)
def test_an_export_of_unclear_format_is_refused(finished: Any, words: str, said: str) -> None:
    answer = finished("export", "c1", *words.split())
    assert answer.code == 2
    assert said in answer.err
    assert not list(Path().glob("x*"))


def test_a_stated_format_goes_with_any_other_ending(finished: Any) -> None:
    assert finished("export", "c1", "--format", "jsonl", "--out", "x.json").code == 0
    assert json.loads(Path("x.json").read_text().splitlines()[0])["index"] == 0


def test_export_in_every_format(finished: Any) -> None:
    for name in ("csv", "jsonl", "parquet"):
        assert finished("export", "c1", "--format", name, "--out", f"out.{name}").code == 0
    with Path("out.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 3
    lines = Path("out.jsonl").read_text().splitlines()
    assert [json.loads(line)["index"] for line in lines] == [0, 1, 2]
    assert Path("out.parquet").read_bytes()[:4] == b"PAR1"
