"""A scan of a diffractometer as a reader found it, and the measurement made of it.

Readers fill in an `XrayScan`; here its numbers are checked once for all formats, and it becomes a
`Diffractogram` if it runs along 2θ, or a `Spectrum` along whatever other axis was moved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from labenv_schemas.errors import MeasurementFileError
from labenv_schemas.measurement import (
    Diffractogram,
    InstrumentIdentity,
    Measurement,
    QualityFlag,
    Radiation,
    Spectrum,
)

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from labenv_instruments.formats.times import Moment

    Floats = NDArray[np.float64]

IntensityUnit = Literal["counts", "counts_per_second", "arbitrary"]
TWO_THETA = "2Theta"
DIFFRACTION = "x-ray diffraction"
K_ALPHA_A = {  # Bearden 1967, doi:10.1103/RevModPhys.39.78, rescaled to CODATA ångström
    "Cr": (2.289726, 2.293651),
    "Fe": (1.936041, 1.939973),
    "Co": (1.789010, 1.792900),
    "Cu": (1.5405929, 1.5444274),
    "Mo": (0.709319, 0.713607),
    "Ag": (0.559422, 0.563813),
}


@dataclass
class XrayScan:
    """One scan, before it is checked.

    Attributes:
        positions: Where the intensities stand, shape (n,), rising or falling.
        intensity: Intensities, shape (n,).
        axis: "2Theta", or the maker's name of the axis that moved.
        axis_unit: Unit of the positions.
        intensity_unit: Unit of the intensities.
        counting_time_s: Seconds that each point was counted for, over all channels.
        radiation: Wavelengths; none if the file states none.
        started: When the scan began.
        instrument: What measured.
        sample_id: What was measured.
        goniometer_radius_m: Sample to detector, m.
        flags: What a reader must know.
        facts: More of the file's own statements, for the provenance.
        part: What this scan is called among others of the file.
    """

    positions: Floats
    intensity: Floats
    axis: str = TWO_THETA
    axis_unit: str = "deg"
    intensity_unit: IntensityUnit = "counts"
    counting_time_s: float | None = None
    radiation: Radiation | None = None
    started: Moment | None = None
    instrument: InstrumentIdentity | None = None
    sample_id: str | None = None
    goniometer_radius_m: float | None = None
    flags: list[QualityFlag] = field(default_factory=list[QualityFlag])
    facts: dict[str, str] = field(default_factory=dict[str, str])
    part: str = "scan 1"


def to_measurement(scan: XrayScan, provenance: dict[str, str]) -> Measurement:
    """Check a scan and make a measurement of it.

    Args:
        scan: What was read.
        provenance: File, format and encoding.

    Returns:
        A diffractogram, or a spectrum if another axis than 2θ was moved.

    Raises:
        MeasurementFileError: If the numbers are too few, not finite, not as many as the positions,
            or the positions neither rise nor fall throughout.
    """
    place = f"{provenance['file']}: {scan.part}"
    positions, intensity = _checked(scan, place)
    flags = list(scan.flags)
    facts = {**provenance, "part": scan.part, "axis": scan.axis, **scan.facts}
    measured_at: datetime | None = None
    if scan.started is not None:
        measured_at = scan.started.utc
        facts["started" if measured_at else "started_local"] = scan.started.text
    powder = scan.axis == TWO_THETA and positions[0] >= -1.0 and positions[-1] <= 180.0
    counting_time_s = scan.counting_time_s
    if counting_time_s is not None and not 0.0 < counting_time_s < np.inf:
        counting_time_s = None
    if powder and scan.radiation is None:
        message = "the file states no wavelength; copper Kα was assumed"
        flags.append(QualityFlag(code="wavelength_assumed", message=message))
    if powder:
        found = Diffractogram(
            two_theta_deg=positions,
            counts=intensity,
            intensity_unit=scan.intensity_unit,
            counting_time_s=counting_time_s,
            radiation=scan.radiation or Radiation(),
            goniometer_radius_m=scan.goniometer_radius_m or None,
            instrument=scan.instrument,
            sample_id=scan.sample_id,
            measured_at=measured_at,
            flags=tuple(flags),
            provenance=facts,
        )
        return cast("Measurement", found)
    facts |= _facts_of_light(scan.radiation, counting_time_s)
    other = Spectrum(
        technique=DIFFRACTION,
        axis=positions,
        axis_unit=scan.axis_unit,
        intensity=intensity,
        intensity_unit=scan.intensity_unit,
        instrument=scan.instrument,
        sample_id=scan.sample_id,
        measured_at=measured_at,
        flags=tuple(flags),
        provenance=facts,
    )
    return cast("Measurement", other)


def grid(start: float, step: float, count: int) -> Floats:
    """Return equally spaced positions.

    Args:
        start: The first.
        step: From each to the next.
        count: How many.

    Returns:
        Shape (count,).
    """
    return np.asarray(start + step * np.arange(count), dtype=np.float64)


def radiation_of(
    k_alpha1_a: float | None,
    k_alpha2_a: float | None = None,
    ratio: float | None = None,
    anode: str | None = None,
) -> Radiation | None:
    """Return the light of a tube or beam, from what a file states.

    Args:
        k_alpha1_a: Wavelength, Å; 0 and none mean not stated.
        k_alpha2_a: Second wavelength, Å; 0, none or the first again mean that there is none.
        ratio: Intensity of the second relative to the first; one half if not stated.
        anode: Element of the anode.

    Returns:
        The wavelengths; those of the anode if only that is stated; none if nothing is.
    """
    anode = (anode or "").strip().capitalize() or None
    if not k_alpha1_a:
        if anode not in K_ALPHA_A:
            return None
        one, two = K_ALPHA_A[anode]
        return Radiation(k_alpha1_a=one, k_alpha2_a=two, anode=anode)
    if not k_alpha2_a or k_alpha2_a == k_alpha1_a or ratio == 0.0:
        return Radiation(k_alpha1_a=k_alpha1_a, k_alpha2_a=None, k_alpha2_ratio=0.0, anode=anode)
    return Radiation(
        k_alpha1_a=k_alpha1_a,
        k_alpha2_a=k_alpha2_a,
        k_alpha2_ratio=0.5 if ratio is None else ratio,
        anode=anode,
    )


def identity(driver: str, model: str | None, serial: str | None = None) -> InstrumentIdentity:
    """Return who measured, as far as a file tells.

    Args:
        driver: Id of the format.
        model: Name of the device.
        serial: Its serial number.

    Returns:
        The identity, with "unknown" for what is not told.
    """
    return InstrumentIdentity(
        station="file",
        model=(model or "").strip() or "unknown",
        serial=(serial or "").strip() or "unknown",
        driver=driver,
        driver_version="unknown",
        simulated=False,
    )


def _checked(scan: XrayScan, place: str) -> tuple[Floats, Floats]:
    positions, intensity = scan.positions, scan.intensity
    if positions.size != intensity.size:
        raise MeasurementFileError(
            f"{place} has {positions.size} positions for {intensity.size} intensities; export it "
            "again"
        )
    if positions.size < 2:
        raise MeasurementFileError(
            f"{place} has {positions.size} points, too few for a scan; export it again"
        )
    for what, values in ((f"{scan.axis} position", positions), ("intensity", intensity)):
        if not np.isfinite(values).all():
            bad = int(np.argmin(np.isfinite(values)))
            raise MeasurementFileError(
                f"{place}: the {what} of point {bad + 1} is {values[bad]}, which is no measured "
                "value; export the scan again"
            )
    steps = np.diff(positions)
    if not ((steps > 0).all() or (steps < 0).all()):
        bad = int(np.argmin(steps > 0 if np.median(steps) > 0 else steps < 0)) + 2
        raise MeasurementFileError(
            f"{place}: the {scan.axis} position neither rises nor falls throughout; point {bad} "
            f"stands at {positions[bad - 1]:g}. Export the scan again as one range"
        )
    if steps[0] < 0:
        positions, intensity = positions[::-1], intensity[::-1]
    return positions, intensity


def _facts_of_light(radiation: Radiation | None, counting_time_s: float | None) -> dict[str, str]:
    facts: dict[str, str] = {}
    if counting_time_s is not None:
        facts["counting_time_s"] = f"{counting_time_s:.12g}"
    if radiation is not None:
        facts["k_alpha1_a"] = f"{radiation.k_alpha1_a:.12g}"
        if radiation.k_alpha2_a is not None:
            facts["k_alpha2_a"] = f"{radiation.k_alpha2_a:.12g}"
            facts["k_alpha2_ratio"] = f"{radiation.k_alpha2_ratio:.12g}"
        if radiation.anode:
            facts["anode"] = radiation.anode
    return facts
