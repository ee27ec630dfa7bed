"""Firing: published temperatures and products, then the contract of `react`."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from labenv.physics.kinetics import (
    AIR_PA,
    HeatProgram,
    PowderState,
    StepControl,
    draw_parameters,
    heat_program,
    load_system,
    mill,
    mix,
    new_powder,
    react,
    regrind,
    stack_programs,
)
from labenv.physics.networks import generate_system
from labenv.physics.thermochemistry import stable_assemblage
from labenv_schemas.errors import ProposalError

SYSTEM = load_system("Ba-Ti-C-O")
P = len(SYSTEM.phases)
INDEX = {name: i for i, name in enumerate(SYSTEM.phase_names)}
ZERO_C = 273.15


def powder(
    barium: float = 1.0,
    titanium: float = 1.0,
    *,
    polymorph: str = "rutile",
    carbonate_m: float = 0.5e-6,
    titania_m: float = 0.15e-6,
    contact: float = 0.95,
) -> PowderState:
    """Return one powder of carbonate and titania with the given radii."""
    amounts = np.zeros((1, P))
    amounts[0, INDEX["BaCO3"]], amounts[0, INDEX[polymorph]] = barium, titanium
    radius = np.full((1, P), titania_m)
    radius[0, INDEX["BaCO3"]] = carbonate_m
    return new_powder(SYSTEM, amounts, radius, contact)


def fired(state: PowderState, celsius: float, hours: float, **conditions: object) -> PowderState:
    """Return the powder after 5 K/min up, a hold, and 5 K/min down."""
    program = heat_program([(celsius + ZERO_C, 5 / 60, hours * 3600.0)], cooling_k_per_s=5 / 60)
    return react(SYSTEM, state, program, **conditions).powder


def mass(state: PowderState, name: str) -> float:
    """Return one phase's mass fraction in the first powder."""
    return float(SYSTEM.mass_fractions(state.amounts_mol)[0, INDEX[name]])


def gas_temperatures_c(
    state: PowderState, shares: list[float], gas_pa: tuple[float, float] = AIR_PA
) -> list[float]:
    """Return where, on heating at 10 K/min, these shares of the carbonate's CO2 have left."""
    ends = np.arange(500.0, 1501.0, 10.0)
    programs = HeatProgram(
        np.column_stack([np.zeros(ends.size), (ends - 25.0) * 6.0]),
        np.column_stack([np.full(ends.size, 298.15), ends + ZERO_C]),
    )
    many = state.rows(np.zeros(ends.size, dtype=np.int64))
    released = react(SYSTEM, many, programs, gas_pa).gas_released_mol[:, 0]
    share = released / state.amounts_mol[0, INDEX["BaCO3"]]
    return [float(np.interp(s, share, ends)) if share.max() >= s else np.inf for s in shares]


# ------------------------------------------------------------------------------- published values


def test_carbonate_alone_in_air_decomposes_from_about_1000_c() -> None:
    # Galwey & Brown, Thermal Decomposition of Ionic Solids (1999): from about 1025 degC.
    five, half = gas_temperatures_c(powder(titanium=0.0), [0.05, 0.5])
    assert five == pytest.approx(1000.0, abs=50.0)
    assert half == pytest.approx(1050.0, abs=50.0)


def test_carbonate_with_rutile_decomposes_between_700_and_900_c() -> None:
    # Bera & Sarkar 2003, doi:10.1023/B:JECR.0000026366.17280.0d: CO2 leaves far lower with TiO2,
    # all BaTiO3 by 900 degC with a fine carbonate; Kozawa et al. 2009: complete at 850 degC.
    for state in (powder(), powder(carbonate_m=0.15e-6, contact=0.985)):
        five, half = gas_temperatures_c(state, [0.05, 0.5])
        assert 700.0 < five < 820.0
        assert 800.0 < half < 910.0
        alone = gas_temperatures_c(powder(titanium=0.0), [0.05])[0]
        assert alone - five > 150.0


def test_carbon_dioxide_holds_the_reaction_back() -> None:
    # Cournil, Soustelle & Thomas 1979, Oxid. Met. 13, 77: the rate falls as CO2 pressure rises.
    air = gas_temperatures_c(powder(), [0.5])[0]
    dioxide = gas_temperatures_c(powder(), [0.5], (1.0e5, 0.0))[0]
    assert 30.0 < dioxide - air < 150.0
    alone = gas_temperatures_c(powder(titanium=0.0), [0.05], (1.0e5, 0.0))[0]
    assert alone == np.inf  # still carbonate at 1500 degC under 1 bar of CO2


def test_carbonate_and_rutile_are_used_up_at_850_c() -> None:
    # Kozawa et al. 2009, J. Eur. Ceram. Soc. 29, 3259: 2.5 h at 850 degC in air complete it.
    assert mass(fired(powder(), 850.0, 2.5), "BaCO3") < 0.02
    assert mass(fired(powder(), 650.0, 2.5), "BaCO3") > 0.6


def test_fine_carbonate_reacts_far_lower() -> None:
    # Buscaglia et al. 2005, doi:10.1111/j.1551-2916.2005.00451.x: TiO2 of 70 nm with BaCO3 of 50 nm
    # is done after 8 h at 800 degC; with BaCO3 of 650 nm it takes 4 h at 1000 degC.
    fine = fired(powder(carbonate_m=25e-9, titania_m=35e-9, contact=0.985), 800.0, 8.0)
    coarse = fired(powder(carbonate_m=325e-9, titania_m=35e-9, contact=0.985), 1000.0, 4.0)
    assert mass(fine, "BaTiO3") > 0.88
    assert mass(coarse, "BaTiO3") > 0.95
    short = fired(powder(carbonate_m=325e-9, titania_m=35e-9), 800.0, 1.0)
    assert mass(short, "BaCO3") > 0.1


def test_onset_of_titanate_formation() -> None:
    # Berbenni et al. 2001, doi:10.1016/S0040-6031(01)00505-6: BaTiO3 from milled powders at
    # 750 degC in 12 h with Ba2TiO4 minor; nothing to speak of at 600 degC.
    milled = powder(carbonate_m=0.1e-6, titania_m=0.1e-6, contact=0.985)
    assert mass(fired(milled, 600.0, 1.0), "BaTiO3") < 0.02
    after = fired(milled, 750.0, 12.0)
    assert mass(after, "BaTiO3") > 0.75
    assert mass(after, "Ba2TiO4") < 0.2
    size_nm = 1e9 * after.crystallite_m[0, INDEX["BaTiO3"]]
    assert 25.0 < size_nm < 80.0  # 40 nm measured there


def test_orthotitanate_comes_and_goes() -> None:
    # Beauger, Mutin & Niepce 1983, doi:10.1007/BF00700786: in air Ba2TiO4 forms from BaCO3 + BaTiO3
    # between 25 and 95 % of the transformation; it is the last to vanish.
    state = powder(carbonate_m=1.0e-6, titania_m=0.3e-6, contact=0.9)
    early, middle = fired(state, 780.0, 0.5), fired(state, 950.0, 1.0)
    assert mass(early, "Ba2TiO4") < 0.05
    assert 0.08 < mass(middle, "Ba2TiO4") < 0.45
    again = fired(
        regrind(SYSTEM, fired(mill(SYSTEM, state, 6 * 3600.0), 1250.0, 10.0)), 1250.0, 10.0
    )
    assert mass(again, "Ba2TiO4") < 0.005
    assert mass(again, "BaTiO3") > 0.98


def test_carbon_dioxide_keeps_orthotitanate_away() -> None:
    # Beauger et al. 1983: in CO2 no Ba2TiO4; at 1 bar it is unstable below about 1360 K.
    assert mass(fired(powder(), 950.0, 2.0, gas_pa=(1.0e5, 0.0)), "Ba2TiO4") < 1e-6
    assert mass(fired(powder(), 950.0, 2.0), "Ba2TiO4") > 0.02


def test_titania_rich_mixtures_give_tetratitanate() -> None:
    # O'Bryan & Thomson 1974, doi:10.1111/j.1151-2916.1974.tb10801.x: BaTi4O9 by 1200-1250 degC.
    # In a mixture of four to one the last regions that milling did not bring together close slowly.
    state = powder(titanium=4.0, carbonate_m=0.3e-6, contact=0.985)
    assert mass(fired(state, 1250.0, 6.0), "BaTi4O9") > 0.95
    assert mass(fired(state, 900.0, 2.0), "BaTi4O9") < 0.1


def test_anatase_turns_to_rutile() -> None:
    # Hanaor & Sorrell 2011, doi:10.1007/s10853-010-5113-0, and Rao 1961: immeasurably slow below
    # 610 degC for pure anatase, fast at 900 degC and above.
    state = powder(barium=0.0, polymorph="anatase")
    assert mass(fired(state, 600.0, 2.0), "rutile") < 0.001
    assert 0.1 < mass(fired(state, 850.0, 1.0), "rutile") < 0.8
    assert mass(fired(state, 1000.0, 1.0), "rutile") > 0.99


def test_the_eutectic_at_1322_c_melts_titania_rich_powder() -> None:
    # Rase & Roy 1955, doi:10.1111/j.1151-2916.1955.tb14585.x: eutectic at 1322 degC.
    state = powder(titanium=1.2)
    for celsius, melts in ((1310.0, False), (1335.0, True)):
        program = heat_program([(celsius + ZERO_C, 5 / 60, 600.0)])
        assert bool(react(SYSTEM, state, program).liquid_share[0] > 0.05) is melts


# ------------------------------------------------------------------------------------- behaviour


def test_time_temperature_mixing_and_size_all_help() -> None:
    state = powder(carbonate_m=1.0e-6, titania_m=0.3e-6, contact=0.6)
    base = mass(fired(state, 1000.0, 2.0), "BaTiO3")
    assert mass(fired(powder(), 880.0, 12.0), "BaTiO3") > mass(
        fired(powder(), 880.0, 1.0), "BaTiO3"
    )
    assert mass(fired(state, 1300.0, 12.0), "BaTiO3") > base + 0.05
    assert mass(fired(mix(SYSTEM, state, 1800.0), 1000.0, 2.0), "BaTiO3") > base + 0.05
    assert mass(fired(mill(SYSTEM, state, 6 * 3600.0), 1000.0, 2.0), "BaTiO3") > base + 0.1
    ground = fired(regrind(SYSTEM, fired(state, 1000.0, 2.0)), 1000.0, 2.0)
    straight = fired(fired(state, 1000.0, 2.0), 1000.0, 2.0)
    assert mass(ground, "BaTiO3") > mass(straight, "BaTiO3") + 0.05


def test_random_recipes_are_poor_and_good_ones_pure() -> None:
    rng = np.random.default_rng(5)
    count = 200
    amounts = np.zeros((count, P))
    amounts[:, INDEX["BaCO3"]], amounts[:, INDEX["rutile"]] = 1.0, rng.uniform(0.8, 1.25, count)
    state = mix(SYSTEM, new_powder(SYSTEM, amounts, 0.6e-6), rng.uniform(60.0, 1800.0, count))
    programs = stack_programs([
        heat_program([(t, 5 / 60, h)], cooling_k_per_s=5 / 60)
        for t, h in zip(rng.uniform(973, 1673, count), rng.uniform(1800, 43200, count), strict=True)
    ])
    purity = SYSTEM.mass_fractions(react(SYSTEM, state, programs).powder.amounts_mol)
    assert np.median(purity[:, INDEX["BaTiO3"]]) < 0.8
    good = mill(SYSTEM, powder(carbonate_m=1.0e-6, titania_m=0.3e-6), 8 * 3600.0)
    good = fired(regrind(SYSTEM, fired(good, 1200.0, 8.0)), 1200.0, 8.0)
    assert mass(good, "BaTiO3") > 0.97


@pytest.mark.parametrize(
    ("barium", "titanium", "celsius", "gas_pa"),
    [
        (1.0, 1.0, 1200.0, AIR_PA),
        (1.0, 1.6, 1100.0, AIR_PA),
        (1.0, 3.0, 1150.0, AIR_PA),
        (1.6, 1.0, 1200.0, AIR_PA),
        (3.0, 1.0, 1200.0, (1.0, 21227.0)),
        (1.5, 1.0, 950.0, (1.0e5, 1.0)),
    ],
)
def test_long_firing_reaches_equilibrium(
    barium: float, titanium: float, celsius: float, gas_pa: tuple[float, float]
) -> None:
    state = powder(barium, titanium, carbonate_m=0.2e-6, contact=0.98)
    program = HeatProgram(
        np.array([[0.0, 6000.0, 1e11]]), np.array([[298.15, celsius + ZERO_C, celsius + ZERO_C]])
    )
    after = react(SYSTEM, state, program, gas_pa).powder.amounts_mol[0]
    stable = stable_assemblage(
        SYSTEM.phases, SYSTEM.gases, state.amounts_mol[0], celsius + ZERO_C, gas_pa
    )
    assert after == pytest.approx(stable, abs=2e-3)


def test_baria_takes_up_carbon_dioxide_on_cooling() -> None:
    state = powder(titanium=0.0, carbonate_m=0.2e-6)
    hot = react(SYSTEM, state, heat_program([(1450.0, 0.1, 14400.0)], end_k=1450.0)).powder
    assert hot.amounts_mol[0, INDEX["BaO"]] > 0.99
    cold = react(SYSTEM, hot, heat_program([(1000.0, 0.1, 36000.0)], start_k=1450.0)).powder
    assert cold.amounts_mol[0, INDEX["BaCO3"]] > 0.5
    assert cold.gas_released_mol[0, 0] == pytest.approx(cold.amounts_mol[0, INDEX["BaO"]], abs=1e-9)


def test_crystallites_grow_with_time_and_temperature() -> None:
    sizes = [
        fired(powder(), celsius, hours).crystallite_m[0, INDEX["BaTiO3"]]
        for celsius, hours in ((800.0, 8.0), (1000.0, 2.0), (1000.0, 8.0), (1250.0, 2.0))
    ]
    assert sizes == sorted(sizes)
    assert 50e-9 < sizes[0] < 150e-9  # Buscaglia et al. 2005: about 100 nm after 8 h at 800 degC
    assert 0.5e-6 < sizes[3] < 3e-6


# ------------------------------------------------------------------------------------- contract


def _batch(count: int) -> tuple[PowderState, HeatProgram, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    amounts = np.zeros((count, P))
    amounts[:, INDEX["BaCO3"]] = 1.0
    amounts[:, INDEX["anatase"]] = rng.uniform(0.5, 4.0, count)
    state = new_powder(SYSTEM, amounts, rng.uniform(0.1e-6, 2e-6, (count, P)))
    state = mill(SYSTEM, state, rng.uniform(0.0, 4e4, count))
    programs = stack_programs([
        heat_program([(rng.uniform(1000, 1700), 0.1, 7200.0)] * int(rng.integers(1, 4)))
        for _ in range(count)
    ])
    gas = np.where(rng.random((count, 1)) < 0.3, [[1e5, 0.0]], [AIR_PA])
    return state, programs, gas, draw_parameters(SYSTEM, [rng] * count)


def test_one_sample_is_the_same_alone_in_a_batch_and_over_threads() -> None:
    state, programs, gas, factors = _batch(12)
    together = react(SYSTEM, state, programs, gas, factors)
    threaded = react(SYSTEM, state, programs, gas, factors, control=StepControl(threads=3))
    for i in range(12):
        row = slice(i, i + 1)
        alone = react(
            SYSTEM,
            state.rows(row),
            HeatProgram(programs.time_s[row], programs.temperature_k[row]),
            gas[row],
            factors[row],
        )
        for field in fields(PowderState):
            one = getattr(alone.powder, field.name)
            assert np.array_equal(one, getattr(together.powder, field.name)[row]), field.name
            assert np.array_equal(one, getattr(threaded.powder, field.name)[row]), field.name


def test_padding_a_programme_changes_nothing() -> None:
    short = heat_program([(1300.0, 0.1, 3600.0)])
    padded = stack_programs([short, heat_program([(1300.0, 0.1, 60.0)] * 6)])
    one = react(SYSTEM, powder(), short).powder
    two = react(SYSTEM, powder().rows(np.array([0, 0])), padded).powder
    assert np.array_equal(one.amounts_mol[0], two.amounts_mol[0])


def test_inputs_are_left_alone_and_states_pickle() -> None:
    state, programs, gas, factors = _batch(3)
    before = pickle.dumps(state)
    result = react(SYSTEM, state, programs, gas, factors)
    assert pickle.dumps(state) == before
    copy = pickle.loads(pickle.dumps(result.powder))
    assert np.array_equal(copy.amounts_mol, result.powder.amounts_mol)


def test_domain_randomisation_draws_within_the_uncertainty() -> None:
    generators = [np.random.default_rng(i) for i in range(4000)]
    factors = draw_parameters(SYSTEM, generators)
    sigma = np.array([reaction.sigma_ln for reaction in SYSTEM.reactions])
    assert np.std(np.log(factors), axis=0) == pytest.approx(sigma, rel=0.06)
    assert np.mean(np.log(factors), axis=0) == pytest.approx(0.0, abs=0.05)
    again = draw_parameters(SYSTEM, [np.random.default_rng(7)])
    assert np.array_equal(again[0], factors[7])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"programs": heat_program([(1801.0, 0.1, 60.0)])}, "1800.0 K"),
        ({"gas_pa": (-1.0, 0.0)}, "gas pressures"),
        ({"gas_pa": (np.nan, 0.0)}, "gas pressures"),
        ({"gas_pa": (1.0,)}, "2 columns"),
        ({"parameters": np.full(len(SYSTEM.reactions), np.inf)}, "kinetic factors"),
        ({"parameters": np.ones(3)}, "columns"),
        ({"parameters": np.ones((2, len(SYSTEM.reactions)))}, "rows"),
    ],
)
def test_bad_conditions_are_refused(change: dict[str, object], message: str) -> None:
    conditions: dict[str, object] = {"programs": heat_program([(1300.0, 0.1, 60.0)])} | change
    with pytest.raises(ProposalError, match=message):
        react(SYSTEM, powder(), **conditions)


def test_a_powder_of_one_phase_and_a_cold_firing_are_left_as_they_are() -> None:
    alone = new_powder(SYSTEM, np.eye(P)[[INDEX["BaTiO3"]]])
    after = fired(alone, 1200.0, 4.0)
    assert after.amounts_mol[0, INDEX["BaTiO3"]] == pytest.approx(1.0, abs=1e-9)
    cold = react(SYSTEM, powder(), heat_program([(400.0, 0.1, 1e6)]))
    assert np.array_equal(cold.powder.amounts_mol, powder().amounts_mol)
    assert cold.steps[0] == 0


def test_a_state_edited_by_hand_still_fires() -> None:
    state = powder()
    edited = replace(state, contact=np.array([0.5]))
    assert mass(fired(edited, 900.0, 2.0), "BaTiO3") < mass(fired(state, 900.0, 2.0), "BaTiO3")


def test_steps_stop_where_a_reaction_turns_round() -> None:
    # In CO2 the orthotitanate forms at the top and takes the gas up again on the way down, so a
    # step over the turning point would see one way only.
    amounts = np.zeros((1, P))
    amounts[0, [INDEX["BaCO3"], INDEX["BaTiO3"]]] = 1.0, 2.0
    state = new_powder(SYSTEM, amounts, 0.3e-6, 0.9)
    program = heat_program([(1500.0, 10 / 60, 1800.0)], cooling_k_per_s=10 / 60)
    gas_pa = (1.01325e5, 0.5)
    coarse = react(SYSTEM, state, program, gas_pa)
    fine = react(SYSTEM, state, program, gas_pa, control=StepControl(1e-4, temperature_k=2.0))
    assert mass(fine.powder, "Ba2TiO4") < 0.5 * mass(react_to_top(state, gas_pa), "Ba2TiO4")
    assert mass(coarse.powder, "Ba2TiO4") == pytest.approx(mass(fine.powder, "Ba2TiO4"), abs=0.01)


def react_to_top(state: PowderState, gas_pa: tuple[float, float]) -> PowderState:
    """Return the powder of the test above before it cools."""
    rise_s = (1500.0 - 298.15) * 6.0
    program = HeatProgram(
        np.array([[0.0, rise_s, rise_s + 1800.0]]), np.array([[298.15, 1500.0, 1500.0]])
    )
    return react(SYSTEM, state, program, gas_pa).powder


def test_a_firing_takes_few_steps() -> None:
    state = powder()
    program = heat_program([(1573.0, 5 / 60, 6 * 3600.0)], cooling_k_per_s=5 / 60)
    assert react(SYSTEM, state, program).steps[0] <= 40


def test_turns_that_nothing_feels_make_no_steps() -> None:
    # 700 reactions turn round somewhere on the way up and down; those that do nothing there must
    # not cut the steps short.
    system = generate_system(("Y2O3", "BaCO3", "CuO"))
    amounts = np.zeros((1, len(system.phases)))
    for name, amount in {"Y2O3": 0.005, "BaCO3": 0.02, "CuO": 0.03}.items():
        amounts[0, system.phase_index(name)] = amount
    air_pa = [{"O2": 21227.0, "CO2": 42.5, "H2O": 1000.0}[gas.name] for gas in system.gases]
    program = HeatProgram(
        np.array([[0.0, 10_800.0, 50_400.0, 61_200.0]]),
        np.array([[298.15, 1193.15, 1193.15, 298.15]]),
    )
    powder = new_powder(system, amounts, 2e-6)
    assert react(system, powder, program, air_pa).steps[0] < 100


def test_a_core_that_is_gone_has_a_radius_of_zero() -> None:
    from labenv.physics.kinetics_kernel import _cube_root

    assert _cube_root(0.0, 0.0) == 0.0
    assert _cube_root(0.0, 0.5) == 0.0
    assert _cube_root(0.125, 0.0) == pytest.approx(0.5)
