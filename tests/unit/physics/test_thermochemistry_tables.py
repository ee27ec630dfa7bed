"""The table of substances: values against published ones, rows that replace, faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from labenv.physics.thermochemistry.sources import substance_table
from labenv.physics.thermochemistry.tables import build_table
from labenv_schemas.errors import ConfigError, ProposalError, UnknownPluginError

GRID = [300.0, 400.0, 500.0]
TABULATED: dict[str, Any] = {
    "grid_k": GRID,
    "sources": {"a": "A", "b": "B"},
    "substances": [
        {
            "name": name, "state": state, "gibbs_j_mol": energies, "uncertainty_j_mol": 100,
            "source": "a", "second": "b", "difference_j_mol_atom": 0,
        }
        for name, state, energies in (
            ("CaO", "solid", [-650e3, -655e3, -661e3]),
            ("SiO2", "solid", [-920e3, -925e3, -931e3]),
            ("O2", "gas", [-61e3, -83e3, -105e3]),
        )
    ],
}  # fmt: skip
ROW: dict[str, Any] = {
    "name": "CaSiO3",
    "formula": "CaSiO3",
    "from": {"CaO": 1, "SiO2": 1},
    "enthalpy_j_mol": -90e3,
    "entropy_j_mol_k": 1.0,
    "uncertainty_j_mol": 1000.0,
    "source": ["k"],
}


def system(*rows: dict[str, Any], **more: Any) -> list[tuple[str, dict[str, Any]]]:
    content = {"name": "Ca-Si-O", "sources": {"k": "Someone (1970)"}, "phases": list(rows), **more}
    return [("ca_si_o.toml", content)]


def test_room_temperature_energies_are_those_of_robie_and_hemingway() -> None:
    # Robie & Hemingway, USGS Bulletin 2131 (1995), Gibbs energies of formation, kJ/mol
    published = {"CaO": -603.1, "Al2O3": -1582.3, "MgO": -569.3, "CaCO3": -1128.5, "SiO2": -856.3}
    table = substance_table()
    for name, formed in published.items():
        substance = table.get(name)
        ours = float(substance.gibbs_j_mol(298.15))
        for element, count in substance.elements.items():
            if element == "O":
                ours -= 0.5 * count * float(table.get("O2").gibbs_j_mol(298.15))
            else:
                ours -= count * float(table.get(element).gibbs_j_mol(298.15))
        assert ours / 1000.0 == pytest.approx(formed, abs=2.5), name


def test_a_row_is_its_reactants_and_its_reaction() -> None:
    table = build_table(TABULATED, system(ROW))
    made = table.get("CaSiO3")
    at_400 = -655e3 - 925e3 - 90e3 - 400.0 * 1.0
    assert float(made.gibbs_j_mol(400.0)) == pytest.approx(at_400)
    assert made.sources == ("Someone (1970)",)
    assert table.systems == {"Ca-Si-O": "Ca-Si-O"}


def test_a_row_takes_the_place_of_a_tabulated_substance() -> None:
    new = {**ROW, "name": "SiO2", "formula": "SiO2", "from": {"O2": 1, "Si": 1}}
    silicon = {"name": "Si", "state": "solid", "gibbs_j_mol": [-6e3, -8e3, -11e3]}
    more = {
        **TABULATED,
        "substances": [*TABULATED["substances"], {**TABULATED["substances"][0], **silicon}],
    }
    table = build_table(more, system(new))
    assert float(table.get("SiO2").gibbs_j_mol(400.0)) == pytest.approx(-83e3 - 8e3 - 90e3 - 400.0)


def test_a_row_that_does_not_balance_or_is_made_of_the_unknown_is_refused() -> None:
    with pytest.raises(ConfigError, match="balance"):
        build_table(TABULATED, system({**ROW, "from": {"CaO": 2, "SiO2": 1}}))
    with pytest.raises(ConfigError, match="made from Si, which"):
        build_table(TABULATED, system({**ROW, "from": {"CaO": 1, "Si": 1, "O2": 1}}))


def test_rows_may_stand_in_any_order_but_not_in_a_circle() -> None:
    second = {**ROW, "name": "Ca2SiO4", "formula": "Ca2SiO4", "from": {"CaO": 1, "CaSiO3": 1}}
    assert "Ca2SiO4" in build_table(TABULATED, system(second, ROW)).substances
    first = {**ROW, "from": {"Ca2SiO4": 1, "SiO2": 1}}
    with pytest.raises(ConfigError, match="made of one another"):
        build_table(TABULATED, system(second, first))


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="CaSiO3 stands in two files"):
        build_table(TABULATED, system(ROW, ROW))


def test_onsets_and_hindrances_reach_rows_and_tabulated_substances() -> None:
    table = build_table(TABULATED, system(ROW, onset_k={"CaO": 700.0}, hindered={"CaSiO3": 0.1}))
    assert table.get("CaO").onset_k == 700.0
    assert table.get("CaSiO3").hindered == 0.1


def test_any_formula_of_the_same_atoms_finds_a_substance() -> None:
    table = substance_table()
    assert table.get("CaH2O2") is table.get("Ca(OH)2")
    with pytest.raises(UnknownPluginError, match="no thermochemistry of 'XeO3'"):
        table.get("XeO3")


def test_temperatures_outside_the_tables_are_refused() -> None:
    with pytest.raises(ProposalError, match="holds from"):
        substance_table().get("CaO").gibbs_j_mol(25.0)


def test_beyond_its_end_a_table_goes_on_smoothly_and_downward() -> None:
    carbonate = substance_table().get("CaCO3")  # JANAF and FREED end at 1200 K
    end = float(carbonate.temperature_k[-1])
    t = np.arange(end - 300.0, end + 300.0, 10.0)
    slope = np.diff(carbonate.gibbs_j_mol(t)) / 10.0
    assert (slope < 0.0).all()
    assert np.abs(np.diff(slope)).max() < 4.0  # J/(mol K) in 10 K: no jump of entropy


def test_every_condensed_substance_has_a_falling_energy_and_a_source() -> None:
    for substance in substance_table().substances.values():
        energy = substance.gibbs_j_mol(np.arange(300.0, 1601.0, 100.0))
        assert np.isfinite(energy).all(), substance.name
        assert (np.diff(energy) < 0.0).all(), substance.name
        assert substance.sources, substance.name
        assert substance.uncertainty_j_mol > 0.0, substance.name
