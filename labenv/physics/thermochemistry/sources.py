"""Gibbs energies by source: tables of experiment, the potential, or both.

The potential gives the energy of a reaction among solids and nothing else; it is put onto the
tabulated energies of the reactants. Heat capacity and entropy of the compound are taken for those
of its oxides (Neumann & Kopp), whose error grows with temperature and is carried.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from labenv.physics.thermochemistry.substance import cation_amounts
from labenv.physics.thermochemistry.tables import (
    SubstanceTable,
    TabulatedSubstance,
    experimental_table,
)
from labenv_schemas.errors import ConfigError, SimulatorError, UnknownPluginError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Mapping

Source = Literal["combined", "tables", "potential"]
SOURCES: tuple[Source, ...] = ("combined", "tables", "potential")
POTENTIAL = (
    "energy of formation from the oxides by CHGNet 0.4.2, r2SCAN (Deng et al., Nat. Mach. Intell. "
    "5, 1031 (2023)), on the oxides' tables"
)
# Entropies of formation of ternary from binary oxides scatter by some 1.5 J/(mol K) per mole of
# atoms about zero (Jacob & Gupta, Bull. Mater. Sci. 32, 611 (2009), in substance).
NEUMANN_KOPP_J_MOL_K_ATOM = 1.5
CONTRADICTS = 3.0  # standard deviations
MOST_METALS = 2  # of compounds whose estimate the potential may correct; cuprates are beyond it


@lru_cache(maxsize=len(SOURCES))
def substance_table(source: Source = "combined") -> SubstanceTable:
    """Return the table of substances by a choice of sources.

    Args:
        source: ``"combined"``: tables and cited rows; the potential for compounds that these do
            not have, and joined with estimates that it contradicts. ``"tables"``: no estimates and
            no potential. ``"potential"``: simple substances by tables, every compound of two
            metals by the potential alone.

    Returns:
        The table; the same object for the same source.

    Raises:
        ConfigError: If there is no such source.
    """
    if source not in SOURCES:
        raise ConfigError(f"no source {source!r} of energies; there are {', '.join(SOURCES)}")
    table = experimental_table()
    if source == "tables":
        kept = {n: s for n, s in table.substances.items() if not s.estimate}
    elif source == "potential":
        kept = {n: s for n, s in table.substances.items() if len(cation_amounts(s.elements)) < 2}
        kept |= _by_potential(table, kept)
    else:
        measured = {n: s for n, s in table.substances.items() if not s.estimate}
        computed = _by_potential(table, measured)
        kept = {**table.substances, **_joined(table, computed)}
    return SubstanceTable(kept, table.eutectics, table.contacts, table.systems)


def _by_potential(
    table: SubstanceTable, known: Mapping[str, TabulatedSubstance]
) -> dict[str, TabulatedSubstance]:
    """Return compounds of the structure library that are not known yet."""
    from labenv.physics.structures.library import phase_library

    have = {_key(substance.elements) for substance in known.values()}
    found: dict[str, TabulatedSubstance] = {}
    for phase in phase_library():
        amounts = dict(parse_formula(phase.formula).amounts)
        if len(cation_amounts(amounts)) < 2 or "O" not in amounts or _key(amounts) in have:
            continue
        made = _from_oxides(table, phase.name, phase.formula, amounts)
        if made is not None:
            held = found.get(phase.formula)
            if held is None or made.table_j_mol[0] < held.table_j_mol[0]:
                found[phase.formula] = made
    return found


def _joined(
    table: SubstanceTable, computed: Mapping[str, TabulatedSubstance]
) -> dict[str, TabulatedSubstance]:
    """Return computed compounds that are new, or joined with an estimate far from them.

    Estimates were chosen to agree with what is seen of a compound's stability; one that the
    potential does not contradict stays as it is.
    """
    rows = {_key(s.elements): s for s in table.substances.values() if s.estimate and not s.gas}
    joined: dict[str, TabulatedSubstance] = {}
    for name, other in computed.items():
        row = rows.get(_key(other.elements))
        if row is None:
            joined[name] = other
            continue
        if len(cation_amounts(row.elements)) > MOST_METALS:
            continue
        scale = row.atoms / other.atoms
        known = min(row.temperature_k.size, other.temperature_k.size)
        sigma = other.uncertainty_j_mol * scale
        apart = abs(float(row.table_j_mol[0] - scale * other.table_j_mol[0]))
        if apart < CONTRADICTS * float(np.hypot(sigma, row.uncertainty_j_mol)):
            continue
        weight = sigma**2 / (sigma**2 + row.uncertainty_j_mol**2)
        energy = weight * row.table_j_mol[:known]
        energy = energy + (1.0 - weight) * scale * other.table_j_mol[:known]
        joined[row.name] = replace(
            row,
            temperature_k=row.temperature_k[:known],
            table_j_mol=energy,
            uncertainty_j_mol=float(np.sqrt(weight) * row.uncertainty_j_mol),
            sources=(*row.sources, POTENTIAL),
        )
    return joined


def _key(elements: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    total = sum(elements.values())
    return tuple(sorted((e, round(n / total, 6)) for e, n in elements.items()))


def _from_oxides(
    table: SubstanceTable, name: str, formula: str, amounts: Mapping[str, float]
) -> TabulatedSubstance | None:
    from labenv.physics.potential.reactions import formation_from_oxides
    from labenv.physics.structures.library import phase_library

    try:
        reaction = formation_from_oxides(name)
        reactants = [
            (table.get(phase_library().get(oxide).formula), n)
            for oxide, n in reaction.decomposition.items()
        ]
    except (SimulatorError, UnknownPluginError):
        return None
    known = min(oxide.temperature_k.size for oxide, _ in reactants)
    energy = reaction.energy_j_per_mol + sum(n * s.table_j_mol[:known] for s, n in reactants)
    uncertainty = np.hypot(
        reaction.uncertainty_j_per_mol,
        np.sqrt(sum((n * s.uncertainty_j_mol) ** 2 for s, n in reactants)),
    )
    return TabulatedSubstance(
        name=formula,
        elements=dict(amounts),
        temperature_k=reactants[0][0].temperature_k[:known],
        table_j_mol=np.asarray(energy),
        uncertainty_j_mol=float(uncertainty),
        sources=(POTENTIAL,),
        estimate=True,
        structure=name,
        uncertainty_j_mol_k=NEUMANN_KOPP_J_MOL_K_ATOM * float(sum(amounts.values())),
    )


__all__ = ["SOURCES", "Source", "substance_table"]
