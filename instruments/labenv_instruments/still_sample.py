"""A sample to try twins with: it does nothing, and its sensors show plausible numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from labenv_instruments.sample_view import CompositionSeen, MomentSeen, ResistanceSeen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv_schemas.characterisation import (
        MeasureComposition,
        MeasureDensity,
        MeasureMagnetisation,
        MeasureResistance,
        Weigh,
    )
    from labenv_schemas.proposal import Dose, Heat, Measure, Mix, Press, Regrind


class StillSample:
    """Implements `SampleView` without any chemistry.

    Args:
        sample_id: Name on the vial.
        seed: Of the counts.
        broken: Whether every sensor shows what no sensor shows (NaN).
    """

    def __init__(self, sample_id: str = "sample-1", *, seed: int = 0, broken: bool = False) -> None:
        self._sample_id = sample_id
        self._rng = np.random.default_rng(seed)
        self._broken = broken
        self.done: list[str] = []

    @property
    def sample_id(self) -> str:
        """Name on the vial."""
        return self._sample_id

    def dispense(self, dose: Dose) -> dict[str, float]:
        """Show the masses asked for.

        Args:
            dose: By mass.

        Returns:
            The masses, kg.
        """
        self.done.append("dose")
        return {p.substance: self._show(p.mass_kg or 1e-3) for p in dose.precursors}

    def mix(self, mix: Mix) -> None:
        """Take note."""
        self.done.append(mix.op)

    def press(self, press: Press) -> None:
        """Take note."""
        self.done.append(press.op)

    def fire(self, heat: Heat) -> float:
        """Show the programme's peak.

        Args:
            heat: The programme.

        Returns:
            Its highest temperature, K.
        """
        self.done.append("heat")
        return self._show(heat.peak_k)

    def regrind(self, regrind: Regrind) -> None:
        """Take note."""
        self.done.append(regrind.op)

    def diffraction(self, scan: Measure) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Show a background.

        Args:
            scan: Angles and time.

        Returns:
            Angles, degrees 2θ, and counts.
        """
        self.done.append("measure")
        angles = np.arange(scan.two_theta_min_deg, scan.two_theta_max_deg, scan.step_deg)
        return angles, self._show(1.0) * self._rng.poisson(100.0, angles.size).astype(np.float64)

    def resistance(self, run: MeasureResistance) -> ResistanceSeen:
        """Show a metal.

        Args:
            run: Temperatures.

        Returns:
            Readings.
        """
        self.done.append(run.op)
        t = run.temperatures_k()
        return ResistanceSeen(t, self._show(1e-5) * t, 4e-3, 4e-6)

    def magnetisation(self, run: MeasureMagnetisation) -> MomentSeen:
        """Show a paramagnet.

        Args:
            run: Temperatures.

        Returns:
            Readings.
        """
        self.done.append(run.op)
        t = run.temperatures_k()
        return MomentSeen(t, self._show(1e-8) / t, 1e-9)

    def weigh(self, weigh: Weigh) -> tuple[float, float]:
        """Show a gram.

        Args:
            weigh: How often.

        Returns:
            Reading and uncertainty, kg.
        """
        self.done.append(weigh.op)
        return self._show(1e-3), 2e-8

    def density(self, run: MeasureDensity) -> tuple[float, float]:
        """Show the density of a ceramic.

        Args:
            run: Purges.

        Returns:
            Reading and uncertainty, kg/m³.
        """
        self.done.append(run.op)
        return self._show(6000.0), 10.0

    def composition(self, run: MeasureComposition) -> CompositionSeen:
        """Show titania.

        Args:
            run: Time.

        Returns:
            Elements, fractions, uncertainties.
        """
        self.done.append(run.op)
        seen = self._show(1.0) * np.array([0.6, 0.4])
        return CompositionSeen(("Ti", "O"), seen, np.array([0.02, 0.02]))

    def _show(self, number: float) -> float:
        return float("nan") if self._broken else number


__all__ = ["StillSample"]
