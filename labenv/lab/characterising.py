"""How a sample on the bench looks to the instruments besides the diffractometer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from labenv.lab.specimen import Specimen
from labenv.physics.bulk_measurements import (
    EDS_COST_S,
    EDS_LOWEST_Z,
    BulkInstruments,
    eds_composition,
    pycnometer_density,
    weighing,
)
from labenv.physics.structures.library import (
    OTHER_DENSITY_KG_M3,
    crystal_density_kg_m3,
    phase_library,
)
from labenv.physics.transport_properties import (
    INSULATOR,
    YBCO,
    PhaseElectrons,
    phase_electrons,
    ybco_electrons,
)
from labenv_instruments.sample_view import CompositionSeen, Unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.lab.bench import Bench, BenchSamples
    from labenv_schemas.characterisation import MeasureComposition, MeasureDensity, Weigh

    Floats = NDArray[np.float64]

LEAST_SHARE = 1e-6
USUAL_PURGES = 10  # of the run whose noise `BulkInstruments` has
CLOSED_POROSITY = 0.0  # of powders; helium fills the pores of a fired bar that is still porous
# Hardly anything of an element's number matters here but whether EDS sees it, and how well.
_FIRST_ELEMENTS = ("H", "He", "Li", "Be", "B", "C", "N", "O", "F", "Ne")
_HEAVY_Z = 20


def formulas(bench: Bench) -> tuple[str, ...]:
    """Return the formula of each phase of a bench's system, P of them."""
    library, system = phase_library(), bench.system
    return tuple(
        library.get(slug).formula if slug in library else name
        for slug, name in zip(system.structures, system.phase_names, strict=True)
    )


def densities_kg_m3(bench: Bench) -> Floats:
    """Return the crystal density of each phase, kg/m^3, shape (P,); an estimate if unpublished."""
    return np.array([crystal_density_kg_m3(slug) for slug in bench.system.structures])


def solid_volume_m3(bench: Bench, samples: BenchSamples) -> Floats:
    """Return the volume of each phase of the first sample, then of what is inert, m^3, (P + 1,)."""
    mass = samples.powder.amounts_mol[0] * bench.system.molar_mass_kg_mol
    inert = samples.inert_kg[0] / OTHER_DENSITY_KG_M3
    return np.append(mass / densities_kg_m3(bench), inert)


def specimen_of(bench: Bench, samples: BenchSamples) -> Specimen:
    """Return what the first sample is to a cryostat or magnetometer.

    Args:
        bench: The chemical system.
        samples: One sample.

    Returns:
        The specimen; YBa2Cu3O6 and YBa2Cu3O7 are one phase with the oxygen content of their mean.
    """
    volume, names = solid_volume_m3(bench, samples), bench.system.phase_names
    shares = volume / volume.sum()
    radius = samples.powder.particle_radius_m[0]
    molar_volume = bench.system.molar_mass_kg_mol / densities_kg_m3(bench)
    ybco = [p for p, name in enumerate(names) if name in YBCO]
    parts: list[tuple[PhaseElectrons, float, float, float]] = []  # share, radius, susceptibility
    for p, formula in enumerate(formulas(bench)):
        if p not in ybco and shares[p] > LEAST_SHARE:
            electrons = phase_electrons(formula)
            core = electrons.core_molar / float(molar_volume[p])
            parts.append((electrons, float(shares[p]), float(radius[p]), core))
    together = float(sum(shares[p] for p in ybco))
    if together > LEAST_SHARE:
        mol = {names[p]: float(samples.powder.amounts_mol[0, p]) for p in ybco}
        oxygen = 6.0 + mol.get(YBCO[1], 0.0) / sum(mol.values())
        widest = max(ybco, key=lambda p: shares[p])
        parts.append((ybco_electrons(oxygen), together, float(radius[widest]), 0.0))
    if shares[-1] > LEAST_SHARE:  # dross of the precursors
        parts.append((PhaseElectrons(INSULATOR, True, True, True), float(shares[-1]), 1e-6, 0.0))
    total = sum(share for _, share, _, _ in parts)
    return Specimen(
        rows=tuple(electrons.row for electrons, *_ in parts),
        shares=tuple(share / total for _, share, _, _ in parts),
        penetration_depth_m=tuple(electrons.penetration_depth_m for electrons, *_ in parts),
        critical_field_t=tuple(electrons.critical_field_t for electrons, *_ in parts),
        grain_radius_m=tuple(max(radius_m, 1e-9) for _, _, radius_m, _ in parts),
        susceptibility=tuple(core for _, _, _, core in parts),
        unknown_tc_share=sum(s for e, s, _, _ in parts if not e.tc_known) / total,
        unknown_moment_share=sum(s for e, s, _, _ in parts if not e.magnetism_known) / total,
        estimated=any(e.estimated and e.row.tc_k > 0.0 for e, *_ in parts)
        or sum(s for e, s, _, _ in parts if e.estimated) > 0.5 * total,
    )


def see_mass(
    bench: Bench, samples: BenchSamples, weigh: Weigh, generator: np.random.Generator
) -> tuple[float, float]:
    """Weigh the first sample.

    Args:
        bench: The chemical system.
        samples: One sample.
        weigh: How often.
        generator: For the noise.

    Returns:
        Reading and standard uncertainty, kg.
    """
    mass = bench.mass_kg(samples)[:1]
    density = mass / solid_volume_m3(bench, samples).sum()
    reading, spread = weighing(mass, density, weigh.repeats, BulkInstruments(), [generator])
    return float(reading[0]), float(spread[0])


def see_density(
    bench: Bench, samples: BenchSamples, run: MeasureDensity, generator: np.random.Generator
) -> tuple[float, float]:
    """Measure the density of the first sample.

    Args:
        bench: The chemical system.
        samples: One sample.
        run: Purges.
        generator: For the noise.

    Returns:
        Reading and standard uncertainty, kg/m^3.
    """
    mass = bench.mass_kg(samples)[:1]
    solid = mass / solid_volume_m3(bench, samples).sum()
    closed = np.array([CLOSED_POROSITY])
    usual = BulkInstruments()
    volume_sd_m3 = usual.pycnometer_volume_sd_m3 * np.sqrt(USUAL_PURGES / run.purges)
    instrument = replace(usual, pycnometer_volume_sd_m3=float(volume_sd_m3))
    read, spread = pycnometer_density(mass, solid, closed, instrument, [generator])
    return float(read[0]), float(spread[0])


def see_composition(
    bench: Bench, samples: BenchSamples, run: MeasureComposition, generator: np.random.Generator
) -> CompositionSeen | Unknown:
    """Count the X-rays of the first sample.

    Args:
        bench: The chemical system.
        samples: One sample.
        run: Time of counting.
        generator: For the noise.

    Returns:
        What is seen; `Unknown` if it is all too light.
    """
    from labenv_schemas.formula_reader import atomic_masses

    system, masses = bench.system, atomic_masses()
    per_element = np.array([masses[element] for element in system.element_names])
    mass = (samples.powder.amounts_mol[0] @ system.element_counts) * per_element
    fraction = mass / mass.sum()
    numbers = [atomic_number(element) for element in system.element_names]
    if sum(f for f, z in zip(fraction, numbers, strict=True) if z >= EDS_LOWEST_Z) < 1e-3:
        return Unknown("the sample is of elements lighter than boron, which EDS does not see")
    counts = BulkInstruments().eds_counts * run.live_time_s / EDS_COST_S
    instrument = BulkInstruments(eds_counts=counts)
    found = eds_composition(fraction[None, :], numbers, instrument, [generator])
    seen = [e for e in range(len(numbers)) if found.seen[0, e]]
    return CompositionSeen(
        tuple(system.element_names[e] for e in seen),
        found.mass_fraction[0, seen],
        found.uncertainty[0, seen],
    )


def atomic_number(element: str) -> int:
    """Return an element's atomic number up to neon; for any other one that stands for heavier."""
    return _FIRST_ELEMENTS.index(element) + 1 if element in _FIRST_ELEMENTS else _HEAVY_Z


__all__ = ["see_composition", "see_density", "see_mass", "solid_volume_m3", "specimen_of"]
