"""A sample in the simulated lab, and the view of it that twins get.

Truth (phases, crystallite sizes) is private to this room. What an operation does to the sample is a
function of the episode's seed, the experiment's index and the operations before, so a sample whose
past was read from a journal is brought up to date by living through it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.lab.bench import scan_angles
from labenv.lab.streams import stream
from labenv_schemas.errors import SimulatorError
from labenv_schemas.proposal import Dose, Heat, Measure, Mix, Press, Regrind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from labenv.lab.bench import Bench, BenchSamples
    from labenv.lab.conditions import EpisodeConditions
    from labenv_instruments.sample_view import CompositionSeen, MomentSeen, ResistanceSeen, Unknown
    from labenv_schemas.characterisation import (
        MeasureComposition,
        MeasureDensity,
        MeasureMagnetisation,
        MeasureResistance,
        Weigh,
    )
    from labenv_schemas.proposal import Operation

    Floats = NDArray[np.float64]

MELTED = (
    "the charge melted and ran into the crucible; the sample is lost. Fire lower, or keep the "
    "composition away from the melt, for instance by a longer hold below it first"
)


@dataclass(frozen=True)
class World:
    """What all samples of an episode share.

    Attributes:
        bench: The chemical system and its shelf.
        conditions: The episode's hidden conditions, one row.
        seed: The episode's seed.
    """

    bench: Bench
    conditions: EpisodeConditions
    seed: int


class BenchSample:
    """One sample and its hidden truth; implements `labenv_instruments.SampleView`.

    Args:
        world: What it shares with the others of its episode.
        sample_id: Name on the vial.
        experiment_index: Key of its random streams.
    """

    def __init__(self, world: World, sample_id: str, experiment_index: int) -> None:
        self._world = world
        self._sample_id = sample_id
        self._index = experiment_index
        self._operation = 0
        self._truth: BenchSamples | None = None
        self._scanned: BenchSamples | None = None
        self._lost: str | None = None

    @property
    def sample_id(self) -> str:
        """Name on the vial."""
        return self._sample_id

    @property
    def index(self) -> int:
        """Number of the experiment."""
        return self._index

    @property
    def lost(self) -> str | None:
        """Why there is nothing left of it, or None."""
        return self._lost

    @property
    def operations_done(self) -> int:
        """How many operations of its plan the truth has been through."""
        return self._operation

    @property
    def true_samples(self) -> BenchSamples | None:
        """The truth when it was last scanned, or else now; for `labenv.lab.audit` only."""
        return self._scanned if self._scanned is not None else self._truth

    def catch_up(self, operations: Sequence[Operation]) -> None:
        """Live through operations whose results were read from a journal.

        Args:
            operations: All operations of the plan that are done.
        """
        for operation in operations[self._operation :]:
            self._live_through(operation)

    def dispense(self, dose: Dose) -> dict[str, float]:
        """Fill the vial.

        Args:
            dose: By mass, see `labenv.lab.interlocks.weighed`.

        Returns:
            The balance's reading of each substance, kg.
        """
        shelf = self._world.bench.shelf
        columns = [shelf.index(precursor.substance) for precursor in dose.precursors]
        requested = np.zeros((1, len(shelf.substances)))
        for column, precursor in zip(columns, dose.precursors, strict=True):
            requested[0, column] += precursor.mass_kg or shelf.mass_kg(precursor)
        given = self._world.bench.dose(
            requested, self._world.conditions, [self._stream("dosing_balance")]
        )
        self._advance(given.samples)
        readings = given.readings_kg[0]
        return {shelf.substances[column].name: float(readings[column]) for column in columns}

    def mix(self, mix: Mix) -> None:
        """Mix the powder."""
        duration = np.array([mix.duration_s])
        self._advance(self._world.bench.mix(self._matter(), mix.method, duration))

    def press(self, press: Press) -> None:
        """Press the powder into a pellet."""
        pressure = np.array([press.pressure_pa])
        self._advance(self._world.bench.press(self._matter(), pressure))

    def regrind(self, regrind: Regrind) -> None:
        """Grind the fired powder."""
        duration = np.array([regrind.duration_s])
        self._advance(self._world.bench.regrind(self._matter(), duration))

    def fire(self, heat: Heat) -> float:
        """Fire the sample.

        Args:
            heat: The programme.

        Returns:
            The thermocouple's highest reading, K.
        """
        generators = [self._stream("tube_furnace")]
        fired = self._world.bench.fire(self._matter(), [heat], self._world.conditions, generators)
        self._advance(fired.samples)
        if fired.melted[0]:
            self._lost = MELTED
        return float(fired.peak_reading_k[0])

    def diffraction(self, scan: Measure) -> tuple[Floats, Floats]:
        """Scan the sample.

        Args:
            scan: Angles and time.

        Returns:
            Angles, degrees 2θ, and counts, each shape (n,).
        """
        matter = self._matter()
        counts = self._world.bench.scan(
            matter, [scan], self._world.conditions, [self._stream("powder_diffractometer")]
        )
        self._scanned = matter
        self._advance(matter)
        return scan_angles(scan), counts[0]

    def resistance(self, run: MeasureResistance) -> ResistanceSeen | Unknown:
        """Measure a bar's resistance.

        Args:
            run: Temperatures, current and field.

        Returns:
            Readings, or why there are none.
        """
        from labenv.lab import characterising
        from labenv.lab.specimen import see_resistance

        matter, rng = self._matter(), self._stream("cryostat")
        self._advance(matter)
        return see_resistance(characterising.specimen_of(self._world.bench, matter), run, rng)

    def magnetisation(self, run: MeasureMagnetisation) -> MomentSeen | Unknown:
        """Measure a chip's moment.

        Args:
            run: Temperatures, field and chip.

        Returns:
            Readings, or why there are none.
        """
        from labenv.lab import characterising
        from labenv.lab.specimen import see_moment

        bench, matter, rng = self._world.bench, self._matter(), self._stream("magnetometer")
        self._advance(matter)
        volume = characterising.solid_volume_m3(bench, matter).sum() / bench.mass_kg(matter)[0]
        specimen = characterising.specimen_of(bench, matter)
        return see_moment(specimen, run, float(run.chip_kg * volume), rng)

    def weigh(self, weigh: Weigh) -> tuple[float, float]:
        """Weigh all of it.

        Args:
            weigh: How often.

        Returns:
            Reading and standard uncertainty, kg.
        """
        from labenv.lab.characterising import see_mass

        matter, rng = self._matter(), self._stream("analytical_balance")
        self._advance(matter)
        return see_mass(self._world.bench, matter, weigh, rng)

    def density(self, run: MeasureDensity) -> tuple[float, float]:
        """Measure the density in helium.

        Args:
            run: Purges.

        Returns:
            Reading and standard uncertainty, kg/m³.
        """
        from labenv.lab.characterising import see_density

        matter, rng = self._matter(), self._stream("gas_pycnometer")
        self._advance(matter)
        return see_density(self._world.bench, matter, run, rng)

    def composition(self, run: MeasureComposition) -> CompositionSeen | Unknown:
        """Count the sample's X-rays.

        Args:
            run: Time of counting.

        Returns:
            Elements, mass fractions and uncertainties, or why there are none.
        """
        from labenv.lab.characterising import see_composition

        matter, rng = self._matter(), self._stream("electron_microscope")
        self._advance(matter)
        return see_composition(self._world.bench, matter, run, rng)

    def _live_through(self, operation: Operation) -> None:
        match operation:
            case Dose():
                self.dispense(operation)
            case Mix():
                self.mix(operation)
            case Press():
                self.press(operation)
            case Heat():
                self.fire(operation)
            case Regrind():
                self.regrind(operation)
            case Measure():
                self.diffraction(operation)
            case _:  # measurements leave the matter as it is, and have streams of their own
                self._advance(self._matter())

    def _matter(self) -> BenchSamples:
        if self._truth is None or self._lost is not None:
            raise SimulatorError(f"sample {self._sample_id}: there is nothing left to work on")
        return self._truth

    def _advance(self, truth: BenchSamples) -> None:
        self._truth = truth
        self._operation += 1

    def _stream(self, instrument: str) -> np.random.Generator:
        return stream(self._world.seed, instrument, self._index, self._operation)


__all__ = ["BenchSample", "World"]
