"""Energies by a potential: faults found, answers kept, relaxations judged, torch only if asked."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from pymatgen.core.lattice import Lattice
from pymatgen.core.structure import Structure

from labenv.physics.potential import EnergySource, RelaxationSettings, SinglePoint, chgnet_source
from labenv.physics.potential.backends import Backend
from labenv.physics.potential.cache import ResultCache, structure_key
from labenv.physics.potential.elements import element_structure
from labenv.physics.potential.precompute import merge, read
from labenv.physics.potential.sanity import fault_of
from labenv.physics.potential.second_opinion import make_backend
from labenv.testing.potential import LennardJonesBackend
from labenv_schemas.errors import ConfigError, ProposalError


def rock_salt(edge_a=4.2, elements=("Mg", "O")):
    return Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(edge_a), list(elements), [[0, 0, 0], [0.5, 0.5, 0.5]]
    ).get_primitive_structure()


class Counting(LennardJonesBackend):
    """Counts the structures it is asked about."""

    def __init__(self, model_id="counting"):
        self.asked = []
        self._model_id = model_id

    @property
    def model_id(self):
        return self._model_id

    def predict(self, structures):
        self.asked.append(len(structures))
        return super().predict(structures)


class Broken(Backend):
    """A potential that fails in the way it is told to."""

    model_id = "broken"

    def __init__(self, force=0.0, error=None, energy=-1.0):
        self.force, self.error, self.energy = force, error, energy

    def calculator(self):
        from ase.calculators.calculator import Calculator, all_changes

        given = self

        class Failing(Calculator):
            implemented_properties = ("energy", "forces", "stress")

            def calculate(self, atoms=None, properties=None, system_changes=all_changes):
                super().calculate(atoms, properties, system_changes)
                if given.error:
                    raise given.error
                forces = np.zeros((len(self.atoms), 3))
                forces[0, 0] = given.force
                self.results = {
                    "energy": given.energy,
                    "forces": forces,
                    "stress": np.zeros(6),
                }

        return Failing()


# ------------------------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("structure", "words"),
    [
        (Structure(Lattice.cubic(12.0), ["Na"], [[0, 0, 0]]), "no neighbour"),
        (Structure(Lattice.cubic(4.0), ["Na", "Cl"], [[0, 0, 0], [0.1, 0, 0]]), "overlap"),
        (Structure(Lattice.cubic(0.9), ["Na"], [[0, 0, 0]]), "cubic angstrom per atom"),
        (Structure(Lattice.cubic(4.0), [{"Na": 0.5}], [[0, 0, 0]]), "ordered"),
        (Structure(Lattice.cubic(4.0), ["Cf"], [[0, 0, 0]]), "atomic number 98"),
        (Structure(Lattice.cubic(4.0), ["Na"], [[np.nan, 0, 0]]), "finite"),
        (Structure(Lattice.orthorhombic(4, 4, 90), ["Na"], [[0, 0, 0]]), "edge"),
    ],
)
def test_faults_are_named_and_never_reach_the_potential(structure, words):
    backend = Counting()
    source = EnergySource(backend)
    assert words in fault_of(structure)
    (point,) = source.single_points([structure])
    assert point.energy_ev_per_atom is None
    assert words in point.fault
    with pytest.raises(ProposalError, match="structure 0"):
        source.energies([structure])
    relaxed = source.relax(structure)
    assert relaxed.status == "invalid"
    assert words in relaxed.message
    assert backend.asked == []


def test_known_crystals_have_no_fault():
    assert fault_of(rock_salt()) == ""
    for symbol in ("Ba", "Ti", "O", "H", "B", "Mn", "P", "Sn", "In"):
        assert fault_of(element_structure(symbol)[0]) == "", symbol


def test_too_large_a_cell_is_told():
    assert "atoms" in fault_of(rock_salt(), max_atoms=1)


# ------------------------------------------------------------------------------- cache and batch


def test_structures_are_asked_about_once_and_together():
    backend = Counting()
    source = EnergySource(backend)
    cells = [rock_salt(4.0), rock_salt(4.1), rock_salt(4.0)]
    first = source.energies(cells)
    assert backend.asked == [2]
    assert first[0] == first[2] != first[1]
    assert np.array_equal(source.energies(cells), first)
    assert backend.asked == [2]


def test_another_model_or_structure_has_another_key():
    cell = rock_salt()
    keys = {
        structure_key(cell, "a"),
        structure_key(cell, "b"),
        structure_key(cell, "a", "other limits"),
        structure_key(rock_salt(4.2001), "a"),
        structure_key(rock_salt(elements=("Ca", "O")), "a"),
    }
    assert len(keys) == 5
    assert structure_key(rock_salt(), "a") == structure_key(cell, "a")


def test_cache_outlives_the_process(tmp_path):
    path = tmp_path / "energies.json"
    source = EnergySource(Counting(), ResultCache(path))
    energy = source.energies([rock_salt()])
    relaxed = source.relax(rock_salt(4.0))
    source.save()
    again = Counting()
    other = EnergySource(again, ResultCache(path))
    assert np.array_equal(other.energies([rock_salt()]), energy)
    assert other.relax(rock_salt(4.0)) == relaxed
    assert again.asked == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["energies.json"]


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": {"kind": "point"}}', '{"a": {"kind": "?"}}'])
def test_damaged_cache_is_told(tmp_path, text):
    path = tmp_path / "energies.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"energies\.json"):
        ResultCache(path)


def test_oldest_answers_go_first():
    cache = ResultCache(limit=2)
    for key in "abc":
        cache.put(key, SinglePoint(0.0, 0.0))
    assert cache.get("a") is None
    assert cache.get("c") is not None
    assert (cache.hits, cache.misses, len(cache)) == (1, 1, 2)


def test_source_pickles_with_its_answers():
    source = EnergySource(LennardJonesBackend())
    energy = source.energies([rock_salt()])
    assert np.array_equal(pickle.loads(pickle.dumps(source)).energies([rock_salt()]), energy)


# ------------------------------------------------------------------------------- relaxation


def test_relaxation_reaches_a_minimum_and_leaves_the_start_alone():
    source, start = EnergySource(LennardJonesBackend()), rock_salt(5.2)
    before = start.copy()
    found = source.relax(start, RelaxationSettings(max_steps=300))
    assert found.converged
    assert found.max_residual_ev_a <= 0.05
    assert found.volume_change < -0.02
    assert found.energy_ev_per_atom < source.energies([start])[0]
    assert start == before
    near = source.energies([found.final_structure()])[0]
    assert near == pytest.approx(found.energy_ev_per_atom, abs=1e-6)


def test_steps_that_run_out_are_unconverged():
    found = EnergySource(LennardJonesBackend()).relax(
        rock_salt(5.2), RelaxationSettings(max_steps=1)
    )
    assert found.status == "unconverged"
    assert not found.converged
    assert "left after 1 steps" in found.message


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        (Broken(force=1e4), "force of 10000"),
        (Broken(force=float("nan")), "not finite"),
        (Broken(energy=float("inf")), "not finite"),
        (Broken(error=ValueError("isolated atom")), "isolated atom"),
        (Broken(error=RuntimeError("no graph")), "no graph"),
    ],
)
def test_failures_of_the_potential_are_invalid_not_raised(backend, words):
    found = EnergySource(backend).relax(rock_salt())
    assert found.status == "invalid"
    assert words in found.message
    assert found.energy_ev_per_atom is None
    assert found.final_structure() is None


def test_exploding_cell_is_given_up():
    found = EnergySource(LennardJonesBackend()).relax(
        rock_salt(5.2), RelaxationSettings(least_volume_ratio=0.99)
    )
    assert found.status == "invalid"
    assert "times its volume" in found.message


# ------------------------------------------------------------------------------- the file


def test_columns_of_two_potentials_are_kept_side_by_side(tmp_path):
    path = tmp_path / "table.json"

    def entry(structure, model):
        return {"structure": structure, "results": {model: {"converged": True}}}

    merge(path, {"MgO": entry("1", "a")}, {})
    merge(path, {"MgO": entry("1", "b")}, {"X": "disordered"})
    assert set(read(path)["phases"]["MgO"]["results"]) == {"a", "b"}
    merge(path, {"MgO": entry("2", "b")}, {})
    assert set(read(path)["phases"]["MgO"]["results"]) == {"b"}
    merge(path, {}, {}, {"CaO"})
    assert read(path)["phases"] == {}
    assert json.loads(path.read_text())["skipped"] == {}


def test_unknown_and_missing_potentials_are_told():
    with pytest.raises(ConfigError, match="chgnet"):
        make_backend("emt")


# ------------------------------------------------------------------------------- chgnet itself


def test_torch_is_imported_by_the_first_question_only():
    code = (
        "import sys; from labenv.physics.potential import chgnet_source; "
        "from labenv.physics.potential.reactions import formation_from_oxides; "
        "formation_from_oxides('BaTiO3-cubic'); print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
    )
    assert done.stdout.strip() == "False"


def test_chgnet_energies_batched_and_one_by_one_agree():
    pytest.importorskip("chgnet", reason='needs pip install "labenv[mlip]"')
    cells = [rock_salt(4.2), rock_salt(4.3), rock_salt(4.8, ("Ca", "O"))]
    source = chgnet_source()
    together = source.energies(cells)
    alone = [EnergySource(source._backend).energies([cell])[0] for cell in cells]
    assert np.allclose(together, alone, atol=1e-5)
    assert together[0] == pytest.approx(-8.04, abs=0.05)


def test_chgnet_runs_on_one_thread_and_gives_the_threads_back():
    pytest.importorskip("chgnet", reason='needs pip install "labenv[mlip]"')
    import torch

    before = torch.get_num_threads()
    found = chgnet_source().relax(rock_salt(4.3))
    assert found.converged
    assert found.final_structure().volume / 18.6 == pytest.approx(1.0, abs=0.03)
    assert torch.get_num_threads() == before
