"""Formulas written in any of the ways laboratories use are read as what they were written from."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labenv_schemas import Formula, parse_formula

ELEMENTS = ["H", "D", "Li", "C", "N", "O", "Na", "Ti", "Co", "Ba", "Nd", "Dy", "U"]
counts = st.integers(1, 40)
contents = st.dictionaries(st.sampled_from(ELEMENTS), counts, min_size=1, max_size=5)
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def written(amounts):
    return "".join(f"{element}{n if n > 1 else ''}" for element, n in amounts.items())


@given(contents)
def test_whole_amounts(amounts):
    assert parse_formula(written(amounts)).amounts == amounts


@given(contents)
def test_subscripts_are_digits(amounts):
    assert parse_formula(written(amounts).translate(SUBSCRIPTS)).amounts == amounts


@given(st.dictionaries(st.sampled_from(ELEMENTS), st.floats(0.01, 99.0), min_size=1, max_size=5))
def test_fractional_amounts(amounts):
    text = "".join(f"{element}{amount:.4f}" for element, amount in amounts.items())
    expected = {element: round(amount, 4) for element, amount in amounts.items()}
    assert parse_formula(text).amounts == pytest.approx(expected)


@given(contents, contents, counts)
def test_a_group_is_multiplied(outer, inner, n):
    text = f"{written(outer)}({written(inner)}){n}"
    expected = {e: outer.get(e, 0) + n * inner.get(e, 0) for e in outer.keys() | inner.keys()}
    assert parse_formula(text).amounts == expected


@given(contents, contents)
def test_a_group_without_a_number_counts_once(outer, inner):
    text = f"[({written(outer)})({written(inner)})]"
    expected = {e: outer.get(e, 0) + inner.get(e, 0) for e in outer.keys() | inner.keys()}
    assert parse_formula(text).amounts == expected


@given(contents, counts, st.sampled_from(["·", "*", "•", " · ", " x "]))
def test_a_hydrate_has_its_waters(amounts, n, dot):
    parsed = parse_formula(f"{written(amounts)}{dot}{n}H2O").amounts
    assert parsed["H"] == amounts.get("H", 0) + 2 * n
    assert parsed["O"] == amounts.get("O", 0) + n


@given(contents, counts)
def test_a_hydrate_with_a_full_stop_has_its_waters_or_is_refused(amounts, n):
    text = f"{written(amounts)}.{n}H2O"
    if written(amounts)[-1] == "1" or written(amounts)[-2:].isdigit():
        with pytest.raises(ValueError, match="a dot can be a decimal point"):
            parse_formula(text)
    else:
        assert parse_formula(text).amounts["O"] == amounts.get("O", 0) + n


@given(contents, st.integers(-9, 9).filter(bool))
def test_a_charge_after_a_caret(amounts, charge):
    text = f"{written(amounts)}^{abs(charge)}{'+' if charge > 0 else '-'}"
    formula = parse_formula(text)
    assert (formula.amounts, formula.charge) == (amounts, charge)


@given(contents)
def test_mass_is_the_sum_of_its_elements(amounts):
    expected = sum(parse_formula(e).molar_mass_kg_per_mol * n for e, n in amounts.items())
    assert parse_formula(written(amounts)).molar_mass_kg_per_mol == pytest.approx(expected)


@given(st.text(max_size=60))
@example("O1/0")
@example("NaN")
def test_any_text_is_a_formula_or_is_refused(text):
    try:
        formula = parse_formula(text)
    except ValueError:
        return
    assert formula.amounts
    assert all(amount > 0 for amount in formula.amounts.values())


@given(st.text("BaTiOCoHxyδ()[]{}.·*^+-0123456789/½ ,", max_size=40))
def test_any_text_made_of_formula_signs_is_a_formula_or_is_refused(text):
    try:
        formula = parse_formula(text)
    except ValueError:
        return
    assert isinstance(formula, Formula)
    assert parse_formula(formula.text) == formula


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.binary() | st.lists(st.text()))
def test_anything_else_is_refused(value):
    with pytest.raises(ValueError, match="formula"):
        parse_formula(value)
