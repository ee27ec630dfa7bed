"""What powders take from the gas and give to it: CO2, oxygen, nitrogen; oxygen between solids."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.physics.networks import Surroundings
from labenv.physics.networks.rates import drive_in_bed, gas_quotient
from labenv.physics.prediction import Firing, predict
from labenv.physics.reactions import constant_between_gases
from labenv.physics.thermochemistry.sources import substance_table

ARGON = Surroundings(o2_pa=0.1, co2_pa=1.0)
WITHOUT_OXYGEN = Surroundings(o2_pa=0.0)


def fired(
    amounts: dict[str, float], celsius: float, hours: float, gas: Surroundings | None = None
) -> tuple[dict[str, float], float]:
    """Return weight fractions after a firing, and the change of mass as a share."""
    firing = Firing(
        amounts, celsius + 273.15, 3600.0 * hours, draws=2, surroundings=gas or Surroundings()
    )
    prediction = predict(firing)
    assert prediction.in_domain
    return {p.name: p.weight_fraction for p in prediction.phases}, prediction.mass_change


@pytest.mark.parametrize("celsius", [1000.0, 1400.0])
def test_lime_stays_lime_while_its_furnace_cools(celsius: float) -> None:
    phases, change = fired({"CaCO3": 1.0}, celsius, 4.0)
    assert phases["CaO"] > 0.94
    assert -0.44 < change < -0.42


@pytest.mark.parametrize("oxide", ["Na2O", "K2O", "Li2O", "BaO", "SrO", "CaO"])
def test_basic_oxides_take_up_what_co2_the_air_brings(oxide: str) -> None:
    phases, _ = fired({oxide: 1.0}, 400.0, 4.0)
    carbonates = sum(share for name, share in phases.items() if "CO3" in name)
    assert 0.1 < carbonates < 0.4
    without, _ = fired({oxide: 1.0}, 400.0, 4.0, Surroundings(co2_pa=0.0))
    assert sum(share for name, share in without.items() if "CO3" in name) < 0.005


def test_massicot_cools_as_massicot_and_makes_minium_on_a_long_hold() -> None:
    assert fired({"PbO": 1.0}, 700.0, 4.0)[0]["PbO"] > 0.95
    assert fired({"PbO": 1.0}, 450.0, 20.0)[0]["Pb3O4"] > 0.3


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("TiN", 400.0, 700.0),
        ("CrN", 550.0, 900.0),
        ("AlN", 650.0, 1000.0),
        ("BN", 700.0, 1100.0),
        ("Si3N4", 1000.0, 1450.0),
        ("SiC", 1000.0, 1450.0),
        ("WC", 350.0, 650.0),
        ("TiC", 300.0, 600.0),
        ("Al", 400.0, 900.0),
        ("LaB6", 450.0, 900.0),
    ],
)
def test_powders_begin_to_burn_where_it_was_seen(name: str, before: float, after: float) -> None:
    assert fired({name: 1.0}, before, 4.0)[0].get(name, 0.0) > 0.9
    assert fired({name: 1.0}, after, 4.0)[0].get(name, 0.0) < 0.1


@pytest.mark.parametrize(
    ("name", "stays", "goes"), [("NaNO3", 550.0, 800.0), ("KNO3", 600.0, 850.0)]
)
def test_alkali_nitrates_leave_their_nitrogen(name: str, stays: float, goes: float) -> None:
    assert fired({name: 1.0}, stays, 1.0)[0][name] > 0.9
    assert fired({name: 1.0}, goes, 4.0)[0].get(name, 0.0) < 0.05


def test_thermite_keeps_its_oxygen() -> None:
    phases, change = fired({"Fe2O3": 1.0, "Al": 2.0}, 1000.0, 1.0, WITHOUT_OXYGEN)
    assert phases["Fe"] > 0.4
    assert phases["Al2O3"] > 0.4
    assert abs(change) < 0.002


@pytest.mark.parametrize(
    ("mixture", "celsius", "product", "share"),
    [
        ({"Cu": 1.0, "CuO": 1.0}, 800.0, "Cu2O", 0.95),
        ({"Fe": 1.0, "Fe2O3": 4.0}, 900.0, "Fe3O4", 0.95),
        ({"Mn": 1.0, "Mn2O3": 1.0}, 900.0, "MnO", 0.9),
    ],
)
def test_a_metal_and_its_oxide_meet_between_without_a_gas(
    mixture: dict[str, float], celsius: float, product: str, share: float
) -> None:
    phases, change = fired(mixture, celsius, 4.0, WITHOUT_OXYGEN)
    assert phases[product] > share
    assert abs(change) < 0.03  # Mn2O3 loses some of its own before it meets manganese


def test_mullite_and_zircon_are_not_made_of_oxides_at_a_thousand_degrees() -> None:
    for oxide in ("Al2O3", "ZrO2"):
        phases, _ = fired({oxide: 1.0, "SiO2": 1.0}, 1000.0, 24.0)
        assert sum(phases.get(name, 0.0) for name in ("Al6Si2O13", "ZrSiO4")) < 0.05


def test_hematite_keeps_its_oxygen_in_a_still_inert_gas() -> None:
    phases, change = fired({"Fe2O3": 1.0}, 1000.0, 1.0, WITHOUT_OXYGEN)
    assert phases["Fe2O3"] > 0.95
    assert abs(change) < 0.002


def test_lithium_iron_phosphate_needs_iron_that_is_reduced() -> None:
    from_iii = {"Fe2O3": 1.0, "Li2CO3": 1.0, "NH4H2PO4": 2.0}
    assert fired(from_iii, 700.0, 10.0, ARGON)[0].get("LiFePO4", 0.0) < 0.1
    from_ii = {"FeCO3": 2.0, "Li2CO3": 1.0, "NH4H2PO4": 2.0}
    assert fired(from_ii, 700.0, 10.0, ARGON)[0]["LiFePO4"] > 0.9


def test_the_bed_and_the_furnace_disagree_and_nothing_moves() -> None:
    bed = np.array([5.0, 5.0, -5.0, -5.0])
    assert drive_in_bed(bed, np.array([3.0, -8.0, 3.0, 8.0])).tolist() == [5.0, 0.0, -2.0, 0.0]
    # exp(ΔG°/RT) such that the bed's quotient, 0.01, gives the same: forward, still, backward
    constant = constant_between_gases(np.array([50.0, 500.0, 5000.0]), bed=0.01, furnace=0.001)
    assert (0.01 * constant) == pytest.approx([0.5, 1.0, 5.0])


def test_quotient_of_gases_counts_what_is_taken_up_below_the_line() -> None:
    row = {"reactants": {"A": 1.0, "O2": 0.5}, "products": {"B": 1.0, "CO2": 2.0}}
    assert gas_quotient(row, {"CO2": 1000.0, "O2": 250.0}) == pytest.approx(1e-4 / 0.05)


def test_every_onset_seen_is_that_of_a_substance() -> None:
    substances = substance_table().substances
    seen = [s for s in substances.values() if s.oxidises_from_k or s.leaves_from_k]
    assert len(seen) > 40
    assert all(300.0 < (s.oxidises_from_k or s.leaves_from_k) < 1700.0 for s in seen)
