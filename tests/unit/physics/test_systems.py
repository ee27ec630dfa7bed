"""Systems by name: files, and networks over the powders at hand."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.lab.shelf import load_shelf
from labenv.physics import reactions
from labenv.physics.systems import bottles_of, load_system, metals_of, reagents, system_name
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import UnknownPluginError


def test_a_system_with_a_file_is_the_file() -> None:
    assert load_system("Ba-Ti-C-O") is reactions.load_system("Ba-Ti-C-O")


def test_another_is_generated_once_from_its_powders() -> None:
    system = load_system("Co-Li-C-O")
    assert system is load_system("Co-Li-C-O")
    assert system.name == "Co-Li-C-O"
    assert {"Li2CO3", "Co3O4", "LiCoO2"} <= set(system.phase_names)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Li-Co-C-O", "write 'Co-Li-C-O'"),
        ("Nowhere", "no chemical system 'Nowhere'; there are Ba-Ti-C-O"),
        ("Au-Li-C-O", "no powder of Au"),
        ("Ba-Ca-Cu-Sr-Y-C-O", "more than 4 metals"),
        ("C-C-O", "no chemical system"),
    ],
)
def test_other_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(UnknownPluginError, match=message):
        load_system(name)
    with pytest.raises(UnknownPluginError, match=message):
        load_shelf(name)


def test_every_powder_has_thermochemistry_and_one_metal() -> None:
    table = substance_table("combined")
    for row in reagents()["bottles"]:
        assert len(metals_of(row["name"])) == 1
        assert not table.get(row["name"]).gas
        assert row["name"] in {b["name"] for b in bottles_of(system_name(metals_of(row["name"])))}


def test_shelves_shrink_with_the_number_of_metals() -> None:
    counts = [len(bottles_of(name)) for name in ("Co-Li-C-O", "Co-Li-Ti-C-O")]
    assert counts == [5, 5]
    assert len([b for b in bottles_of("Co-Li-Mn-Ti-C-O") if metals_of(b["name"]) == ("Co",)]) == 1


def test_a_shelf_says_what_is_dangerous() -> None:
    shelf = load_shelf("Bi-V-C-O")
    assert "H301" in shelf.get("V2O5").hazards
    assert shelf.get("bismite").name == "Bi2O3"
    assert np.allclose(shelf.phase_share.sum(axis=1), 1.0)


def test_compounds_of_several_metals_melt_and_powders_do_not() -> None:
    system = load_system("Li-Nb-C-O")
    alone = {
        system.phase_names[int(np.argmax(row))]: k
        for row, k in zip(system.tables.melting_phase, system.tables.melting_k, strict=True)
        if row.sum() == 1.0
    }
    assert alone["LiNbO3"] == pytest.approx(1526.0, abs=10.0)
    assert "Li2CO3" not in alone
    assert system.melting == ()  # not certain in advance: no interlock


def test_water_and_nitrogen_dioxide_are_in_the_bed() -> None:
    for name, gas in (("Co-Li-C-O", "H2O"), ("Sr-Ti-C-O", "NO2")):
        system = load_system(name)
        assert system.bed_pa[[g.name for g in system.gases].index(gas)] > 0.0
