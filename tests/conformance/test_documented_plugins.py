"""The task and the policy of docs/ARCHITECTURE.md: installed, listed, run, and conforming."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import labenv
from labenv.cli import main
from labenv_schemas.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## Tasks and policies of your own") :]
(TOML,) = re.findall(r"```toml\n(.*?)```", SECTION, re.DOTALL)
WEEK, WALK, TESTS = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
(CAMPAIGN,) = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)


def install(site: Path) -> None:
    """Lay out what installing the documented package would."""
    package, info = site / "my_lab", site / "my_lab-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").write_text("")
    (package / "week.py").write_text(WEEK)
    (package / "walk.py").write_text(WALK)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-lab\nVersion: 1.0\n")
    groups = tomllib.loads(TOML)["project"]["entry-points"]
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_they_are_listed_and_made(site: Path) -> None:
    assert "batio3-in-a-week" in labenv.task_names()
    assert "random-walk" in labenv.policy_names()
    assert labenv.make_task("batio3_in_a_week").spec.budget.lab_time_s == 7 * 86_400.0
    assert labenv.make_policy("random-walk", step=0.1).step == 0.1
    with pytest.raises(ConfigError, match=r"of my-lab 1\.0\) does not take .*mean 'step'.* step$"):
        labenv.make_policy("random-walk", stepp=0.1)


def test_a_campaign_names_them(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(site)
    Path("walk.yaml").write_text(CAMPAIGN)
    assert main(["run", "walk.yaml", "--experiments", "2"]) == 0
    assert "random-walk" in capsys.readouterr().out


def test_the_documented_tests_pass(site: Path) -> None:
    (site / "test_my_lab.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    done = subprocess.run(
        [*command, f"--rootdir={site}", "test_my_lab.py"],
        cwd=site,
        env={"PYTHONPATH": f"{site}:{':'.join(sys.path)}", "PATH": "", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.search(r"^3\d passed", done.stdout, re.MULTILINE), done.stdout[-3000:]
    assert done.returncode == 0
