"""Predictions: what real firings gave, what is said of limits and domain, faults."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from labenv.physics import prediction_run
from labenv.physics.networks import Surroundings
from labenv.physics.networks.solid_solutions import alike
from labenv.physics.prediction import Firing, predict, predict_at
from labenv_schemas.errors import ConfigError, ProposalError, SimulatorError

if TYPE_CHECKING:
    from labenv.physics.kinetics import StepControl

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


def test_the_spread_holds_the_nominal_value_where_that_is_an_extreme() -> None:
    # by the nominal rates all carbonate is gone, and most draws leave some or take up more
    prediction = predict(Firing({"CaCO3": 1}, 973.15, 2 * HOUR, draws=6))
    assert prediction.phases
    assert all(p.low <= p.weight_fraction <= p.high for p in prediction.phases)


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
    assert "at equilibrium" in done.limited_by
    assert done.on_cooling == ""


def test_what_limits_agrees_with_the_shares_beside_it() -> None:
    # nearly done, but for by-products that have not met yet
    near = predict(Firing({"BaCO3": 1, "TiO2": 1}, 1273.15, 4 * HOUR, draws=2))
    assert 0.95 < near.phases[0].held < 0.995
    assert near.limited_by.startswith("little: ")
    assert "Ba2TiO4" in near.limited_by
    # where much has formed, the partners were mobile
    partly = predict(Firing({"BaCO3": 1, "TiO2": 1}, 1073.15, 4 * HOUR, draws=2))
    assert partly.limited_by.startswith("diffusion")
    assert sum(p.held for p in partly.phases if p.name not in {"BaCO3", "TiO2"}) > 0.1
    assert "no partner" not in partly.limited_by


def test_what_cooling_changes_is_told_apart_from_the_hold() -> None:
    # CuO gives Cu2O in air above 1026 degC, and takes the oxygen back as it cools
    prediction = predict(Firing({"CuO": 1}, 1423.15, HOUR, draws=2))
    held = {p.name: p.held for p in prediction.phases}
    assert held["Cu2O"] > 0.98
    assert shares(prediction)["CuO"] > 0.98
    assert prediction.on_cooling.startswith("Cu2O to CuO")
    assert {e.stage for e in prediction.path if e.phase == "Cu2O"} == {"heating", "cooling"}


def test_what_is_not_named_is_summed_and_what_is_gone_is_no_phase() -> None:
    prediction = predict(Firing({"BaCO3": 1, "TiO2": 1}, 1223.15, HOUR, draws=2))
    for i, share in enumerate(("weight_fraction", "held", "equilibrium")):
        named = sum(getattr(p, share) for p in prediction.phases)
        assert named + prediction.others[i] == pytest.approx(1.0, abs=1e-9)
    gone = predict(
        Firing({"PbO": 1}, 1673.15, 100 * HOUR, draws=2, surroundings=Surroundings(vessel="open"))
    )
    assert gone.residue == 0.0
    assert gone.mass_change == pytest.approx(-1.0, abs=1e-4)
    assert not shares(gone) or max(shares(gone).values()) == 0.0
    assert gone.main_product is None
    assert "evaporated" in gone.limited_by


@pytest.mark.parametrize(
    ("amounts", "kind", "told"),
    [
        ({"PbO": 1, "ZrO2": 0.5, "TiO2": 0.5}, "solid_solution", "Pb(Zr,Ti)O3"),
        ({"PbO": 1, "ZrO2": 0.5, "TiO2": 0.5}, "no_common_compound", "Pb, Ti, Zr"),
        ({"CaCO3": 1, "SrCO3": 1, "WO3": 2}, "solid_solution", "ions of like charge and size"),
    ],
)
def test_solid_solutions_are_flagged(amounts: dict[str, float], kind: str, told: str) -> None:
    flags = predict(Firing(amounts, 1173.15, 4 * HOUR, draws=2)).flags
    assert [f for f in flags if f.kind == kind and told in f.text], flags


def test_a_compound_of_all_metals_is_not_flagged() -> None:
    firing = Firing({"Y2O3": 0.5, "BaCO3": 2, "CuO": 3}, 1203.15, HOUR, draws=2)
    assert predict(firing).flags == ()
    assert alike("Ti", "Zr")
    assert not alike("Ba", "Ca")
    assert not alike("Ti", "P")


def test_iron_is_not_reduced_by_five_ppm_of_oxygen() -> None:
    # LiFePO4 needs a reductant: with none, Fe3+ stays in Li3Fe2(PO4)3 and Fe2O3
    firing = Firing(
        {"Fe2O3": 1, "Li2CO3": 1, "NH4H2PO4": 2},
        973.15,
        10 * HOUR,
        draws=2,
        surroundings=Surroundings(o2_pa=0.5, co2_pa=0.1, h2o_pa=1.0),
    )
    found = shares(predict(firing))
    assert found["Li3Fe2(PO4)3"] > 0.7
    assert found.get("LiFePO4", 0.0) < 0.05


@pytest.mark.parametrize(
    ("amounts", "around"),
    [
        ({"Al": 1}, Surroundings()),  # no other phase to be compared with
        ({"V25C22": 1}, Surroundings(o2_pa=1e-6, co2_pa=0.0, vessel="vacuum")),
        ({"Sr(NO3)2": 1}, Surroundings(other_pa=0.0)),
        ({"Mg3N2": 1}, Surroundings(o2_pa=0.0, other_pa=0.0, vessel="open")),
    ],
)
def test_elements_carbides_and_nitrates_are_fired(
    amounts: dict[str, float], around: Surroundings
) -> None:
    prediction = predict(Firing(amounts, 1173.15, HOUR, draws=2, surroundings=around))
    assert prediction.in_domain
    assert sum(shares(prediction).values()) + prediction.others[0] == pytest.approx(1.0)


def test_an_integration_that_does_not_end_is_repeated_coarsely_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[float] = []
    real = prediction_run.react

    def stubborn(*args: object, control: StepControl, **more: object) -> object:
        calls.append(control.tolerance)
        if control.tolerance < limit:
            raise SimulatorError("sample 0: not finished")
        return real(*args, control=control, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(prediction_run, "react", stubborn)
    limit = 1e-3
    firing = Firing({"CaCO3": 1}, 1173.15, HOUR, draws=2)
    assert any("coarse" in note for note in predict(firing).notes)
    limit = 1.0
    with pytest.raises(
        SimulatorError, match=r"CaCO3 at 900 degC \(1173 K\): the reactions could not"
    ):
        predict(firing)


def test_outside_the_domain_is_said_and_not_guessed() -> None:
    for amounts in ({"XeO3": 1.0, "CaO": 1.0}, {"Ga2O3": 1.0, "CeO2": 1.0}):
        prediction = predict(Firing(amounts, 1000.0, HOUR, draws=2))
        assert not prediction.in_domain
        assert not prediction.phases
        assert prediction.notes[0]
    assert predict(Firing({"XeO3": 1.0}, 1000.0, HOUR)).status == "unknown_substance"
    assert predict(Firing({"O2": 1.0}, 1000.0, HOUR)).status == "outside_domain"


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
        {"rate_k_per_s": math.inf},
        {"hold_s": math.nan},
        {"mill_s": math.nan},
        {"particle_radius_m": 0.0},
        {"draws": 1},
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


@pytest.mark.parametrize("change", [{"o2_pa": -1.0}, {"co2_pa": math.nan}, {"other_pa": math.inf}])
def test_gases_that_cannot_be_are_refused(change: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(change))):
        Surroundings(**change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("amounts", "cold_degc", "hot_degc", "product"),
    [
        ({"Cr2O3": 1, "WO3": 1}, 700, 1000, "Cr2WO6"),
        ({"Mn2O3": 3.5, "SiO2": 1}, 800, 1000, "Mn7SiO12"),
    ],
)
def test_what_forms_late_does_not_form_early(
    amounts: dict[str, float], cold_degc: float, hot_degc: float, product: str
) -> None:
    cold, hot = (
        shares(predict(Firing(amounts, t + 273.15, 8 * HOUR, draws=2)))
        for t in (cold_degc, hot_degc)
    )
    assert cold.get(product, 0.0) < 0.1
    assert hot[product] > 0.9
