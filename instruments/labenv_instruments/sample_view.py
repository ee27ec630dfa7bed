"""The only door through which matter reaches a simulated instrument.

A twin knows nothing of chemistry: it asks the sample that lies in it what happens, and reports
what a real instrument would display. The simulated laboratory implements this protocol; a real
driver has no use for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from labenv_schemas.proposal import Dose, Heat, Measure, Mix, Press, Regrind


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


__all__ = ["SampleView"]
