"""Formulas as laboratories write them, and those that cannot be known."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from labenv_schemas import Formula, parse_formula

FIVE_WATERS = {"Cu": 1, "S": 1, "O": 9, "H": 10}
HALF_WATER = {"Ca": 1, "S": 1, "O": 4.5, "H": 1}


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        *((f"CuSO4{dot}5H2O", FIVE_WATERS) for dot in "·.*•⋅∙"),
        ("CuSO4 · 5 H2O", FIVE_WATERS),
        ("CuSO4 5H2O", FIVE_WATERS),
        ("CuSO4 x 5H2O", FIVE_WATERS),
        ("CuSO₄·5H₂O", FIVE_WATERS),
        ("CaSO4·½H2O", HALF_WATER),
        ("CaSO4·1/2H2O", HALF_WATER),
        ("CaSO4.1/2H2O", HALF_WATER),
        ("CaSO4·0.5H2O", HALF_WATER),
        ("CaSO4.0.5H2O", HALF_WATER),
        ("CaSO4 1/2H2O", HALF_WATER),
        ("CaSO4·1½H2O", {"Ca": 1, "S": 1, "O": 5.5, "H": 3}),
        ("Al2O3.H2O", {"Al": 2, "O": 4, "H": 2}),
        ("Na2SO4.10H2O", {"Na": 2, "S": 1, "O": 14, "H": 20}),
        ("3CaO.Al2O3", {"Ca": 3, "Al": 2, "O": 6}),
        ("Ni0.5Zn0.5Fe2O4.2H2O", {"Ni": 0.5, "Zn": 0.5, "Fe": 2, "O": 6, "H": 4}),
        ("D2O", {"D": 2, "O": 1}),
        ("LiOD", {"Li": 1, "O": 1, "D": 1}),
        ("Nd2O3", {"Nd": 2, "O": 3}),
        ("Dy2O3", {"Dy": 2, "O": 3}),
        ("Fe₂O₃", {"Fe": 2, "O": 3}),
        ("Fe_2O_{3}", {"Fe": 2, "O": 3}),
        ("Fe$_2$O$_3$", {"Fe": 2, "O": 3}),
        ("Fe<sub>2</sub>O<sub>3</sub>", {"Fe": 2, "O": 3}),
        ("ＢａＴｉＯ３", {"Ba": 1, "Ti": 1, "O": 3}),
        ("\ufeffBa Ti O 3\n", {"Ba": 1, "Ti": 1, "O": 3}),
        ("BaTiO3(s)", {"Ba": 1, "Ti": 1, "O": 3}),
        ("CO2 (g)", {"C": 1, "O": 2}),
        ("Co", {"Co": 1}),
        ("CO", {"C": 1, "O": 1}),
        ("Ba0.5Sr0.5TiO3", {"Ba": 0.5, "Sr": 0.5, "Ti": 1, "O": 3}),
        ("Ba1.0Sr0.0TiO3", {"Ba": 1, "Ti": 1, "O": 3}),
        ("LiNi1/3Mn1/3Co1/3O2", {"Li": 1, "Ni": 1 / 3, "Mn": 1 / 3, "Co": 1 / 3, "O": 2}),
        ("YBa2Cu3O6.95", {"Y": 1, "Ba": 2, "Cu": 3, "O": 6.95}),
        ("Ca(OH)2", {"Ca": 1, "O": 2, "H": 2}),
        ("((NH4)2SO4)", {"N": 2, "H": 8, "S": 1, "O": 4}),
        ("K4[Fe(CN)6]·3H2O", {"K": 4, "Fe": 1, "C": 6, "N": 6, "H": 6, "O": 3}),
        ("NaN3", {"Na": 1, "N": 3}),
        ("2H2O", {"H": 4, "O": 2}),
        ("3CaO·Al2O3", {"Ca": 3, "Al": 2, "O": 6}),
    ],
)
def test_readings(text, amounts):
    assert parse_formula(text).amounts == pytest.approx(amounts)


@pytest.mark.parametrize(
    ("text", "charge"),
    [
        ("Fe2+", 2),
        ("Fe+3", 3),
        ("Fe^{3+}", 3),
        ("Fe³⁺", 3),
        ("Na+", 1),
        ("NH4+", 1),
        ("NO3-", -1),
        ("SO4^2-", -2),
        ("SO₄²⁻", -2),
        ("[Fe(CN)6]4-", -4),
        ("BaTiO3", 0),
    ],
)
def test_charges(text, charge):
    assert parse_formula(text).charge == charge


def test_a_charge_takes_no_atoms():
    assert parse_formula("SO4^2-").amounts == {"S": 1, "O": 4}
    assert parse_formula("NH4+").amounts == {"N": 1, "H": 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CoO1.5H2O", "write CoO1·5H2O for two parts"),
        ("Na2O.2SiO2", "write Na2O·2SiO2"),
        ("Al2O3.2SiO2.2H2O", "two parts"),
        ("La1.85Sr0.15CuO4.2H2O", "two parts"),
        ("SO42-", "write it after a caret"),
        ("Ba0TiO3", "'Ba0TiO3': 0 of Ba; leave out"),
        ("TiO2(OH)0", "0 of O, H; leave out"),
        ("CaSO4·0H2O", "0 of H2O; leave out"),
        ("13CO2", "the isotope C-13, or 13 of CO2? isotopes"),
        ("[13]CO2", "have no place in a formula; write CO2"),
        ("18O2", "the isotope O-18"),
        ("A2D2O7", "'A' is not an element"),
        ("ABO3", "'A' is not an element"),
        ("Ln2O3", "'Ln' is not an element"),
        ("RE2O3", "'R' is not an element"),
        ("MO2", "'M' is not an element"),
        ("RX3", "'R' is not an element"),
        ("YBa2Cu3O7-x", "leaves a content undefined"),
        ("YBa2Cu3O7-δ", "leaves a content undefined"),
        ("YBa2Cu3O₇₋ₓ", "leaves a content undefined"),
        ("O7-1", "leaves a content undefined"),
        ("Ba1-xSrxTiO3", "leaves a content undefined"),
        ("NaxCoO2", "leaves a content undefined"),
        ("CuSO4·nH2O", "leaves a content undefined"),
        ("(Ba,Sr)TiO3", "how much of each"),
        ("Ba0,5Sr0,5TiO3", "decimal point"),
        ("BaCO3+TiO2", "several substances"),
        ("BaTiO3/SrTiO3", "several substances"),
        ("batio3", "did you mean BaTiO3?"),
        ("BATIO3", "did you mean BaTiO3?"),
        ("Batio3", "did you mean BaTiO3?"),
        ("tio2", "did you mean TiO2?"),
        ("baco3", "did you mean BaCO3"),
        ("Fe2 3O", "a space parts two numbers"),
        ("13C", "isotope"),
        ("Ca(OH", "not closed"),
        ("CaOH)2", "closes nothing"),
        ("(Ca(OH]2", "closes nothing"),
        ("O1/0", "divides by zero"),
        ("O1.2.3", "follows no element"),
        ("Ba0", "0 of Ba"),
        ("Ba0.0", "holds no atoms"),
        ("CuSO4·", "one side of the dot"),
        ("Fe^99999+", "charge"),
        ("O" + "9" * 150, "more than"),
        ("B" * 300, "longer than 200"),
        ("(" * 150, "not closed"),
        ("O٣", "not part of a formula"),
        ("Ti\x00O2", "not part of a formula"),
        ("SrTiO3:Nb", "not part of a formula"),
        (5, "is not a formula"),
        (True, "is not a formula"),
        (["BaTiO3"], "is not a formula"),
        (b"BaTiO3", "is not a formula"),
    ],
)
def test_what_cannot_be_known_is_refused(text, message):
    with pytest.raises(ValueError, match=r".") as caught:
        parse_formula(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "nan",
        "NAN",
        "None",
        "null",
        "N/A",
        "",
        "  ",
        "-",
        None,
        float("nan"),
        np.float32("nan"),
        pd.NA,
        pd.NaT,
    ],
)
def test_a_missing_value_is_no_formula(value):
    with pytest.raises(ValueError, match="the formula is missing"):
        parse_formula(value)


@pytest.mark.parametrize(
    ("text", "molar_mass_g"),
    [("BaTiO3", 233.192), ("BaCO3", 197.335), ("CuSO4·5H2O", 249.685), ("D2O", 20.028)],
)
def test_molar_mass(text, molar_mass_g):
    # CRC Handbook of Chemistry and Physics, 97th ed., physical constants tables.
    assert parse_formula(text).molar_mass_kg_per_mol * 1e3 == pytest.approx(molar_mass_g, abs=1e-2)


def test_every_element_has_a_mass():
    for element in ("H", "Tc", "U", "Og", "D"):
        assert parse_formula(element).molar_mass_kg_per_mol > 0


def test_equality_is_of_contents_and_charge():
    assert parse_formula("CuSO4.5H2O") == parse_formula("CuSO4·5H2O")
    assert hash(parse_formula("TiO2")) == hash(parse_formula("Ti1O2"))
    assert parse_formula("Fe2+") != parse_formula("Fe3+")
    assert parse_formula("TiO2") != parse_formula("Ti2O4")
    assert parse_formula("TiO2").same_composition(parse_formula("Ti2O4"))
    assert not parse_formula("D2O").same_composition(parse_formula("H2O"))
    assert parse_formula("TiO2") != "TiO2"


def test_nobody_can_change_a_formula():
    formula = parse_formula("BaTiO3")
    formula.amounts["Ba"] = 99.0
    assert parse_formula("BaTiO3").amounts["Ba"] == 1.0
    with pytest.raises(AttributeError):
        formula.charge = 2


def test_copies_and_pickles():
    formula = parse_formula("[Fe(CN)6]4-")
    for other in (pickle.loads(pickle.dumps(formula)), copy.deepcopy(formula)):
        assert other == formula
        assert other.text == formula.text
    assert parse_formula(formula) is formula


@pytest.mark.parametrize("amounts", [{"Ba": float("nan")}, {"Ba": -1.0}, {"Qq": 1.0}])
def test_a_formula_made_by_hand_is_checked(amounts):
    with pytest.raises(ValueError, match=r"must be positive|not an element"):
        Formula("?", amounts)
