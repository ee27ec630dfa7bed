import pytest

from labenv.tasks import make_task, task_names
from labenv.tasks.plugins import PluginCatalogue
from labenv_schemas.errors import UnknownPluginError


def test_every_task_is_made_by_its_name():
    assert "batio3-synthesis" in task_names()
    for name in task_names():
        task = make_task(name)
        assert task.spec.name == name
        assert task.space.n == len(set(task.space.names))


def test_underscores_count_as_dashes():
    assert make_task("batio3_synthesis").spec.name == "batio3-synthesis"


def test_unknown_task_lists_the_known():
    with pytest.raises(
        UnknownPluginError, match=r"no task is called 'gold'; there are: batio3-syn"
    ):
        make_task("gold")


def test_entry_points_add_plugins_but_cannot_replace_ours(monkeypatch):
    class Point:
        value = "outside:create"
        dist = None

        def __init__(self, name):
            self.name = name

        def load(self):
            return lambda: self.name

    points = [Point("outside"), Point("batio3-synthesis")]
    monkeypatch.setattr("labenv.tasks.plugins.entry_points", lambda group: points)
    catalogue = PluginCatalogue("task", "labenv.tasks.catalogue", "labenv.tasks")
    assert "outside" in catalogue.names()
    assert catalogue.factory("outside")() == "outside"
    assert catalogue.factory("batio3-synthesis")().spec.name == "batio3-synthesis"
