"""Networks of reactions: balance, equilibrium, choice of products, domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labenv.physics.kinetics import StepControl, heat_program, mill, new_powder, react
from labenv.physics.networks import Surroundings, generate_system
from labenv.physics.networks.enumeration import enumerate_reactions
from labenv.physics.networks.grand_potential import grand_potential, relevant
from labenv.physics.prediction import CONTROL
from labenv.physics.thermochemistry import stable_assemblage
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import ConfigError, UnknownPluginError

if TYPE_CHECKING:
    from labenv.physics.reactions import ReactionSystem

MIXTURES = (
    ("BaCO3", "TiO2"),
    ("CaCO3", "SiO2"),
    ("Bi2O3", "MoO3"),
    ("Cr2O3", "PbO"),
    ("CuO", "MnO"),
    ("Fe3O4", "SrCO3"),
    ("ZnO", "V2O5"),
    ("NH4H2PO4", "Na2CO3"),
    ("CoO", "WO3"),
    ("Y2O3", "Fe2O3"),
)
AIR = Surroundings()


def gas_of(system: ReactionSystem, precursors: tuple[str, ...]) -> np.ndarray:
    table = substance_table()
    pressures = AIR.pressures_pa([table.get(name) for name in precursors])
    assert [gas.name for gas in system.gases] == list(pressures)
    return np.array(list(pressures.values()))


def weighed(system: ReactionSystem, precursors: tuple[str, ...], moles: np.ndarray) -> np.ndarray:
    amounts = np.zeros((1, len(system.phases)))
    for name, n in zip(precursors, moles, strict=True):
        amounts[0, system.phase_index(substance_table().get(name).name)] += n
    return amounts


@pytest.mark.parametrize("precursors", [*MIXTURES, ("Y2O3", "BaCO3", "CuO")])
def test_every_reaction_balances(precursors: tuple[str, ...]) -> None:
    system = generate_system(precursors, AIR)
    residue = (
        system.stoichiometry @ system.element_counts
        + system.gas_stoichiometry @ system.gas_element_counts
    )
    assert np.abs(residue).max() < 1e-9
    assert len({r.equation for r in system.reactions}) == len(system.reactions)


@settings(max_examples=60, deadline=None)
@given(
    mixture=st.sampled_from(MIXTURES),
    share=st.floats(0.02, 0.98),
    temperature_k=st.floats(350.0, 1780.0),
    hold_s=st.floats(0.0, 1e6),
    rate=st.floats(0.01, 2.0),
    radius=st.floats(5e-8, 1e-5),
    contact=st.floats(0.1, 1.0),
)
def test_firing_any_mixture_conserves_elements_and_makes_nothing_negative(
    mixture: tuple[str, ...],
    share: float,
    temperature_k: float,
    hold_s: float,
    rate: float,
    radius: float,
    contact: float,
) -> None:
    system = generate_system(mixture, AIR)
    amounts = weighed(system, mixture, np.array([share, 1.0 - share]))
    powder = new_powder(system, amounts, radius, contact)
    result = react(
        system, powder, heat_program([(temperature_k, rate, hold_s)]), gas_of(system, mixture)
    )
    after = result.powder.amounts_mol
    assert (after >= 0.0).all()
    assert np.isfinite(after).all()
    before = amounts @ system.element_counts
    now = after @ system.element_counts + result.gas_released_mol @ system.gas_element_counts
    assert np.abs(now - before).max() < 1e-9
    assert system.mass_fractions(after).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("precursors", "temperature_k"),
    [
        (("BaCO3", "TiO2"), 1600.0),
        (("SrCO3", "TiO2"), 1700.0),
        (("CaCO3", "SiO2"), 1700.0),
        (("ZnO", "SiO2"), 1650.0),
        (("MgO", "Al2O3"), 1790.0),
        (("Y2O3", "BaCO3", "CuO"), 1240.0),
    ],
)
def test_long_firing_tends_to_the_least_free_energy(
    precursors: tuple[str, ...], temperature_k: float
) -> None:
    system = generate_system(precursors, AIR)
    gas = gas_of(system, precursors)
    moles = np.array([0.5, 2.0, 3.0]) if len(precursors) == 3 else np.array([1.0, 1.0])
    amounts = weighed(system, precursors, moles / moles.sum())
    powder = mill(system, new_powder(system, amounts, 2e-7), np.array([1e6]))
    target = stable_assemblage(
        system.phases, system.gases, amounts[0], temperature_k, np.maximum(gas, system.bed_pa)
    )
    wanted = system.mass_fractions(target)

    def distance(hold_s: float) -> float:
        program = heat_program([(temperature_k, 10.0, hold_s)], cooling_k_per_s=1000.0)
        after = react(system, powder, program, gas).powder.amounts_mol[0]
        return 0.5 * float(np.abs(system.mass_fractions(after) - wanted).sum())

    far, near, there = distance(1e3), distance(1e5), distance(1e8)
    assert there < 0.03
    assert there <= near + 0.01 <= far + 0.02


@settings(max_examples=12, deadline=None)
@given(mixture=st.sampled_from(MIXTURES), temperature_k=st.floats(600.0, 1700.0))
def test_the_numbers_do_not_depend_on_the_step(
    mixture: tuple[str, ...], temperature_k: float
) -> None:
    system = generate_system(mixture, AIR)
    powder = new_powder(system, weighed(system, mixture, np.array([0.5, 0.5])), 5e-7, 0.9)
    program, gas = heat_program([(temperature_k, 0.1, 3600.0)]), gas_of(system, mixture)
    fine = StepControl(tolerance=1e-5, temperature_k=1.0)
    ours, exact = (
        system.mass_fractions(react(system, powder, program, gas, control=c).powder.amounts_mol)
        for c in (CONTROL, fine)
    )
    assert np.abs(ours - exact).max() < 0.03


@pytest.mark.parametrize("cooling_k_per_s", [0.033, 0.08, 0.33])
@pytest.mark.parametrize("hold_s", [1894.0, 14400.0])
def test_what_a_cooling_furnace_takes_up_does_not_depend_on_the_step(
    cooling_k_per_s: float, hold_s: float
) -> None:
    """Only a trace that could go back is left; the step must end where it turns all the same."""
    system = generate_system(("MnO2",), AIR)
    powder = new_powder(system, weighed(system, ("MnO2",), np.ones(1)), 1e-6, 0.9)
    program = heat_program([(1364.0, 5 / 60, hold_s)], cooling_k_per_s=cooling_k_per_s)
    coarse, fine = (
        system.mass_fractions(
            react(system, powder, program, gas_of(system, ("MnO2",)), control=c).powder.amounts_mol
        )
        for c in (StepControl(), StepControl(1e-4, temperature_k=5.0))
    )
    assert fine[0, system.phase_index("Mn2O3")] > 0.03
    assert np.abs(coarse - fine).max() < 0.01


def test_a_long_way_below_every_onset_nothing_happens() -> None:
    system = generate_system(("Y2O3", "Fe2O3"), AIR)
    amounts = weighed(system, ("Y2O3", "Fe2O3"), np.array([0.5, 0.5]))
    result = react(
        system,
        new_powder(system, amounts, 5e-7, 0.9),
        heat_program([(700.0, 0.1, 1e6)]),
        gas_of(system, ("Y2O3", "Fe2O3")),
    )
    assert np.abs(result.powder.amounts_mol - amounts).max() < 1e-4


def test_reactions_found_are_each_written_once() -> None:
    table = substance_table()
    phases = [table.get(name) for name in ("BaCO3", "BaO", "TiO2", "BaTiO3", "Ba2TiO4")]
    potential = grand_potential(table, phases, {"CO2": 42.5, "O2": 21227.0})
    found = enumerate_reactions(potential, (0, 2))
    sides = {
        (frozenset(p for p, _ in r.reactants), frozenset(p for p, _ in r.products)) for r in found
    }
    assert len(sides) == len(found)
    assert not any((b, a) in sides for a, b in sides)
    names = {
        (
            tuple(sorted(potential.phases[p].name for p, _ in r.reactants)),
            tuple(sorted(potential.phases[p].name for p, _ in r.products)),
        )
        for r in found
    }
    assert (("BaCO3", "TiO2"), ("BaTiO3",)) in names
    assert (("BaCO3", "BaTiO3"), ("Ba2TiO4",)) in names


def test_phases_far_above_the_hull_are_left_out_but_precursors_stay() -> None:
    table = substance_table()
    phases = table.within({"Ba", "O", "C"})
    potential = grand_potential(table, phases, {"CO2": 42.5, "O2": 21227.0})
    kept = {p.name for p in relevant(potential, ("BaO2",), 4000.0).phases}
    assert {"BaCO3", "BaO2"} <= kept
    assert "Ba" not in kept


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(UnknownPluginError, match="no thermochemistry of 'XeO3'"):
        generate_system(("XeO3", "CaO"), AIR)
    with pytest.raises(UnknownPluginError, match="is a gas"):
        generate_system(("Zn(g)", "CaO"), AIR)
    with pytest.raises(ConfigError, match="leave as gas"):
        generate_system(("NH4HCO3",), AIR)


@pytest.mark.parametrize(
    ("precursors", "phase", "crystal"),
    [
        (("Fe2O3", "ZnO"), "Fe2O3", "hematite"),
        (("BaCO3", "TiO2"), "TiO2", "rutile"),
        (("MnO2", "Li2CO3"), "MnO2", "pyrolusite"),
        (("CaCO3", "SiO2"), "CaSiO3", "wollastonite"),
    ],
)
def test_a_composition_has_the_crystal_that_is_stable(
    precursors: tuple[str, ...], phase: str, crystal: str
) -> None:
    """Fe2O3 scattered as maghemite, the first of its formula in the library."""
    system = generate_system(precursors, AIR)
    assert system.structures[system.phase_index(phase)] == crystal
