"""Mass change on heating, density and composition: each with its noise, limits and cost.

Costs: a weighing after firing `WEIGHING_COST_S`; a helium pycnometer run of ten purges
`PYCNOMETER_COST_S`; an EDS map of one powder `EDS_COST_S`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv_schemas.errors import ProposalError, SimulatorError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WEIGHING_COST_S, PYCNOMETER_COST_S, EDS_COST_S = 120.0, 1800.0, 1200.0
AIR_DENSITY_KG_M3 = 1.19  # at 20 degC, 101 kPa, 50 % humidity: Picard et al., Metrologia 45 (2008)
WEIGHTS_DENSITY_KG_M3 = 8000.0  # by convention: OIML D 28
BUOYANCY_SHARE = 1e-4  # standard uncertainty of a mass whose density nobody has put in
EDS_LIMIT = 1e-3
"""Mass fraction below which an element is not seen: Goldstein et al., Scanning Electron Microscopy
and X-Ray Microanalysis, 4th ed. (2018)."""
EDS_LOWEST_Z = 5  # boron, with a thin window; beryllium and below give no usable line
_LIGHT_BELOW_Z = 11


@dataclass(frozen=True)
class BulkInstruments:
    """A semi-micro balance, a helium pycnometer and an SEM with EDS.

    Attributes:
        balance_sd_kg: Standard deviation of one weighing, kg.
        balance_step_kg: Last digit, kg.
        handling_loss: Share of a powder lost with the crucible and brush, one standard deviation of
            a half-normal.
        drift_sd_kg: Standard deviation of the drift between two weighings hours apart, kg.
        pycnometer_volume_sd_m3: Standard deviation of one volume, m^3.
        pycnometer_relative_sd: And its part in proportion to the volume.
        eds_counts: X-ray counts in the spectrum's lines.
        eds_relative_sd: Standard deviation of the correction for one element from sodium on.
        eds_light_sd: The same for boron to neon, whose soft lines are absorbed.
    """

    balance_sd_kg: float = 2e-8
    balance_step_kg: float = 1e-8
    handling_loss: float = 2e-4
    drift_sd_kg: float = 5e-8
    pycnometer_volume_sd_m3: float = 3e-10
    pycnometer_relative_sd: float = 3e-4
    eds_counts: float = 1e6
    eds_relative_sd: float = 0.02
    eds_light_sd: float = 0.15


class Composition(NamedTuple):
    """What EDS says.

    Attributes:
        mass_fraction: Mass fractions, adding up to 1 over what is seen, shape (N, E); 0 where not.
        uncertainty: Their standard uncertainties, shape (N, E).
        seen: Whether each element is reported, shape (N, E).
    """

    mass_fraction: Floats
    uncertainty: Floats
    seen: NDArray[np.bool_]


def mass_change(
    before_kg: Floats,
    after_kg: Floats,
    density_kg_m3: Floats,
    instruments: BulkInstruments,
    generators: Sequence[np.random.Generator],
) -> Floats:
    """Weigh samples before and after a firing.

    Args:
        before_kg: True masses before, kg, shape (N,).
        after_kg: True masses after, kg, shape (N,).
        density_kg_m3: Densities before and after, kg/m^3, shape (N, 2): air carries some of the
            weight, by density.
        instruments: The balance.
        generators: One a sample.

    Returns:
        The two readings, kg, shape (N, 2); their difference carries a standard uncertainty of
        about 0.06 mg, besides powder lost in handling.

    Raises:
        ProposalError: If a mass or density is out of range.
        SimulatorError: If the generators do not number N.

    Source:
        Buoyancy: OIML R 111 (2004).
    """
    before, after = _in_range(before_kg, 0.0, 1e3, "mass"), _in_range(after_kg, 0.0, 1e3, "mass")
    density = _in_range(density_kg_m3, 1.0, 3e4, "density")
    _count(generators, len(before))
    air = AIR_DENSITY_KG_M3
    lift = (1.0 - air / density) / (1.0 - air / WEIGHTS_DENSITY_KG_M3)
    readings = np.stack([before, after], axis=1) * lift
    for row, generator in enumerate(generators):
        noise = generator.standard_normal(4)
        readings[row, 1] *= 1.0 - instruments.handling_loss * abs(noise[3])
        readings[row] += instruments.balance_sd_kg * noise[:2]
        readings[row, 1] += instruments.drift_sd_kg * noise[2]
    return np.round(readings / instruments.balance_step_kg) * instruments.balance_step_kg


def weighing(
    mass_kg: Floats,
    density_kg_m3: Floats,
    repeats: int,
    instruments: BulkInstruments,
    generators: Sequence[np.random.Generator],
) -> tuple[Floats, Floats]:
    """Weigh samples once each, as the mean of some readings in one sitting.

    Args:
        mass_kg: True masses, kg, shape (N,).
        density_kg_m3: Densities, kg/m^3, shape (N,): air carries some of the weight.
        repeats: Readings that are averaged; the drift of the sitting remains.
        instruments: The balance.
        generators: One a sample.

    Returns:
        Readings and standard uncertainties, kg, each shape (N,). The buoyancy is not corrected for:
        a powder of 3,000 to 8,000 kg/m^3 weighs up to 2.5e-4 of itself less, and 1e-4 stands in the
        uncertainty. Nothing is lost in handling.

    Raises:
        ProposalError: If a mass or density is out of range.
        SimulatorError: If the generators do not number N.

    Source:
        Buoyancy: OIML R 111 (2004).
    """
    mass = _in_range(mass_kg, 0.0, 1e3, "mass")
    density = _in_range(density_kg_m3, 1.0, 3e4, "density")
    _count(generators, len(mass))
    air = AIR_DENSITY_KG_M3
    lift = (1.0 - air / density) / (1.0 - air / WEIGHTS_DENSITY_KG_M3)
    deviates = np.array([generator.standard_normal(2) for generator in generators])
    noise = instruments.balance_sd_kg / np.sqrt(repeats) * deviates[:, 0]
    seen = mass * lift + noise + instruments.drift_sd_kg * deviates[:, 1]
    step = instruments.balance_step_kg
    scatter = np.hypot(instruments.balance_sd_kg / np.sqrt(repeats), instruments.drift_sd_kg)
    return np.round(seen / step) * step, np.hypot(scatter, BUOYANCY_SHARE * mass)


def pycnometer_density(
    mass_kg: Floats,
    crystal_density_kg_m3: Floats,
    closed_porosity: Floats,
    instruments: BulkInstruments,
    generators: Sequence[np.random.Generator],
) -> tuple[Floats, Floats]:
    """Measure the density of powders or pellets in helium, which fills open pores only.

    Args:
        mass_kg: Masses, kg, shape (N,).
        crystal_density_kg_m3: Mass over volume of solid, kg/m^3, shape (N,).
        closed_porosity: Closed pore volume over solid and closed pore volume, 0 to below 1, (N,).
        instruments: The pycnometer.
        generators: One a sample.

    Returns:
        Readings and standard uncertainties, kg/m^3, each shape (N,). A sample of less than about
        0.1 cm^3 is uncertain by percents; one below 10^-9 m^3 is refused.

    Raises:
        ProposalError: If a number is out of range.
        SimulatorError: If the generators do not number N.

    Source:
        ASTM D6226; porosity excluded as in Webb & Orr, Analytical Methods in Fine Particle
        Technology (1997).
    """
    mass = _in_range(mass_kg, 1e-12, 1e3, "mass")
    solid = _in_range(crystal_density_kg_m3, 1.0, 3e4, "density")
    closed = _in_range(closed_porosity, 0.0, 0.999, "closed porosity")
    _count(generators, len(mass))
    volume = mass / solid / (1.0 - closed)
    if bool((volume < 1e-9).any()):
        raise ProposalError("a pycnometer needs at least 1e-9 m^3 (1 mm^3) of solid")
    sd = np.hypot(instruments.pycnometer_volume_sd_m3, instruments.pycnometer_relative_sd * volume)
    # five runs are averaged; a reading far below the truth would make no sense
    noise = np.array([generator.standard_normal() for generator in generators]) / np.sqrt(5.0)
    seen = np.maximum(volume + sd * noise, 0.2 * volume)
    return mass / seen, mass / seen * (sd / np.sqrt(5.0)) / seen


def eds_composition(
    mass_fraction: Floats,
    atomic_numbers: Sequence[int],
    instruments: BulkInstruments,
    generators: Sequence[np.random.Generator],
) -> Composition:
    """Measure the composition of powders by X-rays in the electron microscope.

    Args:
        mass_fraction: True mass fractions, adding up to 1, shape (N, E).
        atomic_numbers: Atomic number of each element, length E.
        instruments: The detector.
        generators: One a sample.

    Returns:
        What is seen. Elements lighter than boron never are, nor any below 0.1 % by mass; the rest
        is normalised to 1, so that lithium's share is missing in silence. Oxygen and carbon are
        uncertain by 15 % of their value.

    Raises:
        ProposalError: If fractions are no composition, or nothing could be seen.
        SimulatorError: If the generators do not number N.

    Source:
        Newbury & Ritchie, Scanning 35 (2013) 141; limits: Goldstein et al. 2018. The size of the
        light elements' error is an estimate.
    """
    true = _in_range(mass_fraction, 0.0, 1.0, "mass fraction")
    z = np.asarray(atomic_numbers)
    _count(generators, len(true))
    if true.ndim != 2 or true.shape[1] != len(z) or bool((abs(true.sum(axis=1) - 1) > 1e-6).any()):
        raise ProposalError("mass fractions must be of shape (samples, elements) and add up to 1")
    visible = np.where(z >= EDS_LOWEST_Z, true, 0.0)
    if bool((visible.sum(axis=1) < EDS_LIMIT).any()):
        raise ProposalError("EDS sees none of the elements, which are lighter than boron")
    systematic = np.where(z < _LIGHT_BELOW_Z, instruments.eds_light_sd, instruments.eds_relative_sd)
    share = visible / visible.sum(axis=1, keepdims=True)
    counting = 1.0 / np.sqrt(np.maximum(instruments.eds_counts * share, 1.0))
    relative = np.hypot(systematic, counting)
    raw = np.empty_like(share)
    for row, generator in enumerate(generators):
        raw[row] = share[row] * np.maximum(
            1.0 + relative[row] * generator.standard_normal(len(z)), 0
        )
    seen = raw >= EDS_LIMIT * raw.sum(axis=1, keepdims=True)
    kept = np.where(seen, raw, 0.0)
    reading = kept / kept.sum(axis=1, keepdims=True)
    # normalising shares an element's error out: w -> w (1 - w) for its own part
    own = reading * relative
    others = np.sqrt(np.maximum((own**2).sum(axis=1, keepdims=True) - own**2, 0.0))
    spread = np.hypot((1.0 - reading) * own, reading * others)
    return Composition(reading, np.where(seen, spread, EDS_LIMIT / 2.0), seen)


def _in_range(values: Floats, low: float, high: float, what: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if not bool(((array >= low) & (array <= high)).all()):  # a nan compares false
        raise ProposalError(f"{what} must be finite and from {low:g} to {high:g}")
    return array


def _count(generators: Sequence[np.random.Generator], samples: int) -> None:
    if len(generators) != samples:
        raise SimulatorError(f"{samples} samples need as many generators, got {len(generators)}")
