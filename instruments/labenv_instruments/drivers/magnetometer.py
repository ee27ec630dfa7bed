"""A SQUID magnetometer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from labenv_instruments.sample_view import Unknown
from labenv_instruments.trusted import trusted
from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.characterisation import MeasureMagnetisation
from labenv_schemas.measurement import MagnetisationCurve, Unmeasured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MIN_TEMPERATURE_K, MAX_TEMPERATURE_K = 1.8, 400.0
MIN_FIELD_T, MAX_FIELD_T = 5e-5, 7.0  # below, the magnet's remanence is as large
MIN_CHIP_KG, MAX_CHIP_KG = 1e-7, 2e-4


class Magnetometer(InProcessTwin):
    """Reads a chip's moment against temperature in one field."""

    kind = "magnetometer"
    operations = frozenset({"measure_magnetisation"})
    model = "labenv magnetometer twin"
    units: ClassVar[Mapping[str, str]] = {
        "temperature_k": "K",
        "field_t": "T",
        "moment_a_m2": "A m^2",
        "sample_volume_m3": "m^3",
    }

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse temperatures, fields and chips that do not fit.

        Args:
            operation: A `MeasureMagnetisation`.
        """
        if not isinstance(operation, MeasureMagnetisation):
            return
        low, high = operation.temperature_min_k, operation.temperature_max_k
        ensure(
            low >= MIN_TEMPERATURE_K and high <= MAX_TEMPERATURE_K,
            f"the magnetometer goes from {MIN_TEMPERATURE_K:g} K to {MAX_TEMPERATURE_K:g} K, not "
            f"from {low:g} K to {high:g} K",
        )
        ensure(
            MIN_FIELD_T <= abs(operation.field_t) <= MAX_FIELD_T,
            f"the magnet sets {MIN_FIELD_T:g} T to {MAX_FIELD_T:g} T, not {operation.field_t:g} T; "
            f"1 mT suits superconductors",
        )
        ensure(
            MIN_CHIP_KG <= operation.chip_kg <= MAX_CHIP_KG,
            f"the straw holds chips of {MIN_CHIP_KG * 1e6:g} mg to {MAX_CHIP_KG * 1e6:g} mg, not "
            f"{operation.chip_kg * 1e6:.3g} mg",
        )

    def perform(
        self, sample: SampleView, operation: MeasureMagnetisation
    ) -> tuple[MeasurementBase, ...]:
        """Measure the chip.

        Args:
            sample: The sample.
            operation: Temperatures, field and chip.

        Returns:
            The curve, or that nothing is known.
        """
        seen = sample.magnetisation(operation)
        stamp = self.stamp(sample)
        if isinstance(seen, Unknown):
            return (trusted(Unmeasured, technique="magnetisation", reason=seen.reason, **stamp),)
        channels = {
            "temperature_k": np.array(seen.temperature_k),
            "field_t": np.full(seen.temperature_k.shape, operation.field_t),
            "moment_a_m2": np.array(seen.moment_a_m2),
        }
        for channel in channels.values():
            channel.flags.writeable = False
        curve = trusted(
            MagnetisationCurve,
            **channels,
            sample_volume_m3=seen.volume_m3,
            cooled_in_field=operation.cooled_in_field,
            flags=seen.flags,
            **stamp,
        )
        return (curve,)
