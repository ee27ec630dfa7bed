"""Simulated scans in the vocabulary's form, for tests of the full analysis."""

from __future__ import annotations

import numpy as np

from labenv.physics.diffraction import DiffractometerSpec, PatternBasis, SampleBatch, ScanBatch
from labenv.physics.noise import poisson_counts
from labenv.physics.structures import phase_library
from labenv_schemas.measurement import Diffractogram, Radiation

PARTICLES_M = 0.0  # the simulation has no microabsorption


def simulated_scan(
    fractions: dict[str, float],
    *,
    spec: DiffractometerSpec | None = None,
    displacement_m: float = 8e-5,
    texture: dict[str, tuple[tuple[int, int, int], float]] | None = None,
    seed: int = 0,
) -> Diffractogram:
    """Return a noisy scan of a mixture; weight fractions by phase name."""
    spec = spec or DiffractometerSpec(step_deg=0.02, points=3001)
    texture = texture or {}
    phases = tuple(phase_library().get(name) for name in fractions)
    basis = PatternBasis(phases, spec, {name: plane for name, (plane, _) in texture.items()})
    weights = np.array([list(fractions.values())])
    sizes = np.array([np.geomspace(40e-9, 150e-9, len(phases))])
    strengths = np.array([[texture.get(name, (None, 1.0))[1] for name in fractions]])
    one = np.ones(1)
    scan = ScanBatch(0.2 * one, displacement_m * one, 0.0 * one, one, one)
    mean = basis.mean_counts(SampleBatch(weights, sizes, strengths), scan)
    first, second = spec.k_alpha_a
    return Diffractogram(
        two_theta_deg=spec.two_theta_deg,
        counts=poisson_counts(mean, [np.random.default_rng(seed)])[0],
        radiation=Radiation(
            k_alpha1_a=first,
            k_alpha2_a=second if spec.k_alpha2_ratio > 0.0 else None,
            k_alpha2_ratio=spec.k_alpha2_ratio,
        ),
        goniometer_radius_m=spec.radius_m,
    )
