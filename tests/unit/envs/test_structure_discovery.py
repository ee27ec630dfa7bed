"""StructureDiscovery-v0: the contract with a potential for tests, and what its rewards are for."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import labenv  # noqa: F401 - registers
from labenv.envs.structure_discovery import StructureDiscoveryEnv
from labenv.physics.potential import backends
from labenv.physics.structures.library import phase_library
from labenv.tasks.structure_discovery import (
    ChemicalSystem,
    Judge,
    known_compounds,
    oracle_actions,
    oracle_score,
)
from labenv.tasks.structure_discovery.prototypes import PROTOTYPES, prototype
from labenv.testing.env import EnvContract, appearing, play
from labenv.testing.potential import LennardJonesBackend
from labenv_schemas.errors import ConfigError, ProposalError

NAME = "labenv/StructureDiscovery-v0"
FAST = {"max_steps": 4, "max_atoms": 12, "proposals": 7}


def make(**settings):
    given = {"potential": LennardJonesBackend(), **FAST, **settings}
    return gym.make(NAME, **given).unwrapped


class TestContract(EnvContract):
    @pytest.fixture
    def make_env(self):
        return make


# ------------------------------------------------------------------------------- without chgnet


def test_without_chgnet_the_error_names_the_extra(monkeypatch):
    def missing(name):
        raise backends.PackageNotFoundError(name)

    monkeypatch.setattr(backends, "version", missing)
    backends_source = __import__("labenv.physics.potential.source", fromlist=["chgnet_source"])
    backends_source.chgnet_source.cache_clear()
    with pytest.raises(ConfigError, match=r"labenv\[mlip\]"):
        StructureDiscoveryEnv()


@pytest.mark.parametrize(
    "settings",
    [
        {"systems": ()},
        {"systems": "Ba-Xx-O"},
        {"systems": ("Ba-Ti-O", "Fe-O")},
        {"proposals": 0},
        {"rattle_a": -1.0},
        {"rattle_a": float("nan")},
        {"goal_score": 0.0},
        {"potential": "emt"},
        {"nonsense": 1},
        {"render_mode": "human"},
    ],
)
def test_bad_settings_are_told(settings):
    with pytest.raises(ConfigError):
        StructureDiscoveryEnv(**{"potential": LennardJonesBackend(), **settings})


def test_steps_need_a_reset_before_and_after_an_episode():
    env = make(proposals=1)
    with pytest.raises(ResetNeeded):
        env.step(env.action_space.sample())
    play(env, seed=0)
    with pytest.raises(ResetNeeded):
        env.step(env.action_space.sample())


def test_goal_ends_an_episode_as_a_success():
    env = make(goal_score=1e-6, max_steps=200, systems="Mg-Al-O", proposals=3, rattle_a=0.0)
    env.reset(seed=0)
    env._judge.hull = Generous()
    action = env._space.action("MgO", (0, 2))
    _, reward, terminated, truncated, info = env.step(action)
    assert reward > 0
    assert (terminated, truncated, info["episode_end"]) == (True, False, "goal")


class Generous:
    """A hull that everything lies on."""

    def distance(self, amounts, energy):
        from labenv.physics.potential.hull import HullDistance

        return HullDistance(0.0, {}, "generous")


def test_same_structure_twice_earns_nothing():
    env = make(max_steps=200, systems="Mg-Al-O", rattle_a=0.0)
    env.reset(seed=0)
    env._judge.hull = Generous()
    action = env._space.action("MgO", (0, 2))
    assert env.step(action)[1] == 1.0
    _, reward, _, _, info = env.step(action)
    assert (reward, info["status"]) == (0.0, "duplicate")
    doubled = prototype("MgO")[0].copy()
    doubled.make_supercell([2, 1, 1])
    _, reward, _, _, info = env.propose(doubled)
    assert (reward, info["status"]) == (0.0, "duplicate")


def test_elements_earn_nothing():
    env = make(max_steps=200, systems="Mg-Al-O", rattle_a=0.0)
    env.reset(seed=0)
    env._judge.hull = Generous()
    assert env.step(env._space.action("MgO", (0, 0)))[1] == 0.0


def test_unconverged_and_invalid_earn_nothing_and_use_up_the_budget():
    env = make(max_steps=1, systems="Mg-Al-O", proposals=3)
    env.reset(seed=0)
    env._judge.hull = Generous()
    _, reward, _, _, info = env.step(env._space.action("spinel", (0, 1, 2), scale=0))
    assert reward == 0.0
    assert info["status"] in {"unconverged", "invalid"}
    lone = {**prototype("MgO")[0].as_dict()}
    alone = prototype("MgO")[0].copy()
    alone.scale_lattice(alone.volume * 1000)
    _, reward, _, _, info = env.propose(alone)
    assert (reward, info["status"]) == (0.0, "invalid")
    assert "neighbour" in info["message"]
    _, reward, _, truncated, info = env.propose(lone)
    assert truncated
    assert info["episode_end"] == "budget"


def test_foreign_elements_are_invalid():
    env = make(systems="Mg-Al-O")
    env.reset(seed=0)
    _, reward, _, _, info = env.propose(phase_library().get("NaCl").structure())
    assert (reward, info["status"]) == (0.0, "invalid")
    assert "Na" in info["message"]


@pytest.mark.parametrize("given", ["no cif", {}, {"lattice": 1}, 3, None])
def test_what_is_no_structure_is_refused_and_costs_nothing(given):
    env = make(systems="Mg-Al-O")
    env.reset(seed=0)
    with pytest.raises(ProposalError):
        env.propose(given)
    assert env._past == []


def test_cif_text_is_read():
    env = make(systems="Mg-Al-O", max_steps=50)
    env.reset(seed=0)
    text = str(phase_library().get("MgO").structure().to(fmt="cif"))
    info = env.propose(text)[4]
    assert info["status"] != "invalid" or "atoms" not in info.get("message", "")


def test_energies_of_known_compounds_are_not_told():
    env = make(systems="Mg-Al-O")
    seen = play(env, seed=3, steps=7)
    from labenv.physics.potential.table import potential_table

    hidden = [one.energy_ev_per_atom for one in potential_table().within(("Mg", "Al", "O"))]
    assert appearing(hidden, seen) == []


def test_prototypes_are_ordered_phases_of_the_library():
    assert len(set(PROTOTYPES)) == len(PROTOTYPES)
    for name in PROTOTYPES:
        cell, slots = prototype(name)
        assert cell.is_ordered
        assert len(cell) <= 28
        assert len(slots) <= 3


# ------------------------------------------------------------------------------- with chgnet


def test_oracle_knows_the_compounds_of_a_system():
    system = ChemicalSystem.parse("Mg-Al-O")
    assert {"MgO", "spinel", "corundum"} <= set(known_compounds(system))
    assert oracle_score(system) >= 2.9
    assert len(oracle_actions(system)) >= 3


def test_oracle_beats_chance_with_chgnet():
    pytest.importorskip("chgnet", reason='needs pip install "labenv[mlip]"')
    limits = {"proposals": 2, "max_steps": 20, "max_atoms": 6, "rattle_a": 0.0}
    env = gym.make(NAME, systems="Mg-O", **limits).unwrapped
    env.reset(seed=0)
    best = oracle_actions(env.system)
    oracle = [env.step(action) for action in best]
    assert [step[1] for step in oracle] == pytest.approx([1.0], abs=0.01)
    assert oracle[0][4]["energy_above_hull_ev_per_atom"] == pytest.approx(0.0, abs=1e-3)
    assert env.step(env._space.action("ZnO", (0, 0)))[1] == 0.0


def test_judge_counts_a_find_below_the_hull_but_not_a_failure():
    from labenv.physics.potential.hull import ReferenceHull
    from labenv.physics.potential.results import Relaxation
    from labenv.physics.potential.table import potential_table

    hull = ReferenceHull(("Mg", "O"))
    cell = prototype("MgO")[0]
    energy = potential_table().get("MgO").energy_ev_per_atom

    def relaxed(below):
        return Relaxation("converged", "x", energy - below, 0.0, 0.0, 0.0, 1, cell.as_dict())

    assert Judge(hull).judge(relaxed(0.05)).reward == pytest.approx(1.5, abs=0.01)
    assert Judge(hull).judge(relaxed(0.5)).status == "invalid"
    assert Judge(hull).judge(relaxed(0.5)).reward == 0.0


def test_random_actions_rarely_fail_to_be_judged():
    env = make(proposals=30)
    outcomes = [given[4]["status"] for given in play(env, seed=1, steps=30)[1:]]
    assert outcomes.count("invalid") < 25
    assert np.isfinite(env._judge.total)


# ------------------------------------------------------------------------------- farming


def judged(judge, structure, above_ev=0.0):
    """Judge a structure as if the potential had put it that far above the hull."""
    from labenv.physics.potential.results import Relaxation

    amounts = structure.composition.get_el_amt_dict()
    energy = judge.hull.energy_ev_per_atom(amounts) + above_ev
    return judge.judge(Relaxation("converged", "x", energy, 0.0, 0.0, 0.0, 1, structure.as_dict()))


def new_judge(system="Ba-Ti-O"):
    from labenv.physics.potential.hull import ReferenceHull

    return Judge(ReferenceHull(system.split("-")))


def rock_salt(repeats, vacancies=0, titanium=0):
    from pymatgen.core.lattice import Lattice
    from pymatgen.core.structure import Structure

    half = np.full((3, 3), 2.8) - 2.8 * np.eye(3)
    cell = Structure(Lattice(half), ["Ba", "O"], [[0, 0, 0], [0.5, 0.5, 0.5]])
    cell.make_supercell(repeats)
    oxygen = [i for i, site in enumerate(cell) if site.specie.symbol == "O"]
    barium = [i for i, site in enumerate(cell) if site.specie.symbol == "Ba"]
    for i in barium[:titanium]:
        cell.replace(i, "Ti")
    cell.remove_sites(oxygen[:vacancies])
    return cell


@pytest.mark.parametrize("first", [False, True], ids=["host unseen", "host rewarded"])
@pytest.mark.parametrize("repeats", [(3, 3, 3), (3, 3, 2), (2, 2, 3), (2, 2, 2), (3, 2, 1)])
def test_a_host_with_one_atom_less_earns_nothing(repeats, first):
    """Found by an adversary: each supercell opened an account; 11 points in 10 proposals."""
    judge = new_judge()
    if first:
        assert judged(judge, rock_salt((1, 1, 1))).reward == pytest.approx(1.0)
    verdict = judged(judge, rock_salt(repeats, vacancies=1), -0.03)
    assert verdict.status == "new"
    assert verdict.reward == 0.0
    assert "too like BaO in composition" in verdict.message


@pytest.mark.parametrize("repeats", [(3, 3, 3), (3, 3, 2), (2, 2, 3)])
def test_a_host_with_one_atom_of_another_kind_earns_nothing(repeats):
    assert judged(new_judge(), rock_salt(repeats, titanium=1), -0.02).reward == 0.0


def test_nor_do_small_cells_just_above_the_hull():
    """One of 8 or of 6 cations: 0.51 points before, at the energies that chgnet gives."""
    assert judged(new_judge(), rock_salt((2, 2, 2), titanium=1), 0.0147).reward < 0.11
    assert judged(new_judge(), rock_salt((3, 2, 1), titanium=1), 0.0496).reward == 0.0


def test_a_composition_far_from_all_earns_its_score_once_and_keeps_its_neighbours_from_it():
    judge = new_judge()
    far = rock_salt((3, 1, 1), titanium=2)  # BaTi2O3, 0.125 from BaTi2O5
    assert judged(judge, far).reward == pytest.approx(1.0)
    assert judged(judge, rock_salt((4, 3, 2), titanium=16, vacancies=2)).reward == 0.0


def test_a_new_composition_must_be_nearly_stable_and_a_known_one_as_before():
    far = rock_salt((3, 1, 1), titanium=2)
    assert judged(new_judge(), far, 0.0125).reward == pytest.approx(0.5)
    assert judged(new_judge(), far, 0.03).reward == 0.0
    assert judged(new_judge(), far, -0.05).reward == pytest.approx(1.5)
    assert judged(new_judge(), rock_salt((1, 1, 1)), 0.05).reward == pytest.approx(0.5)


def test_the_sum_of_all_rewards_is_bounded_whatever_is_proposed(monkeypatch):
    """Ordered decorations, each on the hull as the potential would have it."""
    from labenv.tasks.structure_discovery import judge as rules

    monkeypatch.setattr(rules, "_matcher_fits", lambda *_: False)  # even if none were found out
    judge, rng = new_judge(), np.random.default_rng(0)
    totals = []
    for _ in range(300):
        titanium, vacancies = int(rng.integers(24)), int(rng.integers(20))
        judged(judge, rock_salt((4, 3, 2), titanium=titanium, vacancies=vacancies))
        totals.append(judge.total)
    paid = list(judge.earned.values())
    apart = [rules.composition_distance(a, b) for i, a in enumerate(paid) for b in paid[:i]]
    assert min(apart) >= rules.SAME
    assert totals[-1] < 30.0  # 280 compositions
    assert totals[-1] - totals[150] < 0.1 * totals[150]


def test_the_same_crystal_under_other_settings_earns_nothing():
    judge = new_judge()
    assert judged(judge, rock_salt((1, 1, 1))).reward == pytest.approx(1.0)
    crooked = rock_salt((2, 2, 1))
    crooked.perturb(0.05)
    assert judged(judge, rock_salt((2, 1, 3)), -0.01).status == "duplicate"
    assert judged(judge, crooked, -0.01).reward == 0.0
