"""Critical temperatures and resistances: relations first, table entries marked as look-ups.

Allen and Dynes fit their formula to a tenth of the measured Tc; McMillan prints couplings to two
digits, which alone makes 4 % in Tc where coupling is strong and 10 % where it is weak. Bloch and
Grueneisen's law leaves out the phonons' true spectrum; it holds to about a tenth for simple metals.
What impurities add, of the order of 0.002 microhm cm, is taken off the measured resistances.
"""

from __future__ import annotations

from functools import partial

from labenv.physics.resistivity import bloch_gruneisen
from labenv.physics.superconductivity import (
    CriticalTemperature,
    allen_dynes_tc,
    critical_temperature,
    lsco_tc,
    mcmillan_tc,
    nb3sn_tc,
    pair_breaking_tc,
    ybco_tc,
)
from labenv.physics.transport_properties import ybco_row
from labenv.validation.checks import Check
from labenv_schemas.errors import SimulatorError


def resistance_ratio(debye_k: float, cold_k: float, warm_k: float) -> float:
    """Return the ratio of a metal's ideal resistances at two temperatures."""
    return float(bloch_gruneisen(cold_k / debye_k) / bloch_gruneisen(warm_k / debye_k))


def _ybco_ratio() -> float:
    row = ybco_row(7.0, 0.0)
    warm, cold = (
        row.residual_ohm_m + row.electron_phonon_ohm_m * float(bloch_gruneisen(t / row.debye_k))
        for t in (300.0, 100.0)
    )
    return warm / cold


def tabulated_tc_k(material: str) -> float:
    """Return the tabulated critical temperature of a material, K.

    Raises:
        SimulatorError: If none is known.
    """
    found = critical_temperature(material)
    if not isinstance(found, CriticalTemperature):
        raise SimulatorError(found.reason)
    return found.tc_k


def _allen_dynes(metal: str, measured: float, omega_k: float, coupling: float, mu: float) -> Check:
    return Check(
        metal,
        "Tc by Allen and Dynes's formula from tunnelling spectra, against the measured",
        measured,
        0.1 * measured,
        "K",
        "Allen & Dynes, Phys. Rev. B 12 (1975) 905, table of tunnelling spectra",
        lambda: float(allen_dynes_tc(omega_k, coupling, mu)),
    )


def _mcmillan(
    metal: str, debye_k: float, coupling: float, mu: float, tc: float, part: float
) -> Check:
    return Check(
        metal,
        "Tc by McMillan's formula from his coupling",
        tc,
        part * tc,
        "K",
        "McMillan, Phys. Rev. 167 (1968) 331, table of empirical couplings",
        lambda: float(mcmillan_tc(debye_k, coupling, mu)),
    )


def _ratio(
    metal: str, debye_k: float, cold_k: float, warm_k: float, value: float, source: str
) -> Check:
    return Check(
        metal,
        f"ideal resistance, {cold_k:g} K over {warm_k:g} K, Debye temperature {debye_k:g} K",
        value,
        0.12 * value,
        "1",
        source,
        partial(resistance_ratio, debye_k, cold_k, warm_k),
    )


def _ybco(oxygen: float, value: float, tolerance: float) -> Check:
    return Check(
        "Y-Ba-Cu-O",
        f"Tc of YBa2Cu3Oy, y = {oxygen:g}",
        value,
        tolerance,
        "K",
        "Liang, Bonn & Hardy, Phys. Rev. B 73 (2006) 180505 (crystals)",
        lambda: float(ybco_tc(oxygen)),
    )


def _lsco(strontium: float, value: float, tolerance: float) -> Check:
    return Check(
        "La-Sr-Cu-O",
        f"Tc of La2-xSrxCuO4, x = {strontium:g}",
        value,
        tolerance,
        "K",
        "Yamada et al., Phys. Rev. B 57 (1998) 6165 (crystals)",
        lambda: float(lsco_tc(strontium)),
    )


def _table(material: str, system: str, value: float, tolerance: float, source: str) -> Check:
    return Check(
        system,
        f"Tc of {material} (look-up: table against another source)",
        value,
        tolerance,
        "K",
        source,
        partial(tabulated_tc_k, material),
    )


_SRM_767 = "NBS SRM 767a; Schooley & Soulen, superconductive thermometric fixed points (1982)"
_MATULA = "Matula, J. Phys. Chem. Ref. Data 8 (1979) 1147; Debye temperature: Meaden (1965)"
_DESAI = (
    "Desai, James & Ho, J. Phys. Chem. Ref. Data 13 (1984) 1131; Debye temperature: Meaden (1965)"
)
_CRC = (
    "CRC Handbook of Chemistry and Physics, resistivity of pure metals; Debye temperature: Meaden "
    "(1965)"
)
_HALL = "Hall, NBS Technical Note 365 (1968); Debye temperature: Meaden (1965)"

_MGB2 = (
    "Canfield et al., Phys. Rev. Lett. 86 (2001) 2423: as T^2.6 below 200 K; Debye temperature: "
    "Bud'ko et al., Phys. Rev. Lett. 86 (2001) 1877, specific heat"
)

CHECKS = [
    _allen_dynes("Pb", 7.20, 56.0, 1.55, 0.105),
    _allen_dynes("In", 3.40, 68.0, 0.805, 0.097),
    _allen_dynes("Sn", 3.75, 99.0, 0.72, 0.092),
    _allen_dynes("Hg", 4.19, 29.0, 1.62, 0.098),
    _allen_dynes("Tl", 2.36, 52.0, 0.795, 0.111),
    _allen_dynes("Ta", 4.48, 132.0, 0.69, 0.093),
    _allen_dynes("Pb-Bi", 8.95, 45.0, 2.13, 0.093),
    _mcmillan("Nb", 277.0, 0.82, 0.13, 9.22, 0.05),
    _mcmillan("V", 399.0, 0.60, 0.13, 5.30, 0.05),
    _mcmillan("Ta", 258.0, 0.65, 0.13, 4.48, 0.05),
    _mcmillan("Sn", 195.0, 0.60, 0.10, 3.72, 0.05),
    _mcmillan("In", 112.0, 0.69, 0.10, 3.40, 0.05),
    _mcmillan("Al", 428.0, 0.38, 0.10, 1.16, 0.12),
    _mcmillan("Mo", 460.0, 0.41, 0.13, 0.92, 0.12),
    _mcmillan("Re", 415.0, 0.46, 0.13, 1.69, 0.12),
    _ybco(6.50, 59.0, 5.0),
    _ybco(6.67, 66.0, 6.0),
    _ybco(6.80, 79.0, 6.0),
    _ybco(6.92, 93.7, 2.5),
    _ybco(6.998, 88.5, 2.5),
    _lsco(0.10, 27.3, 3.0),
    _lsco(0.12, 31.5, 3.0),
    _lsco(0.15, 37.3, 3.0),
    _lsco(0.25, 15.5, 3.0),
    Check(
        "Nb-Sn",
        "Tc of A15 niobium-tin with 25 % tin",
        18.0,
        0.3,
        "K",
        "Devantay, Jorda, Decroux, Muller & Flukiger, J. Mater. Sci. 16 (1981) 2145",
        lambda: float(nb3sn_tc(0.25)),
    ),
    Check(
        "Nb-Sn",
        "Tc of A15 niobium-tin with 18 % tin",
        6.0,
        0.5,
        "K",
        "Moore, Zubeck, Rowell & Beasley, Phys. Rev. B 20 (1979) 2721",
        lambda: float(nb3sn_tc(0.18)),
    ),
    Check(
        "theory",
        "relative drop of Tc at a pair breaking of 0.04/pi Tc0",
        0.01,
        0.0002,
        "1",
        "Abrikosov & Gor'kov, Sov. Phys. JETP 12 (1961) 1243: initial slope -pi/4",
        lambda: float(1.0 - pair_breaking_tc(10.0, 0.01 * 10.0 * 4.0 / 3.141592653589793) / 10.0),
    ),
    Check(
        "theory",
        "Bloch-Grueneisen integral to infinity",
        124.431,
        0.002,
        "1",
        "Ziman, Electrons and Phonons (1960): 120 zeta(5)",
        lambda: float(bloch_gruneisen(0.02)) / 0.02**5,
    ),
    Check(
        "theory",
        "Bloch-Grueneisen function over t at t = 15",
        0.25,
        0.0002,
        "1",
        "Ziman, Electrons and Phonons (1960): linear above the Debye temperature",
        lambda: float(bloch_gruneisen(15.0)) / 15.0,
    ),
    _ratio("Cu", 333.0, 100.0, 300.0, 0.2005, _MATULA),
    _ratio("Ag", 223.0, 100.0, 300.0, 0.2566, _MATULA),
    _ratio("Au", 175.0, 100.0, 300.0, 0.286, _MATULA),
    _ratio("Al", 395.0, 100.0, 300.0, 0.1617, _DESAI),
    _ratio("W", 333.0, 100.0, 300.0, 0.1875, _CRC),
    _ratio("Mo", 380.0, 100.0, 300.0, 0.1554, _CRC),
    _ratio("Pt", 240.0, 100.0, 300.0, 0.2551, _CRC),
    _ratio("Na", 202.0, 100.0, 300.0, 0.2349, _CRC),
    _ratio("Pb", 86.0, 77.0, 273.0, 0.247, _HALL),
    _ratio("Pb", 86.0, 20.0, 273.0, 0.029, _HALL),
    _ratio("Cu", 333.0, 60.0, 300.0, 0.0551, _MATULA),
    _ratio("Ag", 223.0, 60.0, 300.0, 0.0989, _MATULA),
    _ratio("Au", 175.0, 60.0, 300.0, 0.129, _MATULA),
    _ratio("Al", 395.0, 60.0, 300.0, 0.0349, _DESAI),
    _ratio("W", 333.0, 60.0, 300.0, 0.0489, _CRC),
    _ratio("Mo", 380.0, 60.0, 300.0, 0.0372, _CRC),
    _ratio("Pt", 240.0, 60.0, 300.0, 0.101, _CRC),
    _ratio("Mg-B", 750.0, 100.0, 200.0, 0.165, _MGB2),
    Check(
        "Y-Ba-Cu-O",
        "resistance of a ceramic of YBa2Cu3O7, 300 K over 100 K (look-up: against crystals)",
        3.0,
        0.4,
        "1",
        "Friedmann et al., Phys. Rev. B 42 (1990) 6217: linear through nearly zero, within planes",
        _ybco_ratio,
    ),
    _table("Pb", "Pb", 7.1999, 0.01, _SRM_767),
    _table("In", "In", 3.4145, 0.01, _SRM_767),
    _table("Al", "Al", 1.1796, 0.01, _SRM_767),
    _table("Zn", "Zn", 0.844, 0.01, _SRM_767),
    _table("Nb", "Nb", 9.28, 0.03, _SRM_767),
    _table("MgB2", "Mg-B", 39.2, 0.5, "Bud'ko et al., Phys. Rev. Lett. 86 (2001) 1877"),
    _table("FeSe", "Fe-Se", 8.5, 0.7, "McQueen et al., Phys. Rev. B 79 (2009) 014522"),
    _table("V3Si", "V-Si", 17.0, 0.3, "Testardi, Rev. Mod. Phys. 47 (1975) 637"),
]
