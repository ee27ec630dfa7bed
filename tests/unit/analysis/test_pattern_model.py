"""The refinement's pattern: slopes, texture, normalisation."""

from __future__ import annotations

import numpy as np
import pytest

from labenv.analysis.pattern_model import SHARED, Optics, PhaseModel, Texture
from labenv.physics.reflection_cache import reflections_of
from labenv.physics.structures import phase_library

CU = 1.5405929
OPTICS = Optics(((CU, 2 / 3), (1.5444274, 1 / 3)), 15.0, 0.02, 3000)


@pytest.mark.parametrize("name", ["NiO", "anatase", "V2O5", "Li2CO3"])
def test_slopes_are_those_of_the_pattern(name: str) -> None:
    lines = reflections_of(phase_library().get(name), CU, 80.0)
    model = PhaseModel(lines, Texture.of(lines))
    k = model.cell_count
    shared = np.array([0.03, -0.01, 0.02, 0.012, 0.2, 0.15, 0.4])
    own = np.concatenate([[3.0], np.full(k, 1e-3), [0.08, 0.1], np.full(k - 1, 0.4)])
    block = np.empty((SHARED + model.count, OPTICS.points))

    def pattern(values: np.ndarray) -> np.ndarray:
        # a floor of nothing keeps the tails' cut the same for all lines
        model.columns(values[:SHARED], values[SHARED:], OPTICS, 1e-30, block)
        return values[SHARED] * block[SHARED]

    values = np.concatenate([shared, own])
    pattern(values)
    slopes = block.copy()
    for index in range(len(values)):
        change = 1e-4 * max(abs(values[index]), 0.01)
        up, down = values.copy(), values.copy()
        up[index] += change
        down[index] -= change
        numeric = (pattern(up) - pattern(down)) / (2.0 * change)
        # tails end at whole points, which makes a few points jump: compare the rest
        wrong = np.abs(numeric - slopes[index]) > 2e-3 * np.abs(numeric).max()
        assert wrong.mean() < 0.05, (index, wrong.mean())


@pytest.mark.parametrize(("name", "terms"), [("NiO", 0), ("ZnO", 1), ("V2O5", 2), ("Li2CO3", 3)])
def test_texture_has_the_terms_of_its_crystal_system(name: str, terms: int) -> None:
    lines = reflections_of(phase_library().get(name), CU)
    texture = Texture.of(lines)
    assert texture.line_terms.shape == (len(lines.d_a), terms)
    factor, slopes = texture.factors(np.full(terms, 0.3))
    assert factor.shape == (len(lines.d_a),)
    assert slopes.shape == (len(lines.d_a), terms)


def test_texture_of_a_plate_raises_its_plane_and_keeps_the_mean() -> None:
    lines = reflections_of(phase_library().get("ZnO"), CU)
    texture = Texture.of(lines)
    factor, _ = texture.factors(np.array([-1.0]))  # fewer planes along a, more along c
    basal = (lines.hkl[:, 0] == 0) & (lines.hkl[:, 1] == 0)
    assert factor[basal].min() > 1.5
    weight = np.exp(texture.sphere_terms @ np.array([-1.0]))
    assert (weight / weight.mean()).mean() == pytest.approx(1.0)
