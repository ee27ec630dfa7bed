"""The cited systems' files: format, balance, and what is known of the compounds in them."""

from __future__ import annotations

import math
import tomllib
from importlib import resources
from typing import Any

import pytest

from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.formula import parse_formula

FOLDER = resources.files("labenv.physics") / "data" / "thermochemistry"
FILES = {
    f.name: tomllib.loads(f.read_text(encoding="utf-8"))
    for f in sorted(FOLDER.iterdir(), key=lambda f: f.name)
    if f.name.endswith(".toml")
}
ROWS: list[tuple[str, dict[str, Any]]] = [
    (name, row) for name, content in FILES.items() for row in content.get("phases", ())
]
REQUIRED = {"name", "formula", "from", "enthalpy_j_mol", "entropy_j_mol_k", "uncertainty_j_mol"}
ALLOWED = REQUIRED | {
    "structure",
    "melting_k",
    "onset_k",
    "hindered",
    "decomposes_k",
    "estimate",
    "source",
}


@pytest.mark.parametrize(("file", "row"), ROWS, ids=[row["name"] for _, row in ROWS])
def test_a_row_holds_what_the_format_asks_for(file: str, row: dict[str, Any]) -> None:
    assert set(row) >= REQUIRED | {"source"}
    assert set(row) <= ALLOWED
    assert isinstance(row.get("estimate", False), bool)
    assert row["source"]
    assert set(row["source"]) <= set(FILES[file]["sources"])
    assert 200.0 <= row["uncertainty_j_mol"] <= 150e3
    assert all(n != 0 and math.isfinite(n) for n in row["from"].values())
    assert abs(row["enthalpy_j_mol"]) < 3e6
    if "melting_k" in row:
        assert 250.0 < row["melting_k"] < 3500.0


@pytest.mark.parametrize(("file", "row"), ROWS, ids=[row["name"] for _, row in ROWS])
def test_a_row_balances(file: str, row: dict[str, Any]) -> None:
    left = {e: -n for e, n in parse_formula(row["formula"]).amounts.items()}
    known = substance_table().substances
    for name, n in row["from"].items():
        for element, count in known[name].elements.items():
            left[element] = left.get(element, 0.0) + n * count
    assert max(abs(n) for n in left.values()) < 1e-6, file


def test_names_are_unique() -> None:
    names = [row["name"] for _, row in ROWS]
    assert len(names) == len(set(names))


def test_every_eutectic_cites_a_source_and_names_phases_that_are_known() -> None:
    known = substance_table().substances
    for content in FILES.values():
        for row in content.get("eutectics", ()):
            assert row["source"] in content["sources"]
            assert 300.0 < row["temperature_k"] < 2500.0
            assert set(row["phases"]) <= set(known)


def test_every_source_is_named_where_it_is_used() -> None:
    for name in FILES:
        text = (FOLDER / name).read_text(encoding="utf-8")
        unused = [key for key in FILES[name].get("sources", {}) if text.count(key) < 2]
        assert not unused, name


def _reaction_j_mol(products: dict[str, float], temperature_k: float) -> float:
    table = substance_table().substances
    return sum(n * float(table[name].gibbs_j_mol(temperature_k)) for name, n in products.items())


def _oxygen_j(temperature_k: float, pressure_atm: float) -> float:
    return 8.314462618 * temperature_k * math.log(pressure_atm * 1.01325)


def test_yttrium_barium_cuprate_holds_in_air_and_not_at_low_oxygen_pressure() -> None:
    # Bormann and Noelting (1989): about 4e-4 atm at 850 degC.
    parts = {"YBa2Cu3O6": -2.0, "Y2BaCuO5": 1.0, "BaCuO2": 1.0, "BaCu2O2": 2.0, "O2": 0.5}
    change = _reaction_j_mol(parts, 1123.0)
    assert change + 0.5 * _oxygen_j(1123.0, 0.21) > 0.0
    assert change + 0.5 * _oxygen_j(1123.0, 4e-5) < 0.0


def test_yttrium_barium_cuprate_holds_against_its_neighbours_in_air() -> None:
    parts = {"YBa2Cu3O6": -2.0, "O2": -0.5, "Y2BaCuO5": 1.0, "BaCuO2": 3.0, "CuO": 2.0}
    assert _reaction_j_mol(parts, 1173.0) - 0.5 * _oxygen_j(1173.0, 0.21) > 0.0


def test_yttrium_barium_cuprate_takes_up_oxygen_on_cooling() -> None:
    parts = {"YBa2Cu3O6": -1.0, "O2": -0.5, "YBa2Cu3O7": 1.0}
    assert _reaction_j_mol(parts, 1173.0) - 0.5 * _oxygen_j(1173.0, 1.0) > 0.0
    assert _reaction_j_mol(parts, 700.0) - 0.5 * _oxygen_j(700.0, 1.0) < 0.0


# Products less reactants, oxygen pressure in atm, temperature at which the change is published.
PUBLISHED: dict[str, tuple[dict[str, float], float, float]] = {
    "BaO2 gives off oxygen in air (Wagman 1982)": ({"BaO2": -1, "BaO": 1, "O2": 0.5}, 0.21, 985.0),
    "Ca3Co4O9 decomposes in air (Sedmidubsky 2012)": (
        {"Ca3Co4O9": -1, "Ca3Co2O6": 1, "CoO": 2, "O2": 0.5},
        0.21,
        1199.0,
    ),
    "Ca2PbO4 decomposes in air (phase diagram)": (
        {"Ca2PbO4": -1, "CaO": 2, "PbO": 1, "O2": 0.5},
        0.21,
        1253.0,
    ),
    "CaCu2O3 forms on heating (phase diagram)": (
        {"CaCu2O3": 1, "Ca2CuO3": -0.5, "CuO": -1.5},
        0.21,
        1258.0,
    ),
    "Nb6Sn5 melts to Nb3Sn (Charlesworth 1970)": ({"Nb6Sn5": -1, "Nb3Sn": 2, "Sn": 3}, 1.0, 1203.0),
    "YBa2Cu4O8 loses CuO in oxygen (Karpinski 1988)": (
        {"YBa2Cu4O8": -1, "YBa2Cu3O6": 1, "CuO": 1, "O2": 0.5},
        1.0,
        1110.0,
    ),
    "YCrO4 gives off oxygen in air": ({"YCrO4": -1, "YCrO3": 1, "O2": 0.5}, 0.21, 890.0),
    "Co3O4 gives off oxygen in air": ({"Co3O4": -1, "CoO": 3, "O2": 0.5}, 0.21, 1200.0),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_a_change_comes_at_the_published_temperature(case: str) -> None:
    parts, oxygen_atm, temperature_k = PUBLISHED[case]
    margin_k = 40.0

    def change(at_k: float) -> float:
        return _reaction_j_mol(parts, at_k) + parts.get("O2", 0.0) * _oxygen_j(at_k, oxygen_atm)

    assert change(temperature_k - margin_k) > 0.0
    assert change(temperature_k + margin_k) < 0.0
