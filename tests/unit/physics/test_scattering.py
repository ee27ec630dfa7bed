"""Form factors: ions in oxides and halides, atoms elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.physics.scattering import IONICITY, ion_of, scattering_factor

CU_A = 1.5405929


@pytest.mark.parametrize(
    ("element", "elements", "ion"),
    [
        ("Ti", {"Ti", "O"}, "Ti4+"),
        ("O", {"Ti", "O"}, "O2-"),
        ("Cl", {"Na", "Cl"}, "Cl1-"),
        ("Nb", {"Nb", "Sn"}, ""),
        ("Cu", {"Cu"}, ""),
        ("O", {"O"}, ""),
        ("C", {"Ca", "C", "O"}, ""),
    ],
)
def test_an_atom_is_an_ion_beside_oxygen_or_a_halogen(
    element: str, elements: set[str], ion: str
) -> None:
    assert ion_of(element, elements) == ion


@pytest.mark.parametrize(("element", "ion", "charge"), [("Ti", "Ti4+", 4), ("O", "O2-", -2)])
def test_it_lacks_its_part_of_the_charge_forward_and_nothing_far_out(
    element: str, ion: str, charge: int
) -> None:
    s = np.array([0.0, 1.2])
    less = scattering_factor(element, s, CU_A) - scattering_factor(element, s, CU_A, ion)
    assert less[0].real == pytest.approx(IONICITY * charge, abs=0.05)
    assert less[1].real == pytest.approx(0.0, abs=0.1)
    np.testing.assert_array_equal(less.imag, 0.0)
