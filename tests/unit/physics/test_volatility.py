"""What evaporates: published pressures and losses, mass change, what a lid and a vacuum do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from labenv.physics.kinetics import heat_program, mill, new_powder, react
from labenv.physics.networks import Surroundings, generate_system
from labenv.physics.networks.volatility import (
    escape_rate,
    further_vapours,
    gas_substance,
    vapour_names,
)
from labenv.physics.prediction import Firing, predict
from labenv.physics.thermochemistry import GAS_CONSTANT_J_MOL_K
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv.physics.networks.volatility import Vessel

TABLE = substance_table()
AIR, INERT = Surroundings(), Surroundings(o2_pa=0.0, co2_pa=0.0, h2o_pa=0.0)


def pressure_pa(reaction: Mapping[str, float], temperature_k: float) -> float:
    """Return the pressure of the one vapour that a reaction makes a mole of."""
    energy = sum(
        n * gas_substance(TABLE, s).gibbs_j_mol(temperature_k) for s, n in reaction.items()
    )
    return float(1e5 * np.exp(-energy / (GAS_CONSTANT_J_MOL_K * temperature_k)))


@pytest.mark.parametrize(
    ("reaction", "celsius", "published_pa", "factor"),
    [
        # Boiling points; Mg at 100 Pa: CRC Handbook of Chemistry and Physics, "Vapor pressure"
        ({"Mg(g)": 1, "Mg": -1}, 1090.0, 101325.0, 1.2),
        ({"Mg(g)": 1, "Mg": -1}, 588.0, 100.0, 1.3),
        ({"Zn(g)": 1, "Zn": -1}, 907.0, 101325.0, 1.2),
        ({"Na(g)": 1, "Na": -1}, 439.0, 133.3, 1.5),
        # totals by Stull 1947
        ({"Mo3O9(g)": 1, "MoO3": -3}, 734.0, 133.3, 1.3),
        ({"Mo3O9(g)": 1, "MoO3": -3}, 1151.0, 101325.0, 1.3),
        ({"Pb2O2(g)": 1, "PbO": -2}, 1085.0, 1333.0, 1.2),
        # over MgB2 at 850 degC 340 mTorr (Liu et al., Appl. Phys. Lett. 78, 3678 (2001)); effusion
        # and calorimetry differ by a factor of 5 to 20
        ({"Mg(g)": 1, "MgB2": -2, "MgB4": 1}, 850.0, 45.0, 5.0),
    ],
)
def test_pressures_are_as_published(
    reaction: Mapping[str, float], celsius: float, published_pa: float, factor: float
) -> None:
    ours = pressure_pa(reaction, celsius + 273.15)
    assert published_pa / factor < ours < published_pa * factor


class Loss(NamedTuple):
    """What left a powder."""

    mass: float  # share of the powder's
    metal: float  # share of the named element's
    fractions: dict[str, float]


def fire(
    formula: str,
    element: str,
    celsius: float,
    hours: float,
    vessel: Vessel = "open",
    gas: Surroundings = AIR,
) -> Loss:
    around = replace(gas, vessel=vessel)
    system = generate_system((formula,), around)
    weighed = [TABLE.get(formula)]
    amounts = np.zeros((1, len(system.phases)))
    amounts[0, system.phase_index(weighed[0].name)] = 1.0
    powder = mill(system, new_powder(system, amounts), 7200.0)
    pressures = np.array(list(around.pressures_pa(weighed).values()))
    program = heat_program([(celsius + 273.15, 0.1, hours * 3600.0)])
    result = react(system, powder, program, pressures)
    gone = result.gas_released_mol[0] * system.vapours
    e = system.element_names.index(element)
    after = system.mass_fractions(result.powder.amounts_mol)[0]
    return Loss(
        float(gone @ system.gas_molar_mass_kg_mol / (amounts[0] @ system.molar_mass_kg_mol)),
        float(gone @ system.gas_element_counts[:, e] / (amounts[0] @ system.element_counts[:, e])),
        dict(zip(system.phase_names, map(float, after), strict=True)),
    )


def test_magnesium_leaves_its_boride_above_850_degc_and_hardly_at_600() -> None:
    assert fire("MgB2", "Mg", 600.0, 1.0, gas=INERT).metal < 0.005
    assert fire("MgB2", "Mg", 700.0, 1.0, gas=INERT).metal < 0.02
    hot = fire("MgB2", "Mg", 900.0, 1.0, gas=INERT)
    assert 0.05 < hot.metal < 0.6
    assert hot.fractions["MgB4"] > 0.1
    assert fire("MgB2", "Mg", 900.0, 1.0, "vacuum", INERT).metal > hot.metal
    assert fire("MgB2", "Mg", 900.0, 1.0, "covered", INERT).metal == 0.0


@pytest.mark.parametrize(
    ("formula", "element", "celsius", "low", "high"),
    [
        # Lead oxide is lost from open crucibles from some 850 degC on, little below
        ("PbO", "Pb", 700.0, 0.0, 0.003),
        ("PbO", "Pb", 850.0, 0.005, 0.15),
        ("PbO", "Pb", 1000.0, 0.2, 1.0),
        # LiCoO2 is fired at 850 to 900 degC with a per cent or less of lithium lost, above 1000
        # degC it loses it
        ("LiCoO2", "Li", 850.0, 0.0, 0.005),
        ("LiCoO2", "Li", 1100.0, 0.005, 0.2),
        # Garnets are fired under mother powder above 1000 degC, with 10 % of lithium in excess
        ("Li7La3Zr2O12-cubic", "Li", 1100.0, 0.05, 0.4),
        ("ZnO", "Zn", 1000.0, 0.0, 1e-3),
        ("ZnO", "Zn", 1400.0, 1e-3, 0.2),
        # MoO3 sublimes noticeably from 700 degC on
        ("MoO3", "Mo", 550.0, 0.0, 1e-3),
        ("MoO3", "Mo", 700.0, 0.01, 0.5),
        ("MoO3", "Mo", 850.0, 0.8, 1.0),
    ],
)
def test_losses_in_air_are_those_of_practice(
    formula: str, element: str, celsius: float, low: float, high: float
) -> None:
    loss = fire(formula, element, celsius, 8.0)
    assert low <= loss.metal <= high
    assert 0.0 <= loss.mass <= 1.0


def test_what_is_left_may_be_nothing_and_is_never_negative() -> None:
    gone = fire("MoO3", "Mo", 1000.0, 50.0)
    assert gone.metal == pytest.approx(1.0, abs=1e-6)
    assert all(0.0 <= share <= 1.0 for share in gone.fractions.values())


def test_no_escape_runs_backwards_or_burns() -> None:
    system = generate_system(("PbO", "TiO2"), Surroundings(vessel="open"))
    escapes = [r for r, reaction in enumerate(system.reactions) if reaction.law == "escape"]
    assert escapes
    oxygen = [gas.name for gas in system.gases].index("O2")
    for r in escapes:
        assert system.gas_stoichiometry[r, system.vapours].sum() == pytest.approx(1.0)
        assert system.gas_stoichiometry[r, oxygen] > -1e-9
        assert system.tables.kind[r, 3] == 1 << 62
    covered = generate_system(("PbO", "TiO2"), Surroundings())
    assert not covered.vapours.any()
    assert all(reaction.law != "escape" for reaction in covered.reactions)


def test_the_rate_of_escape_is_hertz_and_knudsens_in_vacuum_and_less_in_air() -> None:
    at = np.array([1200.0])
    vacuum = escape_rate(0.0243, at, 1.0, "vacuum")[0]
    # 1 / sqrt(2 pi M R T) = 0.0256 mol/(m2 s Pa); over 3 cm2 and 3 mmol
    assert vacuum == pytest.approx(0.1 / np.sqrt(2 * np.pi * 0.0243 * 8.314463 * 1200.0), rel=1e-6)
    assert escape_rate(0.0243, at, 1.0, "open")[0] < 0.02 * vacuum
    assert escape_rate(0.0243, at, 1e-4, "open")[0] < escape_rate(0.0243, at, 1.0, "open")[0]


def test_vapours_are_those_of_the_powders_elements_and_cited() -> None:
    assert set(vapour_names(TABLE, {"Li", "Co", "O"})) == {"Li(g)", "LiOH(g)"}
    assert set(vapour_names(TABLE, {"Ba", "Ti", "O"})) == set()
    assert all(vapour.sources and vapour.gas for vapour in further_vapours().values())


def test_an_unknown_vessel_is_refused() -> None:
    with pytest.raises(ConfigError, match="no vessel 'bag'"):
        Surroundings(vessel="bag")  # pyright: ignore[reportArgumentType]


def test_a_prediction_in_the_open_stands_beside_the_same_equilibrium() -> None:
    firing = Firing({"PbO": 1.0, "TiO2": 1.0}, 1273.15, 7200.0, draws=4)
    open_ = Firing(
        {"PbO": 1.0, "TiO2": 1.0},
        1273.15,
        7200.0,
        draws=4,
        surroundings=Surroundings(vessel="open"),
    )
    kept, lost = predict(firing), predict(open_)
    assert kept.main_product == lost.main_product == "PbTiO3"
    assert lost.phases[0].equilibrium == pytest.approx(kept.phases[0].equilibrium, abs=0.01)
    assert lost.mass_change < kept.mass_change - 0.002
    assert abs(kept.mass_change) < 1e-3
    assert kept.heat_j_g == pytest.approx(lost.heat_j_g, abs=200.0)
    assert lost.phases[0].weight_fraction < kept.phases[0].weight_fraction + 1e-6
