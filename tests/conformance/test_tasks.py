"""Every task in the catalogue passes the contract."""

from __future__ import annotations

import pytest

from labenv.tasks import make_task, task_names
from labenv.testing.task import TaskContract


@pytest.mark.parametrize("name", task_names())
class TestEveryTask(TaskContract):
    @pytest.fixture
    def new_task(self, name):
        return lambda: make_task(name)
