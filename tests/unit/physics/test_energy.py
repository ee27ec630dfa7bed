"""Books of energy: known heats, and that a wrong entry shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from labenv.physics.energy import EnergyBook, books, enthalpy_j_mol
from labenv.physics.kinetics import (
    AIR_PA,
    ReactionResult,
    StepControl,
    heat_program,
    load_system,
    new_powder,
    react,
)
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import ProposalError

SYSTEM = load_system("Ba-Ti-C-O")
KEPT = StepControl(tolerance=1e-3, ledger=True)


def fired(
    amounts_by_name: dict[str, float], peak_k: float, control: StepControl = KEPT
) -> tuple[EnergyBook, ReactionResult]:
    amounts = np.zeros((1, len(SYSTEM.phases)))
    for name, n in amounts_by_name.items():
        amounts[0, SYSTEM.phase_index(name)] = n
    powder = new_powder(SYSTEM, amounts, contact=0.9)
    program = heat_program([(peak_k, 0.1, 36000.0)])
    result = react(SYSTEM, powder, program, AIR_PA, control=control)
    return books(SYSTEM, powder, program, result), result


def test_barium_titanate_takes_its_heat_of_formation() -> None:
    book, result = fired({"BaCO3": 1.0, "rutile": 1.0}, 1500.0)
    made = result.powder.amounts_mol[0, SYSTEM.phase_index("BaTiO3")]
    assert made > 0.8
    # BaCO3 + TiO2 -> BaTiO3 + CO2 at 298 K: 1216.3 + 944.7 - 1659.8 - 393.5 = 107.7 kJ/mol (Barin;
    # CODATA for CO2); CO2 leaves hot, which costs its own heat on top, 40 to 60 kJ/mol.
    assert book.heat_j[0] / result.gas_released_mol[0, 0] == pytest.approx(150e3, rel=0.2)
    assert abs(book.residual[0]) < 1e-12
    assert book.heat_by_reaction_j[0].sum() == pytest.approx(book.reaction_j.sum())


def test_a_powder_that_does_not_react_gives_its_heat_back() -> None:
    book, _ = fired({"rutile": 1.0}, 1300.0)
    assert abs(book.heat_j[0]) < 1e-6
    warmed = book.sensible_j[0][book.sensible_j[0] > 0.0].sum()
    # Heat content of rutile at 1300 K over 298 K: 70.1 kJ/mol (JANAF), whatever the steps
    assert warmed == pytest.approx(70.1e3, rel=0.02)
    assert np.abs(book.reaction_j).max() == 0.0


def test_a_wrong_amount_shows_in_the_residual() -> None:
    book, result = fired({"BaCO3": 1.0, "rutile": 1.0}, 1300.0)
    off = result.powder.amounts_mol.copy()
    off[0, 0] += 1e-6
    wrong = replace(result, powder=replace(result.powder, amounts_mol=off))
    amounts = np.zeros((1, len(SYSTEM.phases)))
    amounts[0, [SYSTEM.phase_index("BaCO3"), SYSTEM.phase_index("rutile")]] = 1.0
    powder = new_powder(SYSTEM, amounts, contact=0.9)
    again = books(SYSTEM, powder, heat_program([(1300.0, 0.1, 36000.0)]), wrong)
    assert abs(book.residual[0]) < 1e-12
    assert abs(again.residual[0]) > 1e-8


def test_the_ledger_changes_nothing_and_without_it_there_are_no_books() -> None:
    _, kept = fired({"BaCO3": 1.0, "rutile": 1.0}, 1300.0)
    with pytest.raises(ProposalError, match="ledger"):
        fired({"BaCO3": 1.0, "rutile": 1.0}, 1300.0, replace(KEPT, ledger=False))
    amounts = np.zeros((1, len(SYSTEM.phases)))
    amounts[0, [SYSTEM.phase_index("BaCO3"), SYSTEM.phase_index("rutile")]] = 1.0
    program = heat_program([(1300.0, 0.1, 36000.0)])
    powder = new_powder(SYSTEM, amounts, contact=0.9)
    plain = react(SYSTEM, powder, program, AIR_PA, control=replace(KEPT, ledger=False))
    assert plain.ledger is None
    assert np.array_equal(plain.powder.amounts_mol, kept.powder.amounts_mol)
    assert kept.ledger is not None
    assert 0 < kept.ledger.count[0] <= kept.steps[0]
    assert (np.diff(kept.ledger.end_s[0, : kept.ledger.count[0]]) > 0.0).all()


def test_enthalpies_are_those_of_the_tables() -> None:
    table = substance_table()
    assert enthalpy_j_mol(table.substances["CaO"], 298.15) == pytest.approx(-635.1e3, abs=2e3)
    assert enthalpy_j_mol(table.substances["CO2"], 298.15) == pytest.approx(-393.5e3, abs=1e3)
    water = enthalpy_j_mol(table.substances["H2O"], np.array([298.15, 1000.0]))
    assert water[1] - water[0] == pytest.approx(26.0e3, rel=0.05)  # JANAF

    class Bare:
        """Nothing but a Gibbs energy: H = 1000 + 20 T, so that G = 1000 + 20 T (1 - ln T)."""

        name, elements, uncertainty_j_mol, sources, estimate = "x", {"O": 1.0}, 0.0, (), False

        def gibbs_j_mol(self, temperature_k: object) -> np.ndarray:
            t = np.asarray(temperature_k, dtype=np.float64)
            return 1000.0 + 20.0 * t * (1.0 - np.log(t))

    assert enthalpy_j_mol(Bare(), 800.0) == pytest.approx(1000.0 + 20.0 * 800.0, rel=1e-4)
