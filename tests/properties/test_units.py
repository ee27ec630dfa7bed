"""Whatever is written, a quantity is read exactly or refused; nothing else happens."""

import math

import pint
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labenv_schemas import parse_quantity
from labenv_schemas.unit_text import COMMON_UNITS
from labenv_schemas.units import format_quantity, friendly

REGISTRY = pint.UnitRegistry(cache_folder=None)
SI = sorted(COMMON_UNITS)
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, st.sampled_from(SI))
def test_the_wire_form_reads_back_exactly(number, unit):
    assert parse_quantity(format_quantity(number, unit), unit) == number


@given(finite, st.sampled_from(SI))
def test_friendly_text_reads_back_exactly(number, unit):
    assert parse_quantity(friendly(number, unit), unit) == number


@given(st.floats(-1e12, 1e12), st.sampled_from(SI), st.data())
def test_common_units_agree_with_pint(number, unit, data):
    text = data.draw(st.sampled_from(sorted(COMMON_UNITS[unit])))
    quantity = REGISTRY.Quantity(number, REGISTRY.parse_units(text, as_delta=unit != "K"))
    expected = quantity.to(unit).magnitude
    assert parse_quantity(f"{number!r} {text}", unit) == pytest.approx(
        expected, rel=1e-13, abs=1e-9
    )


@given(st.text(max_size=150), st.sampled_from(SI))
@example("5 s**9**9**9**9", "s")
@example("1e99999 K", "K")
@example("5 " + "(" * 39, "K")
def test_any_text_is_read_as_finite_or_refused(text, unit):
    try:
        number = parse_quantity(text, unit)
    except ValueError as error:
        message = str(error)
    else:
        message = "write" if math.isfinite(number) else "let a number through"
    assert "write" in message
    assert len(message) < 300


@given(
    st.text("KsChminde°º/*^()-0123456789 .eE_%²⁻¹µ", max_size=45),
    st.sampled_from(SI),
)
def test_any_text_made_of_units_is_read_as_finite_or_refused(text, unit):
    try:
        number = parse_quantity(f"1 {text}", unit)
    except ValueError:
        return
    assert math.isfinite(number)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["value", "unit", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(anything, st.sampled_from(SI))
def test_any_value_is_read_as_finite_or_refused(value, unit):
    try:
        number = parse_quantity(value, unit)
    except ValueError:
        return
    assert math.isfinite(number)
