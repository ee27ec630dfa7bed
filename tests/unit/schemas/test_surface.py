"""The public surface of the vocabulary."""

import ast
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import labenv_schemas
from labenv.errors import BoundaryError, InstrumentError, LabEnvError, boundary
from labenv_schemas.errors import ConfigError, ProposalError, UnknownPluginError

MODULES = sorted(module.name for module in pkgutil.iter_modules(labenv_schemas.__path__))


@pytest.mark.parametrize("package", ["labenv_schemas", "labenv.errors"])
def test_what_is_exported_is_what_can_be_imported(package):
    module = importlib.import_module(package)
    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert set(module.__all__) == public
    assert list(module.__all__) == sorted(module.__all__)
    assert len(module.__all__) <= 25


def test_the_surface_is_pinned():
    assert labenv_schemas.__all__ == [
        "Budget",
        "CampaignConfig",
        "Diffractogram",
        "Formula",
        "Heat",
        "HeatSegment",
        "InstrumentIdentity",
        "LabConfig",
        "Measurement",
        "Model",
        "Operation",
        "Outcome",
        "PhaseAnalysis",
        "PhaseFraction",
        "Proposal",
        "Recipe",
        "Sample",
        "Score",
        "TaskSpec",
        "parse",
        "parse_formula",
        "parse_proposal",
        "parse_quantity",
    ]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_nothing_of_ours_but_the_vocabulary(name):
    source = Path(importlib.import_module(f"labenv_schemas.{name}").__file__).read_text("utf-8")
    imported = {
        node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    assert not {
        module
        for module in imported
        if module.split(".")[0].startswith("labenv") and module.split(".")[0] != "labenv_schemas"
    }
    assert len(source.splitlines()) <= 400


@pytest.mark.parametrize("name", MODULES)
def test_public_docstrings_are_complete(name):
    module = importlib.import_module(f"labenv_schemas.{name}")
    assert module.__doc__
    for own, thing in vars(module).items():
        if own.startswith("_") or getattr(thing, "__module__", "") != module.__name__:
            continue
        assert thing.__doc__, own
        if inspect.isfunction(thing):
            parameters = [p for p in inspect.signature(thing).parameters if p != "self"]
            assert all(f"{parameter}:" in thing.__doc__ for parameter in parameters), own
            if "raise " in inspect.getsource(thing):
                assert "Raises:" in thing.__doc__, own


def test_the_vocabulary_loads_nothing_heavy():
    code = (
        "import sys, labenv_schemas; "
        "heavy = {'pint', 'pymatgen', 'ase', 'scipy', 'numba', 'pandas', 'torch'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    root = Path(labenv_schemas.__file__).resolve().parents[1]
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=root)


def test_common_units_need_no_pint():
    code = (
        "import sys; from labenv_schemas import parse_quantity; "
        "parse_quantity('1100 °C', 'K'), parse_quantity('5 K/min', 'K/s'); "
        "assert 'pint' not in sys.modules"
    )
    root = Path(labenv_schemas.__file__).resolve().parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


def test_errors_are_also_what_python_calls_them():
    assert issubclass(ConfigError, ValueError)
    assert issubclass(ProposalError, ValueError)
    assert issubclass(UnknownPluginError, LookupError)


def test_a_boundary_classifies_foreign_errors():
    with (
        pytest.raises(InstrumentError, match=r"balance\.weigh: OSError: gone") as caught,
        boundary(InstrumentError, "balance.weigh"),
    ):
        raise OSError("gone")
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.retryable is False


def test_a_boundary_lets_our_own_errors_through():
    with pytest.raises(ProposalError), boundary(InstrumentError, "x"):
        raise ProposalError("no")
    with pytest.raises(KeyboardInterrupt), boundary(InstrumentError, "x"):
        raise KeyboardInterrupt


def test_errors_pickle_with_what_they_know():
    error = pickle.loads(pickle.dumps(InstrumentError("x", retryable=True)))
    assert (type(error), str(error), error.retryable) == (InstrumentError, "x", True)
    assert issubclass(InstrumentError, BoundaryError)
    assert issubclass(BoundaryError, LabEnvError)
