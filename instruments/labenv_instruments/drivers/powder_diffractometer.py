"""A powder diffractometer with a copper tube and a one-dimensional detector."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from labenv_instruments.trusted import trusted
from labenv_instruments.twin import InProcessTwin, ensure
from labenv_schemas.errors import InstrumentError
from labenv_schemas.measurement import Diffractogram, Radiation
from labenv_schemas.proposal import Measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv_instruments.sample_view import SampleView
    from labenv_schemas.measurement import MeasurementBase
    from labenv_schemas.proposal import Operation

MIN_ANGLE_DEG, MAX_ANGLE_DEG = 5.0, 140.0
MIN_SECONDS_PER_STEP = 0.02
MAX_SCAN_S = 24 * 3600.0
MAX_POINTS = 20_000
GONIOMETER_RADIUS_M = 0.145
_RADIATION = Radiation()


class PowderDiffractometer(InProcessTwin):
    """Scans a flat powder in Bragg-Brentano geometry with Cu Kα."""

    kind = "powder_diffractometer"
    operations = frozenset({"measure"})
    model = "labenv powder diffractometer twin"
    units: ClassVar[Mapping[str, str]] = {
        "two_theta_deg": "degree",
        "counts": "counts",
        "counting_time_s": "s",
        "goniometer_radius_m": "m",
    }

    @classmethod
    def check(cls, operation: Operation) -> None:
        """Refuse angles and speeds beyond the goniometer's.

        Args:
            operation: A `Measure`.
        """
        if not isinstance(operation, Measure):
            return
        ensure(
            operation.two_theta_min_deg >= MIN_ANGLE_DEG
            and operation.two_theta_max_deg <= MAX_ANGLE_DEG,
            f"the goniometer goes from {MIN_ANGLE_DEG:g} to {MAX_ANGLE_DEG:g} degrees 2theta, not "
            f"from {operation.two_theta_min_deg:g} to {operation.two_theta_max_deg:g}",
        )
        span_deg = operation.two_theta_max_deg - operation.two_theta_min_deg
        points = span_deg / operation.step_deg + 1.0
        ensure(
            points <= MAX_POINTS,
            f"the scan has {points:.0f} points; the detector keeps {MAX_POINTS}, so step wider or "
            f"narrow the range",
        )
        fastest_s = points * MIN_SECONDS_PER_STEP
        ensure(
            operation.scan_time_s >= fastest_s,
            f"a scan of {points:.0f} points takes at least {fastest_s:.0f} s, not "
            f"{operation.scan_time_s:.3g} s; give it more time or fewer points",
        )
        ensure(
            operation.scan_time_s <= MAX_SCAN_S,
            f"a scan takes at most {MAX_SCAN_S / 3600:g} h, not "
            f"{operation.scan_time_s / 3600:.3g} h; shorten it",
        )

    def perform(self, sample: SampleView, operation: Measure) -> tuple[MeasurementBase, ...]:
        """Scan the sample.

        Args:
            sample: The sample.
            operation: Angles and time.

        Returns:
            The diffractogram.

        Raises:
            InstrumentError: If the detector gave numbers that no detector gives.
        """
        angles, counts = sample.diffraction(operation)
        if angles.shape != counts.shape or counts.min() < 0.0:
            raise InstrumentError(f"{self.kind}: the detector returned no counts")
        angles.flags.writeable = False
        counts.flags.writeable = False
        scan = trusted(
            Diffractogram,
            two_theta_deg=angles,
            counts=counts,
            counting_time_s=operation.scan_time_s / angles.size,
            radiation=_RADIATION,
            goniometer_radius_m=GONIOMETER_RADIUS_M,
            **self.stamp(sample),
        )
        return (scan,)
