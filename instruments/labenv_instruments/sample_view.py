"""The only door through which matter reaches a simulated instrument.

A twin knows nothing of chemistry: it asks the sample that lies in it what happens, and reports
what a real instrument would display. The simulated laboratory implements this protocol; a real
driver has no use for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from labenv_schemas.characterisation import (
        MeasureComposition,
        MeasureDensity,
        MeasureMagnetisation,
        MeasureResistance,
        Weigh,
    )
    from labenv_schemas.measurement import QualityFlag
    from labenv_schemas.proposal import Dose, Heat, Measure, Mix, Press, Regrind


class Unknown(NamedTuple):
    """What a sample answers where nobody knows the answer.

    Attributes:
        reason: Why there is no number.
    """

    reason: str


class ResistanceSeen(NamedTuple):
    """What thermometer and voltmeter of a cryostat show.

    Attributes:
        temperature_k: K, shape (n,).
        resistance_ohm: Ohm, shape (n,).
        contact_distance_m: Of the voltage contacts, by the caliper, m.
        cross_section_m2: Of the bar, by the caliper, m².
        flags: What a reader must know.
    """

    temperature_k: NDArray[np.float64]
    resistance_ohm: NDArray[np.float64]
    contact_distance_m: float
    cross_section_m2: float
    flags: tuple[QualityFlag, ...] = ()


class MomentSeen(NamedTuple):
    """What a magnetometer shows.

    Attributes:
        temperature_k: K, shape (n,).
        moment_a_m2: A·m², shape (n,).
        volume_m3: Of the chip without pores, from its mass and density, m³.
        flags: What a reader must know.
    """

    temperature_k: NDArray[np.float64]
    moment_a_m2: NDArray[np.float64]
    volume_m3: float
    flags: tuple[QualityFlag, ...] = ()


class CompositionSeen(NamedTuple):
    """What an X-ray spectrum shows: elements, mass fractions and uncertainties, each (n,)."""

    elements: tuple[str, ...]
    mass_fraction: NDArray[np.float64]
    standard_uncertainty: NDArray[np.float64]


class SampleView(Protocol):
    """A sample in an instrument: what can be done to it, and what a sensor sees of it."""

    @property
    def sample_id(self) -> str:
        """Name on the vial."""
        ...

    def dispense(self, dose: Dose) -> Mapping[str, float]:
        """Fill the vial; return the balance's reading of each substance, kg."""
        ...

    def mix(self, mix: Mix) -> None:
        """Mix the powder."""
        ...

    def press(self, press: Press) -> None:
        """Press the powder into a pellet."""
        ...

    def fire(self, heat: Heat) -> float:
        """Fire the sample; return the thermocouple's highest reading, K."""
        ...

    def regrind(self, regrind: Regrind) -> None:
        """Grind the fired powder."""
        ...

    def diffraction(self, scan: Measure) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scan the sample; return angles, degrees 2θ, and detector counts, each shape (n,)."""
        ...

    def resistance(self, run: MeasureResistance) -> ResistanceSeen | Unknown:
        """Measure a bar's resistance against temperature."""
        ...

    def magnetisation(self, run: MeasureMagnetisation) -> MomentSeen | Unknown:
        """Measure a chip's moment against temperature."""
        ...

    def weigh(self, weigh: Weigh) -> tuple[float, float]:
        """Weigh all of it; return reading and standard uncertainty, kg."""
        ...

    def density(self, run: MeasureDensity) -> tuple[float, float]:
        """Return density and standard uncertainty in helium, kg/m³."""
        ...

    def composition(self, run: MeasureComposition) -> CompositionSeen | Unknown:
        """Return what an X-ray spectrum of the sample shows."""
        ...


__all__ = ["CompositionSeen", "MomentSeen", "ResistanceSeen", "SampleView", "Unknown"]
