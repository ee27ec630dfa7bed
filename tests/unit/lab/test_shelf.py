"""The shelf knows its substances and refuses files that contradict themselves."""

from __future__ import annotations

import copy
import tomllib
from importlib import resources

import numpy as np
import pytest

from labenv.lab.shelf import load_shelf, read_shelf
from labenv.physics.reactions import load_system, system_names
from labenv_schemas.errors import ConfigError, ProposalError, UnknownPluginError

CONTENT = tomllib.loads(
    (resources.files("labenv.physics") / "data" / "shelf_ba_ti_c_o.toml").read_text("utf-8")
)


@pytest.mark.parametrize("name", system_names())
def test_every_system_has_a_shelf_without_its_target(name):
    shelf, system = load_shelf(name), load_system(name)
    np.testing.assert_allclose(shelf.phase_share.sum(axis=1), 1.0)
    assert not shelf.phase_share[:, system.phase_index(system.target)].any()
    assert all(s.price_per_kg > 0.0 for s in shelf.substances)


@pytest.mark.parametrize("name", ["BaCO3", "baco3", " barium Carbonate ", "witherite"])
def test_a_substance_is_found_by_any_of_its_names(name):
    assert load_shelf().get(name).name == "BaCO3"


def test_an_ambiguous_formula_names_the_choices():
    with pytest.raises(ProposalError, match=r"write which one"):
        load_shelf().index("TiO2")


def test_an_unknown_substance_names_what_there_is():
    with pytest.raises(ProposalError, match=r"there are 'BaCO3', 'BaO'"):
        load_shelf().index("unobtainium")


def test_an_unknown_system_names_those_there_are():
    with pytest.raises(UnknownPluginError, match="Ba-Ti-C-O"):
        load_shelf("Xx-Yy")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("phases", {"nothing": 1.0}, "no phases"),
        ("phases", {"BaCO3": 0.9}, "sum to"),
        ("phases", {"rutile": 1.0}, "elements"),
        ("purity", 1.2, "purity"),
        ("purity", float("nan"), "purity"),
        ("particle_radius_m", 0.0, "radius"),
        ("price_per_kg", -1.0, "price"),
        ("name", "BaO", "twice"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(field, value, message):
    content = copy.deepcopy(CONTENT)
    content["substances"][0][field] = value
    with pytest.raises(ConfigError, match=message):
        read_shelf(content, load_system())


def test_an_alias_of_two_substances_is_refused():
    content = copy.deepcopy(CONTENT)
    content["substances"][0]["aliases"] = ["rutile"]
    with pytest.raises(ConfigError, match="two substances"):
        read_shelf(content, load_system()).index("BaO")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("cation", "O", "the cations are 'Ba', 'Ti'"),
        ("crucible", "paper", "no crucibles"),
        ("instead", ["magnesia", "glass"], "no crucibles"),
        ("instead", ["alumina"], "other crucibles"),
        ("instead", [], "other crucibles"),
        ("above_share", 1.0, "above_share"),
        ("limit_k", float("nan"), "limit_k"),
    ],
)
def test_a_crucible_limit_that_can_never_hold_is_refused(field, value, message):
    content = copy.deepcopy(CONTENT)
    content["crucible_limits"][0][field] = value
    with pytest.raises(ConfigError, match=message):
        read_shelf(content, load_system())
