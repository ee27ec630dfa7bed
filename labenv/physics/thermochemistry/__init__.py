"""Gibbs energies of substances, their sources, and the equilibria that follow from them."""

from labenv.physics.thermochemistry.equilibrium import stable_assemblage
from labenv.physics.thermochemistry.substance import (
    GAS_CONSTANT_J_MOL_K,
    GAS_ELEMENTS,
    REFERENCE_K,
    STANDARD_PRESSURE_PA,
    GibbsSource,
    HeatCapacity,
    Substance,
    cation_amounts,
    read_substance,
)

__all__ = [
    "GAS_CONSTANT_J_MOL_K",
    "GAS_ELEMENTS",
    "REFERENCE_K",
    "STANDARD_PRESSURE_PA",
    "GibbsSource",
    "HeatCapacity",
    "Substance",
    "cation_amounts",
    "read_substance",
    "stable_assemblage",
]
