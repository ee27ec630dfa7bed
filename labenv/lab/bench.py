"""The bench: what a laboratory does to powders, composed from the physics, for N samples at once.

This is the one place where dosing, mixing, pressing, firing, grinding and scanning are put together.
The twins behind the stations call it with one sample, the vector environment with N; every row is
computed by itself from its own generator, so both get the same bits.

Hidden truth lives in `BenchSamples`; only this room and `labenv.lab.audit` may look inside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.lab.timing import NATURAL_COOLING_S, QUENCH_K_PER_S
from labenv.physics import kinetics
from labenv.physics.furnace_program import HeatProgram, heat_program, stack_programs
from labenv_schemas.errors import SimulatorError
from labenv_schemas.proposal import ROOM_TEMPERATURE_K, Measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.lab.conditions import EpisodeConditions
    from labenv.lab.shelf import Shelf
    from labenv.physics.diffraction import PatternBasis
    from labenv.physics.kinetics import PowderState
    from labenv.physics.reactions import ReactionSystem
    from labenv_schemas.proposal import Heat

    Floats = NDArray[np.float64]
    Generators = Sequence[np.random.Generator]

# The dosing balance; the order of a good semi-micro balance with a powder dosing head.
DISPENSE_SD_KG, DISPENSE_SD_SHARE = 0.2e-6, 5e-4
READING_SD_KG, READING_STEP_KG = 0.02e-6, 0.01e-6
THERMOCOUPLE_SD_K = 0.3
OFFSET_REFERENCE_K = 1273.15
DEFAULT_RADIUS_M = 0.5e-6
REGRIND_TIME_S = 300.0  # a regrind of this length has done 63 % of what grinding can do
MELTED_SHARE = 0.10  # of the cations in a liquid: the charge has run into the crucible


@dataclass(frozen=True)
class BenchSamples:
    """N samples with their hidden truth.

    Attributes:
        powder: The reacting powder.
        inert_kg: Amorphous, inert mass that came with the precursors, kg, shape (N,).
    """

    powder: PowderState
    inert_kg: Floats

    def __len__(self) -> int:
        return len(self.powder)

    def rows(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> BenchSamples:
        """Return the samples that `index` selects."""
        return BenchSamples(self.powder.rows(index), self.inert_kg[index])


class Dosing(NamedTuple):
    """What dosing gave: the samples and the balance's readings, kg, shape (N, S)."""

    samples: BenchSamples
    readings_kg: Floats


class Firing(NamedTuple):
    """What a firing gave.

    Attributes:
        samples: The samples afterwards.
        peak_reading_k: Highest thermocouple reading, K, shape (N,).
        melted: Whether the charge melted and is lost, shape (N,).
    """

    samples: BenchSamples
    peak_reading_k: Floats
    melted: NDArray[np.bool_]


class ScanGrid(NamedTuple):
    """Angles of a scan: first, step (degrees 2θ), number of points."""

    start_deg: float
    step_deg: float
    points: int


def scan_grid(scan: Measure) -> ScanGrid:
    """Return the angles of a scan.

    Args:
        scan: The request.

    Returns:
        The grid; its last angle does not exceed what was asked for.
    """
    steps = (scan.two_theta_max_deg - scan.two_theta_min_deg) / scan.step_deg
    return ScanGrid(scan.two_theta_min_deg, scan.step_deg, int(np.floor(steps + 1e-6)) + 1)


@lru_cache(maxsize=64)
def grid_angles(grid: ScanGrid) -> Floats:
    """Return the angles of a grid, degrees 2θ, shape (points,), not writable."""
    angles = grid.start_deg + grid.step_deg * np.arange(grid.points)
    angles.flags.writeable = False
    return angles


def scan_angles(scan: Measure) -> Floats:
    """Return the angles of a scan, degrees 2θ, shape (points,), not writable."""
    return grid_angles(scan_grid(scan))


def firing_programs(heats: Sequence[Heat]) -> HeatProgram:
    """Return the furnace programmes of firings, as set.

    Args:
        heats: N firings.

    Returns:
        The programmes, N rows; a row's physics does not depend on the padding.
    """
    return stack_programs([
        heat_program(
            [(s.target_k, s.rate_k_per_s, s.hold_s) for s in heat.segments],
            start_k=ROOM_TEMPERATURE_K,
            end_k=ROOM_TEMPERATURE_K,
            cooling_k_per_s=QUENCH_K_PER_S if heat.cooling == "quench" else None,
            natural_cooling_s=NATURAL_COOLING_S,
        )
        for heat in heats
    ])


@dataclass(frozen=True, eq=False)
class Bench:
    """A chemical system, its shelf, and what can be done with them. Holds no state.

    Attributes:
        system: The chemical system, P phases.
        shelf: Its shelf, S substances.
    """

    system: ReactionSystem
    shelf: Shelf

    def __reduce__(self) -> tuple[object, ...]:
        return (load_bench, (self.system.name,))

    @cached_property
    def cation_names(self) -> tuple[str, ...]:
        """Elements that count as cations, C of them."""
        table, counts = self.system.tables.cation, self.system.element_counts
        return tuple(
            next(
                name
                for name, count in zip(self.system.element_names, counts.T, strict=True)
                if np.array_equal(count, table[:, 0] * share)
            )
            for share in table[:, 1:].T
        )

    @cached_property
    def cations_mol_per_kg(self) -> Floats:
        """Cations in the pure substances, mol/kg, shape (S, C)."""
        table = self.system.tables.cation
        per_phase = table[:, :1] * table[:, 1:] / self.system.molar_mass_kg_mol[:, None]
        return np.asarray(self.shelf.phase_share @ per_phase)

    def dose(
        self, requested_kg: Floats, conditions: EpisodeConditions, generators: Generators
    ) -> Dosing:
        """Weigh precursors together.

        Args:
            requested_kg: Masses asked for, kg, shape (N, S); 0 for none.
            conditions: N rows.
            generators: One a sample.

        Returns:
            The samples and what the balance displayed.
        """
        deviates = np.array([g.standard_normal((2, requested_kg.shape[1])) for g in generators])
        wanted = requested_kg > 0.0
        spread = np.hypot(DISPENSE_SD_KG, DISPENSE_SD_SHARE * requested_kg)
        mass = np.maximum(requested_kg + spread * deviates[:, 0], 0.0) * wanted  # (N, S)
        reading = mass + READING_SD_KG * deviates[:, 1]
        reading = np.maximum(np.round(reading / READING_STEP_KG) * READING_STEP_KG, 0.0) * wanted
        pure = mass * conditions.purity
        share = self.shelf.phase_share  # (S, P)
        phase_kg = pure @ share
        weight = pure[:, :, None] * share[None]  # (N, S, P)
        log_radius = np.sum(weight * np.log(conditions.particle_radius_m)[:, :, None], axis=1)
        present = phase_kg > 0.0
        radius = np.full(phase_kg.shape, DEFAULT_RADIUS_M)
        radius[present] = np.exp(log_radius[present] / phase_kg[present])
        powder = kinetics.new_powder(self.system, phase_kg / self.system.molar_mass_kg_mol, radius)
        return Dosing(BenchSamples(powder, np.sum(mass - pure, axis=1)), reading)

    def mix(self, samples: BenchSamples, method: str, duration_s: Floats) -> BenchSamples:
        """Mix in a mortar or a ball mill.

        Args:
            samples: N samples.
            method: ``"mortar"`` or ``"ball_mill"``.
            duration_s: Times, s, shape (N,).

        Returns:
            The samples afterwards.
        """
        action = kinetics.mill if method == "ball_mill" else kinetics.mix
        return replace(samples, powder=action(self.system, samples.powder, duration_s))

    def press(self, samples: BenchSamples, pressure_pa: Floats) -> BenchSamples:
        """Press pellets.

        Args:
            samples: N samples.
            pressure_pa: Pressures, Pa, shape (N,).

        Returns:
            The samples afterwards.
        """
        return replace(samples, powder=kinetics.press(samples.powder, pressure_pa))

    def regrind(self, samples: BenchSamples, duration_s: Floats) -> BenchSamples:
        """Grind fired cakes; a short grind does less.

        Args:
            samples: N samples.
            duration_s: Times, s, shape (N,).

        Returns:
            The samples afterwards.
        """
        before = samples.powder.contact
        powder = kinetics.regrind(self.system, samples.powder)
        done = -np.expm1(-np.asarray(duration_s, dtype=np.float64) / REGRIND_TIME_S)
        return replace(
            samples, powder=replace(powder, contact=before + done * (powder.contact - before))
        )

    def fire(
        self,
        samples: BenchSamples,
        heats: Sequence[Heat],
        conditions: EpisodeConditions,
        generators: Generators,
    ) -> Firing:
        """Fire samples, each by its own programme and gas.

        Args:
            samples: N samples.
            heats: N firings.
            conditions: N rows.
            generators: One a sample, for the thermocouple.

        Returns:
            The samples, readings, and which are lost.
        """
        programs = firing_programs(heats)
        excess = (programs.temperature_k - ROOM_TEMPERATURE_K) / (
            OFFSET_REFERENCE_K - ROOM_TEMPERATURE_K
        )
        true_k = programs.temperature_k + conditions.furnace_offset_k[:, None] * excess
        gases = [gas.name for gas in self.system.gases]
        pressures = [heat.partial_pressures_pa() for heat in heats]
        result = kinetics.react(
            self.system,
            samples.powder,
            HeatProgram(programs.time_s, true_k),
            np.array([[pressure.get(gas, 0.0) for gas in gases] for pressure in pressures]),
            conditions.kinetic_factor,
        )
        noise = np.array([g.standard_normal() for g in generators])
        reading = np.round(programs.peak_k + THERMOCOUPLE_SD_K * noise, 1)
        return Firing(
            replace(samples, powder=result.powder), reading, result.liquid_share > MELTED_SHARE
        )

    def scan(
        self,
        samples: BenchSamples,
        scans: Sequence[Measure],
        conditions: EpisodeConditions,
        generators: Generators,
    ) -> Floats:
        """Take diffractograms on one angle grid.

        Args:
            samples: N samples.
            scans: N requests with the same angles; scan times may differ.
            conditions: N rows.
            generators: One a sample: its mounting, then its counts.

        Returns:
            Counts, shape (N, points).

        Raises:
            SimulatorError: If the scans' angles differ.
        """
        from labenv.physics.diffraction import SampleBatch, ScanBatch
        from labenv.physics.noise import poisson_counts

        grid = scan_grid(scans[0])
        if any(scan_grid(scan) != grid for scan in scans[1:]):
            raise SimulatorError("scans of one batch must have the same angles")
        mounting = np.array([g.standard_normal() for g in generators])
        seconds = np.array([scan.scan_time_s for scan in scans]) / grid.points
        mean = self.pattern_basis(grid).mean_counts(
            SampleBatch(self.mass_fractions(samples)[:, :-1], samples.powder.crystallite_m),
            ScanBatch(
                seconds_per_step=seconds,
                displacement_m=conditions.displacement_sd_m * mounting,
                zero_deg=conditions.zero_shift_deg,
                brightness=conditions.brightness,
                background=conditions.background,
            ),
        )
        return poisson_counts(mean, generators)

    def pattern_basis(self, grid: ScanGrid) -> PatternBasis:
        """Return the patterns of the system's phases on an angle grid; made once a grid."""
        return _pattern_basis(self.system.structures, grid)

    def mass_kg(self, samples: BenchSamples) -> Floats:
        """Return the masses of samples, kg, shape (N,)."""
        return samples.powder.amounts_mol @ self.system.molar_mass_kg_mol + samples.inert_kg

    def mass_fractions(self, samples: BenchSamples) -> Floats:
        """Return true mass fractions of samples.

        Args:
            samples: N samples.

        Returns:
            Each phase's share of the mass, then the amorphous share, shape (N, P + 1).
        """
        mass = np.column_stack([
            samples.powder.amounts_mol * self.system.molar_mass_kg_mol,
            samples.inert_kg,
        ])
        return mass / np.sum(mass, axis=1, keepdims=True)


@lru_cache(maxsize=16)
def _pattern_basis(structures: tuple[str, ...], grid: ScanGrid) -> PatternBasis:
    from labenv.physics.diffraction import DiffractometerSpec, PatternBasis
    from labenv.physics.structures.library import phase_library

    library = phase_library()
    spec = DiffractometerSpec(start_deg=grid.start_deg, step_deg=grid.step_deg, points=grid.points)
    # TEMPORARY while the structure library grows: a missing phase borrows rutile's place.
    names = [name if name in library else "BaTiO3-cubic" for name in structures]
    return PatternBasis(tuple(library.get(name) for name in names), spec)


@lru_cache(maxsize=8)
def load_bench(system_name: str = "Ba-Ti-C-O") -> Bench:
    """Return the bench of a chemical system.

    Args:
        system_name: Name of the system.

    Returns:
        The bench; the same object for the same name.
    """
    from labenv.lab.shelf import load_shelf
    from labenv.physics.reactions import load_system

    return Bench(load_system(system_name), load_shelf(system_name))


__all__ = [
    "Bench",
    "BenchSamples",
    "Dosing",
    "Firing",
    "ScanGrid",
    "firing_programs",
    "grid_angles",
    "load_bench",
    "scan_angles",
    "scan_grid",
]
