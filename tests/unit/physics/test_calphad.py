"""Alloys by databases: published invariants, phases, and that references do not mix."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from labenv.physics.thermochemistry import stable_assemblage
from labenv.physics.thermochemistry.calphad import (
    ASSESSMENTS,
    AlloyDatabase,
    AlloyEnergy,
    alloy_database,
    lowest,
)
from labenv_schemas.errors import ConfigError, ProposalError, UnknownPluginError

HAVE = importlib.util.find_spec("pycalphad") is not None
needs_pycalphad = pytest.mark.skipif(
    not HAVE and not os.environ.get("CI"),  # where tests are run for everyone it must be there
    reason="pycalphad is not installed; pip install 'labenv[calphad]'",
)


@needs_pycalphad
@pytest.mark.parametrize(
    ("name", "phase", "elements", "around_k", "published_k", "tolerance_k"),
    [
        # eutectic 456 K (183 degC); eutectoid of iron and cementite 1000 K (727 degC); eutectics
        # Al-Zn 654 K and Mg-Mg2Cu 758 K: ASM Handbook 3, Alloy Phase Diagrams
        ("Pb-Sn", "LIQUID", ("Pb", "Sn"), (440.0, 475.0), 456.0, 3.0),
        ("Fe-C", "FCC_A1", ("Fe", "C"), (980.0, 1020.0), 1000.0, 3.0),
        ("Al-Zn", "LIQUID", ("Al", "Zn"), (630.0, 680.0), 654.0, 3.0),
        ("Cu-Mg", "LIQUID", ("Cu", "Mg"), (730.0, 790.0), 758.0, 4.0),
    ],
)
def test_invariant_reactions_are_where_they_are_known_to_be(
    name: str,
    phase: str,
    elements: tuple[str, str],
    around_k: tuple[float, float],
    published_k: float,
    tolerance_k: float,
) -> None:
    database = alloy_database(name)
    assert set(elements) <= set(database.elements)
    found = database.first_seen_k(phase, elements, *around_k)
    assert found == pytest.approx(published_k, abs=tolerance_k)


@needs_pycalphad
def test_with_graphite_austenite_begins_higher() -> None:
    import pycalphad

    path = Path(str(pycalphad.__file__)).parent / "tests" / "databases" / ASSESSMENTS["Fe-C"].file
    stable = AlloyDatabase(path.read_text(encoding="utf-8"), "Fe-graphite")
    found = stable.first_seen_k("FCC_A1", ("Fe", "C"), 1000.0, 1020.0)
    assert found == pytest.approx(1011.0, abs=3.0)  # 738 degC


@needs_pycalphad
def test_phases_make_up_the_alloy() -> None:
    phases = alloy_database("Pb-Sn").phases({"Pb": 1.0, "Sn": 3.0}, 430.0)
    assert {phase.name for phase in phases} == {"FCC_A1", "BCT_A5"}
    assert sum(phase.share for phase in phases) == pytest.approx(1.0, abs=1e-6)
    tin = sum(phase.share * phase.composition["Sn"] for phase in phases)
    assert tin == pytest.approx(0.75, abs=1e-6)


@needs_pycalphad
def test_solder_melts_over_a_range() -> None:
    solidus, liquidus = alloy_database("Pb-Sn").melting_range_k({"Pb": 0.9, "Sn": 0.1}, 500, 620)
    # 10 at.% tin (6 wt%): about 290 to 307 degC (ASM Handbook 3)
    assert solidus == pytest.approx(563.0, abs=12.0)
    assert liquidus == pytest.approx(580.0, abs=5.0)


@needs_pycalphad
def test_energies_are_compared_within_one_database_only() -> None:
    ours = alloy_database("Pb-Sn").energy({"Pb": 1.0, "Sn": 1.0}, 460.0)
    assert ours.reference == "Pb-Sn"
    other = AlloyEnergy(ours.value_j_mol_atom - 100.0, 460.0, "Pb-Sn")
    assert lowest([ours, other]) == 1
    with pytest.raises(ConfigError, match="one database"):
        lowest([ours, AlloyEnergy(-1e5, 460.0, "COST507")])
    with pytest.raises(ConfigError, match="one temperature"):
        lowest([ours, AlloyEnergy(-1e5, 470.0, "Pb-Sn")])


@needs_pycalphad
def test_what_cannot_be_is_refused() -> None:
    database = alloy_database("Pb-Sn")
    with pytest.raises(UnknownPluginError, match="Cu"):
        database.phases({"Pb": 1.0, "Cu": 1.0}, 400.0)
    for amounts in ({"Pb": float("nan"), "Sn": 1.0}, {}, {"Pb": 0.0, "Sn": 1.0}):
        with pytest.raises(ProposalError, match="amounts"):
            database.phases(amounts, 400.0)
    with pytest.raises(ProposalError, match="temperatures"):
        database.energy({"Pb": 1.0, "Sn": 1.0}, float("nan"))
    with pytest.raises(ProposalError, match="solid at"):
        database.melting_range_k({"Pb": 1.0, "Sn": 1.0}, 600.0, 700.0)
    with pytest.raises(UnknownPluginError, match="no phase"):
        database.first_seen_k("GLASS", ("Pb", "Sn"))
    with pytest.raises(ConfigError, match="no TDB database"):
        AlloyDatabase("ELEMENT nonsense", "mine")


def test_an_unknown_database_is_named() -> None:
    with pytest.raises(UnknownPluginError, match="Nb-Sn"):
        alloy_database("Nb-Sn")
    assert all(assessment.source for assessment in ASSESSMENTS.values())


def test_an_alloys_energy_is_no_source_for_a_hull() -> None:
    alloy = AlloyEnergy(-2.8e4, 460.0, "Pb-Sn")
    with pytest.raises(AttributeError):
        stable_assemblage([alloy], [], [1.0], 460.0, [])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def test_without_pycalphad_the_message_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pycalphad'] = None\n"
        "from labenv.physics.thermochemistry.calphad import alloy_database\n"
        "try: alloy_database('Pb-Sn')\n"
        "except Exception as reason: print(type(reason).__name__, reason)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ConfigError" in run.stdout
    assert "labenv[calphad]" in run.stdout
