"""A scanning electron microscope with an energy-dispersive X-ray detector (EDS)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from labenv_instruments.sample_view import Unknown
from labenv_instruments.trusted import trusted
from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.characterisation import MeasureComposition
from labenv_schemas.measurement import CompositionReading, QualityFlag, Unmeasured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MIN_LIVE_S, MAX_LIVE_S = 10.0, 4 * 3600.0
# No usable X-ray line through a thin window: Goldstein et al., Scanning Electron Microscopy and
# X-Ray Microanalysis, 4th ed. (2018).
BLIND_TO = ("H", "He", "Li", "Be")
BORON = QualityFlag(
    code="boron_weak", message="boron's line is weak and absorbed; its share is uncertain by 15 %"
)
BLIND = QualityFlag(
    code="light_elements_unseen",
    message="H, He, Li and Be are not seen; the others are normalised to 1 as if there were none",
)


class ElectronMicroscope(InProcessTwin):
    """Counts the characteristic X-rays of a powder; blind to what is lighter than boron."""

    kind = "electron_microscope"
    operations = frozenset({"measure_composition"})
    model = "labenv electron microscope twin"
    units: ClassVar[Mapping[str, str]] = {
        "mass_fraction": "kg/kg",
        "standard_uncertainty": "kg/kg",
    }

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse counting times that are no use.

        Args:
            operation: A `MeasureComposition`.
        """
        if isinstance(operation, MeasureComposition):
            ensure(
                MIN_LIVE_S <= operation.live_time_s <= MAX_LIVE_S,
                f"a spectrum is counted for {MIN_LIVE_S:g} s to {MAX_LIVE_S / 3600:g} h, not "
                f"{operation.live_time_s:.3g} s",
            )

    def perform(
        self, sample: SampleView, operation: MeasureComposition
    ) -> tuple[MeasurementBase, ...]:
        """Count X-rays.

        Args:
            sample: The sample.
            operation: Time.

        Returns:
            The composition, or that nothing is seen.
        """
        seen = sample.composition(operation)
        stamp = self.stamp(sample)
        if isinstance(seen, Unknown):
            return (trusted(Unmeasured, technique="eds", reason=seen.reason, **stamp),)
        fraction, spread = np.array(seen.mass_fraction), np.array(seen.standard_uncertainty)
        fraction.flags.writeable = spread.flags.writeable = False
        reading = trusted(
            CompositionReading,
            elements=seen.elements,
            mass_fraction=fraction,
            standard_uncertainty=spread,
            blind_to=BLIND_TO,
            flags=(BLIND, BORON) if "B" in seen.elements else (BLIND,),
            **stamp,
        )
        return (reading,)
