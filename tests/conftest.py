"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# An example's time says how busy the machine is, not whether the code is right; pytest's own time
# limit catches what never ends.
hypothesis.settings.register_profile("labenv", deadline=None)
hypothesis.settings.load_profile("labenv")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a developer's terminal, store and cache out of the tests."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "LABENV_STORE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else "local"
        if self.family in {socket.AF_INET, socket.AF_INET6} and not (
            host == "localhost" or host.startswith("127.") or host == "::1"
        ):
            raise RuntimeError(f"a test tried to connect to {host}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def cases_dir() -> Path:
    """Return the folder of real measurement files, or skip the test with the reason."""
    default = Path(__file__).resolve().parents[2] / "shared" / "cases"
    folder = Path(os.environ.get("LABENV_CASES", default))
    if not folder.is_dir():
        pytest.skip(f"real measurement files not found at {folder}; set LABENV_CASES")
    return folder
