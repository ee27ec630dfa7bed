"""The bench: what a laboratory does to powders, composed from the physics, for N samples at once.

This is the one place where dosing, mixing, pressing, firing, grinding and scanning are put
together. The twins behind the stations call it with one sample, the vector environment with N;
every row is computed by itself from its own generator, so both get the same bits. It is one class,
hence its length.

Hidden truth lives in `BenchSamples`; only this room and `labenv.lab.audit` may look inside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from labenv.lab.diffuse import diffuse_levels
from labenv.lab.operation_arrays import (
    ScanGrid,
    firing_programs,
    grid_angles,
    scan_angles,
    scan_grid,
)
from labenv.physics import kinetics, systems
from labenv.physics.furnace_program import HeatProgram
from labenv_schemas.errors import SimulatorError
from labenv_schemas.proposal import ROOM_TEMPERATURE_K

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.lab.conditions import EpisodeConditions
    from labenv.lab.shelf import Shelf
    from labenv.physics.diffraction import PatternBasis
    from labenv.physics.kinetics import PowderState
    from labenv.physics.reactions import ReactionSystem
    from labenv_schemas.proposal import Heat, Measure

    Floats = NDArray[np.float64]
    Generators = Sequence[np.random.Generator]

# The dosing balance; the order of a good semi-micro balance with a powder dosing head.
DISPENSE_SD_KG, DISPENSE_SD_SHARE = 0.2e-6, 5e-4
READING_SD_KG, READING_STEP_KG = 0.02e-6, 0.01e-6
THERMOCOUPLE_SD_K = 0.3
OFFSET_REFERENCE_K = 1273.15
LOG_RADIUS = float(np.log(0.5e-6))  # of phases that are not there; any will do
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
        peak_reading_k: Highest thermocouple reading, K, shape (N,); nan where nobody read it.
        melted: Whether the charge melted and is lost, shape (N,).
    """

    samples: BenchSamples
    peak_reading_k: Floats
    melted: NDArray[np.bool_]


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
        from labenv.lab.shelf import cation_names

        return cation_names(self.system)

    @cached_property
    def diffracting(self) -> tuple[int, ...]:
        """Indices of the phases whose crystal structure is known; others scatter like glass."""
        from labenv.physics.structures.library import phase_library

        library = phase_library()
        return tuple(p for p, name in enumerate(self.system.structures) if name in library)

    @cached_property
    def _log_march(self) -> Floats:
        """Logarithm of each phase's usual March coefficient, 0 for no preference, shape (P,)."""
        habits = self.system.habits
        march: Floats = np.array([1.0 if h is None else h.march_r for h in habits])
        return np.log(march)

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
        shape = (2, requested_kg.shape[1])
        return self.weigh(
            requested_kg, conditions, np.array([g.standard_normal(shape) for g in generators])
        )

    def weigh(
        self, requested_kg: Floats, conditions: EpisodeConditions, deviates: Floats
    ) -> Dosing:
        """Weigh precursors together; `dose` for callers that have drawn the balance's errors.

        Args:
            requested_kg: Masses asked for, kg, shape (N, S); 0 for none.
            conditions: N rows.
            deviates: Standard normal errors of dispensing and of reading, shape (N, 2, S).

        Returns:
            The samples and what the balance displayed.
        """
        wanted = requested_kg > 0.0
        spread = np.hypot(DISPENSE_SD_KG, DISPENSE_SD_SHARE * requested_kg)
        mass = np.maximum(requested_kg + spread * deviates[:, 0], 0.0) * wanted  # (N, S)
        reading = np.rint((mass + READING_SD_KG * deviates[:, 1]) / READING_STEP_KG)
        reading = np.maximum(reading * READING_STEP_KG, 0.0) * wanted
        pure = mass * conditions.purity
        # No matrix products: their last bit may depend on the number of rows.
        terms = np.array([pure, pure * np.log(conditions.particle_radius_m)])  # (2, N, S)
        phase_kg, log_radius = (terms[..., None] * self.shelf.phase_share).sum(axis=2)  # (N, P)
        mean = np.divide(
            log_radius, phase_kg, out=np.full_like(phase_kg, LOG_RADIUS), where=phase_kg > 0.0
        )
        amounts = phase_kg / self.system.molar_mass_kg_mol
        powder = kinetics.new_powder(self.system, amounts, np.exp(mean))
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
        return BenchSamples(action(self.system, samples.powder, duration_s), samples.inert_kg)

    def press(self, samples: BenchSamples, pressure_pa: Floats) -> BenchSamples:
        """Press pellets.

        Args:
            samples: N samples.
            pressure_pa: Pressures, Pa, shape (N,).

        Returns:
            The samples afterwards.
        """
        return BenchSamples(kinetics.press(samples.powder, pressure_pa), samples.inert_kg)

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
        contact = before + done * (powder.contact - before)
        return BenchSamples(replace(powder, contact=contact), samples.inert_kg)

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
        gases = [gas.name for gas in self.system.gases]
        pressures = [heat.partial_pressures_pa() for heat in heats]
        gas_pa = np.array([[pressure.get(gas, 0.0) for gas in gases] for pressure in pressures])
        return self.fire_programs(samples, firing_programs(heats), gas_pa, conditions, generators)

    def fire_programs(
        self,
        samples: BenchSamples,
        programs: HeatProgram,
        gas_pa: Floats,
        conditions: EpisodeConditions,
        generators: Generators | None,
    ) -> Firing:
        """Fire samples by furnace programmes as set; `fire` for callers that have arrays.

        Args:
            samples: N samples.
            programs: N rows, as set on the controller.
            gas_pa: Partial pressures, Pa, shape (N, G), in the order of the system's gases.
            conditions: N rows.
            generators: One a sample, for the thermocouple; `None` if nobody reads it.

        Returns:
            The samples, readings, and which are lost.
        """
        excess = (programs.temperature_k - ROOM_TEMPERATURE_K) / (
            OFFSET_REFERENCE_K - ROOM_TEMPERATURE_K
        )
        true_k = programs.temperature_k + conditions.furnace_offset_k[:, None] * excess
        result = systems.react(
            self.system,
            samples.powder,
            HeatProgram(programs.time_s, true_k),
            gas_pa,
            conditions.kinetic_factor,
        )
        reading = np.full(len(samples), np.nan)
        if generators is not None:
            noise = np.array([g.standard_normal() for g in generators])
            peak_k = programs.temperature_k.max(axis=1)
            reading = np.round(peak_k + THERMOCOUPLE_SD_K * noise, 1)
        return Firing(
            BenchSamples(result.powder, samples.inert_kg),
            reading,
            result.liquid_share > MELTED_SHARE,
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
        grid = scan_grid(scans[0])
        if any(scan_grid(scan) != grid for scan in scans[1:]):
            raise SimulatorError("scans of one batch must have the same angles")
        seconds = np.array([scan.scan_time_s for scan in scans])
        return self.scan_grid(samples, grid, seconds, conditions, generators)

    def scan_grid(
        self,
        samples: BenchSamples,
        grid: ScanGrid,
        scan_s: Floats,
        conditions: EpisodeConditions,
        generators: Generators,
    ) -> Floats:
        """Take diffractograms on an angle grid; `scan` for callers that have arrays.

        Args:
            samples: N samples.
            grid: The angles.
            scan_s: Scan times, s, shape (N,).
            conditions: N rows.
            generators: One a sample: its mounting, then its counts.

        Returns:
            Counts, shape (N, points).
        """
        from labenv.physics.noise import poisson_counts

        mounting = np.array([g.standard_normal() for g in generators])
        filling = np.array([g.random() for g in generators])
        mean = self.mean_scan(samples, grid, scan_s, conditions, (mounting, filling))
        return poisson_counts(mean, generators, mean)

    def mean_scan(
        self,
        samples: BenchSamples,
        grid: ScanGrid,
        scan_s: Floats,
        conditions: EpisodeConditions,
        mounts: tuple[Floats, Floats],
    ) -> Floats:
        """Return the counts that diffractograms would have without counting noise.

        Args:
            samples: N samples.
            grid: The angles.
            scan_s: Scan times, s, shape (N,).
            conditions: N rows.
            mounts: How high each sample stands, a standard normal deviate, and how tightly it is
                filled, uniform from 0 to 1; each shape (N,).

        Returns:
            Expected counts, shape (N, points).
        """
        from labenv.physics.diffraction import SampleBatch, ScanBatch

        # Filled loosely or tightly: the logarithm of March's coefficient is 0 to twice the usual.
        tightness = 2.0 * mounts[1]
        seen = list(self.diffracting)
        shares = self.mass_fractions(samples)
        haze = (shares[:, :-1] * self._haze(grid)).sum(axis=1) * conditions.brightness
        return self.pattern_basis(grid).mean_counts(
            SampleBatch(
                shares[:, seen],
                samples.powder.crystallite_m[:, seen],
                np.exp(tightness[:, None] * self._log_march[seen]),
            ),
            ScanBatch(
                seconds_per_step=scan_s / grid.points,
                displacement_m=conditions.displacement_sd_m * mounts[0],
                zero_deg=conditions.zero_shift_deg,
                brightness=conditions.brightness,
                background=conditions.background + haze,
            ),
        )

    def _haze(self, grid: ScanGrid) -> Floats:
        """Return how bright phases are without lines; 0 for known structures, shape (P,)."""
        seen = frozenset(self.diffracting)
        return diffuse_levels(
            [{} if p in seen else phase.elements for p, phase in enumerate(self.system.phases)],
            grid,
        )

    def pattern_basis(self, grid: ScanGrid) -> PatternBasis:
        """Return the patterns of the phases in `diffracting` on an angle grid; made once a grid."""
        system = self.system
        planes = tuple(
            (system.structures[p], habit.plane)
            for p in self.diffracting
            if (habit := system.habits[p]) is not None
        )
        return _pattern_basis(tuple(system.structures[p] for p in self.diffracting), planes, grid)

    def mass_kg(self, samples: BenchSamples) -> Floats:
        """Return the masses of samples, kg, shape (N,)."""
        mass = samples.powder.amounts_mol * self.system.molar_mass_kg_mol
        return np.asarray(np.sum(mass, axis=1) + samples.inert_kg)

    def mass_fractions(self, samples: BenchSamples) -> Floats:
        """Return true mass fractions of samples.

        Args:
            samples: N samples.

        Returns:
            Each phase's share of the mass, then the amorphous share, shape (N, P + 1).
        """
        phases = samples.powder.amounts_mol * self.system.molar_mass_kg_mol
        mass = np.concatenate([phases, samples.inert_kg[:, None]], axis=1)
        return np.asarray(mass / mass.sum(axis=1, keepdims=True))


@lru_cache(maxsize=16)
def _pattern_basis(
    structures: tuple[str, ...],
    planes: tuple[tuple[str, tuple[int, int, int]], ...],
    grid: ScanGrid,
) -> PatternBasis:
    from labenv.physics.diffraction import DiffractometerSpec, PatternBasis
    from labenv.physics.structures.library import phase_library

    library = phase_library()
    spec = DiffractometerSpec(start_deg=grid.start_deg, step_deg=grid.step_deg, points=grid.points)
    return PatternBasis(tuple(library.get(name) for name in structures), spec, dict(planes))


def load_bench(system_name: str = "Ba-Ti-C-O") -> Bench:
    """Return the bench of a chemical system.

    Args:
        system_name: Name of the system.

    Returns:
        The bench; the same object for the same name, of the eight last asked for.
    """
    return _load_bench(system_name)


@lru_cache(maxsize=8)
def _load_bench(system_name: str) -> Bench:
    from labenv.lab.shelf import load_shelf
    from labenv.physics.systems import load_system

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
