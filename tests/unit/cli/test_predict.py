"""`labenv predict` and `labenv validate`."""

from __future__ import annotations

from typing import Any

import pytest

WORDS = ("--temperature", "1000degC", "--time", "4h")


def test_a_prediction_as_a_table_and_as_data(labenv: Any) -> None:
    data = labenv("predict", "BaCO3:1,TiO2:1", *WORDS, "--format", "json").json
    assert data["status"] == "ok"
    assert data["main_product"] == "BaTiO3"
    assert sum(p["weight_fraction"] for p in data["phases"]) == pytest.approx(1.0, abs=0.02)
    for phase in data["phases"]:
        assert 0.0 <= phase["low"] <= phase["high"] <= 1.0
    out = labenv("predict", "BaCO3:1,TiO2:1", *WORDS).out
    assert "BaTiO3" in out
    assert "limited by" in out


def test_the_gas_matters(labenv: Any) -> None:
    words = ("--temperature", "800degC", "--time", "2h", "--format", "json")
    air = labenv("predict", "CaCO3", *words).json
    gas = labenv("predict", "CaCO3", *words, "--atmosphere", "carbon_dioxide").json
    assert air["phases"][0]["phase"] == "CaO"
    assert gas["phases"][0]["phase"] == "CaCO3"


def test_mass_and_heat_are_told_and_a_lid_keeps_vapours_in(labenv: Any) -> None:
    words = ("--temperature", "1000degC", "--time", "4h", "--format", "json")
    covered = labenv("predict", "PbO:1,TiO2:1", *words).json
    open_ = labenv("predict", "PbO:1,TiO2:1", *words, "--open").json
    assert covered["mass_change"] == pytest.approx(0.0, abs=1e-3)
    assert -0.3 < open_["mass_change"] < -0.005
    lime = labenv("predict", "CaCO3", *words).json
    # CaCO3 may lose 44.0 % of its mass, less what the lime takes up as it cools; that costs 178
    # kJ/mol at room temperature (CODATA), and what its gas carries away hot
    assert -0.4398 < lime["mass_change"] < -0.38
    per_mol = lime["heat_j_per_g"] / -lime["mass_change"] * 44.01
    assert per_mol == pytest.approx(178e3 + 38e3, rel=0.05)


def test_outside_the_domain(labenv: Any) -> None:
    data = labenv("predict", "Ga2O3:1,CeO2:1", *WORDS, "--format", "json").json
    assert data["status"] == "outside_domain"
    assert data["phases"] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("BaCO3:x", *WORDS), "'x' is no number"),
        (("BaCO3:1,BaCO3:1", *WORDS), "named twice"),
        (("BaCO3:-1", *WORDS), "above 0"),
        (("BaCO3", "--temperature", "1000", "--time", "4h"), "unit"),
        (("BaCO3", "--temperature", "1000degC", "--time", "4 kg"), "4 kg"),
        (("BaCO3", *WORDS, "--atmosphere", "helium"), "helium"),
        (("BaCO3", "--temperature", "3000degC", "--time", "4h"), "asked for"),
    ],
)
def test_bad_input_is_told(labenv: Any, words: tuple[str, ...], told: str) -> None:
    result = labenv("predict", *words)
    assert result.code == 2
    assert told in result.err
