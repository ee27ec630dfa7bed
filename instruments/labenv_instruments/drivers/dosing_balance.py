"""A balance with a powder dosing head."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from labenv_instruments.trusted import trusted
from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.measurement import MassReading
from labenv_schemas.proposal import Dose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MIN_DOSE_KG = 2.0e-6
MIN_TOTAL_KG = 100.0e-6
MAX_TOTAL_KG = 12.0e-3
READING_UNCERTAINTY_KG = 0.02e-6


class DosingBalance(InProcessTwin):
    """Weighs precursors into a vial of 20 ml; doses below 2 mg are lost in the head's scatter."""

    kind = "dosing_balance"
    operations = frozenset({"dose"})
    model = "labenv dosing balance twin"
    units: ClassVar[Mapping[str, str]] = {"mass_kg": "kg", "standard_uncertainty_kg": "kg"}

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse doses and totals that the balance cannot weigh; doses by amount are not seen.

        Args:
            operation: A `Dose`, by mass.
        """
        if not isinstance(operation, Dose):
            return
        total_kg = 0.0
        for dose in operation.precursors:
            if dose.mass_kg is None:
                return
            ensure(
                dose.mass_kg >= MIN_DOSE_KG,
                f"{dose.mass_kg * 1e6:.3g} mg of {dose.substance} is below the balance's smallest "
                f"dose of {MIN_DOSE_KG * 1e6:g} mg; leave it out or scale all doses up",
            )
            total_kg += dose.mass_kg
        ensure(
            total_kg <= MAX_TOTAL_KG,
            f"the doses add up to {total_kg * 1e3:.3g} g but the vial holds "
            f"{MAX_TOTAL_KG * 1e3:g} g; multiply all doses by "
            f"{0.98 * MAX_TOTAL_KG / max(total_kg, MAX_TOTAL_KG):.2g}",
        )
        ensure(
            total_kg >= MIN_TOTAL_KG,
            f"the doses add up to {total_kg * 1e6:.3g} mg; a scan needs at least "
            f"{MIN_TOTAL_KG * 1e6:g} mg of powder, so scale all doses up",
        )

    def perform(self, sample: SampleView, operation: Dose) -> tuple[MeasurementBase, ...]:
        """Weigh every precursor.

        Args:
            sample: The vial.
            operation: The doses.

        Returns:
            One reading a substance, in the order of the doses.
        """
        stamp = self.stamp(sample)
        return tuple(
            trusted(
                MassReading,
                mass_kg=mass_kg,
                standard_uncertainty_kg=READING_UNCERTAINTY_KG,
                substance=substance,
                **stamp,
            )
            for substance, mass_kg in sample.dispense(operation).items()
        )
