"""The store's contract over SQLite; over PostgreSQL see tests/integration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from labenv.testing.store import StoreContract

if TYPE_CHECKING:
    from pathlib import Path


class TestSqlite(StoreContract):
    @pytest.fixture
    def store_url(self, tmp_path: Path) -> str:
        return str(tmp_path / "lab.db")


class TestDurableSqliteUrl(StoreContract):
    @pytest.fixture
    def store_url(self, tmp_path: Path) -> str:
        return f"sqlite:///{tmp_path}/a folder/lab%20.db"
