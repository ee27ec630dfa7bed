"""What all tests rely on: no test fails for a busy machine, or reaches outside this one."""

from __future__ import annotations

import importlib
import socket
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def test_a_slow_example_is_no_failure() -> None:
    @given(st.none())
    @settings(max_examples=1)
    def slow(_: None) -> None:
        time.sleep(0.25)  # above Hypothesis's own 0.2 s

    slow()


def test_no_test_reaches_another_machine() -> None:
    with (
        socket.socket() as one,
        pytest.raises(RuntimeError, match=r"a test tried to connect to 192\.0\.2\.1"),
    ):
        one.connect(("192.0.2.1", 80))


@pytest.mark.parametrize("kind", ["env", "policy", "store", "task"])
def test_contracts_show_what_they_compared(kind: str) -> None:
    module = importlib.import_module(f"labenv.testing.{kind}")
    assert type(module.__loader__).__name__ == "AssertionRewritingHook"
