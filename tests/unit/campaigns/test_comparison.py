"""Simulated beside published outcomes."""

from __future__ import annotations

import pytest

from labenv.campaigns.comparison import compare
from labenv_schemas import Outcome, PhaseAnalysis, PhaseFraction, Recipe
from labenv_schemas.base import parse


def recipe(**phases: float | None) -> Recipe:
    return parse(
        Recipe,
        {
            "name": "r",
            "citation": "A. Author 2000",
            "proposal": {
                "operations": [
                    {"op": "dose", "precursors": [{"substance": "BaCO3", "mass": "1 g"}]}
                ]
            },
            "published": {"phases": phases, "statement": "it formed"},
        },
    )


def outcome(**fractions: float) -> Outcome:
    formulas = {"tetragonal": "BaTiO3", "cubic": "BaTiO3"}
    phases = tuple(
        PhaseFraction(
            name=name, formula=formulas.get(name, name), weight_fraction=value, uncertainty=0.01
        )
        for name, value in fractions.items()
    )
    analysis = PhaseAnalysis(status="ok", phases=phases, goodness_of_fit=1.0, r_wp=0.1)
    return Outcome(experiment_id="e", status="ok", analyses=(analysis,))


@pytest.mark.parametrize(
    ("published", "found", "agrees", "verdict"),
    [
        ({"BaTiO3": None}, {"tetragonal": 0.6, "rutile": 0.4}, True, "yes"),
        ({"BaTiO3": 1.0}, {"tetragonal": 0.7, "cubic": 0.3}, True, "yes"),
        ({"BaTiO3": 1.0}, {"tetragonal": 0.9, "Ba2TiO4": 0.1}, False, "has Ba2TiO4"),
        ({"BaTiO3": 1.0}, {"tetragonal": 0.99, "Ba2TiO4": 0.01}, True, "yes"),
        ({"BaTiO3": None, "Ba2TiO4": None}, {"tetragonal": 1.0}, False, "missing Ba2TiO4"),
        (
            {"Ba2TiO4": None, "BaTiO3": 0.0},
            {"tetragonal": 0.3, "Ba2TiO4": 0.7},
            False,
            "has BaTiO3",
        ),
    ],
)
def test_named_phases_are_compared(
    published: dict[str, float | None], found: dict[str, float], agrees: bool, verdict: str
) -> None:
    compared = compare(recipe(**published), outcome(**found))
    assert compared.agrees is agrees
    assert compared.verdict == verdict


def test_fractions_are_subtracted_where_reported() -> None:
    compared = compare(recipe(BaTiO3=0.9, Ba2TiO4=None), outcome(tetragonal=0.85, Ba2TiO4=0.15))
    assert compared.differences == {"BaTiO3": pytest.approx(-0.05)}
    assert compared.difference_text == "BaTiO3 -0.050"
    assert compared.published_text == "BaTiO3 0.9, Ba2TiO4"
    assert compared.simulated_text == "tetragonal 0.850, Ba2TiO4 0.150"


def test_an_outcome_without_analysis_is_not_judged() -> None:
    failed = Outcome(experiment_id="e", status="failed_machine", message="the furnace broke")
    compared = compare(recipe(BaTiO3=1.0), failed)
    assert compared.agrees is None
    assert compared.verdict == "the furnace broke"
    assert compared.differences == {}
    assert compared.simulated_text == "not measured"


def test_a_refused_recipe_was_not_run() -> None:
    refused = Outcome(experiment_id="e", status="invalid", message="the furnace ends at 1600 °C")
    compared = compare(recipe(BaTiO3=1.0), refused)
    assert compared.simulated_text == "not run"
    assert compared.verdict == "the furnace ends at 1600 °C"
    assert compared.agrees is None


def test_a_glass_shows_nothing_crystalline() -> None:
    assert compare(recipe(BaTiO3=1.0), outcome()).simulated_text == "nothing crystalline"
