"""A chemical system made on the spot from the precursors and the gas around them.

The gas decides twice: which phases and reactions matter, and how fast and which way each goes. A
laboratory whose furnaces hold one gas today and another tomorrow needs the same phases and
reactions throughout, so that these may be collected over several gases, and the rates made for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from labenv.physics.networks.enumeration import Candidate, enumerate_reactions, merged
from labenv.physics.networks.grand_potential import (
    gases_given_off,
    grand_potential,
    relevant,
)
from labenv.physics.networks.rates import (
    REFERENCE_K,
    Mobility,
    gas_quotient,
    growth_row,
    one_way,
    rate_factors,
    reaction_row,
)
from labenv.physics.networks.volatility import (
    VESSELS,
    Vessel,
    escapes,
    gas_substance,
    vapour_names,
)
from labenv.physics.reactions import assemble_system, temperature_grid
from labenv.physics.thermochemistry import GAS_ELEMENTS, cation_amounts
from labenv.physics.thermochemistry.sources import substance_table
from labenv_schemas.errors import ConfigError, UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labenv.physics.networks.grand_potential import GrandPotential
    from labenv.physics.reactions import ReactionSystem
    from labenv.physics.thermochemistry.sources import Source
    from labenv.physics.thermochemistry.tables import SubstanceTable, TabulatedSubstance

# Between grains that give off CO2 it stands higher than in the furnace; calibrated to CaCO3 powders
# that decompose from about 650 degC in air, and BaCO3 with CuO that does not react below 800 degC.
BED_PA = {"CO2": 700.0}
LEAST_PA = 1e-3  # of a gas; below, what a furnace holds comes from its walls
MOST_GAS_MOL = 6.0  # that a reaction as written exchanges, see `_of_moderate_size`
# Crystals of the compositions that the library has several of, where the first is not what a fired
# and cooled powder is made of: those stable at room temperature (Anthony, Bideaux, Bladh & Nichols,
# Handbook of Mineralogy), of which the tables' energies are too.
STABLE_CRYSTALS = {
    "CaSiO3": "wollastonite",
    "Fe2O3": "hematite",
    "MnO2": "pyrolusite",
    "TiO2": "rutile",
}
MARGIN_J_MOL_ATOM = 4000.0
MOST_PHASES = 40
T_MIN_K, T_MAX_K = 298.15, 1800.0
CONSTANTS = {
    "reference_k": REFERENCE_K,
    "active_above_k": 330.0,
    "interface_m": 2.0e-8,
    "scarce_fraction": 0.03,
    # Between regions that mixing left apart, some seven particles away: 5 % of the experiments of
    # Szymanski et al., Nat. Commun. 14, 6956 (2023) gave YBa2Cu3Oy without prominent impurities.
    "unmixed_rate": 0.02,
    "nucleus_m": 1.5e-8,
}


@dataclass(frozen=True)
class Surroundings:
    """The gas around a firing.

    Attributes:
        o2_pa: Pressure of oxygen, Pa; 0 keeps a powder without oxygen free of it.
        co2_pa: Of carbon dioxide, Pa.
        h2o_pa: Of water, Pa; 1 kPa is ordinary room air.
        other_pa: Of what precursors give off (NH3, NO2) and the gas carries away, Pa.
        vessel: ``"covered"``, from which no metal leaves as vapour; ``"open"`` in flowing gas, or
            ``"vacuum"``, in which the pressures above are what is left.
    """

    o2_pa: float = 21227.0
    co2_pa: float = 42.5
    h2o_pa: float = 1000.0
    other_pa: float = 10.0
    vessel: Vessel = "covered"

    def __post_init__(self) -> None:
        """Refuse an unknown vessel and pressures that cannot be.

        Raises:
            ConfigError: If the vessel is none of `VESSELS`, or a pressure is negative or not
                finite.
        """
        if self.vessel not in VESSELS:
            raise ConfigError(f"no vessel {self.vessel!r}; there are {', '.join(VESSELS)}")
        for name in ("o2_pa", "co2_pa", "h2o_pa", "other_pa"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ConfigError(
                    f"{name} must be finite and at least 0, got {getattr(self, name)}"
                )

    def pressures_pa(self, weighed: Sequence[TabulatedSubstance]) -> dict[str, float]:
        """Return the pressures of the gases that a powder exchanges, as the furnace has them.

        Args:
            weighed: What the powder is made of.

        Returns:
            Gas to pressure, Pa, in the order of the system's gases.
        """
        elements = {e for substance in weighed for e in substance.elements}
        found = {"CO2": max(self.co2_pa, LEAST_PA), "O2": max(self.o2_pa, LEAST_PA)}
        if "H" in elements:
            found["H2O"] = max(self.h2o_pa, LEAST_PA)
        if "N" in elements:
            ammonium = any({"N", "H"} <= set(substance.elements) for substance in weighed)
            found["NH3" if ammonium else "NO2"] = max(self.other_pa, LEAST_PA)
        if self.vessel != "covered":
            found.setdefault("H2O", max(self.h2o_pa, LEAST_PA))  # which hydroxides leave with
            found |= dict.fromkeys(vapour_names(substance_table(), elements), 0.0)
        return found


@lru_cache(maxsize=64)
def generate_system(
    precursors: tuple[str, ...],
    surroundings: Surroundings = Surroundings(),
    source: Source = "combined",
    over: tuple[Surroundings, ...] = (),
) -> ReactionSystem:
    """Return the chemical system that precursors span under a gas.

    Args:
        precursors: Names or formulas of substances with thermochemistry.
        surroundings: The gas that the rates are for.
        source: Where the energies come from.
        over: Gases whose phases and reactions the system has, `surroundings` alone if empty.
            Systems over the same gases have the same phases and reactions in the same order.

    Returns:
        The system: phases near the hull at some temperature, and the reactions between them.

    Raises:
        UnknownPluginError: If a precursor has no thermochemistry.
        ConfigError: If too many phases would have to be treated at once, or a precursor consists of
            gas elements only.
    """
    table = substance_table(source)
    names, reactions = _network(precursors, over or (surroundings,), source)
    held = _held(precursors, surroundings, source)
    phases = [table.substances[name] for name in names]
    potential = grand_potential(table, phases, held[0])
    return _system(table, potential, reactions, held, surroundings.vessel)


def _held(
    precursors: tuple[str, ...], surroundings: Surroundings, source: Source
) -> tuple[Mapping[str, float], Mapping[str, float], Mapping[str, float]]:
    """Return the pressures between the grains, those that the grains make, and the furnace's."""
    weighed = [substance_table(source).get(name) for name in precursors]
    carbonate = any("C" in substance.elements for substance in weighed)
    bed = BED_PA if carbonate else {}
    furnace = surroundings.pressures_pa(weighed)
    return {gas: max(pa, bed.get(gas, 0.0)) for gas, pa in furnace.items()}, bed, furnace


@lru_cache(maxsize=64)
def _network(
    precursors: tuple[str, ...], gases: tuple[Surroundings, ...], source: Source
) -> tuple[tuple[str, ...], tuple[Candidate, ...]]:
    """Return the phases that matter under any of the gases, and the reactions between them.

    Raises:
        ConfigError: If these are too many phases.
    """
    table = substance_table(source)
    weighed = [table.get(name) for name in precursors]
    _check_domain(weighed)
    elements = {e for substance in weighed for e in substance.elements}
    # traces of oxygen in a good inert gas are soon used up
    if "O" in elements or any(gas.o2_pa > 0.0 for gas in gases):
        elements |= {"O", "C"}
    names = [substance.name for substance in weighed]
    everywhere: list[GrandPotential] = []
    near: set[str] = set()
    for gas in gases:
        pressures = _held(precursors, gas, source)[0]
        allowed = [p for p in table.within(elements) if p in weighed or _ordinary(p, pressures)]
        everywhere.append(grand_potential(table, allowed, pressures))
        always = [*names, *_left_by(weighed, allowed)]
        matter = relevant(everywhere[-1], always, MARGIN_J_MOL_ATOM)
        near |= {phase.name for phase in matter.phases}
    kept = [
        each.rows([p for p, phase in enumerate(each.phases) if phase.name in near])
        for each in everywhere
    ]
    found, cations = tuple(phase.name for phase in kept[0].phases), "-".join(kept[0].cations)
    if len(found) > MOST_PHASES:
        raise ConfigError(
            f"{cations}: {len(found)} phases would have to be treated at once, {MOST_PHASES} at "
            "most; use fewer elements"
        )
    position = tuple(found.index(name) for name in names)
    return found, tuple(merged([enumerate_reactions(each, position) for each in kept]))


def _ordinary(phase: TabulatedSubstance, pressures: Mapping[str, float]) -> bool:
    """Return whether a phase may form under a gas with oxygen in it.

    Nitrogen, carbon and hydrogen do not come to equilibrium with one another in a furnace: what was
    weighed in as ammonium leaves as ammonia and makes no azide, though equilibrium would.
    """
    counts = phase.elements
    if counts.keys() & {"C", "N", "H"} and "O" not in counts:
        return False
    if "N" in counts and ("H" in counts) != ("NH3" in pressures):
        return False
    if "C" in counts and counts["O"] < 3.0 * counts["C"]:
        return False
    return not ("N" in counts and "H" not in counts and counts["O"] < 2.5 * counts["N"])


def _left_by(
    weighed: Sequence[TabulatedSubstance], allowed: Sequence[TabulatedSubstance]
) -> list[str]:
    """Return the oxides that nitrates leave first, though CO2 would turn them to carbonates."""
    nitrates = [s for s in weighed if "N" in s.elements and "H" not in s.elements]
    metals = [set(cation_amounts(s.elements)) for s in nitrates if "O" in s.elements]
    return [p.name for p in allowed if any(set(p.elements) == {*m, "O"} for m in metals)]


def _check_domain(weighed: Sequence[TabulatedSubstance]) -> None:
    for substance in weighed:
        if not cation_amounts(substance.elements):
            raise ConfigError(
                f"{substance.name} consists of elements that leave as gas; it is no precursor here"
            )
        if substance.gas:
            raise UnknownPluginError(f"{substance.name} is a gas; give it as the atmosphere")


def _system(
    table: SubstanceTable,
    potential: GrandPotential,
    reactions: Sequence[Candidate],
    gas_pa: tuple[Mapping[str, float], Mapping[str, float], Mapping[str, float]],
    vessel: Vessel,
) -> ReactionSystem:
    mobility, (pressures, bed, furnace) = Mobility(table), gas_pa
    gases = [gas_substance(table, name) for name in pressures]
    rows: list[dict[str, Any]] = []
    kept: list[Candidate] = []
    for candidate in reactions:
        balance = _gas_balance(potential, candidate, tuple(pressures))
        reaction, gas = _of_moderate_size(*_oriented(candidate, balance))
        given, taken = sum(n > 0 for n in gas.values()), sum(n < 0 for n in gas.values())
        if given <= 3 and taken <= 3:
            row = reaction_row(potential, reaction, mobility, gas)
            if one_way(row, _cations_of(potential, reaction)):
                row["one_way_at"] = gas_quotient(row, pressures)
            if bed.keys() & gas.keys():
                row["bed_quotient"] = gas_quotient(row, pressures)
                row["furnace_quotient"] = gas_quotient(row, furnace)
            rows.append(row)
            kept.append(reaction)
    grid_k = temperature_grid(T_MIN_K, T_MAX_K)
    factors = rate_factors(potential, kept, rows, mobility, grid_k, (pressures, furnace))
    leaving = escapes(table, potential, pressures, vessel, grid_k)
    rows += [escape.row for escape in leaving]
    factors = np.column_stack([factors, *(escape.factor for escape in leaving)])
    names = {phase.name for phase in potential.phases}
    melting = [
        {"phases": list(e.phases), "temperature_k": e.temperature_k, "source": "melting"}
        for e in table.eutectics
        if set(e.phases) <= names
    ]
    elements = sorted({e for s in (*potential.phases, *gases) for e in s.elements})
    content = {
        "name": "-".join((*potential.cations, "C", "O")),
        "target": "",
        "t_min_k": T_MIN_K,
        "t_max_k": T_MAX_K,
        "cations": list(potential.cations),
        "atomic_mass_kg_mol": {e: _atomic_mass(e) for e in elements},
        "sources": {"melting": "see the system's file"},
        "phases": [
            {"structure": _structure(p), "growth": growth_row(p, mobility)}
            for p in potential.phases
        ],
        "melting": melting,
        "kinetics": CONSTANTS,
        "bed_pa": bed,
        "reactions": rows,
    }
    return assemble_system(content, potential.phases, tuple(gases), factors)


def _cations_of(potential: GrandPotential, reaction: Candidate) -> set[str]:
    return {e for p, _ in reaction.reactants for e in cation_amounts(potential.phases[p].elements)}


def _of_moderate_size(
    reaction: Candidate, gas: Mapping[str, float]
) -> tuple[Candidate, Mapping[str, float]]:
    """Return a reaction with coefficients so small that powers of pressures stay within range.

    A formula such as V25C22 burns with 40 moles of gas, and the quotient of that has 400 digits.
    """
    share = MOST_GAS_MOL / max([MOST_GAS_MOL, *(abs(n) for n in gas.values())])
    if share == 1.0:
        return reaction, gas
    left, right = (tuple((p, share * n) for p, n in side) for side in reaction)
    return Candidate(left, right), {name: share * n for name, n in gas.items()}


def _oriented(
    reaction: Candidate, gas: Mapping[str, float]
) -> tuple[Candidate, Mapping[str, float]]:
    """Return a reaction of one phase written as the rules for it are: O2 taken up, others given."""
    alone = len(reaction.reactants) == 1 and len(reaction.products) == 1
    others = sum(n for name, n in gas.items() if name != "O2")
    if alone and ((not others and gas.get("O2", 0.0) > 0.0) or others < 0.0):
        return Candidate(reaction.products, reaction.reactants), {g: -n for g, n in gas.items()}
    return reaction, gas


def _gas_balance(
    potential: GrandPotential, reaction: Candidate, gases: tuple[str, ...]
) -> dict[str, float]:
    """Return the moles of gas a reaction gives off, from what is left of O, C, H and N."""
    left = dict.fromkeys(GAS_ELEMENTS, 0.0)
    for side, sign in ((reaction.reactants, 1.0), (reaction.products, -1.0)):
        for p, n in side:
            for element in GAS_ELEMENTS:
                left[element] += sign * n * potential.phases[p].elements.get(element, 0.0)
    return gases_given_off(left, gases)


def _structure(phase: TabulatedSubstance) -> str:
    """Return the slug of a phase's crystal structure: its row's, the stable one, or any."""
    from labenv.physics.structures.library import phase_library

    library = phase_library()
    wanted = phase.structure or STABLE_CRYSTALS.get(phase.name) or phase.name
    if wanted in library:
        return wanted
    try:
        return library.resolve(wanted)[0].name
    except (UnknownPluginError, ConfigError):
        return wanted


def _atomic_mass(element: str) -> float:
    from labenv_schemas.formula import parse_formula

    return parse_formula(element).molar_mass_kg_per_mol


__all__ = ["Surroundings", "generate_system"]
