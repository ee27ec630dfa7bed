"""A chemical system: its phases, gases, reactions and melting limits, read from one data file.

`load_system("Ba-Ti-C-O")` gives a frozen `ReactionSystem`. What the integrator needs of it is
tabulated once on a fine temperature grid (`ReactionTables`), so that firing a sample evaluates no
exponential of temperature.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from labenv.physics.habits import read_habit
from labenv.physics.thermochemistry import (
    GAS_CONSTANT_J_MOL_K,
    STANDARD_PRESSURE_PA,
    cation_amounts,
    read_substance,
)
from labenv_schemas.errors import ConfigError, UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from labenv.physics.habits import CrystalHabit
    from labenv.physics.thermochemistry import GibbsSource

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

GRID_STEP_K = 2.0
PLACES = 6  # of a reaction's side: three condensed phases, then three gases
LAWS = ("layer", "surface", "bulk", "escape")
NEVER = 1 << 62  # a bit that no phase has: of a side that is never present
_BALANCED = 1e-9  # atoms per mole of reaction that may be missing by rounding
_SIDES = ("reactants", "products")
_FOLDER = resources.files("labenv.physics") / "data"


@dataclass(frozen=True)
class Reaction:
    """One solid-state or solid-gas reaction.

    Attributes:
        equation: Such as ``"BaCO3 + rutile -> BaTiO3 + CO2"``.
        law: ``"layer"``, ``"surface"``, ``"bulk"`` or ``"escape"``; the last is that of vapours
            that leave the crucible, a share of all cations in a second, and never runs backwards.
        core: The reactant inside the product layer.
        needs_contact: Whether mixing limits it.
        rate: Rate at the system's reference temperature; m^2/s, m/s or 1/s by law.
        activation_j_mol: Activation energy, J/mol.
        sigma_ln: Standard deviation of ln(rate).
        co2_half_pa: CO2 pressure that halves the rate, Pa; infinite if CO2 does not slow it.
        sources: Citations; ``calibrated`` marks numbers set to a published observation.
    """

    equation: str
    law: str
    core: str
    needs_contact: bool
    rate: float
    activation_j_mol: float
    sigma_ln: float
    co2_half_pa: float
    sources: tuple[str, ...]


@dataclass(frozen=True)
class MeltingLimit:
    """Phases that melt when together above a temperature.

    Attributes:
        phases: Names of the phases, all of which must be present.
        temperature_k: Temperature of first melting, K.
        source: Citation.
    """

    phases: tuple[str, ...]
    temperature_k: float
    source: str


class ReactionTables(NamedTuple):
    """What the integrator reads: R reactions, P phases, G gases, K temperatures, M melting sets.

    Few arrays with several things in each, because every array that compiled code takes out of a
    tuple costs it a count of references. Side 0 of a reaction is the reactants', side 1 the
    products'; a side has three places for condensed phases, the core first, and three for gases.

    Attributes:
        grid_min_k: First temperature of the grid, K; the grid's step is `GRID_STEP_K`.
        curve: At [k, 0, r] the rate (by law m^2/s, m/s or 1/s), at [k, 1, r] exp(ΔG°/RT), above 1
            of which the reaction runs backwards at 1 bar of gas; shape (K, 2, R).
        growth: d(size^3)/dt of each phase's crystallites, m^3/s, shape (K, P).
        member: Phases (0 to P-1) and gases (from P on) of each side, -1 for none, shape (R, 2, 6).
        coefficient: Formula units of each member, 0 for none, shape (R, 2, 6).
        kind: Index into `LAWS`, 1 where mixing limits, and the condensed phases of each side as
            bits of a number, shape (R, 4).
        cation: Cations per formula unit, then the share of each cation, shape (P, 1 + C).
        melting_k: Melting temperatures, K, shape (M,).
        melting_phase: 1 where the phase belongs to the row, shape (M, P).
    """

    grid_min_k: float
    curve: Floats
    growth: Floats
    member: Ints
    coefficient: Floats
    kind: Ints
    cation: Floats
    melting_k: Floats
    melting_phase: Floats


@dataclass(frozen=True)
class ReactionSystem:
    """A chemical system that can be fired.

    Attributes:
        name: Such as ``"Ba-Ti-C-O"``.
        target: Name of the phase the system is about.
        phases: Condensed phases; their order is the order of every (N, P) array.
        structures: Slug of each phase's crystal structure in the structure library, shape (P,).
        habits: How each phase's crystals lie in a holder, None where anyhow, shape (P,).
        gases: Gas species; their order is the order of every (N, G) array.
        reactions: Reactions; their order is the order of every (N, R) array.
        melting: Melting limits, for interlocks.
        molar_mass_kg_mol: Of the phases, shape (P,).
        gas_molar_mass_kg_mol: Of the gases, shape (G,).
        element_names: Elements, E of them.
        element_counts: Atoms of each element in each phase, shape (P, E).
        gas_element_counts: Atoms of each element in each gas, shape (G, E).
        t_min_k: Lowest temperature the data hold for, K.
        t_max_k: Highest, K.
        stoichiometry: Change of each phase per mole of reaction, shape (R, P).
        gas_stoichiometry: Change of each gas, shape (R, G).
        constants: Constants of the kinetic model, see the file's ``[kinetics]`` table.
        tables: What the integrator reads.
        bed_pa: Least pressure of each gas between the grains of a powder that gives it off, Pa,
            shape (G,).
    """

    name: str
    target: str
    phases: tuple[GibbsSource, ...]
    structures: tuple[str, ...]
    habits: tuple[CrystalHabit | None, ...]
    gases: tuple[GibbsSource, ...]
    reactions: tuple[Reaction, ...]
    melting: tuple[MeltingLimit, ...]
    molar_mass_kg_mol: Floats
    gas_molar_mass_kg_mol: Floats
    element_names: tuple[str, ...]
    element_counts: Floats
    gas_element_counts: Floats
    t_min_k: float
    t_max_k: float
    stoichiometry: Floats
    gas_stoichiometry: Floats
    constants: Mapping[str, float]
    tables: ReactionTables
    bed_pa: Floats

    @property
    def phase_names(self) -> tuple[str, ...]:
        """Names of the phases, in array order."""
        return tuple(phase.name for phase in self.phases)

    @cached_property
    def vapours(self) -> NDArray[np.bool_]:
        """Which gases hold an element that is not of air, shape (G,)."""
        return np.array([bool(cation_amounts(gas.elements)) for gas in self.gases], dtype=np.bool_)

    @cached_property
    def co2_column(self) -> int | None:
        """Column of CO2 in every (N, G) array; `None` if it is none of the gases."""
        names = [gas.name for gas in self.gases]
        return names.index("CO2") if "CO2" in names else None

    @cached_property
    def co2_half_pa(self) -> Floats:
        """CO2 pressure at which each reaction is half as fast as without, Pa, shape (R,)."""
        return np.array([reaction.co2_half_pa for reaction in self.reactions])

    def phase_index(self, name: str) -> int:
        """Return the position of a phase in every (N, P) array.

        Args:
            name: The phase's name or the slug of its structure.

        Returns:
            The index.

        Raises:
            UnknownPluginError: If the system has no such phase.
        """
        for names in (self.phase_names, self.structures):
            if name in names:
                return names.index(name)
        known = ", ".join(self.phase_names)
        raise UnknownPluginError(f"{self.name} has no phase {name!r}; it has {known}")

    def mass_fractions(self, amounts_mol: ArrayLike) -> Floats:
        """Return each phase's share of the powder's mass.

        Args:
            amounts_mol: Amounts, mol, shape (..., P).

        Returns:
            Mass fractions, same shape; zeros for an empty powder.
        """
        mass = np.asarray(amounts_mol, dtype=np.float64) * self.molar_mass_kg_mol
        total = np.sum(mass, axis=-1, keepdims=True)
        fractions: Floats = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0.0)
        return fractions

    def reaction_gibbs_j_mol(self, temperature_k: ArrayLike) -> Floats:
        """Return the standard Gibbs energy of every reaction.

        Args:
            temperature_k: Temperatures, K, shape (K,).

        Returns:
            ΔG°, J per mole of reaction, shape (R, K).
        """
        solid = np.array([phase.gibbs_j_mol(temperature_k) for phase in self.phases])
        gas = np.array([species.gibbs_j_mol(temperature_k) for species in self.gases])
        energy: Floats = self.stoichiometry @ solid + self.gas_stoichiometry @ gas
        return energy


def system_names() -> tuple[str, ...]:
    """Return the names of the chemical systems that have a data file."""
    return tuple(sorted(_files()))


@lru_cache(maxsize=8)
def load_system(name: str = "Ba-Ti-C-O") -> ReactionSystem:
    """Load a chemical system by name.

    Args:
        name: One of `system_names`.

    Returns:
        The system; the same object for the same name.

    Raises:
        UnknownPluginError: If no data file has that name.
        ConfigError: If the file is inconsistent.
    """
    files = _files()
    if name not in files:
        raise UnknownPluginError(f"no chemical system {name!r}; there are {', '.join(files)}")
    return build_system(files[name])


@lru_cache(maxsize=1)
def _files() -> Mapping[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for entry in _FOLDER.iterdir():
        if entry.name.endswith(".toml"):
            content = tomllib.loads(entry.read_text(encoding="utf-8"))
            if "reactions" in content:
                found[str(content["name"])] = content
    return found


def build_system(content: Mapping[str, Any]) -> ReactionSystem:
    """Build a system from the content of a data file.

    Args:
        content: The parsed file, keys as in `labenv/physics/data/*.toml`.

    Returns:
        The system.

    Raises:
        ConfigError: If a reaction does not balance or names an unknown phase, law or source.
    """
    sources = content["sources"]
    phases = tuple(read_substance(row, sources) for row in content["phases"])
    gases = tuple(read_substance(row, sources) for row in content["gases"])
    return assemble_system(content, phases, gases)


def assemble_system(
    content: Mapping[str, Any],
    phases: tuple[GibbsSource, ...],
    gases: tuple[GibbsSource, ...],
    rate_factors: Floats | None = None,
) -> ReactionSystem:
    """Build a system from its phases and gases and the rest of a data file's content.

    Args:
        content: As `build_system`, its ``phases`` in the order of `phases`.
        phases: Condensed phases, P of them.
        gases: Gas species.
        rate_factors: Factors on the Arrhenius rates on `temperature_grid`, shape (K, R).

    Returns:
        The system.

    Raises:
        ConfigError: As `build_system`.
    """
    sources = content["sources"]
    names, gas_names = tuple(p.name for p in phases), tuple(g.name for g in gases)
    rows: list[Mapping[str, Any]] = content["reactions"]
    for row in rows:
        _check_reaction(row, names, gas_names)
    elements = tuple(content["atomic_mass_kg_mol"])
    masses = np.array([content["atomic_mass_kg_mol"][element] for element in elements])
    counts = np.array([[p.elements.get(e, 0.0) for e in elements] for p in phases])
    gas_counts = np.array([[g.elements.get(e, 0.0) for e in elements] for g in gases])
    stoichiometry = _matrix(rows, names)
    gas_stoichiometry = _matrix(rows, gas_names)
    residues = stoichiometry @ counts + gas_stoichiometry @ gas_counts
    for row, residue in zip(rows, residues, strict=True):
        if not bool(np.all(np.abs(residue) < _BALANCED)):
            raise ConfigError(f"{_equation(row)} does not balance in {elements}: {residue}")
    melting = tuple(
        MeltingLimit(tuple(m["phases"]), float(m["temperature_k"]), sources[m["source"]])
        for m in content["melting"]
    )
    return ReactionSystem(
        name=content["name"],
        target=content["target"],
        phases=phases,
        structures=tuple(row["structure"] for row in content["phases"]),
        habits=tuple(read_habit(row) for row in content["phases"]),
        gases=gases,
        reactions=tuple(_reaction(row, sources) for row in rows),
        melting=melting,
        molar_mass_kg_mol=counts @ masses,
        gas_molar_mass_kg_mol=gas_counts @ masses,
        element_names=elements,
        element_counts=counts,
        gas_element_counts=gas_counts,
        t_min_k=float(content["t_min_k"]),
        t_max_k=float(content["t_max_k"]),
        stoichiometry=stoichiometry,
        gas_stoichiometry=gas_stoichiometry,
        constants={k: float(v) for k, v in content["kinetics"].items() if k != "source"},
        tables=_tables(
            content, phases, gases, melting, (stoichiometry, gas_stoichiometry), rate_factors
        ),
        bed_pa=np.array([float(content.get("bed_pa", {}).get(name, 0.0)) for name in gas_names]),
    )


def temperature_grid(t_min_k: float, t_max_k: float) -> Floats:
    """Return the temperatures that a system's rates are tabulated on, K, shape (K,)."""
    first_k = np.floor(t_min_k / GRID_STEP_K + 1.0) * GRID_STEP_K
    return np.arange(first_k, t_max_k + GRID_STEP_K / 2, GRID_STEP_K)


def _tables(
    content: Mapping[str, Any],
    phases: tuple[GibbsSource, ...],
    gases: tuple[GibbsSource, ...],
    melting: tuple[MeltingLimit, ...],
    stoichiometry: tuple[Floats, Floats],
    rate_factors: Floats | None,
) -> ReactionTables:
    rows: list[Mapping[str, Any]] = content["reactions"]
    names = tuple(phase.name for phase in phases)
    grid = temperature_grid(content["t_min_k"], content["t_max_k"])
    energy = stoichiometry[0] @ np.array([p.gibbs_j_mol(grid) for p in phases])
    energy = energy + stoichiometry[1] @ np.array([g.gibbs_j_mol(grid) for g in gases])
    exponent = np.clip(energy / (GAS_CONSTANT_J_MOL_K * grid), -300.0, 300.0)
    member, coefficient = _sides(rows, names, tuple(gas.name for gas in gases))
    cations = np.array([[p.elements.get(c, 0.0) for c in content["cations"]] for p in phases])
    count = np.sum(cations, axis=1, keepdims=True)
    reference_k = float(content["kinetics"]["reference_k"])
    # `size_m` is the crystallite that an hour at the reference temperature gives; the cubic law is
    # that of growth limited by transport along boundaries with pores.
    growth = [
        {"rate": row["growth"]["size_m"] ** 3 / 3600.0, **row["growth"]}
        for row in content["phases"]
    ]
    constant = np.exp(exponent)
    for r, row in enumerate(rows):
        if "bed_quotient" in row:
            constant[r] = constant_between_gases(
                constant[r], row["bed_quotient"], row["furnace_quotient"]
            )
        if "one_way_at" in row:  # at that quotient of gases it stands still instead of turning
            most = float(row.get("left_share", 1.0)) / float(row["one_way_at"])
            constant[r] = np.minimum(constant[r], most)
    rate = _arrhenius(rows, grid, reference_k)
    if rate_factors is not None:
        rate = rate * rate_factors
    return ReactionTables(
        grid_min_k=float(grid[0]),
        curve=np.ascontiguousarray(np.stack([rate, constant.T], axis=1)),
        growth=_arrhenius(growth, grid, reference_k),
        member=member,
        coefficient=coefficient,
        kind=np.array(
            [[LAWS.index(r["law"]), int(r["contact"]), *_sets(r, names)] for r in rows],
            dtype=np.int64,
        ).reshape(len(rows), 4),
        cation=np.concatenate([count, cations / count], axis=1),
        melting_k=np.array([limit.temperature_k for limit in melting], dtype=np.float64),
        melting_phase=np.array(
            [[float(n in limit.phases) for n in names] for limit in melting], dtype=np.float64
        ).reshape(len(melting), len(names)),
    )


def constant_between_gases(constant: Floats, bed: float, furnace: float) -> Floats:
    """Return exp(ΔG°/RT) such that the bed's quotient gives the lesser drive of bed and furnace.

    Where the two gases drive the reaction in opposite directions it stands still.

    Args:
        constant: exp(ΔG°/RT), any shape.
        bed: The gases' quotient between the grains.
        furnace: The same in the furnace.

    Returns:
        What takes the constant's place beside the bed's quotient, same shape.
    """
    by_bed, by_furnace = bed * constant, furnace * constant
    forward = np.minimum(np.maximum(by_bed, by_furnace), 1.0)
    backward = np.maximum(np.minimum(by_bed, by_furnace), 1.0)
    return np.asarray(np.where(forward < 1.0, forward, backward) / bed)


def _equation(row: Mapping[str, Any]) -> str:
    def side(terms: Mapping[str, float]) -> str:
        return " + ".join(name if n == 1 else f"{n:g} {name}" for name, n in terms.items())

    return f"{side(row['reactants'])} -> {side(row['products'])}"


def _check_reaction(
    row: Mapping[str, Any], phases: tuple[str, ...], gases: tuple[str, ...]
) -> None:
    unknown = (set(row["reactants"]) | set(row["products"])) - set(phases) - set(gases)
    if unknown:
        raise ConfigError(f"{_equation(row)}: unknown {', '.join(sorted(unknown))}")
    if row["law"] not in LAWS:
        raise ConfigError(f"{_equation(row)}: law {row['law']!r} is none of {', '.join(LAWS)}")
    if row["core"] not in row["reactants"]:
        raise ConfigError(f"{_equation(row)}: core {row['core']!r} is no reactant")
    for key in _SIDES:
        solids = sum(name in phases for name in row[key])
        fewest = 0 if row["law"] == "escape" and key == "products" else 1
        if not fewest <= solids <= 3 or len(row[key]) - solids > 3:
            raise ConfigError(
                f"{_equation(row)}: one to three condensed phases and at most three gases a side"
            )


def _matrix(rows: Sequence[Mapping[str, Any]], names: tuple[str, ...]) -> Floats:
    values = [[_coefficient(row, name) for name in names] for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(names))


def _coefficient(row: Mapping[str, Any], name: str) -> float:
    return float(row["products"].get(name, 0.0)) - float(row["reactants"].get(name, 0.0))


def _sets(row: Mapping[str, Any], names: tuple[str, ...]) -> list[int]:
    """Return the condensed phases of each side as bits of a number."""
    forth, back = (sum(1 << names.index(n) for n in row[k] if n in names) for k in _SIDES)
    return [forth, NEVER if row["law"] == "escape" else back]


def _sides(
    rows: list[Mapping[str, Any]], names: tuple[str, ...], gases: tuple[str, ...]
) -> tuple[Ints, Floats]:
    member = np.full((len(rows), 2, PLACES), -1, dtype=np.int64)
    coefficient = np.zeros((len(rows), 2, PLACES))
    for r, row in enumerate(rows):
        for side, key in enumerate(_SIDES):
            solids = sorted((n for n in row[key] if n in names), key=row["core"].__ne__)
            places = [*enumerate(solids), *enumerate((n for n in row[key] if n in gases), start=3)]
            for place, name in places:
                member[r, side, place] = (names + gases).index(name)
                coefficient[r, side, place] = row[key][name]
    return member, coefficient


def _reaction(row: Mapping[str, Any], sources: Mapping[str, str]) -> Reaction:
    return Reaction(
        equation=_equation(row),
        law=row["law"],
        core=row["core"],
        needs_contact=bool(row["contact"]),
        rate=float(row["rate"]),
        activation_j_mol=float(row["activation_j_mol"]),
        sigma_ln=float(row["sigma_ln"]),
        co2_half_pa=float(row.get("co2_half_pa", np.inf)),
        sources=tuple(sources.get(key, key) for key in row["source"]),
    )


def _arrhenius(rows: Sequence[Mapping[str, Any]], grid: Floats, reference_k: float) -> Floats:
    activation = np.array([float(row["activation_j_mol"]) for row in rows], dtype=np.float64)
    rate = np.array([float(row["rate"]) for row in rows], dtype=np.float64)
    exponent = np.outer(1.0 / reference_k - 1.0 / grid, activation / GAS_CONSTANT_J_MOL_K)
    return np.ascontiguousarray(rate * np.exp(exponent))


__all__ = [
    "LAWS",
    "STANDARD_PRESSURE_PA",
    "MeltingLimit",
    "Reaction",
    "ReactionSystem",
    "ReactionTables",
    "assemble_system",
    "build_system",
    "constant_between_gases",
    "load_system",
    "system_names",
    "temperature_grid",
]
