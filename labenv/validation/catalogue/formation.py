"""Enthalpies of formation and entropies of simple compounds, on which all reactions rest.

CODATA key values are the most certain there are; 2 kJ per mole is allowed for them, which is what
rounding of tables and differences over 10 K cost, and 2 J/(mol K) in entropy. Values of the NBS
tables are mostly certain to 1 or 2 kJ per mole of metal; 4 kJ is allowed, 8 kJ for sesquioxides and
pentoxides.
"""

from __future__ import annotations

from functools import partial

from labenv.physics.thermochemistry.sources import substance_table
from labenv.validation.catalogue.enthalpies import reaction_enthalpy_kj
from labenv.validation.checks import Check

_CODATA = "Cox, Wagman & Medvedev, CODATA Key Values for Thermodynamics (1989)"
_NBS = "Wagman et al., NBS tables, J. Phys. Chem. Ref. Data 11, Suppl. 2 (1982)"
Parts = dict[str, float]


def entropy_j_mol_k(name: str) -> float:
    """Return the standard entropy of a substance near 300 K, J/(mol K)."""
    return float(substance_table().get(name).enthalpy_and_entropy(298.15)[1])


def _formation(name: str, parts: Parts, value: float, tolerance: float, source: str) -> Check:
    system = "-".join(part for part in parts if not part.startswith(("O2", "N2")))
    suffix = "-O" if "O2" in parts else ""
    return Check(
        f"{system}{suffix}",
        f"enthalpy of formation of {name}, 298 K",
        value,
        tolerance,
        "kJ/mol",
        source,
        partial(reaction_enthalpy_kj, parts, {name: 1.0}),
    )


def _oxide(name: str, metal: str, n: float, oxygen: float, value: float, tolerance: float) -> Check:
    return _formation(name, {metal: n, "O2": oxygen / 2.0}, value, tolerance, _NBS)


def _own_scale(name: str, system: str, value: float, tolerance: float) -> Check:
    """Return a check of the table's own zero, for an element that melts near room temperature.

    Gallium melts at 303 K, between the first two temperatures of the tables.
    """
    what = f"enthalpy of formation of {name}, 298 K"
    ours = partial(reaction_enthalpy_kj, {}, {name: 1.0})
    return Check(system, what, value, tolerance, "kJ/mol", _NBS, ours)


def _entropy(name: str, system: str, value: float) -> Check:
    what = f"standard entropy of {name}, 298 K"
    return Check(system, what, value, 2.0, "J/(mol K)", _CODATA, partial(entropy_j_mol_k, name))


CHECKS = [
    _formation("Al2O3", {"Al": 2, "O2": 1.5}, -1675.7, 2.0, _CODATA),
    _formation("MgO", {"Mg": 1, "O2": 0.5}, -601.60, 2.0, _CODATA),
    _formation("CaO", {"Ca": 1, "O2": 0.5}, -634.92, 2.0, _CODATA),
    _formation("SiO2", {"Si": 1, "O2": 1}, -910.7, 2.0, _CODATA),
    _formation("ZnO", {"Zn": 1, "O2": 0.5}, -350.46, 2.0, _CODATA),
    _formation("TiO2", {"Ti": 1, "O2": 1}, -944.0, 2.0, _CODATA),
    _formation("SnO2", {"Sn": 1, "O2": 1}, -577.63, 2.0, _CODATA),
    _formation("B2O3", {"B": 2, "O2": 1.5}, -1273.5, 2.0, _CODATA),
    _formation("CO2", {"C": 1, "O2": 1}, -393.51, 2.0, _CODATA),
    _formation("CO", {"C": 1, "O2": 0.5}, -110.53, 2.0, _CODATA),
    _formation("H2O", {"H2": 1, "O2": 0.5}, -241.83, 2.0, _CODATA),
    _oxide("CuO", "Cu", 1, 1, -157.3, 4.0),
    _oxide("Cu2O", "Cu", 2, 1, -168.6, 4.0),
    _oxide("NiO", "Ni", 1, 1, -239.7, 4.0),
    _oxide("CoO", "Co", 1, 1, -237.94, 4.0),
    _oxide("MnO", "Mn", 1, 1, -385.22, 4.0),
    _oxide("PbO", "Pb", 1, 1, -217.3, 4.0),
    _oxide("SrO", "Sr", 1, 1, -592.0, 4.0),
    _oxide("BaO", "Ba", 1, 1, -553.5, 4.0),
    _oxide("Li2O", "Li", 2, 1, -597.94, 4.0),
    _oxide("Na2O", "Na", 2, 1, -414.2, 4.0),
    _oxide("Fe2O3", "Fe", 2, 3, -824.2, 8.0),
    _oxide("Fe3O4", "Fe", 3, 4, -1118.4, 8.0),
    _oxide("Cr2O3", "Cr", 2, 3, -1139.7, 8.0),
    _oxide("Mn3O4", "Mn", 3, 4, -1387.8, 8.0),
    _oxide("Y2O3", "Y", 2, 3, -1905.3, 8.0),
    _oxide("La2O3", "La", 2, 3, -1793.7, 8.0),
    _oxide("Bi2O3", "Bi", 2, 3, -573.9, 8.0),
    _oxide("V2O5", "V", 2, 5, -1550.6, 8.0),
    _oxide("Nb2O5", "Nb", 2, 5, -1899.5, 8.0),
    _oxide("Ta2O5", "Ta", 2, 5, -2046.0, 8.0),
    _oxide("ZrO2", "Zr", 1, 2, -1100.6, 4.0),
    _oxide("CeO2", "Ce", 1, 2, -1088.7, 4.0),
    _oxide("MnO2", "Mn", 1, 2, -520.0, 4.0),
    _oxide("MoO2", "Mo", 1, 2, -588.9, 4.0),
    _oxide("MoO3", "Mo", 1, 3, -745.1, 4.0),
    _oxide("WO3", "W", 1, 3, -842.9, 4.0),
    _oxide("In2O3", "In", 2, 3, -925.8, 8.0),
    _own_scale("Ga2O3", "Ga-O", -1089.1, 8.0),
    _entropy("Al2O3", "Al-O", 50.92),
    _entropy("MgO", "Mg-O", 26.95),
    _entropy("CaO", "Ca-O", 38.1),
    _entropy("SiO2", "Si-O", 41.46),
    _entropy("ZnO", "Zn-O", 43.65),
    _entropy("TiO2", "Ti-O", 50.62),
    _entropy("SnO2", "Sn-O", 49.04),
]
