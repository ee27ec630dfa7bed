"""`labenv predict` and `labenv validate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

KEYS = (
    "status main_product phases others residue mass_change heat_j_per_g path limited_by on_cooling "
    "domain_flags notes"
)
PHASE_KEYS = "phase weight_fraction low high end_of_hold equilibrium estimated_thermochemistry"
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


@pytest.mark.parametrize(
    ("mixture", "status", "told"),
    [
        ("Ga2O3:1,CeO2:1", "outside_domain", "outside the simulator's domain: no compound of Ce"),
        ("Xx2O3", "unknown_substance", "unknown substance: no thermochemistry of 'Xx2O3'"),
        ("O2", "outside_domain", "elements that leave as gas"),
    ],
)
def test_what_cannot_be_predicted_is_an_error(
    labenv: Any, mixture: str, status: str, told: str
) -> None:
    result = labenv("predict", mixture, *WORDS, "--format", "json")
    assert result.code == 2
    assert told in result.err
    data = json.loads(result.out)
    assert data["status"] == status
    assert data["phases"] == []
    assert data["mass_change"] is None
    table = labenv("predict", mixture, *WORDS)
    assert (table.code, table.out) == (2, "")
    assert len(table.err.splitlines()) == 1


def test_the_data_have_the_documented_keys(labenv: Any) -> None:
    data = labenv("predict", "PbO:1,ZrO2:1,TiO2:1", *WORDS, "--format", "json").json
    outside = labenv("predict", "Xx2O3", *WORDS, "--format", "json")
    assert set(data) == set(json.loads(outside.out)) == set(KEYS.split())
    assert set(data["phases"][0]) == set(PHASE_KEYS.split())
    assert set(data["others"]) == {"weight_fraction", "end_of_hold", "equilibrium"}
    assert set(data["path"][0]) == {"time_s", "temperature_k", "stage", "phase", "event"}
    assert {flag["kind"] for flag in data["domain_flags"]} == {
        "solid_solution",
        "no_common_compound",
    }
    text = (Path(__file__).parents[3] / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert all(f'"{key}"' in text for key in (*KEYS.split(), *PHASE_KEYS.split()))


def test_a_table_adds_up_and_says_what_cooling_did(labenv: Any) -> None:
    out = labenv("predict", "CuO", "--temperature", "1150degC", "--time", "1h").out
    assert "on cooling: Cu2O to CuO" in out
    gone = labenv(
        "predict",
        "PbO",
        "--temperature",
        "1400degC",
        "--time",
        "100h",
        "--open",
        "--rate",
        "10K/min",
    ).out
    assert gone.startswith("nothing left")
    assert "residue: 0.00 %" in gone
    mixed = labenv("predict", "BaCO3,TiO2", "--temperature", "950degC", "--time", "1h").out
    rows = [line.split() for line in mixed.split("\n\n")[0].splitlines()[1:]]
    assert sum(float(row[1]) for row in rows) == pytest.approx(100.0, abs=0.11 * len(rows))


@pytest.mark.parametrize(
    "words",
    [
        ("--temperature", "1273.15K", "--time", "240min", "--rate", "300K/h"),
        ("--temperature", "1000\u00b0C", "--time", "14400s", "--rate", "5degC/min"),
    ],
)
def test_units_are_what_they_say(labenv: Any, words: tuple[str, ...]) -> None:
    same = labenv("predict", "CaCO3", *WORDS, "--format", "json").json
    assert labenv("predict", "CaCO3", *words, "--format", "json").json == same


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("BaCO3:x", *WORDS), "'x' is no number"),
        (("BaCO3:1,BaCO3:1", *WORDS), "named twice"),
        (("BaCO3:1 g", *WORDS), "amounts are in mol"),
        (("BaCO3:-1", *WORDS), "above 0"),
        (("BaCO3", "--temperature", "1000", "--time", "4h"), "--temperature: '1000' has no unit"),
        (("BaCO3", *WORDS, "--time", "4"), "--time: '4' has no unit, write 4h"),
        (("BaCO3", *WORDS, "--rate", "5"), "--rate: '5' has no unit, write 5K/min"),
        (("BaCO3", *WORDS, "--time", "-1h"), "--time: "),
        (("BaCO3", "--temperature", "1000degC", "--time", "4 kg"), "--time: '4 kg'"),
        (
            ("BaCO3", *WORDS, "--atmosphere", "hydrogen"),
            "--atmosphere: 'hydrogen' is not one of air",
        ),
        (("BaCO3", "--temperature", "3000degC", "--time", "4h"), "asked for"),
        (("BaCO3", "--temperature", "20degC", "--time", "4h"), "asked for"),
        (("BaCO3", *WORDS, "--rate", "0K/min"), "0K/min"),
        (("BaCO3", *WORDS, "--rate", "nanK/min"), "finite"),
    ],
)
def test_bad_input_is_told(labenv: Any, words: tuple[str, ...], told: str) -> None:
    result = labenv("predict", *words)
    assert result.code == 2
    assert told in result.err
