"""The project's own order: what an import costs, what is installed, what the docs point to."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "ray", "transformers", "pymatgen", "sklearn", "scipy", "numba", "pandas", "ase")


@pytest.mark.parametrize("package", ["labenv", "labenv_instruments", "labenv_schemas"])
def test_importing_a_package_imports_nothing_heavy(package: str) -> None:
    code = f"import sys, {package}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")))
def test_links_of_the_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_no_package_is_named_like_a_users_folder() -> None:
    assert not (ROOT / "instruments" / "__init__.py").exists()
    assert not (ROOT / "schemas" / "__init__.py").exists()


def test_the_changelog_has_a_section_for_what_is_being_built() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
