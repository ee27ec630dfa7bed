"""What docs/environment.md shows runs as it stands, and says what the environments are."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import labenv
from labenv.envs.discovery_settings import make_discovery_settings
from labenv.envs.phase_mapping_settings import make_mapping_settings
from labenv.envs.settings import make_settings
from labenv.envs.superconductor_search_settings import make_search_settings
from labenv.registration import ENVIRONMENTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "environment.md"
SECTIONS = dict(
    re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.S | re.M)
)
FACTORIES = {
    "SolidStateSynthesis": make_settings,
    "SuperconductorSearch": make_search_settings,
    "PhaseMapping": make_mapping_settings,
    "StructureDiscovery": make_discovery_settings,
}


def blocks(section: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", SECTIONS[section], re.DOTALL)


def run(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"gym": gym, "labenv": labenv}
    exec(compile(source, str(PAGE), "exec"), names)
    return names


def test_every_environment_has_its_section() -> None:
    assert {f"labenv/{name}-v0" for name in FACTORIES} == set(ENVIRONMENTS)
    assert set(FACTORIES) <= set(SECTIONS)


@pytest.mark.parametrize("section", FACTORIES)
def test_every_argument_of_gym_make_is_in_the_table(section: str) -> None:
    table = "\n".join(line for line in SECTIONS[section].splitlines() if line.startswith("|"))
    short = {"experiments", "lab_time_h", "budget_h", "proposals"}  # told of beside the budget
    wanted = set(inspect.signature(FACTORIES[section]).parameters)
    told = set(re.findall(r"`(\w+)`", table))
    assert wanted - told <= short
    assert all(f"`{name}" in SECTIONS[section] for name in wanted)


def test_the_snippets_of_synthesis_run() -> None:
    first, named = blocks("SolidStateSynthesis")
    names = run(first)
    assert names["envs"].num_envs == 64
    assert names["env"].unwrapped.settings.budget.experiments == 30
    names = run(named)
    assert names["task"].spec.target == "LiCoO2"
    assert names["info"]["results"] == 1
    sources = [part.name for part in names["task"].space.parameters]
    assert sum(name.endswith("_source") for name in sources) == 2


def test_the_snippet_of_further_measurements_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8").split("\n## Measurements besides diffraction\n")[1]
    (block,) = re.findall(r"```python\n(.*?)```", text.split("\n## ")[0], re.DOTALL)
    numbers = run(block)["numbers"]
    # CO2 leaves: 44.0 g of the 277.2 g of a formula unit
    assert numbers["mass_change"].value == pytest.approx(-0.159, abs=0.01)
    assert 5500.0 < numbers["density"].value < 6100.0
    assert "eds_mass_fraction_Ba" in numbers
    assert "mass_change: -0.1" in capsys.readouterr().out


def test_the_snippet_of_superconductors_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("SuperconductorSearch")
    names = run(block)
    assert re.fullmatch(r"ok: [89]\d\.\d K after \d+ h\n", capsys.readouterr().out)
    assert 0.9 < names["best"] < 0.95
    assert names["env"].action_space.shape == (11,)


def test_the_snippet_of_maps_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("PhaseMapping")
    names = run(block)
    assert re.match(r"\('.+',\) \d+\.\d h -?\d\.\d\d\n", capsys.readouterr().out)
    assert len(names["true"]) == 20
    assert names["plan"]


def test_the_snippet_of_structures_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("chgnet", reason='needs pip install "labenv[mlip]"')
    (block,) = blocks("StructureDiscovery")
    names = run(block)
    assert re.match(r"MgO new -?\d meV/atom\n", capsys.readouterr().out)
    assert names["reward"] == pytest.approx(1.0, abs=0.05)
    assert names["best"] >= 1.0
