"""The names that users import from labenv: these and no others, at most 25, imported when used."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import gymnasium as gym
import pytest

import labenv

SURFACE = [
    "Budget",
    "CampaignConfig",
    "ConfigError",
    "Diffractogram",
    "Lab",
    "LabConfig",
    "LabEnvError",
    "Measurement",
    "Outcome",
    "PhaseAnalysis",
    "Policy",
    "Proposal",
    "ProposalError",
    "ProposalSpace",
    "Score",
    "Session",
    "Store",
    "Task",
    "TaskSpec",
    "make_policy",
    "make_task",
    "parse_proposal",
    "policy_names",
    "task_names",
]


def test_the_surface_is_pinned() -> None:
    assert sorted(SURFACE) == SURFACE
    assert labenv.__all__ == SURFACE
    assert len(SURFACE) <= 25


@pytest.mark.parametrize("name", SURFACE)
def test_every_name_is_there(name: str) -> None:
    assert getattr(labenv, name) is not None
    assert name in dir(labenv)


def test_no_other_name_is_public() -> None:
    submodules = {path.stem for path in Path(labenv.__file__).parent.iterdir()}
    allowed = {
        *SURFACE,
        *submodules,
        "annotations",
        "Any",
        "import_module",
        "register_environments",
    }
    allowed |= {"TYPE_CHECKING"}
    assert {name for name in dir(labenv) if not name.startswith("_")} <= allowed


def test_the_version_is_that_of_the_installed_distribution() -> None:
    assert labenv.__version__ == version("labenv")
    assert "__version__" in dir(labenv)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Alchemy'"):
        labenv.Alchemy  # noqa: B018 - the access is the test


def test_environments_are_registered() -> None:
    assert "labenv/SolidStateSynthesis-v0" in gym.registry


def test_import_is_quick_and_light() -> None:
    code = (
        "import time; begin = time.perf_counter(); import labenv; import sys; "
        "taken = time.perf_counter() - begin; "
        "heavy = {'torch', 'pymatgen', 'sklearn', 'numba', 'scipy', 'ase', 'pydantic'}; "
        "print(taken, sorted(heavy & set(sys.modules)))"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
        ).stdout.split(maxsplit=1)
        for _ in range(3)
    ]
    assert runs[0][1].strip() == "[]"
    assert min(float(taken) for taken, _ in runs) < 1.0
