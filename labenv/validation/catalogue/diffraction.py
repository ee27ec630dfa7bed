"""Lines of standard powders: angles, relative intensities, and strength relative to corundum.

Angles follow from certified cells, so they check Bragg's law, extinction and the list of
reflections, to 0.003 degrees. Intensities of cards are heights, read to some per cent of the
strongest line, and powders that are pressed have texture; 10 of 100 is allowed for strong lines
and 6 for weak ones. The strength relative to corundum (I/Ic) of good references is certified to
some 3 %, structures and displacement parameters add as much, and 10 % is allowed. Tables of
attenuation differ by 5 %. Certified strengths were measured on mixtures of powders of about 2
micrometres (SRM 674), so Brindley's factor of such grains belongs to ours; cards name no grains.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from labenv.physics.diffraction_effects import particle_factor
from labenv.physics.profiles import lorentz_polarisation, two_theta_deg
from labenv.physics.reflection_cache import reflections_of
from labenv.physics.scattering import mass_attenuation_m2_per_kg
from labenv.physics.structures.library import phase_library
from labenv.validation.checks import Check
from labenv_schemas.errors import SimulatorError

ANGLE_TOLERANCE_DEG = 0.003
STRENGTH_TOLERANCE = 0.10
ATTENUATION_TOLERANCE = 0.05
CU_K_ALPHA_A = 1.5418
SRM_674_GRAIN_M = 2e-6

Hkl = tuple[int, int, int]


def _line(phase: str, hkl: Hkl) -> tuple[float, float]:
    """Return 2-theta, degrees, and integrated strength of a line, per unit weight.

    Raises:
        SimulatorError: If the phase has no such line.
    """
    lines = reflections_of(phase_library().get(phase))
    d_a = 1.0 / float(np.linalg.norm(np.asarray(hkl) @ lines.reciprocal_a))
    nearest = int(np.argmin(np.abs(lines.d_a - d_a)))
    if abs(lines.d_a[nearest] - d_a) > 1e-5 * d_a:
        raise SimulatorError(f"{phase} has no line {hkl}")
    angle = two_theta_deg(lines.d_a[nearest : nearest + 1], lines.wavelength_a)
    strength = lines.unit_intensity[nearest] * lorentz_polarisation(angle)[0]
    return float(angle[0]), float(strength)


def line_angle_deg(phase: str, hkl: Hkl) -> float:
    """Return 2-theta of a line of a library phase with Cu K-alpha-1, degrees."""
    return _line(phase, hkl)[0]


def relative_intensity(phase: str, hkl: Hkl, strongest: Hkl) -> float:
    """Return the integrated intensity of a line where that of `strongest` is 100."""
    return 100.0 * _line(phase, hkl)[1] / _line(phase, strongest)[1]


def strength_over_corundum(phase: str, hkl: Hkl) -> float:
    """Return I/Ic: a phase's line over corundum's 113, in equal weights of both."""
    return _line(phase, hkl)[1] / _line("corundum", (1, 1, 3))[1]


def strength_in_mixture(phase: str, hkl: Hkl) -> float:
    """Return I/Ic as measured in equal weights of a phase and corundum, in grains of SRM 674."""
    parts = [reflections_of(phase_library().get(name)) for name in (phase, "corundum")]
    density = np.array([part.density_kg_m3 for part in parts])
    linear_per_m = density * np.array([part.attenuation_m2_kg for part in parts])
    mean_per_m = float(np.average(linear_per_m, weights=1.0 / density))
    seen = particle_factor((linear_per_m - mean_per_m) * SRM_674_GRAIN_M)
    return strength_over_corundum(phase, hkl) * float(seen[0] / seen[1])


def attenuation_cm2_g(element: str) -> float:
    """Return the mass attenuation coefficient of an element for Cu K-alpha, cm^2/g."""
    return 10.0 * mass_attenuation_m2_per_kg({element: 1.0}, CU_K_ALPHA_A)


def _attenuation(element: str, value: float) -> Check:
    what = "mass attenuation coefficient, Cu K-alpha"
    ours = partial(attenuation_cm2_g, element)
    tolerance = ATTENUATION_TOLERANCE * value
    return Check(element, what, value, tolerance, "cm^2/g", _TABLES_C, ours)


def _label(hkl: Hkl) -> str:
    return "".join(map(str, hkl))


def _angles(phase: str, system: str, source: str, lines: dict[Hkl, float]) -> list[Check]:
    return [
        Check(
            system,
            f"{phase} {_label(hkl)}: 2-theta, Cu K-alpha-1",
            angle,
            ANGLE_TOLERANCE_DEG,
            "deg",
            source,
            partial(line_angle_deg, phase, hkl),
        )
        for hkl, angle in lines.items()
    ]


def _intensities(
    phase: str, system: str, source: str, strongest: Hkl, lines: dict[Hkl, tuple[float, float]]
) -> list[Check]:
    what = "certified intensity" if source == _SRM_674 else "intensity"
    return [
        Check(
            system,
            f"{phase} {_label(hkl)}: {what}, {_label(strongest)} = 100",
            value,
            tolerance,
            "1",
            source,
            partial(relative_intensity, phase, hkl, strongest),
        )
        for hkl, (value, tolerance) in lines.items()
    ]


def _certified(phase: str, system: str, hkl: Hkl, value: float) -> Check:
    return Check(
        system,
        f"{phase} {_label(hkl)}: I/Ic of powders of 2 micrometres",
        value,
        STRENGTH_TOLERANCE * value,
        "1",
        _SRM_674,
        partial(strength_in_mixture, phase, hkl),
    )


def _strength(phase: str, system: str, hkl: Hkl, value: float, source: str) -> Check:
    return Check(
        system,
        f"{phase} {_label(hkl)}: I/Ic",
        value,
        STRENGTH_TOLERANCE * value,
        "1",
        source,
        partial(strength_over_corundum, phase, hkl),
    )


_TABLES_C = "International Tables for Crystallography C (1992), section 4.2.4"
_SRM_674 = "NBS SRM 674, as in International Tables for Crystallography C, table 5.2.11.1"

CHECKS = [
    *_angles(
        "Si",
        "Si",
        "NIST SRM 640f certificate",
        {
            (1, 1, 1): 28.441,
            (2, 2, 0): 47.301,
            (3, 1, 1): 56.120,
            (4, 0, 0): 69.127,
            (3, 3, 1): 76.373,
            (4, 2, 2): 88.026,
            (5, 1, 1): 94.947,
        },
    ),
    *_angles(
        "LaB6",
        "La-B",
        "NIST SRM 660c certificate",
        {
            (1, 0, 0): 21.358,
            (1, 1, 0): 30.385,
            (1, 1, 1): 37.442,
            (2, 0, 0): 43.507,
            (2, 1, 0): 48.958,
        },
    ),
    *_angles(
        "corundum",
        "Al-O",
        "NIST SRM 676a certificate",
        {
            (0, 1, 2): 25.576,
            (1, 0, 4): 35.150,
            (1, 1, 0): 37.776,
            (1, 1, 3): 43.353,
            (0, 2, 4): 52.551,
            (1, 1, 6): 57.500,
            (2, 1, 4): 66.517,
            (3, 0, 0): 68.207,
        },
    ),
    *_intensities(
        "Si",
        "Si",
        "JCPDS 27-1402; NBS Monograph 25, section 13 (1976) 35",
        (1, 1, 1),
        {
            (2, 2, 0): (55.0, 10.0),
            (3, 1, 1): (30.0, 10.0),
            (4, 0, 0): (6.0, 6.0),
            (3, 3, 1): (11.0, 6.0),
        },
    ),
    *_intensities(
        "LaB6",
        "La-B",
        "JCPDS 34-0427; NBS Monograph 25, section 20 (1983)",
        (1, 1, 0),
        {
            (1, 0, 0): (54.0, 10.0),
            (1, 1, 1): (41.0, 10.0),
            (2, 0, 0): (22.0, 6.0),
            (2, 1, 0): (45.0, 10.0),
        },
    ),
    *_intensities(
        "corundum",
        "Al-O",
        "JCPDS 10-0173; NBS Circular 539, vol. 9 (1960) 3",
        (1, 1, 3),
        {
            (0, 1, 2): (75.0, 10.0),
            (1, 0, 4): (90.0, 10.0),
            (1, 1, 0): (40.0, 10.0),
            (0, 2, 4): (45.0, 10.0),
            (1, 1, 6): (80.0, 10.0),
            (3, 0, 0): (50.0, 10.0),
        },
    ),
    *_intensities(
        "MgO",
        "Mg-O",
        "JCPDS 04-0829; Swanson & Tatge, NBS Circular 539, vol. 1 (1953)",
        (2, 0, 0),
        {(1, 1, 1): (10.0, 6.0), (2, 2, 0): (52.0, 10.0), (2, 2, 2): (12.0, 6.0)},
    ),
    *_intensities(
        "NaCl",
        "Na-Cl",
        "JCPDS 05-0628; Swanson & Fuyat, NBS Circular 539, vol. 2 (1953)",
        (2, 0, 0),
        {(1, 1, 1): (13.0, 6.0), (2, 2, 0): (55.0, 10.0), (2, 2, 2): (15.0, 6.0)},
    ),
    *_intensities(
        "rutile",
        "Ti-O",
        "JCPDS 21-1276; NBS Monograph 25, section 7 (1969) 83",
        (1, 1, 0),
        {(1, 0, 1): (50.0, 10.0), (1, 1, 1): (25.0, 6.0), (2, 1, 1): (60.0, 10.0)},
    ),
    *_intensities(
        "anatase",
        "Ti-O",
        "JCPDS 21-1272; NBS Monograph 25, section 7 (1969) 82",
        (1, 0, 1),
        {(0, 0, 4): (20.0, 6.0), (2, 0, 0): (35.0, 10.0), (1, 0, 5): (20.0, 6.0)},
    ),
    *_intensities(
        "ZnO",
        "Zn-O",
        "JCPDS 36-1451; McMurdie et al., Powder Diffr. 1 (1986) 76",
        (1, 0, 1),
        {(1, 0, 0): (57.0, 10.0), (0, 0, 2): (44.0, 10.0), (1, 1, 0): (32.0, 10.0)},
    ),
    *_intensities(
        "CeO2",
        "Ce-O",
        "JCPDS 34-0394; NBS Monograph 25, section 20 (1983) 38",
        (1, 1, 1),
        {(2, 0, 0): (30.0, 6.0), (2, 2, 0): (52.0, 10.0), (3, 1, 1): (42.0, 10.0)},
    ),
    *_intensities(
        "SrTiO3",
        "Sr-Ti-O",
        "JCPDS 35-0734",
        (1, 1, 0),
        {(1, 1, 1): (30.0, 6.0), (2, 0, 0): (50.0, 10.0), (2, 1, 1): (40.0, 10.0)},
    ),
    *_intensities(
        "hematite",
        "Fe-O",
        "JCPDS 33-0664; NBS Monograph 25, section 18 (1981) 37",
        (1, 0, 4),
        {
            (0, 1, 2): (30.0, 10.0),
            (1, 1, 0): (70.0, 10.0),
            (0, 2, 4): (40.0, 10.0),
            (1, 1, 6): (45.0, 10.0),
        },
    ),
    *_intensities(
        "corundum",
        "Al-O",
        _SRM_674,
        (1, 1, 3),
        {(1, 0, 4): (87.4, 10.0), (1, 1, 6): (92.5, 10.0)},
    ),
    *_intensities(
        "ZnO", "Zn-O", _SRM_674, (1, 0, 1), {(1, 0, 0): (57.6, 10.0), (0, 0, 2): (40.2, 10.0)}
    ),
    *_intensities(
        "rutile", "Ti-O", _SRM_674, (1, 1, 0), {(2, 1, 1): (56.9, 10.0), (1, 0, 1): (44.0, 10.0)}
    ),
    _certified("ZnO", "Zn-O", (1, 0, 1), 5.17),
    _certified("rutile", "Ti-O", (1, 1, 0), 3.39),
    _certified("eskolaite", "Cr-O", (1, 0, 4), 2.10),
    _certified("CeO2", "Ce-O", (1, 1, 1), 7.5),
    _strength("anatase", "Ti-O", (1, 0, 1), 3.3, "JCPDS 21-1272"),
    _strength("Si", "Si", (1, 1, 1), 4.7, "JCPDS 27-1402"),
    _strength("NaCl", "Na-Cl", (2, 0, 0), 4.4, "JCPDS 05-0628"),
    _strength("quartz", "Si-O", (1, 0, 1), 3.41, "JCPDS 46-1045"),
    _strength("hematite", "Fe-O", (1, 0, 4), 2.4, "JCPDS 33-0664"),
    _attenuation("O", 11.5),
    _attenuation("Al", 49.6),
    _attenuation("Si", 63.7),
    _attenuation("Ca", 171.0),
    _attenuation("Ti", 202.0),
    _attenuation("Fe", 304.0),
    _attenuation("Ni", 48.8),
    _attenuation("Cu", 51.8),
    _attenuation("Ba", 325.0),
    _attenuation("Pb", 232.0),
]
