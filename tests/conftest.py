"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cases_dir() -> Path:
    """Return the folder of real measurement files, or skip the test with the reason."""
    default = Path(__file__).resolve().parents[2] / "shared" / "cases"
    folder = Path(os.environ.get("LABENV_CASES", default))
    if not folder.is_dir():
        pytest.skip(f"real measurement files not found at {folder}; set LABENV_CASES")
    return folder
