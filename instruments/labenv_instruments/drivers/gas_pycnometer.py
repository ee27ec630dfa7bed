"""A helium pycnometer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from labenv_instruments.trusted import trusted
from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.characterisation import MeasureDensity
from labenv_schemas.measurement import DensityReading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MIN_PURGES, MAX_PURGES = 3, 100


class GasPycnometer(InProcessTwin):
    """Measures the volume that helium does not enter, and so the density without open pores."""

    kind = "gas_pycnometer"
    operations = frozenset({"measure_density"})
    model = "labenv gas pycnometer twin"
    units: ClassVar[Mapping[str, str]] = {
        "density_kg_m3": "kg/m^3",
        "standard_uncertainty_kg_m3": "kg/m^3",
    }

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse too few or too many purges.

        Args:
            operation: A `MeasureDensity`.
        """
        if isinstance(operation, MeasureDensity):
            ensure(
                MIN_PURGES <= operation.purges <= MAX_PURGES,
                f"{operation.purges} purges; {MIN_PURGES} at least drive the air out, and "
                f"{MAX_PURGES} at most are programmed",
            )

    def perform(self, sample: SampleView, operation: MeasureDensity) -> tuple[MeasurementBase, ...]:
        """Measure the density.

        Args:
            sample: The sample.
            operation: Purges.

        Returns:
            The reading.
        """
        density_kg_m3, uncertainty_kg_m3 = sample.density(operation)
        reading = trusted(
            DensityReading,
            density_kg_m3=density_kg_m3,
            standard_uncertainty_kg_m3=uncertainty_kg_m3,
            **self.stamp(sample),
        )
        return (reading,)
