"""A uniaxial pellet press."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.proposal import Press

if TYPE_CHECKING:
    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MIN_PRESSURE_PA = 5.0e6
MAX_PRESSURE_PA = 500.0e6


class PelletPress(InProcessTwin):
    """Presses pellets of 13 mm diameter."""

    kind = "pellet_press"
    operations = frozenset({"press"})
    model = "labenv pellet press twin"

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse pressures that make no pellet or break the die.

        Args:
            operation: A `Press`.
        """
        if not isinstance(operation, Press):
            return
        ensure(
            MIN_PRESSURE_PA <= operation.pressure_pa <= MAX_PRESSURE_PA,
            f"the press works from {MIN_PRESSURE_PA / 1e6:g} to {MAX_PRESSURE_PA / 1e6:g} MPa, "
            f"not at {operation.pressure_pa / 1e6:.3g} MPa; write a pressure such as '100 MPa'",
        )

    def perform(self, sample: SampleView, operation: Press) -> tuple[MeasurementBase, ...]:
        """Press the powder.

        Args:
            sample: The powder.
            operation: The pressure.

        Returns:
            Nothing: the press has no sensor of the sample.
        """
        sample.press(operation)
        return ()
