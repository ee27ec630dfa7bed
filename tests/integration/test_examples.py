"""Every example runs as it stands and prints what it promises."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from labenv.campaigns import load_campaign
from labenv.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PROMISED = {
    "analyse_a_scan.py": r"BaTiO3-tetragonal +0\.\d+ ± 0\.\d+\nBa2TiO4 .*\nok, R_wp 0\.\d+\n$",
    "close_the_loop.py": r"(experiment \d+: score 0\.\d+, best so far 0\.\d+\n){10}.*best: .*°C",
    "map_phases.py": r"(x = \d\.\d\d, .*degC: .*\n)+\d+ points in 1\d\d h; score 0\.\d+\n$",
    "search_for_a_superconductor.py": r"ok +Tc .*best Tc [89]\d\.\d K in \d+ h; return 0\.\d+\n$",
    "run_a_proposal.py": r"heat +on furnace-1 .*score 0\.\d+: 0\.\d+ ± 0\.\d+ of BaTiO3, fit ok",
    "train_with_stable_baselines3.py": r"^\d\d episodes, mean return 0\.\d\d\n$",
    "step_the_environment.py": r"best score: 0\.\d+; rewards add up to 0\.\d+",
}
SCRIPTS = sorted(path.name for path in EXAMPLES.glob("*.py"))
CAMPAIGNS = sorted(path.name for path in EXAMPLES.glob("*.yaml"))


def run_campaign(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    capsys.readouterr()
    assert main(["run", *map(str, words), "--quiet", "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.filterwarnings("default:::torch", "default:::stable_baselines3")
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_print_what_they_promise(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if "stable_baselines3" in name:
        pytest.importorskip("stable_baselines3")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert re.search(PROMISED[name], capsys.readouterr().out, re.DOTALL)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_short_and_need_no_arguments(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    assert "argparse" not in text
    assert "sys.argv" not in text


def test_a_script_runs_outside_the_test_suite(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "run_a_proposal.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_campaigns_run(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    data = run_campaign(capsys, EXAMPLES / name, "--experiments", 2)
    assert data["status"] == "finished"
    assert data["experiments"] == 2
    assert Path(data["report"]).exists()


def test_the_campaign_of_make_run_is_long_enough_and_works_in_parallel() -> None:
    config = load_campaign(EXAMPLES / "batio3.yaml")
    assert config.budget is not None
    assert (config.budget.experiments or 0) >= 30
    assert config.parallelism == 2
    assert config.policy.name == "bayesian"


def test_published_recipes_are_set_beside_their_simulation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    recipes = load_campaign(EXAMPLES / "recipes_batio3.yaml").recipes
    assert len(recipes) >= 8
    assert all(re.search(r"\b(19|20)\d\d\b", recipe.citation) for recipe in recipes)
    assert all("ssumed" in (recipe.proposal.rationale or "") for recipe in recipes)
    data = run_campaign(capsys, EXAMPLES / "recipes_batio3.yaml")
    compared = {item["name"]: item for item in data["comparisons"]}
    assert len(compared) == len(recipes)
    # What the model must get right: the intermediate in air, and none of it under carbon dioxide.
    assert compared["Templeton 1959, air"]["agrees"] is True
    assert compared["Templeton 1959, carbon dioxide"]["agrees"] is True
    report = Path(data["report"]).read_text(encoding="utf-8")
    assert all(recipe.name in report for recipe in recipes)
    # What the pages say of it.
    agreeing = sum(item["agrees"] for item in compared.values())
    page = (EXAMPLES.parent / "docs" / "validation-ba-ti.md").read_text(encoding="utf-8")
    assert f"in {agreeing} of {len(recipes)}.**" in page
    for name, item in compared.items():
        (row,) = re.findall(rf"^\| {re.escape(name)} \|(.*)$", page, re.MULTILINE)
        _, found, same, _ = (cell.strip() for cell in row.strip("|").split("|"))
        assert (same == "yes") is item["agrees"], name
        said = {formula: float(value) for formula, value in re.findall(r"(\w+) (0\.\d+)", found)}
        seen: dict[str, float] = {}
        for phase in item["simulated"]:
            seen[phase["formula"]] = seen.get(phase["formula"], 0.0) + phase["weight_fraction"]
        assert {formula: seen[formula] for formula in said} == pytest.approx(said, abs=0.01), name
        assert all(value < 0.025 for formula, value in seen.items() if formula not in said), name
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    assert (agreeing, "the ones found here in four" in readme) == (4, True)
