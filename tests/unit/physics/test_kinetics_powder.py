"""Powders and furnace programmes: what mixing, milling, pressing and segments do."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.physics.furnace_program import HeatProgram, heat_program, stack_programs
from labenv.physics.kinetics_powder import (
    MILL_LIMIT,
    MIX_LIMIT,
    MORTAR_LIMIT_M,
    join_powders,
    mill,
    mix,
    new_powder,
    press,
    regrind,
    segregation_weights,
)
from labenv.physics.reactions import load_system
from labenv_schemas.errors import ProposalError

SYSTEM = load_system("Ba-Ti-C-O")
P = len(SYSTEM.phases)


def _powder(titanium: float = 1.0, radius_m: float = 1e-6):
    amounts = np.zeros((1, P))
    amounts[0, SYSTEM.phase_index("BaCO3")], amounts[0, SYSTEM.phase_index("rutile")] = (
        1.0,
        titanium,
    )
    return new_powder(SYSTEM, amounts, radius_m)


def test_milling_has_diminishing_returns() -> None:
    hours = np.array([0.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    state = _powder().rows(np.zeros(hours.size, dtype=np.int64))
    milled = mill(SYSTEM, state, hours * 3600.0)
    assert np.all(np.diff(milled.contact) > 0.0)
    assert np.all(np.diff(milled.particle_radius_m[:, 0]) < 0.0)
    gain = np.diff(milled.contact)[1:] / np.diff(hours)[1:]
    assert np.all(np.diff(gain) < 0.0)
    assert milled.contact[-1] <= MILL_LIMIT


def test_dry_mixing_stops_short_of_milling_and_never_unmixes() -> None:
    state = _powder()
    assert mix(SYSTEM, state, 1e9).contact[0] == pytest.approx(MIX_LIMIT)
    milled = mill(SYSTEM, state, 1e5)
    assert mix(SYSTEM, milled, 600.0).contact[0] == milled.contact[0]
    assert mix(SYSTEM, state, 0.0).contact[0] == state.contact[0]


def test_regrinding_renews_contact_and_breaks_lumps() -> None:
    state = mix(SYSTEM, _powder(radius_m=5e-6), 300.0)
    ground = regrind(SYSTEM, state)
    assert ground.contact[0] > state.contact[0]
    assert ground.particle_radius_m[0, 0] == MORTAR_LIMIT_M
    assert np.array_equal(ground.reference_mol, state.amounts_mol)


def test_pressing_lasts_until_the_pellet_is_broken() -> None:
    pressed = press(_powder(), 2e8)
    assert 1.0 < pressed.packing[0] < 1.5
    assert press(pressed, 1e6).packing[0] == pressed.packing[0]
    assert regrind(SYSTEM, pressed).packing[0] == 1.0


def test_segregation_is_one_for_precursors_and_zero_for_the_product() -> None:
    assert _powder().segregation[0] == pytest.approx(1.0)
    product = np.eye(P)[[SYSTEM.phase_index("BaTiO3")]]
    assert new_powder(SYSTEM, product).segregation[0] == pytest.approx(0.0, abs=1e-12)
    only = np.eye(P)[[SYSTEM.phase_index("rutile")]]
    assert np.all(segregation_weights(SYSTEM, only) == 0.0)


def test_absent_phases_take_the_mean_radius_of_those_present() -> None:
    amounts = np.zeros((1, P))
    amounts[0, :3] = 1.0, 0.0, 1.0
    radius = np.full((1, P), 7e-6)
    radius[0, 0], radius[0, 2] = 1e-6, 0.25e-6
    state = new_powder(SYSTEM, amounts, radius)
    assert state.particle_radius_m[0, SYSTEM.phase_index("BaTiO3")] == pytest.approx(0.5e-6)


def test_batches_split_and_join() -> None:
    whole = join_powders([_powder(1.0), _powder(2.0), _powder(3.0)])
    assert len(whole) == 3
    assert whole.rows(slice(1, 2)).amounts_mol[0, 2] == 2.0


@pytest.mark.parametrize(
    ("amounts", "radius_m", "contact", "message"),
    [
        (np.zeros((1, P)), 1e-6, 0.5, "above 0 mol"),
        (-np.ones((1, P)), 1e-6, 0.5, "at least 0"),
        (np.full((1, P), np.nan), 1e-6, 0.5, "finite"),
        (np.ones((1, 3)), 1e-6, 0.5, "shape"),
        (np.ones((1, P)), 0.0, 0.5, "radii"),
        (np.ones((1, P)), 1e-6, 0.0, "contact"),
        (np.ones((1, P)), 1e-6, 1.5, "contact"),
    ],
)
def test_bad_powders_are_refused(
    amounts: np.ndarray, radius_m: float, contact: float, message: str
) -> None:
    with pytest.raises(ProposalError, match=message):
        new_powder(SYSTEM, amounts, radius_m, contact)


@pytest.mark.parametrize("duration_s", [-1.0, np.nan, np.inf])
def test_bad_durations_and_pressures_are_refused(duration_s: float) -> None:
    for action in (mix, mill):
        with pytest.raises(ProposalError, match="time"):
            action(SYSTEM, _powder(), duration_s)
    with pytest.raises(ProposalError, match="pressure"):
        press(_powder(), duration_s)


def test_a_programme_follows_its_segments() -> None:
    program = heat_program([(1000.0, 0.1, 600.0), (1300.0, 0.5, 0.0)], cooling_k_per_s=0.2)
    assert program.temperature_k[0].tolist() == [298.15, 1000.0, 1000.0, 1300.0, 298.15]
    assert np.diff(program.time_s[0]) == pytest.approx([7018.5, 600.0, 600.0, 5009.25])
    assert program.duration_s[0] == pytest.approx(13227.75)
    assert program.peak_k[0] == 1300.0


def test_an_uncontrolled_furnace_cools_ever_more_slowly() -> None:
    program = heat_program([(1473.15, 0.1, 0.0)])
    rate = np.diff(program.temperature_k[0]) / np.diff(program.time_s[0])
    cooling = -rate[1:]
    assert np.all(np.diff(cooling) < 0.0)
    assert program.temperature_k[0, -1] == 298.15


def test_stacking_pads_by_repetition() -> None:
    both = stack_programs([
        heat_program([(900.0, 0.1, 1.0)]),
        heat_program([(900.0, 0.1, 1.0)] * 3),
    ])
    assert both.time_s.shape == (2, 11)
    assert both.duration_s[0] < both.duration_s[1]


@pytest.mark.parametrize(
    ("segments", "options", "message"),
    [
        ([], {}, "at least one segment"),
        ([(1000.0, 0.0, 1.0)], {}, "rate"),
        ([(1000.0, 0.1, -1.0)], {}, "hold"),
        ([(np.nan, 0.1, 1.0)], {}, "finite"),
        ([(-5.0, 0.1, 1.0)], {}, "above 0 K"),
        ([(1000.0, 0.1, 1.0)], {"cooling_k_per_s": 0.0}, "cooling"),
    ],
)
def test_bad_programmes_are_refused(
    segments: list[tuple[float, float, float]], options: dict[str, float], message: str
) -> None:
    with pytest.raises(ProposalError, match=message):
        heat_program(segments, **options)


def test_bad_arrays_are_refused() -> None:
    with pytest.raises(ProposalError, match="backwards"):
        HeatProgram(np.array([[1.0, 0.0]]), np.array([[300.0, 300.0]]))
    with pytest.raises(ProposalError, match="one shape"):
        HeatProgram(np.zeros((1, 3)), np.zeros((1, 2)))
    with pytest.raises(ProposalError, match="stack"):
        stack_programs([])
