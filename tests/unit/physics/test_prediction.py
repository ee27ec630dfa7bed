"""Predictions: what real firings gave, what is said of limits and domain, faults."""

from __future__ import annotations

import math

import pytest

from labenv.physics.prediction import Firing, predict, predict_at
from labenv_schemas.errors import ProposalError

HOUR = 3600.0


def shares(prediction: object) -> dict[str, float]:
    return {p.name: p.weight_fraction for p in prediction.phases}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("amounts", "celsius", "hours", "main"),
    [
        # ordinary practice: each is how the compound is made
        ({"BaCO3": 1, "TiO2": 1}, 1200, 4, "BaTiO3"),
        ({"SrCO3": 1, "TiO2": 1}, 1275, 10, "SrTiO3"),
        ({"Li2CO3": 1.5, "Co3O4": 1}, 850, 12, "LiCoO2"),
        ({"Bi2O3": 1, "Fe2O3": 1}, 800, 5, "BiFeO3"),
        ({"La2O3": 1, "CuO": 1}, 1000, 12, "La2CuO4"),
        ({"Y2O3": 0.5, "BaCO3": 2, "CuO": 3}, 930, 12, "YBa2Cu3O7"),
        ({"ZnO": 2, "SiO2": 1}, 1250, 4, "Zn2SiO4"),
        ({"CaCO3": 1, "WO3": 1}, 900, 4, "CaWO4"),
        ({"ZnO": 1, "Fe2O3": 1}, 1000, 4, "ZnFe2O4"),
        ({"PbO": 1, "TiO2": 1}, 800, 3, "PbTiO3"),
    ],
)
def test_what_is_made_in_practice_is_made_here(
    amounts: dict[str, float], celsius: float, hours: float, main: str
) -> None:
    prediction = predict(Firing(amounts, celsius + 273.15, hours * HOUR, draws=2))
    assert prediction.in_domain, prediction.notes
    found = shares(prediction)
    assert max(found, key=lambda name: found[name]) == main, found
    assert prediction.main_product == main


def test_hotter_goes_further() -> None:
    firing = Firing({"BaCO3": 1, "TiO2": 1}, 900.0, HOUR, draws=2)
    made = [shares(p).get("BaTiO3", 0.0) for p in predict_at(firing, (800.0, 1000.0, 1200.0))]
    assert made == sorted(made)
    assert made[0] < 0.05
    assert made[-1] > 0.5


def test_the_spread_holds_the_nominal_value_and_grows_where_it_is_fast() -> None:
    prediction = predict(Firing({"CoO": 1, "WO3": 1}, 1173.15, HOUR))
    main = prediction.phases[0]
    assert main.low < main.weight_fraction < main.high
    assert main.high - main.low > 0.02


def test_the_same_firing_gives_the_same_prediction() -> None:
    firing = Firing({"CaCO3": 1, "SiO2": 1}, 1273.15, HOUR, draws=8)
    assert predict(firing) == predict(firing)


def test_the_path_begins_with_what_appears_first() -> None:
    prediction = predict(Firing({"BaCO3": 1, "TiO2": 1}, 1373.15, 4 * HOUR, draws=2))
    assert prediction.path[0].phase in {"BaTiO3", "Ba2TiO4"}
    assert prediction.path[0].event == "appears"
    assert all(
        a.time_s <= b.time_s for a, b in zip(prediction.path, prediction.path[1:], strict=False)
    )


def test_what_limits_is_told() -> None:
    cold = predict(Firing({"BaCO3": 1, "TiO2": 1}, 600.0, HOUR, draws=2))
    assert "diffusion" in cold.limited_by
    done = predict(Firing({"BaCO3": 1, "TiO2": 1}, 1700.0, 1000 * HOUR, draws=2))
    assert "equilibrium" in done.limited_by


def test_outside_the_domain_is_said_and_not_guessed() -> None:
    for amounts in ({"XeO3": 1.0, "CaO": 1.0}, {"Ga2O3": 1.0, "CeO2": 1.0}):
        prediction = predict(Firing(amounts, 1000.0, HOUR, draws=2))
        assert not prediction.in_domain
        assert not prediction.phases
        assert prediction.notes[0]


@pytest.mark.parametrize(
    "change",
    [
        {"amounts_mol": {}},
        {"amounts_mol": {"CaO": -1.0}},
        {"amounts_mol": {"CaO": math.nan}},
        {"temperature_k": 25.0},
        {"temperature_k": 5000.0},
        {"hold_s": -1.0},
        {"rate_k_per_s": 0.0},
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object]) -> None:
    values: dict[str, object] = {
        "amounts_mol": {"CaO": 1.0},
        "temperature_k": 1000.0,
        "hold_s": 1.0,
    }
    with pytest.raises(ProposalError):
        predict(Firing(**{**values, **change}))  # type: ignore[arg-type]
