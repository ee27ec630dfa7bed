"""X-ray tubes and monochromatic beams by name: their wavelengths, and instruments that use them.

    spec = with_radiation(DiffractometerSpec(), "Mo")          # Kα1 and Kα2 of molybdenum
    spec = with_radiation(spec, "0.4136 Å")                    # a synchrotron beam

Source:
    Bearden 1967, doi:10.1103/RevModPhys.39.78, on the scale of CODATA (tubes, half of Kα1 in Kα2);
    Hölzer et al. 1997, doi:10.1103/PhysRevA.56.4554 (Cu); Warren 1969, X-ray Diffraction (the
    integrated intensity of a line goes with the cube of the wavelength).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from labenv_schemas.errors import ConfigError
from labenv_schemas.measurement import Radiation

if TYPE_CHECKING:
    from labenv.physics.diffraction import DiffractometerSpec

K_ALPHA_A: dict[str, tuple[float, float]] = {
    "Cr": (2.289726, 2.293651),
    "Fe": (1.936041, 1.939973),
    "Co": (1.789010, 1.792900),
    "Cu": (1.5405929, 1.5444274),
    "Mo": (0.709319, 0.713607),
    "Ag": (0.559422, 0.563813),
}
"""Kα1 and Kα2 of the anodes of laboratory tubes, Å."""

_LEAST_A, _MOST_A = 0.1, 10.0
_LENGTH = re.compile(r"^([0-9]*[.,]?[0-9]+)\s*(Å|Å|A|angstrom|pm|nm)?$")
_TUBE = re.compile(r"^([a-z]{2})(?:[\s_-]*k[\s_-]*(?:alpha|α|a)([\s_-]*1)?)?$", re.IGNORECASE)
_UNIT_A = {"pm": 0.01, "nm": 10.0}
_POLARISED = 0.02  # of a bending magnet's or undulator's beam in the plane of its orbit, some


def radiation_of(text: str) -> Radiation:
    """Return the radiation that an anode or a wavelength stands for.

    Args:
        text: An anode (``Mo``, ``Mo K-alpha``, ``MoKα``), its first line alone (``Cu K-alpha1``),
            or the wavelength of a monochromatic beam (``0.4136``, ``0.4136 Å``, ``41.36 pm``).

    Returns:
        The radiation.

    Raises:
        ConfigError: If the text is neither, or the wavelength lies outside 0.1 to 10 Å.
    """
    said = text.strip()
    length = _LENGTH.match(said)
    if length:
        wavelength_a = float(length[1].replace(",", ".")) * _UNIT_A.get(length[2] or "", 1.0)
        if not _LEAST_A < wavelength_a < _MOST_A:
            message = (
                f"a wavelength of {wavelength_a:g} Å is none of powder diffraction (0.1 to 10 Å)"
            )
            raise ConfigError(message)
        return Radiation(k_alpha1_a=wavelength_a, k_alpha2_a=None, k_alpha2_ratio=0.0, anode=None)
    tube = _TUBE.match(said)
    anode = tube[1].capitalize() if tube else ""
    if anode not in K_ALPHA_A:
        raise ConfigError(
            f"{text!r} is no radiation that is known; write an anode ({', '.join(K_ALPHA_A)}) or "
            "the wavelength of a monochromatic beam, such as '0.4136 Å'"
        )
    one, two = K_ALPHA_A[anode]
    if tube is not None and tube[2]:
        return Radiation(k_alpha1_a=one, k_alpha2_a=None, k_alpha2_ratio=0.0, anode=anode)
    return Radiation(k_alpha1_a=one, k_alpha2_a=two, k_alpha2_ratio=0.5, anode=anode)


def with_radiation(
    spec: DiffractometerSpec,
    radiation: Radiation | str,
    *,
    same_spacings: bool = True,
    polarised: bool = False,
) -> DiffractometerSpec:
    """Return an instrument with another tube or beam of the same photons per second.

    Brightness follows the cube of the wavelength. Background, widths and photon flux are left as
    they were: give the instrument's own where they are known.

    Args:
        spec: The instrument.
        radiation: What it shall use, or its name.
        same_spacings: Whether start, step and end of the angle grid change so that it covers the
            same spacings with as many points.
        polarised: Whether the beam is polarised across the plane of scattering, as a synchrotron's
            is to some 98 %; a tube's is not.

    Returns:
        The instrument.

    Raises:
        ConfigError: If the name is unknown, or the spacings cannot be seen with this wavelength.
    """
    light = radiation_of(radiation) if isinstance(radiation, str) else radiation
    old_a, new_a = spec.k_alpha_a[0], light.k_alpha1_a
    start_deg, step_deg = spec.start_deg, spec.step_deg
    if same_spacings and new_a != old_a:
        ends = np.array([spec.start_deg, spec.start_deg + spec.step_deg * (spec.points - 1)])
        sine = np.sin(np.radians(ends) / 2.0) * new_a / old_a
        if sine[1] >= 1.0:
            raise ConfigError(
                f"{new_a:g} Å cannot show the spacings that {ends[1]:g}° shows at {old_a:g} Å; "
                "keep the angles (same_spacings=False) or end the scan earlier"
            )
        start_deg, end_deg = (float(x) for x in np.degrees(2.0 * np.arcsin(sine)))
        step_deg = (end_deg - start_deg) / (spec.points - 1)
    two_a = light.k_alpha2_a
    return replace(
        spec,
        start_deg=start_deg,
        step_deg=step_deg,
        k_alpha_a=(new_a, new_a if two_a is None else two_a),
        k_alpha2_ratio=0.0 if two_a is None else light.k_alpha2_ratio,
        counts_per_second=spec.counts_per_second * (new_a / old_a) ** 3,
        in_plane=_POLARISED if polarised else spec.in_plane,
    )
