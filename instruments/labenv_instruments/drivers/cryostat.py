"""A cryostat with a four-contact resistance bridge and a magnet."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from labenv_instruments.sample_view import Unknown
from labenv_instruments.trusted import trusted
from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.characterisation import MeasureResistance
from labenv_schemas.measurement import ResistanceCurve, Unmeasured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MIN_TEMPERATURE_K, MAX_TEMPERATURE_K = 1.9, 400.0
MIN_CURRENT_A, MAX_CURRENT_A = 1e-9, 0.1
MAX_FIELD_T = 9.0
RANGE_OHM = 1e10  # of the voltmeter's input, above which it reads that


class Cryostat(InProcessTwin):
    """Reads a bar's resistance while it warms; currents are reversed at every reading."""

    kind = "cryostat"
    operations = frozenset({"measure_resistance"})
    model = "labenv cryostat twin"
    units: ClassVar[Mapping[str, str]] = {
        "temperature_k": "K",
        "resistance_ohm": "ohm",
        "field_t": "T",
        "current_a": "A",
        "contact_distance_m": "m",
        "cross_section_m2": "m^2",
    }

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse temperatures, currents and fields beyond the cryostat's.

        Args:
            operation: A `MeasureResistance`.
        """
        if not isinstance(operation, MeasureResistance):
            return
        low, high = operation.temperature_min_k, operation.temperature_max_k
        ensure(
            low >= MIN_TEMPERATURE_K and high <= MAX_TEMPERATURE_K,
            f"the cryostat goes from {MIN_TEMPERATURE_K:g} K to {MAX_TEMPERATURE_K:g} K, not from "
            f"{low:g} K to {high:g} K",
        )
        ensure(
            MIN_CURRENT_A <= operation.current_a <= MAX_CURRENT_A,
            f"the source gives {MIN_CURRENT_A:g} A to {MAX_CURRENT_A:g} A, not "
            f"{operation.current_a:g} A; 1 mA suits most bars",
        )
        ensure(
            abs(operation.field_t) <= MAX_FIELD_T,
            f"the magnet goes to {MAX_FIELD_T:g} T, not {operation.field_t:g} T; lower the field",
        )

    def perform(
        self, sample: SampleView, operation: MeasureResistance
    ) -> tuple[MeasurementBase, ...]:
        """Measure the bar.

        Args:
            sample: The sample.
            operation: Temperatures, current and field.

        Returns:
            The curve, or that nothing is known.
        """
        seen = sample.resistance(operation)
        if isinstance(seen, Unknown):
            return (
                trusted(
                    Unmeasured, technique="resistance", reason=seen.reason, **self.stamp(sample)
                ),
            )
        temperature_k = np.array(seen.temperature_k)
        resistance_ohm = np.clip(seen.resistance_ohm, -RANGE_OHM, RANGE_OHM)
        temperature_k.flags.writeable = resistance_ohm.flags.writeable = False
        curve = trusted(
            ResistanceCurve,
            temperature_k=temperature_k,
            resistance_ohm=resistance_ohm,
            field_t=operation.field_t,
            current_a=operation.current_a,
            contact_distance_m=seen.contact_distance_m,
            cross_section_m2=seen.cross_section_m2,
            flags=seen.flags,
            **self.stamp(sample),
        )
        return (curve,)
