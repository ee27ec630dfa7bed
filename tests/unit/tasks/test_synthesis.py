"""Named targets: what is known, what is refused, and what recipes and chance give."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import labenv  # noqa: F401 - registers
from labenv.envs.synthesis import SolidStateSynthesisEnv
from labenv.envs.synthesis_vector import SolidStateSynthesisVectorEnv
from labenv.tasks import Session, make_task
from labenv.tasks.synthesis import (
    published_recipe,
    recipe_targets,
    recipe_values,
    resolve_target,
)
from labenv_schemas.errors import ConfigError, ProposalError, UnknownPluginError

COUNT = 32
# Vanadium and manganese oxides react in a cool furnace already, but these two melt in a hot one.
MOLTEN_K = {"BiVO4": 1473.15, "LiMn2O4": 1473.15}
ENV = "labenv/SolidStateSynthesis-v0"


def scores(target: str, points: np.ndarray) -> np.ndarray:
    """Return the scores of points of the unit cube, each in an episode of its own."""
    env = SolidStateSynthesisVectorEnv(
        len(points),
        make_task("synthesis", target=target),
        action_type="continuous",
        stop_on_success=False,
        budget={"experiments": 2},
    )
    env.reset(seed=1)
    info = env.step(np.asarray(2.0 * points - 1.0, dtype=np.float32))[4]
    return np.asarray(info["best_score"])


def recipe_point(target: str, **other: float | str) -> np.ndarray:
    space = make_task("synthesis", target=target).space
    values = recipe_values(resolve_target(target), published_recipe(target)) | other
    return space.encode_unit(space.blueprint.build(values))


def test_there_are_enough_recipes_with_sources() -> None:
    assert len(recipe_targets()) >= 8
    assert all(len(published_recipe(t).source) > 8 for t in recipe_targets())
    with pytest.raises(UnknownPluginError, match="no recipe of 'PbTiO3'"):
        published_recipe("PbTiO3")


@pytest.mark.parametrize("target", recipe_targets())
def test_the_recipe_beats_chance_and_unsuitable_firings(target: str) -> None:
    space = make_task("synthesis", target=target).space
    recipe = scores(target, np.tile(recipe_point(target), (COUNT // 2, 1)))
    chance = scores(target, np.random.default_rng(0).random((COUNT, space.n)))
    wrong = MOLTEN_K.get(target, 673.15)  # 400 degC is cold for the others
    bad = recipe_point(target, firing_k=wrong, hold_s=3600.0, refirings=0.0)
    assert np.median(recipe) > max(0.6, np.median(chance))
    assert np.median(scores(target, np.tile(bad, (4, 1)))) < 0.1


def test_nitrogen_and_a_melt_are_no_place_for_ybco() -> None:
    inert, hot = (
        np.tile(recipe_point("YBa2Cu3O7", **other), (4, 1))
        for other in ({"atmosphere": "nitrogen"}, {"firing_k": 1473.15})
    )
    assert np.median(scores("YBa2Cu3O7", inert)) < 0.3
    assert np.max(scores("YBa2Cu3O7", hot)) < 0.1


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("MgB2", "only oxides"),
        ("CaCO3", "C leaves as gas"),
        ("TiO2", "2 to 4 metals, not 1"),
        ("BaAuO3", "no powder of Au"),
        ("Li2NbO7", "no thermochemistry of it is known; known of its metals are .*LiNbO3"),
        ("Y6WO12", "no crystal structure"),
        ("not a formula", "is no chemical formula"),
        ("", "is no chemical formula"),
        (7, "is no chemical formula"),
    ],
)
def test_targets_outside_the_domain_say_what_is_missing(target: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_task("synthesis", target=target)


def test_a_target_that_no_scan_tells_from_another_phase_is_refused() -> None:
    """Random plans toward CoFe2O4 scored 0.42 for Fe3O4 between cobalt oxides."""
    with pytest.raises(ConfigError, match="no scan of a powder tells it from magnetite"):
        resolve_target("CoFe2O4")
    assert resolve_target("NiFe2O4").phases == ("NiFe2O4",)


def test_batio3_keeps_the_system_made_by_hand() -> None:
    made, known = make_task("synthesis", target="BaTiO3"), make_task("batio3-synthesis")
    assert made.spec == known.spec
    assert made.space.parameters == known.space.parameters


def test_a_hand_made_system_serves_other_targets() -> None:
    task = make_task("synthesis", target="Ba2TiO4")
    assert task.spec.system == "Ba-Ti-C-O"
    titanium: Any = task.space.parameters[1]
    assert "TiO2 (rutile)" in titanium.choices


def test_powders_whose_names_are_no_formulas_can_be_dosed() -> None:
    """Every plan toward BaTi2O5 was refused, for 'TiO2 (rutile)' is no formula."""
    space = make_task("synthesis", target="BaTi2O5").space
    values = space.values_from_unit(np.full((1, space.n), 0.5))[0]
    plan: Any = space.decode(values)
    assert any("(" in dose.substance for dose in plan.operations[0].precursors)
    assert space.decode(space.encode(plan)) == plan
    assert scores("BaTi2O5", np.random.default_rng(0).random((16, space.n))).max() > 0.0


def test_a_target_may_be_part_of_the_name() -> None:
    assert make_task("synthesis:SrTiO3").spec == make_task("synthesis", target="SrTiO3").spec
    with pytest.raises(ConfigError, match="names a target already"):
        make_task("synthesis:SrTiO3", target="LiCoO2")
    with pytest.raises(ConfigError, match="does not take these options: 'target'"):
        make_task("batio3-synthesis:LiCoO2")


def test_plans_are_read_back_and_others_refused() -> None:
    task = make_task("synthesis", target="YBa2Cu3O7")
    copy = pickle.loads(pickle.dumps(task))
    for unit in np.random.default_rng(3).random((20, task.space.n)):
        plan = task.space.decode_unit(unit)
        assert np.allclose(copy.space.encode_unit(plan), task.space.snap(unit))
    foreign = make_task("synthesis", target="LiCoO2").space.decode_unit(np.full(11, 0.5))
    with pytest.raises(ProposalError):
        task.space.encode(foreign)


def test_a_charge_has_the_formula_s_ratio_and_mass() -> None:
    task = make_task("synthesis", target="Li4Ti5O12")
    target = resolve_target("Li4Ti5O12")
    values = recipe_values(target, published_recipe("Li4Ti5O12"))
    dose: Any = task.space.blueprint.build(values).operations[0]
    lithium, titanium = dose.precursors
    assert 2.0 * lithium.amount_mol / titanium.amount_mol == pytest.approx(0.8)
    assert titanium.amount_mol / 5.0 * target.molar_mass_kg_mol == pytest.approx(3e-3)


def test_environments_take_a_target() -> None:
    single = gym.make(ENV, target="LiCoO2").unwrapped
    assert isinstance(single, SolidStateSynthesisEnv)
    assert single.task.spec.target == "LiCoO2"
    many = gym.make_vec(ENV, 3, vectorization_mode="vector_entry_point", target="LiCoO2")
    assert many.single_action_space == single.action_space
    wide: Any = gym.make(ENV, target="LiCoO2", lab={"furnaces": 3}).unwrapped
    assert (wide.settings.lab.system, wide.settings.lab.furnaces) == ("Co-Li-C-O", 3)
    with pytest.raises(ConfigError, match="made already"):
        SolidStateSynthesisEnv(make_task("synthesis"), target="LiCoO2")


def test_lab_and_vector_environment_give_the_same() -> None:
    point = recipe_point("SrTiO3")
    settings: dict[str, Any] = {
        "target": "SrTiO3",
        "action_type": "continuous",
        "stop_on_success": False,
    }
    single = SolidStateSynthesisEnv(**settings)
    many = SolidStateSynthesisVectorEnv(2, **settings)
    action = np.asarray(2.0 * point - 1.0, dtype=np.float32)
    single.reset(seed=5)
    many.reset(seed=[5, 6])
    alone, together = single.step(action), many.step(np.tile(action, (2, 1)))
    assert alone[1] == together[1][0]
    assert isinstance(single.session, Session)
