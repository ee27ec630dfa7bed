"""From a recipe to a bar: firing, oxygen exchange, and what the bar then is.

Phases come from the reaction network of the precursors and gas, the oxygen content from the
exchange of the bar with the gas along both programmes. The powder is milled for four hours,
fired once, pressed beforehand and not reground. Left out: grain boundaries, carbon left in them,
density, and what decomposes during the anneal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.lab.streams import stream
from labenv.physics.furnace_program import HeatProgram, heat_program
from labenv.physics.kinetics import draw_parameters, mill, new_powder, press, react
from labenv.physics.networks.generation import Surroundings, generate_system
from labenv.physics.oxygen_content import DIFFUSION_SIGMA_LN, anneal_oxygen
from labenv.physics.structures.library import crystal_density_kg_m3
from labenv.physics.thermochemistry.sources import substance_table
from labenv.physics.transport_properties import YBCO, TransportRow, other_row, ybco_row
from labenv.tasks.superconductor_search.recipe import GASES, RAMP_K_PER_S, Recipe

if TYPE_CHECKING:
    from labenv.physics.kinetics import ReactionResult
    from labenv.physics.reactions import ReactionSystem

MILL_S = 4.0 * 3600.0
PRESSURE_PA = 1.0e8
POWDER_RADIUS_M = 0.5e-6
MELTED_SHARE = 0.3  # of the mass, above which a bar slumps; an estimate
# Grains of sintered YBa2Cu3Oy are 2 to 20 micrometres across in published micrographs; estimate.
GRAIN_RADIUS_M, GRAIN_SIGMA_LN = 4.0e-6, 0.4
# Oxygen has to cross clusters of grains that sintering has closed, for bars are dense where they
# conduct; half their size, an estimate with which annealing at 450 degC takes the usual day.
CLUSTER_RADIUS_M, CLUSTER_SIGMA_LN = 8.0e-5, 0.5
# Clusters of one bar: small, middle, large ones by volume, over the typical radius; estimate.
CLUSTERS = ((0.5, 0.25), (1.0, 0.5), (2.0, 0.25))
LEAST_SHARE = 1e-4  # of the volume, below which a phase is left out of the bar
FURNACE_SD_K = 4.0  # thermocouple and place, type S to K class 2 (IEC 60584), an estimate
DOSING_SD = 0.003  # relative, of each precursor


@dataclass(frozen=True)
class Conditions:
    """What is hidden about a laboratory, alike for all experiments of an episode.

    Attributes:
        seed: Of the laboratory's streams.
        firing_offset_k: Furnace above its display, K.
        anneal_offset_k: The tube furnace of the anneal above its display, K.
        grain_radius_m: Grain radius of its bars, m.
        cluster_radius_m: Half the distance that oxygen has to cross in them, typically, m.
        diffusivity_factor: On the diffusivity of oxygen.
        curve_deviate: Of its material from the published curve of Tc, in standard uncertainties.
    """

    seed: int = 0
    firing_offset_k: float = 0.0
    anneal_offset_k: float = 0.0
    grain_radius_m: float = GRAIN_RADIUS_M
    cluster_radius_m: float = CLUSTER_RADIUS_M
    diffusivity_factor: float = 1.0
    curve_deviate: float = 0.0

    @classmethod
    def drawn(cls, seed: int) -> Conditions:
        """Draw a laboratory.

        Args:
            seed: Of the episode.

        Returns:
            The conditions.
        """
        rng = stream(seed, "conditions")
        offsets, logs, deviate = rng.normal(size=2), rng.normal(size=3), rng.normal()
        return cls(
            seed,
            FURNACE_SD_K * float(offsets[0]),
            FURNACE_SD_K * float(offsets[1]),
            GRAIN_RADIUS_M * float(np.exp(GRAIN_SIGMA_LN * logs[0])),
            CLUSTER_RADIUS_M * float(np.exp(CLUSTER_SIGMA_LN * logs[1])),
            float(np.exp(DIFFUSION_SIGMA_LN * logs[2])),
            float(np.clip(deviate, -2.0, 2.0)),
        )


@dataclass(frozen=True)
class Bar:
    """What an experiment made; the truth, which no policy sees.

    Attributes:
        volume_share: Name of each phase to its share of the volume.
        oxygen: y of YBa2Cu3Oy, its mean over the bar; None without any.
        rows: What each part of the bar conducts.
        shares: Volume share of each part, adding up to 1.
        ybco_share: Volume share of YBa2Cu3Oy.
        grain_radius_m: Radius of the grains, m.
        melted: Whether the bar slumped in the furnace.
    """

    volume_share: dict[str, float]
    oxygen: float | None
    rows: tuple[TransportRow, ...]
    shares: tuple[float, ...]
    ybco_share: float
    grain_radius_m: float
    melted: bool


def programs(recipe: Recipe, conditions: Conditions) -> tuple[HeatProgram, HeatProgram]:
    """Return the true programmes of firing and anneal.

    Args:
        recipe: What is asked for.
        conditions: The laboratory.

    Returns:
        The firing, cooled with the furnace off, and the anneal, cooled as asked.
    """
    hot, warm = conditions.firing_offset_k, conditions.anneal_offset_k
    return (
        heat_program([(recipe.firing_k + hot, RAMP_K_PER_S, recipe.firing_s)]),
        heat_program(
            [(recipe.anneal_k + warm, RAMP_K_PER_S, recipe.anneal_s)],
            cooling_k_per_s=recipe.cooling_k_per_s,
        ),
    )


def make_bar(recipe: Recipe, conditions: Conditions, experiment: int | None = None) -> Bar:
    """Carry out a recipe.

    Args:
        recipe: One that can be carried out.
        conditions: The laboratory.
        experiment: Its number, which names the stream of weighing errors; None for none.

    Returns:
        The bar.
    """
    system = chemical_system(recipe.route, recipe.firing_gas)
    firing, anneal = programs(recipe, conditions)
    fired = _fire(system, recipe, conditions, firing, experiment)
    amounts = fired.powder.amounts_mol[0]
    densities = np.array([crystal_density_kg_m3(structure) for structure in system.structures])
    volume = amounts * system.molar_mass_kg_mol / densities
    shares = volume / volume.sum()
    names = system.phase_names
    ybco = float(sum(shares[p] for p, name in enumerate(names) if name in YBCO))
    parts: list[tuple[TransportRow, float]] = [
        (other_row(name), float(share))
        for name, share in zip(names, shares, strict=True)
        if share > LEAST_SHARE and name not in YBCO
    ]
    oxygen = None
    if ybco > LEAST_SHARE:
        contents = _oxygen(recipe, conditions, firing, anneal)
        weights = [weight for _, weight in CLUSTERS]
        oxygen = float(np.dot(contents, weights))
        parts += [
            (ybco_row(float(y), conditions.curve_deviate), ybco * weight)
            for y, weight in zip(contents, weights, strict=True)
        ]
    total = sum(share for _, share in parts)
    return Bar(
        volume_share={n: float(s) for n, s in zip(names, shares, strict=True) if s > LEAST_SHARE},
        oxygen=oxygen,
        rows=tuple(row for row, _ in parts),
        shares=tuple(share / total for _, share in parts),
        ybco_share=ybco,
        grain_radius_m=conditions.grain_radius_m,
        melted=_melted(system, fired, float(firing.peak_k[0])),
    )


def chemical_system(route: str, gas: str) -> ReactionSystem:
    """Return the reaction network of a route in a gas, made once in a process.

    Args:
        route: Precursor of barium.
        gas: One of `GASES`.

    Returns:
        The system.
    """
    co2_pa, o2_pa = GASES[gas]
    return generate_system((route, "Y2O3", "CuO"), Surroundings(o2_pa=o2_pa, co2_pa=co2_pa))


def _fire(
    system: ReactionSystem,
    recipe: Recipe,
    conditions: Conditions,
    firing: HeatProgram,
    experiment: int | None,
) -> ReactionResult:
    amounts = np.zeros((1, len(system.phases)))
    weighed = ((recipe.route, recipe.barium), ("Y2O3", 0.5), ("CuO", recipe.copper))
    errors = np.zeros(3)
    if experiment is not None:
        errors = DOSING_SD * stream(conditions.seed, "dosing_balance", experiment).normal(size=3)
    for (name, mol), error in zip(weighed, errors, strict=True):
        amounts[0, system.phase_index(name)] = mol * (1.0 + float(np.clip(error, -0.02, 0.02)))
    powder = new_powder(system, amounts / amounts.sum(), POWDER_RADIUS_M)
    powder = press(mill(system, powder, np.array([MILL_S])), PRESSURE_PA)
    rng = stream(conditions.seed, "kinetics", recipe.route, recipe.firing_gas)
    factors = draw_parameters(system, [rng]) if conditions.seed else None
    gas = np.array(GASES[recipe.firing_gas])
    return react(system, powder, firing, gas, factors)


def _oxygen(
    recipe: Recipe, conditions: Conditions, firing: HeatProgram, anneal: HeatProgram
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return y of each size of cluster after firing and anneal, shape (clusters,)."""
    radius = conditions.cluster_radius_m * np.array([size for size, _ in CLUSTERS])
    content = np.full(len(radius), 6.0)  # lost within minutes at the firing temperature
    for program, gas in ((firing, recipe.firing_gas), (anneal, recipe.anneal_gas)):
        time = np.repeat(program.time_s, len(radius), axis=0)
        temperature = np.repeat(program.temperature_k, len(radius), axis=0)
        factor = conditions.diffusivity_factor
        run = anneal_oxygen(content, time, temperature, GASES[gas][1], radius, factor)
        content = np.clip(run[:, -1], 6.0, 7.0)
    return content


def _melted(system: ReactionSystem, fired: ReactionResult, peak_k: float) -> bool:
    """Return whether the phases at the end were too much of a liquid at the highest temperature."""
    table = substance_table()
    masses = system.mass_fractions(fired.powder.amounts_mol)[0]
    liquid = 0.0
    for name, mass in zip(system.phase_names, masses, strict=True):
        melting_k = table.get(name).melting_k
        if melting_k is not None and melting_k <= peak_k:
            liquid += float(mass)
    return liquid > MELTED_SHARE
