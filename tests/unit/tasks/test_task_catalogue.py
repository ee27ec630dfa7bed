import pytest

from labenv.tasks import make_task, task_names
from labenv.tasks.plugins import PluginCatalogue
from labenv_schemas.errors import BoundaryError, ConfigError, UnknownPluginError


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


# ------------------------------------------------------------------ other distributions


class Distribution:
    name, version = "clever-lab", "2.5"


class Point:
    dist = Distribution()

    def __init__(self, name, gives=None):
        self.name, self.value = name, f"clever.{name}:create"
        self._gives = gives or (lambda: name)

    def load(self):
        if isinstance(self._gives, Exception):
            raise self._gives
        return self._gives


@pytest.fixture(params=["task", "policy"])
def catalogue(request, monkeypatch):
    """Return a function that makes a catalogue to which other distributions add entry points."""

    def make(*points):
        monkeypatch.setattr("labenv.tasks.plugins.entry_points", lambda group: points)
        room = {"task": "tasks", "policy": "policies"}[request.param]
        return PluginCatalogue(request.param, f"labenv.{room}.catalogue", f"labenv.{room}")

    return make


def test_entry_points_add_plugins_but_cannot_replace_ours(catalogue):
    ours = catalogue().names()
    found = catalogue(Point("outside"), *map(Point, ours))
    assert set(found.names()) == {"outside", *ours}
    assert found.factory("outside")() == "outside"
    for name in ours:
        assert found.factory(name).__module__.startswith("labenv.")
        assert found.origin(name) == ""


@pytest.mark.parametrize("written", ["my_own-idea", "my-own-idea", "my_own_idea"])
def test_an_entry_point_is_found_under_every_name_it_is_listed_or_written_by(catalogue, written):
    found = catalogue(Point(written))
    assert "my-own-idea" in found.names()
    for asked in ("my-own-idea", "my_own_idea", "my_own-idea", written):
        assert found.factory(asked)() == written
        assert found.origin(asked) == (
            f" (entry point '{written} = clever.{written}:create' of clever-lab 2.5)"
        )


def test_an_entry_point_cannot_take_our_name_over_in_the_other_spelling(monkeypatch):
    monkeypatch.setattr(
        "labenv.tasks.plugins.entry_points", lambda group: [Point("batio3_synthesis")]
    )
    assert task_names() == ("batio3-synthesis", "synthesis")
    assert make_task("batio3_synthesis").spec.name == "batio3-synthesis"


def test_an_entry_point_that_cannot_be_loaded_is_named(catalogue):
    found = catalogue(Point("absent", ModuleNotFoundError("No module named 'clever'")))
    with pytest.raises(BoundaryError, match=r"2\.5\) cannot be loaded: ModuleNotFoundError: No m"):
        found.factory("absent")


def test_an_entry_point_that_names_a_module_says_what_it_must_name(catalogue):
    with pytest.raises(BoundaryError, match="must name a function or class that makes the"):
        catalogue(Point("module", pytest)).factory("module")


def test_what_is_of_another_kind_is_refused(catalogue):
    with pytest.raises(BoundaryError, match="is a str, not a int"):
        catalogue(Point("words")).make("words", {}, int)


# ------------------------------------------------------------------ options


def make_point(depth=1, breadth=2):
    if not isinstance(depth, int):
        raise TypeError("depth is odd")
    return str(depth * breadth)


def test_options_reach_the_plugin(catalogue):
    found = catalogue(Point("deep", make_point))
    assert found.make("deep", {"depth": 5, "breadth": 3}, str) == "15"


def test_an_unknown_option_is_answered_with_those_there_are(catalogue):
    found = catalogue(Point("deep", make_point))
    with pytest.raises(ConfigError, match=r"options: 'dept' \(did you mean 'depth'\?\), 'x'; it t"):
        found.make("deep", {"dept": 5, "x": 3}, str)
    with pytest.raises(ConfigError, match=r"it takes depth, breadth$"):
        found.make("deep", {"x": 3}, str)
    with pytest.raises(ConfigError, match=r"it takes none$"):
        catalogue(Point("bare", lambda: "x")).make("bare", {"x": 3}, str)


def test_a_plugin_that_takes_any_option_judges_them_itself(catalogue):
    found = catalogue(Point("any", lambda **options: make_point(**options)))
    assert found.make("any", {"depth": 5}, str) == "10"
    with pytest.raises(ConfigError, match="does not take these options: colour: 'red'"):
        found.make("any", {"colour": "red"}, str)


def test_an_option_of_the_wrong_type_is_told_with_its_value(catalogue):
    found = catalogue(Point("deep", make_point))
    with pytest.raises(ConfigError, match=r"these options: depth: 'x' \(depth is odd\)"):
        found.make("deep", {"depth": "x"}, str)


def test_a_plugin_that_fails_by_itself_is_no_fault_of_the_user(catalogue):
    def broken():
        raise ValueError("no model server")

    with pytest.raises(BoundaryError, match="cannot be made: ValueError: no model server"):
        catalogue(Point("broken", broken)).make("broken", {}, str)
