"""How strongly atoms scatter and absorb X-rays: form factors, dispersion, attenuation, vibration.

The tables are those of XrayDB (Waasmaier & Kirfel 1995 form factors; Chantler 1995, 2000 anomalous
terms; Elam et al. 2002 attenuation), imported only when a phase is computed for the first time.

Source:
    Newville et al., XrayDB, https://xraypy.github.io/XrayDB/; Waasmaier & Kirfel 1995,
    doi:10.1107/S0108767394013292; Chantler 2000, doi:10.1063/1.1321055;
    Elam, Ravel & Sieber 2002, doi:10.1016/S0969-806X(01)00227-4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

HC_EV_A = 12398.419843320026
"""Planck's constant times the speed of light, eV Å (CODATA 2018, exact)."""

_LIGHT_B_A2: Mapping[str, float] = {"H": 2.0, "D": 2.0, "Li": 1.1, "Be": 0.5, "B": 0.6, "C": 0.8}
_ANION_B_A2: Mapping[str, float] = {
    "N": 0.8, "O": 0.7, "F": 0.9, "S": 0.8, "Cl": 1.3, "Se": 0.8, "Br": 1.3, "I": 1.4, "P": 0.5,
}  # fmt: skip
_SOFT_CATION_B_A2: Mapping[str, float] = {
    "Na": 1.1, "K": 1.3, "Rb": 1.4, "Cs": 1.5, "Ag": 1.1, "Tl": 1.3, "Pb": 1.0, "Bi": 0.7,
    "Hg": 1.2,
}  # fmt: skip
_CATION_B_A2 = 0.4

IONICITY = 0.5
"""Part of the formal charge that atoms of an oxide or halide carry, as X-rays see it.

Refined electron densities of corundum, rutile and quartz give a half to two thirds (Lewis,
Schwarzenbach & Flack, Acta Cryst. A38 (1982) 733, and others). Between an atom and an ion the
factors differ below sinθ/λ = 0.3 only.
"""
_ANIONS: Mapping[str, str] = {"O": "O2-", "F": "F1-", "Cl": "Cl1-", "Br": "Br1-", "I": "I1-"}
# The usual charge; another one of the same metal moves its factor by less than the half does.
_CATIONS: Mapping[str, str] = {
    **{e: f"{e}1+" for e in ("Li", "Na", "K", "Rb", "Cs", "Ag", "Tl")},
    **{e: f"{e}2+" for e in ("Mg", "Ca", "Sr", "Ba", "Co", "Ni", "Cu", "Zn", "Cd", "Pb")},
    **{e: f"{e}3+" for e in ("Al", "Sc", "Cr", "Mn", "Fe", "Ga", "In", "La", "Nd", "Gd", "Bi")},
    **{e: f"{e}4+" for e in ("Si", "Ti", "Ge", "Zr", "Sn", "Hf", "Ce")},
    **{e: f"{e}5+" for e in ("V", "Nb", "Ta")},
    **{e: f"{e}6+" for e in ("Mo", "W")},
}


def default_b_iso_a2(element: str) -> float:
    """Return a typical room-temperature displacement parameter of an element in an inorganic solid.

    Args:
        element: Element symbol.

    Returns:
        Isotropic B = 8π²⟨u²⟩, Å². Rounded medians of refined oxides, carbonates and halides; a
        wrong value by 0.3 Å² changes intensities at sinθ/λ = 0.4 by some 10 %.
    """
    for table in (_LIGHT_B_A2, _ANION_B_A2, _SOFT_CATION_B_A2):
        if element in table:
            return table[element]
    return _CATION_B_A2


def ion_of(element: str, elements: Collection[str]) -> str:
    """Return as what ion an element scatters in a compound.

    Args:
        element: Element symbol.
        elements: All elements of the compound.

    Returns:
        Such as ``"Ti4+"``; empty where it counts as a neutral atom: without oxygen or a halogen
        beside it, and for elements whose bonds are covalent or whose ion is not tabulated.
    """
    if len(set(elements)) < 2 or not set(elements) & set(_ANIONS):
        return ""
    return _ANIONS.get(element) or _CATIONS.get(element, "")


def scattering_factor(
    element: str, inverse_2d_per_a: NDArray[np.float64], wavelength_a: float, ion: str = ""
) -> NDArray[np.complex128]:
    """Return f0(s) + f' + i f'' of an atom, without vibration.

    Args:
        element: Element symbol; D scatters as H.
        inverse_2d_per_a: sinθ/λ = 1/2d, 1/Å, shape (n,).
        wavelength_a: Wavelength, Å.
        ion: Ion whose charge it has by the part `IONICITY`; empty for a neutral atom.

    Returns:
        Complex scattering factor, electrons, shape (n,).
    """
    import xraydb  # type: ignore[import-untyped]  # the package has no types

    symbol = "H" if element in {"D", "T"} else element
    energy_ev = HC_EV_A / wavelength_a
    f_zero = np.asarray(xraydb.f0(symbol, inverse_2d_per_a), dtype=np.float64)
    if ion:
        charged = np.asarray(xraydb.f0(ion, inverse_2d_per_a), dtype=np.float64)
        f_zero = f_zero + IONICITY * (charged - f_zero)
    if symbol in {"H", "He"}:
        return f_zero.astype(np.complex128)
    f_one = float(np.ravel(xraydb.f1_chantler(symbol, energy_ev))[0])
    f_two = float(np.ravel(xraydb.f2_chantler(symbol, energy_ev))[0])
    return np.asarray(f_zero + complex(f_one, f_two), dtype=np.complex128)


def mass_attenuation_m2_per_kg(mass_fractions: Mapping[str, float], wavelength_a: float) -> float:
    """Return the mass attenuation coefficient of a compound.

    Args:
        mass_fractions: Element symbol to mass fraction; they sum to 1.
        wavelength_a: Wavelength, Å.

    Returns:
        Mass attenuation coefficient, m²/kg (a tenth of the customary cm²/g).
    """
    import xraydb  # the package has no types

    energy_ev = HC_EV_A / wavelength_a
    total = 0.0
    for element, fraction in mass_fractions.items():
        symbol = "H" if element in {"D", "T"} else element
        total += fraction * float(np.ravel(xraydb.mu_elam(symbol, energy_ev))[0])
    return 0.1 * total
