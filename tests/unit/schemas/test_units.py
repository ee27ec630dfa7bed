"""Quantities as people, models and libraries write them."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pint
import pytest

from labenv_schemas import parse_quantity
from labenv_schemas.unit_text import COMMON_UNITS, scale_to_si
from labenv_schemas.units import InNamedUnit, format_quantity, friendly

REGISTRY = pint.UnitRegistry(cache_folder=None)


class Printed:
    """A quantity of another library, which prints number and unit."""

    unit = "deg_C"

    def __str__(self):
        return "1100.0 deg_C"


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("1100 degC", "K", 1373.15),
        ("1100°C", "K", 1373.15),
        ("1100 ℃", "K", 1373.15),
        ("1100 º C", "K", 1373.15),
        ("1100C", "K", 1373.15),
        ("1100 deg C", "K", 1373.15),
        ("1100 degrees Celsius", "K", 1373.15),
        ("1373.15 Kelvin", "K", 1373.15),
        ("１３７３.１５　K", "K", 1373.15),
        ("1.1e3K", "K", 1100.0),
        ("−5 °C", "K", 268.15),
        ("32 °F", "K", 273.15),
        ("500 mK", "K", 0.5),
        ("5 K/min", "K/s", 5 / 60),
        ("300 °C/h", "K/s", 5 / 60),
        ("5 C/min", "K/s", 5 / 60),
        ("9 degF/min", "K/s", 5 / 60),
        ("5 K·min⁻¹", "K/s", 5 / 60),
        ("5 K min-1", "K/s", 5 / 60),
        ("5 K min^-1", "K/s", 5 / 60),
        ("5 degrees C per minute", "K/s", 5 / 60),
        ("6 h", "s", 21_600),
        ("6h", "s", 21_600),
        ("1.5 hr", "s", 5400),
        ("2 hrs", "s", 7200),
        ("2 Hours", "s", 7200),
        ("90 mins", "s", 5400),
        ("2 weeks", "s", 1_209_600),
        ("10 mbar", "Pa", 1000),
        ("1 torr", "Pa", 101_325 / 760),
        ("1 Torr", "Pa", 101_325 / 760),
        ("1 atm", "Pa", 101_325),
        ("10 kN/cm²", "Pa", 1e8),
        ("100 N/mm^2", "Pa", 1e8),
        ("0.5 µm", "m", 5e-7),
        ("0.5 μm", "m", 5e-7),
        ("5 Å", "m", 5e-10),
        ("200 Oe", "T", 0.02),
        ("9 kOe", "T", 0.9),
        ("100 G", "T", 0.01),
        ("2 kG", "T", 0.2),
        ("5 gauss", "T", 5e-4),
        ("40 mg", "kg", 4e-5),
        ("10 mmol", "mol", 0.01),
    ],
)
def test_text_with_a_unit_becomes_si(text, unit, expected):
    assert parse_quantity(text, unit) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        ({"value": 5, "unit": "K/min"}, "K/s", 5 / 60),
        ({"value": "5", "unit": "K/min"}, "K/s", 5 / 60),
        ({"value": np.float32(2.5), "unit": "g"}, "kg", 2.5e-3),
        ({"value": Decimal("2.5"), "unit": "g"}, "kg", 2.5e-3),
        (REGISTRY.Quantity(1100, "degC"), "K", 1373.15),
        (REGISTRY.Quantity(np.float64(5), "delta_degC/min"), "K/s", 5 / 60),
        (REGISTRY.Quantity(5, "degC/min"), "K/s", 5 / 60),
        (timedelta(hours=6), "s", 21_600),
        (Printed(), "K", 1373.15),
        (InNamedUnit(1373.15), "K", 1373.15),
    ],
)
def test_quantities_of_other_kinds(value, unit, expected):
    assert parse_quantity(value, unit) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "value", [1100, 1100.0, np.float64(3), np.float32(3), np.int64(3), Decimal(3), Fraction(1, 3)]
)
def test_a_bare_number_is_refused_with_what_to_write(value):
    with pytest.raises(ValueError, match="has no unit; write '900 degC' or '1173 K'"):
        parse_quantity(value, "K")


@pytest.mark.parametrize(
    ("value", "unit", "message"),
    [
        ("1100", "K", "has no unit"),
        ("5 gr", "kg", "grams to some and grains to others; write '2.5 g'"),
        ("5 Gr", "kg", "grams to some and grains to others"),
        ("5 gm", "kg", "grams to some and gigametres"),
        ("", "K", "not a finite number with a unit"),
        ("K", "K", "not a finite number with a unit"),
        ("room temperature", "K", "not a finite number with a unit"),
        ("~1100 K", "K", "not a finite number with a unit"),
        ("NaN K", "K", "not a finite number"),
        ("inf K", "K", "not a finite number"),
        ("-Infinity K", "K", "not a finite number"),
        ("1e999 K", "K", "not a finite number"),
        ("1,5 h", "s", "has a comma"),
        ("1.100,5 K", "K", "has a comma"),
        ("1,000 K", "K", "has a comma"),
        ("1 100 K", "K", "separator"),
        ("1_000 K", "K", "separator"),
        ("01:30:00", "s", "separator"),
        ("900-1000 °C", "K", "is a range"),
        ("900–1000 °C", "K", "is a range"),
        ("900 to 1000 K", "K", "is a range"),
        ("1100±5 K", "K", "uncertainty"),
        ("1100(5) K", "K", "uncertainty"),
        ("1.1×10³ K", "K", "power of ten"),
        ("1 h 30 min", "s", "more than one number"),
        ("30 m", "s", "'m', which is not a unit of time"),
        ("6 H", "s", "not a unit of time"),
        ("5 K", "K/s", "not a unit of rate"),
        ("5 K/min", "K", "not a unit of temperature"),
        ("100 delta_degC", "K", "not a unit of temperature"),
        ("0.1 eV", "K", "not a unit of temperature"),
        ("5 A", "T", "not a unit of magnetic field"),
        ("١١ K", "K", "not a finite number with a unit"),
        ("5 K; import os", "K", "not a unit"),
        ("5 __import__('os')", "s", "not a unit"),
        ("5 s**9**9**9**9", "s", "not a unit"),
        ("5 (((((", "s", "not a unit"),
        ("5 " + "h" * 60, "s", "not a unit"),
        ("9" * 5000 + " K", "K", "too long"),
        (True, "K", "is not a quantity"),
        (np.bool_(True), "K", "is not a quantity"),
        (None, "K", "is not a quantity"),
        ([1, "K"], "K", "is not a quantity"),
        (b"5 K", "K", "is not a quantity"),
        (5j, "K", "is not a quantity"),
        ({"value": 1}, "K", "is not a quantity"),
        ({"value": True, "unit": "K"}, "K", "is not a quantity"),
        ({"value": None, "unit": "K"}, "K", "is not a quantity"),
        ({"value": "nan", "unit": "K"}, "K", "not a finite number"),
        ({"value": float("inf"), "unit": "K"}, "K", "not a finite number"),
        ({"value": 1, "unit": None}, "K", "is not a quantity"),
        (float("nan"), "K", "not a finite number"),
        (Decimal("NaN"), "K", "not a finite number"),
        (10**400, "K", "not a finite number"),
        pytest.param(10**5000, "K", "not a finite number", id="five thousand digits"),
        (InNamedUnit("nan"), "K", "not a finite number"),
        (REGISTRY.Quantity(5, "K/min"), "K", "is not a temperature"),
        (REGISTRY.Quantity([1, 2], "K"), "K", "is not one number"),
        (REGISTRY.Quantity(float("nan"), "K"), "K", "not a finite number"),
    ],
)
def test_what_cannot_be_known_is_refused(value, unit, message):
    with pytest.raises(ValueError, match="; write '") as caught:
        parse_quantity(value, unit)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("unit", "text"), [(unit, text) for unit, known in COMMON_UNITS.items() for text in known]
)
def test_the_table_of_common_units_agrees_with_pint(unit, text):
    factor, offset = COMMON_UNITS[unit][text]
    for number in (0.0, 1.0, 37.5):
        quantity = REGISTRY.Quantity(number, REGISTRY.parse_units(text, as_delta=unit != "K"))
        expected = quantity.to(unit).magnitude
        assert number * factor + offset == pytest.approx(expected, rel=1e-14, abs=1e-300)


def test_an_unknown_unit_asks_for_the_unit_wanted():
    with pytest.raises(ValueError, match="write a number and a unit, such as '1 ohm'"):
        parse_quantity("5 furlong", "ohm")
    assert parse_quantity("5 mohm", "ohm") == pytest.approx(5e-3)


def test_unit_texts_are_remembered_within_bounds():
    assert scale_to_si.cache_info().maxsize == 1024


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [(5 / 60, "K/s", "5 K/min"), (480.0, "s", "8 min"), (604_800.0, "s", "7 d"), (0.0, "s", "0 s")],
)
def test_friendly_text_reads_back_exactly(number, unit, text):
    assert friendly(number, unit) == text
    assert parse_quantity(text, unit) == number


def test_wire_text_is_short():
    assert format_quantity(1373.15, "K") == "1373.15 K"
    assert format_quantity(3600.0, "s") == "3600 s"
