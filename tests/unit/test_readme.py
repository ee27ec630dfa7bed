"""The README's example prints what the README says it prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_examples_run_and_print_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shown = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert capsys.readouterr().out == "".join(shown)


def test_the_two_commands_stand_on_the_first_screen() -> None:
    first_screen = "\n".join(README.splitlines()[:30])
    assert "make run" in first_screen
    assert "make test" in first_screen
