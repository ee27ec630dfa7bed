"""A small campaign and where to keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from labenv.campaigns import parse_campaign
from labenv.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from labenv_schemas import CampaignConfig


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store.sqlite") as opened:
        yield opened


@pytest.fixture
def small_campaign() -> CampaignConfig:
    return parse_campaign(
        "name: small\nseed: 5\nparallelism: 2\npolicy: {name: sobol}\nbudget: {experiments: 5}\n"
        "lab: {machine_failure_rate: 0.05}\n"
    )
