"""The .xrdml file of a simulated scan: the least that the schema and its readers ask for.

Source:
    XRD Measurement schema 2.0, as its elements stand in files of real devices.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from labenv_instruments.drivers.powder_diffractometer import GONIOMETER_RADIUS_M
from labenv_schemas.measurement import Radiation

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from labenv_schemas.proposal import Measure

_FORM = """<?xml version="1.0" encoding="UTF-8"?>
<xrdMeasurements xmlns="http://www.xrdml.com/XRDMeasurement/2.0" status="Completed">
\t<sample type="To be analyzed"><id>{sample_id}</id><name>{sample_id}</name></sample>
\t<xrdMeasurement measurementType="Scan" status="Completed" sampleMode="Reflection">
\t\t<usedWavelength intended="K-Alpha">
\t\t\t<kAlpha1 unit="Angstrom">{k_alpha1}</kAlpha1>
\t\t\t<kAlpha2 unit="Angstrom">{k_alpha2}</kAlpha2>
\t\t\t<kBeta unit="Angstrom">1.39225</kBeta>
\t\t\t<ratioKAlpha2KAlpha1>{ratio}</ratioKAlpha2KAlpha1>
\t\t</usedWavelength>
\t\t<incidentBeamPath>
\t\t\t<radius unit="mm">{radius_mm}</radius>
\t\t\t<xRayTube><anodeMaterial>{anode}</anodeMaterial></xRayTube>
\t\t</incidentBeamPath>
\t\t<diffractedBeamPath><radius unit="mm">{radius_mm}</radius></diffractedBeamPath>
\t\t<scan appendNumber="0" mode="Continuous" scanAxis="Gonio" status="Completed">
\t\t\t<header>
\t\t\t\t<startTimeStamp>{began}</startTimeStamp>
\t\t\t\t<endTimeStamp>{ended}</endTimeStamp>
\t\t\t\t<source>
\t\t\t\t\t<instrumentControlSoftware version="1">labenv twin</instrumentControlSoftware>
\t\t\t\t\t<instrumentID>0</instrumentID>
\t\t\t\t</source>
\t\t\t</header>
\t\t\t<dataPoints>
\t\t\t\t<positions axis="2Theta" unit="deg"><listPositions>{angles}</listPositions></positions>
\t\t\t\t<commonCountingTime unit="seconds">{counting_s}</commonCountingTime>
\t\t\t\t<counts unit="counts">{counts}</counts>
\t\t\t</dataPoints>
\t\t</scan>
\t</xrdMeasurement>
</xrdMeasurements>
"""


def written(
    sample_id: str,
    scan: Measure,
    seen: tuple[NDArray[np.float64], NDArray[np.float64]],
    began: datetime,
) -> bytes:
    """Return the file of a scan; its numbers are read back as they are, to the last bit.

    Args:
        sample_id: Name of the sample.
        scan: What was asked for.
        seen: Angles, degrees 2θ, and counts, each shape (n,).
        began: When the scan began.

    Returns:
        The file.
    """
    angles, counts = seen
    light = Radiation()
    text = _FORM.format(
        sample_id=escape(sample_id),
        k_alpha1=light.k_alpha1_a,
        k_alpha2=light.k_alpha2_a,
        ratio=light.k_alpha2_ratio,
        anode=light.anode,
        radius_mm=GONIOMETER_RADIUS_M * 1e3,
        began=began.isoformat(),
        ended=(began + timedelta(seconds=scan.scan_time_s)).isoformat(),
        angles=_numbers(angles),
        counting_s=repr(scan.scan_time_s / angles.size),
        counts=_numbers(counts),
    )
    return text.encode()


def put(path: Path, data: bytes) -> None:
    """Write a file at one blow: who looks sees all of it or none.

    Args:
        path: Where.
        data: All of it.
    """
    half = path.with_name(f".{path.name}.part")
    half.write_bytes(data)
    half.replace(path)


def _numbers(values: NDArray[np.float64]) -> str:
    return " ".join(repr(value).removesuffix(".0") for value in values.tolist())


__all__ = ["put", "written"]
