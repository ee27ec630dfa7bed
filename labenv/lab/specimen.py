"""What cryostat, magnetometer, pycnometer and microscope see of a specimen.

A specimen is a mixture of phases by volume with what is known of their electrons. The one function
of each measurement is here; benches and tasks of their own (`SuperconductorSearch`) both use it.

Above `UNKNOWN_SHARE` of volume of which nothing is known there is no number, but `Unknown`; below
it the curve carries a flag. Neither says which phases, which is for diffraction to find out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labenv.physics.magnetometry import MagneticPhases, MagnetometerSetup, moment_curve
from labenv.physics.resistivity import ResistanceSetup, TransportPhases, resistance_curve
from labenv_instruments.sample_view import MomentSeen, ResistanceSeen, Unknown
from labenv_schemas.measurement import QualityFlag

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from labenv.physics.transport_properties import TransportRow
    from labenv_schemas.characterisation import MeasureMagnetisation, MeasureResistance

    Floats = NDArray[np.float64]

UNKNOWN_SHARE, MENTIONED_SHARE = 0.05, 1e-3
LOWEST_VORTEX_FIELD_T = 1e-2
"""Below it a shielding superconductor holds no vortices: lower critical fields of tens of mT are
usual, see Poole et al., Superconductivity, 3rd ed. (2014); an estimate."""
ESTIMATED = QualityFlag(
    code="normal_state_estimated",
    message="the normal state's resistivity is a guess; only temperatures of transitions count",
)
IN_FIELD = QualityFlag(
    code="flux_motion_left_out",
    message="in a field the transition is shifted, but not broadened as moving vortices would",
)
NORMAL_MOMENT = QualityFlag(
    code="normal_moment_left_out",
    message="the normal state's susceptibility is unknown and was left out",
)


@dataclass(frozen=True)
class Specimen:
    """A mixture of phases; every tuple has one entry a part.

    Attributes:
        rows: What each part conducts.
        shares: Volume shares, adding up to 1.
        penetration_depth_m: Magnetic penetration depth at 0 K, m; None if unknown.
        critical_field_t: Upper critical field at 0 K, T; None if unknown.
        grain_radius_m: Radius of the grains, m.
        susceptibility: Normal volume susceptibility, SI.
        unknown_tc_share: Share of the volume of which nobody knows whether it superconducts.
        unknown_moment_share: Share of the volume of unknown normal susceptibility.
        estimated: Whether the normal resistivity is a guess in what matters most.
    """

    rows: tuple[TransportRow, ...]
    shares: tuple[float, ...]
    penetration_depth_m: tuple[float | None, ...]
    critical_field_t: tuple[float | None, ...]
    grain_radius_m: tuple[float, ...]
    susceptibility: tuple[float, ...]
    unknown_tc_share: float = 0.0
    unknown_moment_share: float = 0.0
    estimated: bool = False


def transport_phases(specimen: Specimen, field_t: float = 0.0) -> tuple[TransportPhases, Floats]:
    """Return a specimen as the physics of resistance takes it.

    Args:
        specimen: Its superconducting parts have a known critical field, if there is a field.
        field_t: Magnetic field, T; it lowers critical temperatures by Bc2 (1 - (T/Tc)^2).

    Returns:
        One row of phases, and the volume shares, shape (1, P).

    Source:
        The parabola: Tinkham, Introduction to Superconductivity, 2nd ed. (1996), section 1.2.
    """
    columns = [np.array([values]) for values in zip(*specimen.rows, strict=True)]
    residual, phonon, debye, activation, tc, spread = columns
    if field_t != 0.0:
        limit = np.array([[field or np.inf for field in specimen.critical_field_t]])
        tc = tc * np.sqrt(np.maximum(1.0 - abs(field_t) / limit, 0.0))
    saturation = np.full(residual.shape, np.inf)
    phases = TransportPhases(residual, phonon, debye, saturation, activation, tc, spread)
    return phases, np.array([specimen.shares])


def see_resistance(
    specimen: Specimen, run: MeasureResistance, generator: np.random.Generator
) -> ResistanceSeen | Unknown:
    """Measure the resistance of a bar.

    Args:
        specimen: Of what it is.
        run: Temperatures, current and field.
        generator: For the noise.

    Returns:
        Readings, or why there are none.
    """
    unknown = _unknown_tc(specimen)
    if unknown is not None:
        return unknown
    fields = zip(specimen.rows, specimen.critical_field_t, strict=True)
    if run.field_t != 0.0 and any(row.tc_k > 0.0 and field is None for row, field in fields):
        return Unknown(
            "the sample superconducts, and its upper critical field is not known; measure without "
            "a field"
        )
    phases, shares = transport_phases(specimen, run.field_t)
    setup = ResistanceSetup(current_a=run.current_a)
    read = resistance_curve(phases, shares, run.temperatures_k()[None, :], setup, [generator])
    flags = _mentioned(specimen)
    if specimen.estimated:
        flags += (ESTIMATED,)
    if run.field_t != 0.0 and _superconducts(specimen):
        flags += (IN_FIELD,)
    hottest = float(read.self_heating_k.max())
    if hottest > 0.5:
        flags += (
            QualityFlag(
                code="self_heating", message=f"the current warms the bar by up to {hottest:.2g} K"
            ),
        )
    return ResistanceSeen(
        read.temperature_k[0], read.reading_ohm[0], setup.length_m, setup.area_m2, flags
    )


def see_moment(
    specimen: Specimen,
    run: MeasureMagnetisation,
    volume_m3: float,
    generator: np.random.Generator,
) -> MomentSeen | Unknown:
    """Measure the moment of a chip.

    Args:
        specimen: Of what it is.
        run: Temperatures, field and how it was cooled.
        volume_m3: Of the chip without pores, m^3.
        generator: For the noise.

    Returns:
        Readings, or why there are none.
    """
    unknown = _unknown_tc(specimen)
    if unknown is not None:
        return unknown
    superconducts = _superconducts(specimen)
    if superconducts and abs(run.field_t) > LOWEST_VORTEX_FIELD_T:
        return Unknown(
            f"the sample superconducts, and above {LOWEST_VORTEX_FIELD_T * 1e3:g} mT vortices "
            "enter it, which is not simulated; write a smaller field"
        )
    if not superconducts and specimen.unknown_moment_share > UNKNOWN_SHARE:
        return Unknown("the susceptibility of what is in the sample is not known")
    depths = zip(specimen.rows, specimen.penetration_depth_m, strict=True)
    if any(row.tc_k > 0.0 and depth is None for row, depth in depths):
        return Unknown("the sample superconducts, and its penetration depth is not known")
    phases = _magnetic_phases(specimen)
    setup = MagnetometerSetup(field_cooled=run.cooled_in_field)
    volumes = volume_m3 * np.array([specimen.shares])
    temperatures = run.temperatures_k()[None, :]
    read = moment_curve(phases, volumes, temperatures, run.field_t, setup, [generator])
    flags = _mentioned(specimen)
    if specimen.unknown_moment_share > MENTIONED_SHARE:
        flags += (NORMAL_MOMENT,)
    return MomentSeen(read.temperature_k[0], read.reading_a_m2[0], volume_m3, flags)


def _magnetic_phases(specimen: Specimen) -> MagneticPhases:
    tc, spread = (
        np.array([[getattr(row, n) for row in specimen.rows]]) for n in ("tc_k", "tc_spread_k")
    )
    zeros = np.zeros(tc.shape)
    return MagneticPhases(
        tc_k=tc,
        tc_spread_k=spread,
        penetration_depth_m=np.array([[depth or 1e-6 for depth in specimen.penetration_depth_m]]),
        grain_radius_m=np.array([specimen.grain_radius_m]),
        curie_k=zeros,
        weiss_k=zeros,
        constant_susceptibility=np.array([specimen.susceptibility]),
    )


def _superconducts(specimen: Specimen) -> bool:
    return any(row.tc_k > 0.0 for row in specimen.rows)


def _unknown_tc(specimen: Specimen) -> Unknown | None:
    if specimen.unknown_tc_share <= UNKNOWN_SHARE:
        return None
    return Unknown(
        "much of the sample is phases of which nobody has published whether they superconduct or "
        "how they conduct; there is no number to give"
    )


def _mentioned(specimen: Specimen) -> tuple[QualityFlag, ...]:
    share = specimen.unknown_tc_share
    if share <= MENTIONED_SHARE:
        return ()
    message = "a small part of the sample is phases of unknown Tc; they were taken as insulators"
    return (QualityFlag(code="unknown_phases", message=message),)


__all__ = ["Specimen", "see_moment", "see_resistance", "transport_phases"]
