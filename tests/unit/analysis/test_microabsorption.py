"""Brindley's correction."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labenv.analysis.microabsorption import correct_fractions

ATTENUATION, DENSITY = np.array([21.1, 4.07]), np.array([9370.0, 6810.0])  # Bi2O3, NiO


def test_no_particles_no_correction() -> None:
    apparent = np.array([0.3, 0.7])
    assert_allclose(correct_fractions(apparent, ATTENUATION, DENSITY, 0.0), apparent)


def test_the_stronger_absorber_is_raised() -> None:
    corrected = correct_fractions(np.array([0.3, 0.7]), ATTENUATION, DENSITY, 1.5e-6)
    assert corrected[0] > 0.32
    assert corrected.sum() == pytest.approx(1.0)


def test_equal_absorbers_stay() -> None:
    apparent = np.array([0.2, 0.8])
    same = np.array([5.0, 5.0])
    assert_allclose(correct_fractions(apparent, same, np.full(2, 5000.0), 3e-6), apparent)


def test_a_ratio_agrees_with_the_table() -> None:
    """Two phases of equal density whose μ differ by 1e5 /m: at D = 2 µm τ1/τ2 = exp(-0.15)."""
    attenuation, density = np.array([30.0, 10.0]), np.array([5000.0, 5000.0])
    corrected = correct_fractions(np.array([0.5, 0.5]), attenuation, density, 2e-6)
    assert corrected[0] / corrected[1] == pytest.approx(np.exp(0.15), rel=1e-4)
