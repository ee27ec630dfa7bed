"""Systems by name: files, and networks over the powders at hand."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.lab.shelf import load_shelf
from labenv.physics import kinetics, reactions
from labenv.physics.furnace_program import heat_program, stack_programs
from labenv.physics.networks import Surroundings
from labenv.physics.prediction import CONTROL, Firing, predict
from labenv.physics.systems import bottles_of, load_system, metals_of, react, reagents, system_name
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


GASES = {  # O2 and CO2, Pa; nitrogen, argon, oxygen and air as furnaces have them, and a mixture
    "air": (21227.6, 42.76),
    "oxygen": (101325.0, 0.101325),
    "nitrogen": (0.506625, 0.101325),
    "1 % oxygen": (1000.0, 0.1),
}


@pytest.mark.parametrize(
    ("name", "amounts", "celsius", "hours"),
    [
        ("Co-Li-C-O", {"Li2CO3": 1.5, "Co3O4": 1.0}, 850.0, 12.0),
        ("Cu-Mn-C-O", {"CuO": 1.0, "MnO2": 2.0}, 850.0, 6.0),
    ],
)
def test_the_laboratory_and_a_prediction_agree_under_every_gas(
    name: str, amounts: dict[str, float], celsius: float, hours: float
) -> None:
    system = load_system(name)
    row = np.zeros(len(system.phases))
    for substance, n in amounts.items():
        row[system.phase_index(substance)] = n / sum(amounts.values())
    powder = kinetics.new_powder(system, np.tile(row, (len(GASES), 1)), 0.5e-6)
    powder = kinetics.mill(system, powder, np.full(len(GASES), 6.0 * 3600.0))
    program = heat_program([(celsius + 273.15, 5.0 / 60.0, hours * 3600.0)])
    gas_pa = [
        [{"O2": o2, "CO2": co2}.get(g.name, 0.0) for g in system.gases]
        for o2, co2 in GASES.values()
    ]
    fired = react(system, powder, stack_programs([program] * len(GASES)), gas_pa, control=CONTROL)
    for (o2, co2), shares in zip(
        GASES.values(), system.mass_fractions(fired.powder.amounts_mol), strict=True
    ):
        around = Surroundings(o2_pa=o2, co2_pa=co2)
        firing = Firing(amounts, celsius + 273.15, hours * 3600.0, surroundings=around, draws=2)
        told = {p.name: p.weight_fraction for p in predict(firing).phases}
        apart = [abs(told.get(n, 0.0) - x) for n, x in zip(system.phase_names, shares, strict=True)]
        assert 0.5 * sum(apart) < 0.03, (o2, told)


def test_rows_under_several_gases_are_what_each_is_alone() -> None:
    system = load_system("Co-Li-C-O")
    row = np.zeros((3, len(system.phases)))
    row[:, [system.phase_index("Li2CO3"), system.phase_index("Co3O4")]] = 1.5, 1.0
    powder = kinetics.new_powder(system, row, np.array([[0.3e-6], [0.5e-6], [0.8e-6]]))
    programs = stack_programs([heat_program([(k, 0.1, 3600.0)]) for k in (900.0, 1000.0, 1100.0)])
    air, inert = (
        [{"O2": o2, "CO2": co2}.get(g.name, 0.0) for g in system.gases]
        for o2, co2 in (GASES["air"], GASES["nitrogen"])
    )
    factors = np.linspace(0.5, 2.0, 3 * len(system.reactions)).reshape(3, -1)
    together = react(system, powder, programs, [air, inert, air], factors)
    for i, gas in enumerate((air, inert, air)):
        one = np.array([i])
        program = type(programs)(programs.time_s[one], programs.temperature_k[one])
        alone = react(system, powder.rows(one), program, gas, factors[one])
        assert np.array_equal(alone.powder.amounts_mol[0], together.powder.amounts_mol[i])
        assert alone.steps[0] == together.steps[i]


def test_a_system_of_a_file_is_fired_with_its_own_rates() -> None:
    system = load_system("Ba-Ti-C-O")
    powder = kinetics.new_powder(system, np.ones((1, len(system.phases))))
    program = heat_program([(1000.0, 0.1, 600.0)])
    gas = np.full(len(system.gases), 10.0)
    same = (
        react(system, powder, program, gas).powder,
        kinetics.react(system, powder, program, gas).powder,
    )
    assert np.array_equal(same[0].amounts_mol, same[1].amounts_mol)
