"""Which targets the simulator knows: metals, powders, thermochemistry and structures of a formula.

A target outside the domain is refused with what is missing, so that nobody learns from a simulator
that does not know its substance. So is one whose diffraction pattern another phase of its network
has too: a score would pay for either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labenv.lab.shelf import load_shelf
from labenv.physics.structures.library import phase_library
from labenv.physics.systems import MOST_METALS, load_system, metals_of, system_name
from labenv.physics.thermochemistry.sources import substance_table
from labenv.physics.thermochemistry.substance import cation_amounts
from labenv.tasks.synthesis.telling import indistinguishable
from labenv_schemas.errors import ConfigError, UnknownPluginError
from labenv_schemas.formula import parse_formula

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labenv.physics.reactions import ReactionSystem

_SAME = 1e-6


@dataclass(frozen=True)
class Target:
    """A compound that can be made from the shelf of its system.

    Attributes:
        formula: As asked for.
        system: Name of its chemical system.
        amounts: Atoms per formula unit.
        metals: Its metals, in the formula's order.
        phases: Structure slugs that count as the target.
        sources: The shelf's powders of each metal, in its order.
        molar_mass_kg_mol: Of the formula, kg/mol.
        estimate: Whether its thermochemistry is an estimate.
    """

    formula: str
    system: str
    amounts: Mapping[str, float]
    metals: tuple[str, ...]
    phases: tuple[str, ...]
    sources: tuple[tuple[str, ...], ...]
    molar_mass_kg_mol: float
    estimate: bool


def resolve_target(formula: str) -> Target:
    """Return what is known of a target.

    Args:
        formula: Such as ``"LiCoO2"``.

    Returns:
        The target.

    Raises:
        ConfigError: If it is no formula, or lies outside what the simulator knows; the message says
            what is missing.
    """
    try:
        parsed = parse_formula(formula)
        metals = metals_of(formula)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"target {formula!r} is no chemical formula: {error}") from None
    amounts = dict(parsed.amounts)
    _check_kind(formula, amounts, metals)
    system, sources = _system_and_powders(formula, metals)
    alike = [
        p for p, phase in enumerate(system.phases) if _same_composition(phase.elements, amounts)
    ]
    if not alike:
        raise ConfigError(_outside(formula, _why_absent(formula, system)))
    library = phase_library()
    slugs = tuple(dict.fromkeys(s for p in alike if (s := system.structures[p]) in library))
    if not slugs:
        raise ConfigError(_outside(formula, "no crystal structure of it is in the library"))
    others = dict.fromkeys(s for s in system.structures if s in library and s not in slugs)
    twins = indistinguishable(slugs, others)
    if twins:
        raise ConfigError(
            _outside(
                formula, f"no scan of a powder tells it from {', '.join(twins)}, which may form"
            )
        )
    return Target(
        formula=formula,
        system=system.name,
        amounts=amounts,
        metals=metals,
        phases=slugs,
        sources=sources,
        molar_mass_kg_mol=parsed.molar_mass_kg_per_mol,
        estimate=any(system.phases[p].estimate for p in alike),
    )


def _check_kind(formula: str, amounts: Mapping[str, float], metals: tuple[str, ...]) -> None:
    """Refuse what the solid-state route in a gas with oxygen does not make.

    Raises:
        ConfigError: If the formula is of another kind.
    """
    if "O" not in amounts:
        raise ConfigError(
            _outside(
                formula, "only oxides are made here: no sealed vessel, no furnace free of oxygen"
            )
        )
    foreign = sorted({"C", "H", "N"} & amounts.keys())
    if foreign:
        raise ConfigError(_outside(formula, f"{', '.join(foreign)} leaves as gas when it is fired"))
    if not 2 <= len(metals) <= MOST_METALS:
        raise ConfigError(
            _outside(formula, f"a target unites 2 to {MOST_METALS} metals, not {len(metals)}")
        )


def _system_and_powders(
    formula: str, metals: tuple[str, ...]
) -> tuple[ReactionSystem, tuple[tuple[str, ...], ...]]:
    """Return the system of some metals and the names of each one's powders.

    Raises:
        ConfigError: If a metal has no powder.
    """
    name = system_name(metals)
    try:
        system, shelf = load_system(name), load_shelf(name)
    except UnknownPluginError as error:
        raise ConfigError(_outside(formula, str(error))) from None
    of_metal = [
        tuple(s.name for s in shelf.substances if metals_of(s.formula) == (metal,))
        for metal in metals
    ]
    return system, tuple(of_metal)


def _why_absent(formula: str, system: ReactionSystem) -> str:
    try:
        substance_table("combined").get(formula)
    except UnknownPluginError:
        made = ", ".join(
            phase.name for phase in system.phases if len(cation_amounts(phase.elements)) >= 2
        )
        return f"no thermochemistry of it is known; known of its metals are {made or 'none'}"
    return "by the tables it lies too far above other phases to be made"


def _same_composition(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Return whether two compositions differ by a factor at most."""
    if {e for e, n in one.items() if n} != set(other):
        return False
    factors = [one[e] / other[e] for e in other]
    return max(factors) - min(factors) <= _SAME * max(factors)


def _outside(formula: str, what: str) -> str:
    return f"target {formula!r} is outside the simulator's domain: {what}"


__all__ = ["Target", "resolve_target"]
