"""A policy of another distribution that fails is named with the distribution it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from labenv.cli import main

DISTRIBUTION = {
    "METADATA": "Metadata-Version: 2.1\nName: clever-lab\nVersion: 2.5\n",
    "entry_points.txt": "[labenv.policies]\n"
    + "".join(
        f"{how} = clever_policies:{how}\n"
        for how in ("absent_name", "fails_when_made", "is_no_policy", "fails_at_reset",
                    "fails_to_propose", "proposes_rubbish", "fails_to_learn")
    ) + "unimportable = clever_absent:create\n"
    + "[labenv.tasks]\nclever_task = clever_policies:fails_when_made\n",
}  # fmt: skip
MODULE = """
from labenv.policies import make_policy

def fails_when_made(**options):
    raise RuntimeError("no model server")

def is_no_policy():
    return 7

class Wrapped(type(make_policy("sobol"))):
    how = ""
    def reset(self, task, seed):
        if self.how == "fails_at_reset":
            raise RuntimeError("no model server")
        super().reset(task, seed)
    def propose(self, pending=()):
        if self.how == "fails_to_propose":
            raise RuntimeError("no model server")
        if self.how == "proposes_rubbish":
            return {"operations": []}
        return super().propose(pending)
    def observe(self, proposal, outcome, score):
        if self.how == "fails_to_learn":
            raise RuntimeError("no model server")

def wrapped(how):
    def create():
        policy = Wrapped()
        policy.how = how
        return policy
    return create

fails_at_reset = wrapped("fails_at_reset")
fails_to_propose = wrapped("fails_to_propose")
proposes_rubbish = wrapped("proposes_rubbish")
fails_to_learn = wrapped("fails_to_learn")
"""


@pytest.fixture
def installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    site = tmp_path / "site"
    info = site / "clever_lab-2.5.dist-info"
    info.mkdir(parents=True)
    for name, text in DISTRIBUTION.items():
        (info / name).write_text(text)
    (site / "clever_policies.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)
    Path("c.yaml").write_text("name: x\nbudget: {experiments: 2}\n")

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(words))
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("unimportable", "cannot be loaded: ModuleNotFoundError: No module named 'clever_absent'"),
        ("absent_name", "cannot be loaded: AttributeError"),
        ("fails_when_made", "cannot be made: RuntimeError: no model server"),
        ("is_no_policy", "is a int, not a Policy"),
        ("fails_at_reset", "failed to begin: RuntimeError: no model server"),
        ("fails_to_propose", "failed to propose: RuntimeError: no model server"),
        ("proposes_rubbish", "failed to propose: a dict is no Proposal"),
        ("fails_to_learn", "failed to learn: RuntimeError: no model server"),
    ],
)
@pytest.mark.parametrize("dashed", [False, True], ids=["as written", "with dashes"])
def test_the_one_who_failed_is_named(installed: Any, how: str, said: str, dashed: bool) -> None:
    code, _, errors = installed(
        "run", "c.yaml", "--policy", how.replace("_", "-" if dashed else "_")
    )
    assert code == 1
    assert f"(entry point '{how} = clever_" in errors
    assert "of clever-lab 2.5)" in errors
    assert said in errors
    assert "fault in labenv" not in errors


def test_a_broken_task_does_not_hide_the_others(installed: Any) -> None:
    code, out, errors = installed("tasks")
    assert code == 0
    assert "batio3-synthesis" in out
    assert "clever-lab 2.5) cannot be made: RuntimeError: no model server" in errors


def test_options_of_a_foreign_policy_are_its_own(installed: Any) -> None:
    Path("c.yaml").write_text(
        "name: x\npolicy: {name: fails_at_reset, options: {depth: 3}}\nbudget: {experiments: 2}\n"
    )
    code, _, errors = installed("run", "c.yaml")
    assert code == 2
    assert "of clever-lab 2.5) does not take these options" in errors
