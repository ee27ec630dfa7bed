"""Reactions and hulls by the precomputed energies, against experiment where there is one."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.physics.potential.hull import (
    DEEPEST_EV_PER_ATOM,
    ReferenceHull,
    energy_above_hull,
    table_of,
)
from labenv.physics.potential.reactions import (
    LEAST_UNCERTAINTY_J_PER_MOL_ATOM,
    NoSolidReactionError,
    formation_from_oxides,
    reaction_energy_j_mol,
)
from labenv.physics.potential.source import EnergySource
from labenv.physics.potential.table import PotentialTable, TabledEnergy, potential_table, read_data
from labenv.physics.structures.library import phase_library
from labenv.testing.potential import LennardJonesBackend
from labenv_schemas.errors import ConfigError, ProposalError, SimulatorError, UnknownPluginError

# Gibbs energies of formation from the oxides at 298 K, kJ/mol: US Bureau of Mines tables
# (Pankratz 1982-1987, Bulletins 672, 674, 677, 682, 689).
MEASURED_KJ_PER_MOL = {
    "BaTiO3-tetragonal": -163.7,
    "SrTiO3": -138.9,
    "CaTiO3": -82.9,
    "spinel": -25.2,
}


# ------------------------------------------------------------------------------- reactions


@pytest.mark.parametrize("name", MEASURED_KJ_PER_MOL)
def test_formation_from_oxides_agrees_with_experiment(name):
    found = formation_from_oxides(name)
    off = abs(found.energy_j_per_mol / 1e3 - MEASURED_KJ_PER_MOL[name])
    assert off < 3 * found.uncertainty_j_per_mol / 1e3


def test_mean_error_against_experiment_is_the_least_uncertainty():
    errors = [
        abs(formation_from_oxides(name).energy_j_per_mol - 1e3 * measured)
        / sum(phase_library().get(name).structure().composition.reduced_composition.values())
        for name, measured in MEASURED_KJ_PER_MOL.items()
    ]
    assert np.mean(errors) < LEAST_UNCERTAINTY_J_PER_MOL_ATOM


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("BaTiO3-cubic", {"BaO": 1.0, "rutile": 1.0}),
        ("Ba2TiO4", {"BaO": 2.0, "rutile": 1.0}),
        ("BiFeO3", {"Bi2O3-alpha": 0.5, "hematite": 0.5}),
        ("YBa2Cu3O6", {"BaO": 2.0, "Cu2O": 0.5, "CuO": 2.0, "Y2O3": 0.5}),
    ],
)
def test_oxides_are_those_of_the_same_oxidation_states(name, expected):
    assert formation_from_oxides(name).decomposition == pytest.approx(expected)


def test_uncertainty_has_a_floor_and_grows_with_disagreement():
    for name in MEASURED_KJ_PER_MOL:
        atoms = sum(phase_library().get(name).structure().composition.reduced_composition.values())
        found = formation_from_oxides(name)
        assert found.uncertainty_j_per_mol >= LEAST_UNCERTAINTY_J_PER_MOL_ATOM * atoms * (1 - 1e-9)


def test_carbonates_are_refused_for_their_gas():
    with pytest.raises(NoSolidReactionError, match="C"):
        formation_from_oxides("calcite")


def test_disordered_and_unknown_phases_are_told():
    with pytest.raises(NoSolidReactionError, match="Zn2TiO4"):
        formation_from_oxides("Zn2TiO4")
    with pytest.raises(UnknownPluginError):
        formation_from_oxides("unobtainium")


def test_reaction_energy_is_the_difference_of_two_formations():
    first, second = formation_from_oxides("Ba2TiO4"), formation_from_oxides("BaTiO3-cubic")
    energy, _ = reaction_energy_j_mol({"Ba2TiO4": 1, "BaTiO3-cubic": -1, "BaO": -1})
    assert energy == pytest.approx(first.energy_j_per_mol - second.energy_j_per_mol, rel=1e-9)


def test_reaction_that_does_not_balance_is_refused():
    with pytest.raises(NoSolidReactionError, match="atoms"):
        reaction_energy_j_mol({"BaTiO3-cubic": 1, "BaO": -1})


# ------------------------------------------------------------------------------- the table


def test_every_ordered_phase_has_an_energy_or_is_listed_as_skipped():
    data = read_data()
    assert len(potential_table()) >= 75
    assert {"Zn2TiO4", "Li4Ti5O12"} <= set(data["skipped"])
    for name, entry in data["phases"].items():
        assert entry["results"], name


def test_an_energy_that_is_not_finite_is_refused():
    entry = TabledEnergy("MgO", {"Mg": 1, "O": 1}, "m", float("nan"), 0.0)
    with pytest.raises(SimulatorError, match="not finite"):
        PotentialTable([entry])


def test_two_models_never_share_a_table():
    entries = [TabledEnergy(name, {"Mg": 1.0}, name, -1.0, 0.0) for name in ("a", "b")]
    with pytest.raises(SimulatorError, match="scales"):
        PotentialTable(entries)


# ------------------------------------------------------------------------------- hull


def energies(**given):
    atoms = {"Mg": {"Mg": 1.0}, "O": {"O": 1.0}, "MgO": {"Mg": 1.0, "O": 1.0}}
    return PotentialTable(
        TabledEnergy(name, atoms[name], "test", value, 0.0) for name, value in given.items()
    )


def test_distance_is_that_from_the_line_between_neighbours():
    hull = ReferenceHull(("Mg", "O"), energies(Mg=-1.0, O=-2.0, MgO=-4.5))
    assert hull.distance({"Mg": 1, "O": 1}, -4.4).energy_above_hull_ev_per_atom == pytest.approx(
        0.1
    )
    place = hull.distance({"Mg": 3, "O": 1}, -2.75)
    assert place.energy_above_hull_ev_per_atom == pytest.approx(0.0)
    assert place.decomposition == pytest.approx({"Mg": 0.5, "MgO": 0.5})


def test_missing_elements_are_all_listed():
    with pytest.raises(ConfigError, match="Mg, O"):
        ReferenceHull(("Mg", "O"), energies(MgO=-4.5))


def test_below_the_hull_counts_down_to_a_limit():
    hull = ReferenceHull(("Mg", "O"), energies(Mg=-1.0, O=-2.0, MgO=-4.5))
    found = hull.distance({"Mg": 1, "O": 1}, -4.6)
    assert found.energy_above_hull_ev_per_atom == pytest.approx(-0.1)
    with pytest.raises(SimulatorError, match="failure of the potential"):
        hull.distance({"Mg": 1, "O": 1}, -4.5 - DEEPEST_EV_PER_ATOM - 0.01)


@pytest.mark.parametrize("energy", [float("nan"), float("inf"), float("-inf")])
def test_hull_refuses_what_is_not_finite(energy):
    hull = ReferenceHull(("Mg", "O"), energies(Mg=-1.0, O=-2.0, MgO=-4.5))
    with pytest.raises(ProposalError):
        hull.distance({"Mg": 1, "O": 1}, energy)


def test_hull_refuses_other_elements():
    hull = ReferenceHull(("Mg", "O"), energies(Mg=-1.0, O=-2.0, MgO=-4.5))
    with pytest.raises(ProposalError, match="Ti"):
        hull.distance({"Mg": 1, "Ti": 1}, -4.0)


def test_potential_and_hull_must_be_of_one_model():
    source = EnergySource(LennardJonesBackend())
    with pytest.raises(ConfigError, match="never share"):
        energy_above_hull(phase_library().get("MgO").structure(), source=source)


def test_structure_that_fails_has_no_distance():
    source = EnergySource(LennardJonesBackend())
    cell = phase_library().get("MgO").structure().get_primitive_structure()
    far = cell.copy()
    far.scale_lattice(far.volume * 1000)
    table = table_of(source, {"MgO": cell, "Mg": metal("Mg"), "O": metal("O")})
    with pytest.raises(ProposalError, match="neighbour"):
        energy_above_hull(far, source=source, table=table)


def metal(symbol):
    cell = phase_library().get("Cu").structure().get_primitive_structure()
    cell.replace_species({"Cu": symbol})
    return cell


def test_known_oxides_lie_on_the_hull_of_chgnet():
    hull = ReferenceHull(("Mg", "Al", "O"))
    assert {"MgO", "corundum", "spinel"} <= set(hull.stable_phases())


def test_energy_above_hull_of_a_known_crystal_is_zero_with_chgnet():
    pytest.importorskip("chgnet", reason='needs pip install "labenv[mlip]"')
    cell = phase_library().get("MgO").structure().get_primitive_structure()
    found = energy_above_hull(cell)
    assert found.energy_above_hull_ev_per_atom == pytest.approx(0.0, abs=1e-3)
    assert found.decomposition == pytest.approx({"MgO": 1.0})
