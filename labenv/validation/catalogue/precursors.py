"""Heats of precursors' reactions: carbonates, hydroxides and nitrates; and of spinels.

Differences of enthalpies of the NBS tables, certain to some 2 kJ each; 5 kJ is allowed, 8 kJ for
two moles of a hydroxide and for nitrates. Spinels are from solution calorimetry at 970 K, 5 kJ.
"""

from __future__ import annotations

from labenv.validation.catalogue.mixed_oxides import reaction_check

_NBS = (
    "Wagman et al., NBS tables, J. Phys. Chem. Ref. Data 11, Suppl. 2 (1982), difference of "
    "enthalpies of formation"
)
_NAVROTSKY = "Navrotsky & Kleppa, J. Inorg. Nucl. Chem. 30, 479 (1968): calorimetry at 970 K"

CHECKS = [
    reaction_check("Li-C-O", {"Li2O": 1, "CO2": 1}, {"Li2CO3": 1}, -224.5, 5.0, _NBS),
    reaction_check("Na-C-O", {"Na2O": 1, "CO2": 1}, {"Na2CO3": 1}, -323.0, 5.0, _NBS),
    reaction_check("Mn-C-O", {"MnO": 1, "CO2": 1}, {"MnCO3": 1}, -115.4, 5.0, _NBS),
    reaction_check("Pb-C-O", {"PbO": 1, "CO2": 1}, {"PbCO3": 1}, -88.3, 5.0, _NBS),
    reaction_check("Zn-C-O", {"ZnO": 1, "CO2": 1}, {"ZnCO3": 1}, -68.8, 5.0, _NBS),
    reaction_check("Sr-O-H", {"SrO": 1, "H2O": 1}, {"Sr(OH)2": 1}, -125.2, 5.0, _NBS),
    reaction_check("Ba-O-H", {"BaO": 1, "H2O": 1}, {"Ba(OH)2": 1}, -149.4, 5.0, _NBS),
    reaction_check("Li-O-H", {"Li2O": 1, "H2O": 1}, {"LiOH": 2}, -130.1, 8.0, _NBS),
    reaction_check("Na-O-H", {"Na2O": 1, "H2O": 1}, {"NaOH": 2}, -195.2, 8.0, _NBS),
    reaction_check("Sr-N-O", {"Sr": 1, "N2": 1, "O2": 3}, {"Sr(NO3)2": 1}, -978.2, 8.0, _NBS),
    reaction_check("Ba-N-O", {"Ba": 1, "N2": 1, "O2": 3}, {"Ba(NO3)2": 1}, -992.1, 8.0, _NBS),
    reaction_check("Zn-Al-O", {"ZnO": 1, "Al2O3": 1}, {"ZnAl2O4": 1}, -44.6, 5.0, _NAVROTSKY),
    reaction_check("Cu-Fe-O", {"CuO": 1, "Fe2O3": 1}, {"CuFe2O4": 1}, 21.1, 6.0, _NAVROTSKY),
]
