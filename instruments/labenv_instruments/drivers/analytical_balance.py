"""A semi-micro balance on which samples are weighed before and after a treatment."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from labenv_instruments.trusted import trusted
from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.characterisation import Weigh
from labenv_schemas.measurement import MassReading

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MAX_REPEATS = 50


class AnalyticalBalance(InProcessTwin):
    """Weighs the whole sample in its crucible, tared."""

    kind = "analytical_balance"
    operations = frozenset({"weigh"})
    model = "labenv analytical balance twin"
    units: ClassVar[Mapping[str, str]] = {"mass_kg": "kg", "standard_uncertainty_kg": "kg"}

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse more weighings than help.

        Args:
            operation: A `Weigh`.
        """
        if isinstance(operation, Weigh):
            ensure(
                operation.repeats <= MAX_REPEATS,
                f"{operation.repeats} weighings; after {MAX_REPEATS} the drift is all that is left",
            )

    def perform(self, sample: SampleView, operation: Weigh) -> tuple[MeasurementBase, ...]:
        """Weigh the sample.

        Args:
            sample: The sample.
            operation: How often.

        Returns:
            The mean reading.
        """
        mass_kg, uncertainty_kg = sample.weigh(operation)
        reading = trusted(
            MassReading,
            mass_kg=mass_kg,
            standard_uncertainty_kg=uncertainty_kg,
            **self.stamp(sample),
        )
        return (reading,)
