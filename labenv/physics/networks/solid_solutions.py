"""Where pure phases are not enough: mixtures whose metals are known or likely to share a crystal.

The simulator's phases are compounds of fixed composition. Metals that replace one another, such as
Ti and Zr in Pb(Zr,Ti)O3, mix within one phase instead, and a prediction of separate phases is then
wrong however well the tables are measured. This module says where that is to be feared; it does
not model it.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

from labenv.physics.thermochemistry import cation_amounts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labenv.physics.thermochemistry import GibbsSource

FlagKind = Literal["solid_solution", "no_common_compound"]
LARGEST_MISMATCH = 0.2  # Goldschmidt: ions mix within some 15 %; more at high temperature


class DomainFlag(NamedTuple):
    """A reason to doubt a prediction that the tables allow.

    Attributes:
        kind: ``"solid_solution"`` or ``"no_common_compound"``.
        text: In a sentence.
    """

    kind: FlagKind
    text: str


class Series(NamedTuple):
    """A known series of solid solutions.

    Attributes:
        metals: All of which must be there.
        name: What forms.
        source: Citation.
    """

    metals: frozenset[str]
    name: str
    source: str


_JAFFE = "Jaffe, Cook & Jaffe, Piezoelectric Ceramics (1971)"
_SMIT = "Smit & Wijn, Ferrites (1959)"
SERIES = tuple(
    Series(frozenset(metals.split()), name, source)
    for metals, name, source in (
        ("Pb Ti Zr", "Pb(Zr,Ti)O3", _JAFFE),
        ("Ba Sr Ti", "(Ba,Sr)TiO3", _JAFFE),
        ("Ba Ti Zr", "Ba(Ti,Zr)O3", _JAFFE),
        ("Ba Pb Ti", "(Ba,Pb)TiO3", _JAFFE),
        ("K Na Nb", "(K,Na)NbO3", "Egerton & Dillon, J. Am. Ceram. Soc. 42, 438 (1959)"),
        ("La Mn Sr", "(La,Sr)MnO3", "Urushibara et al., Phys. Rev. B 51, 14103 (1995)"),
        ("Ca La Mn", "(La,Ca)MnO3", "Wollan & Koehler, Phys. Rev. 100, 545 (1955)"),
        ("Cu La Sr", "(La,Sr)2CuO4", "Tarascon et al., Science 235, 1373 (1987)"),
        ("Ba Cu La", "(La,Ba)2CuO4", "Bednorz & Mueller, Z. Phys. B 64, 189 (1986)"),
        ("Y Zr", "stabilised zirconia", "Scott, J. Mater. Sci. 10, 1527 (1975)"),
        ("Ca Zr", "stabilised zirconia beside CaZrO3", "Garvie, High Temperature Oxides (1970)"),
        ("Co Li Ni", "Li(Ni,Co)O2", "Delmas & Saadoune, Solid State Ionics 53-56, 370 (1992)"),
        ("Li Mn Ni", "Li(Ni,Mn)O2", "Ohzuku & Makimura, Chem. Lett. 744 (2001)"),
        ("Fe Li Mn P", "Li(Fe,Mn)PO4", "Padhi et al., J. Electrochem. Soc. 144, 1188 (1997)"),
        ("Fe Mn Zn", "(Mn,Zn)Fe2O4", _SMIT),
        ("Fe Ni Zn", "(Ni,Zn)Fe2O4", _SMIT),
        ("Al Cr", "(Al,Cr)2O3", "Bunting, J. Res. Natl. Bur. Stand. 6, 947 (1931)"),
    )
)
# Effective ionic radii, coordination six, in angstrom, of each metal's usual charges: Shannon, Acta
# Cryst. A 32, 751 (1976). Lone pairs and other coordinations are left out.
RADII: Mapping[str, Mapping[int, float]] = {
    "Li": {1: 0.76},
    "Na": {1: 1.02},
    "K": {1: 1.38},
    "Mg": {2: 0.72},
    "Ca": {2: 1.00},
    "Sr": {2: 1.18},
    "Ba": {2: 1.35},
    "Pb": {2: 1.19, 4: 0.775},
    "Zn": {2: 0.74},
    "Cu": {2: 0.73},
    "Ni": {2: 0.69, 3: 0.60},
    "Co": {2: 0.745, 3: 0.61},
    "Fe": {2: 0.78, 3: 0.645},
    "Mn": {2: 0.83, 3: 0.645, 4: 0.53},
    "Cr": {3: 0.615},
    "Al": {3: 0.535},
    "Ga": {3: 0.62},
    "In": {3: 0.80},
    "V": {3: 0.64, 4: 0.58, 5: 0.54},
    "Y": {3: 0.90},
    "La": {3: 1.032},
    "Bi": {3: 1.03},
    "Ce": {3: 1.01, 4: 0.87},
    "Ti": {3: 0.67, 4: 0.605},
    "Zr": {4: 0.72},
    "Sn": {4: 0.69},
    "Nb": {4: 0.68, 5: 0.64},
    "Ta": {5: 0.64},
    "Mo": {6: 0.59},
    "W": {6: 0.60},
}


def alike(one: str, other: str) -> bool:
    """Return whether two metals have a charge in common and are of similar size there."""
    first, second = RADII.get(one, {}), RADII.get(other, {})
    return any(
        abs(first[z] - second[z]) <= LARGEST_MISMATCH * min(first[z], second[z])
        for z in first.keys() & second.keys()
    )


def domain_flags(
    metals: set[str], tabulated: Sequence[GibbsSource], shown: Sequence[GibbsSource]
) -> tuple[DomainFlag, ...]:
    """Return why a prediction of pure phases may be wrong for a mixture.

    Args:
        metals: Of the mixture.
        tabulated: Condensed phases that the tables have of its elements.
        shown: Those of a noticeable share.

    Returns:
        Known series first, then phases that may mix, then compounds that the tables lack.
    """
    known = [series for series in SERIES if series.metals <= metals]
    flags = [
        DomainFlag(
            "solid_solution",
            f"{s.name} is a known series of solid solutions, which is not modelled; pure phases "
            f"stand for it ({s.source})",
        )
        for s in known
    ]
    for one, other in combinations(shown, 2):
        pair = _replaced(one.elements, other.elements)
        if pair and alike(*pair) and not any(set(pair) <= s.metals for s in known):
            flags.append(
                DomainFlag(
                    "solid_solution",
                    f"{one.name} and {other.name} differ in {' for '.join(pair)}, ions of like "
                    "charge and size; they may form a solid solution, which is not modelled",
                )
            )
    most = max((len(metals & set(phase.elements)) for phase in tabulated), default=0)
    if most < len(metals) and len(metals) > 2:
        flags.append(
            DomainFlag(
                "no_common_compound",
                f"the tables hold no compound of more than {most} of {', '.join(sorted(metals))}; "
                "what unites more of them could not be seen",
            )
        )
    return tuple(flags)


def _replaced(one: Mapping[str, float], other: Mapping[str, float]) -> tuple[str, str] | None:
    """Return the metals that two formulas have instead of one another, `None` if not just one."""
    first, second = set(one) - set(other), set(other) - set(one)
    if len(first) != 1 or len(second) != 1:
        return None
    a, b = next(iter(first)), next(iter(second))
    metals = cation_amounts({a: 1.0, b: 1.0})
    same = all(abs(one[e] - other[e]) < 1e-9 for e in set(one) & set(other))
    return (a, b) if len(metals) == 2 and same and abs(one[a] - other[b]) < 1e-9 else None


__all__ = ["RADII", "SERIES", "DomainFlag", "FlagKind", "Series", "alike", "domain_flags"]
